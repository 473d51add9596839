"""Processes that compile kernels do without torch until something of it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.runtime import emitted

SCRIPT = """
import sys
import harness.runtime.compile.quick
from triton.runtime.cache import triton_key

assert triton_key.cache_info().currsize == 1, "the first job has to read Triton"
from harness.runtime.compile.static import compiled_binary
from harness.runtime.module import load
from harness.target import H100

loaded = load(open(sys.argv[1]).read())
assert compiled_binary(loaded, H100, loaded.configs[0]).cubin.startswith(b"\\x7fELF")
assert "torch.nn" not in sys.modules, "compiling imported torch"
args = loaded.raw.get_args(device="cpu")
import torch.nn
assert isinstance(args[0], torch.Tensor) and "torch.nn" in sys.modules
"""


def test_compiling_imports_no_torch_and_a_module_that_asks_gets_it(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(emitted.ROW_SUM)
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(module)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
