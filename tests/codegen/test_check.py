"""The check inside a module: what it must refuse, and what it must not."""

from __future__ import annotations

import ast

import pytest

from harness.codegen.reference import is_inexact, jumps
from harness.codegen.source import EmittedModule
from harness.codegen.tail import allowed_pairs
from harness.graph.model import Graph
from harness.graph.text import loads
from harness.runtime.interpret.interpreter import CheckResult, InterpreterPool
from tests.codegen.kernels import modules


def graph(text: str) -> Graph:
    return loads("# harness graph 1\n" + text, "test graph")


def chain(dtype: str) -> Graph:
    """cos(x) + y: nothing that jumps."""
    return graph(f"""def chain(
    x: "{dtype}[100, 64]",
    y: "{dtype}[100, 64]",
):
    cos: "{dtype}[100, 64]" = aten.cos.default(x)
    add: "{dtype}[100, 64]" = aten.add.Tensor(cos, y)
    return (add,)
""")


def buckets(tail: str, result: str) -> Graph:
    """Buckets of distances 1 … 64 whose borders are exact powers of two."""
    return graph(f"""def buckets(
    table: "f32[32, 8] parameter",
):
    arange: "i64[64]" = aten.arange.start_step(1, 65, dtype=torch.int64)
    wide: "f32[64]" = aten._to_copy.default(arange, dtype=torch.float32)
    log: "f32[64]" = aten.log.default(wide)
    div: "f32[64]" = aten.div.Tensor(log, 2.772588722239781)
    mul: "f32[64]" = aten.mul.Tensor(div, 8)
    step: "i64[64]" = aten._to_copy.default(mul, dtype=torch.int64)
{tail}    return ({result},)
""")


NUMBERS = buckets("", "step")
LOOKED_UP = buckets('    rows: "f32[64, 8]" = aten.embedding.default(table, step)\n', "rows")


def checked(module: EmittedModule, interpreter: InterpreterPool, *edit: str) -> CheckResult:
    """The module's own check after replacing ``edit[0]`` by ``edit[1]`` in the kernel."""
    text = module.text
    if edit:
        text = text.replace(*edit)
        assert text != module.text
    return interpreter.check(text)


def only(made: Graph) -> EmittedModule:
    (module,) = modules(made)
    return module


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_one_percent_off_in_one_percent_of_elements_fails(
    interpreter: InterpreterPool, dtype: str
) -> None:
    module = only(chain(dtype))
    assert checked(module, interpreter).passed
    place = next(n for n in module.text.splitlines() if " = tmp" in n and " + tmp" in n).strip()
    name = place.split()[0]
    wrong = f"{place}\n    {name} = tl.where(xindex % 100 == 7, {name} * 1.01, {name})"
    assert not checked(module, interpreter, place, wrong).passed


@pytest.mark.parametrize("made", [NUMBERS, LOOKED_UP], ids=["numbers", "looked up"])
@pytest.mark.parametrize("factor", ["1.0", "(1 - 2.0**-22)", "(1 + 2.0**-22)"])
def test_a_logarithm_some_units_of_the_last_place_off_passes(
    interpreter: InterpreterPool, made: Graph, factor: str
) -> None:
    module = only(made)
    assert checked(module, interpreter, "tl.log(", f"{factor} * tl.log(").passed


@pytest.mark.parametrize("made", [NUMBERS, LOOKED_UP], ids=["numbers", "looked up"])
@pytest.mark.parametrize("factor", ["1.03", "0.97"])
def test_buckets_with_other_borders_fail(
    interpreter: InterpreterPool, made: Graph, factor: str
) -> None:
    module = only(made)
    assert not checked(module, interpreter, "tl.log(", f"{factor} * tl.log(").passed


def test_one_bucket_off_by_one_fails(interpreter: InterpreterPool) -> None:
    module = only(NUMBERS)
    stored = next(n for n in module.text.splitlines() if "tl.store(" in n)
    value = stored.split(", ")[1]
    wrong = stored.replace(f", {value}", f", {value} + (xindex == 20)")
    assert not checked(module, interpreter, stored, wrong).passed


@pytest.mark.parametrize(
    ("last", "passes"),
    [("(1 + 2.0**-23) * ", True), ("(1 + 2.0**-18) * ", False), ("1.0 + ", False)],
)
def test_what_float32_does_not_know_is_not_asked_of_a_kernel(
    interpreter: InterpreterPool, last: str, passes: bool
) -> None:
    """A sine of thousands: its argument is known to 1e-4."""
    module = only(
        graph("""def turns(
    x: "f32[40, 64]",
):
    mul: "f32[40, 64]" = aten.mul.Tensor(x, 3000.0)
    sin: "f32[40, 64]" = aten.sin.default(mul)
    return (sin,)
""")
    )
    assert checked(module, interpreter, "tl.sin(", f"tl.sin({last}").passed == passes


