"""Random programs: the same for the same seed, right through the backend, and small once wrong."""

from __future__ import annotations

import inspect
import json
import random
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo import guards

from harness.backend import Devices
from harness.conformance import compare
from harness.conformance import fuzz as fuzzing
from harness.conformance.batch import devices_of
from harness.conformance.compare import differences, torchs_own
from harness.conformance.fuzz import Program, Trial, fuzz, make_program, shrunk, trial
from harness.devices.job import Context
from harness.errors import RecordError
from harness.graph.lowering.scalar import Scalar
from harness.ir.nodes import Value

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:<string>")  # the programs are odd


def test_a_seed_is_a_program() -> None:
    programs = [make_program(seed) for seed in range(200)]
    assert programs == [make_program(seed) for seed in range(200)]
    assert max(len(p.statements) for p in programs) == 40
    text = "\n".join(p.reproducer for p in programs)
    for part in ("requires_grad_", "nan", "-inf", ".add_(1)", "reshape((0", "uint8", "x0[..., :2]"):
        assert part in text
    for program in programs[:40]:
        function, calls = program.load()
        for args in calls:
            function(*args)


def test_a_program_on_another_device_makes_all_its_tensors_there() -> None:
    for seed in range(120):
        program = replace(make_program(seed), device="meta")
        function, given = program.load()
        assert {arg.device.type for args in given for arg in args} == {"meta"}
        made = "|".join(map(re.escape, fuzzing._templates()["made"]))
        calls = re.findall(rf"\b(?:{made})\(", program.text)
        assert inspect.getsource(function).count("device='meta'") == len(calls)
    small = Program(("torch.tensor([1, 2])",), ("v0 = x0 + torch.arange(2)",), ("v0",))
    assert "device=" not in small.reproducer
    function, (args,) = replace(small, device="meta").load()
    assert function(*args)[0].device.type == "meta"


def test_some_programs_are_called_again() -> None:
    """Of other sizes, of other strides, and where two inputs are one memory."""
    calls = [p.load()[1] for p in map(make_program, range(100, 400)) if p.again]
    assert 60 < len(calls) < 120
    pairs = [pair for first, then in calls for pair in zip(first, then, strict=True)]
    assert any(x.shape != y.shape for x, y in pairs)
    assert any(x.shape == y.shape and x.stride() != y.stride() for x, y in pairs)
    assert all(x.requires_grad == y.requires_grad for x, y in pairs)
    places = [[{x.untyped_storage().data_ptr() for x in call} for call in both] for both in calls]
    assert any(len(then) < len(first) for first, then in places)


def test_what_is_wrong_in_a_second_call_is_found() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def backend(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        sizes = [one.shape[0] for one in inputs if isinstance(one, torch.Tensor)]
        return gm if sizes == [3] else lambda *args: [args[-1] * 2]

    assert differences(function, [torch.zeros(3)], backend) == []
    both = differences(function, [torch.zeros(3)], backend, then=[[torch.zeros(3)]])
    assert both == []
    told = differences(function, [torch.zeros(3)], backend, then=[[torch.zeros(5)]])
    assert told == ["then, 0: [0.0, 0.0, 0.0, 0.0, 0.0] instead of [1.0, 1.0, 1.0, 1.0, 1.0]"]


def test_a_second_call_stays_where_it_is_needed() -> None:
    program = Program(
        ("torch.ones(2, 3)", "torch.ones(3)"),
        ("v0 = x1.sin()", "v1 = x0.cos()"),
        ("v0", "v1"),
        again=("x0.detach()", "x0.detach().flatten()[:3].reshape((3,))"),
    )
    small = shrunk(program, lambda p: bool(p.again) and "v0" in p.outputs)
    assert small.again == program.again and small.statements == ("v0 = x1.sin()",)
    _, (_, (x, y)) = small.load()
    assert x.data_ptr() == y.data_ptr()
    alone = shrunk(program, lambda p: bool(p.again) and "v1" in p.outputs)
    assert "y1 = torch.zeros(1)" in alone.reproducer
    assert not shrunk(program, lambda p: "v0" in p.outputs).again


def test_what_a_program_says_is_known_where_it_runs() -> None:
    program = Program(("torch.ones(3)",), ("v0 = x0 * 2",), ("v0",))
    function, _ = program.load()
    assert inspect.getsource(function) == "def f(x0):\n    v0 = x0 * 2\n    return v0,"


def test_worker_processes_do_not_time_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "profile_guard_manager", guards.profile_guard_manager)
    devices_of(Context()).close()
    no_guards: Any = None  # torch's own function raises
    assert guards.profile_guard_manager(no_guards, {}, 1) == 0.0


