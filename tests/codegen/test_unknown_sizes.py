"""Kernels whose sizes only a launch knows: one text, right for every size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import HarnessError, InvalidProgram
from harness.graph.model import Graph
from harness.graph.text import loads
from harness.heuristics.facts import Config
from harness.ir.affine import UNKNOWN_SIZE
from harness.runtime import module as runtime
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.target import H100
from harness.tiling.build import INT32_LIMIT
from tests.codegen.graphs import graph_of_size
from tests.codegen.kernels import checks_itself, modules


def graph(text: str) -> Graph:
    return loads(f"# harness graph 1\n{text}", "test graph")


SOFTMAX = graph("""def softmax(
    x: "f32[s0, 100]",
):
    amax: "f32[s0, 1]" = aten.amax.default(x, [-1], True)
    sub: "f32[s0, 100]" = aten.sub.Tensor(x, amax)
    exp: "f32[s0, 100]" = aten.exp.default(sub)
    total: "f32[s0, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    div: "f32[s0, 100]" = aten.div.Tensor(exp, total)
    return (div,)
""")

ROWS = graph("""def rows(
    x: "f32[s0, s1]",
):
    total: "f32[s0]" = aten.sum.dim_IntList(x, [1])
    return (total,)
""")

COLUMNS = graph("""def columns(
    x: "f32[s0, s1]",
):
    total: "f32[s1]" = aten.sum.dim_IntList(x, [0])
    return (total,)
""")

TURNED = graph("""def turned(
    x: "f32[s0, s1]",
):
    permute: "f32[s1, s0]{1, s1}" = aten.permute.default(x, [1, 0])
    clone: "f32[s1, s0]" = aten.clone.default(permute, memory_format=torch.contiguous_format)
    return (clone,)
""")

ADDED = graph("""def added(
    x: "f32[s0, s1]",
    y: "f32[s1]",
):
    view: "f32[s0*s1]" = aten.view.default(x, [sym("s0*s1")])
    mul: "f32[s0*s1]" = aten.mul.Tensor(view, 2.0)
    back: "f32[s0, s1]" = aten.view.default(mul, [sym("s0"), sym("s1")])
    add: "f32[s0, s1]" = aten.add.Tensor(back, y)
    return (add,)
""")

VARIANCES = graph("""def variances(
    x: "bf16[s0, s1]",
):
    both: ("f32[s1]", "f32[s1]") = aten.var_mean.correction(x, [0], correction=1, keepdim=False)
    var: "f32[s1]" = getitem(both, 0)
    mean: "f32[s1]" = getitem(both, 1)
    return (var, mean)
""")
DOWN = graph("""def down(
    x: "f32[s0, s1]",
):
    total: "f32[s1]" = aten.sum.dim_IntList(x, [0])
    amax: "f32[s1]" = aten.amax.default(x, [0])
    both: ("f32[s1]", "f32[s1]") = aten.var_mean.correction(x, [0], correction=0, keepdim=False)
    var: "f32[s1]" = getitem(both, 0)
    mean: "f32[s1]" = getitem(both, 1)
    gt: "b8[s0, s1]" = aten.gt.Scalar(x, 2.5)
    any_1: "b8[s1]" = aten.any.dims(gt, [0], False)
    mul: "f32[s1]" = aten.mul.Tensor(total, 0.5)
    return (mul, amax, var, mean, any_1)
""")

FEW = graph("""def few(
    x: "bf16[3, s0]",
):
    wide: "f32[3, s0]" = aten._to_copy.default(x, dtype=torch.float32)
    total: "f32[3]" = aten.sum.dim_IntList(wide, [1])
    amin: "f32[3]" = aten.amin.default(wide, [1])
    return (total, amin)
""")

PLACED = graph("""def placed(
    x: "f32[s0, s1, 7]",
    row: "f32[7]",
    middle: "f32[s1, 1]",
    outer: "f32[s0, 1, 1]",
    both: "f32[s1, 7]",
):
    add: "f32[s0, s1, 7]" = aten.add.Tensor(x, row)
    mul: "f32[s0, s1, 7]" = aten.mul.Tensor(add, middle)
    mul_1: "f32[s0, s1, 7]" = aten.mul.Tensor(mul, outer)
    mul_2: "f32[s0, s1, 7]" = aten.mul.Tensor(mul_1, both)
    return (mul_2,)
