"""Arbitrary histories of the outbox, over real connections, against a model of what may happen.

Hypothesis chooses what holders do and in which order, at times inside one another's open
transactions. The model says what each statement must answer, and after every step the whole
table is compared with it. OUTBOX_MODEL_EXAMPLES=2000 plays more histories than the usual few.

Only the database's clock counts, so time is stepped by moving what lies in the rows into the
past (`ELAPSE`). Spans are whole minutes, so what a step itself takes never decides anything.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from server.outbox import Delivery, NewDelivery, claim, depth, enqueue, extend, queue, reap, recount
from server.outbox import release as hand_back
from server.outbox import settle as write_outcomes
from server.outbox.model import Settlement, Status, Verdict
from server.outbox.operations import cancel as call_off
from server.outbox.operations import pause_channel, resume_channel
from server.outbox.operations import retry as give_another_chance
from tests.functions import alter_function
from tests.server.conftest import TABLE, Connection

T = TypeVar("T")
HOLDERS = ("a", "b", "c")
LEASE_MIN = 5
EXAMPLES = int(os.environ.get("OUTBOX_MODEL_EXAMPLES", "60"))
OUTCOMES = (Status.SENT, Status.PENDING, Status.FAILED, Status.DEAD)
FINAL = (Status.SENT, Status.FAILED, Status.DEAD)

ELAPSE = (
    f"update {TABLE} set next_attempt_at = next_attempt_at - make_interval(mins => %(minutes)s),"
    " lease_expires_at = lease_expires_at - make_interval(mins => %(minutes)s)"
).encode()
"""Lets %(minutes)s minutes pass for every row: what was due at t is due at t minus those."""

STATE = (
    "select id, status, attempts, max_attempts, holder, lease_expires_at is not null as leased,"
    " lease_expires_at > clock_timestamp() as good, next_attempt_at <= clock_timestamp() as due,"
    " next_attempt_at is not null as placed, settled_at is not null as settled,"
    f" last_error is not null as reasoned from {TABLE} order by id"
).encode()


@dataclass(slots=True)
class Row:
    """What the model knows of a row. Minutes are on the model's clock."""

    status: Status
    attempts: int
    max_attempts: int
    due: int
    holder: str | None = None
    lease_ends: int = 0

    def end(self, status: Status) -> None:
        """Nobody holds it any more."""
        self.status, self.holder = status, None


@dataclass(frozen=True, slots=True)
class Held:
    """What a holder believes: that it has this delivery. It may be long out of date."""

    holder: str
    delivery: Delivery

    @property
    def fence(self) -> tuple[int, int]:
        """What every later write of this holder names: id and attempt."""
        return self.delivery.id, self.delivery.attempt


