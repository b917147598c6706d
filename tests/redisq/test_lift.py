"""The queue works where nothing else of this project is."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from server import redisq
from tests.redisq.servers import Server

FOLDER = Path(redisq.__file__).parent
EXAMPLE = Path(__file__).parents[2] / "examples" / "redisq"
PATIENCE_S = 20


def test_it_imports_redis_py_and_the_standard_library_only() -> None:
    """Whatever else it needs lies in the folder."""
    allowed = sys.stdlib_module_names | {"redis"}
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            elif isinstance(node, ast.ImportFrom):
                depth = len(path.relative_to(FOLDER).parts)
                assert node.level <= depth, f"{path} reaches above the package"
            assert {name.split(".")[0] for name in names} <= allowed, path


@pytest.fixture
def lifted(tmp_path: Path) -> Path:
    """A folder with what the README says, and nothing of ours within reach of its programs."""
    copies = re.findall(
        r"^\| `([^`]+)` \| `([^`]+)` \|$", (EXAMPLE / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(copies) == 4
    for source, target in copies:
        path = EXAMPLE.parents[1] / source
        if path.is_dir():
            skip = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, tmp_path / target, ignore=skip)
        else:
            shutil.copy(path, tmp_path / target)
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['server'] = None\n")
    return tmp_path


def test_the_example_runs_alone(redis_server: Server, lifted: Path) -> None:
    """Copied into an empty folder, it does what its README says."""
    environment = {
        **os.environ,
        "REDIS_URL": f"unix://{redis_server.socket}",
        "PYTHONPATH": str(lifted),
    }
    with Redis(unix_socket_path=redis_server.socket) as client:
        client.flushall()
    said = [
        subprocess.run(
            [sys.executable, "producer.py", *arguments],
            cwd=lifted,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for arguments in (["Ada"], ["--id", "7", "Grace"], ["--id", "7", "Grace"], ["nobody"])
    ]
    assert said[1:3] == ["7", "7"]
    with subprocess.Popen(
        [sys.executable, "worker.py"],
        cwd=lifted,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout
        assert [worker.stdout.readline() for _ in range(2)] == ["Hello Ada\n", "Hello Grace\n"]
        worker.send_signal(signal.SIGINT)
        rest, _ = worker.communicate(timeout=PATIENCE_S)
    assert (worker.returncode, rest) == (
        0,
        "{'done': 2, 'failed': 1, 'late': 0, 'claimed': 3}\n",
    )
