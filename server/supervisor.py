"""Keeps worker processes running beside the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Mapping

from server.outbox.policy import growing_pause

log = logging.getLogger(__name__)

STEADY_S = 30.0
"""A worker that has run for so long counts as healthy, and its crashes are counted anew."""


class WorkerProcess:
    """A worker in a process of its own, started again with growing pauses when it crashes.

    It has a session of its own, so Ctrl-C reaches it only through us. It holds the read end of a
    pipe to us and ends when that closes, so it does not outlive us even after a `kill -9`.
    """

    def __init__(
        self, *command: str, environment: Mapping[str, str], grace_s: float, of: str
    ) -> None:
        """`command` is one of `workers`, `of` says in the log of what queue it is a worker.

        `environment` is added to ours. Told to stop, it has `grace_s` seconds to end by itself.
        """
        self._command = command
        self._grace_s = grace_s
        self._of = of
        self._environment = {**os.environ, **environment}
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Keeps a worker running until `stop` is set; then lets it finish, and waits for that."""
        crashes = 0
        while not stop.is_set():
            began = time.monotonic()
            process = await self._start()
            if await self._ended(process, stop):
                crashes = 1 if time.monotonic() - began > STEADY_S else crashes + 1
                pause = growing_pause(crashes, first_s=0.5, most_s=30.0)
                log.error(
                    "the %s's worker ended by itself; starting another in %.1f s",
                    self._of,
                    pause,
                    extra={
                        "action": "worker-crash",
                        "of": self._of,
                        "exit_code": process.returncode,
                    },
                )
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await stop.wait()
            else:
                await self._finish(process)

    def kill(self) -> None:
        """Ends the worker at once; what it held comes back when its lease runs out."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _start(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server", *self._command, "--until-stdin-closes"),
            stdin=asyncio.subprocess.PIPE,
            env=self._environment,
            start_new_session=True,
        )
        log.info(
            "started a worker of the %s",
            self._of,
            extra={"action": "worker-start", "of": self._of, "pid": self._process.pid},
        )
        return self._process

    async def _ended(self, process: asyncio.subprocess.Process, stop: asyncio.Event) -> bool:
        """Waits for the process to end or for `stop`; returns whether the process has ended."""
        ended = asyncio.create_task(process.wait())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        for task in (ended, stopped):
            task.cancel()
        return process.returncode is not None and not stop.is_set()

    async def _finish(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        try:
            async with asyncio.timeout(self._grace_s):
                await process.wait()
        except TimeoutError:
            log.warning(
                "the %s's worker did not end in time",
                self._of,
                extra={"action": "worker-kill", "of": self._of},
            )
            process.kill()
            await process.wait()
