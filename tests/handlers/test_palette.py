"""Few colours that stand for all."""

from typing import Any

import pytest
from PIL import Image

import handlers
from tests.corpus import encode, photo

PHOTO = encode(photo(240, 160, 11), "PNG")


def swatches(data: bytes, colours: int) -> list[dict[str, Any]]:
    """Run the histogram and give its palette."""
    result: dict[str, Any] = handlers.run("histogram", {"image": data, "colours": colours})
    return result["palette"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("colours", [1, 2, 8, 32])
def test_it_has_as_many_colours_as_asked(colours: int) -> None:
    """A picture rich in colours fills the palette, with no colour twice."""
    palette = swatches(PHOTO, colours)
    assert len({swatch["hex"] for swatch in palette}) == colours
    assert abs(sum(swatch["share"] for swatch in palette) - 1) < 1e-4
    ranks = [(-swatch["count"], swatch["hex"]) for swatch in palette]
    assert ranks == sorted(ranks)


def test_one_colour_is_told_exactly() -> None:
    """A plain area has one swatch, which is its colour and not the middle of a cell."""
    palette = swatches(encode(Image.new("RGB", (9, 9), "#3a7bd5"), "PNG"), 8)
    assert palette == [{"hex": "#3a7bd5", "rgb": [58, 123, 213], "count": 81, "share": 1}]
    assert isinstance(palette[0]["share"], int), "JavaScript writes 1.0 as 1"


def test_a_small_sun_gets_a_swatch() -> None:
    """Two in a thousand pixels are enough, if their colour is far from all others."""
    image = photo(100, 100, 12).convert("L").convert("RGB")
    image.paste((255, 170, 0), (0, 0, 5, 4))
    assert "#ffaa00" in {swatch["hex"] for swatch in swatches(encode(image, "PNG"), 8)}


def test_hex_and_rgb_agree() -> None:
    """Both name the same colour."""
    for swatch in swatches(PHOTO, 16):
        assert swatch["hex"] == "#{:02x}{:02x}{:02x}".format(*swatch["rgb"])


def test_a_swatch_is_the_mean_of_its_pixels_by_both_methods() -> None:
    """Sums are exact however many colours there are: no swatch is the middle of a cell."""
    pixels = [(number & 255, number >> 8, 77) for number in range(5000)]
    image = Image.new("RGB", (5000, 1))
    image.putdata(pixels)
    payload = {"image": encode(image, "PNG"), "max_side": 8192, "colours": 1}
    fast: dict[str, Any] = handlers.run("histogram", payload)
    slow: dict[str, Any] = handlers.run("histogram", {**payload, "method": "loop"})
    assert fast["digest"] == slow["digest"]
    mean = [round(sum(pixel[channel] for pixel in pixels) / 5000) for channel in range(3)]
    assert fast["palette"][0]["rgb"] == mean
