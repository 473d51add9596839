"""Stand-ins for the device library (libdevice) in Triton's interpreter.

The interpreter has no device library: calling one of its functions yields nothing. Here
Triton's own declarations of those functions (argument types, broadcasting, result type)
are kept and only the last step, the call of the symbol, is carried out with torch on the
CPU. So a call the compiler would refuse is refused here as well.

Installed only in worker processes, which do nothing but interpret.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Tensor = torch.Tensor
Function = Callable[..., Tensor]

_LOG2_10 = math.log2(10.0)


def _round_half_away(x: Tensor) -> Tensor:
    """C's ``round``: halves away from zero."""
    whole = torch.trunc(x)
    return torch.where((x - whole).abs() >= 0.5, whole + torch.sign(x), whole)


def _cbrt(x: Tensor) -> Tensor:
    return torch.sign(x) * torch.pow(x.abs(), 1.0 / 3.0)


def _tgamma(x: Tensor) -> Tensor:
    """Γ(x) by the reflection of log Γ; the sign alternates between negative integers."""
    size = torch.exp(torch.lgamma(x))
    return torch.where((x < 0) & (torch.floor(x).remainder(2) != 0), -size, size)


# What torch has no function of that name for, or one that does something else.
_REAL: dict[str, Function] = {
    "cbrt": _cbrt,
    "cospi": lambda x: torch.cos(x.remainder(2) * math.pi),
    "cyl_bessel_i0": torch.special.i0,
    "cyl_bessel_i1": torch.special.i1,
    "erfcinv": lambda x: torch.erfinv(1 - x),
    "exp10": lambda x: torch.exp2(x * _LOG2_10),
    "fabs": torch.abs,
    "fdim": lambda x, y: torch.where(x > y, x - y, torch.zeros_like(x)),
    "fdivide": torch.div,
    "fma": lambda x, y, z: x * y + z,
    "j0": torch.special.bessel_j0,
    "j1": torch.special.bessel_j1,
    "logb": lambda x: torch.frexp(x).exponent.to(x.dtype) - 1,
    "nearbyint": torch.round,
    "norm3d": lambda x, y, z: torch.sqrt(x * x + y * y + z * z),
    "norm4d": lambda x, y, z, w: torch.sqrt(x * x + y * y + z * z + w * w),
    "normcdf": torch.special.ndtr,
    "normcdfinv": torch.special.ndtri,
    "powi": torch.pow,
    "rcbrt": lambda x: 1 / _cbrt(x),
    "rcp": torch.reciprocal,
    "remainder": lambda x, y: x - y * torch.round(x / y),
    "rhypot": lambda x, y: 1 / torch.hypot(x, y),
    "rint": torch.round,
    "round": _round_half_away,
    "saturate": lambda x: torch.nan_to_num(x).clamp(0, 1),
    "scalbn": torch.ldexp,
    "sinpi": lambda x: torch.sin(x.remainder(2) * math.pi),
    "tgamma": _tgamma,
    "y0": torch.special.bessel_y0,
    "y1": torch.special.bessel_y1,
}

# Carried out on the arguments' own types: bit-level meaning, or an integer result.
_EXACT: dict[str, Function] = {
    "nextafter": torch.nextafter,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "isfinite": torch.isfinite,
    "finite": torch.isfinite,
    "signbit": torch.signbit,
    "llabs": torch.abs,
    "abs": torch.abs,
    "llrint": torch.round,
    "llround": _round_half_away,
    "ilogb": lambda x: torch.frexp(x).exponent - 1,
    "float_as_int": lambda x: x.view(torch.int32),
    "int_as_float": lambda x: x.view(torch.float32),
    "double_as_longlong": lambda x: x.view(torch.int64),
    "longlong_as_double": lambda x: x.view(torch.float64),
}


def stand_in(symbol: str) -> Function | None:
    """What is carried out for ``symbol`` of the device library: in float64 (integer arguments,
    exponents, stay integers) unless it is about bits. Approximations in single precision
    (``fast_sinf``) and functions that round to nearest (``fadd_rn``) are the functions themselves;
    those of another rounding mode have no stand-in."""
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    if name.endswith("_rn"):
        name = name.removesuffix("_rn")
        name = name if name.startswith("fma") else name[1:]
    for known in (name, name[:-1] if name.endswith(("f", "d")) else name):
        if known in _EXACT:
            return _EXACT[known]
        function: Function | None = _REAL.get(known) or getattr(torch, known, None)
        function = function or getattr(torch.special, known, None)
        if function is not None:
            found = function
            return lambda *args: found(*(a.double() if a.is_floating_point() else a for a in args))
    return None


def evaluate(function: Function, args: list[np.ndarray[Any, Any]], result: Any) -> Any:
    """``function`` on numpy arrays, as an array of numpy type ``result``."""
    tensors = [torch.from_numpy(np.array(a, copy=True)) for a in args]
    with np.errstate(all="ignore"):
        return function(*tensors).numpy().astype(result)


_FLOATS = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
}
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def round_to(data: np.ndarray[Any, Any], source: str, target: str) -> np.ndarray[Any, Any]:
    """``data``, the values or bits of Triton type ``source``, as the bits of ``target``. To
    nearest, ties to even, as the device does (the interpreter's own conversion cuts bits off);
    8-bit types saturate instead of overflowing, as the device's instruction does."""
    given, wanted = _FLOATS[source], _FLOATS[target]
    raw = np.ascontiguousarray(data).view(f"i{given.itemsize}" if given.itemsize > 1 else "u1")
    values = torch.from_numpy(raw.reshape(-1).copy()).view(given).to(torch.float64)
    if wanted.itemsize == 1:
        most = torch.finfo(wanted).max
        values = values.clamp(-most, most)
    rounded = values.to(torch.float32).to(wanted) if wanted.itemsize < 4 else values.to(wanted)
    bits = rounded.view(_BITS[wanted.itemsize]).numpy()
    return bits.view(f"u{wanted.itemsize}").reshape(data.shape)


