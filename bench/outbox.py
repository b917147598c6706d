"""How fast the outbox delivers, beside its peers and beside its own floor, in one run.

    python -m bench.outbox [--rounds 5] [--jobs 10000] [--only NAME …] [--no-peers]

One embedded PostgreSQL with its default durability. In each round every subject gets a database of
its own with a full queue and empties it, first with one worker process, then with two; the order
moves on by one from round to round. Handlers do nothing; every job must be done exactly once.
Figures are medians over the rounds, ratios are taken within a round.

The floor is a table with a claim and a settle and nothing else: no attempt log, no depth, no
leases that are kept, no log. `fused` settles one batch and claims the next in one transaction.

Bounds, of which each that is broken is named (exit code 1):

- at batch 25, one worker each, at least twice the fastest Python peer
- where both choose their batch, level with graphile-worker's batches: as fast in the median, or in
  at least a quarter of the rounds
- at least half of the floor at the same batch and driver, the better of its two forms
- latency from commit to send at 20 a second: p50 at most that of the best peer
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.outbox_peers.measure import Drained, Server
from bench.outbox_peers.subject import (
    FLOOR,
    FLOOR_BESIDE_PEERS,
    GRAPHILE,
    OURS,
    PGBOSS,
    PGQUEUER,
    PROCRASTINATE,
    Subject,
    install_peers,
)
from server.embedded import embedded_postgres

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CONCURRENCY = 25
LATENCY_RATE = 20.0
PYTHON_BOUND = 2.0
FLOOR_BOUND = 0.5
LEVEL_SHARE = 0.25


def _floor(batch: int, *, fused: bool, driver: str = "psycopg") -> Subject:
    name = f"floor {driver} {batch}{' fused' if fused else ''}"
    kind = FLOOR if driver == "psycopg" else FLOOR_BESIDE_PEERS
    return Subject(name, kind, batch, {"fused": fused, "driver": driver})


OUTBOX = {batch: Subject(f"outbox {batch}", OURS, batch) for batch in (25, 200)}
FLOORS = {batch: [_floor(batch, fused=fused) for fused in (False, True)] for batch in (25, 200)}
PYTHON_PEERS = [
    Subject("pgqueuer", PGQUEUER, 25),
    Subject("procrastinate", PROCRASTINATE, 1, share=0.05),
]
BATCHED = Subject("graphile-worker batched", GRAPHILE, 500, {"batched": True})
NODE_PEERS = [
    BATCHED,
    Subject("graphile-worker", GRAPHILE, 1, share=0.2),
    Subject("pg-boss", PGBOSS, 25, share=0.3),
]
SUBJECTS = [*OUTBOX.values(), *FLOORS[25], *FLOORS[200], *PYTHON_PEERS, *NODE_PEERS]
OTHER_DRIVER = [_floor(batch, fused=False, driver="asyncpg") for batch in (25, 200)]

Rounds = dict[tuple[str, int], list[Drained]]
"""By the subject's name and the number of workers."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs in a full queue")
    parser.add_argument("--latency", type=int, default=200, help="jobs at a low rate; 0: none")
    parser.add_argument("--single", type=int, default=500, help="jobs added one by one; 0: none")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], choices=[1, 2])
    parser.add_argument("--only", nargs="+", default=[], help="only subjects with such a name")
    parser.add_argument("--no-peers", action="store_true", help="the outbox and its floor alone")
    parser.add_argument("--asyncpg", action="store_true", help="the floor over asyncpg as well")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[Subject]:
    peers = [*PYTHON_PEERS, *NODE_PEERS]
    subjects = [s for s in SUBJECTS if not (options.no_peers and s in peers)]
    if options.asyncpg:
        subjects += OTHER_DRIVER
    if options.only:
        subjects = [s for s in subjects if any(part in s.name for part in options.only)]
    return subjects


async def _drain_all(
    server: Server, subjects: Sequence[Subject], asked: argparse.Namespace
) -> Rounds:
    rounds: Rounds = {}
    for number in range(asked.rounds):
        shift = number % len(subjects)
        for subject in [*subjects[shift:], *subjects[:shift]]:
            for workers in asked.workers:
                drained = await server.drain(
                    subject,
                    jobs=max(100, int(asked.jobs * subject.share)),
                    workers=workers,
                    concurrency=CONCURRENCY,
                )
                rounds.setdefault((subject.name, workers), []).append(drained)
                print(f"  round {number + 1}, {subject.name}, {workers}: {drained.rate:,.0f}/s",
                      file=sys.stderr, flush=True)  # fmt: skip
    return rounds


def _ratios(rounds: Rounds, one: str, other: str, workers: int = 1) -> list[float]:
    """How much faster one was than the other, in each round."""
    pairs = zip(rounds[one, workers], rounds[other, workers], strict=True)
    return [mine.rate / theirs.rate for mine, theirs in pairs]