""")

GRAPHS = (SOFTMAX, ROWS, COLUMNS, TURNED, ADDED)
SIZES = (
    {"s0": 1, "s1": 1},
    {"s0": 3, "s1": 130},
    {"s0": 33, "s1": 7},
    {"s0": 64, "s1": 64},
    {"s0": 3, "s1": 1100},  # longer than a block: in a loop
    {"s0": 2, "s1": 1024},
    {"s0": 2, "s1": 600},
    {"s0": 5, "s1": 700},
)


def test_every_size_computes_what_torch_does(tmp_path: Path, interpreter: InterpreterPool) -> None:
    jobs: list[CheckJob] = []
    names: list[str] = []
    for one in GRAPHS:
        for module in modules(one):
            known = runtime.load(module.text, tmp_path).unknown_sizes
            assert known
            for sizes in SIZES:
                asked = tuple((n, v) for n, v in sizes.items() if n in known)
                jobs.append(CheckJob(module.text, sizes=asked))
                names.append(f"{module.name} {asked}")
    wrong: list[str] = []
    for position, answer in interpreter.each(jobs):
        if isinstance(answer, HarnessError):
            wrong.append(f"{names[position]}: {answer}")
        elif not (isinstance(answer, CheckResult) and answer.passed):
            wrong.append(f"{names[position]}: {answer.max_error} > {answer.allowed}")
    assert wrong == []
    assert len(jobs) == len(GRAPHS) * len(SIZES)


@pytest.mark.parametrize("one", GRAPHS, ids=lambda g: g.name)
def test_grid_follows_the_arguments(one: Graph, tmp_path: Path) -> None:
    (module,) = modules(one)
    loaded = runtime.load(module.text, tmp_path)
    config = loaded.configs[0]
    assert set(loaded.unknown_sizes.values()) == {UNKNOWN_SIZE}
    grids = []
    for n in (5, 5000):
        sizes = dict.fromkeys(loaded.unknown_sizes, n)
        places = range(len(loaded.signature) - len(sizes), len(loaded.signature))
        args = [n if at in places else None for at in range(len(loaded.signature))]
        grids.append(loaded.grid(config, args))
    assert all(a <= b for a, b in zip(*grids, strict=True))
    assert grids[0] != grids[1]


@pytest.mark.parametrize("sizes", [(10_000_000, 7), (7, 10_000_000)])
def test_rows_of_unknown_number_are_numbered_in_x(tmp_path: Path, sizes: tuple[int, int]) -> None:
    (module,) = modules(TURNED)
    loaded = runtime.load(module.text, tmp_path)
    config = loaded.configs[0]
    x, *others = loaded.grid(config, [None, None, *sizes])
    assert others == [1, 1]
    assert x * config.block("XBLOCK") * config.block("YBLOCK") >= 70_000_000


def test_a_grid_without_arguments_is_an_error(tmp_path: Path) -> None:
    (module,) = modules(SOFTMAX)
    loaded = runtime.load(module.text, tmp_path)
    with pytest.raises(InvalidProgram, match="values of s0"):
        loaded.grid(loaded.configs[0])


def test_known_sizes_need_no_arguments(tmp_path: Path) -> None:
    (module,) = modules(graph_of_size(64, 64))
    loaded = runtime.load(module.text, tmp_path)
    assert loaded.unknown_sizes == {}
    assert loaded.grid(loaded.configs[0]) == (-(-4096 // loaded.configs[0].block("XBLOCK")), 1, 1)
    assert "UNKNOWN_SIZES" not in module.text


def test_bytes_are_those_of_the_sizes_that_are_timed(tmp_path: Path) -> None:
    (module,) = modules(TURNED)
    loaded = runtime.load(module.text, tmp_path)
    assert loaded.bytes_moved == 2 * 4 * UNKNOWN_SIZE**2
    assert module.facts.bytes == loaded.bytes_moved
    assert set(module.facts.unknown) == {"x", "y"}


def sized_rows(tmp_path: Path, s0: int, s1: int) -> tuple[runtime.LoadedModule, list[object]]:
    (module,) = modules(ROWS)
    loaded = runtime.load(module.text, tmp_path)
    assert list(loaded.unknown_sizes) == ["s0", "s1"]
    return loaded, loaded.only_sizes({"s0": s0, "s1": s1})


@pytest.mark.parametrize(
    "s0, s1", [(8192, 1000), (4096, 4096), (100, 64), (32768, 257), (64, 8192), (300, 30000)]
)
def test_sizes_of_a_launch_have_the_candidates_of_a_kernel_for_them_alone(
    tmp_path: Path, s0: int, s1: int
) -> None:
    loaded, args = sized_rows(tmp_path, s0, s1)
    text = f'# harness graph 1\ndef rows(\n    x: "f32[{s0}, {s1}]",\n):\n'
    text += f'    total: "f32[{s0}]" = aten.sum.dim_IntList(x, [1])\n    return (total,)\n'
    (alone,) = modules(loads(text, "test graph"))
    known = runtime.load(alone.text, tmp_path)
    got = loaded.at(args, H100)
    blocks = ("XBLOCK", "R0_BLOCK")
    first = [(c.block("XBLOCK"), c.block("R0_BLOCK"), c.num_warps) for c in got.configs]
    assert first == [(*map(c.block, blocks), c.num_warps) for c in known.configs]
    assert got.points == known.points and got.fixed_blocks == known.fixed_blocks


COUNTED = """def counted(
    x: "f32[s0, 300]",
    y: "f32[257]",
):
    left: "f32[s0, 1, 300]" = aten.unsqueeze.default(x, 1)
    right: "f32[257, 1]" = aten.unsqueeze.default(y, 1)
    lt: "b8[s0, 257, 300]" = aten.lt.Tensor(left, right)
    count: "i64[s0, 257]" = aten.sum.dim_IntList(lt, [2])
    return (count,)
