"""Runs the queue's tests on the oldest redis-py that is supported: `python -m tests.redisq.oldest`.

It lies in .cache/redis-py-oldest, from oldest.lock with its sums, and comes before the installed
one on the path. What is given as arguments goes to pytest; else it is all that is about one server.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = Path(__file__).with_suffix(".lock")
TARGET = ROOT / ".cache" / "redis-py-oldest"
ALL = (
    "enqueue",
    "turn",
    "turn_claims",
    "heartbeat",
    "operate",
    "repeat",
    "run",
    "worker",
    "replicas",
    "cluster",
    "purge",
    "wait",
)


def version() -> str:
    """Return which release that is."""
    found = re.search(r"^redis==(\S+)", LOCK.read_text("utf-8"), re.MULTILINE)
    if not found:
        raise LookupError(f"no redis in {LOCK}")
    return found[1]


def install() -> None:
    """Put it where it is looked for, unless it is there."""
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    stamp = TARGET / "installed"
    if stamp.exists() and stamp.read_text("ascii") == wanted:
        return
    uv = str(Path(sys.executable).with_name("uv"))
    command = [uv, "pip", "install", "-q", "--target", str(TARGET), "--require-hashes"]
    subprocess.run([*command, "--python", sys.executable, "-r", str(LOCK)], check=True)
    stamp.write_text(wanted, "ascii")


def installed_version() -> str:
    """Return which release programs find that are run on it."""
    install()
    code = "import redis; print(redis.__version__)"
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=_environment(), check=True, capture_output=True, text=True
    ).stdout.strip()


def run(*arguments: str) -> int:
    """Run these tests on it, or all, on one engine, and return pytest's exit status."""
    install()
    chosen = arguments or [
        *(f"tests/redisq/test_{name}.py" for name in ALL),
        "-k",
        "valkey or cluster",
    ]
    plain = ("xdist", "playwright", "schemathesis", "cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", *(f"-pno:{name}" for name in plain)]
    return subprocess.run([*command, *chosen], cwd=ROOT, env=_environment(), check=False).returncode


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(TARGET)}


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
