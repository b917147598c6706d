"""The channel "email": mails over SMTP.

A mail goes to all of its recipients or to none. The recipients are all asked about before the
content is sent; if one of them is refused, the content is not sent, nobody has got it, and so the
next attempt sends nothing twice. Who wants one recipient not to depend on another enqueues a
delivery for each.

Each mail has a connection of its own: none is kept that the server may have closed meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import aiosmtplib

from server.channels import Schema, payload_faults
from server.channels.mail import (
    MOST_RECIPIENTS,
    RECIPIENT,
    MailPayload,
    addresses_of,
    message_of,
    sender_of,
)
from server.channels.replies import Meaning, Stage, meaning
from server.channels.tls import client_context
from server.outbox import (
    ChannelDown,
    ChannelPolicy,
    Check,
    Connect,
    Delivery,
    Fault,
    Refused,
    RetryLater,
)
from server.settings import Settings

TlsMode = Literal["none", "starttls", "implicit"]
PORTS: Mapping[TlsMode, int] = {"none": 25, "starttls": 587, "implicit": 465}
MOST_SAID = 200
LONGEST_GOODBYE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Where mails are handed over. Without a `user` there is no login.

    `ssl_context` None: the certificates of `client_context`.
    """

    host: str
    sender: str
    port: int | None = None
    tls: TlsMode = "starttls"
    user: str | None = None
    password: str | None = None
    ssl_context: ssl.SSLContext | None = None


