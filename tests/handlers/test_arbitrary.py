"""Whatever the bytes, there is a result or a typed refusal."""

import contextlib
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import handlers
from handlers.errors import HandlerError
from tests.corpus import encode, small

SAMPLES = sorted((name, sample.data) for name, sample in small().items())
FORMATS = {
    "1": ("PNG", "TIFF", "BMP"),
    "L": ("PNG", "TIFF", "BMP", "GIF", "JPEG", "WEBP"),
    "LA": ("PNG", "TIFF"),
    "P": ("PNG", "TIFF", "BMP", "GIF"),
    "RGB": ("PNG", "TIFF", "BMP", "GIF", "JPEG", "WEBP"),
    "RGBA": ("PNG", "TIFF", "GIF", "WEBP"),
    "CMYK": ("TIFF", "JPEG"),
    "YCbCr": ("JPEG",),
    "I;16": ("PNG", "TIFF"),
}
WIDTHS = {"1": 1, "L": 1, "P": 1, "LA": 2, "I;16": 2, "RGB": 3, "YCbCr": 3, "RGBA": 4, "CMYK": 4}

quick = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


def attempt(data: bytes) -> None:
    """Run the task: any error but a HandlerError fails the test."""
    with contextlib.suppress(HandlerError):
        result: dict[str, Any] = handlers.run("histogram", {"image": data})
        assert sum(result["cube"]) == result["counted"]["pixels"] > 0


@quick
@given(st.binary(max_size=2000))
def test_arbitrary_bytes(data: bytes) -> None:
    """Bytes that mean nothing."""
    attempt(data)


@quick
@given(st.sampled_from(SAMPLES), st.binary(max_size=200))
def test_arbitrary_bytes_behind_a_real_beginning(sample: tuple[str, bytes], tail: bytes) -> None:
    """A real header, then anything."""
    _name, data = sample
    attempt(data[: len(data) // 3] + tail)


@settings(quick, max_examples=400)
@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)), max_size=4),
    st.floats(0.1, 1),
)
def test_mutated_files(
    sample: tuple[str, bytes],
    anywhere: list[tuple[float, int]],
    in_the_header: list[tuple[int, int]],
    kept: float,
) -> None:
    """A real file with some bytes overwritten, perhaps cut short."""
    data = bytearray(sample[1])
    for where, value in anywhere:
        data[int(where * len(data))] = value
    for at, value in in_the_header:
        data[min(at, len(data) - 1)] = value
    attempt(bytes(data[: int(len(data) * kept)]))


@st.composite
def pictures(draw: st.DrawFn) -> tuple[bytes, int]:
    """Draw a small picture of any mode, encoded in any format that holds it, and its pixels."""
    mode = draw(st.sampled_from(sorted(FORMATS)))
    kind = draw(st.sampled_from(FORMATS[mode]))
    width, height = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    length = (width + 7) // 8 * height if mode == "1" else width * height * WIDTHS[mode]
    image = Image.frombytes(mode, (width, height), rng.bytes(length))
    if mode == "P":
        image.putpalette(rng.bytes(768))
    return encode(image, kind), width * height


@quick
@given(pictures(), st.integers(1, 50), st.integers(1, 32))
def test_arbitrary_pictures(picture: tuple[bytes, int], max_side: int, colours: int) -> None:
    """Every real picture is counted whole, and both methods agree."""
    data, pixels = picture
    payload = {"image": data, "max_side": max_side, "colours": colours}
    fast: dict[str, Any] = handlers.run("histogram", payload)
    slow: dict[str, Any] = handlers.run("histogram", {**payload, "method": "loop"})
    assert fast["digest"] == slow["digest"]
    counted = fast["counted"]["pixels"]
    assert counted == pixels or max(fast["image"]["width"], fast["image"]["height"]) > max_side
    for channel in "rgb":
        assert sum(fast["bins"][channel]) == counted
    assert sum(fast["cube"]) == counted
    assert sum(swatch["count"] for swatch in fast["palette"]) == counted
    assert 1 <= len(fast["palette"]) <= colours
    for swatch in fast["palette"]:
        assert swatch["share"] == round(swatch["count"] / counted, 6)