def test_torchs_other_ways_are_not_tried_once_all_lines_are_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is a compilation; what the first ones said stays said."""
    said = {"aot_eager": ["0: 1.00391 instead of 2"], "eager": ["1: a stride"]}
    tried: list[Any] = []

    def differences(function: Any, args: Any, compiler: Any) -> list[str]:
        tried.append(compiler if isinstance(compiler, str) else "traced")
        return said.get(tried[-1], [])

    monkeypatch.setattr(compare, "differences", differences)
    assert torchs_own(abs, [], ["0: 1.00012 instead of 2"]) == ("0: 1.00012 instead of 2",)
    assert tried == ["aot_eager"]
    both = ["1: a stride", "0: 1.00012 instead of 2"]
    assert torchs_own(abs, [], both) == tuple(both)
    assert tried[1:] == ["aot_eager", "eager"]
    assert torchs_own(abs, [], [*both, "2: wrong", "0: 1.1 instead of 2"]) == tuple(both)
    assert tried[3:] == ["aot_eager", "eager", "aot_eager_decomp_partition", "traced", "traced"]
    assert torchs_own(abs, [], ["then, 1: a stride"]) == ("then, 1: a stride",)


def test_a_part_of_a_split_whose_whole_was_changed_is_left_alone() -> None:
    whole = torch.ones(4, requires_grad=True).clone()
    part = whole.split(2)[0]
    assert not fuzzing._is_parameter(part)
    whole.add_(1)
    with pytest.raises(RuntimeError):
        assert not part.is_leaf
    assert fuzzing._is_parameter(part)


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("{0}.unbind(0)[-1]", (1000,)),
        ("{0}.split(2, 0)[0]", (1000,)),
        ("{0}.cumprod(0)", (100,)),
        ("F.scaled_dot_product_attention({0}, {0}, {0})", (1, 0, 3, 4)),
    ],
)
def test_what_torch_traces_for_minutes_or_ends_eager_mode_is_not_made(
    monkeypatch: pytest.MonkeyPatch, line: str, shape: tuple[int, ...]
) -> None:
    """Each of thousands of parts, and of the gradient of a running product each element; attention
    of none of the heads divides by zero (691656)."""
    data = fuzzing._templates()
    data = data | dict.fromkeys(("dependent", *data["kinds"]), (line,))
    monkeypatch.setattr(fuzzing, "_templates", lambda: data)
    for made in (shape, (1, 2, 3, 4)):
        maker = fuzzing._Maker(random.Random(0), backward=True)
        maker.scope["x0"] = torch.zeros(made)
        for _ in range(20):
            maker.statement()
        assert bool(maker.statements) == (made != shape)


@pytest.mark.parametrize("first", range(0, 300, 30))
def test_three_hundred_short_programs_are_right(devices: Devices, first: int) -> None:
    seeds = range(first, first + 30)
    trials = [trial(seed, devices, make_program(seed, 5, 8)) for seed in seeds]
    assert [one for one in trials if one.faults] == []
    assert sum(one.kernels for one in trials) > 30


def test_some_long_programs_are_right(devices: Devices) -> None:
    trials = [trial(seed, devices, make_program(seed, 30, 40)) for seed in range(4)]
    assert [one for one in trials if one.faults] == []


def test_programs_are_tried_by_processes_and_kept(tmp_path: Path) -> None:
    journal = tmp_path / "rows.jsonl"
    known = Trial(3, kernels=77)
    journal.write_text(json.dumps(asdict(known)) + "\n")
    trials = sorted(fuzz(3, 2, 1, tmp_path, journal), key=lambda one: one.seed)
    assert trials[0] == known and trials[1].seed == 4 and not trials[1].faults
    assert len(journal.read_text().splitlines()) == 2
    assert list(fuzz(3, 2, 1, tmp_path, journal)) == trials
    for other in ('{"operator": "sin"}\n', "# rows\n{}\n"):
        journal.write_text(other)
        with pytest.raises(RecordError):
            next(fuzz(3, 2, 1, tmp_path, journal))
        assert journal.read_text() == other  # somebody else's file


def test_a_wrong_compiler_is_found_and_shown_small(
    devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(self: Scalar, left: Value, right: Value) -> Value:
        return self.add(left, right)

    monkeypatch.setattr(Scalar, "mul", wrong)
    monkeypatch.setattr(fuzzing, "_SECONDS", 1e6)
    program = Program(
        ("torch.tensor([1.0, 2.0, 5.0])",),
        ("v0 = x0 + 1", "v1 = v0 * x0", "v2 = v1.sin()", "v3 = v2 - v0", "v4 = x0.cos()"),
        ("v3", "v4"),
    )
    again = replace(program, statements=(*program.statements, "x0.add_(1)"))
    found: list[Program] = []

    def is_wrong(one: Program) -> bool:
        return any(" * " in line for line in one.statements)

    for candidate in (program, again):
        found.append(shrunk(candidate, is_wrong))
    assert [p.statements for p in found] == [("v1 = x0 * x0",)] * 2
    made = trial(0, devices, again)
    assert any("instead of" in line for line in made.faults)
    assert len(made.program.splitlines()) <= 6


def test_what_eager_mode_leaves_open_is_no_difference(devices: Devices) -> None:
    from harness.backend import Compiler

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x.bfloat16() * 3).sin().float()

    def itself(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([(x >= x.to(torch.bfloat16)) * 1.0, y])

    x = torch.linspace(-3, 3, 50)
    assert differences(function, [x], Compiler(devices=devices)) == []
    y = torch.ones(3, dtype=torch.bfloat16)
    assert differences(itself, [x.double(), y], Compiler(devices=devices)) == []


def test_sums_in_float32_are_no_difference_in_float64(devices: Devices) -> None:
    from harness.backend import Compiler

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.square().float().sigmoid()

    x = torch.linspace(-3, 3, 50, dtype=torch.float64).requires_grad_()
    assert differences(function, [x], Compiler(devices=devices)) == []


def test_bits_of_given_floats_are_judged_as_they_were_given(devices: Devices) -> None:
    from harness.backend import Compiler

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.float_power(x.view(torch.int32).half(), 2), F.normalize(y.view(torch.half))

    args = [torch.tensor(3.397), torch.randn(3, 16)]
    assert differences(function, args, Compiler(devices=devices)) == []


def test_sizes_that_torch_refuses_to_leave_unknown_are_compiled_one_by_one(
    devices: Devices,
) -> None:
    integers = "torch.arange(30, dtype=torch.int32).reshape(2, 3, 5).transpose(0, -1)"
    program = Program(
        ("torch.ones(8, 3, dtype=torch.int8)", integers, "x1[..., :2]"),
        ("x2[0] = x0.clone()[0][0]", "x1[-1:] += 1"),
        ("x0",),
        dynamic=True,
    )
    found = trial(0, devices, program)
    assert not found.faults and not found.torchs and found.kernels
    assert "dynamic=True" in program.reproducer


@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("line", ["stride (40, 5, 1) instead of (1, 2, 16)", "[1.0] instead of 2"])
def test_what_is_torchs_own_is_known_by_the_smallest_program_that_shows_it(
    devices: Devices, monkeypatch: pytest.MonkeyPatch, raises: bool, line: str
) -> None:
    """Where ``aot_eager`` raises, it tells nothing of what else differs in the whole program; and
    it adds zeros to a gradient, which then has other strides."""

    def faults(program: Program, devices: Devices, seed: int = 0) -> Trial:
        if not any("sin" in text for text in program.statements):
            return Trial(seed)
        number = len(program.outputs) - 1
        told = (f"{number}: {line}",)
        return Trial(seed, torchs=told) if number == 0 else Trial(seed, faults=told)

    said = ["eager: a result; compiled: RuntimeError: a view"] if raises else ["0: wrong"]
    monkeypatch.setattr(fuzzing, "faults", faults)
    monkeypatch.setattr(fuzzing, "differences", lambda *_: said)
    program = Program(("torch.ones(3)",), ("v0 = x0.cos()", "v1 = x0.sin()"), ("v0", "v1"))
    found = trial(0, devices, program)
    assert (found.torchs, found.faults) == (
        ((f"1: {line}",), ()) if raises or "stride" in line else ((), (f"1: {line}",))
    )


def test_an_index_out_of_range_is_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dynamo before torch 2.14 reads an old size after ``unsqueeze_`` (5100626)."""
    first, other = "RuntimeError: index 23 is out of bounds for dimension 1", "IndexOutOfRange: x"
    said, line = (f"eager: a result; compiled: {one}" for one in (first, other))
    monkeypatch.setattr(compare, "differences", lambda *_, **__: [said])
    assert torchs_own(abs, [], [line]) == (line,)


