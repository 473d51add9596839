"""Matrix products through torch.compile in the interpreter, against eager mode."""

from __future__ import annotations

import torch

from harness.backend import Compiler, Devices


def test_products_are_generated_where_that_is_asked_for(devices: Devices) -> None:
    torch.manual_seed(0)
    first, second = torch.nn.Linear(64, 256), torch.nn.Linear(256, 512, bias=False)
    first, second = first.bfloat16(), second.bfloat16()
    x = torch.randn(2048, 64, dtype=torch.bfloat16)

    def layers(x: torch.Tensor) -> torch.Tensor:
        return second(torch.nn.functional.gelu(first(x)))

    calls = {}
    for templates in (False, True):
        torch.compiler.reset()
        compiler = Compiler(devices=devices, templates=templates)
        with torch.no_grad():
            made, right = torch.compile(layers, backend=compiler)(x), layers(x)
        torch.testing.assert_close(made, right, rtol=2e-2, atol=2e-2)
        (graph,) = compiler.compiled
        calls[templates] = [c.node.packet for c in graph.library_calls]
        names = [k.module.name for k in graph.kernels]
    assert calls == {False: ["addmm", "mm"], True: []}
    assert len(names) == 2 and all("tem" in name for name in names)  # GELU after the first
