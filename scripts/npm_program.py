"""Run a program of node_modules with the Node that set-up chose: `npm_program.py tsc --version`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from steps.node import find_node
from steps.place import HERE


def main() -> NoReturn:
    """Become the program that the first argument names; exit with 2 if that can't be done."""
    name, *arguments = sys.argv[1:]
    link = HERE.node_modules / ".bin" / name
    node = find_node(HERE)
    if node is None or not link.exists():
        print(f"{name} is not there; run scripts/setup.py --for check first", file=sys.stderr)
        sys.exit(2)
    os.environ["PATH"] = node.path
    os.execv(link, [str(link), *arguments])  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    main()
