"""The figures of a chaos run: spans are short, so that leases run out within seconds."""

from __future__ import annotations

from dataclasses import replace

from server.outbox import ChannelPolicy, Policy

CHANNEL = "chaos"
SEND_TIMEOUT_S = 1.5
LEASE_S = 3.0
STATEMENT_S = 2.0
"""After so long without an answer a connection counts as half-open and is cut."""

STALL_S = 0.3
"""A process that was held up for so long says so: on a busy machine that is a fault as well."""

PATIENCE_S = 120.0
"""Seconds after which something that should have happened counts as a failure."""

POLICY = Policy(
    batch=25,
    concurrency=10,
    max_attempts=5,
    backoff_s=(0.1, 0.2, 0.4),
    lease_s=LEASE_S,
    send_timeout_s=SEND_TIMEOUT_S,
    send_margin_s=0.5,
    poll_s=0.5,
    statement_s=STATEMENT_S,
    stop_s=5.0,
)
PATIENT = replace(POLICY, lease_s=10 * PATIENCE_S, send_timeout_s=PATIENCE_S)
"""The same for a scene in which a test itself says when a lease is over."""

KINDS = (*(("ok",) * 18 + ("flaky", "refuse")) * 5, "slow")
"""What the receiver is told to do, by the number of a delivery within its producer."""


def channel_policy(policy: Policy) -> ChannelPolicy:
    """The channel's figures: the worker's own, and a breaker that soon tries again."""
    return ChannelPolicy(
        send_timeout_s=policy.send_timeout_s,
        concurrency=policy.concurrency,
        breaker_failures=20,
        breaker_pause_s=0.5,
    )
