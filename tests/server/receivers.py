"""Real receivers on loopback: SMTP servers, HTTP servers, and some that misbehave on purpose."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope

from server.outbox import Delivery

CREATED = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def delivery(channel: str, recipient: str, payload: dict[str, Any], **changed: Any) -> Delivery:
    """A delivery as a worker holds it at its first attempt."""
    columns: dict[str, Any] = {
        "id": 42,
        "attempt": 1,
        "max_attempts": 5,
        "idempotency_key": None,
        "created_at": CREATED,
        "due_at": CREATED,
        "lease_expires_at": CREATED,
    }
    return Delivery(channel=channel, recipient=recipient, payload=payload, **(columns | changed))


def authority(name: str = "localhost") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS for a server of this name, and for a client that trusts it."""
    issuer = trustme.CA()
    at_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issuer.issue_cert(name).configure_cert(at_server)
    at_client = ssl.create_default_context()
    issuer.configure_trust(at_client)
    return at_server, at_client


@dataclass
class Mailbox:
    """What an SMTP server has received, and what it answers where it is not to say yes."""

    mails: list[Envelope] = field(default_factory=list)
    ciphered: list[bool] = field(default_factory=list)
    to_sender: str | None = None
    to_recipient: dict[str, str] = field(default_factory=dict)
    to_content: str | None = None

    async def handle_MAIL(self, _server, _session, envelope, address, options):  # noqa: N802 - aiosmtpd's name
        """Takes or refuses the sender."""
        if self.to_sender:
            return self.to_sender
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, _server, _session, envelope, address, _options):  # noqa: N802 - aiosmtpd's name
        """Takes or refuses one recipient."""
        if address in self.to_recipient:
            return self.to_recipient[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server, session, envelope):  # noqa: N802 - aiosmtpd's name
        """Takes the mail, or refuses what is in it."""
        if self.to_content:
            return self.to_content
        self.mails.append(envelope)
        self.ciphered.append(session.ssl is not None)
        return "250 2.0.0 queued as 7F3A"


@contextlib.asynccontextmanager
async def mail_server(
    mailbox: Mailbox, *, implicit: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[int]:
    """A real SMTP server; the port it listens on."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(mailbox, loop=loop, hostname="localhost", **options),
        "127.0.0.1",
        0,
        ssl=implicit,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def knows(user: bytes, password: bytes) -> Callable[..., AuthResult]:
    """An authenticator that lets one user in."""

    def authenticate(_server, _session, _envelope, _mechanism, data):
        return AuthResult(success=(data.login, data.password) == (user, password), handled=False)

    return authenticate


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw_server(
    talk: Talk, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[int]:
    """A server that does with each connection what `talk` does; the port it listens on."""
    talking: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talking.add(task)
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass  # the client has gone, or the test is over
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, host, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)


@dataclass
class Post:
    """One request as it came in."""

    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Endpoint:
    """Records each POST and gives the answers in turn, the last of them ever after."""

    answers: list[bytes] = field(default_factory=lambda: [ok()])
    posts: list[Post] = field(default_factory=list)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (entry.split(": ", 1) for entry in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.posts.append(Post(line.split(" ")[1], headers, body))
        writer.write(self.answers[min(len(self.posts), len(self.answers)) - 1])
        await writer.drain()


def answer(status: str, body: bytes = b"", **headers: str) -> bytes:
    """The bytes of an answer, `answer("410 Gone", retry_after="5")`."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ok() -> bytes:
    """The answer of a receiver that is content."""
    return answer("204 No Content")
