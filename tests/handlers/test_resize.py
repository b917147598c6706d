"""A picture made smaller: its pixels are counted on, its orientation is undone."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import handlers
from handlers.errors import BadPayloadError, NotAnImageError, TooManyPixelsError
from tests.corpus import broken, encode, small


def resize(data: bytes, **options: object) -> dict[str, Any]:
    """Run the task over a file."""
    result: dict[str, Any] = handlers.run("resize_image", {"image": data, **options})
    return result


def pixels(result: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Decode the PNG that came out, and hold what is said of it to it."""
    image = Image.open(io.BytesIO(result["image"]))
    assert (image.format, image.mode) == ("PNG", "RGB")
    assert image.size == (result["width"], result["height"])
    assert "icc_profile" not in image.info
    return np.asarray(image)


def test_each_pixel_is_the_mean_of_a_block() -> None:
    """The smallest whole factor that fits; the block at the edge may be partial."""
    grey = np.array([[0, 10, 100, 110, 7], [20, 30, 120, 130, 8]], np.uint8)
    result = resize(encode(Image.fromarray(grey), "PNG"), max_side=3)
    assert pixels(result)[..., 0].tolist() == [[15, 115, 8]]
    assert result["original"] == {
        "format": "PNG",
        "width": 5,
        "height": 2,
        "bytes": result["original"]["bytes"],
        "notes": [],
    }


def test_a_small_picture_stays_as_it_is() -> None:
    """And none grows."""
    drawn = np.arange(6 * 4 * 3, dtype=np.uint8).reshape(4, 6, 3)
    result = resize(encode(Image.fromarray(drawn), "PNG"))
    assert np.array_equal(pixels(result), drawn)


def test_the_pixels_are_those_that_are_counted() -> None:
    """The histogram of the small picture is the histogram of the large one, shrunk alike."""
    for name, sample in small().items():
        made = resize(sample.data, max_side=16)
        counted = handlers.run("histogram", {"image": sample.data, "max_side": 16})
        again = handlers.run("histogram", {"image": made["image"]})
        assert again["bins"] == counted["bins"], name
        assert again["counted"] == counted["counted"], name


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_it_comes_out_upright(kind: str, orientation: int) -> None:
    """Every orientation that a camera writes down, where Pillow turns and where it does not."""
    upright = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    lying = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: upright.transpose(1, 0, 2)[::-1],
        7: upright.transpose(1, 0, 2)[::-1, ::-1],
        8: upright.transpose(1, 0, 2)[:, ::-1],
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    options: dict[str, Any] = {"exif": exif} if kind == "PNG" else {"tiffinfo": {274: orientation}}
    result = resize(encode(Image.fromarray(np.ascontiguousarray(lying)), kind, **options))
    assert np.array_equal(pixels(result), upright)


def test_the_digest_is_that_of_the_pixels() -> None:
    """Whatever format they came in; another pixel is another digest."""
    image = Image.new("RGB", (3, 3), (1, 2, 3))
    same = {resize(encode(image, kind))["digest"] for kind in ("PNG", "BMP", "TIFF")}
    assert len(same) == 1
    image.putpixel((1, 1), (1, 2, 4))
    assert resize(encode(image, "PNG"))["digest"] not in same


def test_what_is_no_picture_is_refused() -> None:
    """With the errors of decoding, and nothing else."""
    with pytest.raises(NotAnImageError):
        resize(b"%PDF-1.7")
    with pytest.raises(TooManyPixelsError):
        resize(next(one.data for one in broken() if "too-many-pixels" in one.codes))
    with pytest.raises(BadPayloadError):
        resize(b"", max_side=0)
    with pytest.raises(BadPayloadError):
        handlers.run("resize_image", {})


def test_progress_ends_at_one() -> None:
    """And rises on the way."""
    heard: list[float] = []
    data = encode(Image.new("RGB", (3, 3)), "PNG")
    handlers.run("resize_image", {"image": data}, heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1
