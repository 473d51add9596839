"""From a declaration in a file to emitted modules that check themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.codegen.source import EmittedModule
from harness.errors import UnknownName, UsageError
from harness.handwritten.kernels import load_kernels
from harness.handwritten.source import cut
from harness.options import from_environment
from harness.records.run import Check
from harness.runtime import module as modules
from harness.runtime.interpret.interpreter import CheckResult, InterpreterPool
from harness.session.entries import UserEntry, find_entries, is_user_file
from harness.target import H100
from tests.handwritten.files import HEAD, OUTSIDE, SCALE, write
from tests.runtime.measured import metrics

EXAMPLE = Path(__file__).parents[2] / "suites" / "kernels" / "llm_kernels.py"


def emitted(path: Path, small: bool = False) -> list[EmittedModule]:
    found, failures = UserEntry(path).modules(small)
    assert failures == []
    return found


Checker = Callable[[EmittedModule], CheckResult]


@pytest.fixture
def check(interpreter: InterpreterPool) -> Checker:
    """Runs a module's check in the interpreter."""
    return lambda module: interpreter.check(module.text)


def failure(folder: Path, text: str) -> str:
    """The reason in the row of the one kernel that ``text`` declares."""
    found, (row,) = UserEntry(write(folder, text)).modules()
    assert found == []
    return row.reason


def test_a_module_holds_what_the_kernel_needs_and_nothing_else(tmp_path: Path) -> None:
    (module,) = emitted(write(tmp_path, SCALE))
    assert (module.name, module.category, module.origins) == ("scale", "user", ("scale",))
    assert module.bytes_moved == 800_000, "each argument once"
    assert "def twice" in module.text
    assert "FACTOR" in module.text
    assert "UNUSED" not in module.text
    assert "harness" not in module.text
    loaded = modules.load(module.text, tmp_path)
    assert [modules.config_dict(c) for c in loaded.configs] == [
        {"BLOCK": 64, "num_warps": 2, "num_stages": 3},
        {"BLOCK": 128, "num_warps": 4, "num_stages": 2},
    ]
    assert loaded.grid(loaded.configs[0]) == (1563, 1, 1)
    assert loaded.signature == {"x": "*fp32", "out": "*fp32", "n": "i32"}
    assert loaded.divisible_by_16 == ("x", "out", "n"), "100 000 is a multiple of 16"
    assert loaded.outputs == (1,)


def test_names_are_found_where_python_binds_them() -> None:
    """In a block of the top level, too; what runs through a list is no name of the file."""
    text = """
import triton
from harness import kernel
if True:
    from math import tau
SIZES = [size for size in (1, 2)]
@kernel(args=make, outputs=["x"])
@triton.jit
def scale(x, size):
    return x * tau * size
"""
    (found,) = cut(text, "file.py").values()
    assert "from math import tau" in found.device
    assert "SIZES" not in found.device


def test_declared_operations_are_held_against_the_right_units(tmp_path: Path) -> None:
    declared = SCALE.replace('outputs=["out"],', 'outputs=["out"], flops=lambda n: 3 * n,')
    dot = declared.replace("twice(tl", "twice(0 * tl.sum(tl.dot(0, 0)) + tl")
    wanted = {SCALE: (0, False), declared: (300_000, False), dot: (300_000, True)}
    for number, (text, (flops, tensor)) in enumerate(wanted.items()):
        (tmp_path / str(number)).mkdir()
        (module,) = emitted(write(tmp_path / str(number), text))
        loaded = modules.load(module.text, tmp_path)
        assert (loaded.flops, loaded.tensor) == (flops, tensor)
    assert "flops asks for what there is not; rows" in failure(
        tmp_path, declared.replace("lambda n: 3 * n", "lambda rows: 3 * rows")
    )
    for wrong in ("-5", "True", "'many'", "float('nan')", "lambda n: None"):
        text = declared.replace("lambda n: 3 * n", wrong)
        assert "flops is no quantity" in failure(tmp_path, text)
    text = declared.replace("lambda n: 3 * n", "lambda n: n // 0")
    assert "flops cannot be computed; ZeroDivisionError" in failure(tmp_path, text)


def test_a_kernel_checks_itself_in_the_interpreter(tmp_path: Path, check: Checker) -> None:
    (module,) = emitted(write(tmp_path, SCALE), small=True)
    found = check(module)
    assert found.passed
    wrong = SCALE.replace("return x * FACTOR", "return x * FACTOR + 1")
    (module,) = emitted(write(tmp_path, wrong), small=True)
    assert not check(module).passed


