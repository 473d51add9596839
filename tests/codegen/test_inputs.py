"""Which contents the inputs of a module must have for the kernel to make sense."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from harness.codegen.inputs import positive_values
from harness.graph.text import loads
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.runtime.module import load
from tests.codegen.kernels import modules


def test_only_values_that_enter_roots_and_logarithms_are_positive() -> None:
    graph = loads(
        "# harness graph 1\n"
        "def g(\n"
        '    x: "f32[8]",\n'
        '    var: "f32[8]",\n'
        '    step: "f32[8]",\n'
        '    d: "f32[8]",\n'
        "):\n"
        '    square: "f32[8]" = aten.pow.Tensor_Scalar(x, 2)\n'
        '    add: "f32[8]" = aten.add.Tensor(var, 1e-05)\n'
        '    rsqrt: "f32[8]" = aten.rsqrt.default(add)\n'
        '    root: "f32[8]" = aten.pow.Tensor_Scalar(step, 0.5)\n'
        '    div: "f32[8]" = aten.div.Tensor(square, d)\n'
        "    return (rsqrt, root, div)\n",
        "test graph",
    )
    assert positive_values(graph) == {"add", "var", "step", "d"}


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_slopes_of_positions_keep_exponentials_finite(
    dtype: str, interpreter: InterpreterPool, tmp_path: Path
) -> None:
    """ALiBi: drawn like any other number, a slope of 3 at position 511 leaves float32."""
    (module,) = modules(
        loads(
            f"""# harness graph 1
def alibi(
    slope: "f32[16]",
    score: "bf16[16, 512]",
    mask: "b8[16, 512]",
    most: "f32[16, 1]",
):
    far: "{dtype}[512]" = aten.arange.start_step(-511, 1, dtype=torch.int{dtype[1:]})
    column: "f32[16, 1]" = aten.view.default(slope, [16, 1])
    bias: "f32[16, 512]" = aten.mul.Tensor(far, column)
    add: "f32[16, 512]" = aten.add.Tensor(score, bias)
    hidden: "f32[]" = aten.scalar_tensor.default(-3e38, dtype=torch.float32)
    where: "f32[16, 512]" = aten.where.self(mask, hidden, add)
    sub: "f32[16, 512]" = aten.sub.Tensor(where, most)
    exp: "f32[16, 512]" = aten.exp.default(sub)
    sum: "f32[16]" = aten.sum.dim_IntList(exp, [1])
    return (sum,)
""",
            "test graph",
        )
    )
    loaded = load(module.text, tmp_path)
    for seed in range(12):
        args = loaded.get_args(device="cpu", seed=seed)
        assert loaded.reference(args)[0].isfinite().all() and args[0].any()
    assert interpreter.check(module.text).passed


@pytest.mark.parametrize("rows, size", [("24", "24"), ("s0", 'sym("s0")')])
def test_what_hides_scores_is_a_mask(
    rows: str, size: str, interpreter: InterpreterPool, tmp_path: Path
) -> None:
    """CANINE's: a mask that is small beside 1 would add -65504 to all scores of a row."""
    text = """# harness graph 1
def hidden(
    score: "f16[24, 4, 128]",
    mask: "f32[24, 128]",
):
    div: "f16[24, 4, 128]" = aten.div.Tensor(score, 8.0)
    view: "f32[24, 1, 128]" = aten.view.default(mask, [24, 1, 128])
    rest: "f32[24, 1, 128]" = aten.sub.Tensor(1.0, view)
    far: "f32[24, 1, 128]" = aten.mul.Tensor(rest, -65504.0)
    narrow: "f16[24, 1, 128]" = aten._to_copy.default(far, dtype=torch.float16)
    add: "f16[24, 4, 128]" = aten.add.Tensor(div, narrow)
    wide: "f32[24, 4, 128]" = aten._to_copy.default(add, dtype=torch.float32)
    amax: "f32[24, 4, 1]" = aten.amax.default(wide, [-1], True)
    sub: "f32[24, 4, 128]" = aten.sub.Tensor(wide, amax)
    exp: "f32[24, 4, 128]" = aten.exp.default(sub)
    sum: "f32[24, 4, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    share: "f32[24, 4, 128]" = aten.div.Tensor(exp, sum)
    kept: "f16[24, 4, 128]" = aten._to_copy.default(share, dtype=torch.float16)
    return (kept,)
"""
    (module,) = modules(
        loads(text.replace("(mask, [24", f"(mask, [{size}").replace("24", rows), "test graph")
    )
    args = load(module.text, tmp_path).get_args("cpu")
    mask = next(a for a in args if isinstance(a, torch.Tensor) and a.shape[1:] == (128,))
    assert set(mask.unique().tolist()) == {0.0, 1.0}
    assert interpreter.check(module.text).passed
    wrong = module.text.replace("= tl.sum(", "= 1.01 * tl.sum(")
    assert wrong != module.text and not interpreter.check(wrong).passed


@pytest.mark.parametrize("stride", ["{1, 0}", "{0, 1}", "{9, 1}"])
def test_places_that_memory_repeats_are_distinct_where_they_can_be(
    stride: str, tmp_path: Path
) -> None:
    text = f"""# harness graph 1
def put(
    x: "f32[9, 7]",
    at: "i64[5, 7]{stride}",
    y: "f32[5, 7]",
):
    out: "f32[9, 7]" = aten.scatter.src(x, 0, at, y)
    return (out,)
"""
    for module in modules(loads(text, "test graph")):
        loaded = load(module.text, tmp_path)
        for given in loaded.get_args(device="cpu"):
            if given.dtype is torch.int64:
                assert given.min() >= 0 and given.max() < 9
                if given.stride(0):
                    assert all(len(set(column.tolist())) == 5 for column in given.T)
