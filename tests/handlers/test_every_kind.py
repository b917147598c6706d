"""Every format, mode and depth that is taken."""

import json
from typing import Any

import pytest

import handlers
from tests.corpus import Sample, small

TAKEN = small()
SIDEWAYS = {name for name in TAKEN if name.startswith("turned")}


def count(sample: Sample, **options: object) -> dict[str, Any]:
    """Run the histogram over a sample."""
    return handlers.run("histogram", {"image": sample.data, **options})


@pytest.mark.parametrize("name", TAKEN)
def test_it_is_told_for_what_it_is(name: str) -> None:
    """Mode, size, notes and length are those of the file; the size is that of it upright."""
    image = count(TAKEN[name])["image"]
    assert image["mode"] == TAKEN[name].mode
    assert tuple(image["notes"]) == TAKEN[name].notes
    assert (image["width"], image["height"]) == ((64, 96) if name in SIDEWAYS else (96, 64))
    assert image["bytes"] == len(TAKEN[name].data)
    assert image["decoder"] == "pillow"


@pytest.mark.parametrize("name", TAKEN)
def test_the_counts_are_whole(name: str) -> None:
    """Bins, cube and palette each add up to the pixels, and nothing but timings lacks in JSON."""
    result = count(TAKEN[name], max_side=40)
    pixels = result["counted"]["pixels"]
    assert result["counted"]["width"] * result["counted"]["height"] == pixels
    assert max(result["counted"]["width"], result["counted"]["height"]) <= 40
    assert {channel: sum(values) for channel, values in result["bins"].items()} == {
        "r": pixels,
        "g": pixels,
        "b": pixels,
    }
    assert sum(result["cube"]) == pixels
    assert sum(swatch["count"] for swatch in result["palette"]) == pixels
    assert [stage["name"] for stage in result["stages"]] == ["decode", "shrink", "count", "palette"]
    assert json.loads(json.dumps(result)) == result


@pytest.mark.parametrize("name", TAKEN)
def test_both_methods_count_the_same(name: str) -> None:
    """The plain loop and the vectorised count differ in time and in nothing else."""
    fast, slow = count(TAKEN[name]), count(TAKEN[name], method="loop")
    assert fast["digest"] == slow["digest"]
    assert {key: fast[key] for key in ("bins", "cube", "palette")} == {
        key: slow[key] for key in ("bins", "cube", "palette")
    }


@pytest.mark.parametrize("kind", ["jpg", "png", "webp", "tiff"])
def test_a_turned_picture_counts_as_the_upright_one(kind: str) -> None:
    """The orientation is told and applied to the sizes; it changes no colour."""
    upright = {"jpg": "444.jpg", "png": "rgb.png", "webp": "lossy.webp", "tiff": "rgb.tiff"}[kind]
    turned, plain = count(TAKEN[f"turned.{kind}"]), count(TAKEN[upright])
    assert turned["image"]["orientation"] == {"webp": 8}.get(kind, 6)
    assert turned["counted"] == {"width": 64, "height": 96, "pixels": 96 * 64}
    assert turned["bins"] == plain["bins"]
