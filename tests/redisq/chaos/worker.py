"""A worker process of a chaos run: it notes each run and each verdict before anything else.

It is started by `python -m tests.redisq.chaos.worker SUBJECT URL JOURNAL NUMBER`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import signal
import sys
import zlib
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from server.redisq import Backoff, Queue, RunningJob, Tasks, Worker, WorkerOptions
from server.redisq.model import Outcome, Turn
from server.redisq.scripts import script
from tests.redisq.chaos import ladder
from tests.redisq.chaos.journal import Journal

NAME = "chaos"
LEASE_S = 0.8
FENCE = "if not state or tonumber(job[1]) ~= token then return 'late' end"


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


async def first_is_settled(journal: Journal, job: RunningJob) -> None:
    """Return once every earlier run of that job has had its say, if it ever has."""
    for _ in range(400):
        notes = [note for note in journal.read() if note["id"] == job.id]
        runs = {note["token"] for note in notes if note["what"] == "run"}
        begun = {token for token in runs if token < job.token}
        if begun <= {note["token"] for note in notes if note["what"] == "verdict"}:
            break
        await asyncio.sleep(0.05)


async def work(url: str, journal: Journal, *, retries: bool, stubborn: bool) -> None:
    """Work until SIGTERM; with `retries`, on clients that send again what was not answered.

    A `stubborn` job does not mind that it is cancelled, and one that is run for a second time goes
    on until the first run has had its say.
    """
    tasks = Tasks()

    @tasks.task("step")
    async def step(job: RunningJob) -> None:
        journal.write("run", id=job.id, token=job.token)
        if stubborn:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.3)
            await first_is_settled(journal, job)
            return
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
    # redis-py's own default is to send a command up to ten times.
    how: dict[str, Any] = {} if retries else {"retry": Retry(NoBackoff(), 0)}

    def client(seconds: float) -> Redis:
        return Redis.from_url(url, socket_timeout=seconds, **how)

    async with client(1.0) as one, client(1.5) as waiting:
        worker = NotingWorker(one, waiting, Queue(one, NAME).base, tasks, options=options)
        worker.journal = journal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await worker.run()


def main(subject: str, url: str, journal: Path, number: int) -> None:
    """Work as that subject does."""
    if subject.startswith("step"):
        ladder.work(subject, url, Journal(journal), number)
        return
    if subject == "weak-fence":
        weaken()
    stubborn = subject == "weak-fence"
    asyncio.run(work(url, Journal(journal), retries=number % 2 == 1, stubborn=stubborn))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