"""


@pytest.mark.parametrize("rows", [1, 16, 19, 5000])
def test_rows_of_unknown_number_share_programs_as_those_of_a_known_number_do(
    rows: int, tmp_path: Path, interpreter: InterpreterPool
) -> None:
    (module,), (alone,) = (modules(graph(COUNTED.replace("s0", n))) for n in ("s0", str(rows)))
    loaded, known = (runtime.load(one.text, tmp_path) for one in (module, alone))
    there = loaded.at(loaded.only_sizes({"s0": rows}), H100)
    assert there.fixed_blocks == known.fixed_blocks
    blocks = [[(c.block("XBLOCK"), c.num_warps) for c in one.configs] for one in (there, known)]
    assert blocks[0] == blocks[1] and (blocks[0][0][0] > 1) == (rows * 257 >= 4096)
    first = tuple(item for item in there.configs[0].blocks if "BLOCK" in item[0])
    config = replace(there.configs[0], blocks=first)  # of many rows some, with the block of all
    job = CheckJob(module.text, config, sizes=(("s0", min(rows, 20)),))
    ((_, answer),) = interpreter.each([job])
    assert isinstance(answer, CheckResult) and answer.passed, answer


def test_what_is_compiled_follows_from_the_sizes(tmp_path: Path) -> None:
    loaded, _ = sized_rows(tmp_path, 1, 1)
    config = Config((("XBLOCK", 2), ("R0_BLOCK", 1024)), 4)

    def fitted(s0: int, s1: int) -> dict[str, int]:
        found = dict(loaded.fitted(config, loaded.only_sizes({"s0": s0, "s1": s1})).blocks)
        return {name: value for name, value in found.items() if "BLOCK" not in name}

    rest = {"ks0": 2, "WIDE": 0, "XEVEN": 1, "CHUNKS": 1}
    whole = {"HELD": 1024, "LEAST": 960}
    assert fitted(6, 1000) == {"ks1": 8, "R0_EVEN": 0, **whole, **rest}
    assert fitted(6, 1024) == {"ks1": 16, "R0_EVEN": 1, **whole, **rest}
    loop = {"HELD": 0, "LEAST": 0}
    assert fitted(6, 1025) == {"ks1": 1, "R0_EVEN": 0, **loop, **rest}
    assert fitted(6, 2048) == {"ks1": 16, "R0_EVEN": 1, **loop, **rest, "CHUNKS": 2}
    nothing = {"HELD": 512, "LEAST": 0}  # a sum of nothing is not of what lies there
    assert fitted(6, 0) == {"ks1": 16, "R0_EVEN": 0, **nothing, **rest}
    parts = {n: (fitted(6, n)["LEAST"], fitted(6, n)["HELD"]) for n in (512, 513, 576, 577, 961)}
    assert [*parts.values()] == [(0, 512), (512, 576), (512, 576), (576, 640), (960, 1024)]
    assert fitted(7, 1000)["XEVEN"] == 0
    assert fitted(1 << 21, 1 << 10)["WIDE"] == 1
    assert fitted((1 << 21) - 1025, 1 << 10)["WIDE"] == 0


def test_rows_of_two_unknown_sizes_are_longer_than_a_block(
    tmp_path: Path, interpreter: InterpreterPool
) -> None:
    whole = """def whole(
    x: "f32[s0, s1]",
):
    total: "f32[]" = aten.sum.dim_IntList(x, [0, 1])
    return (total,)
