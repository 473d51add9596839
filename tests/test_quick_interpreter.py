"""The interpreter that the tests' workers have computes what Triton's does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.fork_server import FILE

KERNEL = """
import json, sys
import torch, triton
import triton.language as tl
from triton.runtime import interpreter
from tests import quick_interpreter


@triton.jit
def _twice(x):
    return x + x


@triton.jit(
    do_not_specialize=["n"],
)
def kernel(x, y, places, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rows = tl.load(x + at[:, None] * 4 + tl.arange(0, 4)[None, :], at[:, None] < n, other=1)
    half = rows.to(tl.float16)
    total = tl.sum(_twice(half).to(tl.float32) * 3, 1) + tl.load(y)
    tl.store(y + 1 + at, total, at < n)
    tl.store(places + at, tl.argmax(rows, 1).to(tl.int8), at < n)


rewriter = interpreter.FunctionRewriter(kernel.fn)
made, block_type = [], tl.core.block_type.__init__
before = rewriter._get_jit_fn_file_line()
if sys.argv[1] == "quick":
    quick_interpreter.install()


def counted(*given):
    made.append(given)
    block_type(*given)


tl.core.block_type.__init__ = counted
x, y, places = torch.arange(400.0) % 7 - 3, torch.ones(101), torch.zeros(100, dtype=torch.int8)
kernel[(25,)](x, y, places, 99, BLOCK=4)
assert rewriter._get_jit_fn_file_line() == before
print(json.dumps([len(made), y.tolist(), places.tolist()]))
"""


def test_it_computes_the_same_and_makes_few_types(
    interpreting: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    path, found = tmp_path / "kernels.py", []
    path.write_text(KERNEL)
    for way in ("usual", "quick"):
        done = subprocess.run(
            [*interpreting, FILE, str(path), way], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    (usual, *wanted), (quick, *computed) = found
    assert computed == wanted and len(set(wanted[0])) > 3
    assert quick < usual / 4
