"""Whether every job is in exactly one place, and every place has its job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from .model import STATES
from .scripts import Client, script

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

PAGE = 500


async def audit(client: Client, base: str) -> dict[str, str]:
    """Return what is wrong by id; nothing, if the queue is sound.

    See lua/audit.lua for the words. What is wrong with a series (lua/audit_series.lua) comes by its
    name with `repeat:` before it. Takes time in proportion to the jobs, in small steps beside
    everything else; each job is looked at in one step, so a queue at work is sound too.
    """
    wrong: dict[str, str] = {}
    for state in STATES:
        async for ids in _members(client, f"{base}:{state}"):
            wrong |= await _faults(client, base, "audit", ids)
    async for names in _members(client, f"{base}:repeats"):
        wrong |= await _faults(client, base, "audit_series", names)
    async for ids, names in _hashes(client, base):
        wrong |= await _faults(client, base, "audit", ids)
        wrong |= await _faults(client, base, "audit_series", names)
    return wrong


async def _faults(client: Client, base: str, name: str, ids: Sequence[bytes]) -> dict[str, str]:
    if not ids:
        return {}
    before = "repeat:" if name == "audit_series" else ""
    found = await script(name).run(client, base, ids)
    return {before + id_.decode(): fault.decode() for id_, fault in found}


async def _members(client: Client, key: str) -> AsyncIterator[list[bytes]]:
    """Give what is in a sorted set, page by page."""
    cursor = 0
    while True:
        cursor, found = await client.zscan(key, cursor, count=PAGE)
        yield [cast("bytes", member) for member, _ in found]
        if cursor == 0:
            break


async def _hashes(client: Client, base: str) -> AsyncIterator[tuple[list[bytes], list[bytes]]]:
    """Give the ids of all jobs and the names of all series that have a hash."""
    pattern = re.sub(r"([\[\]*?\\])", r"\\\1", base) + ":*"
    cursor = 0
    while True:
        after, ids, names = await script("names").run(client, base, [cursor, PAGE, pattern])
        yield ids, names
        cursor = int(after)
        if cursor == 0:
            break
