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
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, what: str, **fields: object) -> None:
        """Append one line."""
        note = {"what": what, "at": time.time(), "pid": os.getpid()} | fields
        os.write(self._file, (json.dumps(note) + "\n").encode())


def read(path: Path) -> list[Note]:
    """Return all that was noted so far, in the order in which it was."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def busy(path: Path) -> set[int]:
    """Return the numbers of the processes whose last note is not that a job was done."""
    last = {note["pid"]: note["what"] for note in read(path)}
    return {pid for pid, what in last.items() if what != "verdict"}
