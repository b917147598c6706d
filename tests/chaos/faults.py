"""The faults of a chaos run. Each is injected where it hurts: in the middle of what it can hit.

A fault waits for its moment (a call at the receiver, a statement at the proxy) and is counted as
a miss if that does not come. When it returns, whatever it broke works again.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

from server.outbox import queue
from tests.chaos.figures import LEASE_S
from tests.chaos.proxy import Trap, Trick
from tests.chaos.receiver import Call
from tests.chaos.record import EVERYBODY, Fault
from tests.chaos.stage import Actor, Stage, soon

NOBODY = "nobody"
MOMENT_S = 10.0
"""How long a fault waits for its moment."""

TAKEOVER_S = 10 * LEASE_S
"""How long a lease may take to run out and the delivery to come to somebody else."""

LATE_WRITE_S = 1.0
"""How long a worker that comes back gets to write what it believes."""


def beginning(name: str) -> bytes:
    """The text by which a proxy knows one of the outbox's statements: its first line."""
    return queue.statement(name).strip().split(b"\n", 1)[0]


async def _caller(stage: Stage) -> tuple[Actor, bool]:
    """The worker whose call comes next, or any one if none comes."""
    call = await soon(stage.receiver.next_call(lambda _call: True), MOMENT_S)
    for worker in stage.workers:
        if call is not None and worker.name == call.holder:
            return worker, True
    return stage.chance.choice(stage.workers), False


async def _trapped(actors: list[Actor], trick: Trick, text: bytes) -> Actor | None:
    """Whoever of them is the first to walk into the trap; None if nobody does."""
    trap = Trap(trick, text)
    for actor in actors:
        actor.proxy.trap = trap
    await soon(trap.sprung.wait(), MOMENT_S)
    for actor in actors:
        actor.proxy.trap = None
    return next((actor for actor in actors if actor.proxy is trap.at), None)


async def kill(stage: Stage) -> tuple[str, bool]:
    """SIGKILL in the middle of a call; another worker takes the place."""
    worker, hit = await _caller(stage)
    target = worker.name
    await worker.end(signal.SIGKILL)
    await worker.start()
    return target, hit


async def kill_producer(stage: Stage) -> tuple[str, bool]:
    """SIGKILL of a producer whose COMMIT is on its way; it arrives all the same."""
    found = await _trapped(stage.producers, Trick.HOLD_BACK, b"COMMIT")
    producer = found or stage.chance.choice(stage.producers)
    target = producer.name
    await producer.end(signal.SIGKILL)
    producer.proxy.let_through()
    await producer.start()
    return target, found is not None


async def until_taken_over(stage: Stage, lost: dict[int, int], back: Callable[[], None]) -> bool:
    """The zombie's scene: waits until somebody else sends what it lost, then lets it come `back`.

    The other one gets no answer until the zombie has had the time to write.
    """

    def successor(call: Call) -> bool:
        return call.attempt > lost.get(call.id, call.attempt)

    if not lost:
        return False
    with stage.receiver.holding(successor):
        second = await soon(stage.receiver.next_call(successor), TAKEOVER_S)
        back()
        if second is not None:
            await soon(_written(stage, second.id, lost[second.id]), LATE_WRITE_S)
    return second is not None


async def _written(stage: Stage, number: int, attempt: int) -> None:
    """Returns once an outcome of this attempt was written or refused."""
    query = (
        "select 1 from notifications.delivery_attempts"
        " where delivery_id = %s and attempt = %s and outcome <> 'lost'"
    )
    while not await stage.ask(query, (number, attempt)):  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.02)


async def freeze(stage: Stage) -> tuple[str, bool]:
    """SIGSTOP in the middle of a call, until another worker sends the same delivery; SIGCONT."""
    worker, hit = await _caller(stage)
    worker.signal(signal.SIGSTOP)

    def thaw() -> None:
        worker.signal(signal.SIGCONT)

    try:
        lost = await held_by(stage, worker.name)
        hit = await until_taken_over(stage, lost, thaw) and hit
    finally:
        thaw()
    return worker.name, hit


