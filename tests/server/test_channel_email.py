"""The channel "email" against real SMTP servers: one mail a delivery, and what replies mean."""

import asyncio
import contextlib
import email
import re
from dataclasses import replace
from email.policy import default

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.channels.email import EmailChannel, MailServer
from server.channels.mail import MailPayload, message_of
from server.outbox import (
    ChannelDown,
    NewDelivery,
    Policy,
    Refused,
    RetryLater,
    Turn,
    drain,
    enqueue,
)
from tests.server.receivers import Mailbox, authority, delivery, knows, mail_server, raw_server

HEADERS = sorted(
    [
        "Auto-Submitted",
        "Content-Transfer-Encoding",
        "Content-Type",
        "Date",
        "From",
        "MIME-Version",
        "Message-ID",
        "Subject",
        "To",
    ]
)
SENDER = "Workers <no-reply@example.org>"
PAYLOAD = {"subject": "Guten Tag, Žofie", "text": ".first line\n.\nlast line\n"}
DELIVERY = delivery("email", "ada@example.org", PAYLOAD)
BOTH = replace(DELIVERY, recipient="ada@example.org, bob@example.org")


def channel(port, **options):
    """A channel to a server on this machine, without TLS unless told."""
    timeout_s = options.pop("timeout_s", 10)
    wanted = {"host": "localhost", "sender": SENDER, "tls": "none"} | options
    return EmailChannel(MailServer(port=port, **wanted), timeout_s=timeout_s)


@pytest.fixture
def mailbox():
    """What the server of the test receives."""
    return Mailbox()


def read(envelope):
    """A received mail, parsed."""
    return email.message_from_bytes(envelope.content, policy=default)


async def test_a_mail_arrives_as_it_was_enqueued(mailbox):
    """Headers, text, sender, recipient; the server's own name for it is returned."""
    async with mail_server(mailbox) as port:
        assert await channel(port).send(DELIVERY) == "250 2.0.0 queued as 7F3A"
    [envelope] = mailbox.mails
    assert (envelope.mail_from, envelope.rcpt_tos) == ("no-reply@example.org", ["ada@example.org"])
    mail = read(envelope)
    assert mail["subject"] == PAYLOAD["subject"]
    assert mail["from"] == SENDER
    assert mail["to"] == "ada@example.org"
    assert mail["date"].datetime == DELIVERY.created_at.replace(microsecond=0)
    assert mail.get_content() == PAYLOAD["text"].replace("\n", "\r\n")


async def test_both_forms_of_a_mail_arrive(mailbox):
    """Text first, then HTML, which is how a reader's program knows that they say the same."""
    payload = {**PAYLOAD, "html": "<p>Grüße</p>", "reply_to": "help@example.org"}
    async with mail_server(mailbox) as port:
        await channel(port).send(replace(DELIVERY, payload=payload))
    mail = read(mailbox.mails[0])
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert mail.get_body(("html",)).get_content().strip() == "<p>Grüße</p>"
    assert mail["reply-to"] == "help@example.org"


@pytest.mark.parametrize(
    "payload", [PAYLOAD, {**PAYLOAD, "html": "<p>x</p>"}], ids=["text", "html"]
)
async def test_a_retry_has_the_bytes_of_the_first_try(mailbox, payload):
    """Another attempt, by another worker, later: not one byte differs."""
    async with mail_server(mailbox) as port:
        await channel(port).send(replace(DELIVERY, payload=payload))
        await channel(port).send(replace(DELIVERY, payload=payload, attempt=2))
    first, again = (envelope.original_content for envelope in mailbox.mails)
    assert first == again
    assert read(mailbox.mails[0])["message-id"] == "<42-64bf5a1dfa600@example.org>"


async def test_another_delivery_has_another_message_id(mailbox):
    """Also one that has the same id in a database that was made anew."""
    anew = DELIVERY.created_at.replace(microsecond=0)
    async with mail_server(mailbox) as port:
        for other in (DELIVERY, replace(DELIVERY, id=43), replace(DELIVERY, created_at=anew)):
            await channel(port).send(other)
    assert len({read(envelope)["message-id"] for envelope in mailbox.mails}) == 3


