"""What operators and schedulers can do over HTTP, and who may."""

import asyncio

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.app import create_app
from server.outbox import Settlement, Status, depth, pause_channel, sample_depth, settle
from server.settings import Settings
from tests.server.conftest import listening

ADMIN = {"Authorization": "Bearer s3cret"}


async def _end(connection, rows, status: Status, count: int = 1) -> list[int]:
    await rows.add(connection, count)
    batch = await rows.take(connection, count)
    await settle(connection, [Settlement(d.id, d.attempt, status, "no") for d in batch])
    return [d.id for d in batch]


async def test_pages_of_deliveries(fresh_client, connection, rows):
    """Followed by the cursor, each comes once."""
    ids = await _end(connection, rows, Status.DEAD, 5)
    await rows.add(connection, 2)
    seen, query = [], "status=dead&limit=2"
    while query:
        page = (await fresh_client.get(f"/api/deliveries?{query}", headers=ADMIN)).json()
        seen += [one["id"] for one in page["deliveries"]]
        query = page["cursor"] and f"status=dead&limit=2&cursor={page['cursor']}"
    assert sorted(seen) == ids


async def test_one_delivery_with_its_attempts(fresh_client, connection, rows):
    """And a sentence for one that is not there."""
    [number] = await _end(connection, rows, Status.DEAD)
    found = (await fresh_client.get(f"/api/deliveries/{number}", headers=ADMIN)).json()
    assert (found["delivery"]["status"], found["payload"]) == ("dead", {"text": "x"})
    [attempt] = found["attempts"]
    assert (attempt["attempt"], attempt["outcome"], attempt["error"]) == (1, "failed", "no")
    gone = await fresh_client.get("/api/deliveries/999", headers=ADMIN)
    assert (gone.status_code, gone.json()["detail"]) == (404, "There is no delivery 999.")


async def test_retry_and_cancel_of_one(fresh_client, connection, rows):
    """What is in another status is a conflict, said with that status."""
    [number] = await _end(connection, rows, Status.DEAD)
    path = f"/api/deliveries/{number}"
    again = await fresh_client.post(f"{path}/retry?attempts=3", headers=ADMIN)
    assert again.json() == {"ids": [number], "count": 1}
    assert (await rows.read(connection, number))["max_attempts"] == 5
    twice = await fresh_client.post(f"{path}/retry", headers=ADMIN)
    assert (twice.status_code, "is pending" in twice.json()["detail"]) == (409, True)
    ended = await fresh_client.post(f"{path}/cancel", headers=ADMIN)
    assert ended.json()["ids"] == [number]
    twice = await fresh_client.post(f"{path}/cancel", headers=ADMIN)
    assert (twice.status_code, "is failed" in twice.json()["detail"]) == (409, True)
    for action in ("retry", "cancel"):
        gone = await fresh_client.post(f"/api/deliveries/999/{action}", headers=ADMIN)
        assert gone.status_code == 404


async def test_retry_by_filter_is_bounded(fresh_client, connection, rows):
    """And 1000 is the most that one call may ask for."""
    ids = await _end(connection, rows, Status.FAILED, 3)
    body = {"status": "failed", "channel": "page", "limit": 2}
    path = "/api/deliveries/retry"
    first = (await fresh_client.post(path, json=body, headers=ADMIN)).json()
    second = (await fresh_client.post(path, json=body, headers=ADMIN)).json()
    assert (first["ids"], second["ids"]) == (ids[:2], ids[2:])
    many = await fresh_client.post(path, json=body | {"limit": 1001}, headers=ADMIN)
    naive = body | {"settled_before": "2026-01-01T00:00:00"}
    unzoned = await fresh_client.post(path, json=naive, headers=ADMIN)
    assert [many.json()["errors"][0]["field"], unzoned.json()["errors"][0]["field"]] == [
        "body.limit",
        "body.settled_before",
    ]