class Outbox(RuleBasedStateMachine):
    """Three holders, an operator and a reaper on one table."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connections: list[Connection]) -> None:
        super().__init__()
        self.loop = loop
        self.connections = dict(zip((*HOLDERS, "operator"), connections, strict=True))
        self.now = 0
        self.rows: dict[int, Row] = {}
        self.held: list[Held] = []
        self.claimants: dict[tuple[int, int], str] = {}
        self.highest: dict[int, int] = {}

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Runs one statement to its end."""
        return self.loop.run_until_complete(awaitable)

    @property
    def operator(self) -> Connection:
        """The connection of whoever holds nothing: producer, operator, clock and onlooker."""
        return self.connections["operator"]

    def some_claim(self, data: st.DataObject) -> Held:
        """One of the last claims, so that a history comes back to what it has begun."""
        return data.draw(st.sampled_from(self.held[-4:]))

    @initialize()
    def empty(self) -> None:
        """Every history starts with an empty table."""
        self.wait(self.operator.execute(f"truncate {TABLE} cascade".encode()))

    # What the model expects.

    def due(self) -> int:
        """How many rows are due now."""
        return sum(r.status is Status.PENDING and r.due <= self.now for r in self.rows.values())

    def expected(self, held: Held, status: Status) -> tuple[Verdict, Status]:
        """What the settle statement has to answer, and what the row then is."""
        number, attempt = held.fence
        row = self.rows[number]
        if attempt != row.attempts:
            return Verdict.REFUSED, row.status
        if status is Status.PENDING and row.attempts >= row.max_attempts:
            becomes = Status.DEAD
        else:
            becomes = status
        if row.status is Status.PROCESSING:
            return Verdict.APPLIED, becomes
        if status is Status.SENT and row.status in (Status.PENDING, Status.DEAD):
            return Verdict.LATE, Status.SENT
        return (Verdict.REPEATED if row.status is becomes else Verdict.REFUSED), row.status

    def took(self, holder: str, deliveries: list[Delivery]) -> None:
        """Enters a claim into the model. No attempt may have had a claimant before."""
        for delivery in deliveries:
            row = self.rows[delivery.id]
            assert row.status is Status.PENDING, "claimed from somebody else"
            assert row.due <= self.now, "claimed before it was due"
            assert delivery.attempt == row.attempts + 1
            row.status, row.attempts, row.holder = Status.PROCESSING, delivery.attempt, holder
            row.lease_ends = self.now + LEASE_MIN
            held = Held(holder, delivery)
            assert held.fence not in self.claimants, "an attempt had two claimants"
            self.claimants[held.fence] = holder
            self.held.append(held)

    def wrote(self, held: Held, status: Status, delay_min: int, answer: Any) -> None:
        """Enters a settled outcome into the model, and compares the answer."""
        verdict, becomes = self.expected(held, status)
        row = self.rows[held.delivery.id]
        assert (answer.verdict, answer.status, answer.current_attempt) == (
            verdict,
            becomes,
            row.attempts,
        )
        if verdict in (Verdict.APPLIED, Verdict.LATE):
            assert held.delivery.attempt == row.attempts, "a late write was accepted"
            row.end(becomes)
            if becomes is Status.PENDING:
                row.due = self.now + delay_min

    def ran_out(self) -> set[int]:
        """Whose lease is over."""
        return {
            number
            for number, row in self.rows.items()
            if row.status is Status.PROCESSING and row.lease_ends <= self.now
        }

    def reaped(self, numbers: set[int]) -> None:
        """Enters what the reaper gave back."""
        for number in numbers:
            row = self.rows[number]
            row.due = self.now
            row.end(Status.PENDING if row.attempts < row.max_attempts else Status.DEAD)

    # What may happen.

    @rule(count=st.integers(1, 4), budget=st.integers(1, 3), delay_min=st.sampled_from([0, 0, 7]))
    def add(self, count: int, budget: int, delay_min: int) -> None:
        """A producer enqueues."""
        new = NewDelivery("page", "page", {"text": "x"}, delay_s=delay_min * 60)
        added = self.wait(enqueue(self.operator, [new] * count, max_attempts=budget))
        assert len(set(added)) == count
        for number in added:
            self.rows[number] = Row(Status.PENDING, 0, budget, self.now + delay_min)

    def claiming(self, holder: str, limit: int) -> Awaitable[list[Delivery]]:
        """The claim of a holder, as it would run."""
        return claim(
            self.connections[holder],
            holder=holder,
            channels=["page"],
            limit=limit,
            lease_s=LEASE_MIN * 60,
        )

    @rule(holder=st.sampled_from(HOLDERS), limit=st.integers(1, 5))
    def take(self, holder: str, limit: int) -> None:
        """A holder claims: as many as it asked for, if there are so many, and never more."""
        due = self.due()
        deliveries = self.wait(self.claiming(holder, limit))
        assert len(deliveries) == min(limit, due)
        self.took(holder, deliveries)

    @precondition(lambda self: self.held)
    @rule(
        data=st.data(),
        status=st.sampled_from(OUTCOMES),
        delay_min=st.sampled_from([0, 2]),
    )
    def settle(self, data: st.DataObject, status: Status, delay_min: int) -> None:
        """A holder writes an outcome, in time or late, for the first time or again."""
        self.write(self.some_claim(data), status, delay_min)

    def write(self, held: Held, status: Status, delay_min: int) -> None:
        """Writes an outcome and compares the answer."""
        [answer] = self.wait(self.settling(held, status, delay_min))
        self.wrote(held, status, delay_min, answer)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), first=st.sampled_from(OUTCOMES), second=st.sampled_from(OUTCOMES))
    def settle_twice(self, data: st.DataObject, first: Status, second: Status) -> None:
        """A holder did not hear the answer to its outcome, and writes it again, or another one."""
        held = self.some_claim(data)
        self.write(held, first, 0)
        self.write(held, second, 0)

    def settling(self, held: Held, status: Status, delay_min: int) -> Awaitable[list[Any]]:
        """The write of an outcome, as it would run."""
        error = None if status is Status.SENT else "because"
        outcome = Settlement(*held.fence, status, error, delay_s=delay_min * 60)
        return write_outcomes(self.connections[held.holder], [outcome])

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        """A holder extends all it believes to have; only leases that are good are renewed."""
        self.extend_all(self.some_claim(data).holder)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), reaped=st.booleans())
    def oversleep(self, data: st.DataObject, *, reaped: bool) -> None:
        """A holder stands still for a whole lease, and then extends as if nothing had been."""
        holder = self.some_claim(data).holder
        self.elapse(LEASE_MIN)
        if reaped:
            self.reap("b")
            self.take("b", 5)
        self.extend_all(holder)

    def extend_all(self, holder: str) -> None:
        """Extends, and compares the answer."""
        mine = [held for held in self.held if held.holder == holder]
        good = {h.delivery.id for h in mine if self.is_current(h)} - self.ran_out()
        connection = self.connections[holder]
        renewed = self.wait(extend(connection, [h.delivery for h in mine], lease_s=LEASE_MIN * 60))
        assert renewed == good
        for number in good:
            self.rows[number].lease_ends = self.now + LEASE_MIN

    def is_current(self, held: Held) -> bool:
        """Whether the row is still held under this attempt."""
        row = self.rows[held.delivery.id]
        return row.status is Status.PROCESSING and row.attempts == held.delivery.attempt

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """A holder hands back what it has not started; the attempt stays spent."""
        held = self.some_claim(data)
        expected = {held.delivery.id} if self.is_current(held) else set()
        assert self.wait(hand_back(self.connections[held.holder], [held.delivery])) == expected
        for number in expected:
            row = self.rows[number]
            row.max_attempts += 1
            row.end(Status.PENDING)

    @rule(holder=st.sampled_from(HOLDERS))
    def reap(self, holder: str) -> None:
        """Somebody reaps: everything whose lease ran out, and nothing else."""
        expected = self.ran_out()
        answers = self.wait(reap(self.connections[holder]))
        assert {answer.id for answer in answers} == expected
        self.reaped(expected)

    @rule(minutes=st.sampled_from([1, 3, 5, 8]))
    def elapse(self, minutes: int) -> None:
        """Time passes."""
        self.wait(self.operator.execute(ELAPSE, {"minutes": minutes}))
        self.now += minutes

    @precondition(lambda self: any(r.status in FINAL for r in self.rows.values()))
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        """An operator gives something that ended another chance; what was sent stays sent."""
        ended = sorted(n for n, r in self.rows.items() if r.status in FINAL)
        number = data.draw(st.sampled_from(ended))
        row = self.rows[number]
        expected = [] if row.status is Status.SENT else [number]
        assert self.wait(give_another_chance(self.operator, [number])) == expected
        if expected:
            row.max_attempts = max(row.max_attempts, row.attempts + 1)
            row.due = self.now
            row.end(Status.PENDING)

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """An operator cancels; only what waits is ended by that."""
        number = data.draw(st.sampled_from(sorted(self.rows)))
        row = self.rows[number]
        expected = [number] if row.status is Status.PENDING else []
        assert self.wait(call_off(self.operator, [number])) == expected
        if expected:
            row.end(Status.FAILED)

    @rule(holder=st.sampled_from(HOLDERS))
    def take_while_paused(self, holder: str) -> None:
        """An operator pauses the channel: nothing can be claimed until it is resumed."""
        self.wait(pause_channel(self.operator, "page"))
        assert self.wait(self.claiming(holder, 5)) == []
        assert self.wait(resume_channel(self.operator, "page"))

    # Two at the same time. The first has an open transaction when the second begins.

    @rule(first=st.integers(1, 4), second=st.integers(1, 4), commit=st.booleans())
    def two_claims(self, first: int, second: int, *, commit: bool) -> None:
        """Two claims overlap: the second skips what the first has, also if that is undone."""
        due = self.due()
        during: list[Delivery] = []

        async def beside() -> None:
            during.extend(await self.claiming("b", second))

        taken = self.wait(self.within("a", lambda: self.claiming("a", first), beside, commit))
        assert len(taken) == min(first, due)
        assert len(during) == min(second, due - len(taken))
        assert not {d.id for d in taken} & {d.id for d in during}
        self.took("b", during)
        if commit:
            self.took("a", taken)

    @precondition(lambda self: self.held)
    @rule(
        data=st.data(), status=st.sampled_from([Status.SENT, Status.PENDING]), commit=st.booleans()
    )
    def settle_beside_the_reaper(
        self, data: st.DataObject, status: Status, *, commit: bool
    ) -> None:
        """An outcome comes while the reaper, or the next claimant, is about to commit."""
        held = self.some_claim(data)
        expired, due = self.ran_out(), self.due()
        other = next(h for h in HOLDERS if h != held.holder)
        answers: list[Any] = []

        async def beside() -> None:
            answers.extend(await self.settling(held, status, 0))

        async def reap_and_claim() -> list[Delivery]:
            await reap(self.connections[other])
            return await self.claiming(other, 5)

        taken = self.wait(self.within(other, reap_and_claim, beside, commit))
        if commit:
            self.reaped(expired)
            assert len(taken) == min(5, self.due())
            self.took(other, taken)
        else:
            assert (self.ran_out(), self.due()) == (expired, due)
        self.wrote(held, status, 0, answers[0])

    async def within(
        self,
        holder: str,
        work: Callable[[], Awaitable[list[Delivery]]],
        beside: Callable[[], Awaitable[None]],
        commit: bool,  # noqa: FBT001 - drawn by Hypothesis
    ) -> list[Delivery]:
        """Runs `work` in a transaction, begins `beside` before it ends, then ends both.

        What runs beside either ends at once or waits for a lock that the transaction holds.
        """
        connection = self.connections[holder]
        async with connection.transaction(force_rollback=not commit):
            done = await work()
            task = asyncio.ensure_future(beside())
            while not (task.done() or await self.somebody_waits()):  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0)
        await task
        return done

    async def somebody_waits(self) -> bool:
        """Whether somebody in this database waits for a lock of another one."""
        cursor = await self.operator.execute(
            "select exists (select from pg_stat_activity where datname = current_database()"
            " and backend_type = 'client backend' and cardinality(pg_blocking_pids(pid)) > 0)"
        )
        row = await cursor.fetchone()
        return row is not None and bool(row[0])

    # What must hold after each step.

    @invariant()
    def the_table_is_as_the_model_says(self) -> None:
        """Every row is in one place that the statements can reach, and attempts never fall."""
        found = self.wait(self.read())
        assert {row[0] for row in found} == self.rows.keys()
        for (
            number,
            status,
            attempts,
            most,
            holder,
            leased,
            good,
            due,
            placed,
            settled,
            why,
        ) in found:
            row = self.rows[number]
            assert (Status(status), attempts, most, holder) == (
                row.status,
                row.attempts,
                row.max_attempts,
                row.holder,
            )
            assert self.highest.get(number, 0) <= attempts <= most
            self.highest[number] = attempts
            assert leased == (row.status is Status.PROCESSING)
            assert settled == (row.status in FINAL)
            if row.status is Status.PROCESSING:
                assert good == (row.lease_ends > self.now)
            if row.status is Status.PENDING:
                assert placed
                assert attempts < most
                assert due == (row.due <= self.now)
            if row.status in (Status.FAILED, Status.DEAD):
                assert why

    async def read(self) -> list[tuple[Any, ...]]:
        """The whole table."""
        cursor = await self.operator.execute(STATE)
        return await cursor.fetchall()

    @invariant()
    def one_holder_at_most_has_a_good_lease(self) -> None:
        """Of all who ever claimed a row, one at most may believe it to be its own."""
        for number, row in self.rows.items():
            believers = [h for h in self.held if h.delivery.id == number and self.is_current(h)]
            assert len(believers) == (row.status is Status.PROCESSING)

    @invariant()
    def depth_is_the_recount(self) -> None:
        """The sums of the deltas are the rows."""
        seen = self.wait(depth(self.operator))
        counted = self.wait(recount(self.operator))
        assert counted == {
            status: sum(row.status is status for row in self.rows.values()) for status in Status
        }
        assert {status: getattr(seen, status.value) for status in Status} == counted
        assert seen.due == self.due()
        assert seen.due + seen.scheduled + seen.retrying == seen.pending


