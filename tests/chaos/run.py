"""One chaos run from its beginning to its record."""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from server.outbox import depth, migrate, recount
from tests.chaos import faults
from tests.chaos.database import Database, own_database
from tests.chaos.figures import PATIENCE_S, STALL_S
from tests.chaos.record import EVERYBODY, Change, Fault, Record, Row
from tests.chaos.stage import Stage
from tests.functions import weaken_the_fence

HISTORY = Path(__file__).with_name("history.sql")
WEIGHTS = {"restart-fast": 1, "restart-immediate": 1, "freeze": 2, "hold-back": 2}
USUAL_WEIGHT = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does: so many deliveries, and every kind of fault in turn, then by chance."""

    deliveries: int
    faults: int
    seed: int
    workers: int = 3
    producers: int = 2
    kinds: Sequence[str] = tuple(faults.KINDS)
    weak: bool = False


def schedule(plan: Plan, stage: Stage) -> list[str]:
    """The kinds of the faults in order: each kind once, the rest drawn, all of it shuffled."""
    weights = [WEIGHTS.get(kind, USUAL_WEIGHT) for kind in plan.kinds]
    more = max(0, plan.faults - len(plan.kinds))
    kinds = [*plan.kinds[: plan.faults], *stage.chance.choices(plan.kinds, weights, k=more)]
    stage.chance.shuffle(kinds)
    return kinds


async def run(plan: Plan) -> Record:
    """Plays the plan and returns what is left of it. Raises TimeoutError if it does not end."""
    with own_database() as database, tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        await prepare(database)
        if plan.weak:
            weaken_the_fence(database.conninfo)
        stage = Stage(database, Path(folder), seed=plan.seed)
        stalls = asyncio.create_task(note_own_stalls(stage))
        try:
            async with stage.filled(plan.workers, plan.producers):
                await _play(plan, stage)
                await settled(stage)
                for actor in stage.workers:
                    code = await actor.end(signal.SIGTERM)
                    if code != 0:
                        log = stage.log_of(actor.name)
                        raise RuntimeError(f"{actor.name} ended with {code}:\n{log}")
        finally:
            stalls.cancel()
        return await record_of(stage)


async def prepare(database: Database) -> None:
    """Makes the schema, and the table that notes each change of a delivery."""
    async with await psycopg.AsyncConnection.connect(
        database.conninfo, autocommit=True
    ) as connection:
        await migrate(connection)
        await connection.execute(HISTORY.read_bytes())


async def _play(plan: Plan, stage: Stage) -> None:
    """Production goes on while the faults come, so many deliveries to a fault."""
    kinds = schedule(plan, stage)
    share = -(-plan.deliveries // (len(kinds) * len(stage.producers)))
    for kind in kinds:
        async with asyncio.TaskGroup() as group:
            group.create_task(faults.inject(stage, kind))
            await asyncio.sleep(0)  # the fault is in place before anything happens
            for producer in stage.producers:
                group.create_task(producer.produce(share))
        if stage.chance.random() < 0.3:
            await stage.operate()
    for producer in stage.producers:
        await producer.produce(share)


async def settled(stage: Stage) -> None:
    """Returns once every delivery has ended, or patience has: then the checker names the rest."""
    query = (
        "select count(*) from notifications.notification_deliveries"
        " where status in ('pending', 'processing')"
    )
    deadline = time.monotonic() + PATIENCE_S
    while (await stage.ask(query))[0][0]:
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(0.1)


async def note_own_stalls(stage: Stage) -> None:
    """The receiver and the proxies are in this process: if it is held up, everybody is."""
    while True:
        before = time.time()
        await asyncio.sleep(STALL_S / 3)
        if time.time() - before > STALL_S:
            stage.faults.append(Fault("stall", EVERYBODY, before, time.time()))


async def record_of(stage: Stage) -> Record:
    """All that the checker looks at."""
    record = Record(
        calls=stage.receiver.calls,
        effects=stage.receiver.effects,
        faults=[*stage.faults, *_read_journals(stage.folder)],
        retried=stage.retried,
        cancelled=stage.cancelled,
    )
    for path in stage.folder.glob("producer-*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["what"] == "acknowledged":
                record.acknowledged |= set(entry["keys"])
            elif entry["what"] == "undone":
                record.undone |= set(entry["keys"])
    record.rows = [
        Row(*row)
        for row in await stage.ask(
            "select id, status, attempts, idempotency_key, last_error, settle_class"
            " from notifications.notification_deliveries order by id"
        )
    ]
    record.history = [
        Change(*change)
        for change in await stage.ask(
            "select seq, extract(epoch from at)::float8, writer, id, old_status, status,"
            " old_attempts, attempts, max_attempts, old_holder, holder,"
            " extract(epoch from old_lease)::float8 from chaos.history order by seq"
        )
    ]
    record.verdicts = dict(
        await stage.ask(
            "select case when outcome = 'lost' then 'lost' when outcome = 'released' then"
            " 'released' else verdict end as kind, count(*)"
            " from notifications.delivery_attempts group by kind"
        )
    )
    async with await psycopg.AsyncConnection.connect(
        stage.database.conninfo, autocommit=True
    ) as connection:
        seen, counted = await depth(connection), await recount(connection)
    record.recount = {status.value: count for status, count in counted.items()}
    record.depth = {name: getattr(seen, name) for name in record.recount}
    return record


def _read_journals(folder: Path) -> list[Fault]:
    """The stalls that the workers noted themselves."""
    return [
        Fault("stall", path.stem, entry["since"], entry["at"])
        for path in folder.glob("worker-*.jsonl")
        for entry in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if entry["what"] == "stall"
    ]
