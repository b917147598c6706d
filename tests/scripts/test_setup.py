"""Set-up as a person starts it: as a process, in this clone or in a new one."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from steps.place import HERE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BASE_PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
_SHUT = "http://127.0.0.1:9"
NOWHERE = {
    "http_proxy": _SHUT,
    "https_proxy": _SHUT,
    "HTTP_PROXY": _SHUT,
    "HTTPS_PROXY": _SHUT,
    "PIP_INDEX_URL": _SHUT,
    "no_proxy": "",
    "NO_PROXY": "",
    "PIP_RETRIES": "1",
}


def start(root: Path, purpose: str, **environment: str) -> subprocess.Popen[str]:
    """Start set-up in a clone, in a process group of its own, as a terminal does."""
    return subprocess.Popen(
        [BASE_PYTHON, str(root / "scripts" / "setup.py"), "--for", purpose],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(autouse=True)
def _heeds_interrupts() -> Iterator[None]:
    """Let what is started here be interrupted, also when a shell runs these tests with `&`."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def new_clone(tmp_path: Path) -> Path:
    """Return a clone in which nothing has been prepared."""
    for name in ("pyproject.toml", "package.json", "package-lock.json", "requirements.lock"):
        shutil.copy(HERE.root / name, tmp_path / name)
    shutil.copytree(HERE.root / "scripts", tmp_path / "scripts")
    return tmp_path


def test_a_second_run_needs_no_network() -> None:
    """With every way out of the machine shut, all is found and nothing is downloaded."""
    with start(HERE.root, "check", **NOWHERE) as process:
        shown, _ = process.communicate()
    assert process.returncode == 0, shown
    assert "no downloads" in shown
    for line in shown.splitlines()[:6]:
        assert line.endswith("unchanged"), shown


def test_a_step_that_fails_says_which_why_and_what_to_do(new_clone: Path) -> None:
    """Without a network the second step fails, in three lines and without a traceback."""
    with start(new_clone, "run", **NOWHERE) as process:
        shown, _ = process.communicate()
    assert process.returncode == 1
    assert "Step:       Python packages" in shown
    assert "Cause:      the network could not be reached" in shown
    assert "Way round:  " in shown
    assert "Traceback" not in shown


def test_an_interrupted_step_is_taken_up_again(new_clone: Path) -> None:
    """Ctrl-C in the middle of the packages ends at once; the next run starts with a new folder."""
    with socket.create_server(("127.0.0.1", 0)) as registry:
        port = registry.getsockname()[1]
        environment = {"PIP_INDEX_URL": f"http://127.0.0.1:{port}/", "PIP_NO_BINARY": ""}
        with start(new_clone, "run", **environment) as process:
            connection, _ = registry.accept()
            with connection:  # pip has asked for its first package, and waits for an answer
                left_over = new_clone / ".venv" / "left-over"
                left_over.touch()
                os.killpg(process.pid, signal.SIGINT)
                shown, _ = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in shown
    assert "Traceback" not in shown
    with start(new_clone, "run", **NOWHERE) as process:
        process.communicate()
    assert not left_over.exists()


def test_an_old_python_can_read_the_part_that_says_so() -> None:
    """The first file is in the grammar of Python 3.7; the rest is imported after the check."""
    source = (HERE.root / "scripts" / "setup.py").read_text("utf-8")
    tree = ast.parse(source, feature_version=(3, 7))
    first = [node.names[0].name for node in tree.body if isinstance(node, ast.Import)]
    assert set(first) <= set(sys.stdlib_module_names)
    assert not [node for node in tree.body if isinstance(node, ast.ImportFrom)]


def test_the_steps_need_only_the_standard_library() -> None:
    """They run before any package is installed."""
    for path in (HERE.root / "scripts" / "steps").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names | {"steps"}, (path, name)
