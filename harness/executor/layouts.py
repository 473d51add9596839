"""Layouts of buffers on the host: allocating, telling what fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sympy
import torch

from harness.graph.model import TensorType
from harness.graph.replay import same_layout, torch_dtype
from harness.ir.program import Buffer
from harness.runtime.launch.host import Empty, Reinterpret

Size: TypeAlias = "int | sympy.Expr"


@dataclass(frozen=True, slots=True)
class Layout:
    """A buffer's layout: integers where they are known, expressions over sizes elsewhere."""

    shape: tuple[Size, ...]
    stride: tuple[Size, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, recorded: Buffer | TensorType) -> Layout:
        """The layout that the graph recorded for a value."""
        shape, stride = (tuple(map(_plain, sizes)) for sizes in (recorded.shape, recorded.stride))
        return cls(shape, stride, torch_dtype(recorded.dtype))

    @property
    def known(self) -> bool:
        """Whether shape and stride are integers."""
        return all(isinstance(n, int) for n in (*self.shape, *self.stride))

    def fits(self, tensor: torch.Tensor, device: torch.device) -> bool:
        """Whether kernels can read ``tensor`` where it is."""
        stride: Any = self.stride
        return tensor.device.type == device.type and same_layout(tensor, stride)


@dataclass(frozen=True, slots=True)
class Host:
    """What generated host functions call besides torch. ``workspaces`` by words and stream."""

    device: torch.device
    empty: Empty
    reinterpret: Reinterpret
    workspaces: dict[tuple[int, int], torch.Tensor] = field(default_factory=dict, compare=False)

    def adapted(self, tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
        """``tensor`` if kernels can read it where it is, otherwise a copy that they can."""
        if layout.fits(tensor, self.device):
            return tensor
        shape: Any = layout.shape
        stride: Any = layout.stride
        return self.empty(shape, stride, layout.dtype).copy_(tensor)

    def zeros(self, count: int, stream: int) -> torch.Tensor:
        """A workspace of ``count`` words for a kernel that leaves zeros there: on a GPU the one
        that the last kernel of ``stream`` had. A CUDA graph has its own, because nobody knows
        which stream it will run on, and so has the interpreter, where a kernel may stop halfway."""
        own = self.device.type != "cuda" or torch.cuda.is_current_stream_capturing()
        made = None if own else self.workspaces.get((count, stream))
        if made is None:
            made = torch.zeros(count, dtype=torch.int64, device=self.device)
            if not own:
                self.workspaces[count, stream] = made
        return made

    def all_fit(self, pairs: Sequence[tuple[torch.Tensor, Layout]]) -> bool:
        """Whether kernels can read each of the tensors where it is."""
        return all(layout.fits(tensor, self.device) for tensor, layout in pairs)


def _plain(size: sympy.Expr) -> Size:
    return int(size) if size.is_Integer else size
