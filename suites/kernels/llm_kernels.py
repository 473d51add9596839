"""Hand-written kernels of a language model's training step, as an example of `harness.kernel`.

RMSNorm, SwiGLU and cross-entropy are what fused-kernel libraries offer first. Run them with

    harness run suites/kernels/llm_kernels.py
    harness run suites/kernels/llm_kernels.py --against eager,inductor
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

import harness

ROW_CONFIGS = [{"BLOCK": 4096, "num_warps": warps} for warps in (4, 8, 16)]


# RMSNorm: a row per program, the row in one block.


def rms_norm_args(device, rows, columns):
    x = torch.randn(rows, columns, device=device, dtype=torch.bfloat16)
    weight = torch.rand(columns, device=device, dtype=torch.bfloat16) + 0.5
    scale = torch.empty(rows, device=device, dtype=torch.float32)
    return [x, weight, torch.empty_like(x), scale, columns, 1e-6]


def rms_norm_reference(x, weight, eps):
    wide = torch.promote_types(x.dtype, torch.float32)
    scale = torch.rsqrt(x.to(wide).square().mean(-1, keepdim=True) + eps)
    return [(x * scale * weight).to(x.dtype), scale.squeeze(-1)]


@harness.kernel(
    args=rms_norm_args,
    reference=rms_norm_reference,
    outputs=["out", "scale"],
    grid=lambda rows: (rows,),
    configs=ROW_CONFIGS,
    sizes={"rows": 8192, "columns": 4096},
    small={"rows": 5, "columns": 300},
)
@triton.jit
def rms_norm(x, weight, out, scale, columns, eps, BLOCK: tl.constexpr):
    """Root-mean-square norm of every row; its scale is kept for the backward pass."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row * columns + column, inside, 0.0).to(tl.float32)
    factor = tl.rsqrt(tl.sum(value * value, 0) / columns + eps)
    weights = tl.load(weight + column, inside).to(tl.float32)
    tl.store(out + row * columns + column, value * factor * weights, inside)
    tl.store(scale + row, factor)


# SwiGLU: silu(gate) * up, forward, and its backward pass in place of both inputs.


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


def swiglu_args(device, elements):
    gate = torch.randn(elements, device=device, dtype=torch.bfloat16)
    up = torch.randn(elements, device=device, dtype=torch.bfloat16)
    return [gate, up, torch.empty_like(gate), elements]


def swiglu_reference(gate, up):
    wide = torch.promote_types(gate.dtype, torch.float32)
    return (F.silu(gate.to(wide)) * up).to(gate.dtype)


@harness.kernel(
    args=swiglu_args,
    reference=swiglu_reference,
    outputs=["out"],
    grid=lambda elements, BLOCK: (triton.cdiv(elements, BLOCK),),
    configs=[{"BLOCK": block, "num_warps": 4} for block in (512, 1024, 2048)],
    sizes={"elements": 4096 * 11008},
    small={"elements": 2000},
)
@triton.jit
def swiglu(gate, up, out, elements, BLOCK: tl.constexpr):
    """silu(gate) · up."""
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < elements
    value = tl.load(gate + index, inside).to(tl.float32)
    factor = tl.load(up + index, inside).to(tl.float32)
    tl.store(out + index, silu(value) * factor, inside)


def swiglu_backward_args(device, elements):
    gate = torch.randn(elements, device=device, dtype=torch.float32)
    up = torch.randn(elements, device=device, dtype=torch.float32)
    return {
        "gate": gate,
        "up": up,
        "grad": torch.randn(elements, device=device, dtype=torch.float32),
        "elements": elements,
    }


def swiglu_backward_reference(gate, up, grad):
    sigmoid = torch.sigmoid(gate)
    return [grad * up * sigmoid * (1 + gate * (1 - sigmoid)), grad * gate * sigmoid]


@harness.kernel(
    args=swiglu_backward_args,
    reference=swiglu_backward_reference,
    mutates=["gate", "up"],
    grid=lambda elements, BLOCK: (triton.cdiv(elements, BLOCK),),
    configs=[{"BLOCK": block, "num_warps": 4} for block in (512, 1024)],
    sizes={"elements": 4096 * 5504},
    small={"elements": 2000},
)
@triton.jit
def swiglu_backward(gate, up, grad, elements, BLOCK: tl.constexpr):
    """The gradients of gate and up, written over them."""
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < elements
    g, u = tl.load(gate + index, inside), tl.load(up + index, inside)
    d = tl.load(grad + index, inside)
    s = tl.sigmoid(g)
    tl.store(gate + index, d * u * s * (1 + g * (1 - s)), inside)
    tl.store(up + index, d * silu(g), inside)


# Cross-entropy: the loss of each row, and its gradient in place of the logits.


def cross_entropy_args(device, rows, classes):
    logits = torch.randn(rows, classes, device=device, dtype=torch.float32)
    target = torch.randint(0, classes, (rows,), device=device)
    return [logits, target, torch.empty(rows, device=device), classes]


def cross_entropy_reference(logits, target):
    loss = F.cross_entropy(logits, target, reduction="none")
    wanted = F.one_hot(target, logits.shape[-1])
    return [torch.softmax(logits, -1) - wanted, loss]


@harness.kernel(
    args=cross_entropy_args,
    reference=cross_entropy_reference,
    mutates=["logits"],
    outputs=["loss"],
    grid=lambda rows: (rows,),
    # The row of logits is read twice and written once.
    bytes=lambda logits, target, loss: 3 * logits.nbytes + target.nbytes + loss.nbytes,
    configs=[{"BLOCK": block, "num_warps": block // 512} for block in (2048, 4096, 8192)],
    sizes={"rows": 4096, "classes": 32000},
    small={"rows": 3, "classes": 2500},
)
@triton.jit
def cross_entropy(logits, target, loss, classes, BLOCK: tl.constexpr):
    """Loss and gradient in two passes over the row, the softmax's sum kept up to date."""
    row = tl.program_id(0).to(tl.int64)
    start = logits + row * classes
    wanted = tl.load(target + row)
    largest, total = float("-inf"), 0.0
    for first in range(0, classes, BLOCK):
        column = first + tl.arange(0, BLOCK)
        value = tl.load(start + column, column < classes, float("-inf"))
        higher = tl.maximum(largest, tl.max(value, 0))
        total = total * tl.exp(largest - higher) + tl.sum(tl.exp(value - higher), 0)
        largest = higher
    tl.store(loss + row, tl.log(total) + largest - tl.load(start + wanted))
    tl.debug_barrier()
    for first in range(0, classes, BLOCK):
        column = first + tl.arange(0, BLOCK)
        inside = column < classes
        value = tl.load(start + column, inside, float("-inf"))
        gradient = tl.exp(value - largest) / total - tl.where(column == wanted, 1.0, 0.0)
        tl.store(start + column, gradient, inside)
