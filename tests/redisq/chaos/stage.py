"""The servers and the workers of a chaos run, each behind a proxy of its own."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff

from tests.redisq.chaos import journal
from tests.redisq.chaos.plan import Plan
from tests.redisq.chaos.proxy import Proxy
from tests.redisq.chaos.record import Note, Seen
from tests.redisq.servers import Server

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0
OPTIONS = (
    *("--appendonly", "yes", "--appendfsync", "everysec"),
    *("--repl-diskless-sync-delay", "0", "--maxmemory-policy", "noeviction"),
)
MARK = "chaos:mark"


class Stage:
    """A server, perhaps with a replica; workers and a producer, and a proxy for each of them."""

    def __init__(self, folder: Path, plan: Plan, seen: Seen) -> None:
        self.folder = folder
        self.plan = plan
        self.seen = seen
        self.luck = random.Random(plan.seed)  # noqa: S311 - chance that can be repeated
        self.journal = folder / "journal"
        self.servers: list[Server] = []
        self.leader = self._server()
        self.replica: Server | None = None
        self.feed = Proxy(None, self.leader.socket)
        """What the replica reads through."""
        self.proxies = [
            Proxy(folder / f"{number}.sock", self.leader.socket)
            for number in range(plan.workers + 1)
        ]
        """The workers', and the producer's at the end."""
        self.processes: list[asyncio.subprocess.Process] = []
        self.faults_done = 0

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start everything, and end everything."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._end_servers)
            await asyncio.to_thread(self.leader.start)
            for proxy in (self.feed, *self.proxies):
                await stack.enter_async_context(proxy.open())
            if self.plan.replicated:
                await self.add_replica()
            stack.push_async_callback(self.end_workers)
            numbers = range(self.plan.workers)
            self.processes += await asyncio.gather(*(self.start(number) for number in numbers))
            yield

    async def start(self, number: int, shift: int = 0) -> asyncio.subprocess.Process:
        """Start a worker, of that number and `shift` more, and return when it is ready."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.redisq.chaos.worker", self.plan.subject),
            *(f"unix://{self.proxies[number].listen}", str(self.journal), str(number + shift)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        if process.stdout is None or not await process.stdout.readline():
            raise RuntimeError("a worker did not start")
        return process

    async def end_workers(self) -> None:
        """Kill all of them."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def add_replica(self) -> None:
        """Let a new, empty server follow the leader; how long that takes is not waited for."""
        self.replica = self._server()
        await asyncio.to_thread(self.replica.start)
        async with self.client(self.replica) as client:
            await client.replicaof("127.0.0.1", self.feed.port)

    @contextlib.asynccontextmanager
    async def client(self, server: Server | None = None) -> AsyncIterator[Redis]:
        """A client of the leader, or of another server, past the proxies; it tries again."""
        how = Retry(ConstantBackoff(0.05), round(PATIENCE_S / 0.05))
        socket = (server or self.leader).socket
        async with Redis(unix_socket_path=socket, socket_timeout=5, retry=how) as client:
            yield client

    async def mark(self) -> None:
        """Write something past the queue's keys."""
        async with self.client() as client:
            await client.incr(MARK)

    async def until(self, holds: Callable[[], object]) -> None:
        """Return once that holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError("it does not come")
            await asyncio.sleep(0.01)

    def notes(self) -> list[Note]:
        """All that the workers have noted."""
        return journal.read(self.journal)

    def _server(self) -> Server:
        folder = self.folder / f"server-{len(self.servers)}"
        folder.mkdir()
        self.servers.append(Server("valkey", folder, *OPTIONS))
        return self.servers[-1]

    def _end_servers(self) -> None:
        for server in self.servers:
            if server.process and server.process.poll() is None:
                server.kill()
