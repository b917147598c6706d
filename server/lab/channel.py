"""The channel `lab`: sends to the page, and does on the way whatever the lab wants."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from server.lab.behaviour import read_behaviour
from server.outbox import ChannelDown, ChannelPolicy, Connect, Delivery, Policy, Refused
from server.outbox.channels.page import PageChannel


class WantedFailure(Exception):  # noqa: N818 - it is wanted
    """An attempt that the lab wants to fail."""


class LabChannel:
    """Waits in the middle of the send, so that a freeze or a kill can hit it there.

    A send may take as long as its lease allows. `scale` is that of time. `told` hears how many
    sends are being waited for, whenever that changes: then one can be hit in its middle.
    """

    def __init__(
        self,
        connect: Connect,
        policy: Policy,
        *,
        scale: float,
        told: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._connect = connect
        self._told = told
        self._sending = 0
        self._page = PageChannel(connect)
        self._scale = scale
        self.policy = ChannelPolicy(
            send_timeout_s=longest_send_s(policy),
            concurrency=policy.concurrency,
            breaker_failures=policy.breaker_failures,
            breaker_pause_s=policy.breaker_pause_s,
        )

    async def send(self, delivery: Delivery) -> None:
        """Raises what the lab wants; what gets through lands on the page, each time it does."""
        async with self._connect() as connection:
            behaviour = (await read_behaviour(connection)).of(delivery.payload)
        if behaviour.down:
            raise ChannelDown("the lab's channel is down")
        with self._one_more():
            await self._wait(behaviour.takes_s * self._scale)
        if behaviour.refuses:
            raise Refused("the lab's receiver refuses", code="lab-refused")
        if delivery.attempt <= behaviour.fails:
            raise WantedFailure(f"attempt {delivery.attempt} of {behaviour.fails} that fail")
        await self._write(delivery)

    @contextlib.contextmanager
    def _one_more(self) -> Iterator[None]:
        self._sending += 1
        self._told(self._sending)
        try:
            yield
        finally:
            self._sending -= 1
            self._told(self._sending)

    async def _write(self, delivery: Delivery) -> None:
        """Lets the message arrive; a cancellation that comes only now is too late for that."""
        writing = asyncio.ensure_future(self._page.send(delivery))
        while not writing.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({writing})
        writing.result()

    @staticmethod
    async def _wait(seconds: float) -> None:
        """Waits as a receiver lets one wait. Who was frozen meanwhile finds the answer there.

        Its time-out is over then as well, but like most programs it does not look at that first.
        """
        clock = asyncio.get_running_loop().time
        ends = clock() + seconds
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            if clock() < ends:
                raise


def longest_send_s(policy: Policy) -> float:
    """The time-out of the lab's sends: almost all that a lease leaves."""
    return 0.95 * (policy.lease_s - policy.send_margin_s)
