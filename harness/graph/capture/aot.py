"""The one place that touches torch's private tracing machinery.

AOTAutograd, fake tensors and the partitioner have no public names. Everything the
harness needs from them is reached through this file, which is tried on every
supported version of torch (2.11 to 2.15).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd as through_autograd
from torch._dynamo.exc import RestartAnalysis
from torch._dynamo.source import FloatTensorSource
from torch._functorch import aot_autograd, partitioners
from torch._functorch import config as functorch_config
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from harness.errors import CaptureFailed, HarnessError
from harness.graph.capture import tangents
from harness.graph.capture.associative import lift_functions
from harness.graph.capture.attention import ATTENTION_RULES, dense_masks, link_attention
from harness.graph.capture.decompositions import ask_early, decompositions, spell_conversions
from harness.graph.capture.libraries.calls import GIVES_MEMORY, WRITES, is_view
from harness.graph.capture.libraries.convolutions import (
    as_images,
    channels_last,
    over_groups,
    without_biases,
)
from harness.graph.capture.libraries.kept import keep_compared, keep_little, recompute_random
from harness.graph.capture.libraries.products import padded
from harness.graph.capture.libraries.resampling import resampled
from harness.graph.capture.random import gather_seeds
from harness.graph.capture.scattering import (
    counted_masks,
    require_own_types,
    share_conjugates,
    views_of_inputs,
    writes,
)
from harness.graph.capture.strides import follow_eager
from harness.graph.model import DIFFERENTIABLE
from harness.graph.users_gradients import CHECKPOINT, inline, mark_users

__all__ = ["RestartAnalysis"]  # torch's own, for who catches it; the rest is made here

KEPT_OUTPUTS = "kept_outputs"
"""In the ``meta`` of a forward graph: of its outputs that are not for the backward graph alone,
which are the first, whether they have a gradient."""
_aten = torch.ops.aten
_with_effects = torch.ops.higher_order.with_effects
_CONTROL = ("cond", "while_loop", "map_impl", "scan")
_TOKENS = (torch.ops.prims._sink_tokens.default, torch.ops.prims._make_token.default)
_SAME_MEMORY = (operator.getitem, _aten._unsafe_view.default)
_SAME_VALUE = (_aten.alias.default, _aten.detach.default, _aten.lift_fresh_copy.default)


@dataclass
class Traced:
    """What tracing gave: functional ATen graphs before conversion.

    ``forward`` is the whole graph of an inference capture, ``backward`` is ``None``
    then. ``joint_names`` are the fx names of all nodes before the partitioner cut
    them apart, in execution order, with the operator's short name; both halves keep
    these names. ``placeholders`` are the fx names of the inputs, in the order they were
    given, followed by those of the output gradients.
    """

    forward: fx.GraphModule | None = None
    backward: fx.GraphModule | None = None
    joint_names: list[tuple[str, str]] = field(default_factory=list)
    placeholders: list[str] = field(default_factory=list)


class _Building(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What a model meets while it is built. Asked for a value it gets zero: initialisation schemes
    look at the numbers they have drawn, and rates are read off ``torch.linspace``; neither matters
    for the graph. And no result is referred to from outside the model, for ``Module.to`` swaps
    parameters in place, which torch refuses for a tensor that a weak reference points at: those by
    which ``mode`` would know results again, and never has to, are dropped."""

    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known = mode.fake_tensor_converter.tensor_memo

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _aten._local_scalar_dense.default:
            dtype = args[0].dtype
            return False if dtype is torch.bool else 0.0 if dtype.is_floating_point else 0
        result = func(*args, **(kwargs or {}))
        self._known.clear()
        return result


