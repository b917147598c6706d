"""Tiny pictures whose counts were worked out by hand."""

from typing import Any

import numpy as np
import pytest
from PIL import Image

import handlers
from tests.corpus import encode

METHODS = ("vectorised", "loop")


def count(data: bytes, **options: object) -> dict[str, Any]:
    """Run the histogram over a file."""
    return handlers.run("histogram", {"image": data, **options})


def bins(**values: int) -> list[int]:
    """Give 256 bins that are empty but for ``v<value>=count``."""
    made = [0] * 256
    for name, number in values.items():
        made[int(name[1:])] = number
    return made


@pytest.mark.parametrize("method", METHODS)
def test_four_pixels(method: str) -> None:
    """Red, red, green and a grey fall where they must, in bins, cube and palette."""
    image = Image.new("RGB", (2, 2))
    image.putdata([(255, 0, 0), (255, 0, 0), (0, 200, 0), (17, 34, 51)])
    result = count(encode(image, "PNG"), method=method)
    assert result["counted"] == {"width": 2, "height": 2, "pixels": 4}
    assert result["bins"] == {
        "r": bins(v0=1, v17=1, v255=2),
        "g": bins(v0=2, v34=1, v200=1),
        "b": bins(v0=3, v51=1),
    }
    cube = {cell: number for cell, number in enumerate(result["cube"]) if number}
    assert cube == {15 * 256: 2, 12 * 16: 1, 1 * 256 + 2 * 16 + 3: 1}
    assert result["palette"] == [
        {"hex": "#ff0000", "rgb": [255, 0, 0], "count": 2, "share": 0.5},
        {"hex": "#00c800", "rgb": [0, 200, 0], "count": 1, "share": 0.25},
        {"hex": "#112233", "rgb": [17, 34, 51], "count": 1, "share": 0.25},
    ]


def test_shrinking_takes_the_mean_of_whole_blocks() -> None:
    """Each counted pixel is the rounded mean of a block; the block at the edge may be partial."""
    grey = np.array([[0, 10, 100, 110, 7], [20, 30, 120, 130, 8]], np.uint8)
    result = count(encode(Image.fromarray(grey), "PNG"), max_side=3)
    assert result["counted"] == {"width": 3, "height": 1, "pixels": 3}
    assert result["bins"]["r"] == bins(v15=1, v115=1, v8=1)


def test_transparency_lies_over_white() -> None:
    """A clear pixel counts as white, whatever colour hides in it; half clear is half white."""
    image = Image.new("RGBA", (2, 1))
    image.putdata([(200, 0, 0, 0), (0, 0, 0, 128)])
    result = count(encode(image, "PNG"))
    assert result["bins"]["r"] == bins(v255=1, v127=1)
    assert result["image"]["notes"] == ["alpha-over-white"]


def test_opaque_alpha_leaves_no_note() -> None:
    """An alpha channel that hides nothing changes nothing, so nothing is noted."""
    image = Image.new("RGBA", (2, 1), (1, 2, 3, 255))
    result = count(encode(image, "PNG"))
    assert result["image"]["notes"] == []
    assert result["palette"][0]["rgb"] == [1, 2, 3]


def test_cmyk_by_the_plain_formula() -> None:
    """A channel is (255 - ink) · (255 - black) / 255."""
    image = Image.new("CMYK", (1, 1), (255, 51, 0, 102))
    result = count(encode(image, "TIFF"))
    assert result["palette"][0]["rgb"] == [0, 122, 153]


def test_sixteen_bits_keep_their_upper_eight() -> None:
    """16-bit grey spreads from black to white, and does not clip to white above 255."""
    values = np.array([[0x0000, 0x00FF, 0x0100, 0x8000, 0xFFFF]], np.uint16)
    for kind in ("PNG", "TIFF"):
        result = count(encode(Image.fromarray(values), kind))
        assert result["bins"]["r"] == bins(v0=2, v1=1, v128=1, v255=1)
        assert result["image"]["notes"] == ["sixteen-bit"]


def test_one_bit_is_black_and_white() -> None:
    """A fax has two colours."""
    image = Image.new("1", (8, 1))
    image.putdata([0, 255, 255, 0, 0, 0, 0, 0])
    assert count(encode(image, "PNG"))["bins"]["g"] == bins(v0=6, v255=2)


def test_only_the_first_frame_counts() -> None:
    """An animation is its first frame, and says how many there are."""
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("#ff0000", "#00ff00", "#0000ff")]
    for kind in ("GIF", "PNG", "WEBP", "TIFF"):
        options: dict[str, Any] = {"lossless": True} if kind == "WEBP" else {}
        data = encode(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        result = count(data)
        assert [swatch["hex"] for swatch in result["palette"]] == ["#ff0000"], kind
        assert result["image"]["frames"] == 3, kind
        assert result["image"]["notes"] == ["first-frame-only"], kind
