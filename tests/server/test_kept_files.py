"""The files of jobs: by their content, within bounds of room and time."""

import hashlib
import os
import time

import pytest

from server.tasks.files import LEAST_BYTES, FileGoneError, KeptFiles, NoRoomError

ROOM = 4 * LEAST_BYTES
KEEP_S = 1000.0


@pytest.fixture
def files(tmp_path):
    """A folder with room for four short files."""
    return KeptFiles(tmp_path / "files", ROOM, KEEP_S)


def _age(files, name, seconds):
    then = time.time() - seconds
    os.utime(files.folder / name, (then, then))


def test_what_was_put_there_can_be_had(files):
    """Under the sum of its content, and the same content is there once."""
    name = files.put(b"x", "png")
    assert name == f"{hashlib.sha256(b'x').hexdigest()}.png"
    assert files.put(b"x", "png") == name
    assert files.get(name) == b"x"
    assert sorted(path.name for path in files.folder.iterdir()) == [name, "lock"]


def test_there_is_no_more_than_the_room(files):
    """Short files count as what they take on a disk; what is there already needs no room."""
    names = [files.put(bytes([number]), "png") for number in range(4)]
    with pytest.raises(NoRoomError):
        files.put(b"one more", "png")
    assert files.put(b"\0", "png") == names[0]
    assert [files.get(name) for name in names] == [b"\0", b"\1", b"\2", b"\3"]
    with pytest.raises(NoRoomError):
        KeptFiles(files.folder, ROOM, KEEP_S).put(b"x" * (ROOM + 1), "pdf")


def test_what_is_too_old_makes_room(files):
    """And what a process left half written goes too; putting a file again keeps it."""
    old, used = files.put(b"old", "png"), files.put(b"used", "png")
    _age(files, old, KEEP_S + 1)
    _age(files, used, KEEP_S + 1)
    files.put(b"used", "png")
    (files.folder / "tmpabc").write_bytes(b"half")
    files.tidy()
    with pytest.raises(FileGoneError, match="not kept"):
        files.get(old)
    assert files.get(used) == b"used"
    assert not (files.folder / "tmpabc").exists()


def test_a_folder_that_is_not_there_is_empty(files):
    """Nothing is made before there is something to keep."""
    files.tidy()
    assert not files.folder.exists()
    with pytest.raises(FileGoneError):
        files.get("0" * 64 + ".png")


@pytest.mark.parametrize("name", ["", "lock", "../secret", "0" * 64, "0" * 64 + ".png/", "/etc/x"])
def test_only_names_that_it_gives_are_looked_for(files, name):
    """Whatever else lies there, or beside it."""
    files.put(b"x", "png")
    with pytest.raises(FileGoneError, match="not the name"):
        files.get(name)
