"""The command `workers`, and `python -m server`."""

from __future__ import annotations

import signal


def main() -> None:
    """Runs the command line. Ctrl-C while it is still being loaded ends it without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from server.cli import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    app(prog_name="workers")


if __name__ == "__main__":
    main()
