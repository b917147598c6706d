"""Build the static site into `site/`: `.venv/bin/python scripts/build_site.py [--base /path/]`."""

from __future__ import annotations

import argparse
import sys

from sitebuild.build import build
from sitebuild.failure import BuildError
from steps.place import HERE


def main() -> int:
    """Build, and return the exit status. Each line says what was done, or why it could not be."""
    parser = argparse.ArgumentParser(description="Build the static site into site/.")
    parser.add_argument(
        "--base",
        default="/",
        help="path at which the site will be served; only 404.html needs to know it (default: /)",
    )
    base: str = parser.parse_args().base
    try:
        build(HERE, base=base, say=lambda words: print(f"site: {words}", flush=True))
    except BuildError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
