"""Two hundred files that are no good, each with its error."""

import json
import warnings

import pytest

import handlers
from handlers.errors import HandlerError
from tests.corpus import Broken, broken

FILES = broken()


def test_there_are_two_hundred() -> None:
    """The corpus is what the tests of the browser count on."""
    assert len(FILES) == 200
    assert len({file.name for file in FILES}) == 200


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_is_refused_with_its_error(file: Broken) -> None:
    """The code is one that fits, the sentence ends as sentences do, the details are plain data."""
    with pytest.raises(HandlerError) as caught:
        handlers.run("histogram", {"image": file.data})
    error = caught.value
    assert error.code in file.codes
    assert error.message.endswith(".")
    assert json.loads(json.dumps(error.as_dict())) == error.as_dict()


@pytest.mark.parametrize("file", FILES[1:], ids=lambda file: file.name)
def test_no_warning_gets_out(file: Broken) -> None:
    """Pillow's warnings stay inside, and the filters of the process are as they were."""
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(HandlerError):
            handlers.run("histogram", {"image": file.data})
    assert heard == []
    assert list(warnings.filters) == before


@pytest.mark.parametrize("kind", ["avif", "heic", "jpeg-2000", "jpeg-xl"])
def test_what_a_browser_may_decode_is_marked(kind: str) -> None:
    """The page hands these to the browser's own decoder."""
    data = next(file.data for file in FILES if file.name == kind)
    with pytest.raises(handlers.errors.NoDecoderError) as caught:
        handlers.run("histogram", {"image": data})
    assert caught.value.details["browser_may_decode"] is True


def test_a_lost_last_row_is_no_picture() -> None:
    """A PNG whose framing is whole but whose pixels end early is refused, not filled with black."""
    file = next(file for file in FILES if file.name == "png-not-zlib")
    with pytest.raises(handlers.errors.CorruptedError):
        handlers.run("histogram", {"image": file.data})


def test_what_the_browser_lacks_is_refused_on_the_server_too() -> None:
    """Pillow decodes a TIFF with deflate here, but not in Pyodide: one answer for all."""
    data = next(file.data for file in FILES if file.name == "tiff-deflate")
    with pytest.raises(handlers.errors.NoDecoderError) as caught:
        handlers.run("histogram", {"image": data})
    assert caught.value.details["format"] == "TIFF with tiff_adobe_deflate compression"
