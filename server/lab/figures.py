"""The figures of the lab's workers: the server's own, with time running faster."""

from __future__ import annotations

from dataclasses import replace

from server.outbox import Policy
from server.settings import Settings

BATCH = 5
"""Few enough to be told apart. All of a batch are sent side by side, so that no send waits."""

POLL_S = 1.0
"""Real seconds. What falls due is not waited for in polls, so a short one would only cost."""


def unscaled(settings: Settings) -> Policy:
    """The policy before time is scaled, as the page shows it."""
    whole = settings.model_copy(update={"time_scale": 1.0}).policy()
    poll_s = POLL_S / settings.lab_time_scale
    return replace(whole, batch=BATCH, concurrency=BATCH, poll_s=poll_s)


def scaled(settings: Settings) -> Policy:
    """The policy that the lab's workers work by."""
    return unscaled(settings).scaled(settings.lab_time_scale)
