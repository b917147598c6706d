"""Prepare a clone for `make run`, `make check` or `make test`, and say what each step did.

Needs nothing but Python 3.11 or later and its standard library. Every step looks first whether
its result is there already, so a second run takes seconds and needs no network.

    python3 scripts/setup.py --for run     what the server and the site need
    python3 scripts/setup.py --for check   and the checkers
    python3 scripts/setup.py --for test    and a browser and a pooler

This file itself runs on Python 3.6 too, so that it can say which one is needed.
"""

import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)


def newer_python() -> str:
    """Return the path of a Python that is new enough; an empty text if there is none."""
    for minor in range(14, OLDEST[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        # A version manager's shim may stand on PATH for a Python that is switched off.
        if path and subprocess.call([path, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            return path
    return ""


def main() -> int:
    """Run the steps under a Python that is new enough; return the exit status."""
    if sys.version_info < OLDEST:
        path = newer_python()
        if not path:
            sys.stderr.write(
                f"Python 3.11 or later is needed; {sys.executable} is {sys.version.split()[0]}.\n"
                "Install one (Debian: apt install python3 python3-venv) or name it: "
                "make PYTHON=/path/to/python3.12\n"
            )
            return 1
        os.execv(path, [path, *sys.argv])  # noqa: S606 (no shell is wanted)
    # Only now: these modules can't be read by an older Python.
    from steps.plan import run_from_command_line  # noqa: PLC0415

    return run_from_command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