def test_every_kind_of_statement_is_made() -> None:
    text = "\n".join(program.text for program in map(make_program, range(200)))
    for part in ("F.layer_norm", "scatter_reduce", ".view(torch.", "accumulate", ".unfold(",
                 "searchsorted", "F.max_pool2d", " ** ", " << ",
                 ".var_mean(", "F.conv", "median", ".index_add_("):  # fmt: skip
        assert part in text, part


def test_eager_mode_takes_every_statement_of_wide_programs() -> None:
    """Written wrongly, one is never drawn: stable sorts were not in 10,000 programs."""
    templates = fuzzing._templates()
    wide = [*templates["together"], *templates["changing"]]
    wide += [line for lines in templates.values() for line in lines if "stable=True" in line]
    taken = set()
    for shape in ((4, 8), (3, 4, 8), (2, 4, 16, 16), (16,)):
        for dtype in (torch.float32, torch.int32):
            for line in set(wide) - taken:
                maker = fuzzing._Maker(random.Random(0), backward=False, wide=True)
                maker.scope["x0"] = torch.ones(shape, dtype=dtype)
                words = {"c": 2, "d": 0, "e": -1, "b": 2, "t": "float32", "i": "int8"}
                text = line.format("x0", "x0", n="torch.zeros_like(x0).long()", **words)
                if maker._try(text if line in templates["changing"] else f"v0 = {text}"):
                    taken.add(line)
    assert set(wide) == taken


