"""`workers histogram`: the page's function on a file."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from server.errors import WorkersError
from server.terminal import print_json, said_clearly


class Method(StrEnum):
    """How the colours are counted; both give the same numbers."""

    VECTORISED = "vectorised"
    LOOP = "loop"


@said_clearly()
def histogram(
    file: Annotated[Path, typer.Argument(help="An image, or - for standard input.")],
    max_side: Annotated[int, typer.Option(help="Longest side that is counted, in pixels.")] = 1024,
    method: Annotated[Method, typer.Option(help="How to count.")] = Method.VECTORISED,
    colours: Annotated[int, typer.Option(help="Colours of the palette.")] = 8,
) -> None:
    """Count the colours of an image, by the function that the page runs, and print the same JSON.

    An image that cannot be counted gives a JSON object with "error" and exit code 1.

    \b
    Examples:
      workers histogram photo.jpg
      workers histogram photo.png --method loop --max-side 256
      workers histogram - < photo.webp | jq .palette
    """
    import handlers

    options = {"max_side": max_side, "method": method.value, "colours": colours}
    try:
        result = handlers.run("histogram", {"image": _read(file), **options})
    except handlers.errors.HandlerError as error:
        print_json(
            {"error": {"code": error.code, "message": error.message, "details": error.details}}
        )
        raise WorkersError(error.message) from error
    print_json(result)


def _read(file: Path) -> bytes:
    """The file's bytes; of a stream without end just enough to tell that it is too long.

    Raises TooManyBytesError if the file is past the limit, WorkersError if it cannot be read.
    """
    from handlers.limits import MAX_BYTES, check_bytes

    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        check_bytes(file.stat().st_size)
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise WorkersError(f"cannot read {file}: {error.strerror}") from error
