"""What the page makes of the lab's events: its state, its goals, and where its marks stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.page.pool.in_node import run_in_node

ROOT = Path(__file__).parent.parent.parent


def test_in_node() -> None:
    """Node finds nothing wrong; if it does, it names the case."""
    run = run_in_node(Path(__file__).parent / "lab" / "state.test.mjs")
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    "rules", ["section-lab-state.js", "section-lab-goals.js", "section-lab-places.js"]
)
def test_they_do_nothing_themselves(rules: str) -> None:
    """No clock, no request, no element of the page."""
    code = re.sub(r"/\*.*?\*/", "", (ROOT / "page" / rules).read_text("utf-8"), flags=re.DOTALL)
    doing = r"\b(performance|Date\.now|setTimeout|setInterval|fetch|document|Math\.random)\b"
    assert re.findall(doing, code) == []