def install_exactness() -> None:
    """Have the interpreter in this process do four things right. It converts between
    floating-point types; repeats a scalar in its own numpy type (it takes the result of comparing
    two scalars for a number of the type that was compared); takes a tensor of one element as a
    loop's bound (Triton before 3.7 converts an array of one dimension, which numpy refuses); and
    reads what atomic operations are given where it lies (Triton 3.6 takes a value that repeats for
    one that is in memory as often)."""
    from triton.runtime import interpreter

    cut, patch = interpreter._convert_float, interpreter._patch_lang_tensor
    change = interpreter.InterpreterBuilder.create_atomic_rmw

    def convert(data: Any, source: Any, target: Any, rounding: Any) -> Any:
        if source.name in _FLOATS and target.name in _FLOATS:
            return round_to(data, source.name, target.name)
        return cut(data, source, target, rounding)

    def create_splat(_builder: Any, kind: Any, arg: Any) -> Any:
        made = np.full(kind.shape, np.asarray(arg.data).flat[0])
        return interpreter.TensorHandle(made, arg.dtype.scalar)

    def patch_tensor(tensor: Any, *others: Any) -> None:
        patch(tensor, *others)
        tensor.__index__ = lambda self: int(self.handle.data.item())

    def create_atomic_rmw(builder: Any, kind: Any, *operands: Any) -> Any:
        for operand in operands[:3]:  # pointers, values, masks
            operand.data = np.asarray(operand.data, order="C")
        return change(builder, kind, *operands)

    interpreter._convert_float = convert
    interpreter.InterpreterBuilder.create_splat = create_splat
    interpreter.InterpreterBuilder.create_atomic_rmw = create_atomic_rmw
    interpreter._patch_lang_tensor = patch_tensor


def install_once() -> None:
    """Have the interpreter in this process put its own in the place of the language's functions
    once: it looks through all of them at every launch and at every call of a function (5 ms)."""
    from types import SimpleNamespace

    import triton.language as tl
    from triton.runtime import interpreter

    interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    interpreter._patch_lang = lambda _: SimpleNamespace(restore=lambda: None)


def install_trees() -> None:
    """Have the interpreter reduce and scan by a function in the order of a tree, as a device does,
    whole blocks at a time: its own way calls the function for every element."""
    from triton.runtime import interpreter

    def combined(own: Any, kinds: list[Any], left: list[Any], right: list[Any]) -> list[Any]:
        operands = [*zip(left, kinds, strict=True), *zip(right, kinds, strict=True)]
        made = own.combine_fn.fn(*(own.to_tensor(data, kind) for data, kind in operands))
        found = [one.handle.data for one in (made if isinstance(made, tuple) else (made,))]
        return [
            np.broadcast_to(new, old.shape).astype(old.dtype)
            for new, old in zip(found, right, strict=True)
        ]

    def generic_reduce(own: Any, given: Any) -> list[Any]:
        parts, axis = own.unravel(given, own.axis)
        kinds, data = [one.dtype for one in parts], [one.handle.data for one in parts]
        while (length := data[0].shape[axis]) > 1:
            even, odd = ([one.take(range(at, length, 2), axis) for one in data] for at in (0, 1))
            data = combined(own, kinds, even, odd)
        whole = given[0].handle.data.ndim if own.axis is None else 0
        if not own.keep_dims:
            data = [one.squeeze(axis) for one in data]
        elif whole:
            data = [one.reshape((1,) * whole) for one in data]
        return [own.to_tensor(one, kind) for one, kind in zip(data, kinds, strict=True)]

    def generic_scan(own: Any, given: Any) -> list[Any]:
        kinds, data = [one.dtype for one in given], [one.handle.data for one in given]
        places, step = np.indices(data[0].shape, sparse=True)[own.axis], 1
        while step < data[0].shape[own.axis]:
            made = combined(own, kinds, [np.roll(one, step, own.axis) for one in data], data)
            both = zip(data, made, strict=True)
            data, step = [np.where(places < step, old, new) for old, new in both], 2 * step
        return [own.to_tensor(one, kind) for one, kind in zip(data, kinds, strict=True)]

    interpreter.ReduceOps.generic_reduce = generic_reduce
    interpreter.ScanOps.generic_scan = generic_scan
    for sequential in ("cumsum", "cumprod"):
        setattr(interpreter.ScanOps, sequential, lambda own, one: generic_scan(own, [one]))


def install() -> None:
    """Give the interpreter in this process a device library. Imports Triton, which must
    find ``TRITON_INTERPRET`` set."""
    from triton.language.extra import cuda, libdevice
    from triton.runtime import interpreter

    def create(
        _builder: Any, _lib: str, _path: str, symbol: str, args: list[Any], kind: Any, _pure: bool
    ) -> Any:
        function = stand_in(symbol)
        if function is None:
            raise NotImplementedError(f"no stand-in for {symbol} in the interpreter")
        scalar = kind.scalar
        data = evaluate(function, [a.data for a in args], interpreter._get_np_dtype(scalar))
        return interpreter.TensorHandle(data, scalar)

    interpreter.InterpreterBuilder.create_extern_elementwise = create
    declared = cuda.libdevice
    for name in [n for n in dir(libdevice) if callable(getattr(libdevice, n))]:
        original = getattr(declared, name, None)
        if original is not None:
            called = functools.partial(original, _semantic=interpreter.interpreter_semantic)
            setattr(libdevice, name, called)
            setattr(declared, name, called)
