"""Fetching one file over HTTP, and what makes a file acceptable."""

from __future__ import annotations

import hashlib
import os
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CHUNK = 256 * 1024


class WrongSumError(Exception):
    """A file is not the one that the lock names. It was not kept."""

    def __init__(self, name: str, source: str, expected: str, found: str) -> None:
        super().__init__(
            f"{name} from {source} refused: SHA-256 expected {expected}, found {found}"
        )


class UnreachableError(Exception):
    """A source did not give a file, and why."""


@dataclass(frozen=True)
class WantedFile:
    """A file by its name and its SHA-256 sum in hexadecimal."""

    name: str
    sha256: str


def keep(
    wanted: WantedFile,
    stream: BinaryIO,
    folder: Path,
    source: str,
    on_bytes: Callable[[int], None] = lambda _count: None,
) -> None:
    """Put a stream's content at `folder/name` if its sum is right; the file is whole or absent.

    Raises WrongSumError, and whatever the stream raises.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{wanted.name}.{os.getpid()}"
    total = hashlib.sha256()
    try:
        with unfinished.open("wb") as file:
            while chunk := stream.read(_CHUNK):
                total.update(chunk)
                file.write(chunk)
                on_bytes(len(chunk))
        if total.hexdigest() != wanted.sha256:
            raise WrongSumError(wanted.name, source, wanted.sha256, total.hexdigest())
        unfinished.replace(folder / wanted.name)
    finally:
        unfinished.unlink(missing_ok=True)


def fetch(
    wanted: WantedFile, url: str, folder: Path, on_bytes: Callable[[int], None], timeout_s: float
) -> None:
    """Fetch a file into a folder. `timeout_s` bounds each wait for the other side.

    Raises UnreachableError, WrongSumError.
    """
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 (ours)
            keep(wanted, answer, folder, url, on_bytes)
    except urllib.error.HTTPError as error:
        raise UnreachableError(f"{url} answered {error.code}") from error
    except urllib.error.URLError as error:
        raise UnreachableError(f"{url}: {error.reason}") from error
    except (TimeoutError, ConnectionError, HTTPException) as error:
        raise UnreachableError(f"{url}: {error or type(error).__name__}") from error


def copy(wanted: WantedFile, source: Path, folder: Path) -> None:
    """Copy a file from a folder of the person's into ours. Raises WrongSumError, OSError."""
    with source.open("rb") as file:
        keep(wanted, file, folder, str(source.parent))


def emptied(folder: Path) -> Path:
    """Return the folder, there and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
