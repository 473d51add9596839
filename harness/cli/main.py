"""Where the ``harness`` command starts; imports as little as it can, so that Ctrl-C is quiet."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; never returns."""
    try:
        from harness.cli.app import app

        app(prog_name="harness")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
