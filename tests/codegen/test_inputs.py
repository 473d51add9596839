"""Which inputs of a module must be positive for the kernel to make sense."""

from __future__ import annotations

from harness.codegen.inputs import positive_values
from harness.graph.text import loads


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
