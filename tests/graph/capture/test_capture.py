from __future__ import annotations

import math

import pytest
import torch
from torch import fx, nn

from harness.dtypes import DType
from harness.errors import CaptureFailed, GraphError, UnknownName, UsageError
from harness.graph.capture.aot import compile_joint
from harness.graph.capture.capture import CaptureOptions, capture
from harness.graph.capture.decompositions import DECOMPOSED, KEPT, decompositions
from harness.graph.capture.fx import convert
from harness.graph.capture.strides import Whole
from harness.graph.replay import replay
from harness.graph.text import dumps, loads

HERE = f"{__name__}"


class Net(nn.Module):
    def __init__(self, vocabulary=23, width=6):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids, labels):
        logits = self.head(nn.functional.gelu(self.norm(self.table(ids))))
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def net(batch=2, seq=5):
    ids = torch.zeros(batch, seq, dtype=torch.int64)
    return Net(), (ids, ids.clone())


class Counting(nn.Module):
    def forward(self, x):
        return x.nonzero().shape[0] + x


class Chosen(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


def counting():
    return Counting(), (torch.randn(3, 4),)


def chosen():
    return Chosen(), (torch.randn(3),)


def unfit():
    return (lambda x: x @ x), (torch.randn(3, 4),)


def overflowing():
    return (lambda x: torch.full((3,), 500.0, dtype=torch.float8_e4m3fn).float() + x), (
        torch.randn(3),
    )


def scaled(width: int, factor: float = 2.0):
    return (lambda x: x * factor + 1), (torch.randn(3, width),)


def normalised():
    return nn.BatchNorm2d(4), (torch.randn(2, 4, 3, 5),)


def attention(heads=4, keys=2, masked=False):
    def call(q, k, v, mask=None):
        return nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=heads != keys
        )

    q = torch.randn(1, heads, 8, 16).requires_grad_()
    k, v = (torch.randn(1, keys, 8, 16).requires_grad_() for _ in range(2))
    return call, (q, k, v, torch.randn(1, 1, 8, 8)) if masked else (q, k, v)


def wrong():
    return 3


def branching():
    return (lambda x: x if x.sum() > 0 else -x), (torch.randn(3),)


def mixed():
    def call(x):
        a, b, c = x.split(4, dim=1)
        up = nn.functional.interpolate(a[:, :, None, None].expand(-1, -1, 2, 3), scale_factor=2)
        return torch.stack(torch.unbind(b)), up, c.logsumexp(1), nn.functional.silu(c).std(1)

    return call, (torch.randn(3, 11),)


def ops(graph):
    return [n.op for n in graph.nodes]


def test_inference_graph_is_functional_and_named_after_the_model():
    (graph,) = capture(f"{HERE}:net")
    assert graph.name == "net_forward"
    assert [(i.name, i.role) for i in graph.inputs][:2] == [
        ("table_weight", "parameter"),
        ("norm_weight", "parameter"),
    ]
    bounds = {i.name: i.bound for i in graph.inputs if i.bound is not None}
    assert bounds == {"ids": 23, "labels": 23}
    assert loads(dumps(graph)) == graph
    assert any(n.source.startswith("test_capture.py:") and n.module == "norm" for n in graph.nodes)
    assert not {"aten.native_layer_norm.default", "aten.gelu.default"} & set(ops(graph))


def run(graph, tensors):
    return replay(graph, tensors, "cpu")


def test_training_graphs_compute_what_autograd_does():
    forward, backward = capture(f"{HERE}:net", CaptureOptions(mode="training"))
    torch.manual_seed(3)
    model = Net().double().float()
    ids, labels = (torch.randint(0, 23, (2, 5)) for _ in range(2))
    values = {n.replace(".", "_"): p.detach() for n, p in model.named_parameters()}
    values |= {"ids": ids, "labels": labels}
    results = run(forward, [values[i.name] for i in forward.inputs])
    loss = model(ids, labels)
    torch.testing.assert_close(results[0], loss.detach())
    values |= dict(zip(forward.outputs, results, strict=True))
    values["tangent"] = torch.tensor(1.5)
    assert [i.role for i in backward.inputs].count("gradient") == 1
    assert "saved" in {i.role for i in backward.inputs}
    gradients = run(backward, [values[i.name] for i in backward.inputs])
    (loss * 1.5).backward()
    expected = [p.grad for p in model.parameters()]
    found = [g for g in gradients if g is not None]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_decompositions_compute_what_the_operators_do():
    (graph,) = capture(f"{HERE}:mixed")
    assert not {o for o in ops(graph) if "as_strided" in o or "split" in o or "unbind" in o}
    torch.manual_seed(1)
    x = torch.randn(3, 11)
    for one, other in zip(run(graph, [x]), mixed()[0](x), strict=True):
        torch.testing.assert_close(one, other)


