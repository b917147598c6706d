"""Whether every job is in exactly one place, and every place has its job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from .model import STATES
from .scripts import script

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redis.asyncio import Redis

PAGE = 500


async def audit(client: Redis, base: str) -> dict[str, str]:
    """Return what is wrong by id; nothing, if the queue is sound. See lua/audit.lua for the words.

    Takes time in proportion to the jobs, in small steps beside everything else; each job is looked
    at in one step, so a queue at work is sound too.
    """
    wrong: dict[str, str] = {}
    async for ids in _everything(client, base):
        for id_, fault in await script("audit").run(client, base, ids):
            wrong[id_.decode()] = fault.decode()
    return wrong


async def _everything(client: Redis, base: str) -> AsyncIterator[list[bytes]]:
    """Give the ids in all places, then those of all hashes."""
    for state in STATES:
        cursor = 0
        while True:
            cursor, found = await client.zscan(f"{base}:{state}", cursor, count=PAGE)
            if found:
                yield [cast("bytes", id_) for id_, _ in found]
            if cursor == 0:
                break
    prefix = f"{base}:job:"
    pattern = re.sub(r"([\[\]*?\\])", r"\\\1", prefix)
    cursor = 0
    while True:
        cursor, keys = await client.scan(cursor, match=f"{pattern}*", count=PAGE)
        if keys:
            yield [cast("bytes", key)[len(prefix) :] for key in keys]
        if cursor == 0:
            break
