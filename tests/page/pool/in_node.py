"""Runs the tests of the pool's rules, which are JavaScript, in Node."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from steps.node import find_node
from steps.place import HERE

FOLDER = Path(__file__).parent


def run_in_node(file: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Return how a file of tests ended in Node's own runner, with what it says in `stdout`.

    `settings` are the environment variables that rules.test.mjs and core.mjs read.
    """
    node = find_node(HERE)
    assert node, "Node is there once set-up has run"
    return subprocess.run(
        [node.executable, "--test-reporter=spec", file],
        cwd=FOLDER,
        env={**os.environ, **settings, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=280,
    )
