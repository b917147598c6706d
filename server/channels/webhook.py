"""The channel "webhook": the payload as JSON by POST, signed as Standard Webhooks says.

The host's name is resolved here, the addresses are checked, and the connection goes to one of
exactly those, so that a name which is resolved a second time to another address gains nothing.
The name stays what the certificate is checked against and what the Host header says. Each
delivery has a connection of its own, and no proxy of the environment is used.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Self

import httpx

from server.channels import Schema
from server.channels.addresses import Address, why_refused
from server.channels.answers import Meaning, meaning, named, retry_after
from server.channels.endpoints import pattern, why_no_endpoint, why_not_allowed
from server.channels.identity import stable_id
from server.channels.signature import SigningSecrets, parse_secrets, sign
from server.channels.storable import JSON_OBJECT_REF
from server.channels.tls import client_context
from server.outbox import ChannelPolicy, Check, Connect, Delivery, Fault, Refused, RetryLater
from server.outbox.validation import RECIPIENT_LENGTH
from server.settings import Settings

MOST_ADDRESSES = 4
"""How many addresses of a name are tried before the attempt counts as failed."""

MOST_READ = 2048
MOST_SAID = 200
LONGEST_READ_S = 2.0
"""How much of an answer is read, for how long, and how many characters are kept. Of a yes none."""


async def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host, each once, in the order of this machine's resolver.

    Raises RetryLater if the name is not resolved at this moment, Refused if it is no name.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise RetryLater(f"{host} is not resolved: {error.strerror}", after_s=0.0) from error
    except UnicodeError as error:
        raise Refused(f"{host} is no host name: {error}", code="invalid") from error
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


class WebhookChannel:
    """Posts each delivery to the URL that is its recipient. Its payload is any JSON object.

    `allow_private` lifts the check of addresses, `allow_http` the one for TLS; both are for
    receivers within one's own network. `clock` gives seconds since 1970, `resolver` the addresses
    of a host; it is asked once an attempt, and nothing else is connected to.
    """

    name = "webhook"

    def __init__(  # noqa: PLR0913 - figures and permissions, each by its name
        self,
        secrets: SigningSecrets,
        *,
        timeout_s: float = 15.0,
        concurrency: int = 10,
        allow_private: bool = False,
        allow_http: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
        resolver: Callable[[str, int], Awaitable[Sequence[Address]]] = resolve,
    ) -> None:
        self._secrets = secrets
        self._timeout_s = timeout_s
        self._allow_private = allow_private
        self._allow_http = allow_http
        self._ssl_context = client_context() if ssl_context is None else ssl_context
        self._clock = clock
        self._resolver = resolver
        # The channel ends a send by itself first: one receiver that hangs is not the channel.
        self.policy = ChannelPolicy(send_timeout_s=timeout_s * 1.25, concurrency=concurrency)

    @classmethod
    def from_settings(cls, settings: Settings, connect: Connect) -> Self | None:
        """The channel, if there is a secret to sign with."""
        del connect
        if settings.webhook_secrets is None:
            return None
        return cls(
            parse_secrets(settings.webhook_secrets.get_secret_value()),
            timeout_s=settings.webhook_timeout_s * settings.time_scale,
            concurrency=settings.webhook_concurrency,
            allow_private=settings.webhook_allow_private,
            allow_http=settings.webhook_allow_http,
        )

    @staticmethod
    def faults(recipient: str, payload: Mapping[str, Any]) -> list[Fault]:
        """What is wrong with the URL. The payload may be any JSON object."""
        del payload
        why = why_no_endpoint(recipient)
        return [] if why is None else [Fault("recipient", why)]

    @classmethod
    def check(cls, settings: Settings) -> Check:
        """The scheme too, and an address that stands in the URL."""

        def faults(recipient: str, payload: Mapping[str, Any]) -> list[Fault]:
            why = why_not_allowed(
                recipient,
                allow_private=settings.webhook_allow_private,
                allow_http=settings.webhook_allow_http,
            )
            return cls.faults(recipient, payload) or (
                [] if why is None else [Fault("recipient", why)]
            )

        return faults

    @staticmethod
    def fields(settings: Settings) -> Mapping[str, Schema]:
        """The URL, and any JSON."""
        return {
            "recipient": {
                "type": "string",
                "pattern": pattern(allow_http=settings.webhook_allow_http),
                "maxLength": RECIPIENT_LENGTH,
                "description": "where it is posted to; a private address only where that is "
                "allowed, which is judged again when the name is resolved",
                "examples": ["https://hooks.example.org/path"],
            },
            "payload": JSON_OBJECT_REF,
        }

    async def send(self, delivery: Delivery) -> str | None:
        """Posts it and returns the receiver's own id for the request, if it gave one.

        Raises Refused for an endpoint that may not be used and for final answers, RetryLater for
        all that another attempt may get past: answers that say so, no answer, a name that is not
        resolved, a broken connection. None of them speaks against other receivers, so the
        channel is never down as a whole.
        """
        if faults := self.faults(delivery.recipient, delivery.payload):
            raise Refused("; ".join(map(str, faults)), code="invalid")
        url = httpx.URL(delivery.recipient)
        host = url.raw_host.decode()
        if url.scheme != "https" and not self._allow_http:
            raise Refused("only https is used", code="not-https")
        secrets = self._secrets.for_host(host)
        if not secrets:
            raise Refused(f"there is no secret to sign with for {host}", code="no-secret")
        body = _body(delivery)
        try:
            async with asyncio.timeout(self._timeout_s):
                addresses = self._allowed(host, await self._resolver(host, _port(url)))
                return await self._post(
                    url, addresses, body, self._headers(delivery, secrets, body)
                )
        except TimeoutError as error:
            raise RetryLater(f"no answer within {self._timeout_s:g} s", after_s=0.0) from error
        except httpx.TransportError as error:
            why = str(error) or type(error).__name__
            raise RetryLater(f"{host} could not be reached: {why}", after_s=0.0) from error

    def _allowed(self, host: str, addresses: Sequence[Address]) -> list[Address]:
        """The addresses that may be used. Raises Refused if there is none among them."""
        if self._allow_private:
            return list(addresses)
        reasons = {address: why_refused(address) for address in addresses}
        allowed = [address for address, reason in reasons.items() if reason is None]
        if not allowed:
            found = ", ".join(f"{address} ({reason})" for address, reason in reasons.items())
            raise Refused(f"{host} leads to no public address: {found}", code="private-address")
        return allowed

    def _headers(self, delivery: Delivery, secrets: Sequence[bytes], body: bytes) -> dict[str, str]:
        """The id is that of every attempt; the time is now, since receivers refuse an old one."""
        message_id = f"msg_{stable_id(delivery)}"
        timestamp = int(self._clock())
        return {
            "content-type": "application/json",
            "user-agent": "workers-webhook",
            "accept-encoding": "identity",
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(
                secrets, message_id=message_id, timestamp=timestamp, body=body
            ),
        }

    async def _post(
        self, url: httpx.URL, addresses: Sequence[Address], body: bytes, headers: Mapping[str, str]
    ) -> str | None:
        """Posts to the first address that takes a connection, and reads the answer."""
        async with httpx.AsyncClient(
            verify=self._ssl_context,
            timeout=httpx.Timeout(self._timeout_s, connect=self._timeout_s / 3),
            follow_redirects=False,
            trust_env=False,
        ) as client:
            for number, address in enumerate(addresses[:MOST_ADDRESSES], start=1):
                request = client.build_request(
                    "POST",
                    url.copy_with(host=str(address)),
                    content=body,
                    headers={"host": url.netloc.decode(), **headers},
                    extensions={"sni_hostname": url.raw_host.decode()},
                )
                try:
                    response = await client.send(request, stream=True)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    if number == len(addresses[:MOST_ADDRESSES]):
                        raise
                    continue  # nothing has been sent yet, so the next address may be tried
                try:
                    return await self._read(response)
                finally:
                    await response.aclose()
        raise AssertionError(addresses)

    async def _read(self, response: httpx.Response) -> str | None:
        status = response.status_code
        what, why = meaning(status)
        if what is Meaning.TAKEN:
            return response.headers.get("x-request-id", "")[:MOST_SAID] or None
        said = await self._excerpt(response)
        reason = f"{named(status)}: {why}" + (f"; it says: {said}" if said else "")
        if what is Meaning.FINAL:
            raise Refused(reason, code=f"http-{status}")
        now = datetime.fromtimestamp(self._clock(), UTC)
        raise RetryLater(reason, after_s=retry_after(response.headers, now=now))

    async def _excerpt(self, response: httpx.Response) -> str:
        """The beginning of an answer in one line. What cannot be had soon is left out."""
        read = bytearray()
        try:
            async with asyncio.timeout(min(LONGEST_READ_S, self._timeout_s / 10)):
                async for chunk in response.aiter_raw():
                    read += chunk
                    if len(read) >= MOST_READ:
                        break
        except (TimeoutError, httpx.TransportError):
            pass  # the status is the answer; the text only explains it
        text = read[:MOST_READ].decode(errors="replace")
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MOST_SAID]


def _body(delivery: Delivery) -> bytes:
    """The payload in UTF-8, keys sorted, no spaces: the same bytes at every attempt."""
    try:
        return json.dumps(
            dict(delivery.payload),
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=True,
            separators=(",", ":"),
        ).encode()
    except ValueError as error:
        raise Refused(f"the payload cannot be written as JSON: {error}", code="invalid") from error


def _port(url: httpx.URL) -> int:
    return url.port or {"https": 443, "http": 80}[url.scheme]
