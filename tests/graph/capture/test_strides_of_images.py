"""Strides of what is normalised, pooled, padded and resampled, against eager mode."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

from harness.graph.capture.decompositions import decompositions
from harness.graph.capture.strides import follow_eager

_FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "group_norm": lambda x: F.group_norm(x, 1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "instance_norm": lambda x: F.instance_norm(x, eps=1.0),
    "softmax": lambda x: (x.softmax(1), x.softmax(-1), x.log_softmax(2)),
    "unfold": lambda x: F.unfold(x, 1),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "averages": lambda x: (F.adaptive_avg_pool2d(x, 2), F.avg_pool2d(x, 1)),
    "largest": lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True),
    "replicated": lambda x: F.pad(x, (1, 0, 0, 1), mode="replicate"),
    "rolled": lambda x: (x.roll(1, 1), x.roll(3, 0), x.roll((1, 2), (1, -1)), x.roll(2)),
    "shuffled": lambda x: F.channel_shuffle(x, 1),
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "put": lambda x: x.put(torch.tensor([1]), torch.tensor([2.0])),
    "filled": lambda x: x.index_fill(0, torch.zeros(1, dtype=torch.long), 2.0),
    "losses": lambda x: (
        F.soft_margin_loss(x, x.flip(0), reduction="none"),
        F.huber_loss(x, x.flip(0), reduction="none"),
        F.binary_cross_entropy(x.sigmoid(), x.sigmoid(), reduction="none"),
    ),
}


def _image(rng: random.Random) -> torch.Tensor:
    """In memory in any order, with gaps or without, dimensions of one element with any strides."""
    shape, gap = [rng.choice((1, 2, 3)) for _ in range(4)], rng.choice((1, 1, 2))
    shape[2 + rng.randrange(2)] = 3  # of one element alone a norm warns
    order = rng.sample(range(4), 4)
    x = torch.randn([*(shape[d] for d in order), gap])[..., 0]
    x = x.permute([order.index(d) for d in range(4)])
    steps = zip(shape, x.stride(), strict=True)
    return x.as_strided(shape, [n if size > 1 else rng.choice((n, 1, 7, 60)) for size, n in steps])


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_images_lie_as_eager_mode_lays_them_out(name: str) -> None:
    """Strides of dimensions of one element, too: they say whether channels come last."""
    rng, function = random.Random(name), _FUNCTIONS[name]
    for _ in range(20):
        x = _image(rng)
        wanted = [one.stride() for one in tree_leaves(function(x))]
        gm = make_fx(function, decompositions(False, on_device=True), tracing_mode="fake")(x)
        follow_eager(gm)
        made = tree_leaves(gm.graph.output_node().args[0])
        found = [one.meta["val"].stride() for one in made]
        assert found == wanted, (x.shape, x.stride())
