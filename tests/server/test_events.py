"""The stream of changes over HTTP: it begins with counts, can be resumed, and ends when told."""

import asyncio
import contextlib
from random import Random

import pytest

from server.app import create_app
from server.database import open_pool
from server.feed import Feed, Reset, TooManyWatchersError
from server.outbox import Settlement, Status, purge_changes, settle
from tests.conftest import Place
from tests.server.conftest import NOWHERE, listening
from tests.server.stream import streaming

ADMIN = {"Authorization": "Bearer s3cret"}
LOG = "notifications.event_log"


@pytest.fixture
def stop() -> asyncio.Event:
    """What tells the application to end."""
    return asyncio.Event()


@pytest.fixture
def place(emptied: Place) -> Place:
    """One for the file: making one for each test would take longer than the tests."""
    return emptied


@pytest.fixture
async def api(settings, database, stop):
    """A client with the token, of an application of the test's own."""
    async with listening(create_app(settings, database, stop=stop)) as client:
        client.headers.update(ADMIN)
        yield client


async def test_it_begins_with_the_queue_as_it_is(api, connection, rows):
    """Counts and what is held, and then what changes."""
    delivery = await rows.take_one(connection, holder="ada")
    await rows.add(connection, 2)
    async with streaming(api) as stream:
        assert stream.response.headers["content-type"].startswith("text/event-stream")
        assert stream.response.headers["cache-control"] == "no-cache"
        first = await stream.next()
        assert (first.name, first.data["reason"]) == ("reset", "start")
        depth = first.data["depth"]
        assert (depth["pending"]["total"], depth["processing"]) == (2, 1)
        [held] = first.data["held"]
        assert (held["id"], held["holder"], held["attempt"]) == (delivery.id, "ada", 1)
        await settle(connection, [Settlement(delivery.id, 1, Status.SENT)])
        change = await stream.until(change="settle")
    assert change["delivery_id"] == delivery.id
    assert (change["from_status"], change["to_status"]) == ("processing", "sent")


async def test_who_comes_back_misses_nothing_and_sees_nothing_twice(api, connection, rows):
    """From the id of any event, also one that came in the middle of a burst."""
    async with streaming(api) as stream:
        first = await stream.next()
    ids = await rows.add(connection, 950)
    at, seen, cuts = first.id, [], 0
    while len(seen) < len(ids):
        async with streaming(api, after=at) as stream:
            for _ in range(2):
                event = await stream.next()
                assert event.name == "changes"
                seen += [change["delivery_id"] for change in event.data["changes"]]
                at = event.id
                if len(seen) >= len(ids):
                    break
        cuts += 1
    assert cuts > 2
    assert seen == ids


async def test_a_cursor_that_is_of_no_use(api, connection, rows):
    """It is said why, and the stream goes on from there: a browser would not survive an error."""
    async with streaming(api, after="nonsense") as stream:
        first = await stream.next()
        assert (first.name, first.data["reason"]) == ("reset", "unreadable")
        await rows.add(connection, 3)
        await stream.until(change="enqueue")
        await purge_changes(connection, keep=0)
    async with streaming(api, after=first.id) as stream:
        again = await stream.next()
        assert (again.name, again.data["reason"]) == ("reset", "too-old")
        await rows.add(connection)
        await stream.until(change="enqueue")


async def test_the_cursor_in_the_address(api):
    """For whoever cannot send a header."""
    response = api.stream("GET", "/api/queue/events?after=x", timeout=60)
    async with response as opened:
        lines = opened.aiter_lines()
        assert "event: reset" in [await anext(lines), await anext(lines)]


async def test_many_watchers_are_told_the_same(api, connection, rows):
    """By one reader, whenever they came."""
    async with contextlib.AsyncExitStack() as stack:
        streams = []
        for _ in range(4):
            stream = await stack.enter_async_context(streaming(api))
            await stream.next()
            streams.append(stream)
            [number] = await rows.add(connection)
            for one in streams:
                await one.until(change="enqueue", delivery_id=number)


async def test_nobody_may_watch_without_the_token(api):
    """Holders, channels and errors are nobody else's business."""
    answer = await api.get("/api/queue/events", headers={"Authorization": "Bearer no"})
    assert answer.status_code == 403
    del api.headers["Authorization"]
    assert (await api.get("/api/queue/events")).status_code == 401
    page = {"Sec-Fetch-Site": "same-origin"}
    async with api.stream("GET", "/api/queue/events", headers=page) as response:
        assert response.status_code == 200, "the page itself may, on loopback"


