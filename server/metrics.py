"""The metrics as Prometheus reads them, made anew from the servers for each scrape.

Every server gives the figures of the whole outbox: what workers and drains count they add to the
database (meter.py), so a worker needs no port, and a drain that is over is still counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from server import meter
from server.outbox import ChannelState, Counter, Depth, Tally
from server.outbox.table_health import TableHealth
from server.queue_metrics import QueueMetrics
from server.redisq import Look

TALLIES = {
    "claimed": "Deliveries that were claimed.",
    "sent": "Deliveries that were settled as sent.",
    "retried": "Attempts that failed and are tried again.",
    "failed": "Deliveries that a receiver refused for good.",
    "dead": "Deliveries whose attempts were used up.",
    "released": "Deliveries that were handed back unstarted.",
    "lost": "Leases that a worker found lost.",
    "late": "Late writes that were accepted: sent, and nobody had claimed it since.",
    "refused": "Late writes that were refused.",
    "reaped": "Deliveries whose lease ran out and that were given back.",
}
"""What the sums of all workers mean; the names are the Tally's."""

TIMES = {
    meter.STATEMENT_S: ("workers_statement_seconds", "statement", "How long a statement took."),
    meter.SEND_S: ("workers_send_seconds", "channel", "How long a send took."),
    meter.LAG_S: ("workers_loop_lag_seconds", "process", "How late a worker's event loop came."),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that a scrape tells, as it was at one moment. Spans are in seconds.

    `queues` is None where there is no Redis server, and while it is away.
    """

    depth: Depth
    channels: Sequence[ChannelState]
    counts: Mapping[Counter, float]
    tables: Sequence[TableHealth]
    oldest_transaction_s: float
    server_lag_s: float
    queues: Sequence[Look] | None = None


def exposition(figures: Figures) -> bytes:
    """The text that Prometheus reads (version 0.0.4 of its format), in UTF-8."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(figures))
    registry.register(QueueMetrics(figures.queues))
    return generate_latest(registry)


class _Snapshot(Collector):
    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        figures = self._figures
        yield from _depth(figures.depth)
        yield from _channels(figures.channels)
        yield from _tables(figures.tables)
        yield _gauge(
            "workers_oldest_transaction_seconds",
            "For how long the oldest transaction of the database has been open.",
            figures.oldest_transaction_s,
        )
        yield _gauge(
            "workers_server_loop_lag_seconds",
            "The latest that this server's event loop came since the last scrape.",
            figures.server_lag_s,
        )
        yield from _tallies(figures.counts)
        yield _sends(figures.counts)
        for name in TIMES:
            yield _times(name, figures.counts)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _depth(depth: Depth) -> Iterable[Metric]:
    states = GaugeMetricFamily("workers_deliveries", "Deliveries by status.", labels=["status"])
    for status in ("pending", "processing", "sent", "failed", "dead"):
        states.add_metric([status], getattr(depth, status))
    yield states
    waiting = GaugeMetricFamily(
        "workers_pending_deliveries", "Pending deliveries by what they wait for.", labels=["state"]
    )
    for state in ("due", "scheduled", "retrying"):
        waiting.add_metric([state], getattr(depth, state))
    yield waiting
    yield _gauge(
        "workers_oldest_due_age_seconds",
        "For how long the oldest due delivery has been due; 0: nothing is due.",
        depth.oldest_due_age_s or 0.0,
    )
    yield _gauge("workers_live", "Workers that have been heard of lately.", depth.live_workers)


def _channels(channels: Sequence[ChannelState]) -> Iterable[Metric]:
    due = GaugeMetricFamily(
        "workers_channel_due_deliveries", "Due deliveries by channel.", labels=["channel"]
    )
    paused = GaugeMetricFamily(
        "workers_channel_paused", "1 if an operator has paused the channel.", labels=["channel"]
    )
    for one in channels:
        due.add_metric([one.channel], one.due)
        paused.add_metric([one.channel], float(one.paused_at is not None))
    yield due
    yield paused


def _tables(tables: Sequence[TableHealth]) -> Iterable[Metric]:
    for name, text, field in (
        ("workers_table_rows", "Rows of a table, about.", "live_rows"),
        ("workers_table_dead_rows", "Dead rows that lie in a table, about.", "dead_rows"),
        ("workers_table_bytes", "Size of a table with its indexes.", "bytes"),
        ("workers_table_vacuumed_seconds", "Since when a table has not been swept.",
         "vacuumed_ago_s"),
    ):  # fmt: skip
        family = GaugeMetricFamily(name, text, labels=["table"])
        for table in tables:
            value = getattr(table, field)
            if value is not None:
                family.add_metric([table.name], value)
        yield family


def _tallies(counts: Mapping[Counter, float]) -> Iterable[Metric]:
    for name in Tally.__slots__:
        text = TALLIES.get(name, f"What workers counted as {name}.")
        yield CounterMetricFamily(f"workers_{name}", text, value=counts.get(Counter(name), 0.0))


def _sends(counts: Mapping[Counter, float]) -> Metric:
    family = CounterMetricFamily(
        "workers_sends", "Sends by channel and outcome.", labels=["channel", "outcome"]
    )
    for counter, value in sorted(counts.items()):
        if counter.name == meter.SENDS:
            family.add_metric([counter.subject, counter.detail], value)
    return family


def _times(name: str, counts: Mapping[Counter, float]) -> Metric:
    metric, label, text = TIMES[name]
    family = HistogramMetricFamily(metric, text, labels=[label])
    bounds = [*map(repr, meter.BOUNDS_S), meter.BEYOND]
    for subject in sorted({counter.subject for counter in counts if counter.name == name}):
        buckets, below = [], 0.0
        for bound in bounds:
            below += counts.get(Counter(name, subject, bound), 0.0)
            buckets.append((bound, below))
        total = counts.get(Counter(name, subject, meter.SUM), 0.0)
        family.add_metric([subject], buckets=buckets, sum_value=total)
    return family
