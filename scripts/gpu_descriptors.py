"""Whether tensor descriptors (TMA) are faster than pointers in kernels that read each element once:
a sum of two tensors, a softmax, a sum with a transposed tensor.

    python scripts/gpu_descriptors.py

Each way runs in several block shapes and numbers of warps; its three fastest are printed: medians
of 25 events, 256 MiB of bfloat16 a tensor, the L2 cache cold because another tensor is read before.
Every result is compared with torch's.
"""

# ruff: noqa: ANN001, ANN201, B023, D103, E731, N803 — kernels' arguments are what Triton makes of them
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,name-defined"

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from itertools import product

import torch
import triton
import triton.language as tl

ELEMENTS, COLUMNS, ROWS, PROCESSORS = 1 << 27, 4096, 8192, 132
Run = tuple[str, Callable[[], object]]


@triton.jit
def add_pointers(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at).to(tl.float32) + tl.load(y + at).to(tl.float32)
    tl.store(out + at, total.to(tl.bfloat16))


@triton.jit
def add_descriptors(x, y, out, blocks, WIDE: tl.constexpr):
    left = tl.make_tensor_descriptor(x, [blocks * WIDE, 128], [128, 1], [WIDE, 128])
    right = tl.make_tensor_descriptor(y, [blocks * WIDE, 128], [128, 1], [WIDE, 128])
    target = tl.make_tensor_descriptor(out, [blocks * WIDE, 128], [128, 1], [WIDE, 128])
    for block in tl.range(tl.program_id(0), blocks, tl.num_programs(0), num_stages=3):
        at = block * WIDE
        total = left.load([at, 0]).to(tl.float32) + right.load([at, 0]).to(tl.float32)
        target.store([at, 0], total.to(tl.bfloat16))


@triton.jit
def softmax_pointers(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(x + at).to(tl.float32)
    power = tl.exp(row - tl.max(row, 0))
    tl.store(out + at, (power / tl.sum(power, 0)).to(tl.bfloat16))


@triton.jit
def softmax_descriptors(x, out, rows, WIDE: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows * WIDE, 128], [128, 1], [WIDE, 128])
    target = tl.make_tensor_descriptor(out, [rows * WIDE, 128], [128, 1], [WIDE, 128])
    for at in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=3):
        row = source.load([at * WIDE, 0]).to(tl.float32)
        power = tl.exp(row - tl.max(tl.max(row, 1), 0))
        target.store([at * WIDE, 0], (power / tl.sum(tl.sum(power, 1), 0)).to(tl.bfloat16))


@triton.jit
def across_pointers(x, y, out, M: tl.constexpr, N: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    i = (tl.program_id(0) * A + tl.arange(0, A))[:, None]
    j = (tl.program_id(1) * B + tl.arange(0, B))[None, :]
    tl.store(out + i * N + j, tl.load(x + j * M + i) + tl.load(y + i * N + j))


@triton.jit
def across_descriptors(
    x, y, out, M: tl.constexpr, N: tl.constexpr, A: tl.constexpr, B: tl.constexpr
):
    transposed = tl.make_tensor_descriptor(x, [N, M], [M, 1], [B, A])
    source = tl.make_tensor_descriptor(y, [M, N], [N, 1], [A, B])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [A, B])
    i, j = tl.program_id(0) * A, tl.program_id(1) * B
    target.store([i, j], transposed.load([j, i]).T + source.load([i, j]))


def microseconds(run: Callable[[], object], flush: torch.Tensor) -> float:
    """The median of 25 events, with a cold cache."""
    taken = []
    for _ in range(25):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.sum()
        begin.record()
        run()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(taken)


def main() -> None:
    """Time every way of every kernel."""
    triton.set_allocator(lambda size, *_: torch.empty(size, device="cuda", dtype=torch.int8))
    flush = torch.ones(1 << 26, device="cuda")
    x, y = (torch.randn(ELEMENTS, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(x)

    def fastest(name: str, runs: Iterable[Run], expected: torch.Tensor, off: float = 0) -> None:
        found = []
        for label, run in runs:
            out.fill_(torch.nan)
            run()
            difference = (out.float() - expected.float()).abs().max().item()
            assert difference <= off, f"{name} {label} is off by {difference}"
            found.append((microseconds(run, flush), label))
        print(name, *(f"{label} {us:.1f} us" for us, label in sorted(found)[:3]), sep="  ")

    def over(kernel, widths: Iterable[int], warps: Iterable[int], run) -> Iterable[Run]:
        for width, count in product(widths, warps):
            yield f"{width}, {count} warps", lambda w=width, c=count: run(kernel, w, c)

    fastest("copy", [("torch", lambda: out.copy_(x))], x)
    added = x + y
    one = lambda kernel, w, c: kernel[(ELEMENTS // w,)](x, y, out, w, num_warps=c)
    fastest("add, pointers", over(add_pointers, (1024, 2048, 4096), (4, 8), one), added)
    for each in (0, 1, 2, 4):
        blocks = lambda w: ELEMENTS // w if not each else PROCESSORS * each
        many = lambda kernel, w, c: kernel[(blocks(w),)](
            x, y, out, ELEMENTS // w, w // 128, num_warps=c
        )
        title = f"add, descriptors, {f'{each} programs each' if each else 'a program a block'}"
        fastest(title, over(add_descriptors, (2048, 4096, 8192), (4, 8), many), added)
    shares = x.view(-1, COLUMNS).float().softmax(-1).bfloat16().view(-1)
    rows = ELEMENTS // COLUMNS
    one = lambda kernel, w, c: kernel[(rows,)](x, out, w, num_warps=c)
    fastest("softmax, pointers", over(softmax_pointers, (COLUMNS,), (4, 8, 16), one), shares, 1e-2)
    many = lambda kernel, each, c: kernel[(PROCESSORS * each,)](
        x, out, rows, COLUMNS // 128, num_warps=c
    )
    descriptors = over(softmax_descriptors, (2, 4, 8), (4, 8), many)
    fastest("softmax, descriptors", descriptors, shares, 1e-2)
    columns = ELEMENTS // ROWS
    turned = (x.view(columns, ROWS).t() + y.view(ROWS, columns)).reshape(-1)
    for name, kernel in (("pointers", across_pointers), ("descriptors", across_descriptors)):
        tiles = [
            (
                f"{a} x {b}, {c} warps",
                lambda k=kernel, a=a, b=b, c=c: k[(ROWS // a, columns // b)](
                    x, y, out, ROWS, columns, a, b, num_warps=c
                ),
            )
            for a, b, c in product((32, 64, 128), (32, 64, 128), (4, 8))
        ]
        fastest(f"transposed and added, {name}", tiles, turned)


if __name__ == "__main__":
    main()
