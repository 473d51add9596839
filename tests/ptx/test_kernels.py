"""Kernels of each kind as a GPU carries them out: their PTX on the machine, against float64.

``python -m tests.ptx`` does this to random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch

from harness.backend import Compiler
from harness.conformance.compare import differences
from harness.heuristics.facts import Config
from harness.runtime.module import LoadedModule
from harness.target import H100
from tests.codegen.graphs import GRAPHS
from tests.codegen.kernels import modules
from tests.codegen.test_aligned_rows import _DTYPES, _SHARES, looped
from tests.codegen.test_aligned_rows import graph as rows
from tests.codegen.test_scans import PREFIX
from tests.codegen.test_shared_rows import _SOFTMAX, shared
from tests.ptx.__main__ import KINDS
from tests.ptx.launching import OnMachine, on_machine
from tests.ptx.programs import PROGRAMS, tensor


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnMachine]:
    yield on_machine(tmp_path_factory.mktemp("ptx"))


def checked(devices: OnMachine, text: str, config: Config | None = None) -> LoadedModule:
    """A module whose check passes, warp after warp and in another order."""
    for seed, order in enumerate((None, random.Random(1))):
        devices.machine.order = order
        found = devices.machine.check(text, config, seed)
        assert found["passed"], found
    return devices.machine.loaded(text)


def wrong(
    devices: OnMachine, name: str, shapes: Sequence[Sequence[int]], lying: int = 0
) -> list[str]:
    """What a function of ``PROGRAMS`` gives for tensors, compiled once for all sizes."""
    rng, devices.machine.order = random.Random(name), None
    calls = [[tensor(rng, shape, torch.float32, lying)] for shape in shapes]
    compiler = Compiler(H100, devices, fail_on_fallback=True)
    return differences(PROGRAMS[name], calls[0], compiler, dynamic=True, then=calls[1:])


@pytest.mark.parametrize("looped", [False, True])
def test_kernels_of_the_graphs_of_the_interpreters_tests(devices: OnMachine, looped: bool) -> None:
    """Pointwise kernels, reductions in a block and in a loop, scatters."""
    kinds = set()
    for graph in GRAPHS[1:]:
        for module in modules(graph, looped):
            kinds.add(checked(devices, module.text).category)
    assert kinds == {"poi", "red" if looped else "per"}


def test_scans_in_a_block(devices: OnMachine) -> None:
    for module in modules(PREFIX):
        checked(devices, module.text)


def test_rows_that_programs_share(devices: OnMachine) -> None:
    """They wait for each other in turns."""
    text = shared(_SOFTMAX, 3, 70000, "bf16").text
    config = devices.machine.loaded(text).configs[0]
    assert config.block("RSPLIT") > 1
    checked(devices, text, config)


def test_sums_of_columns_of_any_number_of_rows(devices: OnMachine) -> None:
    """Chunks that begin behind the last row: turns of unrolled loops are counted without a sign,
    and the interpreter counts with one."""
    shapes = [(300, 70), (2100, 64), (3, 5), (1025, 65)]
    assert wrong(devices, "sums of columns", shapes) == []


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("variances of columns", [(300, 70), (2100, 33), (5, 1000)]),
        ("softmax of rows", [(40, 257), (3, 8193), (1025, 2)]),
        ("running sum of all", [(30, 70), (129, 1025)]),
        ("sorted", [(30, 70), (3, 513)]),
        ("apart", [(30, 70), (129, 257)]),
        ("joined", [(30, 70), (129, 255)]),
    ],
)
def test_functions_of_any_size(
    devices: OnMachine, name: str, shapes: list[tuple[int, int]]
) -> None:
    """Sums in a loop, a look-back, a library's sort, several kernels in one launch, a cat."""
    assert wrong(devices, name, shapes) == []


@pytest.mark.parametrize("name", ["sums of ends", "variances of ends"])
def test_reductions_of_first_and_last_dimensions_of_any_size(devices: OnMachine, name: str) -> None:
    """In a block, of short pieces of rows that programs share, and of long ones."""
    assert wrong(devices, name, [(30, 7, 3), (4100, 9, 2), (250, 2, 33)]) == []


@pytest.mark.parametrize("name", ["several", "strided"])
def test_several_kernels_of_any_size(devices: OnMachine, name: str) -> None:
    """Kernels of unlike sizes in one launch, views with gaps."""
    assert wrong(devices, name, [(30, 70), (5, 1025)]) == []


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_what_a_rows_last_vector_holds_besides_it_is_not_used(
    devices: OnMachine, dtype: str
) -> None:
    """The last row's lies behind the tensor, where the machine has NaN."""
    devices.machine.order = None
    module = looped(rows(_SHARES, 3, 4101, dtype))
    x = torch.rand(3, 4101).to(getattr(torch, _DTYPES[dtype]))
    made = torch.full_like(x, 77.0)
    devices.machine.launch(module.text, [x, made])
    wanted = x.double() / x.double().sum(1, keepdim=True)
    torch.testing.assert_close(made, wanted.to(x.dtype))


def test_places_behind_two_to_the_31(devices: OnMachine) -> None:
    """Strides that only a launch knows, times indices of 32 bits."""
    devices.machine.order = None
    made = torch.empty(9 << 28, dtype=torch.int8)  # nearly none of its pages are ever touched

    def function(x: torch.Tensor) -> Any:
        return x.sum(1), x.t().contiguous() + 1, x.cumsum(0)

    for dynamic in (False, True):
        torch.compiler.reset()
        compiler = Compiler(H100, devices, fail_on_fallback=True)
        compiled = torch.compile(function, backend=compiler, dynamic=dynamic)
        for shape, strides in (
            ((20, 64), (70, 1)),
            ((9, 63), (1 << 28, 1)),
            ((3, 5), (1, 1 << 29)),
        ):
            x = made.as_strided(shape, strides)
            x.copy_(torch.randint(-9, 9, shape, dtype=torch.int8))
            for found, one in zip(compiled(x), function(x), strict=True):
                assert torch.equal(found, one), (dynamic, shape)


def test_small_graphs(devices: OnMachine) -> None:
    """Kernels of a pattern of the corpus, as ``python -m tests.ptx`` draws it."""
    devices.machine.order, before = None, len(devices.machine.launches)
    assert KINDS["patterns"](1, devices) == []
    assert len(devices.machine.launches) > before


def test_tensors_at_odd_addresses(devices: OnMachine) -> None:
    """Vectors of what is not aligned would be a fault."""
    assert wrong(devices, "norms", [(30, 72), (17, 1024)], lying=1) == []