@contextmanager
def fake_mode() -> Iterator[Any]:
    """A context for building models: tensors have sizes and types but no memory."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, _Building(mode):
        yield mode


def trace(
    function: Callable[..., Any],
    flat_args: Sequence[torch.Tensor],
    training: bool,
    saved: Sequence[str] | None = None,
    rename: Callable[[Traced], dict[str, str]] | None = None,
) -> Traced:
    """Trace ``function`` on fake tensors into functional ATen graphs.

    With ``training``, the joint graph is cut by the min-cut partitioner; ``saved`` (names after
    ``rename``) fixes which values the forward graph keeps for the backward one instead, so that two
    captures of one model at different sizes are cut at the same places.
    """
    traced = Traced()

    def take_forward(gm: fx.GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
        plain_effects(gm)
        if not traced.joint_names:
            _for_gpu(gm)
            _record(gm, traced)
        traced.forward = gm
        return _without_running(gm)

    def take_backward(gm: fx.GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
        plain_effects(gm)
        traced.backward = gm
        return _without_running(gm)

    def partition(
        joint: fx.GraphModule, inputs: Sequence[Any], **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        _for_gpu(joint)
        recompute_random(joint)
        keep_compared(joint, options["num_fwd_outputs"])
        _record(joint, traced)
        if saved is None or rename is None:
            return partitioners.min_cut_rematerialization_partition(joint, inputs, **options)
        return _cut_at(joint, saved, rename(traced), options["num_fwd_outputs"])

    aot_function: Callable[..., Any] = aot_autograd.aot_function
    compiled = aot_function(
        function,
        fw_compiler=take_forward,
        bw_compiler=take_backward,
        partition_fn=partition,
        decompositions=decompositions(False) | ATTENTION_RULES,
        keep_inference_input_mutations=True,
    )
    # so that every operator inherits the source line of the exported one it comes from
    with torch.set_grad_enabled(training), _without_tokens(), fx.traceback.preserve_node_meta():
        result = compiled(*flat_args)
    if training and traced.backward is None:
        _run_backward(result)
    return traced


def compile_joint(
    gm: fx.GraphModule,
    inputs: Sequence[Any],
    tell: Callable[[HarnessError], Any],
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    inference: Callable[..., Any],
    eager_random: bool = False,
    for_gpu: bool = False,
) -> Callable[..., Any]:
    """Hand a graph from ``torch.compile`` to AOTAutograd with one compiler per part.

    A compiler makes of a functional graph and its inputs a function of a list of arguments, which
    it may empty. ``tell`` is told what torch runs at a call. With ``eager_random`` torch draws all
    random numbers; ``for_gpu`` writes library calls as a GPU's libraries run them best.
    """
    for body in (one for one in gm.modules() if isinstance(one, fx.GraphModule)):
        ask_early(body)
    for change in (_inline_untraceable, dense_masks, resampled, writes, mark_users):
        change(gm)
    _hand_on_sources(gm, inputs)
    called = tangents.Called(gm, tell)
    relaid = functools.partial(_relaid, for_gpu=for_gpu)
    changes = require_own_types, called.note_changed, relaid, share_conjugates

    def partition(
        joint: fx.GraphModule, joint_inputs: Sequence[Any], **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        require_own_types(joint)
        differentiable = called.look_at(joint, options["num_fwd_outputs"])
        relaid(joint)
        recompute_random(joint)
        keep_little(joint)
        keep_compared(joint, options["num_fwd_outputs"])
        cut = partitioners.min_cut_rematerialization_partition(joint, joint_inputs, **options)
        cut[0].meta[KEPT_OUTPUTS] = differentiable
        return cut

    def part(compile_part: Callable[..., Any], *changes: Callable[..., None]) -> Callable[..., Any]:
        def compiled_part(graph: fx.GraphModule, graph_inputs: Sequence[Any]) -> Callable[..., Any]:
            plain_effects(graph)
            for change in changes:
                change(graph)
            views = views_of_inputs(graph) if changes else None
            return called.run(graph, _viewed(views, compile_part(graph, graph_inputs)))

        return compiled_part

    compiler: Callable[..., Callable[..., Any]] = through_autograd(
        fw_compiler=part(lambda *given: called.owning(forward(*given))),
        bw_compiler=tangents.by_gradients(part(backward), called),
        inference_compiler=part(inference, *changes),
        partition_fn=partition,
        decompositions=counted_masks(decompositions(eager_random, on_device=True) | _list_rules()),
        keep_inference_input_mutations=True,
    )
    with _without_tokens(cse=False):  # equal calls are one by now; torch's way imports Inductor
        return called.by(compiler(gm, inputs), inputs)


def _viewed(
    views: Callable[..., Sequence[Any]] | None, run: Callable[[list[Any]], Any]
) -> Callable[[list[Any]], Any]:
    """``run``, with what ``views`` makes of the arguments in the place of its results."""
    if views is None:
        return run

    def call(args: list[Any]) -> list[Any]:
        return [v if v is not None else one for v, one in zip(views(*args), run(args), strict=True)]

    return tangents.boxed(call)


def _hand_on_sources(gm: fx.GraphModule, inputs: Sequence[Any]) -> None:
    """Have AOTAutograd find the symbols of sizes that Dynamo has. It looks for them where Dynamo
    met a tensor last: as what another one is a view of, it has none, and new ones get no guard."""
    context: Any = torch._guards.TracingContext.try_get()
    known = context.tensor_to_context if context else {}
    if context and context.fake_mode:  # a tensor that is given for a number becomes one
        context.fake_mode.allow_scalar_outputs = True
    for node, x in zip(gm.graph.find_nodes(op="placeholder"), inputs, strict=False):
        if not (isinstance(x, torch.Tensor) and x in known and hasattr(node, "_dynamo_source")):
            continue
        if not isinstance(known[x].tensor_source, FloatTensorSource):
            known[x] = replace(known[x], tensor_source=node._dynamo_source)


def _inline_untraceable(gm: fx.GraphModule) -> None:
    """Inline what torch refuses to trace, and to run as well: checkpoints that branch or loop, and
    nested regions that read a number off a tensor. (With dynamic sizes a region is given its floats
    so. Torch knows the number by its tensor, but not that inside a region.)"""

    def is_untraceable(call: fx.Node, body: fx.GraphModule) -> bool:
        if call.target is not CHECKPOINT:
            return bool(body.graph.find_nodes(op="call_method", target="item"))
        graphs = [one.graph for one in body.modules() if isinstance(one, fx.GraphModule)]
        return any(str(node.target) in _CONTROL for graph in graphs for node in graph.nodes)

    for one in [one for one in gm.modules() if isinstance(one, fx.GraphModule)]:
        inline(one, is_untraceable)


def _relaid(gm: fx.GraphModule, for_gpu: bool) -> None:
    """Lay memory out as eager mode does, and write library calls as a GPU's run them best."""
    normalise(gm)
    follow_eager(gm)
    if for_gpu:
        without_biases(gm)
        over_groups(gm)
        as_images(gm)
        channels_last(gm)
    _merge_equal(gm, _returned(gm))
    padded(gm)
    gm.recompile()


