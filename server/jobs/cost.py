"""What it costs that something could happen: measured, on this machine, at this moment."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from server.jobs.statements import statement
from server.jobs.store import Connection
from server.meter import ROUND_TRIPS
from server.outbox import Counter, read_counts


@dataclass(frozen=True, slots=True)
class Used:
    """A process that exists now: its memory in bytes, its CPU time so far in seconds.

    Memory is what is resident, what it shares with others included: a run's peak is told so too.
    """

    pid: int
    memory_bytes: int
    cpu_s: float


async def used_by(pids: Sequence[int]) -> list[Used]:
    """What these processes use. One that has ended meanwhile is left out."""
    return await asyncio.to_thread(_used_by, pids)


def _used_by(pids: Sequence[int]) -> list[Used]:
    found = []
    for pid in pids:
        try:
            process = psutil.Process(pid)
            times = process.cpu_times()
            found.append(Used(pid, process.memory_info().rss, times.user + times.system))
        except psutil.NoSuchProcess:
            continue
    return found


async def workers_here(connection: Connection) -> list[int]:
    """The workers of the outbox that run on this machine, by process id."""
    cursor = await connection.execute(statement("workers"))
    here = socket.gethostname()
    return sorted(int(pid) for host, pid in await cursor.fetchall() if host == here)


async def asked_by_workers(connection: Connection) -> int:
    """How often workers have asked the database something, as far as they have said so."""
    return int((await read_counts(connection)).get(Counter(ROUND_TRIPS), 0))