@pytest.mark.parametrize(("last", "passes"), [("(1 + 2.0**-22) * ", True), ("1.0001 * ", False)])
def test_a_function_of_an_inexact_one_is_as_inexact(
    interpreter: InterpreterPool, last: str, passes: bool
) -> None:
    """Beside 0 an exponential is as exact as its rounding, however exact its argument is."""
    module = only(
        graph("""def grows(
    x: "f32[40, 64]",
):
    small: "f32[40, 64]" = aten.mul.Tensor(x, 1e-3)
    exp: "f32[40, 64]" = aten.exp.default(small)
    mul: "f32[40, 64]" = aten.mul.Tensor(exp, 60.0)
    twice: "f32[40, 64]" = aten.exp.default(mul)
    return (twice,)
""")
    )
    old = "tl.exp("
    assert module.text.count(old) == 2
    at = module.text.index(old)
    wrong = module.text[:at] + last + module.text[at:]
    assert interpreter.check(wrong).passed == passes


@pytest.mark.parametrize(("most", "passes"), [(3.3895313892515355e38, True), (1e38, False)])
def test_beyond_the_largest_number_all_are_alike(
    interpreter: InterpreterPool, most: float, passes: bool
) -> None:
    """A mask of the smallest number times whole numbers: a fused operation does not overflow."""
    module = only(
        graph("""def mask(
    kept: "i64[128] bound=8",
):
    left: "f32[128]" = aten.sub.Tensor(1.0, kept)
    scaled: "f32[128]" = aten.mul.Tensor(left, -3.3895313892515355e+38)
    mask: "bf16[128]" = aten._to_copy.default(scaled, dtype=torch.bfloat16)
    return (mask,)
""")
    )
    line = next(part for part in module.text.splitlines() if "tl.store(" in part)
    value = line.split(", ")[1]
    bounded = line.replace(value, f"tl.minimum(tl.maximum({value}, -{most}), {most})")
    assert interpreter.check(module.text.replace(line, bounded)).passed == passes


@pytest.mark.parametrize(("last", "passes"), [("(1 + 2.0**-17) * ", True), ("1.01 * ", False)])
def test_what_16_bits_hold_or_not_may_depend_on_float32s_last_places(
    interpreter: InterpreterPool, last: str, passes: bool
) -> None:
    """65519.7 is 65504 there, 65520 is infinite, and so is a quarter of it."""
    module = only(
        graph("""def overflows(
    kept: "i64[128] bound=8",
):
    mul: "f32[128]" = aten.mul.Tensor(kept, 9359.957)
    log: "f32[128]" = aten.log.default(mul)
    exp: "f32[128]" = aten.exp.default(log)
    half: "f16[128]" = aten._to_copy.default(exp, dtype=torch.float16)
    quarter: "f16[128]" = aten.mul.Tensor(half, 0.25)
    return (half, quarter)
""")
    )
    assert checked(module, interpreter, "tl.exp(", f"{last}tl.exp(").passed == passes


def test_which_calls_are_inexact_and_what_jumps() -> None:
    assert {n.name for n in NUMBERS.nodes if is_inexact(n)} == {"log", "div"}
    assert jumps(NUMBERS.nodes, NUMBERS.types())
    assert not jumps(chain("f32").nodes, chain("f32").types())
    assert "*nudges" in only(NUMBERS).text and "*nudges" not in only(chain("f32")).text
    calls = only(chain("f32")).text.split("def reference(")[1].split("return [")[0]
    assert "* nudge" in calls and "* other" not in calls


def test_a_scatter_is_asked_for_distinct_places(interpreter: InterpreterPool) -> None:
    made = graph("""def scatter(
    x: "f32[50, 8]",
    index: "i64[50, 4] bound=8",
    value: "f32[50, 4]",
):
    scatter: "f32[50, 8]" = aten.scatter.src(x, 1, index, value)
    return (scatter,)
""")
    found = modules(made)
    assert any('"distinct:1", 8' in module.text for module in found)
    assert all(checked(module, interpreter).passed for module in found)


def test_the_denominator_under_a_sum_is_positive() -> None:
    made = graph("""def share(
    x: "f32[64, 2]",
):
    total: "f32[64, 1]" = aten.sum.dim_IntList(x, [1], True)
    div: "f32[64, 2]" = aten.div.Tensor(x, total)
    return (div,)
""")
    assert '"float32", "positive"' in only(made).text