def test_batch_norm_statistics_become_mutations():
    forward, backward = capture(f"{HERE}:normalised", CaptureOptions(mode="training"))
    assert [m.input for m in forward.mutations] == [
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]
    assert not backward.mutations
    model = nn.BatchNorm2d(4)
    x = torch.randn(2, 4, 3, 5)
    values = {**dict(model.named_parameters()), **dict(model.named_buffers()), "input": x}
    state = {k: v.detach().clone() for k, v in values.items()}
    result = run(forward, [state[i.name] for i in forward.inputs])
    torch.testing.assert_close(result[0], model(x).detach())
    torch.testing.assert_close(state["running_var"], model.running_var)
    assert state["num_batches_tracked"] == 1


def test_optimizer_step_updates_parameters_in_place():
    (graph,) = capture(f"{HERE}:net", CaptureOptions(mode="optimizer"))
    assert graph.name == "net_step"
    names = [n.replace(".", "_") for n, _ in Net().named_parameters()]
    assert {m.input for m in graph.mutations} == {
        f"{group}_{name}"
        for name in names
        for group in ("parameters", "state_exp_avg", "state_exp_avg_sq", "state_step")
    }
    torch.manual_seed(5)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    values = {}
    for name, p in model.named_parameters():
        key = name.replace(".", "_")
        p.grad = torch.randn_like(p)
        values[f"parameters_{key}"] = p.detach().clone()
        values[f"gradients_{key}"] = p.grad.clone()
        values[f"state_exp_avg_{key}"] = torch.zeros_like(p)
        values[f"state_exp_avg_sq_{key}"] = torch.zeros_like(p)
        values[f"state_step_{key}"] = torch.tensor(0.0)
    run(graph, [values[i.name] for i in graph.inputs])
    optimizer.step()
    for name, p in model.named_parameters():
        torch.testing.assert_close(values[f"parameters_{name.replace('.', '_')}"], p.detach())


@pytest.mark.parametrize(
    ("target", "dtype", "mode", "expected"),
    [
        ("attention", DType.BF16, "inference", "scaled_dot_product_attention.default"),
        ("attention", DType.BF16, "training", "_scaled_dot_product_flash_attention.default"),
        (
            "attention?heads=4&keys=4&masked=True",
            DType.BF16,
            "training",
            "_scaled_dot_product_efficient_attention.default",
        ),
        (
            "attention?heads=4&keys=4",
            DType.F32,
            "training",
            "_scaled_dot_product_efficient_attention.default",
        ),
    ],
)
def test_attention_is_one_call_of_a_gpu(target, dtype, mode, expected):
    graphs = capture(f"{HERE}:{target}", CaptureOptions(mode=mode, dtype=dtype))
    found = [o for g in graphs for o in ops(g) if "attention" in o]
    assert found[0] == f"aten.{expected}"
    assert len(found) == len(graphs)
    assert not any("for_cpu" in o for o in found)


