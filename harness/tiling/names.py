"""Names of kernels and of their parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_OPS = 5
LONGEST = 60
_SILENT = frozenset(
    "alias arange clone copy expand full getitem permute scalar_tensor select slice squeeze"
    " t to_copy transpose unsqueeze view".split()
)
"""Operators that only rearrange, convert or fill: named only where there is nothing else."""

_NUMBER = re.compile(
    r"((_\d+)?_(chunks|results|total|within|across|partial(_var|_mean)?))?(_\d+)*$"
)
"""What follows the operator in a node's name: a number, and what splitting a reduction adds."""
_UNFIT = re.compile(r"\W")


def kernel_name(category: str, origins: Sequence[str]) -> str:
    """``triton_<category>_fused_<ops>``: the distinct operators of ``origins`` (node names
    such as ``add_3``) in graph order, at most ``MOST_OPS`` of them and ``LONGEST``
    characters."""
    ops = list(
        dict.fromkeys(_UNFIT.sub("_", _NUMBER.sub("", o, count=1)).strip("_") for o in origins)
    )
    ops = [o for o in ops if o not in _SILENT] or ops
    kept: list[str] = []
    for op in (o for o in ops if o):
        if len(kept) == MOST_OPS or len("_".join((*kept, op))) > LONGEST:
            break
        kept.append(op)
    return f"triton_{category}_fused_{'_'.join(kept) or 'nothing'}"
