"""One chaos run: workers and producers on a real Valkey, faults in between, an audit after each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.embedded_valkey import Instance, valkey_program
from server.redisq import Job, NewJob, OutOfMemoryError, Queue, audit
from tests.redisq.chaos.proxy import Proxy
from tests.redisq.chaos.worker import LEASE_S

ROOT = Path(__file__).parent.parent.parent.parent
NAME = "chaos"
END_S = 90.0
KINDS = (
    "kill",
    "freeze",
    "freeze",
    "lose_reply",
    "half_open",
    "slow_down",
    "restart",
    "flush_scripts",
    "fill_memory",
)
"""What may be done: methods of Stage."""

PACE_S = 0.02
FAULT_S = 1.5
"""How long a fault takes, about; the jobs come in as long as there are faults."""


@dataclass(frozen=True)
class Plan:
    """How much of it."""

    jobs: int
    faults: int
    seed: int
    workers: int = 3
    weak: bool = False
    kinds: tuple[str, ...] = KINDS


Note = dict[str, Any]
"""A line of the journal."""


@dataclass
class Seen:
    """What is left when it is over."""

    confirmed: set[str] = field(default_factory=set)
    jobs: dict[str, Job] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    unsound: dict[str, str] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    total_done: int = 0
    unended: int = 0


class Stage:
    """The server, the workers, each behind a proxy of its own, and what can be done to them."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.luck = random.Random(plan.seed)  # noqa: S311 - chance that can be repeated
        self.journal = folder / "journal"
        self.instance = Instance(folder / "valkey", valkey_program())
        self.url = self.instance.ensure_running()
        self.proxies: list[Proxy] = []
        self.processes: list[asyncio.subprocess.Process] = []
        self.restarting = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start everything, and end everything."""
        socket = Path(self.url.removeprefix("unix://"))
        async with contextlib.AsyncExitStack() as stack:
            for number in range(self.plan.workers):
                proxy = Proxy(self.folder / f"{number}.sock", socket)
                await stack.enter_async_context(proxy.open())
                self.proxies.append(proxy)
                self.processes.append(await self.start(number))
            try:
                yield
            finally:
                for process in self.processes:
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
                await asyncio.to_thread(self.instance.stop)

    async def start(self, number: int) -> asyncio.subprocess.Process:
        """Start a worker behind its proxy, and return when it is ready."""
        arguments = [f"unix://{self.proxies[number].listen}", NAME, str(self.journal)]
        weak = ["weak"] if self.plan.weak else []
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.redisq.chaos.worker", *arguments, *weak),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        if process.stdout is None or not await process.stdout.readline():
            raise RuntimeError("a worker did not start")
        return process

    @contextlib.asynccontextmanager
    async def direct(self) -> AsyncIterator[Redis]:
        """A client past the proxies, which tries again by itself."""
        async with Redis.from_url(self.url, socket_timeout=5) as client:
            yield client

    async def kill(self) -> None:
        """A worker vanishes, and another one comes."""
        number = self.luck.randrange(self.plan.workers)
        self.processes[number].kill()
        await self.processes[number].wait()
        self.processes[number] = await self.start(number)

    async def freeze(self) -> None:
        """A worker stands still until another one may have its jobs."""
        process = self.luck.choice(self.processes)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(LEASE_S * self.luck.uniform(2.6, 3.6))
            process.send_signal(signal.SIGCONT)

    async def lose_reply(self) -> None:
        """The next answers to a worker are lost after the server has acted."""
        self.luck.choice(self.proxies).lose = self.luck.randint(1, 3)

    async def half_open(self) -> None:
        """A worker's connections fall silent."""
        proxy = self.luck.choice(self.proxies)
        proxy.fall_silent()
        await asyncio.sleep(LEASE_S * self.luck.uniform(0.3, 1.5))
        proxy.hear_again()

    async def slow_down(self) -> None:
        """A worker's network takes its time."""
        proxy = self.luck.choice(self.proxies)
        proxy.delay_s = 0.05
        await asyncio.sleep(0.3)
        proxy.delay_s = 0.0

    async def restart(self) -> None:
        """The server ends, in order or killed, and comes back with what it had written."""
        if self.luck.random() < 0.5:
            await asyncio.to_thread(self.instance.stop)
        else:
            os.kill(int((self.folder / "valkey" / "valkey.pid").read_text()), signal.SIGKILL)
        await asyncio.to_thread(self.instance.ensure_running)

    async def flush_scripts(self) -> None:
        """The server forgets all scripts."""
        async with self.direct() as client:
            await client.script_flush()

    async def fill_memory(self) -> None:
        """The server has no memory left for a while."""
        async with self.direct() as client:
            await client.config_set("maxmemory", "1mb")
            await asyncio.sleep(0.3)
            await client.config_set("maxmemory", "0")


async def run(plan: Plan) -> Seen:
    """Play it and return what was seen."""
    seen = Seen()
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        stage = Stage(Path(name), plan)
        async with stage.open():
            producing = asyncio.create_task(_produce(stage, seen))
            for _ in range(plan.faults):
                kind = stage.luck.choice(plan.kinds)
                await getattr(stage, kind)()
                seen.faults[kind] = seen.faults.get(kind, 0) + 1
                async with stage.direct() as client:
                    seen.unsound |= await audit(client, Queue(client, NAME).base)
            await producing
            await _settle_down(stage, seen)
        lines = stage.journal.read_text("utf-8").splitlines()
        notes = [json.loads(line) for line in lines]
        seen.notes = [note for note in notes if "token" in note]
    return seen


async def _produce(stage: Stage, seen: Seen) -> None:
    """Enqueue in small lots until each is confirmed, spread over the whole run."""
    plan = stage.plan
    lot = max(1, round(plan.jobs * PACE_S / (plan.faults * FAULT_S)))
    made = 0
    while made < plan.jobs:
        ids = [f"job-{number}" for number in range(made, min(made + lot, plan.jobs))]
        async with stage.direct() as client:
            jobs = [NewJob(task="step", id=id_, max_attempts=20) for id_ in ids]
            try:
                seen.confirmed |= set(await Queue(client, NAME).enqueue_many(jobs))
            except (RedisError, OutOfMemoryError, OSError):
                await asyncio.sleep(0.05)
                continue
        made += len(ids)
        await asyncio.sleep(PACE_S)


async def _settle_down(stage: Stage, seen: Seen) -> None:
    """Wait until every job has ended, and look at all of them."""
    async with stage.direct() as client:
        queue = Queue(client, NAME)
        try:
            async with asyncio.timeout(END_S):
                while (depth := await queue.depth()).ready + depth.scheduled + depth.active:  # noqa: ASYNC110 - the server tells nobody
                    await asyncio.sleep(0.05)
        except TimeoutError:
            seen.unended = depth.ready + depth.scheduled + depth.active
        for id_ in seen.confirmed:
            if job := await queue.get(id_):
                seen.jobs[id_] = job
        seen.unsound |= await audit(client, queue.base)
        seen.total_done = int(await client.hget(f"{queue.base}:meta", "total_done") or 0)