def test_a_sum_of_what_is_rounded_may_cancel(interpreter: InterpreterPool) -> None:
    """The kernel rounds what it stores and sums that, but not what comes before it: neither
    float64 throughout nor the recorded types have that sum where large elements cancel."""
    made = graph("""def cancels(
    x: "bf16[64, 500]",
    w: "bf16[64, 500]",
):
    wide: "bf16[64, 500]" = aten.mul.Tensor(x, 3)
    exp: "bf16[64, 500]" = aten.exp.default(wide)
    stored: "bf16[64, 500]" = aten.mul.Tensor(exp, w)
    total: "bf16[1, 500]" = aten.sum.dim_IntList(stored, [0], True)
    return (stored, total)
""")
    answer = checked(only(made), interpreter)
    assert answer.passed and answer.max_error < 0.004  # 0.0067 without rounding in float64


@pytest.mark.parametrize("between", [("f32", "float32"), ("f64", "float64")])
def test_what_is_computed_in_32_bits_between_64_is_no_more_exact(
    between: tuple[str, str], interpreter: InterpreterPool
) -> None:
    """float64 throughout has another cosine in all elements, and that of 32 bits has the last
    place of another library; without a conversion all 64 bits count."""
    kind, name = between
    made = graph(f"""def narrow(
    x: "f64[64, 33]",
):
    low: "{kind}[64, 33]" = aten._to_copy.default(x, dtype=torch.{name})
    cos: "{kind}[64, 33]" = aten.cos.default(low)
    wide: "f64[64, 33]" = aten._to_copy.default(cos, dtype=torch.float64)
    mul: "f64[64, 33]" = aten.mul.Tensor(wide, x)
    return (mul,)
""")
    module = only(made)
    assert checked(module, interpreter).passed
    place = next(n for n in module.text.splitlines() if "tl.cos(" in n)
    for factor, passes in ((1 + 2e-7, kind == "f32"), (1 + 3e-3, False)):
        changed = place.replace("tl.cos(", f"{factor} * tl.cos(")
        assert checked(module, interpreter, place, changed).passed == passes, factor


def test_a_quotient_of_quotients_may_tie(interpreter: InterpreterPool) -> None:
    """Half of a row's largest is rounded from 63.5: which way, the last place of the two divisions
    before it decides, and whoever moves both alike moves their quotient nowhere."""
    made = graph("""def quantised(
    x: "bf16[64, 256]",
):
    abs: "bf16[64, 256]" = aten.abs.default(x)
    most: "bf16[64, 1]" = aten.amax.default(abs, [-1], True)
    wide: "f32[64, 1]" = aten._to_copy.default(most, dtype=torch.float32)
    scale: "f32[64, 1]" = aten.div.Tensor(wide, 127)
    quotient: "f32[64, 256]" = aten.div.Tensor(x, scale)
    round: "f32[64, 256]" = aten.round.default(quotient)
    small: "i8[64, 256]" = aten._to_copy.default(round, dtype=torch.int8)
    return (scale, small)
""")
    module = only(made)
    place = next(n for n in module.text.splitlines() if "rint(" in n)
    value = place.split("rint(")[1].split(")")[0]
    for factor, passes in (("(1 + 2.0**-22)", True), ("(1 - 2.0**-22)", True), ("1.01", False)):
        changed = place.replace(f"rint({value})", f"rint({value} * {factor})")
        assert checked(module, interpreter, place, changed).passed == passes, factor


def test_what_a_kernel_decides_on_is_rounded_in_every_reference(
    interpreter: InterpreterPool,
) -> None:
    """Sums of 16 bits that are equal once they are rounded: the kernel compares them rounded and
    goes on with float32, which neither float64 throughout nor the recorded types do."""
    made = graph("""def chosen(
    a: "bf16[512, 64]",
    b: "bf16[512, 64]",
    w: "bf16[512, 64]",
):
    large: "bf16[512, 64]" = aten.mul.Tensor(a, 64)
    sum: "bf16[512, 64]" = aten.add.Tensor(large, b)
    most: "bf16[512, 64]" = aten.round.default(sum)
    same: "b8[512, 64]" = aten.eq.Tensor(sum, most)
    steep: "bf16[512, 64]" = aten.mul.Tensor(sum, 0.1)
    exp: "bf16[512, 64]" = aten.exp.default(steep)
    long: "bf16[512, 64]" = aten.mul.Tensor(exp, w)
    half: "bf16[512, 64]" = aten.div.Tensor(long, 2)
    take: "bf16[512, 64]" = aten.where.self(same, half, long)
    total: "bf16[512, 1]" = aten.sum.dim_IntList(take, [1], True)
    return (total,)
""")
    assert checked(only(made), interpreter).passed