def test_options_and_dtype_reach_the_model():
    options = CaptureOptions(dtype=DType.F16, name="twice", options={"width": 7})
    (graph,) = capture(f"{HERE}:scaled?factor=3.5", options)
    assert graph.name == "twice_forward"
    assert dict(graph.facts)["captured"] == f"{HERE}:scaled?factor=3.5&width=7"
    (x,) = graph.inputs
    assert (x.name, x.type.dtype, x.type.shape) == ("x", DType.F16, (3, 7))
    assert graph.nodes[0].args[1] == 3.5
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.parametrize(
    ("target", "error", "words"),
    [
        ("nothing", UsageError, "not a capture target"),
        ("no.such.module:x", UnknownName, "no module no.such.module"),
        (f"{HERE}:scale", UnknownName, "scaled"),
        (f"{HERE}:scaled?widht=3", UnknownName, "width"),
        (f"{HERE}:scaled", UsageError, "needs more options"),
        (f"{HERE}:HERE", UsageError, "not callable"),
        (f"{HERE}:wrong", CaptureFailed, "something else than a model"),
        (f"{HERE}:branching", CaptureFailed, "control flow do not depend on tensor values"),
        (f"{HERE}:counting", CaptureFailed, "in forward: return x.nonzero()"),
        (f"{HERE}:unfit", CaptureFailed, "in <lambda>: return (lambda x: x @ x)"),
        (f"{HERE}:unfit", CaptureFailed, "that runs on the arguments beside it"),
        (f"{HERE}:raising", CaptureFailed, "could not be built"),
        (f"{HERE}:raising", CaptureFailed, "raising raised this on tensors without values"),
        (f"{HERE}:overflowing", CaptureFailed, "without overflow"),
        (f"{HERE}:chosen", CaptureFailed, "in forward: return torch.cond("),
        (f"{HERE}:chosen", CaptureFailed, "a graph file has no control flow"),
    ],
)
def test_bad_targets(target, error, words):
    with pytest.raises(error) as caught:
        capture(target)
    assert words in str(caught.value)


def narrowed(dtype):
    block = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)).to(getattr(torch, dtype))
    block.append(nn.Linear(4, 4).to(torch.float32).half().to(getattr(torch, dtype)))
    return block, (torch.randn(2, 4, dtype=getattr(torch, dtype)),)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_a_model_may_convert_itself_while_it_is_built(dtype):
    (graph,) = capture(f"{HERE}:narrowed?dtype={dtype}")
    assert {i.type.dtype.torch_name for i in graph.inputs} == {dtype}
    assert len(graph.inputs) == 7


class Differentiates(nn.Module):
    def __init__(self, transform):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.transform = transform

    def forward(self, x):
        def function(y):
            y = self.inner(y)
            return y.sin() * y.sum()

        if self.transform == "jvp":
            return torch.func.jvp(function, (x,), (x,))[1]
        if self.transform in ("grad", "hessian"):
            return getattr(torch.func, self.transform)(lambda y: function(y).sum())(x)
        return getattr(torch.func, self.transform)(function)(x)


def differentiating(transform):
    x = torch.randn(3, 4) if transform == "vmap" else torch.randn(4)
    return Differentiates(transform), (x,)


@pytest.mark.parametrize("transform", ["grad", "jacrev", "jacfwd", "hessian", "jvp", "vmap"])
def test_transforms_of_functions_are_captured(transform):
    """Torch exports what some of them differentiate as a constant, and some not at all."""
    (graph,) = capture(f"{HERE}:differentiating?transform={transform}")
    model, (x,) = differentiating(transform)
    assert [i.name for i in graph.inputs] == ["inner_weight", "inner_bias", "x"]
    weight, bias = (p.detach() for p in model.parameters())
    (found,) = run(graph, [weight, bias, x])
    torch.testing.assert_close(found, model(x).detach())
    capture(f"{HERE}:differentiating?transform={transform}", CaptureOptions(mode="training"))


def test_training_without_anything_to_train():
    with pytest.raises(CaptureFailed):
        capture(f"{HERE}:scaled?width=3", CaptureOptions(mode="training"))


def test_missing_library_is_named():
    pytest.importorskip("transformers")
    with pytest.raises(UnknownName, match="LlamaForCausalLM"):
        capture("transformers:LlamaForCausalML")
    with pytest.raises(UnknownName, match="num_hidden_layers"):
        capture("transformers:LlamaForCausalLM?num_hidden_layer=1")


def test_library_that_cannot_be_imported(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "timm", None)
    with pytest.raises(CaptureFailed, match="timm cannot be imported"):
        capture("timm:resnet50")


