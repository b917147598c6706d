"""One number that tells whether two places counted the same."""

import hashlib
import json
from typing import Any

import handlers
from tests.corpus import small


def count(name: str = "lossless.webp", **options: object) -> dict[str, Any]:
    """Run the histogram over a sample."""
    return handlers.run("histogram", {"image": small()[name].data, **options})


def test_it_is_the_same_each_time() -> None:
    """Two runs give the same canonical JSON, timings aside."""
    assert handlers.canonical_json(count()) == handlers.canonical_json(count())


def test_it_leaves_out_who_counted() -> None:
    """The digest can be worked out from the result: no timings, runtime, method or decoder."""
    result = count(method="loop")
    left_out = ("stages", "runtime", "method", "digest")
    numbers = {key: value for key, value in result.items() if key not in left_out}
    del numbers["image"]["decoder"]
    text = json.dumps(numbers, sort_keys=True, separators=(",", ":"))
    assert result["digest"] == hashlib.sha256(text.encode()).hexdigest()


def test_canonical_json_has_no_timings() -> None:
    """Sorted keys, no spaces, neither stages nor runtime."""
    text = handlers.canonical_json(count())
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert "stages" not in text
    assert "runtime" not in text
    assert " " not in text


def test_other_numbers_have_another_digest() -> None:
    """Another size counts other pixels."""
    assert count()["digest"] != count(max_side=50)["digest"]
