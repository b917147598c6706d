"""The rules of the pool hold in every case that has a name, and in random sequences of events."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.pool.in_node import FOLDER, run_in_node


@pytest.mark.timeout(300)  # tens of thousands of sequences, on a machine that may be busy
@pytest.mark.parametrize(
    "file",
    sorted(FOLDER.glob("*.test.mjs")),
    ids=lambda file: file.name.removesuffix(".test.mjs"),
)
def test_in_node(file: Path) -> None:
    """Node finds nothing wrong; if it does, it names the case, or the sequence and its seed."""
    run = run_in_node(file)
    assert run.returncode == 0, run.stdout