"""
    (module,) = modules(graph(whole))
    loaded = runtime.load(module.text, tmp_path)
    assert all(config.block("R0_BLOCK") <= 16384 for config in loaded.configs)
    jobs = [CheckJob(module.text, sizes=(("s0", n), ("s1", 30))) for n in (2, 700)]
    answers = [answer for _, answer in interpreter.each(jobs)]
    assert all(isinstance(answer, CheckResult) and answer.passed for answer in answers)


def run_at(
    one: Graph, sizes: list[dict[str, int]], interpreter: InterpreterPool
) -> list[tuple[dict[str, int], object]]:
    """What is wrong with the graph's one kernel, by sizes."""
    (module,) = modules(one)
    jobs = [CheckJob(module.text, sizes=tuple(known.items())) for known in sizes]
    answers = [(sizes[position], answer) for position, answer in interpreter.each(jobs)]
    assert len(answers) == len(sizes)
    return [(s, a) for s, a in answers if not (isinstance(a, CheckResult) and a.passed)]


def chunks(one: Graph, tmp_path: Path, **sizes: int) -> tuple[int, tuple[int, int, int]]:
    """Chunks of the reduced elements, and the launch grid, of the graph's one kernel."""
    (module,) = modules(one)
    loaded = runtime.load(module.text, tmp_path)
    args = loaded.only_sizes(sizes)
    config = loaded.at(args, H100).configs[0]
    return config.block("CHUNKS"), loaded.grid(config, args)


def test_programs_share_columns_of_many_rows(tmp_path: Path, interpreter: InterpreterPool) -> None:
    many = [(1, 70), (511, 3), (512, 64), (513, 65), (2000, 70), (9000, 2), (4096, 16)]
    assert run_at(DOWN, [{"s0": m, "s1": n} for m, n in many], interpreter) == []
    assert chunks(DOWN, tmp_path, s0=1, s1=70)[0] == 1
    assert chunks(DOWN, tmp_path, s0=255, s1=3)[0] == 1
    assert chunks(DOWN, tmp_path, s0=512, s1=64)[0] == 4
    assert chunks(DOWN, tmp_path, s0=2000, s1=70)[0] == 8
    count, grid = chunks(DOWN, tmp_path, s0=32768, s1=257)
    assert count >= 16
    assert grid[1:] == (count, 1)
    assert chunks(DOWN, tmp_path, s0=1000, s1=50257)[0] == 1  # columns alone fill the device


@pytest.mark.parametrize("s0, s1", [(8192, 1000), (32768, 257), (5000, 999), (1000, 50257)])
def test_turns_of_a_loop_down_columns_are_taken_together(tmp_path: Path, s0: int, s1: int) -> None:
    for down in (COLUMNS, DOWN):
        (module,) = modules(down)
        loaded = runtime.load(module.text, tmp_path)
        first = loaded.at(loaded.only_sizes({"s0": s0, "s1": s1}), H100).configs[0]
        if down is COLUMNS or s1 < 4224:  # else they fill the device alone
            odd = s1 % 8 > 0  # read one by one: of one sum with twice the warps
            assert first.num_warps == (8 if odd and down is COLUMNS else 4)
            assert first.block("UNROLL") == (2 if odd and down is DOWN else 4)
            assert (first.block("XBLOCK"), first.block("R0_BLOCK")) == (32, 32)


