"""Who is measured, and how a program of his is started and spoken with."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VENV = ROOT / ".cache" / "outbox-peers"
LOCK = HERE / "requirements.lock"
PATIENCE_S = 300.0


@dataclass(frozen=True)
class Kind:
    """A queue: the program that speaks for it, and the question whether anything is left in it.

    `needs_peers`: it runs where the peers' packages are.
    """

    program: str
    left: str
    needs_peers: bool = True

    def command(self) -> list[str]:
        """How its program is started, without its argument."""
        if self.program.endswith(".js"):
            return ["node", str(HERE / self.program)]
        python = str(VENV / "bin" / "python") if self.needs_peers else sys.executable
        return [python, "-m", f"bench.outbox_peers.{self.program}"]


OURS = Kind(
    "ours",
    "case when exists (select from notifications.notification_deliveries"
    " where status = 'pending') then true"
    " else exists (select from notifications.notification_deliveries"
    " where status = 'processing') end",
    needs_peers=False,
)
FLOOR = Kind(
    "floor",
    "case when exists (select from bare where state = 0) then true"
    " else exists (select from bare where state <> 2) end",
    needs_peers=False,
)
FLOOR_BESIDE_PEERS = replace(FLOOR, needs_peers=True)
"""The same where asyncpg is."""

PGQUEUER = Kind("pgqueuer_peer", "exists (select from pgqueuer)")
PROCRASTINATE = Kind(
    "procrastinate_peer",
    "exists (select from procrastinate_jobs where status in ('todo', 'doing'))",
)
GRAPHILE = Kind("graphile.js", "exists (select from graphile_worker._private_jobs)")
PGBOSS = Kind("pgboss.js", "exists (select from pgboss.job where state < 'completed')")


@dataclass(frozen=True)
class Subject:
    """A queue with its settings. `share` is how much of the jobs a slow one gets."""

    name: str
    kind: Kind
    batch: int
    options: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0


def install_peers() -> None:
    """Puts the peers' packages where their programs find them, unless they are there already."""
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    stamp = VENV / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, VENV], check=True)
        target = ["--python", str(VENV / "bin" / "python")]
        command = [uv, "pip", "install", "-q", *target, "--require-hashes", "-r", str(LOCK)]
        subprocess.run(command, check=True)
        stamp.write_text(wanted)
    modules = HERE / "node_modules" / ".package-lock.json"
    lock = HERE / "package-lock.json"
    if not modules.exists() or modules.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=HERE, check=True)  # noqa: S607
        modules.touch()


class Program:
    """One program of a subject at work."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.seen = psutil.Process(process.pid)

    @classmethod
    async def start(cls, subject: Subject, conninfo: str, act: str, **fields: Any) -> Program:
        """Starts the program of a subject for one act."""
        wanted = {"act": act, "conninfo": conninfo, "batch": subject.batch}
        argument = json.dumps(wanted | subject.options | fields)
        process = await asyncio.create_subprocess_exec(
            *subject.kind.command(),
            argument,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL if act == "work" else None,
            cwd=ROOT,
            limit=1 << 26,
        )
        return cls(process)

    async def ready(self) -> None:
        """Returns when a worker could take a job."""
        if await self._line() != b"ready":
            raise RuntimeError("a worker did not get ready")

    def go(self) -> None:
        """Lets a worker begin."""
        if self._process.stdin is not None:
            self._process.stdin.write(b"go\n")

    async def end(self) -> dict[str, Any]:
        """Lets a worker end, or waits for another act's end; returns what it answered."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        line = await self._line()
        async with asyncio.timeout(PATIENCE_S):
            code = await self._process.wait()
        if code:
            raise RuntimeError(f"{self._process.pid} ended with {code}")
        answer: dict[str, Any] = json.loads(line or b"{}")
        return answer

    def kill(self) -> None:
        """Ends it without asking, if it has not ended."""
        if self._process.returncode is None:
            self._process.kill()

    async def _line(self) -> bytes:
        if self._process.stdout is None:
            return b""
        async with asyncio.timeout(PATIENCE_S):
            return (await self._process.stdout.readline()).strip()
