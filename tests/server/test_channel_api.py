"""What the API takes for each channel, and how it names what it does not take."""

import pytest

from server.app import create_app
from server.outbox import claim
from tests.server.conftest import listening

ADMIN = {"Authorization": "Bearer s3cret", "content-type": "application/json"}
MAIL = {"channel": "email", "recipient": "a@example.org", "payload": {"subject": "x", "text": "x"}}
HOOK = {"channel": "webhook", "recipient": "https://example.org/", "payload": {"type": "x"}}


@pytest.mark.parametrize("body", [MAIL, HOOK], ids=["email", "webhook"])
async def test_every_channel_is_open_to_the_api(fresh_client, connection, body):
    """As it came in, so it lies there for the worker."""
    response = await fresh_client.post("/api/deliveries", json=body, headers=ADMIN)
    assert response.status_code == 202
    [taken] = await claim(connection, holder="a", channels=["email", "webhook"], limit=2, lease_s=9)
    assert {
        "channel": taken.channel,
        "recipient": taken.recipient,
        "payload": taken.payload,
    } == body


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (MAIL | {"recipient": "a"}, ["body.recipient"]),
        ({"channel": "email", "payload": MAIL["payload"]}, ["body.recipient"]),
        (
            MAIL | {"payload": {"html": ""}},
            [f"body.payload.{n}" for n in ("html", "subject", "text")],
        ),
        (
            MAIL | {"recipient": "a", "payload": {}, "count": 0},
            ["body.count", "body.payload.subject", "body.payload.text", "body.recipient"],
        ),
        (HOOK | {"recipient": "https://u:p@example.org"}, ["body.recipient"]),
        (HOOK | {"payload": []}, ["body.payload"]),
        (HOOK | {"recipient": "https://169.254.169.254/latest"}, ["body.recipient"]),
        (HOOK | {"recipient": "https://[::1]/"}, ["body.recipient"]),
        (HOOK | {"recipient": "https://localhost/"}, ["body.recipient"]),
        (HOOK | {"recipient": "http://example.org/"}, ["body.recipient"]),
        (HOOK | {"recipient": "https://xn--0/", "count": True}, ["body.count"]),
    ],
    ids=[
        "no-address",
        "none-given",
        "mail",
        "all-at-once",
        "userinfo",
        "list",
        "cloud",
        "loopback",
        "localhost",
        "no-tls",
        "truth",
    ],
)
async def test_what_a_channel_could_never_send_is_named(client, body, fields):
    """422 names each field at fault."""
    response = await client.post("/api/deliveries", json=body, headers=ADMIN)
    assert response.status_code == 422
    assert sorted(error["field"] for error in response.json()["errors"]) == fields


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ('{"a": ["x\\u0000"]}', "body.payload.a.0"),
        ('{"a": "\\ud800"}', "body.payload.a"),
        ('{"a": NaN}', "body.payload"),
        ('{"a": 1e999}', "body.payload"),
    ],
    ids=["null", "surrogate", "nan", "infinite"],
)
async def test_what_is_no_storable_json_is_named_too(client, payload, field):
    """Whatever the channel would do with it."""
    content = f'{{"channel": "webhook", "recipient": "https://x.org", "payload": {payload}}}'
    response = await client.post("/api/deliveries", content=content, headers=ADMIN)
    assert response.status_code == 422
    [error] = response.json()["errors"]
    assert error["field"] == field


async def test_what_is_allowed_here_is_taken(settings, database):
    """Within one's own network the receivers are private, and may go without TLS."""
    own = {"webhook_allow_private": True, "webhook_allow_http": True}
    body = HOOK | {"recipient": "http://10.0.0.7:8080/x"}
    async with listening(create_app(settings.model_copy(update=own), database)) as client:
        response = await client.post("/api/deliveries", json=body, headers=ADMIN)
    assert response.status_code == 202