async def test_a_channel_is_paused_and_resumed(fresh_client, connection, rows):
    """By a name that a path can carry."""
    await rows.add(connection, 2)
    body = {"reason": "the printer is on fire"}
    await fresh_client.post("/api/channels/page/pause", json=body, headers=ADMIN)
    assert await rows.take(connection) == []
    [found] = (await fresh_client.get("/api/channels", headers=ADMIN)).json()["channels"]
    assert (found["channel"], found["due"], found["reason"]) == ("page", 2, body["reason"])
    resumed = await fresh_client.post("/api/channels/page/resume", headers=ADMIN)
    assert resumed.json() == {"channel": "page", "paused": False}
    assert len(await rows.take(connection)) == 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/deliveries"),
        ("GET", "/api/deliveries/1"),
        ("POST", "/api/deliveries/1/retry"),
        ("POST", "/api/deliveries/retry"),
        ("POST", "/api/deliveries/1/cancel"),
        ("GET", "/api/channels"),
        ("POST", "/api/channels/page/pause"),
        ("POST", "/api/channels/page/resume"),
        ("POST", "/api/queue/drain"),
        ("GET", "/api/metrics"),
    ],
)
async def test_none_of_it_without_the_token(client, method, path):
    """401 without one, 403 with a wrong one, whatever else the request holds."""
    assert (await client.request(method, path)).status_code == 401
    wrong = {"Authorization": "Bearer wrong"}
    assert (await client.request(method, path, headers=wrong)).status_code == 403
    cut = {"Authorization": "Bearer s3cre"}
    assert (await client.request(method, path, headers=cut)).status_code == 403


async def test_drain_and_metrics_have_tokens_of_their_own(site, module_database):
    """Which open nothing else; the admin's opens both; the page of this origin neither."""
    settings = Settings(
        site=site,
        DATABASE_URL=module_database,
        admin_token="s3cret",
        drain_token="d",
        metrics_token="m",
    )
    drain, metrics = ("POST", "/api/queue/drain"), ("GET", "/api/metrics")
    allowed = {
        "s3cret": {drain, metrics},
        "d": {drain},
        "m": {metrics},
    }
    async with listening(create_app(settings, module_database)) as client:
        for token, paths in allowed.items():
            headers = {"Authorization": f"Bearer {token}"}
            for method, path in (drain, metrics):
                answer = await client.request(method, path, headers=headers)
                assert answer.status_code == (200 if (method, path) in paths else 403)
        for token in ("d", "m"):
            headers = {"Authorization": f"Bearer {token}"}
            assert (await client.get("/api/channels", headers=headers)).status_code == 403
        own = {"Origin": str(client.base_url).rstrip("/")}
        for method, path in (drain, metrics):
            assert (await client.request(method, path, headers=own)).status_code == 401


async def test_drain_and_metrics_are_off_without_any_token(site, module_database):
    """404, with what would turn them on."""
    settings = Settings(site=site, DATABASE_URL=module_database)
    async with listening(create_app(settings, module_database)) as client:
        for method, path, name in (
            ("POST", "/api/queue/drain", "WORKERS_DRAIN_TOKEN"),
            ("GET", "/api/metrics", "WORKERS_METRICS_TOKEN"),
        ):
            for token in ("", "None"):
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                answer = await client.request(method, path, headers=headers)
                assert (answer.status_code, name in answer.json()["detail"]) == (404, True)


@pytest.fixture
async def quick_client(site, database):
    """A client of a server whose channel takes no time."""
    settings = Settings(site=site, DATABASE_URL=database, admin_token="s3cret", page_send_s=0)
    async with listening(create_app(settings, database)) as client:
        yield client


async def test_a_drain_empties_the_queue_and_reports(quick_client, connection, rows):
    """The same report as the command's; what waits is told."""
    await rows.add(connection, 30)
    await rows.add(connection, 2, delay_s=3600)
    await rows.add(connection, 3, channel="pigeon")
    await pause_channel(connection, "pigeon")
    report = (await quick_client.post("/api/queue/drain", headers=ADMIN)).json()
    assert (report["finished"], report["done"]["sent"]) == (True, 30)
    left = report["left"]
    assert (left["due"], left["due_paused"], left["waiting"]) == (0, 3, 2)
    assert left["next_due_at"]
    assert (await depth(connection)).sent == 30


async def test_a_drain_gets_more_than_no_time_and_at_most_five_minutes(quick_client):
    """Anything else is named."""
    for seconds in ("0", "301", "nan", "inf", "-5"):
        path = f"/api/queue/drain?max_seconds={seconds}"
        answer = await quick_client.post(path, headers=ADMIN)
        assert answer.status_code == 422, seconds
        assert "max_seconds" in answer.json()["detail"]


