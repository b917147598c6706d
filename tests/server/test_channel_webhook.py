"""The channel "webhook" against real servers: signed, sent once, and what each answer means."""

import asyncio
import base64
import re
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from server.channels.answers import AGAIN, FINAL, retry_after
from server.channels.signature import SigningSecrets
from server.channels.webhook import WebhookChannel
from server.outbox import NewDelivery, Policy, Refused, RetryLater, Turn, enqueue
from tests.server.receivers import Endpoint, answer, authority, delivery, ok, raw_server

NEW, OLD = b"n" * 24, b"o" * 32
PAYLOAD = {"type": "order.paid", "data": {"name": "Žofie", "total": 12.5, "lines": [1, None]}}
BODY = '{"data":{"lines":[1,null],"name":"Žofie","total":12.5},"type":"order.paid"}'.encode()


def channel(secrets=(NEW,), **options):
    """A channel that may reach this machine without TLS, unless told otherwise."""
    wanted = {"allow_private": True, "allow_http": True, "timeout_s": 10} | options
    return WebhookChannel(SigningSecrets(secrets), **wanted)


def to(url, **changed):
    """A delivery to a URL."""
    return delivery("webhook", url, PAYLOAD, **changed)


@pytest.fixture
async def endpoint():
    """A receiver that is content, at `endpoint.url`."""
    serving = Endpoint()
    async with raw_server(serving) as port:
        serving.url = f"http://127.0.0.1:{port}/hooks?of=us"
        yield serving


def verified(post, secret):
    """What a receiver with this secret reads. Raises WebhookVerificationError."""
    return Webhook("whsec_" + base64.b64encode(secret).decode()).verify(post.body, post.headers)


async def test_a_receiver_with_an_independent_library_accepts_it(endpoint):
    """Signature, id and time are as Standard Webhooks says; the payload is all of the body."""
    await channel().send(to(endpoint.url))
    [post] = endpoint.posts
    assert verified(post, NEW) == PAYLOAD
    assert (post.target, post.body) == ("/hooks?of=us", BODY)
    assert post.headers["content-type"] == "application/json"
    assert post.headers["webhook-id"] == "msg_42-64bf5a1dfa600"


async def test_what_was_changed_on_its_way_is_not_accepted(endpoint):
    """Neither the body nor the id."""
    await channel().send(to(endpoint.url))
    [post] = endpoint.posts
    for forged in (
        replace(post, body=post.body.replace(b"12.5", b"92.5")),
        replace(post, headers={**post.headers, "webhook-id": "msg_43"}),
    ):
        with pytest.raises(WebhookVerificationError):
            verified(forged, NEW)


async def test_a_receiver_may_change_its_secret_at_a_time_of_its_own(endpoint):
    """While both are set, each of them verifies."""
    await channel((NEW, OLD)).send(to(endpoint.url))
    [post] = endpoint.posts
    assert verified(post, NEW) == verified(post, OLD) == PAYLOAD
    with pytest.raises(WebhookVerificationError):
        verified(post, b"x" * 24)


async def test_a_host_with_secrets_of_its_own_gets_no_other_signature(endpoint):
    """Who knows the shared secret cannot forge what goes there."""
    secrets = SigningSecrets([OLD], {"127.0.0.1": [NEW]})
    await WebhookChannel(secrets, allow_private=True, allow_http=True).send(to(endpoint.url))
    [post] = endpoint.posts
    assert verified(post, NEW) == PAYLOAD
    with pytest.raises(WebhookVerificationError):
        verified(post, OLD)


async def test_nothing_goes_out_unsigned(endpoint):
    """A host without a secret gets nothing."""
    with pytest.raises(Refused, match="no secret") as refused:
        await channel(()).send(to(endpoint.url))
    assert (refused.value.code, endpoint.posts) == ("no-secret", [])


async def test_a_retry_has_the_id_and_the_bytes_of_the_first_try(endpoint):
    """And a time of its own, so that a receiver which refuses old messages takes it."""
    now = iter([1_772_368_215.9, 1_772_368_999.0])
    sending = channel(clock=lambda: next(now))
    await sending.send(to(endpoint.url))
    await sending.send(to(endpoint.url, attempt=2))
    first, again = endpoint.posts
    assert first.body == again.body
    assert first.headers["webhook-id"] == again.headers["webhook-id"]
    assert first.headers["webhook-timestamp"] == "1772368215"
    assert again.headers["webhook-timestamp"] == "1772368999"


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "202 Accepted", "204 No Content"])
async def test_every_2xx_is_a_yes(endpoint, status):
    """What the receiver calls the request is returned."""
    endpoint.answers = [answer(status, x_request_id="r-7")]
    assert await channel().send(to(endpoint.url)) == "r-7"


