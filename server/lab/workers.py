"""The lab's workers: started, frozen, thawed and killed from the server, and gone with it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from server.lab.worker import READY, SENDING, Kind
from server.settings import Settings

ENDED_KEPT = 8
"""How many that have ended are still told of."""

log = logging.getLogger(__name__)


class State(StrEnum):
    """What a lab worker is doing."""

    STARTING = "starting"
    RUNNING = "running"
    FROZEN = "frozen"
    ENDED = "ended"


NAMES = {Kind.WORKER: "lab", Kind.DRAIN: "job"}
"""How their names begin."""


class UnknownWorkerError(Exception):
    """No lab worker of this number was started here, or it is long gone."""


class WrongStateError(Exception):
    """The worker is not in a state in which this can be done to it."""


class TooManyWorkersError(Exception):
    """As many run as may."""


@dataclass(slots=True)
class LabWorker:
    """One worker. `holder` is its name in the queue; `exit_code` is negative after a signal.

    `sending` is how many sends it is in the middle of, as far as it has said so; `freezing`: it is
    frozen as soon as there is one; `watched`: somebody watched the queue when it was started.
    """

    id: int
    name: str
    holder: str
    started_at: datetime
    ends_at: datetime
    kind: Kind = Kind.WORKER
    state: State = State.STARTING
    sending: int = 0
    watched: bool = False
    freezing: bool = False
    ended_at: datetime | None = None
    exit_code: int | None = None
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)
    watch: asyncio.Task[None] | None = field(default=None, repr=False)


class LabWorkers:
    """Starts worker processes, `settings.lab_workers` at a time, each for `settings.lab_worker_s`.

    A process can be signalled only through the handle that its start has left here, which knows
    when it has ended: no number is ever taken from outside, none can belong to another process.
    All of them end with the server, frozen ones too: by `close`, and by the kernel if the server
    is killed (the worker asks for that). Those that were started while somebody watched end
    `settings.lab_linger_s` after the last watcher has left, unless one comes back meanwhile.
    """

    def __init__(self, settings: Settings, conninfo: str) -> None:
        self._settings = settings
        self._environment = {
            **os.environ,
            "DATABASE_URL": conninfo,
            "WORKERS_LAB_TIME_SCALE": str(settings.lab_time_scale),
        }
        self._numbers = itertools.count(1)
        self._workers: dict[int, LabWorker] = {}
        self._closed = False
        self._watchers = 0
        self._lingering: asyncio.TimerHandle | None = None

    def watched(self, watchers: int) -> None:
        """Takes note of how many watch the queue, whenever that changes."""
        self._watchers = watchers
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        if not watchers and not self._closed:
            loop = asyncio.get_running_loop()
            self._lingering = loop.call_later(self._settings.lab_linger_s, self._end_watched)

    def _end_watched(self) -> None:
        """Kills those that were started before somebody's eyes: nobody is left to see them."""
        self._lingering = None
        for worker in self._workers.values():
            if worker.watched and worker.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    worker.process.kill()

    def everyone(self) -> Sequence[LabWorker]:
        """All that run, and the last ones that have ended, in the order of their start."""
        return list(self._workers.values())

    async def start(self, kind: Kind = Kind.WORKER) -> LabWorker:
        """Starts one more. Raises TooManyWorkersError."""
        alive = sum(one.state is not State.ENDED for one in self._workers.values())
        if self._closed or alive >= self._settings.lab_workers:
            raise TooManyWorkersError
        number = next(self._numbers)
        now = datetime.now(UTC)
        worker = LabWorker(
            id=number,
            name=f"{NAMES[kind]}-{number}",
            holder=f"{NAMES[kind]}-{number}-{secrets.token_hex(4)}",
            started_at=now,
            ends_at=now + timedelta(seconds=self._settings.lab_worker_s),
            watched=self._watchers > 0,
            kind=kind,
        )
        self._workers[number] = worker
        try:
            # From the thread that runs the loop: the kernel kills the worker when that one ends.
            worker.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "server.lab.worker", worker.holder, kind),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
            )
        except OSError:
            del self._workers[number]
            raise
        worker.watch = asyncio.create_task(self._watch(worker, worker.process))
        log.info("started %s", worker.name, extra={"action": "lab-start", "holder": worker.holder})
        if self._closed:
            with contextlib.suppress(ProcessLookupError):
                worker.process.kill()
        return worker

    def freeze(self, number: int) -> LabWorker:
        """Stops one in the middle of whatever it does (SIGSTOP)."""
        return self._signal(number, signal.SIGSTOP, {State.RUNNING}, State.FROZEN)

    def freeze_sending(self, number: int) -> LabWorker:
        """Stops one as soon as it is in the middle of a send, which may be now."""
        worker = self._signal(number, None, {State.RUNNING})
        worker.freezing = True
        self._freeze_in_send(worker)
        return worker

    def thaw(self, number: int) -> LabWorker:
        """Lets a frozen one go on as if nothing had been (SIGCONT)."""
        return self._signal(number, signal.SIGCONT, {State.FROZEN}, State.RUNNING)

    def kill(self, number: int) -> LabWorker:
        """Ends one without a word, whatever it does (SIGKILL)."""
        return self._signal(number, signal.SIGKILL, set(State) - {State.ENDED})

    def stop(self, number: int) -> LabWorker:
        """Asks one to finish what it has begun and to end (SIGTERM); a frozen one cannot hear."""
        return self._signal(number, signal.SIGTERM, {State.STARTING, State.RUNNING})

    async def clear(self) -> None:
        """Kills all of them, waits for their end and forgets them."""
        for worker in self._workers.values():
            if worker.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    worker.process.kill()
        watches = [one.watch for one in self._workers.values() if one.watch is not None]
        await asyncio.gather(*watches)
        for number in [one.id for one in self._workers.values() if one.state is State.ENDED]:
            del self._workers[number]

    async def close(self) -> None:
        """Kills all of them and starts none any more."""
        self._closed = True
        if self._lingering is not None:
            self._lingering.cancel()
        await self.clear()

    def _freeze_in_send(self, worker: LabWorker) -> None:
        if worker.freezing and worker.sending and worker.state is State.RUNNING:
            with contextlib.suppress(WrongStateError):
                self.freeze(worker.id)

    def _signal(
        self,
        number: int,
        sent: signal.Signals | None,
        fitting: set[State],
        then: State | None = None,
    ) -> LabWorker:
        """Finds one, and sends it a signal unless that is None; forgets that it was to freeze."""
        worker = self._workers.get(number)
        if worker is None:
            raise UnknownWorkerError
        if worker.state not in fitting or worker.process is None:
            raise WrongStateError(f"{worker.name} is {worker.state}")
        worker.freezing = False
        if sent is None:
            return worker
        try:
            worker.process.send_signal(sent)
        except ProcessLookupError as error:
            raise WrongStateError(f"{worker.name} has just ended") from error
        worker.state = then or worker.state
        log.info(
            "sent %s to %s",
            sent.name,
            worker.name,
            extra={"action": "lab-signal", "holder": worker.holder},
        )
        return worker

    async def _watch(self, worker: LabWorker, process: asyncio.subprocess.Process) -> None:
        """Follows a worker to its end, which comes at the latest when its time is over."""
        words = asyncio.create_task(self._listen(worker, process))
        try:
            async with asyncio.timeout(self._settings.lab_worker_s):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        finally:
            words.cancel()
        worker.state = State.ENDED
        worker.sending = 0
        worker.freezing = False
        worker.ended_at = datetime.now(UTC)
        worker.exit_code = process.returncode
        log.info(
            "%s has ended",
            worker.name,
            extra={
                "action": "lab-end",
                "holder": worker.holder,
                "exit_code": process.returncode,
            },
        )
        ended = [one.id for one in self._workers.values() if one.state is State.ENDED]
        for number in ended[:-ENDED_KEPT]:
            del self._workers[number]

    async def _listen(self, worker: LabWorker, process: asyncio.subprocess.Process) -> None:
        """Takes note of what a worker says of itself."""
        if process.stdout is None or await process.stdout.readline() != READY:
            return
        worker.state = State.RUNNING
        async for line in process.stdout:
            worker.sending = int(line.removeprefix(SENDING))
            self._freeze_in_send(worker)
