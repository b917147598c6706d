"""Types of fields that take what the OpenAPI document says, and nothing that only looks like it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator

_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")


def no_text(value: object) -> object:
    """The value, if it is no text and no truth value that could be read as a number.

    Stands after the bounds of a field, or the document would not have them.
    """
    if isinstance(value, str | bool):
        raise ValueError("Input should be a number")  # noqa: TRY004 - pydantic takes a ValueError
    return value


def _written_out(value: object) -> object:
    if not isinstance(value, str) or not _MOMENT.match(value):
        raise ValueError("Input should be a time with its zone, as 2026-05-04T12:00:00Z")
    return value


Whole = Annotated[int, BeforeValidator(no_text)]
"""A whole number in a body: no text and no truth value that can be read as one."""

Moment = Annotated[AwareDatetime, BeforeValidator(_written_out)]
"""An instant in a body: no number that can be read as one."""