def test_a_write_outside_the_outputs_is_caught(tmp_path: Path, check: Checker) -> None:
    (module,) = emitted(write(tmp_path, OUTSIDE))
    found = check(module)
    assert not found.passed
    assert found.message == "x was changed, which is not among the outputs"
    assert found.max_error <= found.allowed, "the outputs themselves are right"


def test_a_write_behind_an_output_is_caught(tmp_path: Path, check: Checker) -> None:
    careless = SCALE.replace("at < n)), at < n)", "at < n)), at < n + 1)")
    (module,) = emitted(write(tmp_path, careless), small=True)
    found = check(module)
    assert not found.passed
    assert found.message == "memory around out was changed"


def test_what_is_read_and_written_keeps_its_contents(tmp_path: Path, check: Checker) -> None:
    text = (
        HEAD
        + """
@harness.kernel(
    args=lambda device, n: {"x": torch.randn(n, device=device)},
    reference=lambda x: x * 2,
    mutates=["x"], grid=lambda n: (n // 64,), sizes={"n": 64},
)
@triton.jit
def double(x, BLOCK: tl.constexpr = 64):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, twice(tl.load(x + at)))
"""
    )
    (module,) = emitted(write(tmp_path, text))
    assert module.bytes_moved == 2 * 4 * 64, "read and written"
    assert check(module).passed


def test_inline_assembly_is_compiled(tmp_path: Path) -> None:
    assembly = 'tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [{}], tl.float32, True, 1)'
    text = SCALE.replace(
        "twice(tl.load(x + at, at < n))", assembly.format("tl.load(x + at, at < n)")
    )
    path = write(tmp_path, text)
    (module,) = emitted(path)
    assert "inline_asm" in module.text and metrics(module.text, H100).registers > 0


def test_another_kernel_of_the_file_may_change_without_changing_this_one(tmp_path: Path) -> None:
    both = SCALE + OUTSIDE[len(HEAD) :]
    first, second = emitted(write(tmp_path, both))
    edited, changed = emitted(write(tmp_path, both.replace("tl.store(x + at", "tl.store(out + at")))
    assert edited == first
    assert changed.text != second.text
    assert emitted(write(tmp_path, "\n\n\n" + both))[0] == first, "lines may move"


def test_sizes_are_part_of_what_the_kernel_is(tmp_path: Path) -> None:
    def code(text: str) -> str:
        (module,) = emitted(write(tmp_path, text))
        return module.code_hash

    assert code(SCALE) == code(SCALE.replace("lambda x: x * 2", "lambda x: 2 * x"))
    assert code(SCALE) != code(SCALE.replace("100_000", "200_000"))
    assert code(SCALE) != code(SCALE.replace("x * FACTOR", "FACTOR * x"))


def test_ones_none_and_flags_are_constants_as_in_triton(tmp_path: Path, check: Checker) -> None:
    text = (
        HEAD
        + """
@harness.kernel(
    args=lambda device, n: [
        torch.randn(n, device=device), None, 1, True, torch.empty(n, device=device)
    ],
    reference=lambda x: x * 2, outputs=["out"], grid=lambda n: (n // 64,),
    configs=[{"BLOCK": 64}], constants={"KIND": "twice"}, sizes={"n": 128},
)
@triton.jit
def flagged(x, bias, stride, on, out, BLOCK: tl.constexpr, KIND: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at * stride)
    if KIND == "twice":
        value = twice(value)
    if bias is not None:
        value += tl.load(bias + at)
    if on:
        tl.store(out + at, value)
"""
    )
    (module,) = emitted(write(tmp_path, text))
    loaded = modules.load(module.text, tmp_path)
    assert loaded.signature == {"x": "*fp32", "on": "u1", "out": "*fp32"}
    assert loaded.constants == {"bias": None, "stride": 1, "KIND": "twice"}
    assert check(module).passed
    assert metrics(module.text, H100).widest_load >= 4


