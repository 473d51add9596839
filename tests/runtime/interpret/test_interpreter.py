"""The interpreter pool: checks, launches, limits, and what survives a bad job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.backend import Compiler
from harness.errors import CheckFailed, HarnessError, OutOfMemory, WorkerDied
from harness.heuristics.facts import Config
from harness.runtime.interpret.interpreter import CheckJob, CheckResult
from harness.runtime.interpret.interpreting import Bounds, launch
from harness.runtime.interpret.shared import Parcel
from tests.checking import CheckingPool
from tests.runtime import emitted


@pytest.fixture(scope="module")
def pool() -> Iterator[CheckingPool]:
    with CheckingPool(2) as made:
        yield made


def test_right_kernels_pass_and_wrong_ones_fail(pool: CheckingPool) -> None:
    texts = (emitted.POINTWISE, emitted.ROW_SUM, emitted.WRONG)
    found = dict(pool.each([CheckJob(t, seed=3) for t in texts]))
    passed = [r.passed for _, r in sorted(found.items()) if isinstance(r, CheckResult)]
    assert passed == [True, True, False]


def test_a_given_configuration_is_used(pool: CheckingPool) -> None:
    config = Config((("XBLOCK", 64),), num_warps=4)
    assert pool.check(emitted.POINTWISE, config).passed
    with pytest.raises(CheckFailed, match="XBLOCK"):
        pool.check(emitted.POINTWISE, Config((("YBLOCK", 64),), num_warps=4))


def test_functions_are_combined_in_a_tree_and_in_order(pool: CheckingPool) -> None:
    """Nine calls for 512 elements, and the language is not patched anew for each."""
    assert pool.check(emitted.COMPOSED).passed


def test_bad_kernels_are_rows_of_their_own(pool: CheckingPool) -> None:
    texts = (emitted.BROKEN, emitted.CRASHING, emitted.POINTWISE, "x = 1", emitted.ROW_SUM)
    found = [a for _, a in sorted(pool.each([CheckJob(t) for t in texts]), key=lambda p: p[0])]
    kinds = [type(a).__name__ for a in found]
    assert kinds == ["CheckFailed", "WorkerDied", "CheckResult", "CompileFailed", "CheckResult"]
    assert "no_such_function" in str(found[0])
    assert "exit status 3" in str(found[1])


@pytest.mark.parametrize("made", ["torch.empty(1 << 50)", "np.empty(1 << 50)"])
def test_a_check_that_lacks_memory_says_nothing_of_the_kernel(
    pool: CheckingPool, made: str
) -> None:
    lacking = f"import numpy as np\n\n\ndef reference(args, wide=False, *_):\n    return [{made}]\n"
    with pytest.raises(OutOfMemory, match="could not be run"):
        pool.check(emitted.POINTWISE + lacking)


def test_a_hanging_kernel_is_stopped(pool: CheckingPool) -> None:
    with pytest.raises(WorkerDied, match="within 1 s"):
        pool.run(CheckJob(emitted.ENDLESS, seconds=1.0))
    assert pool.check(emitted.ROW_SUM).passed


def test_launch_writes_only_outputs_in_place(pool: CheckingPool) -> None:
    a, b = torch.randn(2000), torch.randn(4000)[1000:3000]
    out = torch.full((2000,), float("nan"))
    before = a.clone()
    pool.launch(emitted.POINTWISE, [a, b, out])
    torch.testing.assert_close(out, torch.tanh(a) + b, atol=1e-6, rtol=1e-6)
    assert torch.equal(a, before)


def test_a_launch_has_the_configuration_of_its_sizes() -> None:
    """Not that of the sizes that stand for unknown ones (4886254)."""
    taken: list[Any] = []
    module: Any = SimpleNamespace(
        at=lambda args, _: SimpleNamespace(configs=[args]),
        call=lambda _, config: taken.append(config),
        outputs=(),
    )
    context: Any = SimpleNamespace(once=lambda _: (Bounds(), lambda *_: module), cache=None)
    job: Any = SimpleNamespace(module_text="", config=None)
    job.package = SimpleNamespace(unpack=lambda: [3, 5])
    launch(context, job)
    assert taken == [[3, 5]]


def test_launch_keeps_aliasing(pool: CheckingPool) -> None:
    a = torch.randn(2000)
    expected = torch.tanh(a) + a
    pool.launch(emitted.POINTWISE, [a, a, a])
    torch.testing.assert_close(a, expected, atol=1e-6, rtol=1e-6)


def test_launch_refuses_other_devices(pool: CheckingPool) -> None:
    meta = torch.empty(2000, device="meta")
    with pytest.raises(HarnessError, match="host memory"):
        pool.launch(emitted.POINTWISE, [meta, meta, meta])


def test_arguments_are_gone_when_the_launch_is_even_if_somebody_holds_them() -> None:
    with Parcel([torch.ones(1 << 20), 3, torch.empty(0)]) as parcel:
        assert os.readlink(parcel.package.path).startswith("/memfd:"), "in no file system"
        held = parcel.package.unpack()
        held[0].mul_(2)
        memory = os.open(parcel.package.path, os.O_RDONLY)
        assert os.fstat(memory).st_blocks * 512 >= 4 << 20
    assert os.fstat(memory).st_blocks == 0  # not a page, though it is still open and mapped
    os.close(memory)
    assert held[1:2] == [3]


def test_what_was_handed_over_may_still_grow() -> None:
    x = torch.ones(4)
    with Parcel([x]) as parcel:
        parcel.fetch([0])
    assert x.resize_(9).numel() == 9 and x[:4].eq(1).all()


def test_a_tensor_of_nothing_has_an_address_of_its_own() -> None:
    """Triton's interpreter tells storages by their addresses."""
    with Parcel([torch.zeros(0), torch.ones(2)]) as parcel:
        found = parcel.package.unpack()
        assert len({one.untyped_storage().data_ptr() for one in found}) == 2