def test_an_input_that_only_lends_its_layout_has_it_in_the_reference(
    interpreter: InterpreterPool,
) -> None:
    call = "avg_pool2d_backward.default(gradient, x, [1, 2], [1, 2], [0, 0], False, True, None)"
    pooled = graph(f"""def pooled(
    gradient: "f32[2, 8, 1, 4]{{32, 1, 32, 8}}",
    x: "f32[2, 8, 1, 9]{{72, 1, 72, 8}} saved",
):
    back: "f32[2, 8, 1, 9]{{72, 1, 72, 8}}" = aten.{call}
    moved: "f32[2, 1, 9, 8]" = aten.permute.default(back, [0, 2, 3, 1])
    rows: "f32[18, 8]" = aten.view.default(moved, [18, 8])
    total: "f32[8]" = aten.sum.dim_IntList(rows, [0])
    return (total,)
""")
    found = checked(only(pooled), interpreter)
    assert found.passed, found.message


@pytest.mark.parametrize(("dtype", "bits"), [("f32", "i32"), ("f16", "i16"), ("bf16", "i16")])
def test_bits_are_those_of_the_recorded_type_in_the_reference_too(
    interpreter: InterpreterPool, dtype: str, bits: str
) -> None:
    """torch's atomic maximum of floats: of integers in the same order, and back."""
    names = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i16": "int16"}
    module = only(
        graph(f"""def ordered(
    x: "{dtype}[40, 64]",
):
    neg: "{dtype}[40, 64]" = aten.neg.default(x)
    bits: "{bits}[40, 64]" = aten.view.dtype(neg, torch.{names[bits]})
    lower: "{bits}[40, 64]" = aten.sub.Tensor(bits, 1)
    back: "{dtype}[40, 64]" = aten.view.dtype(lower, torch.{names[dtype]})
    mul: "{dtype}[40, 64]" = aten.mul.Tensor(back, 3.0)
    return (mul, lower)
""")
    )
    assert checked(module, interpreter).passed
    line = next(n for n in module.text.splitlines() if n.endswith("  # lower"))
    assert not checked(module, interpreter, line, line.replace(" - 1", " - 2")).passed


def test_many_writes_into_few_places_keep_what_lies_between(interpreter: InterpreterPool) -> None:
    """24 writes of one number to 3 of 6 places: a part, although it has more points than that."""
    found = modules(
        graph("""def parts(
    x: "f32[6]",
):
    exp: "f32[6]" = aten.exp.default(x)
    place: "i64[3]" = aten.arange.start_step(0, 6, 2, dtype=torch.int64)
    column: "i64[3, 1]" = aten.unsqueeze.default(place, -1)
    rows: "i64[3, 8]{1, 0}" = aten.expand.default(column, [3, 8])
    clone: "i64[3, 8]" = aten.clone.default(rows, memory_format=torch.contiguous_format)
    index: "i64[24]" = aten.view.default(clone, [24])
    scatter: "f32[6]" = aten.scatter.value(exp, 0, index, 5.0)
    return (scatter,)
""")
    )
    assert len(found) == 2 and all(checked(module, interpreter).passed for module in found)


@pytest.mark.parametrize(
    ("quotient", "passes"), [(" * 0.3333333432674408", True), (" * 0.3336", False)]
)
def test_ties_among_what_is_summed_are_decided_one_by_one(
    interpreter: InterpreterPool, quotient: str, passes: bool
) -> None:
    """Half of what is rounded to 16 bits here lies between two numbers when it is divided exactly.
    A GPU's quotient, off by a unit or not, decides some of these ties; all of them decided alike
    may come to less than one."""
    module = only(
        graph("""def gated(
    x: "bf16[64, 8192]",
    w: "bf16[64, 8192]",
):
    wide: "f32[64, 8192]" = aten._to_copy.default(x, dtype=torch.float32)
    div: "f32[64, 8192]" = aten.div.Tensor(wide, 3)
    gate: "f32[64, 8192]" = aten.add.Tensor(div, 0.5)
    mul: "f32[64, 8192]" = aten.mul.Tensor(w, gate)
    half: "bf16[64, 8192]" = aten._to_copy.default(mul, dtype=torch.bfloat16)
    back: "f32[64, 8192]" = aten._to_copy.default(half, dtype=torch.float32)
    total: "f32[8192]" = aten.sum.dim_IntList(back, [0])
    return (total,)
""")
    )
    assert checked(module, interpreter, " / 3.0", quotient).passed == passes


def test_16_bits_that_references_follow_do_not_widen_what_64_are_allowed() -> None:
    """Of a float64 output all elements may be off by what float32 on the way rounds, and by a place
    of 16 bits few, which references follow."""
    ((limit, usual),) = map(
        ast.literal_eval, allowed_pairs(["*fp64"], 1, True, ["*fp32", "*fp16"], True)
    )
    ((_, alone),) = map(ast.literal_eval, allowed_pairs(["*fp64"], 1, True, ["*fp32"], True))
    assert limit > usual == alone
