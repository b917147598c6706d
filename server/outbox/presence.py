"""Which workers say that they run: shown to people, never used to decide about a delivery."""

from __future__ import annotations

import os
import secrets
import socket

from .queue import Connection
from .statements import statement


def new_holder() -> str:
    """A name for one worker process that no other has, nor will have after a restart."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


async def beat(connection: Connection, *, holder: str, beat_s: float) -> None:
    """Says that `holder` is there; it counts as gone after three beats of silence."""
    await connection.execute(
        statement("beat"),
        {"holder": holder, "host": socket.gethostname(), "pid": os.getpid(), "beat_s": beat_s},
    )


async def depart(connection: Connection, *, holder: str) -> None:
    """Says that `holder` has ended."""
    await connection.execute(statement("depart"), {"holder": holder})
