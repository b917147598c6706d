"""What the API answers."""

import pytest

from server.outbox import claim, depth
from server.settings import Settings

ADMIN = {"Authorization": "Bearer s3cret"}


async def test_depth_of_an_empty_queue(fresh_client):
    """Every count is there, and no age."""
    document = (await fresh_client.get("/api/queue/depth")).json()
    assert document.pop("as_of")
    assert document == {
        "mode": "dormant",
        "workers": {"live": 0},
        "pending": {"total": 0, "due": 0, "scheduled": 0, "retrying": 0},
        "processing": 0,
        "sent": 0,
        "failed": 0,
        "dead": 0,
        "oldest_due_age_s": None,
    }


async def test_deliveries_are_accepted_and_seen_in_the_depth(fresh_client, connection):
    """What was accepted is in the queue when the answer comes."""
    response = await fresh_client.post(
        "/api/deliveries", json={"payload": {"text": "x"}, "count": 60}, headers=ADMIN
    )
    assert response.status_code == 202
    answer = response.json()
    assert answer["count"] == 60
    assert len(answer["ids"]) == 25
    assert (await fresh_client.get("/api/queue/depth")).json()["pending"]["total"] == 60
    assert (await depth(connection)).due == 60


async def test_mode_follows_the_live_workers(fresh_client, connection):
    """Running as soon as one says that it is there."""
    await connection.execute(
        "insert into notifications.workers (holder, host, pid, beat) values ('w','h',1,'9 s')"
    )
    document = (await fresh_client.get("/api/queue/depth")).json()
    assert (document["mode"], document["workers"]) == ("running", {"live": 1})


async def test_depth_is_revalidated(fresh_client):
    """The ETag stays while nothing changes, and changes with the queue."""
    first = await fresh_client.get("/api/queue/depth")
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    same = await fresh_client.get("/api/queue/depth", headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    for known in (f"W/{tag}", f'"x", W/{tag}', "*"):  # a proxy that compresses makes it weak
        same = await fresh_client.get("/api/queue/depth", headers={"If-None-Match": known})
        assert same.status_code == 304, known
    await fresh_client.post("/api/deliveries", json={"payload": {"text": "x"}}, headers=ADMIN)
    other = await fresh_client.get("/api/queue/depth", headers={"If-None-Match": tag})
    assert other.status_code == 200
    assert other.headers["etag"] != tag


async def test_an_idempotency_key_adds_once(fresh_client):
    """A second request with it gets the ids of the first."""
    body = {"payload": {"text": "x"}, "count": 3, "idempotency_key": "k"}
    first = await fresh_client.post("/api/deliveries", json=body, headers=ADMIN)
    second = await fresh_client.post("/api/deliveries", json=body, headers=ADMIN)
    assert first.json() == second.json()
    assert (await fresh_client.get("/api/queue/depth")).json()["pending"]["total"] == 3


async def test_policy_is_what_the_settings_say(fresh_client, settings: Settings):
    """Unscaled, with the scale beside it; no secret is in it."""
    response = await fresh_client.get("/api/queue/policy")
    policy = response.json()
    assert policy == {
        "batch": 25,
        "concurrency": 10,
        "max_attempts": 5,
        "backoff_s": [30.0, 120.0, 480.0, 1920.0],
        "backoff_jitter": 0.1,
        "lease_s": 300.0,
        "send_timeout_s": 10.0,
        "send_margin_s": 30.0,
        "poll_s": 5.0,
        "time_scale": 1.0,
        "lab": settings.lab_mode,
    }
    assert settings.admin_token is not None
    assert settings.admin_token.get_secret_value() not in response.text


async def test_max_attempts_of_a_delivery_come_from_the_settings(fresh_client, connection):
    """And not from a default of their own."""
    await fresh_client.post("/api/deliveries", json={"payload": {"text": "x"}}, headers=ADMIN)
    [delivery] = await claim(connection, holder="a", channels=["page"], limit=1, lease_s=9)
    assert delivery.max_attempts == 5


async def test_page_messages_by_position(fresh_client, connection, rows):
    """Who keeps asking gets each message once."""
    ids = await rows.add(connection, 3)
    for number in ids:
        await connection.execute(
            "insert into notifications.page_messages (delivery_id, recipient, text, attempt)"
            " values (%s, 'page', 'Hallo', 1)",
            (number,),
        )
    first = (await fresh_client.get("/api/page-messages?after=0&limit=2")).json()
    assert [m["delivery_id"] for m in first["messages"]] == ids[:2]
    second = (await fresh_client.get(f"/api/page-messages?after={first['position']}")).json()
    assert [m["delivery_id"] for m in second["messages"]] == ids[2:]
    third = (await fresh_client.get(f"/api/page-messages?after={second['position']}")).json()
    assert third == {"messages": [], "position": second["position"]}


async def test_health(fresh_client):
    """Both say ok while the database is there; there is no queue of jobs here."""
    assert (await fresh_client.get("/api/livez")).json() == {"status": "ok"}
    ready = await fresh_client.get("/api/readyz")
    assert ready.json() == {"status": "ok", "queue": "off"}


@pytest.mark.parametrize("path", ["livez", "readyz", "queue/depth", "queue/policy"])
async def test_head_is_answered_where_get_is(fresh_client, path):
    """Monitors ask with HEAD."""
    answer = await fresh_client.head(f"/api/{path}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
