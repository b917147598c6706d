"""Who is measured, and where his packages come from."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.outbox_peers import subject

HERE = Path(__file__).parent
CACHE = subject.ROOT / ".cache"
VENVS = {"requirements": CACHE / "redisq-peers", "requirements-arq": CACHE / "redisq-peers-arq"}
"""Where each lock file is installed: arq wants an older redis-py than the others."""


@dataclass(frozen=True)
class Kind(subject.Kind):
    """A queue; `left` is a Lua script that counts what is not done yet."""

    lock: str = ""
    """The lock file of its packages; none for what runs in this project's own environment."""

    def command(self) -> list[str]:
        """How its program is started, without its argument."""
        if self.program.endswith(".js"):
            return ["node", str(HERE / self.program)]
        python = str(VENVS[self.lock] / "bin" / "python") if self.lock else sys.executable
        return [python, "-m", f"bench.redisq_peers.{self.program}"]


def _sum(**lengths: str) -> str:
    """A script that adds up the lengths of keys, each by its command."""
    terms = [f"redis.call('{command}', '{key}')" for command, key in lengths.items()]
    return f"return {' + '.join(terms)}"


OURS = Kind(
    "ours",
    "return redis.call('ZCARD', 'jq:{nothing}:ready') + redis.call('ZCARD', 'jq:{nothing}:active')"
    " + redis.call('ZCARD', 'jq:{nothing}:scheduled')",
)
FLOOR_SCRIPT = Kind("floor", _sum(LLEN="bare:waiting", ZCARD="bare:held"))
FLOOR_PIPELINE = Kind(
    "floor", "return redis.call('LLEN', 'bare:waiting') + redis.call('LLEN', 'bare:held')"
)
ARQ = Kind("arq_peer", _sum(ZCARD="arq:queue"), "requirements-arq")
SAQ = Kind("saq_peer", _sum(ZCARD="saq:nothing:incomplete"), "requirements")
STREAQ = Kind("streaq_peer", _sum(XLEN="streaq:default:queues:normal"), "requirements")
RQ = Kind("rq_peer", _sum(LLEN="rq:queue:nothing", ZCARD="rq:wip:nothing"), "requirements")
TASKIQ = Kind(
    "taskiq_peer",
    "local group = redis.call('XINFO', 'GROUPS', 'nothing')[1]"
    " local found = {} for i = 1, #group, 2 do found[group[i]] = group[i + 1] end"
    " return found.pending + found.lag",
    "requirements",
)
BULLMQ_LEFT = (
    "return redis.call('LLEN', 'bull:nothing:wait') + redis.call('LLEN', 'bull:nothing:active')"
)
BULLMQ_PYTHON = Kind("bullmq_peer", BULLMQ_LEFT, "requirements")
BULLMQ_NODE = Kind("bullmq.js", BULLMQ_LEFT)


def install_peers() -> None:
    """Puts the peers' packages where their programs find them, unless they are there already."""
    uv = str(Path(sys.executable).with_name("uv"))
    for name, venv in VENVS.items():
        lock = HERE / f"{name}.lock"
        wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
        stamp = venv / "installed"
        if stamp.exists() and stamp.read_text() == wanted:
            continue
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, venv], check=True)
        target = ["--python", str(venv / "bin" / "python")]
        command = [uv, "pip", "install", "-q", *target, "--require-hashes", "-r", str(lock)]
        subprocess.run(command, check=True)
        stamp.write_text(wanted)
    modules = HERE / "node_modules" / ".package-lock.json"
    npm_lock = HERE / "package-lock.json"
    if not modules.exists() or modules.stat().st_mtime < npm_lock.stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=HERE, check=True)  # noqa: S607
        modules.touch()
