"""Which machine this is: what a number must be kept with to mean anything later. Everything is
read, nothing is set. What cannot be found out is empty or ``None``. The one place that opens the
driver's management library (NVML)."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from harness.devices.job import Closing
from harness.errors import UsageError
from harness.files import slug
from harness.records import git
from harness.records.run import Machine
from harness.records.timing import Launch


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit a run was made from; empty outside a repository."""

    name: str = ""
    dirty: bool = False


def fingerprint(under_load: Launch | None = None, number: int | None = None) -> Machine:
    """Describe this machine, with the CUDA device of this ``number`` (None: the current one).
    ``under_load`` enqueues work on the GPU, during which clocks are read."""
    import torch

    gpu, cpu = find_gpu(under_load, number), cpu_name()
    return replace(
        gpu or Machine(""),
        key=gpu.key if gpu else slug(cpu or platform.machine()),
        cpu=cpu,
        cores=os.cpu_count(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        system=platform.platform(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        triton=next((found.version for found in distributions(name="triton")), ""),
        cuda=torch.version.cuda,
    )


def find_gpu(under_load: Launch | None = None, number: int | None = None) -> Machine | None:
    """A CUDA device as the GPU of a machine, of which nothing else is said; None without one.
    Clocks are those of the moment. Without nvidia-ml-py only its name and UUID are known."""
    import torch

    if not torch.cuda.is_available():
        return None
    board = torch.cuda.get_device_properties(number)
    known = Machine(
        "",
        gpu=str(board.name),
        gpu_uuid=current_uuid(number),
        multiprocessors=board.multi_processor_count,
        l2_bytes=getattr(board, "L2_cache_size", None),
    )
    if (found := open_device(known.gpu_uuid)) is not None:
        with found as device:
            if under_load is not None:
                under_load()
            known = replace(
                known,
                gpu_uuid=device.ask("nvmlDeviceGetUUID") or known.gpu_uuid,
                driver=device.driver(),
                sm_clock_mhz=device.ask("nvmlDeviceGetClockInfo", device.nvml.NVML_CLOCK_SM),
                memory_clock_mhz=device.ask("nvmlDeviceGetClockInfo", device.nvml.NVML_CLOCK_MEM),
            )
    return replace(known, key=slug(str(board.name), known.driver or ""))


def current_uuid(number: int | None = None) -> str | None:
    """A CUDA device, the current one if None, as the driver's management library names it."""
    import torch

    uuid = getattr(torch.cuda.get_device_properties(number), "uuid", None)
    return None if uuid is None else f"GPU-{uuid}"


def cpu_name() -> str:
    """The processor's model name."""
    found = None
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor()


def given_commit(text: str) -> Commit:
    """The commit that a user names: ``SHA``, or ``SHA-dirty`` as ``git describe --dirty`` has it
    for a tree that differs. Raises ``UsageError`` for what is no commit's name."""
    found = re.fullmatch(r"([0-9a-fA-F]{7,64})(-dirty)?", text)
    if found is None:
        raise UsageError(
            "this does not name a commit",
            where="--commit or HARNESS_COMMIT",
            got=repr(text),
            expected="7 to 64 hexadecimal digits, -dirty after them if the tree differs",
            remedy='git describe --always --abbrev=40 --dirty --match ""',
        )
    return Commit(found.group(1).lower(), found.group(2) is not None)


def commit_of(folder: Path, given: str = "") -> Commit:
    """The commit checked out in ``folder`` and whether the tree differs from it; what is ``given``
    instead, if anything is. Files that git does not track count as a difference only inside the
    package, where they would be imported. Raises ``UsageError`` as ``given_commit`` does."""
    if given:
        return given_commit(given)
    name, _ = git.ask(folder, "rev-parse", "HEAD")
    if not name:
        return Commit()
    changed, _ = git.ask(folder, "status", "--porcelain", "--untracked-files=no")
    untracked, _ = git.ask(folder, "status", "--porcelain", "--", "harness")
    return Commit(name.strip(), bool(changed or untracked))


@dataclass(frozen=True, eq=False, slots=True)
class NvmlDevice(Closing):
    """A GPU as ``nvml`` (the module ``pynvml``) knows it; closing it lets the library go."""

    nvml: Any
    handle: Any

    def ask(self, function: str, *arguments: Any) -> Any:
        """What the library's ``function`` says of the GPU; None where it says nothing."""
        try:
            return getattr(self.nvml, function)(self.handle, *arguments)
        except (AttributeError, self.nvml.NVMLError):
            return None

    def close(self) -> None:
        """Ask no more."""
        self.nvml.nvmlShutdown()

    def driver(self) -> str | None:
        """The driver's version; None where it is not said."""
        try:
            return str(self.nvml.nvmlSystemGetDriverVersion())
        except self.nvml.NVMLError:
            return None


def open_device(uuid: str | None, nvml: Any = None) -> NvmlDevice | None:
    """The GPU with this UUID (``GPU-…``), else the first one: the library counts GPUs that torch
    may not see. None where there is no library, driver or GPU. ``nvml`` stands for ``pynvml``."""
    if nvml is None:
        try:
            import pynvml
        except ImportError:
            return None
        nvml = pynvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    with contextlib.suppress(nvml.NVMLError):
        if uuid is not None:
            return NvmlDevice(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid.encode()))
    with contextlib.suppress(nvml.NVMLError):
        return NvmlDevice(nvml, nvml.nvmlDeviceGetHandleByIndex(0))
    nvml.nvmlShutdown()
    return None
