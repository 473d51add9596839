"""Sums of unknown numbers of elements, shared by programs: right on both sides of every border."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.graph.model import CHECKED
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime import module as runtime
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool
from harness.runtime.tune.space import Space
from harness.target import H100
from tests.codegen.kernels import as_launched, checks_itself, modules
from tests.fork_server import FILE

_BORDERS = (1, 2, 15, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
NEAR = sorted({0, *(n + d for n in _BORDERS for d in (-1, 0, 1)), 7, 257, 785, 997, 1171})
_OF_SOME = ("columns", "largest first", "wide", "places")  # torch gives no largest of nothing
MOST = 60_000
"""Elements of an input at most: the interpreter's."""

TEXTS = {
    "columns": """def columns(
    x: "bf16[s0, s1]",
):
    wide: "f32[s0, s1]" = aten._to_copy.default(x, dtype=torch.float32)
    total: "f32[s1]" = aten.sum.dim_IntList(wide, [0])
    amax: "f32[s1]" = aten.amax.default(wide, [0])
    return (total, amax)
""",
    "largest first": """def largest_first(
    x: "f32[s0, s1]",
):
    amax: "f32[s1]" = aten.amax.default(x, [0])
    total: "f32[s1]" = aten.sum.dim_IntList(x, [0])
    return (amax, total)
""",
    "variances": """def variances(
    x: "f32[s0, s1]",
):
    both: ("f32[s1]", "f32[s1]") = aten.var_mean.correction(x, [0], correction=0, keepdim=False)
    var: "f32[s1]" = getitem(both, 0)
    mean: "f32[s1]" = getitem(both, 1)
    return (var, mean)
""",
    "everything": """def everything(
    x: "f32[s0, s1]",
):
    total: "f32[]" = aten.sum.dim_IntList(x, [0, 1])
    gt: "b8[s0, s1]" = aten.gt.Scalar(x, 3.0)
    any_1: "b8[]" = aten.any.dims(gt, [0, 1], False)
    return (total, any_1)
""",
    "few": """def few(
    x: "f32[s0, 5, s1]",
):
    total: "f32[5]" = aten.sum.dim_IntList(x, [0, 2])
    return (total,)
""",
    "means": """def means(
    x: "f16[s0, s2, s1]",
    y: "f32[s1]",
):
    wide: "f32[s0, s2, s1]" = aten._to_copy.default(x, dtype=torch.float32)
    mul: "f32[s0, s2, s1]" = aten.mul.Tensor(wide, y)
    both: ("f32[s2]", "f32[s2]") = aten.var_mean.correction(mul, [0, 2], correction=0)
    var: "f32[s2]" = getitem(both, 0)
    mean: "f32[s2]" = getitem(both, 1)
    return (var, mean)
""",
    "pieces": """def pieces(
    x: "f32[s0, s2, s1]",
):
    total: "f32[s2]" = aten.sum.dim_IntList(x, [0, 2])
    return (total,)
""",
    "running": """def running(
    x: "f32[s0, 5]",
    mean: "f32[5]",
):
    new: "f32[5]" = aten.mean.dim(x, [0])
    kept: "f32[5]" = aten.mul.Tensor(mean, 0.9)
    moved: "f32[5]" = aten.add.Tensor(kept, new)
    mean[...] = moved
    return (new,)
""",
    "squares": """def squares(
    x: "f16[s0, s2, s1, s1]",
):
    wide: "f32[s0, s2, s1, s1]" = aten._to_copy.default(x, dtype=torch.float32)
    both: ("f32[s2]", "f32[s2]") = aten.var_mean.correction(wide, [0, 2, 3], correction=0)
    var: "f32[s2]" = getitem(both, 0)
    mean: "f32[s2]" = getitem(both, 1)
    return (var, mean)
""",
    "wide": """def wide(
    x: "i64[s0, s1]",
):
    total: "i64[s1]" = aten.sum.dim_IntList(x, [0])
    amin: "i64[s1]" = aten.amin.default(x, [0])
    double: "f64[s0, s1]" = aten._to_copy.default(x, dtype=torch.float64)
    exp: "f64[s0, s1]" = aten.exp.default(double)
    sum_2: "f64[s1]" = aten.sum.dim_IntList(exp, [0])
    return (total, amin, sum_2)
""",
    "places": """def places(
    x: "f32[s0, s1]",
):
    round: "f32[s0, s1]" = aten.round.default(x)
    argmax: "i64[s1]" = aten.argmax.default(round, 0)
    whole: "i32[s0, s1]" = aten._to_copy.default(round, dtype=torch.int32)
    argmin: "i64[s1]" = aten.argmin.default(whole, 0)
    return (argmax, argmin)
""",
}


