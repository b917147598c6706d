"""The beginnings of files that are no picture, or a picture that nothing here decodes."""

import random

_PAD = b"\0" * 64


def _box(brand: bytes) -> bytes:
    """Give the first box of an ISO media file."""
    return b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0" + brand + b"mif1" + _PAD


_NOT = "not-an-image"
_NONE = "no-decoder"

FOREIGN: list[tuple[str, bytes, str]] = [
    ("text", b"This is a letter, not a picture.\n" * 4, _NOT),
    ("one-byte", b"\xff", _NOT),
    ("two-bytes", b"BM", _NOT),
    ("zeros", b"\0" * 4096, _NOT),
    ("spaces", b" " * 4096, _NOT),
    ("json", b'{"image": null}', _NOT),
    ("html", b"<!DOCTYPE html><title>No picture</title>", _NOT),
    ("xml", b"<?xml version='1.0'?><feed/>", _NOT),
    ("pdf", b"%PDF-1.7\n" + _PAD, _NOT),
    ("zip", b"PK\x03\x04" + _PAD, _NOT),
    ("gzip", b"\x1f\x8b\x08" + _PAD, _NOT),
    ("mp4", _box(b"isom"), _NOT),
    ("matroska", b"\x1a\x45\xdf\xa3" + _PAD, _NOT),
    ("wave", b"RIFF\x40\0\0\0WAVEfmt " + _PAD, _NOT),
    ("ogg", b"OggS" + _PAD, _NOT),
    ("elf", b"\x7fELF" + _PAD, _NOT),
    ("wasm", b"\0asm\x01\0\0\0" + _PAD, _NOT),
    ("png-line-ends", b"\x89PNG\n\x1a\n" + _PAD, _NOT),
    ("random-1", random.Random(1).randbytes(999), _NOT),  # noqa: S311 - the same each time
    ("random-2", random.Random(2).randbytes(9999), _NOT),  # noqa: S311 - the same each time
    ("avif", _box(b"avif"), _NONE),
    ("avif-sequence", _box(b"avis"), _NONE),
    ("heic", _box(b"heic"), _NONE),
    ("heif", _box(b"mif1"), _NONE),
    ("jpeg-2000", b"\0\0\0\x0cjP  \r\n\x87\n" + _PAD, _NONE),
    ("jpeg-2000-stream", b"\xff\x4f\xff\x51" + _PAD, _NONE),
    ("jpeg-xl", b"\0\0\0\x0cJXL \r\n\x87\n" + _PAD, _NONE),
    ("jpeg-xl-stream", b"\xff\x0a" + _PAD, _NONE),
    ("icon", b"\0\0\1\0\1\0" + _PAD, _NONE),
    ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", _NONE),
    ("svg-with-prologue", b"<?xml version='1.0'?>\n<!-- a -->\n<svg viewBox='0 0 1 1'/>", _NONE),
    ("photoshop", b"8BPS\0\1" + _PAD, _NONE),
    ("raw-canon", b"II\x2a\0\x10\0\0\0CR\2\0" + _PAD, _NONE),
    ("raw-canon-3", _box(b"crx "), _NONE),
    ("raw-fuji", b"FUJIFILMCCD-RAW 0201" + _PAD, _NONE),
    ("openexr", b"\x76\x2f\x31\x01" + _PAD, _NONE),
    ("radiance", b"#?RADIANCE\n" + _PAD, _NONE),
    ("qoi", b"qoif" + _PAD, _NONE),
    ("netpbm", b"P6\n1 1\n255\n\0\0\0", _NONE),
    ("postscript", b"%!PS-Adobe-3.0 EPSF-3.0\n", _NONE),
]
