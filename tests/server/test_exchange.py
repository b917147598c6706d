"""Settling and claiming at once: both or nothing, and in the order that two statements have."""

import asyncio

import psycopg
import pytest

from server.outbox import Settlement, Status
from server.outbox.model import Verdict
from server.outbox.queue import exchange


def _sent(deliveries) -> list[Settlement]:
    return [Settlement(one.id, one.attempt, Status.SENT) for one in deliveries]


async def _exchange(connection, settlements, *, limit=25, lease_s=300.0):
    return await exchange(
        connection, settlements, holder="me", channels=["page"], limit=limit, lease_s=lease_s
    )


async def test_it_settles_and_claims(connection, rows):
    """What was sent is sent, what comes next is held, each with an answer of its own."""
    first, second, third = await rows.add(connection, 3)
    held = await rows.take(connection, 1, holder="me")
    answers, deliveries = await _exchange(connection, _sent(held), limit=1)
    assert [(a.id, a.verdict, a.status) for a in answers] == [(first, Verdict.APPLIED, Status.SENT)]
    assert [(d.id, d.attempt) for d in deliveries] == [(second, 1)]
    found = [(await rows.read(connection, n))["status"] for n in (first, second, third)]
    assert found == ["sent", "processing", "pending"]


async def test_a_settle_that_fails_claims_nothing(connection, rows):
    """Nothing is claimed while an outcome is unsaved."""
    [first, second] = await rows.add(connection, 2)
    [held] = await rows.take(connection, 1)
    wrong = Settlement(held.id, held.attempt, Status.PENDING, "no", 1e300)
    with pytest.raises(psycopg.errors.DatetimeFieldOverflow):
        await _exchange(connection, [wrong])
    assert (await rows.read(connection, first))["status"] == "processing"
    assert (await rows.read(connection, second))["attempts"] == 0


async def test_a_claim_that_fails_settles_nothing(connection, rows):
    """So that the outcomes are still the worker's to save."""
    await rows.add(connection, 2)
    held = await rows.take(connection, 1)
    with pytest.raises(psycopg.errors.DatetimeFieldOverflow):
        await _exchange(connection, _sent(held), lease_s=1e300)
    assert (await rows.read(connection, held[0].id))["status"] == "processing"
    answers, _ = await _exchange(connection, _sent(held))
    assert [a.verdict for a in answers] == [Verdict.APPLIED]


async def test_what_is_due_again_at_once_is_not_lost(connection, rows):
    """A retry without a pause is pending after the exchange, or held under its next attempt."""
    [number] = await rows.add(connection)
    held = await rows.take(connection, 1)
    retry = [Settlement(number, held[0].attempt, Status.PENDING, "again")]
    answers, deliveries = await _exchange(connection, retry)
    assert [a.verdict for a in answers] == [Verdict.APPLIED]
    if not deliveries:
        deliveries = await rows.take(connection)
    assert [(d.id, d.attempt) for d in deliveries] == [(number, 2)]


async def test_texts_come_through_as_they_are(connection, rows):
    """Quotes, backslashes, percent signs, braces, and nothing at all."""
    await rows.add(connection, 3)
    held = await rows.take(connection)
    texts = ['it\'s 100 % \\ "wrong" {}', "NULL", None]
    outcomes = [
        Settlement(one.id, one.attempt, Status.FAILED, text, code=text, provider_id=text)
        for one, text in zip(held, texts, strict=True)
    ]
    answers, _ = await _exchange(connection, outcomes)
    assert {a.verdict for a in answers} == {Verdict.APPLIED}
    cursor = await connection.execute(
        "select error, class, provider_id from notifications.delivery_attempts order by delivery_id"
    )
    assert await cursor.fetchall() == [(text, text, text) for text in texts]


async def test_several_at_once_neither_lose_nor_share(connect, rows):
    """Six exchange against each other until nothing is left; each row is settled once."""
    async with connect() as connection:
        ids = await rows.add(connection, 300)

    async def worker(limit: int) -> list[int]:
        done = []
        async with connect() as connection:
            held = []
            while True:
                answers, deliveries = await _exchange(connection, _sent(held), limit=limit)
                assert all(a.verdict is Verdict.APPLIED for a in answers)
                done += [a.id for a in answers]
                if not held and not deliveries:
                    return done
                held = deliveries

    done = await asyncio.gather(*(worker(limit) for limit in (1, 3, 7, 11, 25, 40)))
    assert sorted(number for one in done for number in one) == ids
