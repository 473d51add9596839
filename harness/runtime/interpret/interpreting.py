"""What an interpreter worker can do; imported only in worker processes. Triton's interpreter has no
device library (libdevice): here Triton's own declarations of its functions (argument types,
broadcasting, result type) are kept and only the last step, the call of the symbol, is carried out
with torch on the CPU. So a call the compiler would refuse is refused here as well."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from harness import errors
from harness.devices.job import Context
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, LaunchJob
from harness.target import H100

_BY_ZERO = "an integer is divided by zero"
_OUT_OF_RANGE = re.compile("outside its tensor|index is out of range")
_STORAGE = "storage"


class Bounds:
    """The storages that kernels may touch, as ranges of addresses. A GPU would read, or ruin,
    whatever lies outside; an index that a model got wrong has to be an error instead. Each pointer
    may only reach the storage that its argument lies in."""

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[int, int]] = {}

    def allow(self, args: Iterable[Any]) -> None:
        """From now on only the storages of these arguments; without any, anything."""
        self._ranges = {}
        for arg in (one for one in args if isinstance(one, torch.Tensor)):
            low = arg.untyped_storage().data_ptr()
            high = low + arg.untyped_storage().nbytes()
            known = self._ranges.get(arg.data_ptr(), (low, high))
            self._ranges[arg.data_ptr()] = min(known[0], low), max(known[1], high)

    def check(self, pointers: Any, mask: Any) -> None:
        """``IndexError`` if an access that is not masked out is outside."""
        storage = pointers.attr.get(_STORAGE) or self._storage(pointers)
        if storage is None or not pointers.data.size:
            return
        low, high = storage
        size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        first = pointers.data.astype(np.int64)
        outside = (first < low) | (first + size > high)
        if np.any(outside & np.broadcast_to(mask.data, outside.shape)):
            raise IndexError(f"an index reaches outside its tensor's {high - low} bytes")

    def _storage(self, pointers: Any) -> tuple[int, int] | None:
        """The storage that an argument, or a block of one address, points into."""
        return self._ranges.get(int(pointers.data.flat[0])) if pointers.data.size else None

    def install(self) -> None:
        """Have the interpreter in this process check every access."""
        from triton.runtime import interpreter

        builder: Any = interpreter.InterpreterBuilder
        # Kernels' own assertions too; integers that wrap around are what they are.
        options = dataclasses.replace(builder().options, debug=True, sanitize_overflow=False)
        interpreter.interpreter_builder.options = options
        add = builder.create_addptr

        def create_addptr(own: Any, pointer: Any, offset: Any) -> Any:
            made = add(own, pointer, offset)
            storage = pointer.attr.get(_STORAGE) or self._storage(pointer)
            if storage is not None:
                made.attr[_STORAGE] = storage
            return made

        as_other = builder.create_bitcast

        def create_bitcast(own: Any, value: Any, kind: Any) -> Any:
            made = as_other(own, value, kind)  # pointers to bools become pointers to bytes
            made.attr.update({k: v for k, v in value.attr.items() if k == _STORAGE})
            return made

        builder.create_addptr, builder.create_bitcast = create_addptr, create_bitcast
        for name, mask_at in (
            ("create_masked_load", 1),
            ("create_masked_store", 2),
            ("create_atomic_rmw", 3),
        ):
            setattr(builder, name, self._checked(getattr(builder, name), mask_at))

    def _checked(self, access: Callable[..., Any], mask_at: int) -> Callable[..., Any]:
        def checked(own: Any, *args: Any) -> Any:
            # The pointer is the first operand, of a read-modify-write the second.
            self.check(args[mask_at == 3], args[mask_at])
            return access(own, *args)

        return checked


def _exact(_: Context) -> tuple[Bounds, modules.Load]:
    """Triton's interpreter in this process made exact: what kernels may touch, and modules."""
    torch.set_num_threads(1)
    install()
    install_exactness()
    install_trees()
    install_once()
    bounds = Bounds()
    bounds.install()
    return bounds, modules.keeping()


def check(context: Context, job: CheckJob) -> CheckResult:
    """The handler of ``CheckJob``: the module's own check on fresh inputs in host memory."""
    began = time.perf_counter()
    bounds, load = context.once(_exact)
    loaded = load(job.module_text, context.cache)
    bounds.allow(())
    try:
        found = loaded.check(loaded.get_args("cpu", job.seed, dict(job.sizes)), job.config)
    except errors.HarnessError:
        raise
    except Exception as error:
        raise _failed(loaded, job.config, error) from error
    return result(found, time.perf_counter() - began)


def launch(context: Context, job: LaunchJob) -> tuple[int, ...]:
    """The handler of ``LaunchJob``."""
    bounds, load = context.once(_exact)
    loaded = load(job.module_text, context.cache)
    args = job.package.unpack()
    bounds.allow(args)
    config = job.config or loaded.at(args, H100).configs[0]  # as on the GPU it was compiled for
    try:
        loaded.call(args, config)
    except Exception as error:
        raise _failed(loaded, config, error) from error
    return loaded.outputs


