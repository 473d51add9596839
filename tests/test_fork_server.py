"""Commands that are forked end as those that are started do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests import fork_server

WAITS = """
import pathlib, time
pathlib.Path("began").touch()
while not pathlib.Path("ends").exists():
    time.sleep(0.01)
raise SystemExit(3)
"""


def test_a_command_that_is_stopped_and_continued_has_its_own_status(tmp_path: Path) -> None:
    with fork_server.commands(tmp_path, WAITS) as command:
        process = subprocess.Popen(command, cwd=tmp_path)
        while not (tmp_path / "began").exists():
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        os.kill(process.pid, signal.SIGCONT)
        (tmp_path / "ends").touch()
        assert process.wait() == 3
