"""Type rules: which compute types an operation takes and which one comes out."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from harness.dtypes import DType
from harness.errors import InvalidProgram

FLOATS = (DType.F32, DType.F64)
INTEGERS = (DType.U8, DType.I8, DType.I16, DType.I32, DType.I64)
NUMBERS = (*INTEGERS, *FLOATS)
COMPUTE_TYPES = (DType.BOOL, *NUMBERS)


class Rule(enum.Enum):
    """How the result type follows from the operand types.

    Operands of one operation have one type, except the condition of WHERE and the
    operand of a conversion: lowering writes promotion as CAST.
    """

    FLOAT = "floats of one type give that type"
    NUMBER = "numbers of one type give that type"
    ANY = "operands of one type give that type"
    BITS = "integers or bools of one type give that type"
    INTEGER = "integers of one type give that type"
    LOGIC = "bools give bool"
    COMPARE = "operands of one type give bool"
    TEST = "a number gives bool"
    FLOAT_TEST = "a float gives bool"
    SELECT = "bool and two operands of one type give that type"
    CONVERT = "any type gives the type asked for"

    @property
    def accepts(self) -> tuple[DType, ...]:
        """Operand types (of the selected operands for SELECT)."""
        match self:
            case Rule.FLOAT | Rule.FLOAT_TEST:
                return FLOATS
            case Rule.NUMBER | Rule.TEST:
                return NUMBERS
            case Rule.INTEGER:
                return INTEGERS
            case Rule.BITS:
                return (DType.BOOL, *INTEGERS)
            case Rule.LOGIC:
                return (DType.BOOL,)
            case Rule.ANY | Rule.COMPARE | Rule.SELECT | Rule.CONVERT:
                return COMPUTE_TYPES

    @property
    def yields_bool(self) -> bool:
        """Whether the result is bool whatever the operands are."""
        return self in (Rule.LOGIC, Rule.COMPARE, Rule.TEST, Rule.FLOAT_TEST)


def apply(rule: Rule, name: str, arity: int, dtypes: Sequence[DType]) -> DType:
    """The result type of operation ``name`` on operands of ``dtypes``.

    Raises ``InvalidProgram`` if the count or the types break the rule, and for
    CONVERT, whose result type the operands do not decide.
    """
    got = ", ".join(d.short for d in dtypes)
    if len(dtypes) != arity:
        raise InvalidProgram(
            "an operation has the wrong number of operands",
            where=name,
            got=f"{len(dtypes)} ({got})",
            expected=str(arity),
        )
    if rule is Rule.CONVERT:
        raise InvalidProgram(
            "the operands of a conversion do not say its result type",
            where=name,
            got=got,
            expected="the type carried by the node",
        )
    chosen = dtypes[1:] if rule is Rule.SELECT else dtypes
    condition_ok = rule is not Rule.SELECT or dtypes[0] is DType.BOOL
    if len(set(chosen)) != 1 or chosen[0] not in rule.accepts or not condition_ok:
        raise InvalidProgram(
            "an operation has operands of the wrong type",
            where=name,
            got=got,
            expected=f"{rule.value}; accepted: {', '.join(d.short for d in rule.accepts)}",
            remedy="cast the operands to one compute type first",
        )
    return DType.BOOL if rule.yields_bool else chosen[0]
