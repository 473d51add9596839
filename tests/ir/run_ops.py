"""Run by test_ops.py in a process of its own: every operation's Triton text, in one
kernel per operand type, either through Triton's interpreter or through its compiler.

    run_ops.py run IN.npz OUT.npz           TRITON_INTERPRET=1, or on a GPU without it
    run_ops.py compile DIRECTORY            for compute capability 9.0, no GPU
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from harness.codegen import tail
from harness.dtypes import DType
from harness.ir.ops import COMPUTE_TYPES, Op, Rule, result_dtype, triton_text
from harness.runtime.interpret import interpreting

POINTS = 256
HEADER = (
    "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n"
)


def cases(dtype: DType) -> list[tuple[str, Op, DType]]:
    """Name, operation and result type of everything tested on operands of ``dtype``."""
    found: list[tuple[str, Op, DType]] = []
    for op in Op:
        if dtype not in op.rule.accepts:
            continue
        if op is Op.BITCAST:
            targets = [t for t in COMPUTE_TYPES if _same_width(dtype, t)]
        elif op is Op.CAST:
            targets = list(COMPUTE_TYPES)
        else:
            condition = [DType.BOOL] if op.rule is Rule.SELECT else []
            targets = [result_dtype(op, (condition + [dtype] * op.arity)[: op.arity])]
        found.extend((f"{op.value}_{t.short}", op, t) for t in targets)
    return found


def _same_width(a: DType, b: DType) -> bool:
    return a.itemsize == b.itemsize and DType.BOOL not in (a, b)


def source(dtype: DType, nonnegative: bool = False) -> str:
    """A module with one kernel that runs every case of ``dtype`` on a row of operands."""
    table = cases(dtype)
    pointers = ", ".join(f"out{i}" for i in range(len(table)))
    lines = ["@triton.jit", f"def kernel(operands, {pointers}, N: tl.constexpr):"]
    lines.append("    where = tl.arange(0, N)")
    for number, (_, op, target) in enumerate(table):
        names = ("a", "b", "c")[: op.arity]
        for position, name in enumerate(names):
            load = f"tl.load(operands + {3 * number + position} * N + where)"
            is_bool = dtype is DType.BOOL or (op.rule is Rule.SELECT and position == 0)
            lines.append(f"    {name} = {load}{' != 0' if is_bool else ''}")
        dtypes = [dtype] * op.arity
        if op.rule is Rule.SELECT:
            dtypes[0] = DType.BOOL
        text = triton_text(op, names, dtypes, target, nonnegative)
        suffix = ".to(tl.int8)" if target is DType.BOOL else ""
        lines.append(f"    tl.store(out{number} + where, ({text}){suffix})")
    kernel = "\n".join(lines)
    return "\n\n".join((*tail.functions_called(kernel).values(), kernel)) + "\n"


def load_kernel(dtype: DType, folder: Path) -> ModuleType:
    """Write the module of ``dtype`` and import it."""
    path = folder / f"ops_{dtype.short}.py"
    path.write_text(HEADER + source(dtype))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _options(module: ModuleType) -> dict[str, bool]:
    """What a module with this kernel is compiled with: ``nextafter`` of 0 is below 2**-126."""
    text = Path(str(module.__file__)).read_text().removeprefix(HEADER)
    keeps = "COMPILE_OPTIONS" in tail.arguments("kernel", False, "", text)
    return {"enable_reflect_ftz": False} if keeps else {}


def run(inputs: Path, outputs: Path, interpreted: bool) -> None:
    """Run every kernel on the saved operands and save the results."""
    import torch

    operands = np.load(inputs)
    results: dict[str, Any] = {}
    if interpreted:
        interpreting.install()
    device = "cpu" if interpreted else "cuda"
    for dtype in COMPUTE_TYPES:
        module = load_kernel(dtype, outputs.parent)
        given = torch.from_numpy(operands[dtype.short]).to(device)
        made = []
        for _, _, target in cases(dtype):
            kind = DType.I8 if target is DType.BOOL else target
            held = getattr(torch, kind.torch_name)
            made.append(torch.full((POINTS,), 77, dtype=held, device=device))
        with np.errstate(all="ignore"):
            module.kernel[(1,)](given, *made, N=POINTS, **_options(module))
        for (name, _, _), tensor in zip(cases(dtype), made, strict=True):
            results[f"{dtype.short}/{name}"] = tensor.cpu().numpy()
    np.savez(outputs, **results)


def compile_all(folder: Path) -> None:
    """Compile every kernel to machine code for compute capability 9.0, a point to a thread."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    short = {DType.F32: "fp32", DType.F64: "fp64", DType.BOOL: "i8"}
    for dtype in COMPUTE_TYPES:
        module = load_kernel(dtype, folder)
        signature = {"operands": f"*{short.get(dtype, dtype.short)}"}
        for number, (_, _, target) in enumerate(cases(dtype)):
            signature[f"out{number}"] = f"*{short.get(target, target.short)}"
        signature["N"] = "constexpr"
        made = triton.compile(
            ASTSource(module.kernel, signature, {(len(signature) - 1,): 128}),
            target=GPUTarget("cuda", 90, 32),
        )
        if not math.isfinite(len(made.asm["cubin"])) or not made.asm["cubin"]:
            raise SystemExit(f"no machine code for {dtype.short}")
        print(dtype.short, len(cases(dtype)))


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(Path(sys.argv[2]), Path(sys.argv[3]), os.environ["TRITON_INTERPRET"] == "1")
    else:
        compile_all(Path(sys.argv[2]))
