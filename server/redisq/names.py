"""The queues that there are, by name, so that nobody has to go through keys to find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .scripts import Client

MOST_NAMES = 100


async def note_name(client: Client, base: str) -> None:
    """Write down that there is a queue with that base key.

    The list has a slot of its own in a cluster, so no script can write it. Raises
    redis.exceptions.RedisError.
    """
    prefix, _, rest = base.partition(":{")
    await client.zadd(f"{prefix}:queues", {rest.removesuffix("}"): 0}, nx=True)


async def queue_names(client: Client, prefix: str = "jq") -> list[str]:
    """Return the names of the queues that a client or a worker has used, at most 100."""
    found = await client.zrange(f"{prefix}:queues", 0, MOST_NAMES - 1)
    return [cast("bytes", name).decode() for name in found]
