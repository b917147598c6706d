"""Who takes part in a chaos run: worker and producer processes, each behind a proxy of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from server.outbox.operations import cancel, retry
from tests.chaos.database import Database
from tests.chaos.figures import PATIENCE_S
from tests.chaos.proxy import Proxy
from tests.chaos.receiver import Receiver
from tests.chaos.record import OPERATOR, Fault
from tests.server.program import clean_environment

T = TypeVar("T")
ROOT = Path(__file__).parents[2]


async def soon(awaitable: Awaitable[T], seconds: float) -> T | None:
    """What comes of it within so many seconds; None if nothing does."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await awaitable
    return None


class Actor:
    """A place in the run that a process fills; after a kill another one does, under a new name."""

    def __init__(self, stage: Stage, role: str, place: int) -> None:
        self.role = role
        self.proxy = Proxy(stage.database.socket)
        self.name = ""
        self.process: asyncio.subprocess.Process | None = None
        self._stage = stage
        self._place = place
        self._starts = 0
        self._killed = asyncio.Event()
        self._replaced = asyncio.Event()

    async def start(self) -> None:
        """Starts a process with a name that none before it had."""
        self._starts += 1
        self.name = f"{self.role}-{self._place}-{self._starts}"
        given = {
            "conninfo": make_conninfo(
                self._stage.database.conninfo,
                host="127.0.0.1",
                port=self.proxy.port,
                sslmode="disable",
                gssencmode="disable",
                application_name=self.name,
            ),
            "journal": str(self._stage.folder / f"{self.name}.jsonl"),
        }
        if self.role == "worker":
            given |= {"holder": self.name, "port": self._stage.receiver.port}
        else:
            given |= {"name": self.name, "seed": self._stage.chance.randrange(2**32)}
        with (self._stage.folder / f"{self.name}.log").open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", f"tests.chaos.{self.role}", json.dumps(given)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=clean_environment(),
            )
        self._killed.clear()
        self._replaced.set()

    @property
    def running(self) -> asyncio.subprocess.Process:
        """Its process."""
        if self.process is None:
            raise RuntimeError(f"{self.role} {self._place} has not been started")
        return self.process

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to its process."""
        self.running.send_signal(number)

    async def end(self, number: signal.Signals) -> int:
        """Ends its process and returns its exit code."""
        self._replaced.clear()
        self._killed.set()
        with contextlib.suppress(ProcessLookupError):
            self.signal(number)
        async with asyncio.timeout(PATIENCE_S):
            return await self.running.wait()

    async def ready(self) -> None:
        """Returns once a worker says that it works."""
        if self.running.stdout is None or not await self.running.stdout.readline():
            raise RuntimeError(f"{self.name} ended:\n{self._stage.log_of(self.name)}")

    async def produce(self, count: int) -> None:
        """Returns once a producer has added so many; its successor begins anew if it is killed."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                process = self.running
                if process.stdin is None or process.stdout is None:
                    raise RuntimeError(f"{self.name} has no pipes")
                process.stdin.write(f"{count}\n".encode())
                if await process.stdout.readline():
                    return
                if not self._killed.is_set():
                    raise RuntimeError(f"{self.name} ended:\n{self._stage.log_of(self.name)}")
                await self._replaced.wait()


class Stage:
    """All of them, with the database, the receiver, chance, and what has been done so far."""

    def __init__(self, database: Database, folder: Path, *, seed: int) -> None:
        self.database = database
        self.folder = folder
        self.chance = Random(seed)  # noqa: S311 - chance that can be repeated, not secrets
        self.receiver = Receiver()
        self.workers: list[Actor] = []
        self.producers: list[Actor] = []
        self.faults: list[Fault] = []
        self.retried = 0
        self.cancelled = 0

    @contextlib.asynccontextmanager
    async def filled(self, workers: int, producers: int) -> AsyncIterator[None]:
        """Starts everybody; at the end nobody of them is left."""
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self.receiver.listening())
            self.workers = [Actor(self, "worker", n) for n in range(workers)]
            self.producers = [Actor(self, "producer", n) for n in range(producers)]
            for actor in (*self.workers, *self.producers):
                await stack.enter_async_context(actor.proxy.listening())
                await actor.start()
                stack.push_async_callback(self._leave, actor)
            for actor in self.workers:
                await actor.ready()
            yield

    @staticmethod
    async def _leave(actor: Actor) -> None:
        if actor.running.returncode is None:
            await actor.end(signal.SIGKILL)

    def log_of(self, name: str) -> str:
        """The end of what a process wrote."""
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        return os.linesep.join(text.splitlines()[-30:])

    async def ask(self, query: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Runs a statement past every proxy."""
        async with await self._operator() as connection:
            cursor = await connection.execute(query.encode(), parameters)
            return await cursor.fetchall() if cursor.description else []

    async def operate(self) -> None:
        """What an operator does: some that ended get another chance, some that wait are ended."""
        query = "select id from notifications.notification_deliveries where status = any(%s)"
        ended = [number for (number,) in await self.ask(query, (["failed", "dead"],))]
        waiting = [number for (number,) in await self.ask(query, (["pending"],))]
        async with await self._operator() as connection:
            chosen = self.chance.sample(ended, min(len(ended), 10))
            self.retried += len(await retry(connection, chosen))
            chosen = self.chance.sample(waiting, min(len(waiting), 2))
            self.cancelled += len(await cancel(connection, chosen))

    async def _operator(self) -> psycopg.AsyncConnection[Any]:
        conninfo = make_conninfo(self.database.conninfo, application_name=OPERATOR)
        return await psycopg.AsyncConnection.connect(conninfo, autocommit=True)