def sizes(name: str) -> st.SearchStrategy[Mapping[str, int]]:
    """Near borders and anywhere, few enough elements to be interpreted."""
    drawn = st.sampled_from(NEAR) | st.integers(0, 9000)
    fields = {"s0": drawn, "s1": drawn}
    if "s2" in TEXTS[name]:
        fields["s2"] = st.integers(0, 20)

    def few(known: Mapping[str, int]) -> Mapping[str, int]:
        most = MOST // max(1, known["s0"]) // max(1, known.get("s2", 1))
        most = math.isqrt(most) if name == "squares" else most
        least = int(name in _OF_SOME)
        return {**known, "s0": max(least, known["s0"]), "s1": min(known["s1"], most)}

    return st.fixed_dictionaries(fields).map(few)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_sums_are_right_at_every_size(name: str, interpreter: InterpreterPool) -> None:
    (module,) = modules(loads(f"# harness graph 1\n{TEXTS[name]}", "test graph"))
    assert "CHUNKS: tl.constexpr" in module.text
    assert "WIDE: tl.constexpr" in module.text
    loaded = runtime.load(module.text)

    @settings(max_examples=5)
    @given(st.lists(sizes(name), min_size=4, max_size=4))
    def right(several: list[Mapping[str, int]]) -> None:
        jobs = [as_launched(loaded, known) for known in several]
        for position, answer in interpreter.each(jobs):
            passed = isinstance(answer, CheckResult) and answer.passed
            assert passed, (several[position], answer)

    right()


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("columns", {"s0": 16411, "s1": 4}),
        ("variances", {"s0": 16411, "s1": 3}),
        ("everything", {"s0": 1, "s1": 40009}),
        ("rows", {"s0": 3, "20000": 40009}),
        ("few", {"s0": 7001, "s1": 5}),
        ("means", {"s0": 10007, "s1": 5, "s2": 2}),
    ],
)
def test_known_sizes_that_have_no_equal_parts_are_shared_too(
    name: str, known: Mapping[str, int], interpreter: InterpreterPool
) -> None:
    """Rows of a prime number: the last program has fewer. Rows are read in vectors."""
    text = (TEXTS | {"rows": ROWS})[name]
    for symbol, size in known.items():
        text = text.replace(symbol, str(size))
    (kernel,) = compile_graph(loads(f"# harness graph 1\n{text}", "test graph"), H100).kernels
    vectors = "max_constancy(r0_column < r0_stop, VECTOR)" in kernel.module.text
    assert vectors == (name in ("rows", "everything"))
    (found,) = (answer for _, answer in interpreter.each([CheckJob(kernel.module.text)]))
    assert isinstance(found, CheckResult) and found.passed, found
    loaded = runtime.load(kernel.module.text)
    fitted = loaded.fitted(loaded.configs[0], ())
    assert loaded.grid(fitted)[1] == fitted.block("CHUNKS") > 1
    assert loaded.fitted(fitted, ()) == fitted


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "dim"), [("f32", 3, 40009, 1), ("bf16", 16411, 4, 0)]
)
def test_places_of_extremes_are_shared_where_their_number_is_known(
    kind: str, rows: int, columns: int, dim: int, interpreter: InterpreterPool
) -> None:
    """The first of equal ones, whichever program has it, a NaN, or of rows of nothing but -inf."""
    left = rows if dim else columns
    text = f"""# harness graph 1
def places(
    x: "{kind}[{rows}, {columns}]",
):
    least: "i64[{left}]" = aten.argmin.default(x, {dim})
    best: ("{kind}[{left}]", "i64[{left}]") = aten.max.dim(x, {dim})
    most: "{kind}[{left}]" = getitem(best, 0)
    place: "i64[{left}]" = getitem(best, 1)
    return (least, most, place)
"""
    (kernel,) = compile_graph(loads(text, "test graph"), H100).kernels
    loaded = runtime.load(kernel.module.text)
    assert loaded.fitted(loaded.configs[0], ()).block("CHUNKS") > 1
    x, least, most, place, workspace = loaded.get_args("cpu")
    x.clamp_(-1, 1)
    line = x[1] if dim else x[:, 1]
    line[10_003::3001] = math.nan
    (x[2] if dim else x[:, 2]).fill_(-math.inf)
    args = [x, least, most, place, workspace]
    interpreter.launch(kernel.module.text, args)
    assert torch.equal(least, x.argmin(dim)) and torch.equal(place, x.argmax(dim))
    assert torch.equal(most.nan_to_num(), x.amax(dim).nan_to_num()) and not workspace.any()


