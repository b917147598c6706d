"""The payload's fields, each with its range."""

from typing import Any

import pytest

import handlers
from handlers.errors import BadPayloadError
from tests.corpus import small

PNG = small()["rgb.png"].data
PIXELS = {"rgba": bytes(24), "width": 3, "height": 2, "format": "AVIF"}


@pytest.mark.parametrize(
    ("field", "payload"),
    [
        ("image", {}),
        ("image", {"image": None}),
        ("image", {"image": "text"}),
        ("image", {"image": [1, 2]}),
        ("image", {"image": PNG, **PIXELS}),
        ("max_side", {"image": PNG, "max_side": 0}),
        ("max_side", {"image": PNG, "max_side": 8193}),
        ("max_side", {"image": PNG, "max_side": 1.5}),
        ("max_side", {"image": PNG, "max_side": True}),
        ("max_side", {"image": PNG, "max_side": float("nan")}),
        ("max_side", {"image": PNG, "max_side": float("inf")}),
        ("colours", {"image": PNG, "colours": 0}),
        ("colours", {"image": PNG, "colours": 33}),
        ("colours", {"image": PNG, "colours": "8"}),
        ("method", {"image": PNG, "method": "fast"}),
        ("method", {"image": PNG, "method": 1}),
        ("maxside", {"image": PNG, "maxside": 8}),
        ("width", {**PIXELS, "width": 0}),
        ("height", {**PIXELS, "height": None}),
        ("rgba", {**PIXELS, "rgba": bytes(23)}),
        ("rgba", {**PIXELS, "rgba": "text"}),
        ("format", {**PIXELS, "format": ""}),
        ("bytes", {**PIXELS, "bytes": -1}),
        ("decoded_by", {**PIXELS, "decoded_by": "me"}),
    ],
)
def test_a_wrong_field_is_named(field: str, payload: dict[str, Any]) -> None:
    """The refusal says which field, and nothing else happens."""
    with pytest.raises(BadPayloadError) as caught:
        handlers.run("histogram", payload)
    assert caught.value.code == "bad-payload"
    assert caught.value.details["field"] == field


def test_none_counts_as_not_given() -> None:
    """JavaScript's undefined and null choose the default."""
    plain = handlers.run("histogram", {"image": PNG})
    given = {"image": PNG, "max_side": None, "method": None, "colours": None, "rgba": None}
    assert handlers.run("histogram", given)["digest"] == plain["digest"]


def test_a_whole_float_is_a_whole_number() -> None:
    """JavaScript has one kind of number."""
    result: dict[str, Any] = handlers.run("histogram", {"image": PNG, "max_side": 48.0})
    assert result["counted"] == {"width": 48, "height": 32, "pixels": 48 * 32}


def test_pixels_that_a_browser_decoded() -> None:
    """They are counted the same way, and the result says who decoded them."""
    rgba = bytes((10, 20, 30, 255) * 5 + (0, 0, 0, 0))
    payload = {**PIXELS, "rgba": rgba, "bytes": 77, "decoded_by": "browser"}
    result: dict[str, Any] = handlers.run("histogram", payload)
    assert result["image"] == {
        "format": "AVIF",
        "mode": "RGBA",
        "width": 3,
        "height": 2,
        "orientation": 1,
        "frames": 1,
        "bytes": 77,
        "decoder": "browser",
        "notes": ["alpha-over-white", "browser-decoded"],
    }
    assert [swatch["hex"] for swatch in result["palette"]] == ["#0a141e", "#ffffff"]
