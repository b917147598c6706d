"""The functions of py/handlers as tasks of a queue: the third place where they run."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

import handlers
from handlers.errors import HandlerError
from handlers.sniff import sniff
from server.engines import TaskJob
from server.redisq import PermanentError
from server.tasks.files import MEDIA_TYPES, FileGoneError, KeptFiles, Kind

BASE64, FILE = "base64", "file"
"""A value {"base64": "…"} or {"file": "…"} in a payload stands for bytes: those that are spelled
there, or those of a kept file of that name."""


def from_handlers(name: str, files: KeptFiles) -> Callable[[TaskJob], Any]:
    """The function of that name. It takes bytes as above, and bytes that it gives are kept."""

    def run(job: TaskJob) -> Any:
        payload = job.payload if job.payload is not None else {}
        if not isinstance(payload, dict):
            raise PermanentError(
                f"the payload of {name} is an object, not {type(payload).__name__}"
            )
        arguments = {key: _bytes(value, files) for key, value in payload.items()}
        try:
            return _kept(handlers.run(name, arguments, job.progress), files)
        except HandlerError as error:
            # Bad input stays bad, however often it is tried.
            raise PermanentError(f"{error.code}: {error}") from error

    return run


def _bytes(value: Any, files: KeptFiles) -> Any:
    match value:
        case {"base64": spelled, **others} if not others:
            try:
                return base64.b64decode(spelled, validate=True)
            except (binascii.Error, TypeError, ValueError) as error:
                raise PermanentError(f"that is no base64: {error}") from error
        case {"file": str(named), **others} if not others:
            try:
                return files.get(named)
            except FileGoneError as error:
                raise PermanentError(str(error)) from error
    return value


def _kept(result: Any, files: KeptFiles) -> Any:
    """The result with bytes put away and their names in their place."""
    if isinstance(result, bytes):
        kind: Kind = "png" if sniff(result).name == "PNG" else "picture"
        name = files.put(result, kind)
        return {FILE: name, "bytes": len(result), "media_type": MEDIA_TYPES[kind]}
    if isinstance(result, dict):
        return {key: _kept(value, files) for key, value in result.items()}
    return result