def test_the_boundary_cannot_stand_in_a_body():
    """Not even where the text holds the very line that parts the forms."""
    boundary = "--=_42-64bf5a1dfa600"
    payload = MailPayload(subject="x", text=f"{boundary}--\n", html=f"{boundary}\n")
    message = message_of(
        DELIVERY, payload, sender=("", "a@example.org"), recipients=["b@example.org"]
    )
    assert re.findall(rb"(?m)^--=_.*\r$", message) == [
        f"{boundary}{end}\r".encode() for end in ("", "", "--")
    ]
    parts = email.message_from_bytes(message, policy=default).iter_parts()
    assert [part.get_content().strip() for part in parts] == [f"{boundary}--", boundary]


@pytest.mark.parametrize(
    ("reply", "raised"),
    [
        ("450 4.2.1 greylisted", RetryLater),
        ("550 5.1.1 no such user", Refused),
        ("421 4.3.2 shutting down", ChannelDown),
        ("530 5.7.0 authentication required", ChannelDown),
    ],
)
async def test_what_a_reply_to_the_recipient_means(mailbox, reply, raised):
    """4xx is tried again, 5xx is final, and what is about us speaks against the channel."""
    mailbox.to_recipient["ada@example.org"] = reply
    async with mail_server(mailbox) as port:
        with pytest.raises(raised, match=re.escape(reply[:9])):
            await channel(port).send(DELIVERY)
    assert mailbox.mails == []


@pytest.mark.parametrize(
    ("reply", "raised"),
    [("451 4.3.0 try again", RetryLater), ("554 5.7.1 looks like spam", Refused)],
)
async def test_what_a_reply_to_the_content_means(mailbox, reply, raised):
    """The same."""
    mailbox.to_content = reply
    async with mail_server(mailbox) as port:
        with pytest.raises(raised, match="DATA answered by " + re.escape(reply)):
            await channel(port).send(DELIVERY)


@pytest.mark.parametrize(
    ("reply", "raised"),
    [
        ("550 5.1.8 sender refused", ChannelDown),
        ("452 4.3.1 disk full", ChannelDown),
        ("552 5.3.4 too large", Refused),
    ],
)
async def test_what_a_reply_to_the_sender_means(mailbox, reply, raised):
    """It would be the same for every delivery, so none of them fails for good; but for its size."""
    mailbox.to_sender = reply
    async with mail_server(mailbox) as port:
        with pytest.raises(raised, match=re.escape(reply)):
            await channel(port).send(DELIVERY)


async def test_a_mail_that_is_too_large_for_the_server_is_refused_before_it_is_sent(mailbox):
    """The server says how much it takes, and the size is named to it."""
    async with mail_server(mailbox, data_size_limit=100) as port:
        with pytest.raises(Refused, match="552"):
            await channel(port).send(DELIVERY)


@pytest.mark.parametrize(
    ("replies", "raised"),
    [
        ({"bob@example.org": "450 4.2.2 mailbox full"}, RetryLater),
        ({"bob@example.org": "550 5.1.1 unknown"}, Refused),
        (
            {"ada@example.org": "450 4.2.2 mailbox full", "bob@example.org": "550 5.1.1 unknown"},
            Refused,
        ),
    ],
    ids=["for-now", "for-good", "both"],
)
async def test_nobody_gets_a_mail_of_which_a_recipient_is_refused(mailbox, replies, raised):
    """So nobody gets it twice, whatever comes next; the reason names who was refused."""
    mailbox.to_recipient = replies
    async with mail_server(mailbox) as port:
        with pytest.raises(raised, match=r"bob@example\.org"):
            await channel(port).send(BOTH)
        assert mailbox.mails == []
        mailbox.to_recipient = {}
        await channel(port).send(replace(BOTH, attempt=2))
    [envelope] = mailbox.mails
    assert envelope.rcpt_tos == ["ada@example.org", "bob@example.org"]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")  # it has TLS already
@pytest.mark.parametrize("mode", ["starttls", "implicit"])
async def test_a_mail_goes_over_tls_with_a_login(mailbox, mode):
    """Both ways of TLS, with a certificate that is checked."""
    at_server, at_client = authority()
    tls = {"tls_context": at_server, "require_starttls": True}
    options = tls if mode == "starttls" else {"implicit": at_server, "auth_require_tls": False}
    async with mail_server(
        mailbox, **options, authenticator=knows(b"ada", b"s3cret"), auth_required=True
    ) as port:
        sending = channel(port, tls=mode, ssl_context=at_client, user="ada", password="s3cret")
        await sending.send(DELIVERY)
        with pytest.raises(ChannelDown, match="refuses the login: 535"):
            await channel(port, tls=mode, ssl_context=at_client, user="ada", password="wrong").send(
                DELIVERY
            )
    assert len(mailbox.mails) == 1
    assert mode == "implicit" or mailbox.ciphered == [True]


