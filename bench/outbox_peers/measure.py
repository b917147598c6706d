"""Measures one subject: a full queue that is emptied, a trickle, and adding one by one."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench.outbox_peers.subject import PATIENCE_S, Program, Subject

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

POLL_S = 0.01
COUNTS = """
select (select xact_commit from pg_stat_database where datname = current_database()),
       (select sum(fsyncs) from pg_stat_io where object = 'wal'),
       (select wal_bytes from pg_stat_wal)
"""


class WrongDeliveryError(Exception):
    """A job was not done, or was done more than once."""


@dataclass(frozen=True)
class Drained:
    """What emptying a queue took. Times are microseconds of a processor for each job."""

    rate: float
    worker_us: float
    server_us: float
    transactions: float
    fsyncs: float
    wal_bytes: float


class Server:
    """The PostgreSQL that all subjects share; each measurement gets a fresh database on it."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._made: set[str] = set()

    @asynccontextmanager
    async def database(self, subject: Subject) -> AsyncIterator[str]:
        """Lends a database with the subject's schema and nothing in it, as a URI."""
        template = f"template_{subject.kind.program.partition('.')[0]}"
        async with await self._connect(self._conninfo) as connection:
            if template not in self._made:
                await connection.execute(f"create database {template}".encode())
                await (await Program.start(subject, self._uri(template), "setup")).end()
                self._made.add(template)
            await connection.execute(b"drop database if exists measured with (force)")
            await connection.execute(f"create database measured template {template}".encode())
        yield self._uri("measured")

    def processes(self) -> list[psutil.Process]:
        """Every process of the server."""
        with psycopg.connect(self._conninfo) as connection:
            own = psutil.Process(connection.info.backend_pid).parent()
        return [] if own is None else [own, *own.children()]

    def _uri(self, database: str) -> str:
        parts = conninfo_to_dict(self._conninfo)
        host, user, port = (str(parts[name]) for name in ("host", "user", "port"))
        return f"postgresql://{user}@/{database}?host={quote(host, safe='')}&port={port}"

    @staticmethod
    async def _connect(conninfo: str) -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(conninfo, autocommit=True)

    async def drain(
        self, subject: Subject, *, jobs: int, workers: int, concurrency: int
    ) -> Drained:
        """Fills a queue, lets workers empty it, and checks that each job was done once."""
        async with self.database(subject) as uri:
            await (await Program.start(subject, uri, "fill", count=jobs)).end()
            programs = [
                await Program.start(subject, uri, "work", concurrency=concurrency)
                for _ in range(workers)
            ]
            async with await self._connect(make_conninfo(uri)) as connection:
                await connection.execute(b"vacuum (analyze)")
                await connection.execute(b"checkpoint")
                for program in programs:
                    await program.ready()
                before, used = await self._counts(connection), _used(self.processes())
                theirs = _used([program.seen for program in programs])
                for program in programs:
                    program.go()
                polls, ended_at = await _emptied(connection, subject)
                theirs = _used([program.seen for program in programs]) - theirs
                used = _used(self.processes()) - used
                seen = [job for program in programs for job in (await program.end())["seen"]]
                after = await self._counts(connection)
        _check(subject, [number for number, _ in seen], jobs)
        began_at = min(at for _, at in seen)
        transactions, fsyncs, wal = (
            float(then) - float(now) for then, now in zip(after, before, strict=True)
        )
        return Drained(
            rate=jobs / (ended_at - began_at),
            worker_us=1e6 * theirs / jobs,
            server_us=1e6 * used / jobs,
            transactions=(transactions - polls) / jobs,
            fsyncs=fsyncs / jobs,
            wal_bytes=wal / jobs,
        )

    async def latency(self, subject: Subject, *, jobs: int, rate: float) -> list[float]:
        """Seconds from each job's commit to its handler, at a low rate."""
        async with self.database(subject) as uri:
            worker = await Program.start(subject, uri, "work", concurrency=25)
            await worker.ready()
            worker.go()
            await asyncio.sleep(1.0)  # the worker has no word for "asleep now"
            adding = await Program.start(subject, uri, "trickle", count=jobs, rate=rate)
            committed = (await adding.end())["at"]
            async with await self._connect(make_conninfo(uri)) as connection:
                await _emptied(connection, subject)
            seen = (await worker.end())["seen"]
        _check(subject, [number for number, _ in seen], jobs)
        return [at - committed[number] for number, at in seen]

    async def enqueue(self, subject: Subject, *, jobs: int, act: str, **fields: Any) -> float:
        """Jobs a second that a program adds by this act."""
        async with self.database(subject) as uri:
            adding = await Program.start(subject, uri, act, count=jobs, **fields)
            return jobs / float((await adding.end())["seconds"])

    @staticmethod
    async def _counts(connection: psycopg.AsyncConnection[Any]) -> tuple[Any, ...]:
        await connection.execute(b"select pg_stat_force_next_flush()")
        cursor = await connection.execute(COUNTS.encode())
        row: tuple[Any, ...] | None = await cursor.fetchone()
        if row is None:
            raise RuntimeError("the server counts nothing")
        return row


async def _emptied(connection: psycopg.AsyncConnection[Any], subject: Subject) -> tuple[int, float]:
    """Waits until nothing is left; returns how often it asked, and when nothing was."""
    polls = 0
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        polls += 1
        cursor = await connection.execute(f"select {subject.kind.left}".encode())
        row = await cursor.fetchone()
        if row == (False,):
            return polls, time.monotonic()
        await asyncio.sleep(POLL_S)
    raise WrongDeliveryError(f"{subject.name} does not get done")


def _used(processes: list[psutil.Process]) -> float:
    """Seconds of a processor that these have used."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def _check(subject: Subject, seen: list[int], jobs: int) -> None:
    if sorted(seen) != list(range(jobs)):
        twice = len(seen) - len(set(seen))
        lost = len(set(range(jobs)) - set(seen))
        raise WrongDeliveryError(f"{subject.name}: {lost} of {jobs} not done, {twice} done again")