async def test_a_database_that_is_away_at_first(impatient):
    """That is said as an error, before there is a stream."""
    async with listening(create_app(impatient, NOWHERE)) as client:
        answer = await client.get("/api/queue/events", headers=ADMIN)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


async def test_the_end_of_the_server_ends_it_at_once(api, stop):
    """It does not wait until its watchers have gone."""
    async with streaming(api) as stream:
        await stream.next()
        stop.set()
        assert await stream.next() is None


@pytest.fixture
async def feed_of(database):
    """Makes feeds over a pool of their own, which tell how many changes there were."""
    async with open_pool(database) as pool:
        made = []

        def make(**options) -> Feed:
            made.append(Feed(pool, database, lambda changes: str(len(changes)), **options))
            return made[-1]

        yield make
        for one in made:
            one.close()


async def test_a_slow_watcher_is_let_go(feed_of, connection, rows):
    """It holds nothing but its place; what it missed it gets when it comes back."""
    feed = feed_of(kept=2)
    async with feed.watching(None) as slow, feed.watching(None) as quick:
        start = await anext(slow)
        await anext(quick)
        for _ in range(4):
            await rows.add(connection)
            await anext(quick)
        with pytest.raises(StopAsyncIteration):
            await anext(slow)
    async with feed.watching(start.cursor) as back:
        assert (await anext(back)).data == "4"


async def test_as_many_as_may(feed_of):
    """One more is refused, and one that leaves makes room."""
    feed = feed_of(most=2)
    async with feed.watching(None):
        async with feed.watching(None):
            with pytest.raises(TooManyWatchersError):
                async with feed.watching(None):
                    pass
        async with feed.watching(None):
            assert feed.watchers == 2
    assert feed.watchers == 0


async def test_it_reads_only_while_somebody_watches(feed_of, connection):
    """And has changes written only as long, and a little longer."""
    feed = feed_of()
    async with feed.watching(None) as told:
        await anext(told)
        [reader] = [t for t in asyncio.all_tasks() if t.get_coro().__qualname__ == "Feed._read"]
    with contextlib.suppress(asyncio.CancelledError):
        await reader
    assert reader.cancelled()
    cursor = await connection.execute(
        f"select recorded_until - now() < interval '61 s' from {LOG}".encode()
    )
    assert await cursor.fetchone() == (True,)


async def test_changes_that_are_missing(feed_of, connection, rows):
    """The log was deleted under its reader: everybody is told to begin anew, and goes on."""
    feed = feed_of()
    async with feed.watching(None) as told:
        await anext(told)
        await connection.execute(f"update {LOG} set purged = pg_current_xact_id()".encode())
        assert (await anext(told)).reason == "too-old"
        await rows.add(connection)
        assert (await anext(told)).data == "1"


async def test_a_database_that_goes_away(feed_of, connection, rows):
    """Its reader waits for it, and whoever watches notices nothing but the pause."""
    feed = feed_of()
    async with feed.watching(None) as told:
        await anext(told)
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        await rows.add(connection)
        assert (await anext(told)).data == "1"


async def test_watchers_that_come_at_any_time(feed_of, connect, rows):
    """Each is told every change after its counts exactly once, in whatever order others commit."""
    feed = feed_of(kept=3)
    chance = Random(4)
    batches = [asyncio.Event() for _ in range(40)]
    whole = 3 * len(batches)

    async def write(mine: list[asyncio.Event]) -> None:
        async with connect() as own:
            for done in mine:
                async with own.transaction():
                    await rows.add(own, 1)
                    await asyncio.sleep(chance.random() / 50)  # the others' turn
                    await rows.add(own, 2)
                done.set()

    async def watch(after: asyncio.Event) -> int:
        await after.wait()
        known, cursor = 0, None
        while known < whole:
            async with feed.watching(cursor) as told:
                for _ in range(chance.randint(1, 4)):
                    news = await anext(told, None)
                    if news is None:
                        break
                    cursor = news.cursor
                    if isinstance(news, Reset):
                        known = news.now.depth.pending
                    else:
                        known += int(news.data)
                    if known >= whole:
                        break
        return known

    async with asyncio.timeout(60):
        writing = [write(batches[n::4]) for n in range(4)]
        known = await asyncio.gather(*writing, *(watch(one) for one in batches[::4]))
    assert known[4:] == [whole] * 10
    assert feed.watchers == 0