def play(conninfo: str, examples: int, *phases: Phase) -> None:
    """Plays the histories, the same ones each time. Raises the error of one that fails."""
    loop = asyncio.new_event_loop()

    async def opened() -> list[Connection]:
        return [
            await psycopg.AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=None)
            for _ in (*HOLDERS, "operator")
        ]

    connections = loop.run_until_complete(opened())
    try:
        run_state_machine_as_test(
            lambda: Outbox(loop, connections),
            settings=settings(
                max_examples=examples,
                stateful_step_count=30,
                derandomize=True,
                deadline=None,
                database=None,
                phases=phases,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        for connection in connections:
            loop.run_until_complete(connection.close())
        loop.close()


def test_arbitrary_histories(database):
    """Whatever holders, reapers and operators do in whatever order, the invariants hold."""
    play(database, EXAMPLES, Phase.generate, Phase.shrink)


HEADS = """                limit most
                  for update skip locked) as head
         where c.channel not in (select channel from notifications.paused_channels)
         order by head.next_attempt_at, head.created_at, head.id
         limit most
"""
IN_FUNCTIONS = {
    "settle without its fence": ("settle", "when f.attempts = i.attempt\n", "when true\n"),
    "claim one more": ("claim", HEADS, HEADS.replace("limit most", "limit most + 1")),
    "claim too early": ("claim", "and next_attempt_at <= statement_timestamp()", ""),
    "claim without a lock": ("claim", "for update skip locked", ""),
}
IN_STATEMENTS = {
    "extend what ran out": ("extend", b"and d.lease_expires_at > statement_timestamp()", b""),
    "release without a larger budget": ("release", b"d.max_attempts + 1", b"d.max_attempts"),
    "reap what is still held": ("reap", b"and lease_expires_at <= statement_timestamp()", b""),
}


@pytest.mark.parametrize("mistake", IN_FUNCTIONS)
def test_a_mistake_in_a_function_is_noticed(database, direct, mistake):
    """The histories are rich enough to tell each of these from the function as it is."""
    name, right, wrong = IN_FUNCTIONS[mistake]
    alter_function(direct, f"notifications.{name}", right, wrong)
    with pytest.raises((AssertionError, psycopg.IntegrityError)):
        play(database, 5 * EXAMPLES, Phase.generate)


@pytest.mark.parametrize("mistake", IN_STATEMENTS)
def test_a_mistake_in_a_statement_is_noticed(database, monkeypatch, mistake):
    """And these from the statement."""
    name, right, wrong = IN_STATEMENTS[mistake]
    text = queue.statement(name)
    assert text.count(right) == 1, f"{name}.sql has changed: {right!r}"
    read = queue.statement
    monkeypatch.setattr(
        queue,
        "statement",
        lambda asked: text.replace(right, wrong) if asked == name else read(asked),
    )
    with pytest.raises((AssertionError, psycopg.IntegrityError)):
        play(database, 5 * EXAMPLES, Phase.generate)