async def test_a_yes_without_an_id_has_none(endpoint):
    """None, not an empty text."""
    assert await channel().send(to(endpoint.url)) is None


@pytest.mark.parametrize("status", [*FINAL, 402, 418, 499])
async def test_a_final_answer_is_a_refusal(endpoint, status):
    """The reason says what the status means and what the receiver said, in one line."""
    endpoint.answers = [answer(f"{status} No", b"not\r\n\x1b[1m you \xff")]
    with pytest.raises(Refused, match=f"^{status}.*it says: not \\[1m you �$") as refused:
        await channel().send(to(endpoint.url))
    assert refused.value.code == f"http-{status}"


@pytest.mark.parametrize("status", [*AGAIN, 500, 501, 502, 503, 504, 599])
async def test_an_answer_for_now_is_tried_again(endpoint, status):
    """After the pause that the receiver asks for."""
    endpoint.answers = [answer(f"{status} Later", retry_after="17"), answer(f"{status} Later")]
    for after_s in (17.0, 0.0):
        with pytest.raises(RetryLater, match=f"^{status}") as raised:
            await channel().send(to(endpoint.url))
        assert raised.value.after_s == after_s


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
async def test_a_redirect_is_refused_and_not_followed(endpoint, status):
    """Not even back to itself, for ever."""
    endpoint.answers = [answer(f"{status} There", location=endpoint.url)]
    with pytest.raises(Refused, match="redirects are not followed"):
        await channel().send(to(endpoint.url))
    assert len(endpoint.posts) == 1


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "0"}, 0),
        ({"retry-after": " 120 "}, 120),
        ({"retry-after": "9" * 400}, 999_999_999_999),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "1.5"}, 0),
        ({"retry-after": "٣"}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "Sun, 01 Mar 2026 12:01:00 GMT"}, 60),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "Sun, 01 Mar 99999999999 12:01:00 GMT"}, 0),
        (
            {
                "retry-after": "Sun, 01 Mar 2026 15:01:00 GMT",
                "date": "Sun, 01 Mar 2026 15:00:30 GMT",
            },
            30,
        ),
        ({"retry-after": "Sun, 01 Mar 2026 12:01:00 GMT", "date": "yesterday"}, 60),
    ],
    ids=str,
)
def test_the_pause_that_a_receiver_asks_for(headers, seconds):
    """Seconds or a date; the date by the receiver's own clock; what cannot be read is nothing."""
    assert retry_after(headers, now=NOW) == seconds


LOOPBACK = ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "0.0.0.0"]  # noqa: S104 - refused
MAPPED = [
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::]",
    "[64:ff9b::7f00:1]",
    "[fe80::1]",
    "[fd00:ec2::254]",
]


@pytest.mark.parametrize("host", [*LOOPBACK, *MAPPED, "169.254.169.254", "10.0.0.1"])
async def test_no_way_of_writing_an_inner_address_gets_there(endpoint, host):
    """What counts is where the name leads, not how it is written."""
    port = endpoint.url.split(":")[2]
    with pytest.raises(Refused, match="no public address") as refused:
        await channel(allow_private=False).send(to(f"http://{host}:{port}"))
    assert (refused.value.code, endpoint.posts) == ("private-address", [])


def leading_to(*rounds):
    """A resolver that gives other addresses each time it is asked."""
    waiting = iter(rounds)

    async def resolver(_host, _port):
        return [ip_address(address) for address in next(waiting)]

    return resolver


async def test_the_connection_goes_to_the_address_that_was_checked():
    """A name that leads elsewhere a moment later gains nothing: it is asked for once."""
    at_server, at_client = authority("hooks.example.org")
    outer, inner = Endpoint(), Endpoint()
    async with (
        raw_server(outer, tls=at_server, host="127.0.0.2") as port,
        raw_server(inner, tls=at_server, host="127.0.0.3", port=port),
    ):
        sending = channel(ssl_context=at_client, resolver=leading_to(["127.0.0.2"], ["127.0.0.3"]))
        await sending.send(to(f"https://hooks.example.org:{port}/x"))
    [post] = outer.posts
    assert inner.posts == []
    assert post.headers["host"] == f"hooks.example.org:{port}"


