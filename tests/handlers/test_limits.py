"""Limits hold before memory is spent."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import handlers
from handlers.errors import TooManyBytesError, TooManyPixelsError
from handlers.limits import MAX_BYTES, MAX_PIXELS
from tests.corpus import broken, encode

ROOT = Path(__file__).parents[2]
linux = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="a process reads its own size from /proc"
)

# Warms up, then allows itself 32 MiB more than it has, and prints the code of each refusal.
_SPARSE = """
import resource
import sys
from pathlib import Path
import handlers
from tests.corpus import small
for sample in small().values():
    try:
        handlers.run("histogram", {"image": sample.data})
    except handlers.errors.HandlerError:
        pass
files = [Path(name).read_bytes() for name in sys.argv[1:]]
pages = int(Path("/proc/self/statm").read_text().split()[0])
allowed = pages * resource.getpagesize() + 32 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
for data in files:
    try:
        handlers.run("histogram", {"image": data})
    except handlers.errors.HandlerError as error:
        print(error.code)
"""


def refused_where_memory_is_sparse(folder: Path, files: list[bytes]) -> list[str]:
    """Give the code of each file's refusal in a process that may not grow by more than 32 MiB."""
    paths = [folder / str(number) for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    command = [sys.executable, "-c", _SPARSE, *map(str, paths)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.split()


@linux
def test_a_bomb_is_refused_from_its_header(tmp_path: Path) -> None:
    """Where there is no memory for the pixels, the answer is still the limit, not the memory."""
    bombs = [file.data for file in broken() if file.name.startswith("bomb-")]
    assert len(bombs) >= 8
    assert refused_where_memory_is_sparse(tmp_path, bombs) == ["too-many-pixels"] * len(bombs)


@linux
def test_memory_that_is_not_there_has_its_own_error(tmp_path: Path) -> None:
    """A picture within the limits that does not fit is refused with what helps, in every format."""
    wide = Image.new("RGB", (7000, 9000))
    files = [encode(wide, kind) for kind in ("PNG", "JPEG", "GIF", "WEBP")]
    codes = refused_where_memory_is_sparse(tmp_path, files)
    assert codes == ["out-of-memory"] * len(files)


def test_the_sizes_are_told() -> None:
    """The refusal names width, height and limit, so that a page can say it in its own words."""
    bomb = next(file for file in broken() if file.name == "bomb-png-one-past")
    with pytest.raises(TooManyPixelsError) as caught:
        handlers.run("histogram", {"image": bomb.data})
    assert caught.value.details == {
        "width": 8001,
        "height": 8000,
        "actual": 64_008_000,
        "limit": MAX_PIXELS,
    }


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_too_many_bytes_are_not_even_looked_at(wrap: type) -> None:
    """A file past the limit is refused by its length, in whichever wrapping it comes."""
    with pytest.raises(TooManyBytesError) as caught:
        handlers.run("histogram", {"image": wrap(bytes(MAX_BYTES + 1))})
    assert caught.value.details == {"actual": MAX_BYTES + 1, "limit": MAX_BYTES}


def test_pixels_from_a_browser_have_the_same_limit() -> None:
    """The size is checked before the buffer is copied or its length compared."""
    payload = {"rgba": b"", "width": 8001, "height": 8000, "format": "AVIF"}
    with pytest.raises(TooManyPixelsError):
        handlers.run("histogram", payload)