@pytest.mark.parametrize(
    ("rows", "columns", "dim"),
    [(3, 40000, 1), (2, 40009, 1), (1, 70000, 1), (17000, 3, 0), (600, 500, 0), (521, 67, 0)],
)
def test_a_softmax_of_few_rows_is_two_launches(
    rows: int, columns: int, dim: int, interpreter: InterpreterPool
) -> None:
    """Both of its reductions in one loop, of a part of a row, then what needs them."""
    left = f"1, {columns}" if dim == 0 else f"{rows}, 1"
    shape = f"{rows}, {columns}"
    text = f"""# harness graph 1
def softmax(
    x: "f32[{shape}]",
):
    top: "f32[{left}]" = aten.amax.default(x, [{dim}], True)
    sub: "f32[{shape}]" = aten.sub.Tensor(x, top)
    exp: "f32[{shape}]" = aten.exp.default(sub)
    total: "f32[{left}]" = aten.sum.dim_IntList(exp, [{dim}], True)
    div: "f32[{shape}]" = aten.div.Tensor(exp, total)
    return (div,)
"""
    sums, last = compile_graph(loads(text, "test graph"), H100).kernels
    loaded = runtime.load(sums.module.text)
    assert loaded.fitted(loaded.configs[0], ()).block("CHUNKS") > 1
    for kernel in (sums, last):
        (found,) = (answer for _, answer in interpreter.each([CheckJob(kernel.module.text)]))
        assert isinstance(found, CheckResult) and found.passed, found


def test_known_sizes_that_have_equal_parts_or_programs_enough_are_not_shared() -> None:
    for s0, s1 in ((20000, 64), (20011, 5000), (3137, 768)):
        text = TEXTS["variances"].replace("s0", str(s0)).replace("s1", str(s1))
        made = compile_graph(loads(f"# harness graph 1\n{text}", "test graph"), H100)
        assert not any("CHUNKS" in kernel.module.text for kernel in made.kernels)


