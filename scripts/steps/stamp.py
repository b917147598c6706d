"""Stamps: a file that says for which inputs a step has been done."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def key_of(*parts: str | Path) -> str:
    """Return a key that changes when a text, or the content of a file, changes.

    Raises OSError if a file can't be read.
    """
    total = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part.read_bytes()
        total.update(hashlib.sha256(content).digest())
    return total.hexdigest()


def files_under(*roots: Path) -> list[Path]:
    """Return every source file at or under the roots that exist, sorted; no compiled Python."""
    found: list[Path] = []
    for root in roots:
        if root.is_file():
            found.append(root)
        elif root.is_dir():
            found.extend(
                path
                for path in root.rglob("*")
                if path.is_file() and "__pycache__" not in path.parts
            )
    return sorted(found)


def key_of_files(root: Path, files: Iterable[Path]) -> str:
    """Return a key that changes when a file's content or its path below root changes."""
    parts: list[str | Path] = []
    for path in files:
        parts += [path.relative_to(root).as_posix(), path]
    return key_of(*parts)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 sum of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Stamp:
    """The keys for which a result on disk is right.

    It lies inside the result where it can, so that whoever deletes the one deletes the other.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def has(self, key: str) -> bool:
        """Say whether the result is right for this key."""
        try:
            return key in self._path.read_text("utf-8").split()
        except FileNotFoundError:
            return False

    def write(self, *keys: str) -> None:
        """Record that the result is right for these keys and no others; never half written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        unfinished.write_text("\n".join(keys) + "\n", "utf-8")
        unfinished.replace(self._path)

    def remove(self) -> None:
        """Record that the result is not right for anything."""
        self._path.unlink(missing_ok=True)