def raising():
    raise ValueError("three rows")


def ended(traced=False):
    if not traced:
        raise SystemExit(3)
    return lambda x: ended(), (torch.randn(3),)


@pytest.mark.parametrize(("options", "what"), [("", "built"), ("?traced=True", "traced")])
def test_a_model_that_ends_the_program_is_an_error(options, what):
    with pytest.raises(CaptureFailed, match=f"could not be {what}") as caught:
        capture(f"{HERE}:ended{options}")
    assert caught.value.got == "SystemExit: 3"


def test_conversion_folds_sizes_and_keeps_odd_floats():
    from torch.fx.experimental.proxy_tensor import make_fx

    def function(x):
        return torch.where(x > 0, x, math.nan).view(-1) * float("-inf")

    gm = make_fx(function, tracing_mode="symbolic")(torch.randn(3, 5))
    graph = convert(gm, "symbolic").graph
    assert "sym(" in dumps(graph) or "*s" in dumps(graph)
    assert loads(dumps(graph)) == graph


def test_complex_values_have_a_type():
    from torch.fx.experimental.proxy_tensor import make_fx

    gm = make_fx(lambda x: torch.view_as_complex(x) * 2, tracing_mode="fake")(torch.randn(3, 2))
    (*_, last) = convert(gm, "g").graph.nodes
    assert last.type.dtype is DType.C64
    assert last.type.shape == (3,)


def test_torch_compile_trains_and_mutates_through_converted_graphs():
    seen = []

    def compiler(part):
        def compile_one(gm, inputs):
            conversion = convert(gm, part)
            seen.append(part)
            assert loads(dumps(conversion.graph)) == conversion.graph

            def call(args):
                tensors = [args[k] for k in conversion.positions]
                args.clear()
                return replay(conversion.graph, [*tensors, *conversion.constants], "cpu")

            call._boxed_call = True
            return call

        return compile_one

    def backend(gm, inputs):
        parts = ("forward", "backward", "inference")
        return compile_joint(gm, inputs, pytest.fail, *map(compiler, parts))

    torch.manual_seed(2)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.SiLU())
    other = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.SiLU())
    other.load_state_dict(model.state_dict())
    compiled = torch.compile(model, backend=backend, dynamic=False)
    for batch in (2, 3):
        x = torch.randn(batch, 3, 6, 7)
        compiled(x).square().sum().backward()
        other(x).square().sum().backward()
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(model[1].running_var, other[1].running_var)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), other(x))
    assert {"forward", "backward", "inference"} <= set(seen)


def test_decomposition_table_names_exist():
    table = decompositions(False)
    for name in (*DECOMPOSED, *KEPT):
        assert hasattr(torch.ops.aten, name), name
    kept = {f"aten::{name}" for name in KEPT}
    apart = [op for op, rule in table.items() if not isinstance(rule, Whole)]
    assert not [op for op in apart if getattr(getattr(op, "_schema", None), "name", "") in kept]
    assert torch.ops.aten.native_layer_norm.default in table
    assert torch.ops.aten.addmm.default not in table


def test_upsampling_by_odd_factors_keeps_the_general_rule():
    def function(x):
        return nn.functional.interpolate(x, size=(5, 7))

    global odd_upsampling
    odd_upsampling = lambda: (function, (torch.randn(1, 2, 3, 4),))  # noqa: E731
    (graph,) = capture(f"{HERE}:odd_upsampling")
    x = torch.randn(1, 2, 3, 4)
    torch.testing.assert_close(run(graph, [x])[0], function(x))


def test_damaged_names_do_not_reach_files():
    with pytest.raises(GraphError):
        dumps(capture(f"{HERE}:scaled?width=2")[0].__class__("no name", (), (), ()))


def test_a_graph_file_holds_no_input_that_gets_other_memory():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    given = graph.call_function(torch.ops.aten.set_.source_Tensor, (x, y))
    for node in (x, y, given):
        node.meta["val"] = torch.empty(2, device="meta")
    graph.output((y,))
    with pytest.raises(CaptureFailed, match="something other than the contents of an input"):
        convert(fx.GraphModule({}, graph), "step")