@pytest.mark.parametrize(
    "s0, s1, block, warps, turns",
    [(8192, 1000, (16, 256), 16, 4), (32768, 257, (32, 32), 4, 2), (100000, 64, (16, 32), 4, 4)],
)
def test_variances_down_columns_take_small_blocks_together(
    tmp_path: Path, s0: int, s1: int, block: tuple[int, int], warps: int, turns: int
) -> None:
    (module,) = modules(VARIANCES)
    loaded = runtime.load(module.text, tmp_path)
    first = loaded.at(loaded.only_sizes({"s0": s0, "s1": s1}), H100).configs[0]
    assert (first.block("XBLOCK"), first.block("R0_BLOCK")) == block
    assert (first.num_warps, first.block("UNROLL")) == (warps, turns)


def test_nothing_to_reduce_is_reduced_as_torch_does(interpreter: InterpreterPool) -> None:
    text = """def empty(
    x: "f32[s0, s1]",
):
    both: ("f32[s1]", "f32[s1]") = aten.var_mean.correction(x, [0], correction=0, keepdim=False)
    var: "f32[s1]" = getitem(both, 0)
    mean: "f32[s1]" = getitem(both, 1)
    total: "f32[s1]" = aten.sum.dim_IntList(x, [0])
    return (var, mean, total)
"""
    assert run_at(graph(text), [{"s0": 0, "s1": 5}, {"s0": 2, "s1": 0}], interpreter) == []


def test_programs_share_a_few_rows_of_any_length(
    tmp_path: Path, interpreter: InterpreterPool
) -> None:
    lengths = (2, 1000, 1025, 8192, 8193, 20001, 70000)
    assert run_at(FEW, [{"s0": n} for n in lengths], interpreter) == []
    assert chunks(FEW, tmp_path, s0=1000)[0] == 1  # in one block
    assert chunks(FEW, tmp_path, s0=1 << 22)[0] >= 16


KNOWN = graph("""def known(
    x: "f32[3, 20000]",
):
    total: "f32[3]" = aten.sum.dim_IntList(x, [1])
    return (total,)
""")

_BEFORE_3_7 = """
import runpy, sys
from triton.runtime import interpreter
patch = interpreter._patch_lang_tensor
def old(tensor, *others):
    patch(tensor, *others)
    tensor.__index__ = refuse
def refuse(bound):
    raise TypeError('only 0-dimensional arrays can be converted to Python scalars')
interpreter._patch_lang_tensor = old
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], None, '__main__')
"""
"""A module alone in Triton's interpreter as it was before 3.7, where numpy is 2.4 or newer."""


@pytest.mark.parametrize("one", [COLUMNS, ROWS, FEW, KNOWN], ids=lambda g: g.name)
def test_a_module_alone_takes_every_bound_of_a_loop(
    one: Graph, tmp_path: Path, interpreting: list[str]
) -> None:
    """A program's share of a loop is a tensor, and so is what a kernel assigns: a known size."""
    (module,) = modules(one)
    assert "tensor.__index__" in module.text
    (without,) = modules(graph_of_size(64, 64))
    assert "tensor.__index__" not in without.text
    path = tmp_path / "module.py"
    text = module.text.replace('"s0": 1024', '"s0": 5' if one is ROWS else '"s0": 9000')
    path.write_text(text.replace('"s1": 1024', '"s1": 2500' if one is ROWS else '"s1": 9'))
    checks_itself(interpreting, _BEFORE_3_7, path)


def test_no_configuration_is_too_large_for_the_workspace(tmp_path: Path) -> None:
    (module,) = modules(DOWN)
    loaded = runtime.load(module.text, tmp_path)
    for columns in (1, 64, 4097, 60000, 1 << 20):
        args = loaded.only_sizes({"s0": 1 << 20, "s1": columns})
        for x in (1, 8, 128, 4096):
            config = Config((("XBLOCK", x), ("R0_BLOCK", 1)), 1)
            (blocks, count, _) = loaded.grid(config, args)
            each = loaded.fitted(config, args).block("CHUNKS")
            assert each == count
            # Six results of a column, and a counter of a block.
            assert count == 1 or blocks * (6 * count * x + 1) <= 7 * 65536