async def held_by(stage: Stage, holder: str) -> dict[int, int]:
    """What a worker holds at this moment: the attempt of each delivery."""
    rows = await stage.ask(
        "select id, attempts from notifications.notification_deliveries where holder = %s",
        (holder,),
    )
    return {int(number): int(attempt) for number, attempt in rows}


async def hold_back(stage: Stage) -> tuple[str, bool]:
    """The network keeps a worker's outcomes until another has its deliveries, then brings them."""
    worker = await _trapped(stage.workers, Trick.HOLD_BACK, beginning("settle"))
    if worker is None:
        return NOBODY, False
    try:
        lost = await held_by(stage, worker.name)
        return worker.name, await until_taken_over(stage, lost, worker.proxy.let_through)
    finally:
        worker.proxy.let_through()


def _trapping(trick: Trick) -> Callable[[Stage], Awaitable[tuple[str, bool]]]:
    async def trap_one(stage: Stage) -> tuple[str, bool]:
        """Does it to the next statement of this kind of a worker, or to a producer's COMMIT."""
        name = stage.chance.choice(("claim", "settle", "settle", "COMMIT"))
        actors = stage.producers if name == "COMMIT" else stage.workers
        text = b"COMMIT" if name == "COMMIT" else beginning(name)
        actor = await _trapped(actors, trick, text)
        return (NOBODY, False) if actor is None else (actor.name, True)

    return trap_one


async def half_open(stage: Stage) -> tuple[str, bool]:
    """All connections of a worker go deaf at a statement, the listening one too; none closes."""
    text = beginning(stage.chance.choice(("claim", "settle", "settle")))
    worker = await _trapped(stage.workers, Trick.SWALLOW_REPLY, text)
    if worker is None:
        return NOBODY, False
    worker.proxy.swallow()
    return worker.name, True


async def cut(stage: Stage) -> tuple[str, bool]:
    """All connections of a worker are reset in the middle of a call."""
    worker, hit = await _caller(stage)
    worker.proxy.cut()
    return worker.name, hit


async def delay(stage: Stage) -> tuple[str, bool]:
    """PostgreSQL's answers to a worker come late, until it has made another call."""
    worker, hit = await _caller(stage)
    worker.proxy.delay_s = stage.chance.uniform(0.05, 0.5)
    await soon(stage.receiver.next_call(lambda call: call.holder == worker.name), MOMENT_S)
    worker.proxy.delay_s = 0.0
    return worker.name, hit


async def restart_fast(stage: Stage) -> tuple[str, bool]:
    """PostgreSQL is shut down in good order and started."""
    await soon(stage.receiver.next_call(lambda _call: True), MOMENT_S)
    await asyncio.to_thread(stage.database.restart_fast)
    return EVERYBODY, True


async def restart_immediate(stage: Stage) -> tuple[str, bool]:
    """PostgreSQL is stopped as in a crash, recovers and starts."""
    await soon(stage.receiver.next_call(lambda _call: True), MOMENT_S)
    await asyncio.to_thread(stage.database.restart_immediate)
    return EVERYBODY, True


KINDS: dict[str, Callable[[Stage], Awaitable[tuple[str, bool]]]] = {
    "kill": kill,
    "kill-producer": kill_producer,
    "freeze": freeze,
    "hold-back": hold_back,
    "restart-fast": restart_fast,
    "restart-immediate": restart_immediate,
    "lose-request": _trapping(Trick.LOSE_REQUEST),
    "lose-reply": _trapping(Trick.LOSE_REPLY),
    "half-open": half_open,
    "cut": cut,
    "delay": delay,
}

AFTERMATH_S = {"half-open": 5.0}
"""Seconds for which a fault still counts after it was injected: until what is deaf was cut."""


async def inject(stage: Stage, kind: str) -> None:
    """Injects one fault and records it."""
    began = time.time()
    target, hit = await KINDS[kind](stage)
    ended = time.time() + AFTERMATH_S.get(kind, 0.0)
    stage.faults.append(Fault(kind, target, began, ended, hit))
