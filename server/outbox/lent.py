"""A connection that is kept for as long as there is work, and handed back when there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from psycopg import AsyncConnection

from .connect import Connect, answered

T = TypeVar("T")


class Lent:
    """Lends one connection again and again, so that it need not be checked for each statement.

    `patience_s` says for how long an answer is waited for. After an error of any kind the
    connection is handed back, and the next caller gets another.
    """

    def __init__(self, connect: Connect, patience_s: Callable[[], float]) -> None:
        self._connect = connect
        self._patience_s = patience_s
        self._connection: AsyncConnection[Any] | None = None
        self._stack = contextlib.AsyncExitStack()

    async def ask(self, work: Callable[[AsyncConnection[Any]], Awaitable[T]]) -> T:
        """Asks the database something; see `connect.answered` for what is raised."""
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_exit(self._after)
            connection = await self.open()
            return await answered(connection, work(connection), within_s=self._patience_s())

    async def open(self) -> AsyncConnection[Any]:
        """The connection, borrowed now if it is not yet. Raises what borrowing raises."""
        if self._connection is None:
            self._connection = await self._stack.enter_async_context(self._connect())
        return self._connection

    async def give_back(self) -> None:
        """Hands the connection back until somebody asks again."""
        self._connection = None
        await self._stack.aclose()

    async def _after(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            self._connection = None
            await self._stack.__aexit__(kind, error, trace)
