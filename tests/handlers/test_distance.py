"""The distance that is shown where decoders differ."""

from typing import Any

import pytest

import handlers
from tests.corpus import PHOTO_BOUND, distance, encode, photo, total_variation


def test_it_is_the_share_of_pixels_that_moved() -> None:
    """Equal counts are 0 apart, counts without a common bin 1, and one pixel in four 0.25."""
    assert total_variation([3, 1], [3, 1]) == 0
    assert total_variation([4, 0], [0, 4]) == 1
    assert total_variation([3, 1, 0], [3, 0, 1]) == 0.25


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_tells_a_decoder_from_another_picture(seed: int) -> None:
    """A slightly brighter picture is past the bound, so the bound says something."""
    image = photo(400, 300, seed)
    results: list[dict[str, Any]] = [
        handlers.run("histogram", {"image": encode(picture, "PNG")})
        for picture in (image, image.point(lambda value: min(255, value + 4)))
    ]
    assert distance(*results) > PHOTO_BOUND