def test_candidates_of_autotune_are_taken(tmp_path: Path) -> None:
    tuner = '@triton.autotune([triton.Config({"BLOCK": 32}, num_warps=1)], key=["n"])'
    tuned = SCALE.replace("@triton.jit\ndef scale", f"{tuner}\n@triton.jit\ndef scale")
    start = tuned.index("    configs=[")
    without = tuned[:start] + tuned[tuned.index("\n", start) + 1 :]
    (module,) = emitted(write(tmp_path, without))
    assert "autotune" not in module.text
    loaded = modules.load(module.text, tmp_path)
    assert [modules.config_dict(c) for c in loaded.configs] == [
        {"BLOCK": 32, "num_warps": 1, "num_stages": 3}
    ]
    (own,) = emitted(write(tmp_path, tuned))
    assert len(modules.load(own.text, tmp_path).configs) == 2, "the declaration's own come first"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('outputs=["out"]', 'outputs=["ouput"]', "an output is no argument; ouput"),
        ('"BLOCK": 64,', '"BLOK": 64,', "a candidate sets an unknown name; BLOK"),
        ("lambda x: x * 2", "lambda y: y * 2", "reference asks for what there is not; y"),
        ("lambda n, BLOCK:", "lambda n, SIZE:", "grid asks for what there is not; SIZE"),
        ("return [x, torch.empty_like(x), n]", "return [x, n]", "does not return the kernel's"),
        ("x = torch.randn(n, device=device)", "x = torch.rand(n, n, n, q)", "cannot be made"),
        ('"BLOCK": 64,', '"BLOCK": 6.4,', "a candidate holds no whole number"),
        ("n, BLOCK: tl.constexpr)", "n, B: tl.constexpr, BLOCK: tl.constexpr)", "has no value"),
        ("x, out, n, BLOCK: tl.constexpr", "BLOCK: tl.constexpr, x, out, n", "stands before"),
        ("def twice(x)", "def check(x)", "needs for itself; check"),
        ("torch.empty_like(x), n]", "[1, 2], n]", "an output is not a tensor"),
        (
            "torch.empty_like(x), n]",
            "torch.empty_like(x), 'n']",
            "neither tensor nor number; n='n'",
        ),
    ],
)
def test_a_declaration_that_does_not_fit_is_a_row_with_the_reason(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = SCALE.replace(old, new)
    if "check" in new:
        text = text.replace("twice(tl", "check(tl")
    assert text != SCALE
    assert said in failure(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:", "is not Python"),
        ("import harness\n", "declares no kernels"),
        (SCALE.replace("import math", "import my_other_file"), "my_other_file"),
        (SCALE.replace('outputs=["out"]', 'outputs="out"'), "names of arguments are a list"),
        (SCALE.replace('outputs=["out"],', ""), "a kernel writes nothing"),
        (SCALE.replace('small={"n"', 'small={"m"'), "small sizes have other names"),
    ],
)
def test_a_file_that_cannot_be_used_is_wrong_usage(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_kernels(write(tmp_path, text))
    assert said in str(caught.value)


def test_files_of_kernels_are_told_from_graphs(tmp_path: Path) -> None:
    path = write(tmp_path, SCALE)
    assert is_user_file(str(path))
    graph = EXAMPLE.parents[1] / "graphs" / "moe_router_forward.py"
    assert not is_user_file(str(graph))
    assert not is_user_file("moe_router_forward")
    options = from_environment({}, EXAMPLE.parents[2])
    entries = find_entries(options, "default", [str(path), str(graph)], H100)
    assert [entry.name for entry in entries] == ["kernels", "moe_router_forward"]
    for files in ([path], [path, graph]):  # the suite is recorded with the run
        with pytest.raises(UnknownName, match="no suite nosuch"):
            find_entries(options, "nosuch", [*map(str, files)], H100)


@pytest.mark.parametrize("name", ["rms_norm", "swiglu", "swiglu_backward", "cross_entropy"])
def test_the_example_is_right(name: str, check: Checker) -> None:
    (module,) = (m for m in emitted(EXAMPLE, small=True) if m.name == name)
    found = check(module)
    assert found.passed, found


def test_peers_compute_the_reference_of_a_kernel(tmp_path: Path) -> None:
    import torch

    from harness.measure.peers.providers import function_maker
    from harness.measure.peers.worker import compare, kernel_provider, kernel_task
    from tests.measure.peers.cpu_worker import FakeTimer

    (module,) = emitted(write(tmp_path, SCALE), small=True)
    loaded = modules.load(module.text, tmp_path)

    def launch(args: object) -> None:
        x, out, _ = args  # type: ignore[misc]
        out.copy_(x * 2)

    makers = {
        "user": lambda _: kernel_provider(loaded, launch),
        "eager": function_maker("eager", loaded.raw.expected),
    }
    found = compare(kernel_task(loaded, torch.device("cpu")), makers, FakeTimer())
    assert found["user"].check is found["eager"].check is Check.PASSED
    assert (found["user"].ms, found["eager"].ms) == (4.0, 5.0)
