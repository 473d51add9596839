"""Which machine and which software a run was made with.

Read from the operating system, the driver's own tool and package metadata, so
that neither torch nor triton is imported for it.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.bench.record import Machine

_QUERY = "name,uuid,driver_version,clocks.sm,clocks.mem"
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit of a checkout; empty where there is none."""

    name: str = ""
    dirty: bool = False


def machine() -> Machine:
    """This machine, its first GPU included if there is one."""
    cpu = cpu_name()
    host = Machine(
        key=slug(f"cpu {cpu}"),
        cpu=cpu,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        torch=package_version("torch"),
        triton=package_version("triton"),
    )
    gpu = _gpu_facts()
    return host if gpu is None else _with_gpu(host, gpu)


def _with_gpu(host: Machine, facts: list[str]) -> Machine:
    name, uuid, driver, sm_clock, memory_clock = facts
    return replace(
        host,
        key=slug(f"{name} {driver}"),
        gpu=name,
        gpu_uuid=uuid,
        driver=driver,
        sm_clock_mhz=_megahertz(sm_clock),
        memory_clock_mhz=_megahertz(memory_clock),
    )


def _gpu_facts() -> list[str] | None:
    """The answers to ``_QUERY`` for the first GPU, or None without a driver or a GPU."""
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    facts = [part.strip() for part in done.stdout.strip().split(",")]
    return facts if done.returncode == 0 and len(facts) == _QUERY.count(",") + 1 else None


def _megahertz(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def cpu_name() -> str:
    """The processor's name; its architecture where the system does not say."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def package_version(name: str) -> str:
    """The installed version of ``name``, empty if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def slug(text: str) -> str:
    """``text`` as a folder name: small letters, digits, dots and dashes."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


def commit(folder: Path) -> Commit:
    """The commit checked out in ``folder``, and whether tracked files differ from it."""
    name = _git(folder, "rev-parse", "HEAD")
    if not name:
        return Commit()
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return Commit(name, bool(changed))


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