def _without_tokens(**options: bool) -> AbstractContextManager[Any]:
    """A context in which AOTAutograd gives no tokens to graphs that call operators for an effect
    (an error that ``linalg.inv`` raises): the calls then stand in order, and nothing else; nor has
    it generators, which know no ``manual_seed``. Backward graphs come with their forward graphs
    (``tangents.by_gradients``). With ``options`` of AOTAutograd's besides."""
    options |= {"unlift_effect_tokens": True, "graphsafe_rng_functionalization": False}
    options |= {"force_non_lazy_backward_lowering": True}
    return functorch_config.patch(options)


def plain_effects(gm: fx.GraphModule) -> None:
    """Spell calls with an effect as the calls that they are. (They come with a token, which puts
    them in order; nodes are in that order already.)"""
    for node in list(gm.graph.nodes):
        if node.target is not _with_effects or not isinstance(node.args[1], torch._ops.OpOverload):
            continue
        token, op, *args = node.args
        with gm.graph.inserting_before(node):
            call = gm.graph.call_function(op, tuple(args), dict(node.kwargs))
        values = node.meta["val"][1:]
        single = len(op._schema.returns) == 1
        made = values[0] if single else values if op._schema.returns else None
        call.meta = {**node.meta, "val": made}
        for user in list(node.users):
            number = user.args[1] - 1
            if number < 0 or single:
                user.replace_all_uses_with(token if number < 0 else call)
                gm.graph.erase_node(user)
            else:
                user.args = (call, number)
        gm.graph.erase_node(node)
    for node in reversed(gm.graph.nodes):
        if node.target in _TOKENS and not node.users:
            gm.graph.erase_node(node)
    gm.graph.eliminate_dead_code(_is_impure)
    gm.recompile()


