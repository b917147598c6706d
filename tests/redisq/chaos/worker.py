"""A worker process of a chaos run: it notes each run and each verdict before anything else."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import sys
import zlib
from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from server.redisq import Backoff, Queue, RunningJob, Tasks, Worker, WorkerOptions
from server.redisq.model import Outcome, Turn
from server.redisq.scripts import script

LEASE_S = 0.8
FENCE = "if not state or tonumber(job[1]) ~= token then return 'late' end"


class Journal:
    """Lines of JSON that are there to be read even if their writer is killed the moment after."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, what: str, **fields: object) -> None:
        """Append one line."""
        os.write(self._file, (json.dumps({"what": what} | fields) + "\n").encode())


class NotingWorker(Worker):
    """A worker that notes which of its outcomes were accepted."""

    journal: Journal

    def _note(self, part: list[Outcome], turn: Turn) -> None:
        super()._note(part, turn)
        for outcome, verdict in zip(part, turn.verdicts, strict=True):
            self.journal.write(
                "verdict", id=outcome.id, token=outcome.token, kind=outcome.kind, verdict=verdict
            )


def weaken() -> None:
    """Let whoever says that it is done have done it, as most queues do."""
    turn = script("turn")
    weak = turn.text.replace(FENCE, "if not state then return 'late' end")
    weak = weak.replace("elseif kind == 'done' and (", "elseif (")
    if weak == turn.text:
        raise RuntimeError("the fence is not where it was")
    turn.text, turn.sha = weak, hashlib.sha1(weak.encode(), usedforsecurity=False).hexdigest()


async def main(url: str, name: str, journal: Journal) -> None:
    """Work until SIGTERM."""
    tasks = Tasks()

    @tasks.task("step")
    async def step(job: RunningJob) -> None:
        journal.write("run", id=job.id, token=job.token, pid=os.getpid())
        luck = zlib.crc32(f"{job.id} {job.token}".encode())
        await asyncio.sleep(luck % 200 / 1000 + (luck % 5 == 0))
        if job.claim.lost:
            # Long enough for the worker that was thought to be gone to come back meanwhile.
            await asyncio.sleep(2 * LEASE_S)
        if luck % 50 == 0:
            raise RuntimeError("it happens")

    options = WorkerOptions(
        concurrency=8, lease_s=LEASE_S, poll_s=0.5, grace_s=1, backoff=Backoff(base_ms=20)
    )

    def client(seconds: float) -> Redis:
        return Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=seconds)

    async with client(1.0) as one, client(1.5) as waiting:
        worker = NotingWorker(one, waiting, Queue(one, name).base, tasks, options=options)
        worker.journal = journal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await worker.run()


if __name__ == "__main__":
    if sys.argv[4:] == ["weak"]:
        weaken()
    asyncio.run(main(sys.argv[1], sys.argv[2], Journal(Path(sys.argv[3]))))
