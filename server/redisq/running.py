"""What a handler has of its job while it runs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from .errors import LeaseLostError
from .scripts import script

if TYPE_CHECKING:
    from .codec import Codec
    from .model import Claim
    from .scripts import Client


class RunningJob:
    """A job in its handler's hands.

    `id` is the same in every run, `token` grows with every run: give it to whatever the handler
    writes to, and let that refuse a lower one than it has seen.
    """

    def __init__(self, claim: Claim, client: Client, base: str, codec: Codec) -> None:
        self.claim = claim
        self.id = claim.id
        self.token = claim.token
        self.task = claim.task
        self.attempt = claim.attempts + claim.lost + 1
        self._client = client
        self._base = base
        self._codec = codec
        self._calls = 0

    @property
    def payload(self) -> Any:
        """What was enqueued."""
        return self._codec.decode(self.claim.payload)

    async def progress(self, share: float) -> None:
        """Let others see how far it is, from 0 to 1. Raises LeaseLostError."""
        if not 0 <= share <= 1:
            raise ValueError(f"progress is from 0 to 1, not {share}")
        await self._note("progress", json.dumps(share))

    async def extend(self, lease_s: float) -> None:
        """Make sure that the lease lasts for `lease_s` from now at least. Raises LeaseLostError."""
        await self._note("extend", round(lease_s * 1000))

    async def once(self, effect: str) -> bool:
        """Tell whether this is the first time that this job, in any run, asks for that effect.

        Raises LeaseLostError. Whoever dies between this and the effect has not had it, and no later
        run will: so use it where twice is worse than never.
        """
        return await self._note("once", effect) == 1

    def from_thread(self) -> FromThread:
        """Return the same for a handler that runs in a thread."""
        return FromThread(self, asyncio.get_running_loop())

    async def _note(self, what: str, given: Any) -> int:
        self._calls += 1
        values = [self.id, self.token, what, given, self._calls]
        noted = await script("note").run(self._client, self._base, values)
        if noted < 0:
            raise LeaseLostError(f"job {self.id} belongs to another run than that of {self.token}")
        return int(noted)


class FromThread:
    """A running job for a handler that is no coroutine: each call waits for its answer."""

    def __init__(self, job: RunningJob, loop: asyncio.AbstractEventLoop) -> None:
        self._job = job
        self._loop = loop
        self.id = job.id
        self.token = job.token
        self.task = job.task
        self.attempt = job.attempt

    @property
    def payload(self) -> Any:
        """What was enqueued."""
        return self._job.payload

    def progress(self, share: float) -> None:
        """See RunningJob."""
        asyncio.run_coroutine_threadsafe(self._job.progress(share), self._loop).result()

    def extend(self, lease_s: float) -> None:
        """See RunningJob."""
        asyncio.run_coroutine_threadsafe(self._job.extend(lease_s), self._loop).result()

    def once(self, effect: str) -> bool:
        """See RunningJob."""
        return asyncio.run_coroutine_threadsafe(self._job.once(effect), self._loop).result()
