"""Bundle the subjects for a browser and serve them, cross-origin isolated."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
PEERS = Path(__file__).parent
SUBJECTS = {
    "ours": "page/pool.js",
    "workerpool": "workerpool",
    "comlink": "comlink",
    "threads": "threads",
    "floor": "bare worker",
}
"""Every subject's file in this folder, and what a table calls it."""

PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pool</title></html>'
# workerpool asks for these only where it runs in Node.
NODE_ONLY = ("child_process", "os", "worker_threads")
# Three workers that never get ready. esbuild would refuse the first, so they go round it.
BROKEN = {
    "syntax.js": "const = 1;",
    "throws.js": 'throw new Error("boom at load");',
    "silent.js": "onmessage = () => {};",
}


def versions() -> dict[str, str]:
    """Give the version of each peer that is installed."""
    locked = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    return {
        name: locked[f"node_modules/{name}"]["version"]
        for name in ("workerpool", "comlink", "threads")
    }


def bundle(target: Path) -> None:
    """Leave every page and worker script in `target`, each with what it imports.

    Raises CalledProcessError if one of them does not bundle.
    """
    entries = [
        path
        for pattern in ("*.js", "workers/*.js")
        for path in sorted(PEERS.glob(pattern))
        if path.name not in {"subject.js", "outcome.js", "spawned.js", "tasks.js", "leak.js"}
    ]
    command = [sys.executable, str(ROOT / "scripts" / "npm_program.py"), "esbuild"]
    command += ["--bundle", "--format=esm", "--target=esnext", "--log-level=warning"]
    command += [f"--external:{name}" for name in NODE_ONLY]
    command += [f"--outbase={PEERS}", f"--outdir={target}", *map(str, entries)]
    subprocess.run(command, check=True, cwd=ROOT)
    (target / "index.html").write_text(PAGE, "utf-8")
    for name, text in BROKEN.items():
        (target / "workers" / name).write_text(text, "utf-8")


@contextmanager
def served() -> Iterator[str]:
    """Bundle and serve for as long as needed; give the address, which ends in a slash."""
    with tempfile.TemporaryDirectory(prefix="pool-peers-") as name:
        bundle(Path(name))
        command = [sys.executable, str(ROOT / "scripts" / "static_server.py"), f"/={name}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                yield (server.stdout.readline() if server.stdout else "").strip()
            finally:
                server.terminate()
