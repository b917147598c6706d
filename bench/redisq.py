"""How fast the Redis queue works, beside its peers and beside a bare floor, in one run.

    python -m bench.redisq [--rounds 3] [--jobs 10000] [--only NAME …] [--no-peers]

One embedded Valkey, reached over TCP on this machine, without persistence; then the same once more
with its append-only file, written to the disk once a second. In each round every subject fills an
empty server with jobs and one worker process empties it; the order moves on by one from round to
round. Handlers do nothing; every job must be done exactly once. A peer that does not get done, or
does a job twice or not at all, or does not end when it is told to, is killed; the table says how
often. Figures are medians over the
rounds, ratios are taken within a round. The peers written in Python run on uvloop, which is faster;
the queue here and the floor run on what Python comes with.

The floor is a job's payload and the number of its run, a list and leases, and nothing around them:
no states, no limits, no retries, nothing kept. "pipeline" has not even the number of the run.

Bounds, of which each that is broken is named (exit code 1):

- at concurrency 25 and 32, at least 5 times the best Python peer and 1.5 times BullMQ on Node, both
  in jobs a second and in jobs for each second that a processor works
- from the begin of an enqueueing to the handler, at 20 jobs a second: p50 and p95 at most those of
  the best peer
"""

from __future__ import annotations

import argparse
import asyncio
import math
import socket
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from redis.asyncio import Redis

from bench.outbox_peers.measure import WrongDeliveryError
from bench.outbox_peers.subject import Subject
from bench.redisq_peers import subject as kinds
from bench.redisq_peers.measure import Drained, Server
from server.embedded_valkey import embedded_valkey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PICK_UP_RATE = 20.0
PYTHON_BOUND = 5.0
NODE_BOUND = 1.5
BOUND_AT = (25, 32)
AOF_AT = (1, 32, 256)
LEAST_JOBS = 100

OURS = Subject("redisq", kinds.OURS, 0)
FLOORS = [
    Subject("floor script", kinds.FLOOR_SCRIPT, 0, {"form": "script"}),
    Subject("floor pipeline", kinds.FLOOR_PIPELINE, 0, {"form": "pipeline"}),
]
PYTHON_PEERS = [
    Subject("arq", kinds.ARQ, 0, share=0.04),
    Subject("SAQ", kinds.SAQ, 0, share=0.1),
    Subject("streaQ", kinds.STREAQ, 0, share=0.1),
    Subject("RQ SimpleWorker", kinds.RQ, 0, share=0.03),
    Subject("taskiq stream", kinds.TASKIQ, 0, share=0.2),
    Subject("BullMQ Python", kinds.BULLMQ_PYTHON, 0, share=0.15),
]
NODE = Subject("BullMQ Node", kinds.BULLMQ_NODE, 0, share=0.5)
OWN = (OURS, *FLOORS)
"""Who must get done in every round."""
SUBJECTS = [OURS, *FLOORS, *PYTHON_PEERS, NODE]


@dataclass(frozen=True)
class Setting:
    """What the rounds are played with."""

    concurrency: int
    aof: bool

    def __str__(self) -> str:
        return f"concurrency {self.concurrency}, {'AOF everysec' if self.aof else 'in memory'}"