def _print_rates(rounds: Rounds, subjects: Iterable[Subject], workers: Sequence[int]) -> None:
    columns = "".join(f"{f'{n} worker(s)':>13}" for n in workers)
    print(f"\n{'jobs a second':<26}{columns}{'x outbox 25':>13}"
          f"{'worker us':>11}{'server us':>11}{'tx':>8}{'fsync':>8}{'WAL B':>8}")  # fmt: skip
    for subject in subjects:
        first = rounds[subject.name, workers[0]]
        rates = "".join(
            f"{statistics.median(d.rate for d in rounds[subject.name, n]):>13,.0f}" for n in workers
        )
        beside = "-"
        if (OUTBOX[25].name, workers[0]) in rounds:
            ratios = _ratios(rounds, subject.name, OUTBOX[25].name, workers[0])
            beside = f"{statistics.median(ratios):.2f}"
        middle = {
            name: statistics.median(getattr(d, name) for d in first)
            for name in ("worker_us", "server_us", "transactions", "fsyncs", "wal_bytes")
        }
        print(f"{subject.name:<26}{rates}{beside:>13}{middle['worker_us']:>11.0f}"
              f"{middle['server_us']:>11.0f}{middle['transactions']:>8.3f}"
              f"{middle['fsyncs']:>8.3f}{middle['wal_bytes']:>8.0f}")  # fmt: skip


def _judge_rates(rounds: Rounds) -> list[str]:
    """The bounds on throughput that are broken."""
    broken = []
    names = {name for name, workers in rounds if workers == 1}
    mine = OUTBOX[25].name
    python = [s.name for s in PYTHON_PEERS if s.name in names]
    if mine in names and python:
        ratio = min(statistics.median(_ratios(rounds, mine, name)) for name in python)
        print(f"outbox 25 over the fastest Python peer: {ratio:.2f} (at least {PYTHON_BOUND:g})")
        if ratio < PYTHON_BOUND:
            broken.append("not twice the fastest Python peer at batch 25")
    if OUTBOX[200].name in names and BATCHED.name in names:
        ratios = _ratios(rounds, OUTBOX[200].name, BATCHED.name)
        share = sum(ratio >= 1 for ratio in ratios) / len(ratios)
        print(f"outbox 200 over graphile-worker's batches: {statistics.median(ratios):.2f},"
              f" as fast in {share:.0%} of the rounds (at least {LEVEL_SHARE:.0%})")  # fmt: skip
        if statistics.median(ratios) < 1 and share < LEVEL_SHARE:
            broken.append("slower than graphile-worker's batches")
    for batch, floors in FLOORS.items():
        found = [floor.name for floor in floors if floor.name in names]
        if OUTBOX[batch].name in names and found:
            ratio = min(
                statistics.median(_ratios(rounds, OUTBOX[batch].name, name)) for name in found
            )
            print(f"outbox {batch} over the better floor: {ratio:.2f} (at least {FLOOR_BOUND:g})")
            if ratio < FLOOR_BOUND:
                broken.append(f"less than half of the floor at batch {batch}")
    return broken


async def _latencies(server: Server, subjects: Iterable[Subject], jobs: int) -> list[str]:
    """Prints them; returns the bound if it is broken."""
    print(f"\n{f'commit to send, {LATENCY_RATE:g}/s':<26}{'p50 ms':>12}{'p99 ms':>12}")
    middles = {}
    for subject in subjects:
        spans = await server.latency(subject, jobs=jobs, rate=LATENCY_RATE)
        cuts = statistics.quantiles([1000 * span for span in spans], n=100)
        middles[subject.name] = cuts[49]
        print(f"{subject.name:<26}{cuts[49]:>12.1f}{cuts[98]:>12.1f}", flush=True)
    mine = middles.get(OUTBOX[25].name)
    peers = [middles[s.name] for s in (*PYTHON_PEERS, *NODE_PEERS) if s.name in middles]
    if mine is None or not peers:
        return []
    print(f"p50 over the best peer's: {mine / min(peers):.2f} (at most 1)")
    return ["p50 of the latency above the best peer's"] if mine > min(peers) else []


async def _enqueues(server: Server, subjects: Iterable[Subject], jobs: int, many: int) -> None:
    print(f"\n{'jobs added a second':<26}{'one by one':>12}{'in bulk':>12}")
    for subject in subjects:
        forms = [("", {})]
        if subject.kind in (OURS, FLOOR):
            forms = [(", notified", {"notify": True}), (", silent", {"notify": False})]
        for form, fields in forms:
            alone = await server.enqueue(subject, jobs=jobs, act="single", **fields)
            bulk = await server.enqueue(subject, jobs=many, act="fill", **fields)
            print(f"{subject.name + form:<26}{alone:>12,.0f}{bulk:>12,.0f}", flush=True)


async def main(conninfo: str, options: argparse.Namespace) -> int:
    """Measures, prints, and returns the exit code."""
    server = Server(conninfo)
    subjects = _chosen(options)
    rounds = await _drain_all(server, subjects, options)
    _print_rates(rounds, subjects, options.workers)
    broken = _judge_rates(rounds) if 1 in options.workers else []
    quick = [OUTBOX[25], FLOORS[25][0], *PYTHON_PEERS, *NODE_PEERS]
    quick = [subject for subject in quick if subject in subjects]
    if options.latency:
        broken += await _latencies(server, quick, options.latency)
    if options.single:
        await _enqueues(server, quick, options.single, options.jobs)
    for bound in broken:
        print(f"BROKEN: {bound}")
    return 1 if broken else 0


if __name__ == "__main__":
    asked = _options()
    if not asked.no_peers or asked.asyncpg:
        install_peers()
    with tempfile.TemporaryDirectory() as folder, embedded_postgres(Path(folder)) as lent:
        sys.exit(asyncio.run(main(lent, asked)))
