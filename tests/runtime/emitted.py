"""Emitted modules written by hand, for tests of what loads, compiles and runs them."""

from __future__ import annotations

_COMMON = """
def _config(config):
    return dict(CONFIGS[0] if config is None else config)


def call(args, config=None):
    config = _config(config)
    KERNEL_FUNCTION[grid(config)](*args, **config)


def check(args=None, config=None):
    args = get_args() if args is None else args
    for i in OUTPUTS:
        if i not in KEPT:
            args[i].fill_(float("nan"))
    expected = reference([a.clone() for a in args], wide=True)
    call(args, config)
    pairs = zip(OUTPUTS, expected)
    error = max((args[i].double() - e.double()).abs().max().item() for i, e in pairs)
    return {"passed": error <= ALLOWED, "max_error": error, "allowed": ALLOWED}
"""

POINTWISE = (
    '''
"""triton_poi_fused_tanh_add_0: tanh(a) + b."""
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

KERNEL = "triton_poi_fused_tanh_add_0"; CATEGORY = "poi"; BYTES = 3 * 4 * 2000
CONFIGS = [
    {"XBLOCK": 1024, "num_warps": 4, "num_stages": 1},
    {"XBLOCK": 512, "num_warps": 4, "num_stages": 1},
]
SIGNATURE = {"in_ptr0": "*fp32", "in_ptr1": "*fp32", "out_ptr0": "*fp32"}
DIVISIBLE_BY_16 = ("in_ptr0", "in_ptr1", "out_ptr0")
OUTPUTS = (2,); KEPT = (); ALLOWED = 1e-6


@triton.jit
def triton_poi_fused_tanh_add_0(in_ptr0, in_ptr1, out_ptr0, XBLOCK: tl.constexpr):
    xnumel = 2000
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + xindex, xmask)
    tmp1 = tl.load(in_ptr1 + xindex, xmask)
    tmp2 = libdevice.tanh(tmp0) + tmp1
    tl.store(out_ptr0 + xindex, tmp2, xmask)


KERNEL_FUNCTION = triton_poi_fused_tanh_add_0


def grid(config):
    return (-(-2000 // config["XBLOCK"]), 1, 1)


def get_args(device=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    tensors = [torch.randn(2000, generator=generator) for _ in range(3)]
    return [t.to(device) for t in tensors]


def reference(args, wide=False):
    a, b = (t.double() if wide else t for t in args[:2])
    return [torch.tanh(a) + b]
'''
    + _COMMON
)

ROW_SUM = (
    '''
"""triton_per_fused_sum_1: rows of 300 summed in one block."""
import torch
import triton
import triton.language as tl

KERNEL = "triton_per_fused_sum_1"; CATEGORY = "per"; BYTES = 40 * 300 * 2 + 40 * 4
CONFIGS = [{"XBLOCK": 4, "R0_BLOCK": 512, "num_warps": 4, "num_stages": 1}]
SIGNATURE = {"in_ptr0": "*bf16", "out_ptr0": "*fp32"}
DIVISIBLE_BY_16 = ("in_ptr0", "out_ptr0")
OUTPUTS = (1,); KEPT = (); ALLOWED = 1e-3


@triton.jit
def triton_per_fused_sum_1(in_ptr0, out_ptr0, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    xmask = xindex < 40
    mask = xmask & (r0_index < 300)
    tmp0 = tl.load(in_ptr0 + (r0_index + 300 * xindex), mask, other=0.0).to(tl.float32)
    tmp1 = tl.sum(tmp0, 1)[:, None]
    tl.store(out_ptr0 + xindex, tmp1, xmask)


KERNEL_FUNCTION = triton_per_fused_sum_1


def grid(config):
    return (-(-40 // config["XBLOCK"]), 1, 1)


def get_args(device=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(40, 300, generator=generator).bfloat16()
    return [rows.to(device), torch.empty(40, device=device)]


def reference(args, wide=False):
    return [(args[0].double() if wide else args[0].float()).sum(1)]
'''
    + _COMMON
)

WRONG = POINTWISE.replace("libdevice.tanh(tmp0) + tmp1", "libdevice.tanh(tmp0) - tmp1")
"""Computes something other than its reference."""

BROKEN = POINTWISE.replace("libdevice.tanh(tmp0) + tmp1", "tl.no_such_function(tmp0)")
"""Does not compile."""

ENDLESS = POINTWISE.replace(
    "    tmp2 = ", "    while xnumel > 0:\n        xnumel = xnumel + 1\n    tmp2 = "
)
"""Never ends."""

CRASHING = POINTWISE.replace(
    "def get_args(device=None, seed=0):",
    "def get_args(device=None, seed=0):\n    import os; os._exit(3)",
)
"""Takes its process with it."""


SIZED = (
    POINTWISE.replace('"out_ptr0": "*fp32"}', '"out_ptr0": "*fp32", "xnumel": "i32"}')
    .replace("out_ptr0, XBLOCK: tl.constexpr", "out_ptr0, xnumel, XBLOCK: tl.constexpr")
    .replace("    xnumel = 2000\n", "")
    .replace("def grid(config):", 'UNKNOWN_SIZES = {"xnumel": 2000}\n\n\ndef grid(config, args):')
    .replace("(-(-2000 //", "(-(-args[3] //")
)
"""Takes its number of elements as an argument."""

COMPOSED = (
    ROW_SUM[: ROW_SUM.index("@triton.jit")].replace("(1,)", "(2, 3)")
    + """CALLS = []


@triton.jit
def _then(scale, shift, later_scale, later_shift):
    CALLS.append(1)
    return scale * later_scale, shift * later_scale + later_shift


@triton.jit
def triton_per_fused_sum_1(
    scales, shifts, whole, part, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr
):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    place = 512 * xindex + tl.arange(0, R0_BLOCK)[None, :]
    both = tl.load(scales + place), tl.load(shifts + place)
    tl.store(whole + xindex, tl.reduce(both, 1, _then)[1][:, None])
    tl.store(part + place, tl.associative_scan(both, 1, _then, reverse=True)[1])


KERNEL_FUNCTION = triton_per_fused_sum_1


def grid(config):
    return (2, 1, 1)


def get_args(device=None, seed=0):
    assert not tl.core.is_builtin(tl.load), "the interpreter's own are in its place"
    generator = torch.Generator().manual_seed(seed)
    scales, shifts = torch.rand(2, 8, 512, generator=generator)
    return [0.5 + scales / 2, shifts, torch.empty(8), torch.empty(8, 512)]


def reference(args, wide=False):
    def last(scales, shifts):
        found = [torch.zeros(8, dtype=torch.float64)]
        for scale, shift in zip(scales.double().unbind(1), shifts.double().unbind(1)):
            found.append(found[-1] * scale + shift)
        return torch.stack(found[1:], 1)

    assert len(CALLS) == 0
    scales, shifts = args[:2]
    return [last(scales, shifts)[:, -1], last(scales.flip(1), shifts.flip(1)).flip(1)]
"""
    + _COMMON.replace("    pairs =", "    assert len(CALLS) == 2 * 18, len(CALLS)\n    pairs =")
)
"""Reduces and scans by a function that is not commutative; says how often it was called."""

SPILLING = ROW_SUM.replace(
    "CONFIGS = [",
    'CONFIGS = [{"XBLOCK": 32, "R0_BLOCK": 512, "num_warps": 1, "num_stages": 1, "maxnreg": 24}, ',
)
"""Its first candidate holds 512 elements a thread in 24 registers."""