async def test_one_drain_at_a_time_and_it_ends_with_the_server(site, database, connection, rows):
    """A second one is a conflict; stopping lets the first finish what it began, and report."""
    settings = Settings(site=site, DATABASE_URL=database, admin_token="s3cret", page_send_s=0.05)
    await rows.add(connection, 1000)
    stop = asyncio.Event()
    async with listening(create_app(settings, database, stop=stop)) as client:
        first = asyncio.create_task(client.post("/api/queue/drain", headers=ADMIN))
        while not (await depth(connection)).processing:
            pass
        second = await client.post("/api/queue/drain", headers=ADMIN)
        assert second.status_code == 409
        stop.set()
        report = (await first).json()
        assert not report["finished"]
        assert (await depth(connection)).processing == 0
        assert report["left"]["due"] == 1000 - report["done"]["sent"]


async def test_metrics_tell_what_a_drain_did_and_how_the_queue_is(quick_client, connection, rows):
    """By the format's own parser: counts by status, outcomes by channel, times, tables."""
    await rows.add(connection, 30)
    await quick_client.post("/api/queue/drain", headers=ADMIN)
    await rows.add(connection, 4)
    await pause_channel(connection, "page")
    answer = await quick_client.get("/api/metrics", headers=ADMIN)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["workers_deliveries", "pending"] == 4
    assert samples["workers_deliveries", "sent"] == 30
    assert samples["workers_pending_deliveries", "due"] == 4
    assert samples["workers_oldest_due_age_seconds",] > 0
    assert samples["workers_channel_paused", "page"] == 1
    assert samples["workers_channel_due_deliveries", "page"] == 4
    assert samples["workers_sends_total", "page", "sent"] == 30
    assert samples["workers_sent_total",] == 30
    assert samples["workers_refused_total",] == samples["workers_lost_total",] == 0
    assert samples["workers_reaped_total",] == 0
    assert samples["workers_send_seconds_count", "page"] == 30
    buckets = [v for name, v in samples.items() if name[0] == "workers_send_seconds_bucket"]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 30
    timed = {n[1] for n in samples if n[0] == "workers_statement_seconds_count"}
    assert any("claim" in name for name in timed)
    assert any("settle" in name for name in timed)
    assert ("workers_table_dead_rows", "notification_deliveries") in samples
    assert samples["workers_oldest_transaction_seconds",] >= 0
    assert samples["workers_server_loop_lag_seconds",] >= 0


async def test_an_old_transaction_is_seen(quick_client, connect):
    """It keeps dead rows from being swept, so somebody must hear of it."""
    async with connect() as other, other.transaction():
        await other.execute("select 1")
        answer = await quick_client.get("/api/metrics", headers=ADMIN)
    [line] = [
        line
        for line in answer.text.splitlines()
        if line.startswith("workers_oldest_transaction_seconds ")
    ]
    assert float(line.split()[1]) > 0


async def test_history_of_the_depth(fresh_client, connection, rows):
    """Open to everybody, like the depth."""
    await rows.add(connection, 3)
    await sample_depth(connection)
    history = (await fresh_client.get("/api/queue/depth/history?minutes=10")).json()
    assert history["step_s"] == 60
    assert history["samples"][-1]["pending"] == 3
    thin = (await fresh_client.get("/api/queue/depth/history?minutes=10080&points=100")).json()
    assert thin["step_s"] == 101 * 60


async def test_many_who_ask_for_the_depth_share_one_query(site, database):
    """A hundred at once cost a few statements, and all get the truth."""
    settings = Settings(site=site, DATABASE_URL=database)
    app, arrived = create_app(settings, database), asyncio.Semaphore(0)

    async def counting(scope, receive, send) -> None:
        if scope["type"] == "http":
            arrived.release()
        await app(scope, receive, send)

    async with listening(counting) as client:
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as one:
            lock = "lock table notifications.depth_deltas in access exclusive mode"
            async with one.transaction():
                await one.execute(lock.encode())
                asked = [asyncio.create_task(client.get("/api/queue/depth")) for _ in range(60)]
                await _until_somebody_waits(one)
                async with asyncio.timeout(60):
                    for _ in asked:
                        await arrived.acquire()
            answers = await asyncio.gather(*asked)
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["as_of"] for answer in answers}) <= 3


async def _until_somebody_waits(connection) -> None:
    async with asyncio.timeout(60):
        while True:
            cursor = await connection.execute(
                "select count(*) from pg_locks where not granted and database ="
                " (select oid from pg_database where datname = current_database())"
            )
            if await cursor.fetchone() != (0,):
                return
