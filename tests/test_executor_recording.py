"""Recorded graphs: replays give what runs give, whoever keeps what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from harness import backend
from harness.backend import Compiler, Devices
from harness.executor import recording
from harness.executor.recording import Recorded


class Replayer:
    """A CUDA graph of a CPU: a replay runs again, into the memory of the first outputs. Recording
    leaves the ``states`` as they are."""

    def __init__(self, *states: torch.Tensor) -> None:
        self.states = states

    def __call__(self, run: Callable[[], list[Any]]) -> tuple[list[Any], Callable[[], None]]:
        before = [state.clone() for state in self.states]
        outputs = run()
        for state, old in zip(self.states, before, strict=True):
            state.copy_(old)

        def replay() -> None:
            for old, new in zip(outputs, run(), strict=True):
                if old is not None and old is not new:
                    old.copy_(new)

        return outputs, replay


def doubled(kept: int | None) -> Recorded:
    return Recorded(lambda args: [args[0] * 2, args[0] + args[1]], Replayer(), kept=kept)


@pytest.mark.parametrize("kept", [None, 0, 1])
def test_what_callers_keep_stays_what_it_was(kept: int | None) -> None:
    run, every = doubled(kept), []
    x, y = torch.zeros(5), torch.ones(5)
    for n in range(24):
        x.fill_(n)
        every.append((n, run([x, y])))
        for number, outputs in every:
            assert outputs[0].tolist() == [2.0 * number] * 5
            assert outputs[1].tolist() == [number + 1.0] * 5
    # two calls come before any recording; where outputs stay in use, each recording serves once
    assert (run.replays, len(run._made)) == ((22, 1) if kept is None else (22, 22))


def test_outputs_are_copied_only_for_callers_who_still_have_them() -> None:
    """When the same call comes again; and single numbers, which callers collect."""
    run, x = Recorded(lambda args: [args[0] * 2, args[0].sum()], Replayer(), kept=2), torch.ones(5)
    places = [run([x.fill_(n)])[0].data_ptr() for n in range(9)]
    assert len({*places[2:]}) == 1
    numbers = [run([x.fill_(n)])[1] for n in range(9)]
    assert [float(n) for n in numbers] == [5.0 * n for n in range(9)] and len(run._made) == 1
    saved = Recorded(lambda args: [args[0].sum()], Replayer(), kept=0)
    assert len({saved([x])[0].data_ptr() for _ in range(9)} - {0}) <= 3  # two calls and a recording
    every = [run([x.fill_(n)])[0] for n in range(9)]
    assert [y.tolist() for y in every] == [[2.0 * n] * 5 for n in range(9)]
    assert len(run._made) == 1 and run._copied == {0} and run.plain == 2


def test_an_output_that_its_caller_resizes() -> None:
    run, x = Recorded(lambda args: [args[0] * 2], Replayer(), kept=0), torch.ones(5)
    for n in range(6):
        y = run([x.fill_(n)])[0]
        assert y.tolist() == [2.0 * n] * 5
        y.untyped_storage().resize_(4000)  # a replay would still write where it was
        del y
    assert len(run._made) == 4


def test_a_view_of_an_output_keeps_it() -> None:
    run, x = doubled(0), torch.ones(4)
    for _ in range(3):
        outputs = run([x, x])
    row = outputs[0][1:3]
    del outputs
    for _ in range(3):
        run([x.zero_(), x])
    assert row.tolist() == [2.0, 2.0] and len(run._made) == 2
    first = row.data_ptr() - row.element_size()
    del row  # from now on the oldest serves again, so that what reads its outputs finds them there
    assert [run([x, x])[0].data_ptr() for _ in range(2)] == [first, first]


def test_an_input_that_moves_is_copied_and_one_that_stays_is_not() -> None:
    run, weight = doubled(None), torch.randn(64)
    alive = []
    for n in range(20):
        alive.append(torch.full((64,), float(n)))
        got = run([alive[-1], weight])
        torch.testing.assert_close(got, [alive[-1] * 2, alive[-1] + weight])
    assert [list(made.copies) for made in run._made] == [[0]]
    assert run._in_vain == 4 and run.replays == 18


@pytest.mark.parametrize("fresh", [False, True])
def test_layers_that_share_a_graph_have_a_recording_each(fresh: bool) -> None:
    """Whose outputs are in use until the step ends; ``fresh``: the first of them is given an input
    in new memory in every step."""
    run = Recorded(lambda args: [args[0] @ args[1], args[0] + 1], Replayer(), kept=1)
    weights = [torch.randn(8, 8) for _ in range(5)]
    first = torch.randn(3, 8)
    for _ in range(12):
        x, saved = (first.clone() if fresh else first.add_(1)), []
        for weight in weights:
            y, kept = run([x, weight])
            saved.append((x, kept))
            torch.testing.assert_close(y, x @ weight)
            x = y
        assert all(torch.equal(a + 1, b) for a, b in saved)
    assert len(run._made) == 5 and not run.refused
    assert run.plain == 2 and run.replays == 5 * 12 - 2
    assert run._in_vain <= 5 * 2


def test_layers_that_read_the_same_states_have_a_recording_each() -> None:
    """Though the weights are the least of what they read, and the states are new in every step."""
    run = Recorded(lambda args: [args[0] @ args[1] + args[2].sum(0)], Replayer(), kept=1)
    weights, alive = [nn.Parameter(torch.randn(8, 8)) for _ in range(4)], []
    for _ in range(20):
        x = torch.randn(3, 8)
        alive.append(torch.randn(99, 8))
        for weight in weights:
            with torch.no_grad():
                expected, x = x @ weight + alive[-1].sum(0), run([x, weight, alive[-1]])[0]
            torch.testing.assert_close(x, expected)
    assert len(run._made) == 4 and all(1 not in made.copies for made in run._made)
    assert not run.refused and run._in_vain <= 16


def test_sizes_have_recordings_of_their_own() -> None:
    """Each after calls that compile and choose for it; what is made of sizes is returned too."""

    def shown(args: list[Any]) -> list[Any]:
        return [args[0][: args[1]] + args[1], args[1] + 1]

    run, x = Recorded(shown, Replayer(), kept=1), torch.arange(9.0)
    for n in range(24):
        size = n % 3 + 1
        got, more = run([x, size])
        assert got.tolist() == [float(i + size) for i in range(size)] and more == size + 1
    assert len(run._made) == 3 and (run.plain, run.replays) == (6, 18)
    for n in range(24):
        assert run([x, n % 4 + 4])[0].shape == (n % 4 + 4,)
    assert len(run._made) == 4 and (run.plain, run.replays) == (6 + 2 + 18, 18 + 4)


def test_a_device_that_has_no_more_memory_gets_back_what_is_recorded() -> None:
    class Full(Replayer):
        made = 0

        def __call__(self, run: Callable[[], list[Any]]) -> tuple[list[Any], Callable[[], None]]:
            self.made += 1
            if self.made > 2:
                raise torch.OutOfMemoryError("no more")
            return super().__call__(run)

    run, weights = Recorded(lambda args: [args[0] * 2], Full()), [torch.randn(3) for _ in range(4)]
    for weight in weights * 3:
        assert torch.equal(run([weight])[0], weight * 2)
    assert "no more" in run.refused and not run._made and run.replays == 2


def test_copies_lie_as_what_they_are_copies_of() -> None:
    """With gaps between elements, or the same elements again and again."""
    lies = []

    def total(args: list[Any]) -> list[Any]:
        lies.append((args[0].stride(), args[1].stride()))
        return [args[0] + args[1] * args[2]]

    weight = nn.Parameter(torch.ones(5), requires_grad=False)
    run, alive = Recorded(total, Replayer(), kept=0), []
    for n in range(12):
        alive.append((torch.full((4, 10), float(n))[:, ::2], torch.ones(1, 5).expand(4, 5)))
        assert run([*alive[-1], weight])[0].tolist() == [[n + 1.0] * 5] * 4
    assert set(lies) == {((10, 2), (0, 1))} and list(run._made[0].copies) == [0, 1]


def test_layers_whose_inputs_move_once_each_copy_none() -> None:
    run = Recorded(lambda args: [args[0] @ args[1]], Replayer(), kept=0)
    layers = [[torch.randn(3, 8), nn.Parameter(torch.randn(8, 8))] for _ in range(6)]
    for n in range(12):
        for k, layer in enumerate(layers):
            if n == k + 3:
                layer[0] = torch.randn(3, 8)
            torch.testing.assert_close(run([*layer])[0].clone(), layer[0] @ layer[1])
    assert len(run._made) == 6 and not any(made.copies for made in run._made)


def test_what_a_step_applies_again_and_again_copies_nothing() -> None:
    """A recording that a backward graph is to come for stays, though its inputs have moved."""
    run = Recorded(lambda args: [args[0] @ args[1], args[0] + 1], Replayer(), kept=1)
    weight, places = nn.Parameter(torch.randn(8, 8), False), [torch.randn(3, 8) for _ in range(3)]
    for _ in range(12):
        saved = []
        for x in places:
            y, kept = run([x.add_(1), weight])
            torch.testing.assert_close(y, x @ weight)
            saved.append((x, kept))
            del y, kept
        assert all(torch.equal(a + 1, b) for a, b in saved)
        del saved
    assert len(run._made) == 3 and not any(made.copies for made in run._made)


def test_ever_new_parameters_are_given_up() -> None:
    run, alive = Recorded(lambda args: [args[0] * args[1]], Replayer(), kept=0), []
    x = torch.randn(3)
    for _ in range(220):
        alive.append(nn.Parameter(torch.randn(3), False))
        torch.testing.assert_close(run([x, alive[-1]])[0].clone(), x * alive[-1])
    assert "in vain" in run.refused and run.plain > 20


def test_sets_of_inputs_that_never_come_back_are_given_up() -> None:
    run, alive = Recorded(lambda args: [args[0] + args[1]], Replayer()), []
    for n in range(60):
        alive.append((torch.full((4,), float(n)), torch.ones(4)))
        assert run([*alive[-1]])[0].tolist() == [n + 1.0] * 4
    assert len(run._made) <= 32 and (run.refused or run._made[-1].copies.keys() == {0, 1})


def test_the_same_memory_in_another_layout_is_another_input() -> None:
    run = Recorded(lambda args: [args[0].contiguous() + 0], Replayer())
    x = torch.arange(9.0).view(3, 3)
    for n in range(10):
        given = x if n % 2 else x.t()
        assert run([given])[0].tolist() == given.tolist()


def test_inputs_that_are_changed_and_returned() -> None:
    def change(args: list[Any]) -> list[Any]:
        args[0].add_(args[1])
        return [None, args[0]]

    state, step = torch.zeros(3), torch.ones(3)
    others = [torch.full((3,), float(n)) for n in range(6)]
    run = Recorded(change, Replayer(state, *others), frozenset({0}))
    for _ in range(6):
        outputs = run([state, step])
    assert outputs[0] is None and outputs[1] is state
    assert state.tolist() == [6.0] * 3 and run.replays == 4
    for n, other in enumerate(others):  # moves again and again: runs as it is then
        run([other, step])
        assert other.tolist() == [n + 1.0] * 3
    assert "moves" in run.refused


def test_views_of_inputs_are_those_of_each_call() -> None:
    """Also of one that is copied because it moves, and of one in the middle of its memory."""

    def parts(args: list[Any]) -> list[Any]:
        return [args[0][1:, ::2], args[0] + args[1], args[1].t(), args[0][:0]]

    run, memory, alive = Recorded(parts, Replayer(), kept=0), torch.zeros(40), []
    weight = memory[4:28].view(4, 6)
    for n in range(20):
        alive.append(torch.randn(4, 6))
        memory.fill_(n)
        part, total, turned, empty = run([alive[-1], weight])
        assert part.data_ptr() == alive[-1][1:].data_ptr() and part.shape == (3, 3)
        assert torch.equal(part, alive[-1][1:, ::2]) and empty.shape == (0, 6)
        assert turned.data_ptr() == weight.data_ptr() and torch.equal(turned, weight.t())
        torch.testing.assert_close(total, alive[-1] + weight)
    assert run.replays >= 9 and not run.refused


def test_nothing_is_in_no_inputs_memory() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    run = Recorded(lambda args: [args[0] * 2.0], Replayer())
    for _ in range(4):
        assert run([none])[0].shape == (0,)
    assert run.replays == 2 and not run.refused
    assert recording._once(torch.ones(1).as_strided((0, 5), (0, 0))).shape == (0, 1)


def test_inputs_of_which_the_old_ones_are_gone_have_moved() -> None:
    """A recording that does not hold them."""
    run = Recorded(lambda args: [args[0] * 2], lambda run: (run(), lambda: None))
    x = torch.zeros(64)
    for n in range(12):
        x = torch.full((64,), float(n))  # elsewhere than the last one, which is there until now
        run([x])
        assert len(run._made) == (n > 1)


def test_so_many_recordings_are_in_use_and_no_more() -> None:
    run, every = doubled(0), []
    x, y = torch.zeros(5), torch.ones(5)
    for n in range(40):
        every.append(run([x.fill_(n), y]))
    assert len(run._made) == 32 and run.plain == 2 + 6
    assert [outputs[0].tolist()[0] for outputs in every] == [2.0 * n for n in range(40)]


@pytest.mark.parametrize("other", [object(), torch.empty(3, device="meta")])
def test_inputs_elsewhere_are_not_recorded(other: object) -> None:
    for args in ([other], [torch.ones(3), other])[isinstance(other, torch.Tensor) :]:
        run = Recorded(lambda _: [torch.ones(3)], Replayer())
        assert [run([*args])[0].tolist() for _ in range(4)] == [[1.0] * 3] * 4
        assert "one device" in run.refused and run.plain == 4


def test_an_input_as_another_type_is_not_recorded() -> None:
    run = Recorded(lambda args: [args[0].view(torch.int32)], Replayer())
    for n in range(4):
        given = torch.full((2,), float(n))
        assert torch.equal(run([given])[0], given.view(torch.int32))
    assert "another type" in run.refused and not run.replays


def test_what_cannot_be_recorded_runs_as_it_is() -> None:
    def refuses(run: Any) -> Any:
        raise RuntimeError("not while capturing")

    run = Recorded(lambda args: [args[0] + 1], refuses)
    for n in range(5):
        assert run([torch.full((2,), float(n))])[0].tolist() == [n + 1.0] * 2
    assert "not while capturing" in run.refused and run.plain == 5
    mixed = Recorded(lambda args: [args[0] + 1], Replayer())
    for _ in range(4):
        mixed([torch.ones(2), None])
    assert "device" in mixed.refused


@pytest.mark.parametrize("dynamic", [False, True])
def test_training_by_torch_compile(devices: Devices, dynamic: bool) -> None:
    """The gradients of every step, with the loss of the step before still there."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
    twin = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
    twin.load_state_dict(model.state_dict())
    how = {"reduce_overhead": True, "record": Replayer(), "fail_on_fallback": True}
    compiler = Compiler(devices=devices, **how)  # type: ignore[arg-type]
    run: Any = torch.compile(model, backend=compiler, dynamic=dynamic or None)
    losses = []
    for n in range(12 if dynamic else 9):
        x = torch.randn(4 + n % 2 if dynamic else 4, 6)
        for module, call in ((model, run), (twin, twin)):
            module.zero_grad()
            loss = call(x).square().sum()
            loss.backward()
            losses.append(loss)
        for ours, eager in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, eager.grad, rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            for ours, eager in zip(model.parameters(), twin.parameters(), strict=True):
                ours -= 0.01 * eager.grad
                eager -= 0.01 * eager.grad
    torch.testing.assert_close(losses[::2], losses[1::2], rtol=1e-4, atol=1e-5)
    assert len(compiler.recordings) == 2
    assert all(found.replays >= 3 for found in compiler.recordings.values())


def test_modes_of_torch_compile_are_short_for_options(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    asked, parsed = [], backend.parsed
    monkeypatch.setattr(backend, "parsed", lambda *given: asked.append(given[0]) or parsed(*given))
    for mode in ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        torch.compiler.reset()
        run: Any = torch.compile(f, backend="harness", mode=mode)
        assert run(torch.ones(2)).tolist() == [2.0, 2.0]
    options = [given for given in asked if "fail_on_fallback" not in given]  # not a Compiler's own
    assert options == [
        {},
        {"reduce_overhead": True},
        {"tune": True, "templates": "timed", "reduce_overhead": True},
        {"tune": True, "templates": "timed"},
    ]
    torch.compiler.reset()
    wrong: Any = torch.compile(f, backend="harness", mode="max-speed")
    with pytest.raises(Exception, match="max-speed"):
        wrong(torch.ones(2))