@functools.cache
def _list_rules() -> dict[Any, Callable[..., Any]]:
    """Operators on lists of tensors (optimizers use them) as the same operator on each: slow in
    torch, but to be fused. (``dir(torch.ops.aten)`` has only those that were asked for before.)"""
    key = torch._C.DispatchKey.CompositeExplicitAutograd
    rules: dict[Any, Callable[..., Any]] = {}
    for qualified in sorted(torch._C._dispatch_get_all_op_names()):
        if qualified.startswith("aten::_foreach_"):
            name, _, overload = qualified.removeprefix("aten::").partition(".")
            op = getattr(getattr(_aten, name), overload or "default")
            if not op._schema.is_mutable and op.has_kernel_for_dispatch_key(key):
                rules[op] = functools.partial(op._op_dk, key)
    rules[_aten._foreach_zero.default] = lambda xs: [*map(torch.zeros_like, xs)]  # torch: in place
    return rules


def _run_backward(result: Any) -> None:
    """Provoke the backward compilation where it is put off until it is needed."""
    made = torch.utils._pytree.tree_leaves(result)
    if not (outputs := [t for t in made if isinstance(t, torch.Tensor) and t.requires_grad]):
        raise CaptureFailed(
            "nothing to train: no output depends on a parameter",
            expected="an output that requires a gradient",
            remedy="capture in inference mode, or return the loss",
        )
    torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


def _without_running(gm: fx.GraphModule) -> Callable[..., Any]:
    """What ``gm`` gives, by what tracing wrote down: rewritten as a GPU would run it, it need not
    run where it was traced (attention gives its result in another layout there)."""
    given: Any = gm.graph.output_node().args[0]
    values = [node.meta["val"] if isinstance(node, fx.Node) else node for node in given]
    return tangents.boxed(lambda _: values)


def differentiable(gm: fx.GraphModule) -> tuple[tuple[str, str], ...]:
    """Which of the outputs of a forward graph have gradients, for its ``facts``; nothing if all
    floats have."""
    output: Any = gm.graph.output_node()
    found = gm.meta.get(KEPT_OUTPUTS, ())
    values = [getattr(node, "meta", {}).get("val") for node in output.args[0][: len(found)]]
    floats = [isinstance(v, torch.Tensor) and v.is_floating_point() for v in values]
    if not any(f and not d for f, d in zip(floats, found, strict=True)):
        return ()
    return ((DIFFERENTIABLE, " ".join(str(n) for n, has in enumerate(found) if has)),)


def run_eagerly(gm: fx.GraphModule) -> Callable[..., Any]:
    """``gm`` run by torch, as AOTAutograd calls what a compiler makes."""
    return tangents.boxed(lambda args: gm(*args))


def _record(gm: fx.GraphModule, traced: Traced) -> None:
    calls = (node for node in gm.graph.nodes if node.op in ("call_function", "get_attr"))
    traced.joint_names += [(node.name, _short(node)) for node in calls]
    traced.placeholders += [node.name for node in gm.graph.find_nodes(op="placeholder")]


def _short(node: fx.Node) -> str:
    if node.target is torch.ops.prims.convert_element_type.default:
        return "to_copy"
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target._schema.name).split("::")[-1].strip("_")
    return "getitem" if node.target is operator.getitem else "constant"


def _cut_at(
    joint: fx.GraphModule, saved: Sequence[str], names: dict[str, str], num_fwd_outputs: int
) -> tuple[fx.GraphModule, fx.GraphModule]:
    by_name = {names.get(n.name, n.name): n for n in joint.graph.nodes}
    if missing := [name for name in saved if name not in by_name]:
        raise CaptureFailed(
            "the value to be kept for the backward graph does not exist in this capture",
            got=", ".join(missing[:5]),
            expected="the same structure at both sizes",
            remedy="choose small sizes that leave the model's control flow as it is",
        )
    forward, backward = partitioners._extract_fwd_bwd_modules(
        joint, [by_name[n] for n in saved], [], num_fwd_outputs=num_fwd_outputs
    )
    backward = partitioners.reordering_to_mimic_autograd_engine(backward)
    # as the min-cut partitioner does
    pick: Any = partitioners
    return pick.raise_getitems(forward), pick.raise_getitems(backward)


