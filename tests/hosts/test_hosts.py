"""Workers on several hosts against one PostgreSQL: hosts are cut off and come back too late."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from server.outbox import NewDelivery, enqueue_sync
from tests.chaos.checker import check
from tests.chaos.database import Database, own_database
from tests.chaos.faults import held_by, until_taken_over
from tests.chaos.figures import CHANNEL, PATIENCE_S, POLICY
from tests.chaos.record import Fault
from tests.chaos.report import report
from tests.chaos.run import note_own_stalls, prepare, record_of, settled
from tests.chaos.stage import ROOT, Stage
from tests.hosts.network import Host, Network, NotAllowedError, network
from tests.server.program import clean_environment

HOSTS = 4
DELIVERIES = 200

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def wired() -> Iterator[Network]:
    """A network of hosts, where the machine allows one."""
    with contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(network(HOSTS))
        except NotAllowedError as error:
            pytest.skip(str(error))


class OnHost:
    """A worker process on a host of its own. It knows the database's address and nothing else."""

    def __init__(self, host: Host, stage: Stage) -> None:
        self.host = host
        self.name = f"worker-{host.number}-1"
        self._stage = stage

    async def start(self) -> None:
        """Returns once it says that it works."""
        given = {
            "conninfo": make_conninfo(
                host=self.host.hub("database"),
                port=conninfo_to_dict(self._stage.database.conninfo)["port"],
                dbname="workers",
                user="postgres",
                sslmode="disable",
                gssencmode="disable",
                application_name=self.name,
            ),
            "journal": str(self._stage.folder / f"{self.name}.jsonl"),
            "holder": self.name,
            "host": self.host.hub("world"),
            "port": self._stage.receiver.port,
            "weak": False,
        }
        program = (sys.executable, "-m", "tests.chaos.worker", json.dumps(given))
        with (self._stage.folder / f"{self.name}.log").open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.host.command(*program),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=clean_environment(),
            )
        assert self.process.stdout is not None
        assert await self.process.stdout.readline(), self._stage.log_of(self.name)

    async def end(self) -> None:
        """Lets it end, which it has to do in good order."""
        self.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(self.process.wait(), PATIENCE_S) == 0, self.log

    @property
    def log(self) -> str:
        """The end of what it wrote."""
        return self._stage.log_of(self.name)


@contextlib.asynccontextmanager
async def _stage(wired: Network) -> AsyncIterator[tuple[Stage, list[OnHost]]]:
    """PostgreSQL and the receiver at the hub, and a worker on every host."""
    with contextlib.ExitStack() as stack:
        database: Database = wired.at_hub(lambda: stack.enter_context(own_database(addresses="*")))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hosts-"))
        await prepare(database)
        stage = Stage(database, Path(folder), seed=1)
        listener = wired.at_hub(lambda: socket.create_server(("0.0.0.0", 0)))  # noqa: S104 - there
        async with stage.receiver.listening(listener):
            workers = [OnHost(host, stage) for host in wired.hosts]
            stalls = asyncio.create_task(note_own_stalls(stage))
            try:
                await asyncio.gather(*(worker.start() for worker in workers))
                yield stage, workers
            finally:
                stalls.cancel()
                for worker in workers:
                    if worker.process.returncode is None:
                        worker.process.kill()
                        await worker.process.wait()


def _enqueue(stage: Stage) -> set[str]:
    """Adds deliveries of which some are slow enough to be hit, and returns their keys."""
    keys = [f"hosts-{number}" for number in range(DELIVERIES)]
    with psycopg.connect(stage.database.conninfo) as connection:
        enqueue_sync(
            connection,
            [NewDelivery(CHANNEL, "somebody", {"kind": "ok"}, key) for key in keys],
            max_attempts=POLICY.max_attempts,
        )
    return set(keys)


async def _cut_off(stage: Stage, wired: Network, worker: OnHost, *wires: str) -> bool:
    """Pulls wires in the middle of a batch, until others have sent what the host held."""
    began = time.time()
    mine = stage.receiver.next_call(lambda call: call.holder == worker.name)
    with stage.receiver.holding(lambda call: call.holder == worker.name and call.attempt == 1):
        await asyncio.wait_for(mine, PATIENCE_S)
        lost = await held_by(stage, worker.name)
        wired.pull(worker.host, *wires)
    came_back = await until_taken_over(stage, lost, lambda: wired.plug(worker.host, *wires))
    stage.faults.append(Fault("cut off", worker.name, began, time.time() + 5.0, came_back))
    return came_back


async def test_hosts_that_are_cut_off_and_come_back(wired: Network) -> None:
    """One loses the database and goes on sending, one loses everything; both come back late.

    Nothing is lost, nobody writes over another's attempt, and each delivery has one effect.
    """
    async with _stage(wired) as (stage, workers):
        one, other = workers[:2]
        scenes = [
            asyncio.create_task(_cut_off(stage, wired, one, "database")),
            asyncio.create_task(_cut_off(stage, wired, other, "database", "world")),
        ]
        await asyncio.sleep(0)  # they wait for their moment
        keys = _enqueue(stage)
        hit = await asyncio.gather(*scenes)
        await settled(stage)
        for worker in workers:
            await worker.end()
        record = await record_of(stage)
        record.acknowledged = keys
        logs = "\n".join(worker.log for worker in (one, other))
    findings = check(record)
    assert not findings, report(record, findings, 1, 0)
    assert hit == [True, True]
    assert len(record.rows) == DELIVERIES
    assert {call.holder for call in record.calls} == {worker.name for worker in workers}
    assert record.verdicts["lost"], "no lease was lost"
    assert record.verdicts["refused"], f"nobody wrote too late:\n{logs}"
