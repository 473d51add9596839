"""Checks a module whose programs wait for each other, in Triton's interpreter.

    TRITON_INTERPRET=1 python together.py MODULE CONFIG(JSON)

The interpreter runs programs one after the other. Here each runs in a thread of its own, one at a
time: the turn passes on to the next when a program reads memory that another one is to write (a
volatile load).
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import threading
import types
from collections import deque
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from harness.runtime.interpret import interpreting

_MOST_TURNS = 2_000


class Together:
    """In place of a kernel's function: calls are collected until the grid is complete."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.calls: list[tuple[tuple[int, int, int], dict[str, Any]]] = []
        self.own = threading.local()
        self.waiting: deque[threading.Semaphore] = deque()
        self.failed: list[BaseException] = []
        self.turns = 0
        self.__signature__ = inspect.signature(function)
        self.__name__, self.__globals__ = function.__name__, function.__globals__

    def __call__(self, **args: Any) -> None:
        builder = interpreter.interpreter_builder
        self.calls.append((tuple(builder.grid_idx), args))
        if len(self.calls) < builder.grid_dim[0]:
            return
        self.waiting.extend(threading.Semaphore(0) for _ in self.calls)
        threads = [
            threading.Thread(target=self._program, args=(turn, *call))
            for turn, call in zip(self.waiting, self.calls, strict=True)
        ]
        self.calls = []
        for thread in threads:
            thread.start()
        self.waiting.popleft().release()
        for thread in threads:
            thread.join()
        if self.failed:
            raise self.failed[0]

    def _program(
        self, turn: threading.Semaphore, place: tuple[int, int, int], args: dict[str, Any]
    ) -> None:
        self.own.turn = turn
        turn.acquire()
        interpreter.interpreter_builder.set_grid_idx(*place)
        try:
            self.function(**args)
        except BaseException as error:  # for the thread that started this one
            self.failed.append(error)
        if self.waiting:
            self.waiting.popleft().release()

    def give_way(self) -> None:
        """Let another program run."""
        builder = interpreter.interpreter_builder
        place = tuple(builder.grid_idx)
        self.turns += 1
        if self.failed or self.turns > _MOST_TURNS:
            raise RuntimeError("a program waits for one that will not come")
        self.waiting.append(self.own.turn)
        self.waiting.popleft().release()
        self.own.turn.acquire()
        builder.set_grid_idx(*place)


def main(path: str, config: dict[str, int]) -> int:
    """0 if the check passes with this configuration."""
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    interpreting.install_exactness()
    getattr(module, "_prepare_the_interpreter", lambda: None)()
    module.os = types.SimpleNamespace(environ={})  # or it would give every row one program
    interpreting.install_trees()
    interpreting.install_once()
    launched: list[Together] = []

    class Executor(interpreter.GridExecutor):
        def __init__(self, function: Any, *args: Any) -> None:
            super().__init__(function, *args)
            launched.append(Together(function))
            self.fn = launched[-1]

    interpreter.GridExecutor = Executor
    load = interpreter.InterpreterBuilder.create_masked_load

    def create_masked_load(own: Any, *args: Any) -> Any:
        if args[-1]:  # volatile
            launched[-1].give_way()
        return load(own, *args)

    def create_inline_asm(_: Any, text: str, __: str, values: Any, *___: Any) -> Any:
        assert text.startswith("ld.volatile.global.b64")  # what is there is not waited for
        places = values[0].data.astype(np.uint64)
        known, none = np.ones(places.shape, bool), np.zeros(places.shape, np.int64)
        found = interpreter._interpreter.load(places, known, none, np.dtype(np.int64))
        handle = interpreter.TensorHandle(found, tl.int64)
        return types.SimpleNamespace(get_result=lambda _: handle)

    interpreter.InterpreterBuilder.create_inline_asm = create_inline_asm
    interpreter.InterpreterBuilder.create_masked_load = create_masked_load
    found = module.check(config=config)
    waited = sum(one.turns for one in launched)
    print(json.dumps(found), waited)
    return 0 if found["passed"] and waited > 0 else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], json.loads(sys.argv[2])))