def _for_gpu(gm: fx.GraphModule) -> None:
    """Write a graph traced on a CPU as a GPU would run it."""
    normalise(gm)
    link_attention(gm)
    gm.graph.eliminate_dead_code(_is_impure)
    gm.recompile()


def normalise(gm: fx.GraphModule) -> None:
    """Spell operators one way, compute equal calls once, drop what nobody uses. What the caller
    gets stays what it is: two results share memory if and only if one was a view of the other, and
    a constant's copy is a copy."""
    gather_seeds(gm)
    lift_functions(gm)
    returned, output = _returned(gm), gm.graph.output_node()
    for node in list(gm.graph.nodes):
        spell_conversions(node)
        # A user's gradient need not be asked for, nor given back in memory of its own.
        own = node.meta.get(tangents.CALL) or any(u.target in GIVES_MEMORY for u in node.users)
        if node.target is _aten.sum.dim_IntList and not node.args[1]:
            node.args = (node.args[0], list(range(node.args[0].meta["val"].dim())), *node.args[2:])
        elif node.target is _aten.eq.Scalar and node.args[1] in (math.inf, -math.inf):
            x = node.args[0]  # of 16 bits, widened: the infinity may be one that these make
            if x.target is _aten._to_copy.default and x.args[0].meta["val"].itemsize == 2:
                node.args = (x.args[0], node.args[1])
        elif node.target is _aten.lift_fresh_copy.default and node in returned:
            node.target = _aten.clone.default
        elif node.target in _SAME_VALUE and not own:
            same = node.args[0]
            for user in list(node.users):  # returned as well it is another tensor there
                if user is not output or user not in same.users:
                    user.replace_input_with(node, same)
    _merge_equal(gm, returned)
    gm.graph.eliminate_dead_code(_is_impure)
    gm.graph.lint()
    gm.recompile()


def _returned(gm: fx.GraphModule) -> set[fx.Node]:
    """The nodes in whose memory an output lies, or an input afterwards: these, and what they are
    views of."""
    found: set[fx.Node] = set()
    given = [node for node in gm.graph.nodes if node.target in GIVES_MEMORY]
    for node in (*gm.graph.output_node().all_input_nodes, *(node.args[1] for node in given)):
        at: fx.Node | None = node
        while at is not None and at not in found:
            found.add(at)
            at = at.all_input_nodes[0] if at.target in _SAME_MEMORY or is_view(at) else None
    return found


def _merge_equal(gm: fx.GraphModule, returned: set[fx.Node]) -> None:
    """Compute equal calls once. Calls that draw random numbers or mutate stay apart, and so
    do those that the caller gets (``returned``)."""
    known: dict[Any, fx.Node] = {}
    for node in list(gm.graph.nodes):
        target = node.target
        known_op = isinstance(target, torch._ops.OpOverload) and not target._schema.is_mutable
        draws = torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())
        pure = target is operator.getitem or (known_op and not draws)
        if node.op != "call_function" or node in returned or not pure:
            continue
        # As text 1, 1.0 and True differ, and 0.0 and -0.0 too; a node is its name. Users' gradients
        # are told apart by their calls: one may not be asked for.
        key = target, f"{node.args} {node.kwargs}", node.meta.get(tangents.CALL, 0)
        first = known.setdefault(key, node)
        if first is not node:
            node.replace_all_uses_with(first)
            gm.graph.erase_node(node)


def _is_impure(node: fx.Node) -> bool:
    """Whether a node has to stay although nothing reads it: what has no result is called for its
    effect (``_assert_async``)."""
    if node.op in ("placeholder", "output") or node.target in WRITES:
        return True
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return target is _with_effects or target in _TOKENS
    return not target._schema.returns
