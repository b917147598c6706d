"""One chaos run: workers and a producer at real servers, faults in between, an audit after each."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.redisq import Job, NewJob, NotConfirmedError, OutOfMemoryError, Queue, audit
from tests.redisq.chaos import faults, ladder
from tests.redisq.chaos.plan import Plan
from tests.redisq.chaos.record import Confirmed, End, Seen
from tests.redisq.chaos.stage import Stage
from tests.redisq.chaos.worker import NAME

END_S = 90.0
LOT = 2
PACE_S = 0.02
PAUSE_S = 0.2

CONFIRM_S = 0.3
GIVEN_BACK = {"released", "unheard"}


async def run(plan: Plan) -> Seen:
    """Play it and return what was seen."""
    seen = Seen()
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        stage = Stage(Path(name), plan, seen)
        async with stage.open():
            if not _is_step(plan):
                await _keep_all(stage)
            producing = asyncio.create_task(_produce(stage))
            for kind in _order(stage):
                await getattr(faults, kind)(stage)
                seen.faults[kind] = seen.faults.get(kind, 0) + 1
                await _audit(stage)
                stage.faults_done += 1
            await producing
            await (ladder.settle_down if _is_step(plan) else _settle_down)(stage)
        seen.notes = stage.notes()
    return seen


def _order(stage: Stage) -> list[str]:
    """Return which faults there are, in rounds of all kinds, each round in an order by chance."""
    order: list[str] = []
    while len(order) < stage.plan.faults:
        order += stage.luck.sample(stage.plan.kinds, len(stage.plan.kinds))
    return order[: stage.plan.faults]


def _is_step(plan: Plan) -> bool:
    return plan.subject.startswith("step")


async def _keep_all(stage: Stage) -> None:
    """Let no job be forgotten because there are many."""
    async with stage.client() as client:
        many = 10 * stage.plan.jobs + 10_000
        await Queue(client, NAME).configure({"keep_done": many, "keep_dead": many})


async def _audit(stage: Stage) -> None:
    if not _is_step(stage.plan):
        async with stage.client() as client:
            stage.seen.unsound |= await audit(client, Queue(client, NAME).base)


async def _produce(stage: Stage) -> None:
    """Enqueue all jobs, and more for as long as there are faults."""
    if _is_step(stage.plan):
        for number in range(stage.plan.jobs):
            await ladder.put(stage, f"job-{number}")
    elif stage.plan.replicated:
        # Side by side, since the one stands still where a confirmation is missing.
        safe = _produce_these(stage, 0, 2, safe=True)
        await asyncio.gather(safe, _produce_these(stage, 1, 2, safe=False))
    else:
        await _produce_these(stage, 0, 1, safe=False)


async def _produce_these(stage: Stage, first: int, step: int, *, safe: bool) -> None:
    """Enqueue every `step`th job, each until it is taken, and confirmed if it is to be safe."""
    plan = stage.plan
    number = first
    # With redis-py's own retries, behind a proxy that loses replies like the others.
    async with Redis(unix_socket_path=str(stage.proxies[-1].listen), socket_timeout=1) as client:
        queue = Queue(client, NAME)
        while number < plan.jobs or stage.faults_done < plan.faults:
            lot = [f"job-{number + place * step}" for place in range(LOT)]
            while not await _taken(stage, queue, lot, safe=safe):  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.05)
            number += LOT * step
            # Each fault has its share of the jobs, and few more come before the next.
            share = plan.jobs * (stage.faults_done + 1) / plan.faults
            await asyncio.sleep(PACE_S if number < share else PAUSE_S)


async def _taken(stage: Stage, queue: Queue, ids: list[str], *, safe: bool) -> bool:
    """Send a lot once and note what is said of it; tell whether it was taken as it should be."""
    jobs = [NewJob(task="step", id=id_, max_attempts=20) for id_ in ids]
    sent = time.time()
    try:
        taken = await queue.enqueue_many(jobs, replicas=int(safe), confirm_s=CONFIRM_S)
    except OutOfMemoryError:
        stage.seen.refused += 1
        return False
    except NotConfirmedError:
        stage.seen.unconfirmed += 1
        return False
    except (RedisError, OSError):
        return False
    if not safe:
        stage.seen.unsafe_sent = sent
    for id_ in taken:
        stage.seen.confirmed[id_] = Confirmed(sent, time.time(), safe)
    return True


async def _settle_down(stage: Stage) -> None:
    """Wait until every job has ended, and look at all of them."""
    seen = stage.seen
    async with stage.client() as client:
        queue = Queue(client, NAME)
        try:
            async with asyncio.timeout(END_S):
                while (depth := await queue.depth()).ready + depth.scheduled + depth.active:  # noqa: ASYNC110 - the server tells nobody
                    await asyncio.sleep(0.05)
        except TimeoutError:
            seen.unended = depth.ready + depth.scheduled + depth.active
        for id_ in seen.confirmed:
            if job := await queue.get(id_):
                seen.jobs[id_] = _end(job)
        seen.unsound |= await audit(client, queue.base)
        seen.total_done = int(await client.hget(f"{queue.base}:meta", "total_done") or 0)


def _end(job: Job) -> End:
    given_back = sum(what in GIVEN_BACK for _, what, _ in job.log)
    return End(job.state, job.reason, job.attempts, job.lost, given_back)