@pytest.mark.parametrize("mode", ["starttls", "implicit"])
async def test_a_certificate_that_nobody_vouches_for_is_not_accepted(mailbox, mode):
    """The channel is down then, and nothing has been sent."""
    at_server, _ = authority()
    _, at_client = authority()
    options = {"tls_context": at_server} if mode == "starttls" else {"implicit": at_server}
    async with mail_server(mailbox, **options) as port:
        with pytest.raises(ChannelDown, match="certificate verify failed"):
            await channel(port, tls=mode, ssl_context=at_client).send(DELIVERY)
    assert mailbox.mails == []


async def test_a_server_without_starttls_gets_nothing(mailbox):
    """TLS that is wanted is never done without."""
    async with mail_server(mailbox) as port:
        with pytest.raises(ChannelDown, match="STARTTLS"):
            await channel(port, tls="starttls", ssl_context=authority()[1]).send(DELIVERY)
    assert mailbox.mails == []


def conversation(replies):
    """Gives each reply to a line; after 354 it reads on to the mail's end first."""

    async def talk(reader, writer):
        for number, reply in enumerate(replies):
            if number:
                after_go = replies[number - 1].startswith("354")
                await reader.readuntil(b"\r\n.\r\n" if after_go else b"\r\n")
            writer.write(f"{reply}\r\n".encode())
            await writer.drain()

    return talk


def script(*replies):
    """Says one reply after another, each after the first once a line has come in; then closes."""

    async def talk(reader, writer):
        for number, reply in enumerate(replies):
            if number:
                await reader.readline()
            writer.write(reply)
            await writer.drain()

    return talk


@given(
    subject=st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=300)
    | st.from_regex(r"[ -~]{0,20}=\?utf-8\?[qb]\?[!->@-~]{0,40}\?=[ -~]{0,20}", fullmatch=True)
)
@example("=?utf-8?q?a=0D=0ABcc:_b@c.org?=")
@example("=?utf-8?q?a=0D=0A=0D=0Abody?=")
@example("=?utf-8?b?YQ0KQmNjOiBiQGMub3Jn?=")
@example("x" * 300)
def test_no_subject_makes_another_header(subject):
    """Whatever it looks like, it arrives as it is, and beside it stands what always does."""
    payload = MailPayload(subject=subject, text="x")
    message = message_of(
        DELIVERY, payload, sender=("", "a@example.org"), recipients=["b@example.org"]
    )
    mail = email.message_from_bytes(message, policy=default)
    assert sorted(mail.keys()) == HEADERS
    assert mail["subject"] == subject
    assert mail.get_content() == "x\r\n"
    assert all(len(line) <= 78 for line in message.split(b"\r\n"))


@pytest.mark.parametrize(
    "replies",
    [
        ["220 hi", "502 what?", "250 hi", "250 ok", "250 ok", "354 go", "250 queued", "221 bye"],
        ["220 hi", "250 hi", "250 ok", "251 forwarded", "354 go", "250 queued", "221 bye"],
    ],
    ids=["helo", "forwards"],
)
async def test_a_server_with_few_words_is_understood(replies):
    """One that knows HELO only, and one that knows another place for the recipient."""
    async with raw_server(conversation(replies)) as port:
        assert await channel(port).send(DELIVERY) == "250 queued"


@pytest.mark.parametrize("endless", [b"220-x\r\n", b"x" * 100], ids=["lines", "line"])
async def test_a_greeting_without_end_is_not_read_for_ever(endless):
    """The channel is down, long before the time is up, and little of it was kept."""

    async def talk(_reader, writer):
        writer.write(b"220-")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(endless)
                await writer.drain()

    async with raw_server(talk) as port:
        with pytest.raises(ChannelDown, match="too long"):
            await channel(port, timeout_s=60).send(DELIVERY)