def _failed(
    loaded: modules.LoadedModule, config: Config | None, error: Exception
) -> errors.HarnessError:
    chosen = modules.config_dict(config or loaded.configs[0])
    cause: BaseException = error
    while cause.__cause__ is not None:  # one for each function within functions
        cause = cause.__cause__
    told = str(cause) if isinstance(cause, IndexError | AssertionError) else ""
    if _BY_ZERO in told:
        return errors.DivisionByZero(_BY_ZERO, where=loaded.name)
    if _OUT_OF_RANGE.search(told):
        lines = (loaded.raw.__doc__ or "").split("\n\n")[1:2]  # of the model, below the title
        return errors.IndexOutOfRange(
            "an index is out of range",
            where="; ".join([loaded.name, *(line.strip() for line in "".join(lines).splitlines())]),
            got=told,
            expected="indices within the tensor",
            remedy="run the model without the backend: eager mode names the index",
        )
    kind = errors.OutOfMemory if lacks_memory(cause) else errors.CheckFailed
    return kind(
        "a kernel could not be run in the interpreter",
        where=f"{loaded.name} {chosen}",
        got=errors.reason(error),
        expected="a kernel that runs to its end",
        remedy=f"see its text in {loaded.path}",
    )


def lacks_memory(error: BaseException) -> bool:
    """Whether ``error`` is an allocator's, of the device or of the host."""
    host = "DefaultCPUAllocator: can't allocate memory"  # torch has no type for it
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or host in str(error)


def result(found: dict[str, Any], seconds: float) -> CheckResult:
    """A module's answer as data; an error that is not a number counts as infinite."""
    error = float(found["max_error"])
    error = math.inf if math.isnan(error) else error
    return CheckResult(
        passed=bool(found["passed"]) and not math.isinf(error),
        max_error=error,
        allowed=float(found["allowed"]),
        message=str(found.get("message", "")),
        seconds=seconds,
    )


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
    # Torch's, of vectors, is NaN where the quotient is infinite.
    "fmod": lambda x, y: torch.from_numpy(np.asarray(np.fmod(x.numpy(), y.numpy()))),
    "nextafter": torch.nextafter,
    "finite": torch.isfinite,
    "llabs": torch.abs,
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
    """Have the interpreter in this process do five things right. It converts between
    floating-point types; repeats a scalar in its own numpy type (it takes the result of comparing
    two scalars for a number of the type that was compared); multiplies matrices of bfloat16 (it
    takes their bits for integers); takes a tensor of one element as a loop's bound (Triton before
    3.7 converts an array of one dimension, which numpy refuses); and reads what atomic operations
    are given where it lies (Triton 3.6 takes a value that repeats for one that is in memory as
    often)."""
    import triton.language as tl
    from triton.runtime import interpreter

    cut, patch = interpreter._convert_float, interpreter._patch_lang_tensor
    change = interpreter.InterpreterBuilder.create_atomic_rmw
    multiply = interpreter.InterpreterBuilder.create_dot

    def convert(data: Any, source: Any, target: Any, rounding: Any) -> Any:
        if source.name in _FLOATS and target.name in _FLOATS:
            return round_to(data, source.name, target.name)
        return cut(data, source, target, rounding)

    def create_splat(_builder: Any, kind: Any, arg: Any) -> Any:
        made = np.full(kind.shape, np.asarray(arg.data).flat[0])
        return interpreter.TensorHandle(made, arg.dtype.scalar)

    def create_dot(builder: Any, *operands: Any) -> Any:
        if operands[0].dtype.scalar.name == "bf16":
            pair = (round_to(o.data, "bf16", "fp32").view(np.float32) for o in operands[:2])
            wide = (interpreter.TensorHandle(data, tl.float32) for data in pair)
            return multiply(builder, *wide, *operands[2:])
        return multiply(builder, *operands)

    def patch_tensor(tensor: Any, *others: Any) -> None:
        patch(tensor, *others)
        tensor.__index__ = lambda self: int(self.handle.data.item())

    def create_atomic_rmw(builder: Any, kind: Any, *operands: Any) -> Any:
        for operand in operands[:3]:  # pointers, values, masks
            operand.data = np.asarray(operand.data, order="C")
        return change(builder, kind, *operands)

    interpreter._convert_float = convert
    interpreter.InterpreterBuilder.create_splat = create_splat
    interpreter.InterpreterBuilder.create_dot = create_dot
    interpreter.InterpreterBuilder.create_atomic_rmw = create_atomic_rmw
    interpreter._patch_lang_tensor = patch_tensor


def install_once() -> None:
    """Have the interpreter in this process put its own in the place of the language's functions
    once: it looks through all of them at every launch and at every call of a function (5 ms)."""
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