async def test_of_mixed_addresses_only_public_ones_are_used(endpoint):
    """The refused one is the one that would have answered."""
    port = endpoint.url.split(":")[2]
    sending = channel(
        allow_private=False, timeout_s=0.3, resolver=leading_to(["127.0.0.1", "2000::1"])
    )
    with pytest.raises(RetryLater):
        await sending.send(to(f"http://hooks.example.org:{port}"))
    assert endpoint.posts == []


async def test_the_next_address_is_tried_if_one_takes_no_connection(endpoint):
    """Nothing has been sent by then, so nothing is sent twice."""
    sending = channel(resolver=leading_to(["127.0.0.9", "127.0.0.1"]))
    await sending.send(to(endpoint.url.replace("127.0.0.1", "hooks.example.org")))
    assert len(endpoint.posts) == 1


async def test_a_certificate_must_be_of_the_name_in_the_url():
    """Not of the address, and not of another name."""
    at_server, at_client = authority("hooks.example.org")
    serving = Endpoint()
    async with raw_server(serving, tls=at_server) as port:
        for host in ("other.example.org", "127.0.0.1"):
            sending = channel(ssl_context=at_client, resolver=leading_to(["127.0.0.1"]))
            with pytest.raises(RetryLater, match="certificate verify failed"):
                await sending.send(to(f"https://{host}:{port}"))
    assert serving.posts == []


async def test_a_proxy_of_the_environment_is_not_used(endpoint, monkeypatch):
    """It would connect to whatever the name means to it."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    await channel().send(to(endpoint.url))
    assert len(endpoint.posts) == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "hooks.example.org/path",
        "ftp://hooks.example.org",
        "file:///etc/passwd",
        "https://",
        "https://user:secret@hooks.example.org",
        "https://user@hooks.example.org",
        "https://hooks.example.org/#part",
        "https://hooks.example.org:0/",
        "https://hooks.example.org:99999/",
        "https://hooks.example.org/\r\nx: y",
        "https://[::1",
    ],
)
async def test_what_is_no_endpoint_is_refused_by_field(url):
    """At the API, and at the worker for what came another way."""
    assert [fault.field for fault in WebhookChannel.faults(url, PAYLOAD)] == ["recipient"]
    with pytest.raises(Refused, match="recipient") as refused:
        await channel().send(to(url))
    assert refused.value.code == "invalid"


async def test_without_leave_only_https_is_used(endpoint):
    """A signature keeps nobody from reading."""
    with pytest.raises(Refused, match="https"):
        await channel(allow_http=False).send(to(endpoint.url))
    assert endpoint.posts == []


async def test_a_name_that_is_too_long_is_refused():
    """The resolver would not take it at any time."""
    with pytest.raises(Refused, match="host name"):
        await channel().send(to(f"http://{'a' * 70}.example.org"))


async def test_a_name_that_leads_nowhere_is_tried_again():
    """It may lead somewhere tomorrow."""
    with pytest.raises(RetryLater, match="not resolved"):
        await channel().send(to("http://nowhere.invalid"))


def says(*parts, ever=b""):
    """Takes a request and says this, then `ever` for ever."""

    async def talk(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await writer.drain()
        while ever:
            writer.write(ever)
            await writer.drain()

    return talk


@pytest.mark.parametrize(
    "talk",
    [
        says(),
        says(b"WHAT 200 OK\r\n\r\n"),
        says(b"HTTP/1.1 twohundred OK\r\n\r\n"),
        says(b"HTTP/1.1 200 OK\r\nContent"),
        says(b"\0" * 100),
        says(b"HTTP/1.1 200 OK\r\n", ever=b"x: " + b"y" * 1000 + b"\r\n"),
        says(b"HTTP/1.1 200 ", ever=b"O" * 1000),
        says(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    ],
    ids=["closes", "status", "number", "half", "zeros", "headers", "phrase", "upgrade"],
)
async def test_what_is_no_http_is_tried_again(talk):
    """And never read without end."""
    async with raw_server(talk) as port:
        with pytest.raises(RetryLater):
            await channel().send(to(f"http://127.0.0.1:{port}"))


async def test_a_body_without_end_does_not_keep_a_yes_waiting():
    """The status is the answer, and nothing of the body is read."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n"
    async with raw_server(says(head, ever=b"x" * 65536)) as port:
        await channel().send(to(f"http://127.0.0.1:{port}"))


