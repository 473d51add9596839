"""The union of values is closed: every kind is handled wherever values are looked at."""

import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
import sympy

from harness.dtypes import DType
from harness.graph.lowering.cost import profile
from harness.ir.index import axis_symbol, indirect_symbol, integers
from harness.ir.nodes import (
    Axis,
    Builder,
    Constant,
    Nest,
    ReduceKind,
    ScanKind,
    Store,
    Value,
    operands,
    rewrite,
    rewrite_stores,
    store_roots,
    walk,
)
from harness.ir.ops import Op
from harness.ir.printer import dump
from harness.ir.program import Buffer, Program, Role
from harness.ir.verify import verify
from tests.ir.oracle import interpret

ROOT = Path(__file__).parents[2]
ROW, COLUMN, PLACE = axis_symbol("i", 0), axis_symbol("r", 0), indirect_symbol(0)


def sample() -> tuple[dict[type, Value], Program]:
    """One value of every kind, all used by one program."""
    make = Builder()
    zero = make.constant(0.0, DType.F32)
    position = make.index(COLUMN, DType.I64)
    small = make.compute(Op.LT, position, make.constant(3, DType.I64), dtype=DType.BOOL)
    load = make.load("x", 4 * ROW + PLACE, DType.F32, ((PLACE, position),))
    masked = make.masked(small, load, zero)
    running = make.scan(ScanKind.SUM, masked, dtype=DType.F32)
    ordered = make.sort(running, descending=True, component=0)
    total = make.reduce(ReduceKind.SUM, ordered, dtype=DType.F32)
    result = make.compute(Op.ADD, total, zero, dtype=DType.F32)
    kinds = {type(v): v for v in (zero, position, small, load, masked, running, ordered)}
    kinds[type(total)] = total
    program = Program(
        "p",
        (
            Buffer("x", DType.F32, integers((2, 4)), integers((4, 1)), Role.INPUT, "x"),
            Buffer("y", DType.F32, integers((2,)), integers((1,)), Role.OUTPUT, "y"),
        ),
        (
            Nest(
                "n0",
                (Axis(ROW, sympy.Integer(2)),),
                (Axis(COLUMN, sympy.Integer(4)),),
                (Store("y", ROW, result),),
                ("y",),
            ),
        ),
        ("y",),
    )
    return kinds, program


def test_the_sample_has_every_kind() -> None:
    assert set(sample()[0]) == set(typing.get_args(Value))


@pytest.mark.parametrize("kind", typing.get_args(Value), ids=lambda kind: kind.__name__)
def test_operands_and_rebuild_answer_for(kind: type) -> None:
    value = sample()[0][kind]
    again = rewrite([value], Builder())[id(value)]
    assert type(again) is kind and again is not value
    assert again.dtype is value.dtype
    assert len(operands(again)) == len(operands(value))
    assert bool(operands(value)) is (kind.__name__ not in ("Constant", "IndexValue"))
    profile(value)


def test_printer_verifier_and_interpreter_know_every_kind() -> None:
    _, program = sample()
    verify(program)
    values = list(walk(store_roots(program.nests[0].stores)))
    assert all(f"%{number} = " in dump(program) for number in range(len(values)))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert interpret(program, {"x": x})["y"].tolist() == [7.0, 43.0]


def test_a_rewrite_may_replace_a_value_and_leaves_the_rest() -> None:
    kinds, program = sample()
    make = Builder()
    (store,) = rewrite_stores(
        program.nests[0].stores,
        make,
        lambda index: index + 1,
        lambda value, made: make.constant(2.0, DType.F32) if value.dtype is DType.F32 else None,
    )
    assert store.index == ROW + 1
    assert isinstance(store.value, Constant) and store.value.number == 2.0
    assert kinds[Constant].number == 0.0


def test_the_type_checker_finds_who_does_not_know_a_new_kind(tmp_path: Path) -> None:
    """A made-up kind is added to the union in a copy of the file that defines it."""
    text = (ROOT / "harness/ir/nodes.py").read_text()
    made_up = "@dataclass(frozen=True)\nclass MadeUp(_Typed):\n    args: tuple[Value, ...]\n\n\n"
    changed = text.replace("Value: TypeAlias = ", f"{made_up}Value: TypeAlias = MadeUp | ")
    assert changed != text
    copy = tmp_path / "nodes.py"
    copy.write_text(changed)
    folders = ["ir", "schedule", "tiling", "codegen", "graph/lowering"]
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache")]
    command += ["--shadow-file", "harness/ir/nodes.py", str(copy)]
    command += [*(f"harness/{folder}" for folder in folders), "tests/ir/oracle.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = {line.split(":")[0] for line in done.stdout.splitlines() if "MadeUp" in line}
    assert found == {
        "harness/codegen/body.py",
        "harness/codegen/operations.py",
        "harness/codegen/rounding.py",
        "harness/codegen/values.py",
        "harness/graph/lowering/context.py",
        "harness/graph/lowering/cost.py",
        "harness/ir/nodes.py",
        "harness/ir/printer.py",
        "harness/ir/verify.py",
        "harness/tiling/passes.py",
        "harness/tiling/rewrite.py",
        "tests/ir/oracle.py",
    }


def test_no_match_hides_a_kind() -> None:
    folders = ("ir", "schedule", "tiling", "codegen")
    files = [f for folder in folders for f in (ROOT / "harness" / folder).rglob("*.py")]
    assert len(files) > 40
    assert [f.name for f in files if "        case _:" in f.read_text()] == []