@pytest.mark.parametrize("name", ["few", "means", "pieces"])
def test_short_pieces_of_rows_are_right_at_every_size(
    name: str, interpreter: InterpreterPool
) -> None:
    """Beside each other, several rows in a block; more elements than one block holds."""
    (module,) = modules(loads(f"# harness graph 1\n{TEXTS[name]}", "test graph"))
    loaded, rng, jobs = runtime.load(module.text), random.Random(name), list[CheckJob]()
    for run in range(1, 18):
        known = {"s0": rng.randint(8193, 9 * 8192) // run + 1, "s1": run}
        known |= {"s2": rng.choice((1, 5, 17))} if "s2" in TEXTS[name] else {}
        first = loaded.at(loaded.only_sizes(known), H100).configs[0]
        columns = known.get("s2", 5)
        assert (first.block("XBLOCK") > 1) == (
            run <= 16 and columns > 1 and first.block("HELD") == 0
        )
        known["s0"] = min(known["s0"], 3 * MOST // run // columns)
        jobs.append(as_launched(loaded, known))
    for position, answer in interpreter.each(jobs):
        passed = isinstance(answer, CheckResult) and answer.passed
        assert passed, (jobs[position].sizes, answer)


ROWS = """def rows(
    x: "f16[s0, 20000]",
):
    wide: "f32[s0, 20000]" = aten._to_copy.default(x, dtype=torch.float32)
    total: "f32[s0]" = aten.sum.dim_IntList(wide, [1])
    amax: "f32[s0]" = aten.amax.default(wide, [1])
    argmin: "i64[s0]" = aten.argmin.default(wide, 1)
    both: ("f32[s0]", "f32[s0]") = aten.var_mean.correction(wide, [1], correction=1)
    var: "f32[s0]" = getitem(both, 0)
    mean: "f32[s0]" = getitem(both, 1)
    return (total, amax, argmin, var, mean)
"""


@pytest.mark.parametrize("length", [9001, 20_011, 24_576])
def test_few_long_rows_of_unknown_number_are_shared(
    length: int, interpreter: InterpreterPool
) -> None:
    """Those that whole vectors hold, and others."""
    text = ROWS.replace("20000", str(length))
    (module,) = modules(loads(f"# harness graph 1\n{text}", "test graph"))
    loaded, jobs = runtime.load(module.text), list[CheckJob]()
    assert ("r0_mask" in module.text) == (length % 4096 > 0)  # which takes three times as long
    for rows in (1, 2, 3):
        args = loaded.only_sizes({"s0": rows})
        assert loaded.grid(loaded.at(args, H100).configs[0], args)[1] > 1
        jobs.append(CheckJob(module.text, sizes=(("s0", rows),)))
    args = loaded.only_sizes({"s0": 300})
    assert loaded.grid(loaded.at(args, H100).configs[0], args) == (300, 1, 1)
    for position, answer in interpreter.each(jobs):
        passed = isinstance(answer, CheckResult) and answer.passed
        assert passed, (jobs[position].sizes, answer)


def test_few_long_rows_of_unknown_length_are_shared(interpreter: InterpreterPool) -> None:
    """Which begin anywhere, and where rows are too short or too many have a program each."""
    (module,) = modules(loads(f"# harness graph 1\n{ROWS.replace('20000', 's1')}", "test graph"))
    loaded, rng, jobs = runtime.load(module.text), random.Random(7), list[CheckJob]()
    assert "else tl.program_id(1) * r0_part\n" in module.text  # where whole vectors begin
    for rows, length in ((1, 8193), (3, 12_289), (2, 24_576), (4, rng.randrange(8193, 15_000))):
        known = {"s0": rows, "s1": length}
        args = loaded.only_sizes(known)
        assert loaded.grid(loaded.at(args, H100).configs[0], args)[1] > 1
        jobs.append(CheckJob(module.text, sizes=tuple(known.items())))
    for rows, length in ((3, 8192), (300, 1000), (66, 100_000)):
        args = loaded.only_sizes({"s0": rows, "s1": length})
        assert loaded.grid(loaded.at(args, H100).configs[0], args)[1] == 1
    for known in ({"s0": 0, "s1": 9001}, {"s0": 3, "s1": 1}, {"s0": 2, "s1": 8192}):
        jobs.append(CheckJob(module.text, sizes=tuple(known.items())))
    for position, answer in interpreter.each(jobs):
        passed = isinstance(answer, CheckResult) and answer.passed
        assert passed, (jobs[position].sizes, answer)


def test_rows_in_pieces_are_shared_whatever_their_number(tmp_path: Path) -> None:
    (module,) = modules(loads(f"# harness graph 1\n{TEXTS['means']}", "test graph"))
    loaded = runtime.load(module.text, tmp_path)

    def programs(**known: int) -> tuple[int, int, int]:
        args = loaded.only_sizes(known)
        return loaded.grid(loaded.at(args, H100).configs[0], args)

    assert programs(s0=8192, s1=15, s2=64) == (8, 128, 1)  # of eight rows each
    assert programs(s0=8192, s1=17, s2=64) == (64, 8, 1)
    assert programs(s0=8192, s1=1000, s2=3) == (3, 128, 1)
    assert programs(s0=8192, s1=15, s2=5000) == (5000, 1, 1)


def test_as_many_loads_of_columns_are_under_way_as_turns_are_taken_together(tmp_path: Path) -> None:
    """The assembler has 7 predicates, which a load and a selection after it would share, and takes
    40 registers where it is not told that it may take 64: then loads wait for one another."""
    text = TEXTS["columns"].replace("    amax", "    # amax").replace("(total, amax)", "(total,)")
    (module,) = modules(loads(f"# harness graph 1\n{text}", "test graph"))
    assert "xmask & r0_mask, other=0.0" in module.text and "tl.where(" not in module.text
    loaded = runtime.load(module.text, tmp_path)
    for rows, columns in ((800, 5001), (500, 9999), (32768, 256)):
        args = loaded.only_sizes({"s0": rows, "s1": columns})
        config = loaded.at(args, H100).configs[0]
        assert dict(config.options) == {"maxnreg": 64} and config.block("UNROLL") > 1
    (module,) = modules(loads(f"# harness graph 1\n{TEXTS['columns']}", "test graph"))
    assert "tl.where(r0_mask, tl.maximum(" in module.text  # of nothing but negative numbers
    (module,) = modules(loads(f"# harness graph 1\n{TEXTS['largest first']}", "test graph"))
    assert "tl.where(r0_mask, sum_" in module.text  # of what has been loaded, whatever is outside


def test_32_bits_count_what_they_hold(tmp_path: Path) -> None:
    """Also where a size less one is a value, and up to the end of the last program's part."""

    def wide(text: str, **known: int) -> int:
        (module,) = modules(loads(f"# harness graph 1\n{text}", "test graph"))
        loaded = runtime.load(module.text, tmp_path)
        args = loaded.only_sizes(known)
        return dict(loaded.at(args, H100).configs[0].blocks)["WIDE"]

    unbiased = TEXTS["variances"].replace("correction=0", "correction=1")
    for text in (unbiased, TEXTS["variances"], TEXTS["everything"]):
        assert not wide(text, s0=8192, s1=1000)
        assert wide(text, s0=1 << 16, s1=1 << 15)
    assert wide(TEXTS["everything"], s0=(1 << 31) - 3 * (1 << 20), s1=1)
    assert not wide(TEXTS["everything"], s0=(1 << 31) - (1 << 25), s1=1)


LOOKED_UP = """def looked_up(
    x: "f32[s0, 40009]",
    table: "f32[7]",
):
    total: "f32[s0]" = aten.sum.dim_IntList(x, [1])
    less: "f32[s0]" = aten.sub.Tensor(total, 3000)
    at: "i64[s0]" = aten._to_copy.default(less, dtype=torch.int64)
    index: "f32[s0]" = aten.index.Tensor(table, [at])
    return (index,)
"""


@pytest.mark.parametrize("kind", ["rows", "known rows", "columns"])
def test_only_the_program_with_the_whole_sum_reads_what_it_says(
    kind: str, interpreter: InterpreterPool
) -> None:
    """What the others have instead, 0, is no place of 7 here: it would end the process."""
    text = LOOKED_UP if kind == "rows" else LOOKED_UP.replace("s0", "3")
    if kind == "columns":
        text = text.replace("3, 40009", "40009, 3").replace("[1])", "[0])")
    graph = replace(loads(f"# harness graph 1\n{text}", "test graph"), facts=(CHECKED,))
    (module,) = modules(graph)
    loaded = runtime.load(module.text)
    args = loaded.get_args("cpu", sizes={"s0": 3} if kind == "rows" else None)
    x, table, found = args[:3]
    rows = x.T if kind == "columns" else x
    rows.zero_()
    rows[:, 5], rows[:, -4] = 3000, torch.tensor([0.0, 1.0, 2.0])
    config = loaded.fitted(loaded.configs[0], args)
    assert config.block("CHUNKS") > 1 and "device_assert" in module.text
    interpreter.launch(module.text, args, config)
    assert torch.equal(found, table[:3])


def test_a_search_of_known_sizes_leaves_the_number_of_programs_to_the_blocks() -> None:
    """With another than the grid has the last program would be taken for somebody else."""
    text = TEXTS["columns"].replace("s0", "16411").replace("s1", "4")
    (kernel,) = compile_graph(loads(f"# harness graph 1\n{text}", "test graph"), H100).kernels
    loaded = runtime.load(kernel.module.text)
    space = Space.of(loaded.at(loaded.get_args("cpu"), H100), H100)
    assert "CHUNKS" not in dict(space.values)
    stale = replace(loaded.configs[0], blocks=(*loaded.configs[0].blocks, ("CHUNKS", 4)))
    for config in (stale, *loaded.configs, *space.around(loaded.configs[0])):
        assert loaded.fitted(config, ()).block("CHUNKS") == loaded.grid(config)[1]
    assert len({loaded.grid(config)[1] for config in space.around(loaded.configs[0])}) > 1


def test_triton_alone_interprets_rows_that_programs_share(
    tmp_path: Path, interpreting: list[str]
) -> None:
    """Whose masks are no numbers of 8 bits."""
    (module,) = modules(loads(f"# harness graph 1\n{ROWS.replace('20000', '9001')}", "test graph"))
    path = tmp_path / "module.py"
    path.write_text(module.text.replace('"s0": 1024', '"s0": 2'))
    checks_itself(interpreting, FILE, path)
