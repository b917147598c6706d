"""A service that several processes share, started by the first and stopped by the last of them."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def shared_service(
    data_dir: Path, name: str, ensure_running: Callable[[], str], stop: Callable[[], None]
) -> Iterator[str]:
    """Lends what `ensure_running` returns; the service runs at least until the end.

    Everybody who uses it holds a shared lock on <data_dir>/<name>.users. The kernel drops such a
    lock however a process ends, so the last user, and only the last, calls `stop`.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / f"{name}.users").open("a") as users:
        with _critical(data_dir, name):
            fcntl.flock(users, fcntl.LOCK_SH)
        try:
            with _critical(data_dir, name):
                where = ensure_running()
            yield where
        finally:
            with _critical(data_dir, name):
                if _only_user(users):
                    stop()


@contextlib.contextmanager
def _critical(data_dir: Path, name: str) -> Iterator[None]:
    """Starting and stopping exclude each other, across processes."""
    with (data_dir / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _only_user(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
