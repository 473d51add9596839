"""Layouts of buffers on the host: allocating, telling what fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.graph.model import TensorType
from harness.graph.replay import same_layout, torch_dtype
from harness.ir.affine import Size, size_of
from harness.ir.program import Buffer
from harness.runtime.launch.driver import cuda
from harness.runtime.launch.host import Empty, Reinterpret

SPARE, MOST_WORKSPACES = -1, 16
"""In the place of a recording's number; and workspaces (of a megabyte) that recordings keep."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A buffer's layout: integers where they are known, expressions over sizes elsewhere."""

    shape: tuple[Size, ...]
    stride: tuple[Size, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, recorded: Buffer | TensorType) -> Layout:
        """The layout that the graph recorded for a value."""
        shape, stride = (tuple(map(size_of, sizes)) for sizes in (recorded.shape, recorded.stride))
        return cls(shape, stride, torch_dtype(recorded.dtype))

    def fits(self, tensor: torch.Tensor, device: torch.device) -> bool:
        """Whether kernels can read ``tensor`` where it is."""
        stride: Any = self.stride
        same = tensor.device.type == device.type and tensor.dtype is self.dtype
        return same and same_layout(tensor, stride)


@dataclass(frozen=True, slots=True)
class Host:
    """What generated host functions call besides torch. ``workspaces`` by words, stream and the
    number of a recording, which is 0 outside of any and ``SPARE`` for the next one's."""

    device: torch.device
    empty: Empty
    reinterpret: Reinterpret
    workspaces: dict[tuple[int, int, int], torch.Tensor] = field(
        default_factory=dict, compare=False
    )

    def adapted(self, tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
        """``tensor`` if kernels can read it where it is, otherwise a copy that they can."""
        if layout.fits(tensor, self.device):
            return tensor
        shape: Any = layout.shape
        stride: Any = layout.stride
        return self.empty(shape, stride, layout.dtype).copy_(tensor)

    def zeros(self, count: int, stream: int) -> torch.Tensor:
        """A workspace of ``count`` words for a kernel that leaves zeros there: on a GPU the one
        that the last kernel of ``stream`` had. A CUDA graph has its own, because nobody knows which
        stream it will run on, cleared before it is recorded; and so has the interpreter, where a
        kernel may stop halfway, for every launch."""
        if self.device.type != "cuda":
            return self._cleared(count)
        recording = cuda().recording(stream) if torch.cuda.is_current_stream_capturing() else 0
        key, spare = (count, stream, recording), (count, 0, SPARE)
        room = len(self.workspaces) < MOST_WORKSPACES
        if room and not recording and spare not in self.workspaces:
            self.workspaces[spare] = self._cleared(count)
        if key not in self.workspaces:
            kept = self.workspaces.pop(spare, None) if recording else None
            made = self._cleared(count) if kept is None else kept
            if recording and len(self.workspaces) >= MOST_WORKSPACES:
                return made
            self.workspaces[key] = made
        return self.workspaces[key]

    def _cleared(self, count: int) -> torch.Tensor:
        return torch.zeros(count, dtype=torch.int64, device=self.device)

    def all_fit(self, pairs: Sequence[tuple[torch.Tensor, Layout]]) -> bool:
        """Whether kernels can read each of the tensors where it is."""
        return all(layout.fits(tensor, self.device) for tensor, layout in pairs)