def test_half_of_the_programs_are_wide() -> None:
    programs = [make_program(seed) for seed in range(100)]
    assert 15 < sum(program.alone for program in programs) < 40  # of half of those
    text = "\n".join(program.reproducer for program in programs)
    for part in (
        ".as_strided(",
        "(1, 0))[1:].reshape(",
        "102",
        "multiprocessors=1",
        "keepdim=True) +",
    ):
        assert part in text, part


def test_what_tracing_for_one_size_makes_is_torchs_own_where_it_refuses_any_size() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        first = x.split(2, 0)[0]
        y[torch.arange(1)] = 5
        return first

    x, line = torch.arange(1.0, 129)[::2], "0: stride (1,) instead of (2,)"
    for dynamic in (True, False):
        found = torchs_own(function, [x, x[:2]], [line, "0: wrong"], dynamic=dynamic)
        assert found == (line,)


def test_a_view_by_strides_beyond_what_tracing_made_anew_is_torchs_own() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:  # reads between x's elements
        x.cumsum_(-1)
        return x.as_strided((2, 2), (1, 1)).clone()

    line = "eager: a result; compiled: IndexOutOfRange: an index is out of range"
    assert torchs_own(function, [torch.ones(3)[::2]], [line]) == (line,)
    assert torchs_own(lambda x: x * 1, [torch.ones(3)[::2]], [line]) == ()


def test_bits_of_floats_may_be_those_of_floats_that_are_right() -> None:
    """Of two that are off by a unit the wider integer is in no repeat."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        bits = x.view(torch.int64)
        x.exp_()
        return (bits,)

    def compiler(units: int, other: bool = False) -> Any:
        def compiled(gm: torch.fx.GraphModule, _: Any) -> Any:
            def call(x: torch.Tensor) -> Any:
                (bits,) = gm(x)
                x.view(torch.int32)[:, ::2] += units
                x.view(torch.int32)[:, 1::2] -= units
                return (bits.flip(0) if other else bits,)

            return call

        return compiled

    x = torch.randn(33, 8)
    assert differences(function, [x], compiler(1)) == []
    assert len(differences(function, [x], compiler(1000))) == 2
    assert differences(function, [x], compiler(0, other=True))


def test_what_differs_behind_a_graph_that_tracing_refuses_is_torchs_own_too() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        pairs = x.clone().unfold(0, 2, 1)
        pairs.sub_(0.5)  # elements lie in several places
        torch._dynamo.graph_break()
        y.cumsum_(-1)
        return y.as_strided((2, 2), (1, 1)) + pairs.sum()  # reads between y's elements

    line = "eager: a result; compiled: IndexOutOfRange: an index is out of range"
    args = [torch.ones(4), torch.ones(3)[::2]]
    assert torchs_own(function, args, [line, "0: wrong"]) == (line,)


def test_a_graph_that_torch_leaves_without_a_word_is_torchs_own() -> None:
    """Its own exception makes ``torch.compile`` break a graph, and go on."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[y.clone() < 1] *= 2
        return y

    x = torch.ones(3, requires_grad=True)
    line = "DynamicOutputShapeException: aten.nonzero.default"
    assert torchs_own(function, [x], [line, "0: wrong"]) == (line,)


