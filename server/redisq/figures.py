"""What a queue's counters of the last minutes say. Nothing here reads a clock or a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WINDOW_MINUTES = 15
"""Minutes that are looked at, the one that runs included."""


@dataclass(frozen=True, slots=True)
class Spans:
    """How long something took, in ms; None where nothing has.

    Counted in powers of two, so a percentile is right to within its bucket, a factor of two.
    """

    count: int
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class Minute:
    """What ended in one minute, which began at that time, in ms since 1970."""

    at_ms: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class Recent:
    """What happened in the last `window_s` seconds.

    `failed` counts attempts, `done` and `dead` jobs, `lost` workers that vanished with a job,
    `late` outcomes that came too late and were refused.
    """

    window_s: float
    claimed: int
    done: int
    failed: int
    dead: int
    lost: int
    late: int
    done_per_minute: float
    failed_share: float | None
    """Of all attempts that ended; None where none has."""
    waits: Spans
    """From the time a job was due until it was claimed."""
    runs: Spans
    """From the claim to the result, of those that are done."""
    minutes: Sequence[Minute]
    """The oldest first."""


def minute_numbers(now_ms: int) -> list[int]:
    """Return the numbers, since 1970, of the minutes that `recent` wants, the newest first."""
    newest = now_ms // 60_000
    return [newest - back for back in range(WINDOW_MINUTES)]


def recent(minutes: Sequence[Mapping[bytes, bytes]], now_ms: int) -> Recent:
    """Return what the counters of the minutes of `minute_numbers` come to."""
    total: Counter[str] = Counter()
    series: list[Minute] = []
    for number, minute in zip(minute_numbers(now_ms), minutes, strict=True):
        counted = Counter({name.decode(): int(float(value)) for name, value in minute.items()})
        total += counted
        series.append(Minute(number * 60_000, counted["done"], counted["failed"]))
    window_s = (WINDOW_MINUTES - 1) * 60 + now_ms % 60_000 / 1000
    waits, runs = _spans(total, "~w"), _spans(total, "~r")
    ended = total["done"] + total["failed"]
    return Recent(
        window_s=window_s,
        # Each claim is counted by how long it waited.
        claimed=waits.count,
        done=total["done"],
        failed=total["failed"],
        dead=total["dead"],
        lost=total["lost"],
        late=total["late"],
        done_per_minute=60 * total["done"] / window_s,
        failed_share=total["failed"] / ended if ended else None,
        waits=waits,
        runs=runs,
        minutes=series[::-1],
    )


def _spans(total: Mapping[str, int], prefix: str) -> Spans:
    buckets = sorted(
        (int(name.removeprefix(prefix)), count)
        for name, count in total.items()
        if name.startswith(prefix)
    )
    count = sum(count for _, count in buckets)
    return Spans(count, _percentile(buckets, 0.5 * count), _percentile(buckets, 0.95 * count))


def _percentile(buckets: list[tuple[int, int]], wanted: float) -> float | None:
    """Return the span below which `wanted` of them lie, evenly spread within each bucket."""
    below = 0
    for exponent, count in buckets:
        if below + count >= wanted and count:
            least, most = (0.0 if exponent == 0 else 2.0 ** (exponent - 1)), 2.0**exponent
            return least + (most - least) * (wanted - below) / count
        below += count
    return None