def test_places_in_rows_of_any_length(tmp_path: Path, interpreter: InterpreterPool) -> None:
    sizes = [{"s0": m, "s1": n} for m, n in ((1, 1), (2, 3), (40, 37), (3, 1171), (5, 8), (3, 586))]
    assert run_at(PLACED, sizes, interpreter) == []
    (module,) = modules(ADDED)
    loaded = runtime.load(module.text, tmp_path)

    def wrap(columns: int) -> int:
        config = Config((("XBLOCK", 1024),), 4)
        return loaded.fitted(config, loaded.only_sizes({"s0": 3, "s1": columns})).block("WRAP")

    # By division where vectors stay whole, by a product, by one comparison; one, two or four
    # elements lie in one row, one after the other. One is a row by itself.
    assert [wrap(n) for n in (1, 8, 1000, 4096, 50264)] == [3, 0, 0, 0, 0]
    assert [wrap(n) for n in (2, 7, 257, 1020)] == [1 + 8, 1 + 4, 1 + 4, 1 + 16]
    assert [wrap(n) for n in (1025, 50258, 128260)] == [2 + 4, 2 + 8, 2 + 16]
    sizes = [{"s0": m, "s1": n} for m, n in ((5, 1), (4000, 2), (900, 7), (40, 257), (3, 4099))]
    assert run_at(ADDED, sizes, interpreter) == []


def test_rows_of_one_element_are_placed_in_blocks_of_rows(interpreter: InterpreterPool) -> None:
    """A place is then a row, of which there are as many as before it begins anew."""
    text = """def spread(
    x: "f32[s0, s1, s2]",
    y: "f32[s1, 1]",
):
    add: "f32[s0, s1, s2]" = aten.add.Tensor(x, y)
    return (add,)
"""
    sizes = [(300, 7, 1), (40, 37, 1), (3, 1171, 1), (9, 8, 5), (3, 5, 1171)]
    known = [{"s0": m, "s1": n, "s2": each} for m, n, each in sizes]
    assert run_at(graph(text), known, interpreter) == []


def test_places_in_a_loop(interpreter: InterpreterPool) -> None:
    text = """def channels(
    x: "f32[s0, 3, s1]",
):
    total: "f32[3]" = aten.sum.dim_IntList(x, [0, 2])
    return (total,)
"""
    sizes = [(2, 2), (3, 700), (1700, 7), (9, 1171), (5, 4099), (40, 1000), (9000, 1)]
    known = [{"s0": m, "s1": n} for m, n in sizes]
    assert run_at(graph(text), known, interpreter) == []


PADDED = graph("""def padded(
    x: "f32[s0, s1]",
):
    pad: "f32[s0, s1]" = aten.constant_pad_nd.default(x, [-2, 2], 0.0)
    total: "f32[s0]" = aten.sum.dim_IntList(pad, [1])
    return (total,)
""")


def test_positions_are_compared_in_the_type_that_a_kernel_counts_in(
    tmp_path: Path, interpreter: InterpreterPool
) -> None:
    (module,) = modules(PADDED)
    kernel = module.text[module.text.index("@triton.jit") : module.text.index("def variant")]
    kernel = kernel[kernel.index("def triton_red") :]
    assert "tl.int64)" not in kernel.replace("tl.program_id(0).to(tl.int64)", "")
    sizes = [{"s0": m, "s1": n} for m, n in ((1, 2), (2, 3), (40, 37), (3, 1171), (5, 5000))]
    assert run_at(PADDED, sizes, interpreter) == []
    loaded = runtime.load(module.text, tmp_path)
    last = {"s0": 1, "s1": INT32_LIMIT - (1 << 24)}  # and where the last program's part ends
    assert loaded.at(loaded.only_sizes(last), H100).configs[0].block("WIDE") == 1
    last["s1"] -= 1
    assert loaded.at(loaded.only_sizes(last), H100).configs[0].block("WIDE") == 0
