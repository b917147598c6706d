"""The part of a result that must be equal in every place, as text and as a digest."""

import hashlib
import json
from collections.abc import Mapping

_OF_THE_RUN = ("stages", "runtime")


def canonical_json(result: Mapping[str, object]) -> str:
    """Give ``result`` without timings and runtime as JSON: keys sorted, no spaces, ASCII."""
    return _compact({key: value for key, value in result.items() if key not in _OF_THE_RUN})


def digest(result: Mapping[str, object]) -> str:
    """Give the SHA-256 (hex) of the numbers in ``result``, whoever decoded and counted.

    Left out, besides what ``canonical_json`` leaves out: ``digest``, ``method`` and the decoder.
    """
    left_out = (*_OF_THE_RUN, "digest", "method")
    numbers = {key: value for key, value in result.items() if key not in left_out}
    image = numbers.get("image")
    if isinstance(image, Mapping):
        numbers["image"] = {key: value for key, value in image.items() if key != "decoder"}
    return hashlib.sha256(_compact(numbers).encode()).hexdigest()


def _compact(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
