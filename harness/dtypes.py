"""Element types: one line each, with the facts every package needs. No torch and no triton here:
both are named by string, so that reading a graph or printing a table does not import either."""

from __future__ import annotations

import enum
import math


class Kind(enum.Enum):
    """What arithmetic an element type belongs to."""

    BOOL = "bool"
    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOAT = "float"
    OPAQUE = "opaque"
    """Kernels have no arithmetic for it: library calls pass such values on."""


class DType(enum.Enum):
    """An element type: its short name, which is the value and stands in graph files, the
    attributes of ``torch`` and of ``triton.language`` that name it, bytes per element, its kind."""

    _value_: str
    torch_name: str
    triton_name: str
    itemsize: int
    kind: Kind

    def __new__(
        cls, short: str, torch: str = "", triton: str = "", size: int = 0, kind: Kind = Kind.OPAQUE
    ) -> DType:
        """One line of the table (``DType("f32")``, without the rest, looks one up)."""
        made = object.__new__(cls)
        made._value_, made.torch_name, made.triton_name = short, torch, triton
        made.itemsize, made.kind = size, kind
        return made

    BOOL = "b8", "bool", "int1", 1, Kind.BOOL
    U8 = "u8", "uint8", "uint8", 1, Kind.UNSIGNED
    I8 = "i8", "int8", "int8", 1, Kind.SIGNED
    I16 = "i16", "int16", "int16", 2, Kind.SIGNED
    I32 = "i32", "int32", "int32", 4, Kind.SIGNED
    I64 = "i64", "int64", "int64", 8, Kind.SIGNED
    U16 = "u16", "uint16", "uint16", 2, Kind.OPAQUE
    U32 = "u32", "uint32", "uint32", 4, Kind.OPAQUE
    U64 = "u64", "uint64", "uint64", 8, Kind.OPAQUE
    C32 = "c32", "complex32", "", 4, Kind.OPAQUE
    C64 = "c64", "complex64", "", 8, Kind.OPAQUE
    C128 = "c128", "complex128", "", 16, Kind.OPAQUE
    F8E4M3 = "f8e4m3", "float8_e4m3fn", "float8e4nv", 1, Kind.FLOAT
    F8E5M2 = "f8e5m2", "float8_e5m2", "float8e5", 1, Kind.FLOAT
    # 8-bit floats without instructions on the targets: AMD's, and bare exponents
    F8E4M3FNUZ = "f8e4m3fnuz", "float8_e4m3fnuz", "", 1, Kind.OPAQUE
    F8E5M2FNUZ = "f8e5m2fnuz", "float8_e5m2fnuz", "", 1, Kind.OPAQUE
    F8E8M0 = "f8e8m0", "float8_e8m0fnu", "", 1, Kind.OPAQUE
    F16 = "f16", "float16", "float16", 2, Kind.FLOAT
    BF16 = "bf16", "bfloat16", "bfloat16", 2, Kind.FLOAT
    F32 = "f32", "float32", "float32", 4, Kind.FLOAT
    F64 = "f64", "float64", "float64", 8, Kind.FLOAT

    @property
    def short(self) -> str:
        """Short name, e.g. ``bf16``."""
        return self.value

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.kind is Kind.FLOAT

    @property
    def is_float8(self) -> bool:
        """Whether values are floats of one byte."""
        return self.is_float and self.itemsize == 1

    @property
    def is_integer(self) -> bool:
        """Whether this is an integer type (bool is not)."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_opaque(self) -> bool:
        """Whether kernels cannot work on such elements."""
        return self.kind is Kind.OPAQUE

    @property
    def least(self) -> int:
        """The smallest number of an integer type."""
        return -(1 << 8 * self.itemsize - 1) if self.kind is Kind.SIGNED else 0

    @property
    def compute(self) -> DType:
        """The type arithmetic on such elements is carried out in."""
        return DType.F32 if self.is_float and self.itemsize < 4 else self

    def nearest(self, number: float) -> float:
        """The number of this float type that is nearest to ``number``: infinite if out of range."""
        if self not in _PRECISIONS or not math.isfinite(number):
            return number
        digits, least, largest = _PRECISIONS[self]
        ulp = 2.0 ** (max(math.frexp(number)[1], least) - digits)
        made = math.copysign(round(number / ulp) * ulp, number)
        return made if abs(made) <= largest else math.copysign(math.inf, number)

    def keeps(self, number: float) -> bool:
        """Whether a kernel converts this constant, of the compute type, without changing it."""
        saturated = self.is_float8 and math.isinf(number)
        return self.compute is self or (self.nearest(number) == number and not saturated)


_PRECISIONS = {
    DType.F8E4M3: (4, -5, 448.0),
    DType.F8E5M2: (3, -13, 57344.0),
    DType.F16: (11, -13, 65504.0),
    DType.BF16: (8, -125, 2.0**128 - 2.0**120),
    DType.F32: (24, -125, 2.0**128 - 2.0**104),
}
"""Types rounded to when compiling: binary digits, ``frexp``'s least normal exponent, largest."""
_BY_TORCH = {dtype.torch_name: dtype for dtype in DType}


def from_torch_name(name: str) -> DType:
    """The type torch calls ``name`` (``"float32"`` or ``"torch.float32"``). Raises ``KeyError`` for
    a type the compiler does not know (quantised)."""
    return _BY_TORCH[name.removeprefix("torch.")]
