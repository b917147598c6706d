"""What workers note of what they do, so that it is there whatever happens to them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tests.redisq.chaos.record import Note


class Journal:
    """Lines of JSON that are there to be read even if their writer is killed the moment after."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, what: str, **fields: object) -> None:
        """Append one line."""
        note = {"what": what, "at": time.time(), "pid": os.getpid()} | fields
        os.write(self._file, (json.dumps(note) + "\n").encode())

    def read(self) -> list[Note]:
        """Return all that was noted so far, by anybody."""
        return read(self._path)


def read(path: Path) -> list[Note]:
    """Return all that was noted so far, in the order in which it was."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def busy(path: Path) -> dict[int, set[tuple[str, int]]]:
    """Return the runs, by id and token, that have begun and not ended, by the process's number.

    One that has failed has not ended either: it is tried again.
    """
    runs: dict[int, set[tuple[str, int]]] = {}
    for note in read(path):
        run = note["id"], note["token"]
        if note["what"] == "run":
            runs.setdefault(note["pid"], set()).add(run)
        elif note["what"] == "verdict":
            runs.get(note["pid"], set()).discard(run)
    return {pid: left for pid, left in runs.items() if left}