@pytest.mark.parametrize("host", ["nowhere.invalid", "..", "a" * 70])
async def test_a_host_that_is_none_is_a_channel_that_is_down(host):
    """Whether it is no name, or nobody's."""
    with pytest.raises(ChannelDown, match="cannot be used"):
        await channel(25, host=host).send(DELIVERY)


@pytest.mark.parametrize(
    "replies",
    [
        [],
        [b"554 not for you\r\n"],
        [b"what?\r\n"],
        [b"220 hi\r\n"],
        [b"220 hi\r\n", b"250 x\r\n"],
        [b"220 hi\r\n", b"250 x\r\n", b"250 x\r\n"],
        [b"220 hi\r\n", b"250 x\r\n", b"250 x\r\n", b"250 x\r\n"],
        [b"220 hi\r\n", b"250 x\r\n", b"250 x\r\n", b"250 x\r\n", b"354 go\r\n"],
        [b"220 hi\r\n", b"250 x\r\n", b"250 x\r\n", b"what?\r\n"],
    ],
    ids=["silent", "554", "nonsense", "greets", "ehlo", "mail", "rcpt", "data", "nonsense-late"],
)
async def test_a_server_that_breaks_off_is_a_channel_that_is_down(replies):
    """At whatever point."""
    async with raw_server(script(*replies)) as port:
        with pytest.raises(ChannelDown):
            await channel(port).send(DELIVERY)


@pytest.mark.parametrize("greeting", [b"", b"220 hi\r\n"], ids=["at-once", "after-its-greeting"])
async def test_a_server_that_hangs_is_a_channel_that_is_down(greeting):
    """The channel gives up by itself, and closes the connection."""
    closed = asyncio.Event()

    async def hang(reader, writer):
        writer.write(greeting)
        while await reader.read(100):
            pass
        closed.set()

    async with raw_server(hang) as port:
        with pytest.raises(ChannelDown, match="in time"):
            await channel(port, timeout_s=0.2).send(DELIVERY)
        await closed.wait()


async def test_a_server_that_hangs_with_the_content_is_a_channel_that_is_down():
    """It has the mail perhaps: the attempt failed, and the next has the same Message-ID."""
    steps = script(b"220 hi\r\n", b"250 x\r\n", b"250 x\r\n", b"250 x\r\n", b"354 go\r\n")

    async def talk(reader, writer):
        await steps(reader, writer)
        await asyncio.Event().wait()

    async with raw_server(talk) as port:
        with pytest.raises(ChannelDown, match="in time"):
            await channel(port, timeout_s=0.2).send(DELIVERY)


async def test_a_server_that_does_not_say_goodbye_has_taken_the_mail():
    """What counts is the reply to the content; a retry would be a second mail."""
    steps = script(b"220 hi\r\n", b"250 x\r\n", b"250 x\r\n", b"250 x\r\n", b"354 go\r\n")

    async def talk(reader, writer):
        await steps(reader, writer)
        await reader.readuntil(b"\r\n.\r\n")
        writer.write(b"250 mine now\r\n")
        await asyncio.Event().wait()

    async with raw_server(talk) as port:
        assert await channel(port, timeout_s=10_000).send(DELIVERY) == "250 mine now"


async def test_no_server_is_a_channel_that_is_down():
    """Nobody listens there."""
    async with raw_server(script()) as port:
        pass
    with pytest.raises(ChannelDown, match="cannot be used"):
        await channel(port).send(DELIVERY)


@pytest.mark.parametrize(
    ("recipient", "payload", "fields"),
    [
        ("nobody", PAYLOAD, ["recipient"]),
        ("a@example.org\r\nBcc: b@example.org", PAYLOAD, ["recipient"]),
        ("a@example.org,", PAYLOAD, ["recipient"]),
        ("ä@example.org", PAYLOAD, ["recipient"]),
        ("=?utf-8?q?=0D=0AX?=@example.org", PAYLOAD, ["recipient"]),
        (",".join(f"a{n}@example.org" for n in range(51)), PAYLOAD, ["recipient"]),
        ("a@example.org", {}, ["payload.subject", "payload.text"]),
        ("a@example.org", {**PAYLOAD, "subject": "x\r\nBcc: b@example.org"}, ["payload.subject"]),
        ("a@example.org", {**PAYLOAD, "text": ""}, ["payload.text"]),
        ("a@example.org", {**PAYLOAD, "reply_to": "x"}, ["payload.reply_to"]),
        ("a@example.org", {**PAYLOAD, "cc": "x"}, ["payload.cc"]),
        ("x", {"text": 3, "subject": "x"}, ["recipient", "payload.text"]),
    ],
)
async def test_what_cannot_be_mailed_is_refused_by_field(recipient, payload, fields):
    """At the API, and at the worker for what came another way."""
    assert [fault.field for fault in EmailChannel.faults(recipient, payload)] == fields
    with pytest.raises(Refused, match=re.escape(fields[0])) as refused:
        await channel(1).send(replace(DELIVERY, recipient=recipient, payload=payload))
    assert refused.value.code == "invalid"