class EmailChannel:
    """Hands each delivery to one SMTP server. Its payload is a MailPayload."""

    name = "email"

    def __init__(
        self, server: MailServer, *, timeout_s: float = 30.0, concurrency: int = 4
    ) -> None:
        self._server = server
        self._sender = sender_of(server.sender)
        self._timeout_s = timeout_s
        self._ssl_context = server.ssl_context
        if self._ssl_context is None and server.tls != "none":
            self._ssl_context = client_context()
        # The channel ends a send by itself first, since it can say at what point.
        self.policy = ChannelPolicy(send_timeout_s=timeout_s * 1.25, concurrency=concurrency)

    @classmethod
    def from_settings(cls, settings: Settings, connect: Connect) -> Self | None:
        """The channel, if a host is set."""
        del connect
        if settings.email_host is None or settings.email_sender is None:
            return None
        password = settings.email_password
        server = MailServer(
            host=settings.email_host,
            sender=settings.email_sender,
            port=settings.email_port,
            tls=settings.email_tls,
            user=settings.email_user,
            password=None if password is None else password.get_secret_value(),
        )
        return cls(
            server,
            timeout_s=settings.email_timeout_s * settings.time_scale,
            concurrency=settings.email_concurrency,
        )

    @staticmethod
    def faults(recipient: str, payload: Mapping[str, Any]) -> list[Fault]:
        """What is wrong with the addresses, and with each field of the mail."""
        faults = payload_faults(MailPayload, payload)
        try:
            addresses_of(recipient)
        except ValueError as error:
            faults.insert(0, Fault("recipient", str(error)))
        return faults

    @classmethod
    def check(cls, settings: Settings) -> Check:
        """Nothing more: whether an address exists, only its server knows."""
        del settings
        return cls.faults

    @staticmethod
    def fields(settings: Settings) -> Mapping[str, Schema]:
        """The addresses, and the mail's parts."""
        del settings
        return {
            "recipient": {
                "type": "string",
                "pattern": RECIPIENT,
                "description": f"at most {MOST_RECIPIENTS} addresses, separated by commas",
                "examples": ["ada@example.org, grace@example.org"],
            },
            "payload": MailPayload.model_json_schema(),
        }

    async def send(self, delivery: Delivery) -> str:
        """Hands the mail over and returns what the server said, which names it in its log.

        Raises Refused when a recipient or the content is refused for good, RetryLater when it is
        for the moment, and ChannelDown when there is no server that talks to us: no connection,
        no valid certificate, no login, no answer in time, a connection that breaks.
        """
        if faults := self.faults(delivery.recipient, delivery.payload):
            raise Refused("; ".join(map(str, faults)), code="invalid")
        recipients = addresses_of(delivery.recipient)
        message = message_of(
            delivery,
            MailPayload.model_validate(dict(delivery.payload)),
            sender=self._sender,
            recipients=recipients,
        )
        connection = self._new_connection()
        try:
            async with asyncio.timeout(self._timeout_s):
                with self._reaching():
                    await connection.connect()
                reply = await self._hand_over(connection, recipients, message)
        except TimeoutError as error:
            raise ChannelDown(f"no answer from {self._server.host} in time") from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise ChannelDown(f"{self._server.host} broke off: {error}") from error
        else:
            await self._part(connection)
            return reply
        finally:
            connection.close()

    def _new_connection(self) -> aiosmtplib.SMTP:
        server = self._server
        return aiosmtplib.SMTP(
            hostname=server.host,
            port=PORTS[server.tls] if server.port is None else server.port,
            use_tls=server.tls == "implicit",
            start_tls=server.tls == "starttls",
            tls_context=self._ssl_context,
            username=server.user,
            password=server.password,
            # Otherwise it looks up this machine's name, which may take long and lead to nothing.
            local_hostname=self._sender[1].rpartition("@")[2],
            timeout=None,  # one time-out for all of it, in `send`
        )

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Whatever fails between here and a server that is ready for mail is the channel's."""
        try:
            yield
        except aiosmtplib.SMTPAuthenticationError as error:
            raise ChannelDown(f"{self._server.host} refuses the login: {_said(error)}") from error
        except aiosmtplib.SMTPResponseException as error:
            raise ChannelDown(f"{self._server.host} is not ready: {_said(error)}") from error
        except (aiosmtplib.SMTPException, OSError, UnicodeError) as error:
            raise ChannelDown(f"{self._server.host} cannot be used: {error}") from error

    async def _hand_over(
        self, connection: aiosmtplib.SMTP, recipients: Sequence[str], message: bytes
    ) -> str:
        options = [f"size={len(message)}"] if connection.supports_extension("size") else []
        try:
            await connection.mail(self._sender[1], options=options)
        except aiosmtplib.SMTPSenderRefused as error:
            raise _outcome(Stage.SENDER, error) from error
        refusals: list[aiosmtplib.SMTPRecipientRefused] = []
        for recipient in recipients:
            try:
                await connection.rcpt(recipient)
            except aiosmtplib.SMTPRecipientRefused as error:
                refusals.append(error)
        if refusals:
            raise _outcome(Stage.RECIPIENT, *refusals)
        try:
            answer = await connection.data(message)
        except aiosmtplib.SMTPDataError as error:
            raise _outcome(Stage.CONTENT, error) from error
        return _said(answer)

    async def _part(self, connection: aiosmtplib.SMTP) -> None:
        """Says goodbye, if that takes no time: the mail has been taken, whatever comes now."""
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            await connection.quit(timeout=min(LONGEST_GOODBYE_S, self._timeout_s / 10))


def _outcome(
    stage: Stage, *replies: aiosmtplib.SMTPResponseException
) -> Refused | RetryLater | ChannelDown:
    """What to raise for replies that were no yes. The one that helps least decides."""
    meanings = {meaning(stage, reply.code) for reply in replies}
    reason = f"{stage.value} answered by " + "; ".join(map(_said, replies))
    if Meaning.DOWN in meanings:
        return ChannelDown(reason)
    if Meaning.FINAL in meanings:
        return Refused(reason, code=f"smtp-{stage.value.lower()}")
    return RetryLater(reason, after_s=0.0)


def _said(reply: aiosmtplib.SMTPResponse | aiosmtplib.SMTPResponseException) -> str:
    """A reply in one line, with the recipient that it is about, cut to a length worth keeping."""
    words = " ".join(f"{reply.code} {reply.message}".split())[:MOST_SAID]
    if isinstance(reply, aiosmtplib.SMTPRecipientRefused):
        return f"{words} ({reply.recipient})"
    return words
