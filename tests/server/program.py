"""Runs the command line as a process and reads its log as it comes."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

PATIENCE_S = 60.0
"""Seconds after which something that should have happened counts as a failure."""


class Program:
    """`workers …` as a process. Its log lines are read by a thread and awaited by action word."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "server", *arguments],
            env=clean_environment() | {"WORKERS_LOG": "json", "WORKERS_JOBS": "off"} | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, action: str) -> dict[str, Any]:
        """Reads on until a line with this action word, and returns it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {action!r} in:\n{''.join(self.said)}") from None
            if line is None:
                raise AssertionError(f"ended without {action!r}:\n{''.join(self.said)}")
            self.said.append(line)
            if line.startswith("{"):
                event: dict[str, Any] = json.loads(line)
                if event.get("action") == action:
                    return event

    def rest(self) -> str:
        """All that it has said, once it has ended."""
        while not self._lines.empty():
            line = self._lines.get()
            if line is not None:
                self.said.append(line)
        return "".join(self.said)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process alone."""
        self.process.send_signal(number)

    def ended(self) -> int:
        """Waits for the end and returns the exit code."""
        code = self.process.wait(PATIENCE_S)
        # An orphan that holds the log open must not hold the test as well.
        self._reader.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code

    def close(self) -> None:
        """Ends the process, if it has not ended, and whatever it started."""
        if self.process.poll() is None:
            for one in reversed(family(self)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
        self.ended()


def clean_environment() -> dict[str, str]:
    """Our environment without the settings that the person who runs the tests has."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WORKERS_") and name not in {"DATABASE_URL", "REDIS_URL"}
    }


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `workers …` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "server", *arguments],
        env=clean_environment() | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def gone(process: psutil.Process) -> bool:
    """Whether a process has ended; one that nobody has buried yet has ended too."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def await_end(*processes: psutil.Process) -> None:
    """Waits until all of them have ended; for processes that are not ours there is no event."""
    deadline = time.monotonic() + PATIENCE_S
    while left := [p for p in processes if not gone(p)]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.02)


def postmaster(data_dir: Path) -> psutil.Process:
    """The PostgreSQL that runs on a data folder."""
    lines = (data_dir / "postgres" / "postmaster.pid").read_text().splitlines()
    return psutil.Process(int(lines[0]))


def family(program: Program) -> list[psutil.Process]:
    """A program with everything that it started."""
    own = psutil.Process(program.process.pid)
    return [own, *own.children(recursive=True)]
