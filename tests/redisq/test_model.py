"""Arbitrary histories of the queue, on a real server, against a model of what must happen.

Hypothesis chooses what producers, workers and operators do. Workers settle late, hear no answer and
send their turn again, or vanish. After every step all that the server has is compared with the
model. REDISQ_MODEL_EXAMPLES=2000 plays more histories than the usual few.

Time is stepped by moving what lies in the queue into the past. Steps are 10 s, and everything falls
due at some time that ends in 5, or when a step is over, so what a history itself takes decides
nothing; one that takes nearly 5 s is given up.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from hypothesis import HealthCheck, Phase, reject, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from server.redisq import NewJob, Queue
from server.redisq.model import Claim, Kind, Outcome
from server.redisq.queue import Operation
from tests.redisq.conftest import client_of
from tests.redisq.hand import Hand, assert_sound, dump, elapse, ended
from tests.redisq.model import LEASE_S, LOST_PAUSE_S, SERIES, SERIES_KEY, JobModel, QueueModel
from tests.redisq.servers import Server

T = TypeVar("T")
LATE_S = 4.0
LONG = "REDISQ_MODEL_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("REDISQ_MODEL_EXAMPLES", "30"))
KINDS: tuple[Kind, ...] = ("done", "retry", "dead", "release", "snooze", "cancelled")
OPERATIONS: tuple[Operation, ...] = ("retry", "promote", "cancel", "delete")
Purgeable = Literal["ready", "scheduled", "done", "dead"]
IDS = st.sampled_from([f"j{n}" for n in range(4)])
WORKERS = st.integers(0, 1)
NEW = st.fixed_dictionaries(
    {
        "id": IDS,
        "delay_s": st.sampled_from([0, 0, 0, 15, 35]),
        "priority": st.integers(-1, 1),
        "max_attempts": st.integers(1, 3),
        "unique": st.sampled_from([None, None, None, "k", "l"]),
    }
)
New = dict[str, Any]


@dataclass
class WorkerModel:
    """A worker: what it believes to hold, and the turn to which it has heard no answer."""

    hand: Hand
    held: list[Claim] = field(default_factory=list)
    unheard: list[Outcome] | None = None
    want: int = 0
    verdicts: list[str] = field(default_factory=list)
    claims: list[tuple[str, int]] = field(default_factory=list)

    @property
    def answered(self) -> int:
        """The number of the last turn of which it knows the answer."""
        return self.hand.seq - (self.unheard is not None)


class Histories(RuleBasedStateMachine):
    """The queue, two workers, and the model."""

    server: Server

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.began = time.monotonic()
        self.queue = Queue(client_of(self.server), "model")
        self.loop.run_until_complete(self.queue.client.flushall())
        self.model = QueueModel()
        self.names = 0
        self.workers = [self.hire() for _ in range(2)]

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        """Do that on the machine's own loop."""
        done = self.loop.run_until_complete(doing)
        if time.monotonic() - self.began > LATE_S:
            reject()
        return done

    def hire(self) -> WorkerModel:
        """Return a worker of a new name."""
        self.names += 1
        return WorkerModel(Hand(self.queue, f"w{self.names}"))

    def teardown(self) -> None:
        """Close what this history opened."""
        self.loop.run_until_complete(self.close())
        self.loop.close()

    async def close(self) -> None:
        """End the connection, which the loop does in its next pass."""
        await self.queue.client.aclose()
        await asyncio.sleep(0)

    @initialize(jobs=st.lists(NEW, min_size=4, max_size=6))
    def begin(self, jobs: list[New]) -> None:
        """There is something to do."""
        self.enqueue(jobs)

    @rule(jobs=st.lists(NEW, min_size=1, max_size=4))
    def enqueue(self, jobs: list[New]) -> None:
        """A producer enqueues jobs, some of which are there."""
        got = self.run(self.queue.enqueue_many([NewJob(task="a", **job) for job in jobs]))
        for id_, job in zip(got, jobs, strict=True):
            delay = job["delay_s"]
            made = JobModel(
                job["id"],
                job["priority"],
                job["max_attempts"],
                job["unique"],
                "scheduled" if delay else "ready",
                self.model.now + delay,
            )
            assert id_ == self.model.enqueue(made)

    @rule(
        who=WORKERS,
        want=st.sampled_from([2, 1, 3, 0]),
        ends=st.lists(
            st.tuples(st.integers(0, 5), st.sampled_from(KINDS), st.sampled_from([15, 35])),
            min_size=1,
            max_size=3,
        ),
        heard=st.sampled_from([True, True, True, False]),
    )
    def turn(self, who: int, want: int, ends: list[tuple[int, Kind, int]], *, heard: bool) -> None:
        """A worker settles some of what it believes to hold, and claims."""
        worker = self.workers[who]
        outcomes = []
        for number, kind, delay in ends:
            if worker.held and worker.unheard is None:
                claim = worker.held.pop(number % len(worker.held))
                outcomes.append(ended(claim, kind, delay * 1000))
        self.take_turn(worker, outcomes, want, heard=heard)

    def take_turn(
        self, worker: WorkerModel, outcomes: list[Outcome], want: int, *, heard: bool
    ) -> None:
        """Send a turn, unless an answer is still awaited, and check what comes back."""
        if worker.unheard is not None:
            return
        occurrence = self.run(self.occurrence()) if self.model.series_is_due() else None
        answer = self.run(worker.hand.turn(*outcomes, want=want, lease_ms=LEASE_S * 1000))
        worker.verdicts = [self.model.settle(outcome) for outcome in outcomes]
        assert answer.verdicts == worker.verdicts
        for job in self.model.bring_back():
            self.run(self.stretch(job))
        if occurrence:
            self.model.occur(occurrence)
        soonest = sorted(job.score() for job in self.model.at("ready"))
        room = self.model.room(want)
        assert [self.model.jobs[claim.id].score() for claim in answer.claims] == soonest[:room]
        worker.claims = []
        for claim in answer.claims:
            self.model.claim(claim.id, claim.token, worker.hand.name)
            job = self.model.jobs[claim.id]
            assert (claim.attempts, claim.lost) == (job.attempts, job.lost)
            worker.claims.append((claim.id, claim.token))
        if heard:
            worker.held += answer.claims
        else:
            worker.unheard, worker.want = outcomes, want

    @rule(who=WORKERS, kinds=st.lists(st.sampled_from(KINDS), min_size=3, max_size=3))
    def serve(self, who: int, kinds: list[Kind]) -> None:
        """A worker claims, and then settles all that it believes to hold."""
        worker = self.workers[who]
        self.take_turn(worker, [], 2, heard=True)
        if worker.unheard is None:
            held, worker.held = worker.held[:3], worker.held[3:]
            outcomes = [
                ended(claim, kind, 15_000) for claim, kind in zip(held, kinds, strict=False)
            ]
            self.take_turn(worker, outcomes, 1, heard=True)

    @rule(who=WORKERS, other=WORKERS)
    def overtake(self, who: int, other: int) -> None:
        """A worker freezes with whatever it holds, and another one takes that over."""
        self.take_turn(self.workers[who], [], 2, heard=True)
        self.elapse(3)
        self.take_turn(self.workers[other], [], 0, heard=True)
        self.elapse(2)
        self.take_turn(self.workers[other], [], 3, heard=True)

    async def occurrence(self) -> str:
        """Return the id of the job that comes when the series is due."""
        [series] = await self.queue.repeats()
        return f"{SERIES}:{series.next_ms}"

    async def stretch(self, job: JobModel) -> None:
        """Make the second or two after a loss as long as the other spans are."""
        base = self.queue.base
        by = LOST_PAUSE_S * 1000 - 1000 * 2 ** (job.lost - 1)
        due = await self.queue.client.zincrby(f"{base}:scheduled", by, job.id)
        await self.queue.client.hset(f"{base}:job:{job.id}", "due_ms", f"{due:.17g}")

    @precondition(lambda self: any(worker.unheard is not None for worker in self.workers))
    @rule(who=WORKERS)
    def send_again(self, who: int) -> None:
        """A worker that heard no answer sends the same turn."""
        worker = self.workers[who]
        if worker.unheard is None:
            return
        before = self.run(dump(self.queue.client))
        again = worker.hand.turn(
            *worker.unheard, want=worker.want, seq=worker.hand.seq, lease_ms=LEASE_S * 1000
        )
        answer = self.run(again)
        assert self.run(dump(self.queue.client)) == before
        assert answer.verdicts == worker.verdicts
        claims = [(claim.id, claim.token) for claim in answer.claims]
        assert claims == [claim for claim in worker.claims if self.model.holds(*claim)]
        worker.held += answer.claims
        worker.unheard = None

    @precondition(lambda self: any(worker.hand.seq > 1 for worker in self.workers))
    @rule(who=WORKERS, back=st.integers(1, 3))
    def echo(self, who: int, back: int) -> None:
        """A turn of long ago arrives again."""
        worker = self.workers[who]
        if worker.hand.seq <= back:
            return
        before = self.run(dump(self.queue.client))
        stale = self.run(worker.hand.raw_turn(want=3, seq=worker.hand.seq - back))
        assert stale == [b"stale"]
        assert self.run(dump(self.queue.client)) == before

    @rule(who=WORKERS, obeys=st.booleans())
    def beat(self, who: int, *, obeys: bool) -> None:
        """A worker says what it holds, and may go on with what it has lost."""
        worker = self.workers[who]
        outcomes = worker.unheard or []
        named = [(claim.id, claim.token) for claim in worker.held]
        named += [(outcome.id, outcome.token) for outcome in outcomes]
        believed = [*worker.held, *outcomes]
        beat = self.run(
            worker.hand.beat(*believed, seq=worker.answered, lease_ms=LEASE_S * 1000)  # type: ignore[arg-type]
        )
        lost = [run for run in named if not self.model.holds(*run)]
        kept = [run for run in named if self.model.holds(*run)]
        assert beat.lost == [token for _, token in lost]
        assert beat.cancelled == [token for id_, token in kept if self.model.jobs[id_].cancel]
        for id_, _ in kept:
            self.model.jobs[id_].lease = self.model.now + LEASE_S
        if worker.unheard is None:
            for job in self.model.at("active"):
                if job.worker == worker.hand.name and (job.id, job.token) not in kept:
                    if job.cancel:
                        self.model.end(job, "dead", "cancelled")
                    else:
                        job.state = "ready"
        if obeys:
            worker.held = [claim for claim in worker.held if claim.token not in beat.lost]

    @precondition(lambda self: self.names < 6)
    @rule(who=WORKERS)
    def vanish(self, who: int) -> None:
        """A worker is gone with all that it holds; another one starts."""
        self.workers[who] = self.hire()

    @precondition(lambda self: any(worker.held for worker in self.workers))
    @rule(who=WORKERS, number=st.integers(0, 5), effect=st.sampled_from(["mail", "call"]))
    def once(self, who: int, number: int, effect: str) -> None:
        """A running job, or what believes to be one, asks for an effect."""
        worker = self.workers[who]
        if not worker.held:
            return
        claim = worker.held[number % len(worker.held)]
        job = self.model.jobs.get(claim.id)
        expected = -1
        if job and self.model.holds(claim.id, claim.token):
            expected = effect not in job.effects
            job.effects.add(effect)
        self.names += 1
        assert self.run(worker.hand.note(claim, "once", effect, self.names)) == expected

    @rule(tens=st.sampled_from([1, 1, 2, 3, 6]))
    def elapse(self, tens: int) -> None:
        """Time passes."""
        self.model.now += tens * 10
        self.run(elapse(self.queue, tens * 10_000))

    @rule(what=st.sampled_from(OPERATIONS), id_=IDS | st.just("occurrence"))
    def operate(self, what: Operation, id_: str) -> None:
        """An operator does something to a job."""
        if id_ == "occurrence":
            id_ = self.model.uniques.get(SERIES_KEY, id_)
        answer = self.run(self.queue.operate(what, [id_]))
        assert answer == {id_: self.model.operate(what, id_)}

    @rule(
        state=st.sampled_from(["done", "dead", "ready", "scheduled"]),
        reason=st.sampled_from([None, None, "exhausted", "cancelled"]),
    )
    def purge(self, state: Purgeable, reason: str | None) -> None:
        """An operator forgets what is in one place, or part of it."""
        purged = self.run(self.queue.purge(state, reason=reason))
        assert (purged.gone, purged.cursor) == (self.model.purge(state, reason), None)

    @rule(every=st.sampled_from([20, 30]), most=st.integers(1, 2))
    def define(self, every: int, most: int) -> None:
        """A program says that there is a series."""
        self.run(self.queue.repeat(SERIES, "a", every=every, max_attempts=most))
        self.model.define(every, most)

    @precondition(lambda self: self.model.series)
    @rule()
    def undefine(self) -> None:
        """There is none any longer."""
        assert self.run(self.queue.remove_repeat(SERIES)) == self.model.undefine()

    @rule(what=st.sampled_from(["resume", "lift", "flush", "limit", "pause"]))
    def administer(self, what: str) -> None:
        """The queue is paused or limited for a while, or the server forgets the scripts."""
        if what == "flush":
            self.run(self.queue.client.script_flush())
        elif what in {"limit", "lift"}:
            self.model.concurrency = 1 if what == "limit" else None
            self.run(self.queue.configure({"concurrency": self.model.concurrency}))
        else:
            self.model.paused = what == "pause"
            self.run(self.queue.pause() if self.model.paused else self.queue.resume())

    @invariant()
    def sound(self) -> None:
        """Every job is where the model has it, and nothing else is there."""
        self.run(self.compare())

    async def compare(self) -> None:
        """Look at every job."""
        await assert_sound(self.queue)
        prefix = f"{self.queue.base}:job:"
        keys = [key.decode() for key in await self.queue.client.keys(f"{prefix}*")]
        ids = [key[len(prefix) :] for key in keys]
        pipe = self.queue.client.pipeline(transaction=False)
        for key in keys:
            pipe.hmget(key, "state", "attempts", "lost", "token", "reason")
        found = dict(zip(ids, await pipe.execute(), strict=True))
        assert found == {
            job.id: [
                job.state.encode(),
                *(str(number).encode() for number in (job.attempts, job.lost, job.token)),
                job.reason.encode() if job.reason else None,
            ]
            for job in self.model.jobs.values()
        }
        series = [(one.occurred, one.skipped) for one in await self.queue.repeats()]
        expected = self.model.series
        assert series == ([(expected.occurred, expected.skipped)] if expected else [])
        counted = await self.queue.client.hmget(
            f"{self.queue.base}:meta", "total_done", "total_lost"
        )
        assert [int(count or 0) for count in counted] == [self.model.done, self.model.lost]


def test_histories(redis_server: Server) -> None:
    """Whatever happens in whatever order, the queue does what the model does."""

    class OnThisServer(Histories):
        server = redis_server

    run_state_machine_as_test(
        OnThisServer,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            # The usual run must tell within its time; the long one seeks the shortest history.
            phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
