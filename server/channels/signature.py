"""Signatures as Standard Webhooks lays them down, and the secrets behind them. Pure.

A receiver computes the same over id, timestamp and body and compares. With several secrets there
are several signatures, so that a receiver may change from the old secret to the new one at a
time of its own choosing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PREFIX = "whsec_"
SHORTEST = 24
LONGEST = 64


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    """The secrets for every host, and those of hosts that have secrets of their own.

    Receivers that share a secret can forge messages to each other, so hosts of different owners
    should have their own.
    """

    shared: Sequence[bytes] = field(default=(), repr=False)
    of_host: Mapping[str, Sequence[bytes]] = field(default_factory=dict, repr=False)

    def for_host(self, host: str) -> Sequence[bytes]:
        """The secrets to sign with for a host, none if there are none."""
        return self.of_host.get(host, self.shared)


def parse_secrets(text: str) -> SigningSecrets:
    """Reads `whsec_…,whsec_…,hooks.example.org=whsec_…`: with a host before it, for that host only.

    Raises ValueError, which does not repeat the secret.
    """
    shared: list[bytes] = []
    of_host: dict[str, list[bytes]] = {}
    for number, entry in enumerate(text.split(","), start=1):
        start, found, rest = entry.strip().partition(PREFIX)
        host = start.removesuffix("=")
        if not found or (start and start == host):
            raise ValueError(f"secret {number} must begin with {PREFIX}, or with HOST={PREFIX}")
        try:
            secret = base64.b64decode(rest, validate=True)
        except binascii.Error:
            raise ValueError(f"secret {number} must be base64 after {PREFIX}") from None
        if not SHORTEST <= len(secret) <= LONGEST:
            raise ValueError(
                f"secret {number} must have {SHORTEST} to {LONGEST} bytes, not {len(secret)}"
            )
        (of_host.setdefault(host.lower(), []) if host else shared).append(secret)
    return SigningSecrets(shared, of_host)


def sign(secrets: Sequence[bytes], *, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature for each secret, separated by spaces."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(
        "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
        for secret in secrets
    )
