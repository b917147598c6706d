"""A picture made smaller, the same to the last pixel wherever it runs."""

import hashlib
import io
from typing import Annotated

from PIL import Image

from handlers.decode import Decoded, decode
from handlers.errors import OutOfMemoryError
from handlers.payload import Buffer
from handlers.progress import report_progress
from handlers.registry import task
from handlers.shrink import shrink
from handlers.signature import Range

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@task("resize_image")
def resize_image(
    *, image: Buffer, max_side: Annotated[int, Range(1, 8192)] = 512
) -> dict[str, object]:
    """Give a file's picture as an upright RGB PNG whose sides are at most ``max_side``.

    Its pixels are the means of whole blocks, as those that the histogram counts, so a picture that
    is small enough stays as it is, and none grows. ``image`` holds the PNG's bytes, ``digest`` the
    SHA-256 of its pixels: how tightly the PNG is packed differs from build to build. Raises
    OutOfMemoryError, and what ``decode`` and ``shrink`` document.
    """
    try:
        decoded = decode(bytes(image))
        report_progress(0.5)
        small = _upright(decoded, shrink(decoded, max_side))
        report_progress(0.8)
        small.info.clear()  # what the file said of its colours and size no longer holds
        encoded = io.BytesIO()
        small.save(encoded, "PNG")
        digest = hashlib.sha256(small.tobytes()).hexdigest()
    except MemoryError as error:
        raise OutOfMemoryError from error
    report_progress(1.0)
    return {
        "schema": 1,
        "image": encoded.getvalue(),
        "format": "PNG",
        "width": small.width,
        "height": small.height,
        "digest": digest,
        "original": {
            "format": decoded.format,
            "width": decoded.width,
            "height": decoded.height,
            "bytes": decoded.bytes,
            "notes": sorted(decoded.notes),
        },
    }


def _upright(decoded: Decoded, small: Image.Image) -> Image.Image:
    """Turn what still lies as it does in its file; of a TIFF Pillow has done that."""
    turn = None if decoded.format == "TIFF" else _UPRIGHT.get(decoded.orientation)
    return small if turn is None else small.transpose(turn)
