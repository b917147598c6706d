"""One small file of each kind that is taken: every format, mode, depth and oddity worth telling."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from tests.corpus.photo import photo
from tests.corpus.png import png_file

WIDTH, HEIGHT = 96, 64
_ORIENTATION = 0x0112
_UPSIDE_DOWN = Image.Transpose.FLIP_TOP_BOTTOM


@dataclass(frozen=True)
class Sample:
    """A file and what a result must say of it; ``exact``: alike wherever it is decoded."""

    data: bytes
    mode: str
    notes: tuple[str, ...] = ()
    exact: bool = True


def encode(image: Image.Image, kind: str, **options: Any) -> bytes:
    """Encode ``image`` as Pillow's format ``kind``."""
    target = io.BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


def with_alpha() -> Image.Image:
    """Give an RGBA picture whose alpha runs from clear to opaque."""
    image = photo(WIDTH, HEIGHT, 3).convert("RGBA")
    image.putalpha(Image.linear_gradient("L").resize((WIDTH, HEIGHT)))
    return image


def oriented(orientation: int) -> Image.Exif:
    """Give EXIF data that holds nothing but ``orientation``."""
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    return exif


def small() -> dict[str, Sample]:
    """Give the samples by a name that is also a file name."""
    rgb = photo(WIDTH, HEIGHT, 2)
    grey = rgb.convert("L")
    alpha = with_alpha()
    indexed = rgb.quantize(32)
    deep = (np.arange(WIDTH * HEIGHT, dtype=np.uint16) * 10).reshape(HEIGHT, WIDTH)
    profile = b"\0" * 128
    over_white = ("alpha-over-white",)
    return _jpegs(rgb) | {
        "rgb.png": Sample(encode(rgb, "PNG"), "RGB"),
        "profile.png": Sample(encode(rgb, "PNG", icc_profile=profile), "RGB", ("icc-ignored",)),
        "grey.png": Sample(encode(grey, "PNG"), "L"),
        "alpha.png": Sample(encode(alpha, "PNG"), "RGBA", over_white),
        "grey-alpha.png": Sample(encode(alpha.convert("LA"), "PNG"), "LA", over_white),
        "one-bit.png": Sample(encode(rgb.convert("1"), "PNG"), "1"),
        "palette.png": Sample(encode(indexed, "PNG"), "P"),
        "palette-clear.png": Sample(encode(indexed, "PNG", transparency=3), "P", over_white),
        "palette-alpha.png": Sample(
            encode(indexed, "PNG", transparency=bytes(range(0, 256, 8))), "P", over_white
        ),
        "rgb-clear.png": Sample(
            encode(rgb, "PNG", transparency=rgb.getpixel((0, 0))), "RGB", over_white
        ),
        "grey-clear.png": Sample(
            encode(grey, "PNG", transparency=grey.getpixel((0, 0))), "L", over_white
        ),
        "sixteen-grey.png": Sample(encode(Image.fromarray(deep), "PNG"), "I;16", ("sixteen-bit",)),
        "sixteen-grey-clear.png": Sample(
            png_file(deep[:, :, None], clear=(int(deep[5, 5]),)),
            "I;16",
            ("alpha-over-white", "sixteen-bit"),
        ),
        "sixteen-rgb.png": Sample(
            png_file(np.stack([deep, deep[::-1], deep.T.reshape(deep.shape)], axis=-1)),
            "RGB",
            ("sixteen-bit",),
        ),
        "sixteen-rgb-clear.png": Sample(
            png_file(np.stack([deep] * 3, axis=-1), clear=(int(deep[9, 9]),) * 3),
            "RGB",
            ("alpha-over-white", "sixteen-bit"),
        ),
        "sixteen-rgba.png": Sample(
            png_file(np.stack([deep] * 4, axis=-1)), "RGBA", ("alpha-over-white", "sixteen-bit")
        ),
        "animated.png": Sample(
            encode(rgb, "PNG", save_all=True, append_images=[rgb.transpose(_UPSIDE_DOWN)]),
            "RGB",
            ("first-frame-only",),
        ),
        "turned.png": Sample(encode(rgb, "PNG", exif=oriented(6)), "RGB"),
        "palette.gif": Sample(encode(indexed, "GIF"), "P"),
        "palette-clear.gif": Sample(encode(indexed, "GIF", transparency=2), "P", over_white),
        "grey.gif": Sample(encode(grey, "GIF"), "P"),
        "animated.gif": Sample(
            encode(
                indexed,
                "GIF",
                save_all=True,
                append_images=[rgb.transpose(_UPSIDE_DOWN), grey, alpha],
            ),
            "P",
            ("first-frame-only",),
        ),
        "lossy.webp": Sample(encode(rgb, "WEBP", quality=70), "RGB"),
        "lossless.webp": Sample(encode(rgb, "WEBP", lossless=True), "RGB"),
        "alpha.webp": Sample(encode(alpha, "WEBP"), "RGBA", over_white),
        "alpha-lossless.webp": Sample(encode(alpha, "WEBP", lossless=True), "RGBA", over_white),
        "animated.webp": Sample(
            encode(rgb, "WEBP", save_all=True, append_images=[rgb.transpose(_UPSIDE_DOWN)]),
            "RGB",
            ("first-frame-only",),
        ),
        "turned.webp": Sample(encode(rgb, "WEBP", quality=70, exif=oriented(8)), "RGB"),
        "rgb.bmp": Sample(encode(rgb, "BMP"), "RGB"),
        "grey.bmp": Sample(encode(grey, "BMP"), "L"),
        "palette.bmp": Sample(encode(indexed, "BMP"), "P"),
        "one-bit.bmp": Sample(encode(rgb.convert("1"), "BMP"), "1"),
        "rgb.tiff": Sample(encode(rgb, "TIFF"), "RGB"),
        "lzw.tiff": Sample(encode(rgb, "TIFF", compression="tiff_lzw"), "RGB"),
        "packbits.tiff": Sample(encode(grey, "TIFF", compression="packbits"), "L"),
        "cmyk.tiff": Sample(encode(rgb.convert("CMYK"), "TIFF"), "CMYK"),
        "alpha.tiff": Sample(encode(alpha, "TIFF"), "RGBA", over_white),
        "palette.tiff": Sample(encode(indexed, "TIFF"), "P"),
        "sixteen-grey.tiff": Sample(
            encode(Image.fromarray(deep), "TIFF"), "I;16", ("sixteen-bit",)
        ),
        "pages.tiff": Sample(
            encode(rgb, "TIFF", save_all=True, append_images=[grey, rgb]),
            "RGB",
            ("first-frame-only",),
        ),
        "turned.tiff": Sample(encode(rgb, "TIFF", exif=oriented(6)), "RGB"),
    }


