"""Where the ``harness`` command starts; imports as little as it can, so that Ctrl-C is quiet."""

from __future__ import annotations

import gc
import io
import sys


def main() -> None:
    """Run the command line; never returns. Where a terminal's encoding lacks a character (×, µ,
    a byte of a file's name) it shows a question mark."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    gc.set_threshold(100_000)  # what is read is kept: half of reading went into looking at it
    try:
        from harness.cli.app import app

        app(prog_name="harness")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
