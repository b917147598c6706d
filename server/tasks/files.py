"""Files that jobs read and write: too large for the queue, and gone after a while.

They lie in one folder, each under the SHA-256 of its content, so that the same content is there
once. Servers and workers on several machines need a folder that all of them see.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from server.settings import Settings

Kind = Literal["pdf", "picture", "png"]
"""What is in a file. A picture is one of several formats, as it was uploaded."""

MEDIA_TYPES = {
    "pdf": "application/pdf",
    "picture": "application/octet-stream",
    "png": "image/png",
}
NAME = re.compile(r"[0-9a-f]{64}\.(?:pdf|picture|png)")
_LOCK = "lock"
LEAST_BYTES = 4096
"""What even a short file takes of the room."""


class FileGoneError(Exception):
    """There is no such file, or no longer."""


class NoRoomError(Exception):
    """The folder holds as much as it may, and nothing in it is old enough to go."""


@dataclass(frozen=True)
class KeptFiles:
    """The files in a folder, which is made when the first one comes.

    `most_bytes` bounds all of them together, `keep_s` seconds is how long one stays after it was
    put there last.
    """

    folder: Path
    most_bytes: int
    keep_s: float

    @classmethod
    def of(cls, settings: Settings) -> KeptFiles:
        """Those of the settings."""
        return cls(
            settings.data_dir.resolve() / "files",
            settings.files_bytes,
            settings.keep_files_hours * 3600,
        )

    def put(self, data: bytes, kind: Kind) -> str:
        """Keeps it and returns its name. Raises NoRoomError, and OSError of the disk."""
        name = f"{hashlib.sha256(data).hexdigest()}.{kind}"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._alone():
            if (self.folder / name).exists():
                os.utime(self.folder / name)
                return name
            if self._tidied() + max(len(data), LEAST_BYTES) > self.most_bytes:
                raise NoRoomError(f"the files of jobs have {self.most_bytes} bytes of room")
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as partial:
                partial.write(data)
            Path(partial.name).replace(self.folder / name)
        return name

    def get(self, name: str) -> bytes:
        """What was put there under that name. Raises FileGoneError."""
        if not NAME.fullmatch(name):
            raise FileGoneError(f"{name!r} is not the name of a file")
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            raise FileGoneError(f"the file {name} is not kept here any longer") from None

    def tidy(self) -> None:
        """Deletes what is too old."""
        if self.folder.is_dir():
            with self._alone():
                self._tidied()

    def _tidied(self) -> int:
        """Deletes what is too old, and what a process that died left half written.

        Returns the bytes of what is left.
        """
        left, oldest = 0, time.time() - self.keep_s
        for path in self.folder.iterdir():
            if path.name == _LOCK:
                continue
            about = path.stat()
            if about.st_mtime < oldest or not NAME.fullmatch(path.name):
                path.unlink(missing_ok=True)
            else:
                left += max(about.st_size, LEAST_BYTES)
        return left

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time counts, writes and deletes."""
        with (self.folder / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
