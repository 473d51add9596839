"""What a process that compiles kernels imports before its first job. Emitted modules import torch,
which takes longer than compiling five of them, and compiling asks nothing of it: it is imported
here when something is asked."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

from harness.runtime.compile import static

__all__ = ["static"]


class _WhenAsked(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


if "torch" not in sys.modules:
    _torch = _WhenAsked("torch")
    _torch.__spec__ = importlib.util.find_spec("torch")
    sys.modules["torch"] = _torch

static.read_triton()  # which a job, and a launch that waits for it, would wait for else