def test_only_what_was_written_comes_back() -> None:
    a, b = torch.zeros(8), torch.zeros(4, 4, dtype=torch.bfloat16).t()
    with Parcel([a, b]) as parcel:
        for tensor in parcel.package.unpack():
            tensor.fill_(1)
        parcel.fetch([1])
    assert a.sum() == 0 and b.float().sum() == 16


def test_views_of_one_memory_as_several_types_are_handed_over() -> None:
    memory = torch.arange(64, dtype=torch.uint8)
    wide, narrow = memory.view(torch.int32)[2:8], memory.view(torch.float8_e5m2)[8:32]
    with Parcel([wide, narrow, 3]) as parcel:
        there = parcel.package.unpack()
        assert torch.equal(there[0], wide) and there[1].dtype is narrow.dtype
        assert there[1].stride() == (1,) and there[1].storage_offset() == 8
        there[0].fill_(0)
        assert not there[1].view(torch.uint8).any()
        parcel.fetch([0])
    assert torch.equal(memory.nonzero().flatten()[:7], torch.arange(1, 8))
    assert not memory[8:32].any() and memory[32:].all()


def test_a_large_tensor_needs_no_room_in_the_shared_file_system(pool: CheckingPool) -> None:
    a, b = torch.randn(2000), torch.randn(40 << 20)[:2000]  # Docker gives /dev/shm 64 MB
    for _ in range(4):
        out = torch.empty(2000)
        pool.launch(emitted.POINTWISE, [a, b, out])
    torch.testing.assert_close(out, torch.tanh(a) + b, atol=1e-6, rtol=1e-6)


def test_parent_environment_is_untouched(pool: CheckingPool) -> None:
    pool.check(emitted.ROW_SUM)
    assert os.environ.get("TRITON_INTERPRET") is None


def test_a_closed_pool_says_so() -> None:
    pool = CheckingPool(1)
    pool.close()
    with pytest.raises(HarnessError, match="closed"):
        pool.check(emitted.POINTWISE)


def test_a_number_is_an_argument_like_any_tensor(compiler: Compiler) -> None:
    """Autograd keeps a factor as a tensor of a number, for which ATen's calls get the number
    itself while anyone looks at them, as AOTAutograd does at a graph's first call."""
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend=compiler)):
        x = torch.ones(3, requires_grad=True)
        (x * 3).exp().sum().backward()
    torch.testing.assert_close(x.grad, 3 * (3 * x).exp())
    assert compiler.reports and not any(report.eager for report in compiler.reports)
