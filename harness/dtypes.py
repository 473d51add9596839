"""Element types: one row each, with the facts every room needs.

No torch and no triton here: both are named by string, so that reading a graph
or printing a table does not import either.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """What arithmetic an element type belongs to."""

    BOOL = "bool"
    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOAT = "float"
    OPAQUE = "opaque"
    """Kernels have no arithmetic for it: library calls pass such values on."""


@dataclass(frozen=True, slots=True)
class DTypeFacts:
    """The row of one element type.

    ``compute`` is the short name of the type arithmetic is carried out in
    (16-bit and 8-bit floats compute in float32); ``accumulate`` the type a sum
    or product of such elements is accumulated in.
    """

    short: str
    torch_name: str
    triton_name: str
    itemsize: int
    kind: Kind
    compute: str
    accumulate: str


_ROWS = (
    DTypeFacts("b8", "bool", "int1", 1, Kind.BOOL, "b8", "i64"),
    DTypeFacts("u8", "uint8", "uint8", 1, Kind.UNSIGNED, "u8", "i64"),
    DTypeFacts("i8", "int8", "int8", 1, Kind.SIGNED, "i8", "i64"),
    DTypeFacts("i16", "int16", "int16", 2, Kind.SIGNED, "i16", "i64"),
    DTypeFacts("i32", "int32", "int32", 4, Kind.SIGNED, "i32", "i64"),
    DTypeFacts("i64", "int64", "int64", 8, Kind.SIGNED, "i64", "i64"),
    DTypeFacts("u16", "uint16", "uint16", 2, Kind.OPAQUE, "u16", "u16"),
    DTypeFacts("u32", "uint32", "uint32", 4, Kind.OPAQUE, "u32", "u32"),
    DTypeFacts("u64", "uint64", "uint64", 8, Kind.OPAQUE, "u64", "u64"),
    DTypeFacts("c32", "complex32", "", 4, Kind.OPAQUE, "c32", "c32"),
    DTypeFacts("c64", "complex64", "", 8, Kind.OPAQUE, "c64", "c64"),
    DTypeFacts("c128", "complex128", "", 16, Kind.OPAQUE, "c128", "c128"),
    DTypeFacts("f8e4m3", "float8_e4m3fn", "float8e4nv", 1, Kind.FLOAT, "f32", "f32"),
    DTypeFacts("f8e5m2", "float8_e5m2", "float8e5", 1, Kind.FLOAT, "f32", "f32"),
    DTypeFacts("f8e4m3fnuz", "float8_e4m3fnuz", "", 1, Kind.OPAQUE, "f8e4m3fnuz", "f8e4m3fnuz"),
    DTypeFacts("f8e5m2fnuz", "float8_e5m2fnuz", "", 1, Kind.OPAQUE, "f8e5m2fnuz", "f8e5m2fnuz"),
    DTypeFacts("f8e8m0", "float8_e8m0fnu", "", 1, Kind.OPAQUE, "f8e8m0", "f8e8m0"),
    DTypeFacts("f16", "float16", "float16", 2, Kind.FLOAT, "f32", "f32"),
    DTypeFacts("bf16", "bfloat16", "bfloat16", 2, Kind.FLOAT, "f32", "f32"),
    DTypeFacts("f32", "float32", "float32", 4, Kind.FLOAT, "f32", "f32"),
    DTypeFacts("f64", "float64", "float64", 8, Kind.FLOAT, "f64", "f64"),
)
_BY_SHORT = {row.short: row for row in _ROWS}
_BY_TORCH = {row.torch_name: row.short for row in _ROWS}


class DType(enum.Enum):
    """An element type; the value is the short name used in graph files."""

    BOOL = "b8"
    U8 = "u8"
    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    C32 = "c32"
    C64 = "c64"
    C128 = "c128"
    F8E4M3 = "f8e4m3"
    F8E5M2 = "f8e5m2"
    F8E4M3FNUZ = "f8e4m3fnuz"
    F8E5M2FNUZ = "f8e5m2fnuz"
    F8E8M0 = "f8e8m0"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"

    @property
    def facts(self) -> DTypeFacts:
        """The full row."""
        return _BY_SHORT[self.value]

    @property
    def short(self) -> str:
        """Short name, e.g. ``bf16``."""
        return self.value

    @property
    def torch_name(self) -> str:
        """Attribute of ``torch`` that names this type, e.g. ``bfloat16``."""
        return _BY_SHORT[self.value].torch_name

    @property
    def triton_name(self) -> str:
        """Attribute of ``triton.language`` that names this type."""
        return _BY_SHORT[self.value].triton_name

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return _BY_SHORT[self.value].itemsize

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return _BY_SHORT[self.value].kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether this is an integer type (bool is not)."""
        return _BY_SHORT[self.value].kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_opaque(self) -> bool:
        """Whether kernels cannot work on such elements: complex numbers, wide unsigned integers,
        8-bit floats without instructions on the targets (AMD's ``fnuz``, bare exponents)."""
        return _BY_SHORT[self.value].kind is Kind.OPAQUE

    @property
    def least(self) -> int:
        """The smallest number of an integer type."""
        row = _BY_SHORT[self.value]
        return -(1 << 8 * row.itemsize - 1) if row.kind is Kind.SIGNED else 0

    @property
    def compute(self) -> DType:
        """The type arithmetic on such elements is carried out in."""
        return DType(_BY_SHORT[self.value].compute)

    @property
    def accumulate(self) -> DType:
        """The type sums and products of such elements are accumulated in."""
        return DType(_BY_SHORT[self.value].accumulate)


def from_torch_name(name: str) -> DType:
    """The type torch calls ``name`` (``"float32"`` or ``"torch.float32"``).

    Raises ``KeyError`` for a type the compiler does not know (quantised).
    """
    return DType(_BY_TORCH[name.removeprefix("torch.")])
