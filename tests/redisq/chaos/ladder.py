"""The steps of examples/redis-steps as subjects: how they work, and where their jobs are."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from tests.redisq.chaos.record import Confirmed, End

if TYPE_CHECKING:
    from tests.redisq.chaos.journal import Journal
    from tests.redisq.chaos.stage import Stage

STEPS = Path(__file__).parents[3] / "examples" / "redis-steps"
AGE_S = 0.8
"""After which step 2 takes a worker for dead."""

PAUSE_S = 60.0
"""Until a failed job is tried again by step 3."""

WORK_S = {"step1": 60.0, "step2": 0.3, "step3": 0.0}
"""How long a job takes: so that workers die in the middle however slow the machine is."""

PATIENCE_S = 20.0
CALM = 100
"""Workers of this number and above, which come when the faults are over, do a job at once."""


def module(step: str) -> Any:
    """Return the program of a step."""
    if str(STEPS) not in sys.path:
        sys.path.insert(0, str(STEPS))
    return importlib.import_module(step)


def client(url: str) -> redis.Redis:
    """Return a client as the steps want it, which sends nothing twice by itself."""
    how = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(url, decode_responses=True, retry=how, socket_timeout=1.5)


def work(step: str, url: str, journal: Journal, number: int) -> None:
    """Work for ever, as the step's own command does, with whatever else it needs in between."""
    program, server = module(step), client(url)
    calm = number >= CALM

    def handle(payload: str) -> None:
        token = time.time_ns() // 1000
        journal.write("run", id=payload, token=token)
        if not calm:
            time.sleep(WORK_S[step])
        if step == "step3" and not calm:
            journal.write("failed", id=payload, token=token)
            raise RuntimeError("not yet")
        journal.write("verdict", id=payload, token=token, kind="done", verdict="ok")

    how: dict[str, Any] = {}
    if step == "step3":
        how = {"retry": program.retry_by_timer, "pause_s": PAUSE_S}
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        try:
            program.work_once(server, handle, 0.2, **how)
            if step == "step2":
                program.recover(server, AGE_S)
            elif step == "step3":
                program.promote(server, program.due(server))
        except RedisError:
            time.sleep(0.05)


async def put(stage: Stage, id_: str) -> None:
    """Add a job as the step does, and note that it was taken."""
    program = module(stage.plan.subject)

    def add() -> None:
        with client(f"unix://{stage.leader.socket}") as server:
            program.put(server, id_)

    sent = time.time()
    await asyncio.to_thread(add)
    stage.seen.confirmed[id_] = Confirmed(sent, time.time(), safe=False)


async def settle_down(stage: Stage) -> None:
    """Let calm workers do all that can still be done, and note where each job is."""
    await stage.end_workers()
    stage.processes[0] = await stage.start(0, CALM)
    deadline = time.monotonic() + PATIENCE_S
    with client(f"unix://{stage.leader.socket}") as server:
        places = _places(server, stage.plan.subject)
        while set(places.values()) - {"stranded"} and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            places = _places(server, stage.plan.subject)
    seen = stage.seen
    done = {note["id"] for note in stage.notes() if note["what"] == "verdict"}
    failures = [note["id"] for note in stage.notes() if note["what"] == "failed"]
    for id_ in seen.confirmed:
        if id_ in places or id_ in done:
            seen.jobs[id_] = End(places.get(id_, "done"), attempts=failures.count(id_))
    seen.unended = len(places)
    seen.total_done = sum(end.state == "done" for end in seen.jobs.values())


def _places(server: redis.Redis, step: str) -> dict[str, str]:
    """Return where each job is that has not ended; stranded if nobody will ever look at it."""
    found: dict[str, str] = {}
    lists: dict[str, Any] = {
        "processing": server.lrange(f"{step}:processing", 0, -1),
        "ready": server.lrange(f"{step}:jobs", 0, -1),
        "scheduled": server.zrange(f"{step}:later", 0, -1),
    }
    began: Any = server.hgetall(f"{step}:began")
    for state, ids in lists.items():
        for id_ in ids:
            lies = state == "processing" and id_ not in began
            found[id_] = "stranded" if lies else state
    return found
