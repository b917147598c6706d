"""Puts a mistake into a function of the database, to see that somebody notices."""

from __future__ import annotations

import psycopg


def alter_function(conninfo: str, name: str, right: str, wrong: str) -> None:
    """Replaces a part of a function's text by another. Raises ValueError unless it is there once.

    Every session goes by the new text from its next call on.
    """
    with psycopg.connect(conninfo, autocommit=True) as connection:
        row = connection.execute("select pg_get_functiondef(%s::regproc)", (name,)).fetchone()
        text = str(row[0]) if row else ""
        if text.count(right) != 1:
            raise ValueError(f"{name} has changed: {right!r} is {text.count(right)} times in it")
        connection.execute(text.replace(right, wrong).encode())


def weaken_the_fence(conninfo: str) -> None:
    """Lets outcomes be written by id and status only, whatever attempt they belong to."""
    alter_function(conninfo, "notifications.settle", "when f.attempts = i.attempt\n", "when true\n")