def test_a_node_that_looks_at_what_a_later_graph_changed_is_torchs_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Torch runs the first graph, whose gradient cannot be traced; the second, which ``aot_eager``
    refuses, changes what that saved, and as one node calls its backward for nothing (2310082)."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x.exp()
        z.addcmul_(z, z)
        z[z.clone() < 1] *= 2
        return y * 3

    args = [torch.randn(4, requires_grad=True) for _ in range(2)]
    changed = (
        "eager: a result; compiled: RuntimeError: one of the variables needed for gradient "
        "computation has been modified by an inplace operation: [torch.{}Tensor [4]], which is "
        "output 0 of torch::autograd::CopyBackwards, is at version 2; expected version 0 instead."
    )
    line, wrong = changed.format("Float"), "0: [4.0, 4.0] instead of [3.0, 3.0]"
    assert torchs_own(function, args, [line, changed.format("Double"), wrong]) == (line,)
    assert torchs_own(lambda x, y: function(x.detach(), y), args, [line]) == ()

    def joint(graph: torch.fx.GraphModule, _: Any) -> Any:
        return lambda *given: [one + 1 for one in graph(*given)]

    monkeypatch.setattr(compare, "_counting_masks", joint)  # it is asked for nothing else
    args = [torch.ones(2, requires_grad=True) for _ in range(2)]
    assert wrong in differences(function, args, joint)
    assert torchs_own(function, args, [wrong]) == ()


def test_torchs_own_words_may_leave_out_whose_a_tensor_is() -> None:
    changed = "[torch.HalfTensor []]{} is at version {}; expected version 0 instead"
    known = compare._known
    line = "eager: a result; compiled: RuntimeError: " + changed.format(
        ", which is output 5 of CompiledFunction,", 1
    )
    own = "eager: a result; compiled: RuntimeError: " + changed.format("", 2)
    assert known([line], [own], []) == (line,)
    assert known([line], [own.replace("Half", "Float")], []) == ()


def test_torch_may_say_it_otherwise_where_it_makes_views_again() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        numbers = torch.polar(x.abs(), x).abs()
        pairs = y.unfold(-1, 2, 2)
        pairs[..., None][0].sub_(1)
        return pairs, numbers

    x = torch.ones(5, 1).transpose(0, -1)
    raised = "eager: a result; compiled: torch's {}: IndexError: Dimension out of range"
    own, other = (raised.format(name) for name in ("gen_alias_from_base", "gen_alias"))
    assert torchs_own(function, [x, x[..., :2]], [own, other, "0: wrong"]) == (own,)


def test_torchs_own_words_may_hold_other_numbers() -> None:
    line = "RuntimeError: Storage size calculation overflowed with sizes=[144116] and strides=[1]"
    own = (
        f"eager: a result; compiled: {line.replace('44116', '720897154')}\n\nSet TORCH_LOGS=+dynamo"
    )
    assert compare._known([line, "0: wrong"], [own], []) == (line,)
    assert compare._known([line], [own.replace("Storage", "Tensor")], []) == ()


def test_a_graph_of_sizes_that_eager_mode_does_not_give_is_torchs_own(devices: Devices) -> None:
    """Tracing unshuffles nothing to other sizes than a CPU does, and ``aot_eager`` does not run
    what nobody reads (3602729)."""
    unread = "v1 = F.pixel_unshuffle(v0, 2)", "v2 = v1.expand(1, *v1.shape)"
    program = Program(("torch.zeros(0, 2, 2, 2)",), ("v0 = x0 + 1", *unread), ("v0",))
    found = fuzzing.faults(program, devices)
    assert not found.faults and len(found.torchs) == 2