def _jpegs(rgb: Image.Image) -> dict[str, Sample]:
    return {
        "444.jpg": Sample(encode(rgb, "JPEG", subsampling="4:4:4"), "RGB"),
        "422.jpg": Sample(encode(rgb, "JPEG", subsampling="4:2:2"), "RGB", exact=False),
        "420.jpg": Sample(encode(rgb, "JPEG", subsampling="4:2:0"), "RGB", exact=False),
        "progressive.jpg": Sample(
            encode(rgb, "JPEG", subsampling="4:4:4", progressive=True), "RGB"
        ),
        "progressive-420.jpg": Sample(
            encode(rgb, "JPEG", subsampling="4:2:0", progressive=True), "RGB", exact=False
        ),
        "grey.jpg": Sample(encode(rgb.convert("L"), "JPEG"), "L"),
        "cmyk.jpg": Sample(encode(rgb.convert("CMYK"), "JPEG", subsampling="4:4:4"), "CMYK"),
        "profile.jpg": Sample(
            encode(rgb, "JPEG", subsampling="4:4:4", icc_profile=b"\0" * 128),
            "RGB",
            ("icc-ignored",),
        ),
        "turned.jpg": Sample(encode(rgb, "JPEG", subsampling="4:4:4", exif=oriented(6)), "RGB"),
    }
