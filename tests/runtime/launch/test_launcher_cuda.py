"""Launching on a device: results, streams, alignment, what does not fit, a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from harness.errors import CompileFailed, NoDevice
from harness.runtime.launch.driver import cuda
from harness.runtime.launch.launcher import Launcher, LoadedBinaries, launching
from harness.runtime.module import load
from tests.runtime import emitted

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture
def launcher(tmp_path: Path) -> Launcher:
    from harness.runtime.device import current_target

    loaded = load(emitted.POINTWISE, tmp_path / "modules")
    return Launcher(loaded, loaded.configs[0], current_target(), tmp_path)


def expected(args: list[torch.Tensor]) -> torch.Tensor:
    return torch.tanh(args[0]) + args[1]


def test_results_on_the_current_stream(launcher: Launcher) -> None:
    args = launcher.loaded.get_args("cuda")
    launcher(args)
    torch.testing.assert_close(args[2], expected(args))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        args[0].fill_(0.5)
        launcher(args)
    side.synchronize()
    torch.testing.assert_close(args[2], expected(args))


def test_misaligned_arguments(launcher: Launcher) -> None:
    base = torch.randn(3, 2032, device="cuda")
    for shifts in ((0, 0, 0), (1, 0, 0), (1, 2, 3)):
        args = [row[shift : shift + 2000] for row, shift in zip(base, shifts, strict=True)]
        launcher(args)
        torch.testing.assert_close(args[2], expected(args))


def test_a_launch_that_does_not_fit_is_an_error(launcher: Launcher) -> None:
    owner, kernel = LoadedBinaries(cuda()), launching()(print, print, _raise)
    loaded = owner.load(launcher.binary(), 0)
    for grid, threads in (((1, 70000, 1), 128), ((1, 1, 1), 2048)):
        kernel.bind(
            function=loaded.function,
            launch=cuda().address(False),
            grid=grid,
            threads=threads,
            shared=0,
            kinds=b"AAA",
            cooperative=False,
        )
        with pytest.raises(CompileFailed, match="does not fit"):
            kernel(0, *launcher.loaded.get_args("cuda"))
    torch.cuda.synchronize()


def _raise(code: int, tries: int) -> None:
    cuda().recover(code, tries, "k", 0)


def test_registers_as_the_disassembler_counts_them(launcher: Launcher) -> None:
    from tests.runtime.measured import metrics

    found = metrics(emitted.POINTWISE, launcher.target)
    assert launcher.resources().registers == found.registers
    assert launcher.resources().spills == 0


def test_a_thread_without_a_context(launcher: Launcher) -> None:
    import threading

    args = launcher.loaded.get_args("cuda")
    stream = torch.cuda.current_stream().cuda_stream
    launcher.launch(0, stream, *args)
    args[2].zero_()
    torch.cuda.synchronize()
    thread = threading.Thread(target=launcher.launch, args=(0, stream, *args))
    thread.start()
    thread.join()
    torch.testing.assert_close(args[2], expected(args))


FRESH = """
import sys
from pathlib import Path
import torch
from harness.runtime.compile.binary import KernelBinary
from harness.runtime.launch.driver import cuda
from harness.runtime.launch.launcher import LoadedBinaries, launching
path = Path(sys.argv[1])
owner, kernel = LoadedBinaries(cuda()), launching(path.parent)(print, print, print)
owner.bind(kernel, KernelBinary.from_bytes(path.read_bytes()), 0)
a, b = torch.randn(2, 2000, device="cuda")
out = torch.empty(2000, device="cuda")
kernel(torch.cuda.current_stream().cuda_stream, a, b, out)
torch.testing.assert_close(out, torch.tanh(a) + b)
assert not any(Path(sys.argv[2]).iterdir()), "Triton compiled something"
"""


def test_a_saved_binary_in_a_fresh_process(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "tanh.kernel").write_bytes(launcher.binary().to_bytes())
    root = Path(__file__).parents[3]
    empty = tmp_path / "triton-of-the-fresh-process"
    empty.mkdir()
    command = [sys.executable, "-c", FRESH, str(tmp_path / "tanh.kernel"), str(empty)]
    environment = {**os.environ, "TRITON_CACHE_DIR": str(empty)}
    subprocess.run(command, cwd=root, env=environment, check=True, timeout=120)


def test_a_binary_of_another_device_is_refused(launcher: Launcher, tmp_path: Path) -> None:
    from harness.target import A100, B200

    other = B200 if launcher.target.capability < 100 else A100
    foreign = Launcher(launcher.loaded, launcher.config, other, tmp_path).binary()
    with pytest.raises(CompileFailed, match="cannot run a binary"):
        LoadedBinaries(cuda()).load(foreign, 0)


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(NoDevice):
        cuda().ensure_context(99) if cuda().capability(99) else None
