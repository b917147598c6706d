"""The task that this project shows everywhere: how often each colour occurs in a picture."""

import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import numpy as np
import PIL
from PIL import Image

from handlers.count import count_loop, count_vectorised
from handlers.decode import Decoded, decode
from handlers.errors import OutOfMemoryError
from handlers.palette import palette
from handlers.payload import DIMENSION, Buffer, Pixels, read_source
from handlers.progress import report_progress
from handlers.registry import task
from handlers.report import digest
from handlers.shrink import shrink
from handlers.signature import Range

Result = dict[str, object]

SCHEMA = 1
_COUNTERS = {"vectorised": count_vectorised, "loop": count_loop}


@task("histogram")
def histogram(  # noqa: PLR0913 - a payload has as many fields as it has
    *,
    image: Buffer | None = None,
    rgba: Buffer | None = None,
    width: Annotated[int, DIMENSION] | None = None,
    height: Annotated[int, DIMENSION] | None = None,
    format: str | None = None,  # noqa: A002 - the payload's field
    bytes: Annotated[int, Range(0, 1 << 53)] = 0,  # noqa: A002 - the same
    decoded_by: Literal["browser"] | None = None,  # noqa: ARG001 - a word for the reader
    max_side: Annotated[int, Range(1, 8192)] = 1024,
    method: Literal["vectorised", "loop"] = "vectorised",
    colours: Annotated[int, Range(1, 32)] = 8,
) -> Result:
    """Decode a picture, shrink it, count its colours and derive a palette.

    The picture is ``image`` (a file's bytes) or ``rgba``, ``width``, ``height``, ``format`` and
    ``bytes`` (pixels that a browser decoded). Both methods give the same numbers. Raises
    BadPayloadError, OutOfMemoryError, and what ``decode`` and ``shrink`` document.
    """
    try:
        source = read_source(image, rgba, (width, height), format, bytes)
        return _histogram(source, max_side, method, colours)
    except MemoryError as error:
        raise OutOfMemoryError from error


def _histogram(source: bytes | Pixels, max_side: int, method: str, colours: int) -> Result:
    stages: list[dict[str, object]] = []
    with _timed(stages, "decode"):
        decoded = _from_browser(source) if isinstance(source, Pixels) else decode(source)
    report_progress(0.5)
    with _timed(stages, "shrink"):
        small = shrink(decoded, max_side)
    report_progress(0.6)
    with _timed(stages, "count"):
        counts = _COUNTERS[method](small, lambda part: report_progress(0.6 + 0.35 * part))
    with _timed(stages, "palette"):
        swatches = palette(counts, colours)
    report_progress(1.0)
    width, height = small.size
    if decoded.turned:
        width, height = height, width
    reds, greens, blues = counts.bins
    result: Result = {
        "schema": SCHEMA,
        "image": {
            "format": decoded.format,
            "mode": decoded.mode,
            "width": decoded.width,
            "height": decoded.height,
            "orientation": decoded.orientation,
            "frames": decoded.frames,
            "bytes": decoded.bytes,
            "decoder": decoded.decoder,
            "notes": sorted(decoded.notes),
        },
        "counted": {"width": width, "height": height, "pixels": width * height},
        "bins": {"r": reds, "g": greens, "b": blues},
        "cube": counts.cube,
        "palette": swatches,
        "method": method,
    }
    return result | {
        "digest": digest(result),
        "stages": stages,
        "runtime": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pillow": PIL.__version__,
            "platform": sys.platform,
        },
    }


def _from_browser(pixels: Pixels) -> Decoded:
    """Take pixels that a browser decoded, which has applied the orientation already."""
    size = (pixels.width, pixels.height)
    image = Image.frombuffer("RGBA", size, pixels.rgba, "raw", "RGBA", 0, 1)
    return Decoded(
        image,
        pixels.format,
        "RGBA",
        *size,
        bytes=pixels.bytes,
        decoder="browser",
        notes={"browser-decoded"},
    )


@contextmanager
def _timed(stages: list[dict[str, object]], name: str) -> Iterator[None]:
    """Append the stage with its duration in milliseconds once it has succeeded."""
    start = time.perf_counter()
    yield
    stages.append({"name": name, "ms": round((time.perf_counter() - start) * 1000, 3)})
