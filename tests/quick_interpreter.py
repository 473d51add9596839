"""Triton's interpreter, doing once what it does for every operation: a fifth of the time that a
worker of the tests interprets. What it computes is the same; users' workers have it as it is."""

from __future__ import annotations

import functools
import linecache
import math
from collections.abc import Sequence
from typing import Any


def install() -> None:
    """Change the interpreter in this process: types and shapes of results are made, and checked,
    once for each; blocks of one shape are left as they are; and no function is compiled in part to
    know the line that it begins in."""
    import triton.language as tl
    from triton.runtime import interpreter

    semantic: Any = type(interpreter.interpreter_semantic)
    core: Any = tl.core
    make_alike, numpy_type = semantic.broadcast_impl_value, interpreter._get_np_dtype
    blocks: dict[Any, Any] = {}
    types: dict[str, Any] = {}

    def block_type(kind: Any, sizes: Sequence[int]) -> Any:
        key = kind.name, *sizes
        if key not in blocks:
            blocks[key] = core.block_type(kind, list(sizes))
        return blocks[key]

    @functools.cache
    def shape_of(sizes: tuple[int, ...]) -> Any:
        return core.tuple(list(map(core.constexpr, sizes))), core.constexpr(math.prod(sizes))

    def make_tensor(own: Any, handle: Any, kind: Any) -> None:
        own.handle, own.type, own.dtype = handle, kind, kind.scalar
        own.shape, own.numel = shape_of(tuple(kind.shape) if kind.is_block() else ())

    def broadcast(own: Any, one: Any, other: Any) -> Any:
        left, right = one.type, other.type
        if left.is_block() and right.is_block() and [*left.shape] == [*right.shape]:
            return one, other
        return make_alike(own, one, other)

    def in_numpy(kind: Any) -> Any:
        if kind.name not in types:
            types[kind.name] = numpy_type(kind)
        return types[kind.name]

    core.block_type.with_element_ty = lambda own, kind: block_type(kind, own.shape)
    interpreter.InterpreterBuilder.get_block_ty = lambda _, *given: block_type(*given)
    core.tensor.__init__ = make_tensor
    semantic.broadcast_impl_value = broadcast
    interpreter._get_np_dtype = in_numpy
    interpreter.FunctionRewriter._get_jit_fn_file_line = begins


def begins(own: Any) -> tuple[str, int]:
    """The file and the line of the ``def`` of what a rewriter ``own`` rewrites."""
    code = own.fn.__code__
    lines = enumerate(linecache.getlines(code.co_filename), start=1)
    at = (n for n, text in lines if n >= code.co_firstlineno and text.lstrip()[:4] == "def ")
    return code.co_filename, next(at)
