"""Capture: a model becomes graphs, without a weight being loaded or allocated."""

from __future__ import annotations

import inspect
import keyword
import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count, repeat
from typing import Any, Literal

import torch
from torch import fx
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.func import functional_call
from torch.optim.adamw import adamw
from torch.utils import _pytree as pytree

from harness.dtypes import DType
from harness.errors import CaptureFailed, HarnessError, UsageError, reason
from harness.graph.bounds import with_bounds
from harness.graph.capture import aot
from harness.graph.capture.fx import TORCH_FOLDER, Naming, convert, source_in
from harness.graph.capture.providers import PROVIDERS, Example, Target, build, library, parse_target
from harness.graph.model import Graph
from harness.graph.passes.cleanup import kept_names

Mode = Literal["inference", "training", "optimizer"]


@dataclass(frozen=True)
class CaptureOptions:
    """How to capture.

    ``mode``: ``inference`` gives one graph, ``training`` a forward and a backward graph,
    ``optimizer`` one AdamW step over the model's parameters. ``dtype`` is the type the model's
    parameters and floating inputs are built in. ``options`` are passed to the provider on top of
    those in the target, sizes among them. ``saved`` fixes what the forward graph keeps for the
    backward one (names of values), so that a small capture is cut where the full-size one was. The
    versions of ``libraries`` are noted in the graphs, besides torch's and the provider's.
    ``follow`` hears what is being done.
    """

    mode: Mode = "inference"
    dtype: DType = DType.F32
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    saved: tuple[str, ...] | None = None
    libraries: tuple[str, ...] = ()
    follow: Callable[[str], None] = lambda _: None


def capture(target: str, options: CaptureOptions | None = None) -> list[Graph]:
    """The graphs of ``target``: ``[forward]``, ``[forward, backward]`` or ``[step]``.

    ``target`` is ``package.module:callable`` — a callable that returns ``(module or
    function, args)`` or ``(module or function, args, kwargs)`` and is called under fake
    tensors — or a provider's model, ``transformers:LlamaForCausalLM?num_hidden_layers=1``.
    Graphs are named ``<name>_forward``, ``<name>_backward``, ``<name>_step``.

    Raises ``UsageError`` or ``UnknownName`` for a target that makes no sense and
    ``CaptureFailed`` for a model that cannot be traced.
    """
    wanted = options or CaptureOptions()
    parsed = parse_target(target, wanted.options.items())
    base = _identifier(wanted.name or parsed.name)
    training = wanted.mode == "training"
    wanted.follow(f"building {base}")
    with aot.fake_mode() as mode, _quiet_build(wanted.dtype):
        example = _build(parsed, training)
        if wanted.mode == "optimizer":
            example = _optimizer_step(example, parsed)
        if isinstance(example.function, torch.nn.Module):
            example.function.train(training)
            for part in example.function.modules():  # whether LayerDrop skips it, data would tell
                if hasattr(part, "layerdrop") or hasattr(getattr(part, "config", 0), "layerdrop"):
                    part.training = False
    facts = _facts(parsed, wanted)
    try:
        return _trace(_Flat(example, mode, training), base, facts, wanted)
    except HarnessError:
        raise
    except (Exception, SystemExit) as error:
        by_data = any(word in type(error).__name__ for word in ("DataDependent", "DynamicOutput"))
        frames = traceback.extract_tb(error.__traceback__)
        outside = [one for one in frames if not one.filename.startswith(TORCH_FOLDER)]
        raise CaptureFailed(
            f"{parsed.text} could not be traced",
            source_in("".join(traceback.format_list(outside))) or source_in(str(error)),
            reason(error),
            f"a model {_BY_DATA[0] if by_data else 'that runs on the arguments beside it'}",
            _BY_DATA[1] if by_data else "run it as it is; report it if that does not raise",
        ) from error


_BY_DATA = (
    "whose sizes and control flow do not depend on tensor values",
    "capture the part that matters through package.module:callable",
)


@contextmanager
def _quiet_build(dtype: DType) -> Iterator[None]:
    """Build in ``dtype``: parameters come out in torch's default floating type."""
    if not dtype.is_float:
        raise UsageError("a model is not built in that type", got=dtype.short, expected="a float")
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype.torch_name))
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _build(target: Target, training: bool) -> Example:
    try:
        return build(target, training)
    except HarnessError:
        raise
    except (Exception, SystemExit) as error:
        raise CaptureFailed(
            f"{target.text} could not be built",
            got=reason(error),
            remedy=f"check the options; {target.name} raised this on tensors without values",
        ) from error