Rounds = dict[str, list[Drained | None]]
"""By the subject's name; None for a round in which a peer did not get done, or did not end."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs in a full queue")
    parser.add_argument("--pick-up", type=int, default=200, help="jobs at a low rate; 0: none")
    parser.add_argument("--single", type=int, default=500, help="jobs added one by one; 0: none")
    parser.add_argument("--concurrency", type=int, nargs="*", default=[1, 25, 32, 256])
    parser.add_argument("--aof", choices=["both", "no", "yes"], default="both",
                        help="both: all in memory, and 1, 32, 256 with the file too")  # fmt: skip
    parser.add_argument("--only", nargs="+", default=[], help="only subjects with such a name")
    parser.add_argument("--no-peers", action="store_true", help="the queue and its floor alone")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[Subject]:
    subjects = [OURS, *FLOORS] if options.no_peers else SUBJECTS
    if options.only:
        wanted = [part.lower() for part in options.only]
        subjects = [s for s in subjects if any(part in s.name.lower() for part in wanted)]
    return subjects


def _settings(options: argparse.Namespace) -> list[Setting]:
    settings = []
    if options.aof != "yes":
        settings += [Setting(concurrency, aof=False) for concurrency in options.concurrency]
    if options.aof == "yes":
        settings += [Setting(concurrency, aof=True) for concurrency in options.concurrency]
    elif options.aof == "both":
        settings += [Setting(n, aof=True) for n in options.concurrency if n in AOF_AT]
    return settings


async def _drain_all(
    server: Server, subjects: Sequence[Subject], setting: Setting, asked: argparse.Namespace
) -> Rounds:
    await server.persist(aof=setting.aof)
    rounds: Rounds = {}
    for number in range(asked.rounds):
        shift = number % len(subjects)
        for subject in [*subjects[shift:], *subjects[:shift]]:
            share = subject.share * (0.2 if setting.concurrency == 1 else 1)
            drained: Drained | None = None
            try:
                drained = await server.drain(
                    subject,
                    jobs=max(LEAST_JOBS, int(asked.jobs * share)),
                    concurrency=setting.concurrency,
                )
                said = f"{drained.rate:,.0f}/s"
            except (WrongDeliveryError, TimeoutError) as error:
                if subject in OWN:
                    raise
                said = f"did not do it: {error or 'it does not end'}"
            rounds.setdefault(subject.name, []).append(drained)
            print(f"  {setting}, round {number + 1}, {subject.name}: {said}",
                  file=sys.stderr, flush=True)  # fmt: skip
    return rounds


def _rate(drained: Drained) -> float:
    return drained.rate


def _per_cpu_s(drained: Drained) -> float:
    return drained.per_cpu_s


def _ratio(rounds: Rounds, one: str, other: str, figure: Callable[[Drained], float]) -> float:
    """How much more one had than the other: the median of the rounds' ratios.

    Without end where the other has never got done.
    """
    pairs = zip(rounds[one], rounds[other], strict=True)
    ratios = [figure(mine) / figure(theirs) for mine, theirs in pairs if mine and theirs]
    return statistics.median(ratios) if ratios else math.inf


def _print_drains(setting: Setting, rounds: Rounds) -> None:
    print(f"\n{setting!s:<32}{'jobs/s':>10}{'redisq x':>10}{'worker us':>11}{'server us':>11}"
          f"{'redisq x per CPU':>18}{'commands':>10}{'trips':>8}")  # fmt: skip
    for name, drains in rounds.items():
        beside = [
            f"{_ratio(rounds, OURS.name, name, figure):.2f}" if OURS.name in rounds else "-"
            for figure in (_rate, _per_cpu_s)
        ]
        got = [drained for drained in drains if drained]
        missing = f"{len(drains) - len(got)} of {len(drains)} rounds not done"
        if not got:
            print(f"{name:<32}{missing:>40}", flush=True)
            continue
        middle = {
            field: statistics.median(getattr(drained, field) for drained in got)
            for field in ("rate", "worker_us", "server_us", "commands", "trips")
        }
        print(f"{name:<32}{middle['rate']:>10,.0f}{beside[0]:>10}{middle['worker_us']:>11.0f}"
              f"{middle['server_us']:>11.0f}{beside[1]:>18}{middle['commands']:>10.2f}"
              f"{middle['trips']:>8.3f}" + (f"   {missing}" if len(got) < len(drains) else ""),
              flush=True)  # fmt: skip


def _judge_drains(setting: Setting, rounds: Rounds) -> list[str]:
    """The bounds that are broken."""
    if OURS.name not in rounds or setting.concurrency not in BOUND_AT:
        return []
    broken = []
    python = [peer.name for peer in PYTHON_PEERS if peer.name in rounds]
    node = [NODE.name] if NODE.name in rounds else []
    for figure, unit in ((_rate, "jobs a second"), (_per_cpu_s, "jobs per CPU second")):
        for peers, bound, whom in (
            (python, PYTHON_BOUND, "the best Python peer"),
            (node, NODE_BOUND, "BullMQ on Node"),
        ):
            if not peers:
                continue
            ratio = min(_ratio(rounds, OURS.name, name, figure) for name in peers)
            print(f"redisq over {whom}, {unit}: {ratio:.2f} (at least {bound:g})")
            if ratio < bound:
                broken.append(f"{setting}: {unit} {ratio:.2f} times {whom}, not {bound:g}")
    return broken


async def _pick_ups(
    server: Server, subjects: Sequence[Subject], jobs: int, rounds: int
) -> list[str]:
    """Prints them, over all rounds; returns the bounds that are broken."""
    await server.persist(aof=False)
    spans: dict[str, list[float]] = {}
    for number in range(rounds):
        shift = number % len(subjects)
        for subject in [*subjects[shift:], *subjects[:shift]]:
            mine = spans.setdefault(subject.name, [])
            try:
                mine += await server.pick_up(
                    subject, jobs=max(2, jobs // rounds), rate=PICK_UP_RATE
                )
            except (WrongDeliveryError, TimeoutError) as error:
                if subject in OWN:
                    raise
                print(f"  pick-up, round {number + 1}, {subject.name}: did not do it: {error}",
                      file=sys.stderr, flush=True)  # fmt: skip
    print(f"\n{f'enqueue to handler, {PICK_UP_RATE:g}/s':<32}{'p50 ms':>10}{'p95 ms':>10}")
    found: dict[str, tuple[float, float]] = {}
    for name, seconds in spans.items():
        if not seconds:
            continue
        cuts = statistics.quantiles([1000 * span for span in seconds], n=100)
        found[name] = cuts[49], cuts[94]
        print(f"{name:<32}{cuts[49]:>10.2f}{cuts[94]:>10.2f}", flush=True)
    peers = [found[peer.name] for peer in (*PYTHON_PEERS, NODE) if peer.name in found]
    if OURS.name not in found or not peers:
        return []
    broken = []
    for place, what in enumerate(("p50", "p95")):
        ratio = found[OURS.name][place] / min(peer[place] for peer in peers)
        print(f"{what} over the best peer's: {ratio:.2f} (at most 1)")
        if ratio > 1:
            broken.append(f"{what} of the pick-up {ratio:.2f} times the best peer's")
    return broken


async def _enqueues(server: Server, subjects: Iterable[Subject], jobs: int, many: int) -> None:
    await server.persist(aof=False)
    print(f"\n{'jobs added a second':<32}{'one by one':>12}{'many at once':>14}")
    for subject in subjects:
        alone = await server.enqueue(subject, jobs=jobs, act="single")
        bulk = await server.enqueue(
            subject, jobs=max(LEAST_JOBS, int(many * subject.share)), act="fill"
        )
        print(f"{subject.name:<32}{alone:>12,.0f}{bulk:>14,.0f}", flush=True)


async def main(url: str, options: argparse.Namespace) -> int:
    """Measures, prints, and returns the exit code."""
    subjects = _chosen(options)
    broken = []
    async with Redis.from_url(url) as client:
        port = _free_port()
        await client.config_set("port", port)
        pid = (await client.info("server"))["process_id"]
        server = Server(client, f"redis://127.0.0.1:{port}/0", psutil.Process(pid))
        for setting in _settings(options):
            rounds = await _drain_all(server, subjects, setting, options)
            _print_drains(setting, rounds)
            broken += _judge_drains(setting, rounds)
        if options.pick_up:
            broken += await _pick_ups(server, subjects, options.pick_up, options.rounds)
        if options.single:
            await _enqueues(server, subjects, options.single, options.jobs)
    for bound in broken:
        print(f"BROKEN: {bound}")
    return 1 if broken else 0


def _free_port() -> int:
    """A port that nobody has just now: not every peer's client knows Unix sockets."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    asked = _options()
    if not asked.no_peers:
        kinds.install_peers()
    with tempfile.TemporaryDirectory() as folder, embedded_valkey(Path(folder)) as lent:
        sys.exit(asyncio.run(main(lent, asked)))
