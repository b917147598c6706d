"""The metrics of the queues on Redis, as Prometheus reads them, made anew for each scrape.

What is counted lies in Redis: the scripts count whatever they change, so no worker needs a port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from server.redisq import Look

TOTALS = {
    "enqueued": "Jobs that were taken into the queue.",
    "claimed": "Claims of a job.",
    "late": "Outcomes that were refused, since the job had gone to another run.",
    "lost": "Leases that ran out, and jobs that came back for it.",
    "dropped": "Ids without a job, as somebody else had deleted it.",
}
SETTLED = ("done", "failed", "dead")


def _rate(look: Look) -> float:
    limits = look.limits
    return 1000 * limits.rate_count / limits.rate_ms if limits.rate_count and limits.rate_ms else 0


def _since_turn(look: Look) -> float:
    """What its last heartbeat said, and the time since then."""
    return (
        max(((one.turned_ms or 0) + look.now_ms - one.beat_ms for one in look.live), default=0)
        / 1000
    )


GAUGES: Mapping[str, tuple[str, Callable[[Look], float]]] = {
    "oldest_waiting_seconds": (
        "For how long the head of the line has been due; 0: nothing waits.",
        lambda look: (look.oldest_ms or 0) / 1000,
    ),
    "overdue_leases": (
        "Leases that have run out and were not brought back.",
        lambda look: look.overdue_leases,
    ),
    "paused": ("1 if an operator has paused the queue.", lambda look: float(look.paused)),
    "live_workers": (
        "Workers that were heard of within a lease.",
        lambda look: len(look.live),
    ),
    "concurrency_limit": (
        "Jobs that may run at a time; 0: no limit.",
        lambda look: look.limits.concurrency or 0,
    ),
    "rate_limit": ("Jobs that may start in a second; 0: no limit.", _rate),
    "turn_seconds": (
        "The longest turn of any worker between its last two heartbeats.",
        lambda look: max((one.turn_ms or 0 for one in look.live), default=0) / 1000,
    ),
    "since_turn_seconds": (
        "For how long the worker that is worst off has had no turn answered.",
        _since_turn,
    ),
}
"""By the end of its name, what each says of a queue."""


class QueueMetrics(Collector):
    """The figures of every queue; None says that there is no server, or that it is away."""

    def __init__(self, looks: Sequence[Look] | None) -> None:
        self._looks = looks

    def collect(self) -> Iterable[Metric]:
        """Every family, for all queues."""
        yield GaugeMetricFamily(
            "workers_queue_up",
            "1 if the Redis server of the queues answers.",
            value=float(self._looks is not None),
        )
        looks = self._looks or []
        yield _jobs(looks)
        yield from _totals(looks)
        for name, (text, value) in GAUGES.items():
            family = GaugeMetricFamily(f"workers_queue_{name}", text, labels=["queue"])
            for look in looks:
                family.add_metric([look.name], value(look))
            yield family
        yield from _times(looks)


def _jobs(looks: Sequence[Look]) -> Metric:
    family = GaugeMetricFamily("workers_queue_jobs", "Jobs by state.", labels=["queue", "state"])
    for look in looks:
        for state, count in look.counts.items():
            family.add_metric([look.name, state], count)
    return family


def _totals(looks: Sequence[Look]) -> Iterable[Metric]:
    for name, text in TOTALS.items():
        family = CounterMetricFamily(f"workers_queue_{name}", text, labels=["queue"])
        for look in looks:
            family.add_metric([look.name], look.totals[name])
        yield family
    settled = CounterMetricFamily(
        "workers_queue_settled",
        "Outcomes: jobs that are done, attempts that failed, jobs that are dead for any reason.",
        labels=["queue", "outcome"],
    )
    for look in looks:
        for outcome in SETTLED:
            settled.add_metric([look.name, outcome], look.totals[outcome])
    yield settled


def _times(looks: Sequence[Look]) -> Iterable[Metric]:
    for name, text in (
        ("wait", "Time from due to claimed, of the last quarter of an hour."),
        ("run", "Time from claimed to done, of the last quarter of an hour."),
    ):
        family = GaugeMetricFamily(
            f"workers_queue_{name}_seconds", text, labels=["queue", "quantile"]
        )
        for look in looks:
            spans = look.recent.waits if name == "wait" else look.recent.runs
            for quantile, ms in (("0.5", spans.p50_ms), ("0.95", spans.p95_ms)):
                if ms is not None:
                    family.add_metric([look.name, quantile], ms / 1000)
        yield family