async def test_from_the_table_to_the_mailbox(connect, connection, rows, mailbox):
    """Enqueued, claimed, refused for the moment, sent: one mail, named by its delivery."""
    [number] = await enqueue(connection, [NewDelivery("email", "ada@example.org", PAYLOAD)])
    mailbox.to_recipient["ada@example.org"] = "450 4.2.1 greylisted"
    async with mail_server(mailbox) as port:
        turn = Turn(connect, {"email": channel(port)}, Policy(), holder="a")
        assert (await turn.take(asyncio.Event())).retried == 1
        assert "450 4.2.1 greylisted" in (await rows.read(connection, number))["last_error"]
        mailbox.to_recipient.clear()
        await rows.make_due(connection)
        assert (await turn.take(asyncio.Event())).sent == 1
    [envelope] = mailbox.mails
    created = (await rows.read(connection, number))["created_at"]
    expected = message_of(
        delivery("email", "ada@example.org", PAYLOAD, id=number, created_at=created),
        MailPayload(**PAYLOAD),
        sender=("Workers", "no-reply@example.org"),
        recipients=["ada@example.org"],
    )
    assert envelope.original_content == expected


async def test_a_server_that_is_down_parks_the_channel(connect, connection):
    """After a few failures the other rows wait, and spend no attempts."""
    async with raw_server(script()) as port:
        pass
    await enqueue(connection, [NewDelivery("email", "ada@example.org", PAYLOAD)] * 12)
    turn = Turn(connect, {"email": channel(port)}, Policy(batch=5), holder="a")
    assert (await turn.take(asyncio.Event())).retried == 5
    assert (await turn.take(asyncio.Event())).claimed == 0
    row = await (
        await connection.execute("select sum(attempts) from notifications.notification_deliveries")
    ).fetchone()
    assert row == (5,)


class Silent(Mailbox):
    """Takes the first mail and says nothing: whether it was taken nobody else can know."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = asyncio.Event()
        self.over = asyncio.Event()

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - aiosmtpd's name
        """Takes it, and answers from the second one on."""
        answer = await super().handle_DATA(server, session, envelope)
        if not self.taken.is_set():
            self.taken.set()
            await self.over.wait()
        return answer


async def test_a_worker_that_stops_cuts_a_mail_off_and_the_next_sends_the_same(connect, connection):
    """A mail may take longer than a worker has to stop; the receiver can tell the second one."""
    mailbox, stop = Silent(), asyncio.Event()
    [number] = await enqueue(connection, [NewDelivery("email", "ada@example.org", PAYLOAD)])
    policy = Policy(stop_s=0.1, backoff_s=(0.0,))
    async with mail_server(mailbox) as port:
        assert channel(port).policy.send_timeout_s > policy.stop_s
        first = Turn(connect, {"email": channel(port)}, policy, holder="a")
        stopping = asyncio.create_task(drain(first, stop))
        await mailbox.taken.wait()
        stop.set()
        report = await stopping
        assert (report.done.sent, report.done.retried, report.done.released) == (0, 1, 0)
        second = Turn(connect, {"email": channel(port)}, policy, holder="b")
        assert (await drain(second, asyncio.Event())).done.sent == 1
        mailbox.over.set()
    query = "select outcome, class from notifications.attempts where delivery_id = %s order by 1"
    cursor = await connection.execute(query, (number,))
    assert await cursor.fetchall() == [("failed", "stopped"), ("sent", None)]
    one, again = (envelope.original_content for envelope in mailbox.mails)
    assert one == again
