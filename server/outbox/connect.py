"""How the outbox gets at a database: by a function that lends a connection."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from psycopg import AsyncConnection

Connect = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]
"""Lends a connection in autocommit mode, for example `pool.connection` of psycopg_pool."""