async def test_a_body_without_end_is_read_for_its_beginning_only():
    """The client leaves long before the receiver has said all of it."""
    said_all = False

    async def talk(reader, writer):
        nonlocal said_all
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 500 Oops\r\ncontent-length: 999999999\r\n\r\n")
        for _ in range(320):
            writer.write(b"x" * 65536)
            await writer.drain()
        said_all = True

    async with raw_server(talk) as port:
        with pytest.raises(RetryLater, match=r"it says: x{200}$"):
            await channel(timeout_s=100).send(to(f"http://127.0.0.1:{port}"))
        assert not said_all


async def test_a_body_that_drips_does_not_hide_the_status():
    """410 is 410, whether its body ends or not."""

    async def talk(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 410 Gone\r\ncontent-length: 1000\r\n\r\nso")
        await asyncio.Event().wait()

    async with raw_server(talk) as port:
        with pytest.raises(Refused, match=r"410 Gone.*it says: so$"):
            await channel(timeout_s=2).send(to(f"http://127.0.0.1:{port}"))


@pytest.mark.parametrize("drip", [b"", b"HTTP/1.1 200 OK\r\n"], ids=["silent", "half-a-head"])
async def test_a_receiver_that_hangs_is_no_fault_of_the_channel(drip):
    """The attempt failed; other receivers are served meanwhile and after."""
    closed = asyncio.Event()

    async def talk(reader, writer):
        writer.write(drip)
        while await reader.read(1000):
            pass
        closed.set()

    async with raw_server(talk) as port:
        with pytest.raises(RetryLater, match="no answer within"):
            await channel(timeout_s=0.2).send(to(f"http://127.0.0.1:{port}"))
        await closed.wait()


async def test_no_receiver_is_tried_again():
    """Nobody listens there."""
    async with raw_server(says()) as port:
        pass
    with pytest.raises(RetryLater, match="could not be reached"):
        await channel().send(to(f"http://127.0.0.1:{port}"))


async def test_from_the_table_to_the_receiver(connect, connection, rows, endpoint):
    """Enqueued, claimed, put off, sent: the same id and bytes, and one effect where that counts."""
    endpoint.answers = [answer("503 Busy", retry_after="3600"), ok()]
    [number] = await enqueue(connection, [NewDelivery("webhook", endpoint.url, PAYLOAD)])
    turn = Turn(connect, {"webhook": channel()}, Policy(), holder="a")
    assert (await turn.take(asyncio.Event())).retried == 1
    row = await rows.read(connection, number)
    assert (row["next_attempt_at"] - row["attempted_at"]).total_seconds() >= 3600
    await rows.make_due(connection)
    assert (await turn.take(asyncio.Event())).sent == 1
    first, again = endpoint.posts
    assert first.body == again.body == BODY
    assert first.headers["webhook-id"] == again.headers["webhook-id"]
    assert re.fullmatch(rf"msg_{number}-[0-9a-f]+", first.headers["webhook-id"])
    assert verified(again, NEW) == PAYLOAD


async def test_a_final_answer_ends_the_delivery(connect, connection, rows, endpoint):
    """It is in `failed`, with the reason."""
    endpoint.answers = [answer("410 Gone")]
    [number] = await enqueue(connection, [NewDelivery("webhook", endpoint.url, PAYLOAD)])
    turn = Turn(connect, {"webhook": channel()}, Policy(), holder="a")
    assert (await turn.take(asyncio.Event())).failed == 1
    row = await rows.read(connection, number)
    assert (row["status"], row["attempts"]) == ("failed", 1)
    assert row["last_error"] == "410 Gone: the endpoint is gone for good"


async def test_a_receiver_that_is_down_does_not_hold_up_the_others(connect, connection, endpoint):
    """However many of its deliveries come first."""
    async with raw_server(says()) as port:
        pass
    gone = NewDelivery("webhook", f"http://127.0.0.1:{port}", PAYLOAD)
    await enqueue(connection, [*[gone] * 10, NewDelivery("webhook", endpoint.url, PAYLOAD)])
    turn = Turn(connect, {"webhook": channel()}, Policy(batch=10), holder="a")
    assert (await turn.take(asyncio.Event())).retried == 10
    assert (await turn.take(asyncio.Event())).sent == 1
