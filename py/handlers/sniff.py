"""What kind of file some bytes are, told from their first bytes alone."""

import re
from dataclasses import dataclass

TAKEN = ("JPEG", "PNG", "GIF", "WebP", "TIFF", "BMP")
"""The formats that are decoded here: those that Pillow decodes alike wherever it is built."""

_TAKEN_SIGNATURES = (
    ("JPEG", re.compile(rb"\xff\xd8\xff")),
    ("PNG", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("GIF", re.compile(rb"GIF8[79]a")),
    ("WebP", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("BMP", re.compile(rb"BM.{4}\0\0\0\0", re.DOTALL)),
)
_TIFF = re.compile(rb"II\x2a\0|MM\0\x2a|II\x2b\0|MM\0\x2b")

# Pictures that nothing here decodes, and whether a browser's own decoder may.
_FOREIGN_SIGNATURES = (
    ("AVIF", True, re.compile(rb"....ftyp(?:avif|avis)", re.DOTALL)),
    ("HEIC", True, re.compile(rb"....ftyp(?:hei[cxms]|hev[cxms]|mif[12]|msf1)", re.DOTALL)),
    ("JPEG 2000", True, re.compile(rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51")),
    ("JPEG XL", True, re.compile(rb"\xff\x0a|\0\0\0\x0cJXL \r\n\x87\n")),
    ("ICO", True, re.compile(rb"\0\0[\x01\x02]\0[^\0]\0")),
    (
        "SVG",
        False,
        re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml|<!--|<!DOCTYPE svg|<svg)", re.IGNORECASE),
    ),
    ("PSD", False, re.compile(rb"8BPS")),
    (
        "camera RAW",
        False,
        re.compile(rb"II\x2a\0.{4}CR|IIU\0|IIR[OS]|MMOR|FUJIFILMCCD-RAW", re.DOTALL),
    ),
    ("camera RAW", False, re.compile(rb"....ftypcrx ", re.DOTALL)),
    ("OpenEXR", False, re.compile(rb"\x76\x2f\x31\x01")),
    ("Radiance HDR", False, re.compile(rb"#\?(?:RADIANCE|RGBE)")),
    ("DDS", False, re.compile(rb"DDS ")),
    ("QOI", False, re.compile(rb"qoif")),
    ("XCF", False, re.compile(rb"gimp xcf")),
    ("Netpbm", False, re.compile(rb"P[1-7]\s|Pf\s|PF\s")),
    ("EPS", False, re.compile(rb"%!PS|\xc5\xd0\xd3\xc6")),
)

_OTHER_SIGNATURES = (
    ("PDF", re.compile(rb"%PDF-")),
    ("ZIP", re.compile(rb"PK[\x03\x05]")),
    ("gzip", re.compile(rb"\x1f\x8b")),
    ("video", re.compile(rb"....ftyp|\x1a\x45\xdf\xa3|RIFF....AVI ", re.DOTALL)),
    ("sound", re.compile(rb"ID3|OggS|fLaC|RIFF....WAVE", re.DOTALL)),
    ("HTML", re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE)),
)


@dataclass(frozen=True)
class Kind:
    """A file's kind: a format taken here, a picture of another format, or no picture."""

    name: str | None
    taken: bool = False
    picture: bool = False
    browser_may_decode: bool = False


def sniff(data: bytes) -> Kind:
    """Name the kind of ``data``; never raises, and looks at the first 4 KiB only."""
    head = data[:4096]
    for name, signature in _TAKEN_SIGNATURES:
        if signature.match(head):
            return Kind(name, taken=True, picture=True)
    for name, may, signature in _FOREIGN_SIGNATURES:
        if signature.match(head) and (
            name != "SVG" or re.search(rb"<svg[\s>:]", head, re.IGNORECASE)
        ):
            return Kind(name, picture=True, browser_may_decode=may)
    if _TIFF.match(head):
        return Kind("TIFF", taken=True, picture=True)
    for name, signature in _OTHER_SIGNATURES:
        if signature.match(head):
            return Kind(name)
    return Kind(None)
