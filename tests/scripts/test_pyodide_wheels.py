"""The compiled wheels: each by its sum, from the first source that has it."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from steps.failure import StepError
from steps.pyodide_wheels import PACKAGES, get_wheels, wheels_folder
from steps.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steps.place import Place

CONTENTS = {name: f"the wheel of {name}".encode() for name in PACKAGES}
VERSION = "1.2.3"


@pytest.fixture
def pinned(clone: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return a clone whose Pyodide names four wheels, with no network but what a test opens."""
    clone.pyodide.mkdir(parents=True)
    (clone.pyodide / "package.json").write_text(json.dumps({"version": VERSION}), "utf-8")
    packages = {
        name: {"file_name": f"{name}.whl", "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in CONTENTS.items()
    }
    (clone.pyodide / "pyodide-lock.json").write_text(json.dumps({"packages": packages}), "utf-8")
    monkeypatch.delenv("PYODIDE_WHEELS", raising=False)
    monkeypatch.setenv("PYODIDE_CDN", "http://127.0.0.1:9/pyodide")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(clone.root / "index"))
    put_carrier(clone, CONTENTS)
    return clone


def put_carrier(place: Place, contents: dict[str, bytes]) -> None:
    """Put the package that carries the wheels where pip finds it, and its sum into the lock."""
    carrier = io.BytesIO()
    with zipfile.ZipFile(carrier, "w") as archive:
        for name, content in contents.items():
            archive.writestr(f"open_webui/frontend/pyodide/{name}.whl", content)
        info = "open_webui-0.12.4.dist-info"
        archive.writestr(f"{info}/METADATA", "Name: open-webui\nVersion: 0.12.4\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    index = place.root / "index"
    index.mkdir(exist_ok=True)
    (index / "open_webui-0.12.4-py3-none-any.whl").write_bytes(carrier.getvalue())
    lock = place.root / "scripts" / "locks" / "pyodide-wheels.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    total = hashlib.sha256(carrier.getvalue()).hexdigest()
    lock.write_text(f"open-webui==0.12.4 --hash=sha256:{total}\n", "utf-8")


def get(place: Place) -> str:
    """Run the step and return what it showed."""
    shown = io.StringIO()
    report = Report(1, shown)
    report.begin("Wheels")
    try:
        get_wheels(place, report)
    except StepError as error:
        report.failed(error.cause, error.remedy)
        raise
    return shown.getvalue()


def kept(place: Place) -> dict[str, bytes]:
    """Return what lies in the folder of the wheels, unfinished files included."""
    folder = wheels_folder(place)
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


ALL = {f"{name}.whl": content for name, content in CONTENTS.items()}


def folder_of_wheels(place: Place, **changes: bytes) -> Path:
    """Make a folder with all four wheels, some with other contents."""
    folder = place.root / "mine"
    folder.mkdir()
    for name, content in {**CONTENTS, **changes}.items():
        (folder / f"{name}.whl").write_bytes(content)
    return folder


class Cdn(SimpleHTTPRequestHandler):
    """A file server that stands where the CDN stands."""

    def log_message(self, *_arguments: object) -> None:
        """Write nothing."""


@pytest.fixture
def cdn(pinned: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serve an empty folder as the CDN; yield the folder of this version's files."""
    folder = pinned.root / "cdn" / f"v{VERSION}" / "full"
    folder.mkdir(parents=True)
    handler = functools.partial(Cdn, directory=str(pinned.root / "cdn"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("PYODIDE_CDN", f"http://127.0.0.1:{server.server_port}/")
        yield folder
        server.shutdown()
        thread.join()


def test_a_folder_of_one_s_own_comes_first(pinned: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """PYODIDE_WHEELS is enough: no other source is asked."""
    monkeypatch.setenv("PYODIDE_WHEELS", str(folder_of_wheels(pinned)))
    (pinned.root / "index" / "open_webui-0.12.4-py3-none-any.whl").unlink()
    assert "(PYODIDE_WHEELS)" in get(pinned)
    assert kept(pinned) == ALL


def test_a_wrong_file_in_one_s_own_folder_is_refused(
    pinned: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not kept, and the message names the file, both sums and the way round."""
    folder = folder_of_wheels(pinned, numpy=b"something else")
    monkeypatch.setenv("PYODIDE_WHEELS", str(folder))
    with pytest.raises(StepError) as caught:
        get(pinned)
    for words in (
        "numpy.whl",
        hashlib.sha256(CONTENTS["numpy"]).hexdigest(),
        hashlib.sha256(b"something else").hexdigest(),
    ):
        assert words in caught.value.cause
    assert "PYODIDE_WHEELS" in caught.value.remedy
    assert kept(pinned) == {}


def test_the_cdn_is_asked_before_the_index(pinned: Place, cdn: Path) -> None:
    """What the CDN has is counted as downloaded, and a second run asks nobody."""
    for name, content in CONTENTS.items():
        (cdn / f"{name}.whl").write_bytes(content)
    shown = get(pinned)
    assert "(CDN)" in shown
    assert "kB downloaded" in shown
    assert kept(pinned) == ALL
    for path in cdn.iterdir():
        path.unlink()
    assert "unchanged" in get(pinned)


def test_a_wrong_file_from_the_cdn_is_refused_and_taken_elsewhere(pinned: Place, cdn: Path) -> None:
    """The line says which file and both sums; the right one comes from the index."""
    for name, content in CONTENTS.items():
        (cdn / f"{name}.whl").write_bytes(content)
    (cdn / "pillow.whl").write_bytes(b"<html>Please log in</html>")
    shown = get(pinned)
    assert "pillow.whl" in shown
    assert hashlib.sha256(CONTENTS["pillow"]).hexdigest() in shown
    assert hashlib.sha256(b"<html>Please log in</html>").hexdigest() in shown
    assert kept(pinned) == ALL


def test_without_the_cdn_they_come_out_of_the_carrier(pinned: Place) -> None:
    """The carrier itself is deleted afterwards."""
    assert "package index" in get(pinned)
    assert kept(pinned) == ALL
    assert not list(pinned.cache.rglob("open_webui*"))


def test_a_wrong_file_in_the_carrier_is_refused(pinned: Place) -> None:
    """Even when the carrier's own sum is right."""
    put_carrier(pinned, {**CONTENTS, "micropip": b"other"})
    with pytest.raises(StepError, match=r"micropip\.whl .* refused"):
        get(pinned)
    assert "micropip.whl" not in kept(pinned)


def test_a_carrier_with_a_wrong_sum_is_refused(pinned: Place) -> None:
    """Nothing is taken out of it."""
    lock = pinned.root / "scripts" / "locks" / "pyodide-wheels.lock"
    lock.write_text(f"open-webui==0.12.4 --hash=sha256:{'0' * 64}\n", "utf-8")
    with pytest.raises(StepError, match="not the one in the lock file"):
        get(pinned)
    assert kept(pinned) == {}


def test_a_spoilt_file_in_the_cache_is_replaced(pinned: Place) -> None:
    """It is deleted, said, and fetched again."""
    get(pinned)
    (wheels_folder(pinned) / "numpy.whl").write_bytes(b"rotten")
    assert "numpy.whl" in get(pinned)
    assert kept(pinned) == ALL


def test_with_no_source_left_the_message_names_the_way_round(pinned: Place) -> None:
    """The remedy says which folder to make and how to name it."""
    (pinned.root / "index" / "open_webui-0.12.4-py3-none-any.whl").unlink()
    with pytest.raises(StepError) as caught:
        get(pinned)
    assert "PYODIDE_WHEELS=" in caught.value.remedy or "PYTHON" in caught.value.remedy