def _facts(target: Target, options: CaptureOptions) -> tuple[tuple[str, str], ...]:
    versions = [f"torch {torch.__version__.split('+')[0]}"]
    named = [target.provider] if target.provider in PROVIDERS else []
    libraries = dict.fromkeys([*named, *options.libraries])
    versions += [f"{name} {library(name).__version__}" for name in libraries]
    return (
        ("captured", target.text),
        ("mode", options.mode),
        ("dtype", options.dtype.short),
        ("versions", ", ".join(versions)),
    )


class _Wrapped(torch.nn.Module):
    """A plain function as a module, which is what export takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._function(*args, **kwargs)


_Run = Callable[[dict[str, torch.Tensor], Sequence[Any]], Any]


def _runnable(example: Example, mode: Any, training: bool) -> tuple[torch.nn.Module, _Run]:
    """The example's module, exported, which finds the model's source lines; and what runs it
    with another state, by name, on flat arguments, handing each operator's line on to whatever
    traces it. What torch cannot export is itself what runs, and its operators have no lines."""
    module = example.function
    module = module if isinstance(module, torch.nn.Module) else _Wrapped(module)
    if (gm := _exported(module, example, mode, training)) is None:
        spec = pytree.tree_structure((example.args, example.kwargs))
        return module, lambda state, leaves: functional_call(
            module, state, *pytree.tree_unflatten(leaves, spec)
        )
    # node by node, so that traces keep the source lines
    runner = _Wrapped(partial(fx.Interpreter(gm).run, enable_io_processing=False))
    runner.gm = gm
    return gm, lambda state, leaves: functional_call(
        runner, {f"gm.{name}": value for name, value in state.items()}, tuple(leaves)
    )


def _exported(module: torch.nn.Module, example: Example, mode: Any, training: bool) -> Any:
    """``module`` exported on fake tensors; None for one that calls ``torch.func.grad``, ``jacrev``
    and their like, which torch exports wrongly or not at all."""
    try:
        with torch.set_grad_enabled(training), mode:
            program = torch.export.export(module, example.args, example.kwargs, strict=False)
            gm: Any = program.module(check_guards=False)
    except Exception as error:
        if _IN_TRANSFORM.search("".join(traceback.format_exception(error))):
            return None
        raise
    # Torch 2.13 takes what ``grad`` and ``vjp`` differentiate, the inputs too, for constants.
    if any(map(is_functorch_wrapped_tensor, filter(torch.is_tensor, program.constants.values()))):
        return None
    for node in list(gm.graph.nodes):
        if str(node.target).startswith("aten._assert_"):
            gm.graph.erase_node(node)
    gm.recompile()
    return gm


_IN_TRANSFORM = re.compile("eager_transforms|functorch tensor|Expected FakeTensor")
"""In what torch says where it meets, while it exports, a value within a transform."""


class _Flat:
    """A model as a ``function`` of a flat list of tensors, each with name and role."""

    def __init__(self, example: Example, mode: Any, training: bool) -> None:
        named = _leaves(example)
        exported, run = _runnable(example, mode, training)
        held: list[tuple[str, torch.Tensor, str]]
        held = [(name, value, "parameter") for name, value in exported.named_parameters()]
        held += [(name, value, "buffer") for name, value in exported.named_buffers()]
        prefix = f"{example.prefix}." if example.prefix else ""
        rows = [
            *((n.removeprefix(prefix), v, r) for n, v, r in held),
            *((n, v, r) for n, v, r in named if isinstance(v, torch.Tensor)),
        ]
        leaves = [value for _, value, _ in named]
        slots = [k for k, value in enumerate(leaves) if isinstance(value, torch.Tensor)]

        def function(*tensors: torch.Tensor) -> Any:
            full = list(leaves)
            for slot, tensor in zip(slots, tensors[len(held) :], strict=True):
                full[slot] = tensor
            state = {n: t for (n, _, _), t in zip(held, tensors[: len(held)], strict=True)}
            return run(state, full)

        self.function, self.mode, self.prefix = function, mode, example.prefix
        self.names = list(map(_numbered(), (_identifier(name) for name, _, _ in rows)))
        self.tensors, self.roles = [v for _, v, _ in rows], [r for _, _, r in rows]


def _leaves(example: Example) -> list[tuple[str, Any, str]]:
    """(name, value, role) of every leaf of the arguments, named after the parameters."""
    function = example.function
    called = function.forward if isinstance(function, torch.nn.Module) else function
    positional = list(inspect.signature(called).parameters)
    rows: list[tuple[str, Any, str]] = []
    labels = chain(positional, (f"arg_{k}" for k in count(len(positional))))
    for label, value in [*zip(labels, example.args, strict=False), *example.kwargs.items()]:
        for path, leaf in pytree.tree_flatten_with_path(value)[0]:
            words = [str(getattr(key, "key", getattr(key, "idx", ""))) for key in path]
            rows.append(("_".join([label, *words]), leaf, _ROLES.get(label, "data")))
    return rows


_ROLES = {"gradients": "gradient", "parameters": "parameter", "state": "buffer"}


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"x_{name}"


def _numbered() -> Callable[[str], str]:
    """A function that gives every further use of a name the next number."""
    numbers: dict[str, Iterator[int]] = defaultdict(count)
    return lambda name: f"{name}_{n}" if (n := next(numbers[name])) else name


def _trace(
    flat: _Flat, base: str, facts: Sequence[tuple[str, str]], options: CaptureOptions
) -> list[Graph]:
    training, rename = options.mode == "training", partial(_names, flat)
    options.follow(f"tracing {base}")
    with flat.mode:
        traced = aot.trace(flat.function, flat.tensors, training, options.saved, rename)
    naming = Naming(
        names=rename(traced),
        roles=dict(zip(traced.placeholders, flat.roles, strict=False)),
        prefix=flat.prefix,
    )
    pieces = [(traced.forward, "step" if options.mode == "optimizer" else "forward")]
    if training:
        pieces.append((traced.backward, "backward"))
    graphs = []
    for gm, part in pieces:
        if gm is None:
            raise CaptureFailed(f"torch produced no {part} graph", where=base)
        options.follow(f"converting {base}_{part}")
        graph = convert(gm, f"{base}_{part}", naming, facts).graph
        used = kept_names(graph).union(m.input for m in graph.mutations)
        used = used.union(*(node.refs() for node in graph.nodes))
        inputs = tuple(item for item in graph.inputs if item.name in used)
        graphs.append(with_bounds(replace(graph, inputs=inputs)))
    return graphs


def _names(flat: _Flat, traced: aot.Traced) -> dict[str, str]:
    """Names by fx name: inputs after parameters, nodes after operators, counted afresh."""
    table = dict(zip(traced.placeholders, flat.names, strict=False))
    for number, name in enumerate(traced.placeholders[len(flat.names) :]):
        table[name] = f"tangent_{number}" if number else "tangent"
    taken = set(table.values())
    numbered = _numbered()
    for fx_name, operator in traced.joint_names:
        table[fx_name] = next(name for name in map(numbered, repeat(operator)) if name not in taken)
        taken.add(table[fx_name])
    return table


def _optimizer_step(example: Example, target: Target) -> Example:
    """One AdamW step over the parameters of the example's module."""
    module = example.function
    if not isinstance(module, torch.nn.Module):
        raise UsageError(
            "an optimizer step needs a module with parameters", got=target.text, expected="a module"
        )
    if not (parameters := {n: torch.empty_like(p.detach()) for n, p in module.named_parameters()}):
        raise UsageError("the module has no parameters to optimise", got=target.text)

    def like(dtype: torch.dtype | None = None) -> dict[str, torch.Tensor]:
        return {n: torch.empty_like(p, dtype=dtype) for n, p in parameters.items()}

    steps = {n: torch.empty((), dtype=torch.float32) for n in parameters}
    state = {"exp_avg": like(), "exp_avg_sq": like(), "step": steps}
    return Example(_adamw, (parameters, like(), state), {})


def _adamw(
    parameters: dict[str, torch.Tensor],
    gradients: dict[str, torch.Tensor],
    state: dict[str, dict[str, torch.Tensor]],
) -> None:
    """AdamW at its usual settings, steps counted on the device as in a captured loop."""
    tables: Any = (parameters, gradients, state["exp_avg"], state["exp_avg_sq"], {}, state["step"])
    how: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "lr": 1e-3, "weight_decay": 0.01}
    how |= {"eps": 1e-8, "foreach": False, "amsgrad": False, "maximize": False}
    step: Any = adamw
    step(*(list(table.values()) for table in tables), capturable=True, **how)
