"""Bytes to a decoded Pillow image, or a typed refusal; nothing else leaves this module."""

import importlib
import io
import threading
import warnings
from dataclasses import dataclass, field

from PIL import Image, ImageFile

from handlers.errors import (
    CorruptedError,
    EmptyError,
    HandlerError,
    NoDecoderError,
    NotAnImageError,
    OutOfMemoryError,
    TruncatedError,
)
from handlers.limits import check_bytes, check_pixels
from handlers.sniff import TAKEN, sniff
from handlers.structure import Structure, examine

# Classes, not Image.open: that would import every plugin, put Pillow's own limit (a process-wide
# setting) before ours, and warn on pictures that we can take. It would also hand a JPEG of several
# pictures to another class; the first picture is the one we count.
_CLASSES = {
    "JPEG": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "PNG": ("PIL.PngImagePlugin", "PngImageFile"),
    "GIF": ("PIL.GifImagePlugin", "GifImageFile"),
    "WebP": ("PIL.WebPImagePlugin", "WebPImageFile"),
    "TIFF": ("PIL.TiffImagePlugin", "TiffImageFile"),
    "BMP": ("PIL.BmpImagePlugin", "BmpImageFile"),
}
# not the fax codings: libtiff fills a damaged line with a guess that differs between versions
_TIFF_COMPRESSIONS = ("raw", "tiff_lzw", "packbits")
_PHOTOMETRIC, _PHOTOMETRIC_YCBCR = 262, 6
_ORIENTATION = 0x0112
_SIDEWAYS = (5, 6, 7, 8)

# Pillow warns about odd metadata. The filters of `warnings` belong to the whole process, so only
# one picture at a time is decoded under ours.
_quiet = threading.Lock()


@dataclass
class Decoded:
    """A decoded first frame, where ``width`` and ``height`` are those of the upright picture.

    ``turned``: the pixels in ``image`` still lie on their side, as they do in the file.
    """

    image: Image.Image
    format: str
    mode: str
    width: int
    height: int
    orientation: int = 1
    frames: int = 1
    bytes: int = 0
    decoder: str = "pillow"
    turned: bool = False
    sixteen_bit: bool = False
    notes: set[str] = field(default_factory=set)


def decode(data: bytes) -> Decoded:
    """Decode the first frame of ``data`` whole, or refuse: there are no partial pictures.

    Raises EmptyError, TooManyBytesError, NotAnImageError, NoDecoderError, TooManyPixelsError (from
    the header, before memory for pixels is asked for), TruncatedError, CorruptedError,
    OutOfMemoryError, and nothing else.
    """
    kind = _admit(data)
    structure = examine(kind, data)
    check_pixels(*(structure.canvas or (0, 0)))
    if kind == "PNG" and not structure.complete:
        raise TruncatedError(kind)
    if kind == "PNG" and not structure.intact:
        raise CorruptedError(kind, "a checksum does not match")
    try:
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _load(kind, data, structure)
    except HandlerError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError from error
    except Exception as error:
        if not structure.complete:
            raise TruncatedError(kind) from error
        if structure.canvas and not _fits(*structure.canvas):
            raise OutOfMemoryError from error
        raise CorruptedError(kind, _reason(error)) from error


def _admit(data: bytes) -> str:
    """Give the format of ``data`` if it is one that is taken here and not too long."""
    if not data:
        raise EmptyError
    check_bytes(len(data))
    kind = sniff(data)
    if kind.name is not None and kind.taken:
        return kind.name
    if kind.name is not None and kind.picture:
        raise NoDecoderError(kind.name, TAKEN, browser_may_decode=kind.browser_may_decode)
    raise NotAnImageError(kind.name, TAKEN)


def _load(kind: str, data: bytes, structure: Structure) -> Decoded:
    """Read the header, check it, then decode; whatever Pillow raises passes through."""
    module, name = _CLASSES[kind]
    opener: type[ImageFile.ImageFile] = getattr(importlib.import_module(module), name)
    image = opener(io.BytesIO(data), "")
    width, height = image.size
    check_pixels(width, height)
    sixteen_bit = _is_sixteen_bit(kind, image, data)
    mode = image.mode
    _prepare(kind, image)
    if kind == "TIFF":  # Pillow turns it while loading, and then forgets the orientation
        orientation = _orientation(image)
        image.load()
        turned = False
    else:  # asking a PNG loads it, and would swallow what goes wrong
        image.load()
        orientation = _orientation(image)
        turned = orientation in _SIDEWAYS
    if turned:
        width, height = height, width
    decoded = Decoded(
        image,
        kind,
        mode,
        width,
        height,
        orientation,
        structure.frames,
        len(data),
        turned=turned,
        sixteen_bit=sixteen_bit,
    )
    if structure.frames > 1:
        decoded.notes.add("first-frame-only")
    if image.info.get("icc_profile"):
        decoded.notes.add("icc-ignored")
    if sixteen_bit:
        decoded.notes.add("sixteen-bit")
    return decoded


def _prepare(kind: str, image: ImageFile.ImageFile) -> None:
    """Set the decoder so that every build of it gives the same pixels, or refuse.

    Builds of libjpeg turn YCbCr into RGB with constants of different length, so that step is left
    to Pillow. Builds of libtiff know different compressions; those that all know are taken.
    """
    if kind == "JPEG" and image.mode == "RGB":
        image.draft("YCbCr", None)  # no size: the decoders' own scaling differs too
    if kind == "TIFF":
        compression = image.info.get("compression", "raw")
        if compression not in _TIFF_COMPRESSIONS:
            raise _no_decoder(f"TIFF with {compression} compression")
        if getattr(image, "tag_v2", {}).get(_PHOTOMETRIC) == _PHOTOMETRIC_YCBCR:
            raise _no_decoder("TIFF in YCbCr")  # which Pillow reads as if it were RGB


def _no_decoder(name: str) -> NoDecoderError:
    return NoDecoderError(name, TAKEN, browser_may_decode=False)


def _orientation(image: Image.Image) -> int:
    """Give the EXIF orientation, 1 to 8; metadata that can't be read says nothing, so 1."""
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - unreadable metadata takes nothing from the picture
        return 1
    return value if isinstance(value, int) and value in range(1, 9) else 1


def _is_sixteen_bit(kind: str, image: Image.Image, data: bytes) -> bool:
    """Tell whether the file holds 16 bits a channel, of which Pillow keeps the upper 8 in RGB."""
    if kind == "PNG":
        return data[24] == 16  # noqa: PLR2004 - the bit depth in IHDR
    if kind == "TIFF":
        bits: tuple[int, ...] = getattr(image, "tag_v2", {}).get(258, (8,))
        return max(bits) == 16  # noqa: PLR2004 - bits a channel
    return False


def _fits(width: int, height: int) -> bool:
    """Tell whether two canvases can be had, for libwebp names the lack of them no otherwise."""
    try:
        bytearray(width * height * 8)
    except MemoryError:
        return False
    return True


def _reason(error: Exception) -> str:
    """Shorten a decoder's complaint to one line."""
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__
