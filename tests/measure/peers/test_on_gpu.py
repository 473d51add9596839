"""The real thing: Inductor, backends by name and a hand-written kernel on the GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from harness.graph.text import load
from harness.measure.peers.jobs import comparables
from harness.measure.peers.pool import PeerPool
from harness.measure.peers.worker import HOST
from harness.pipeline import compile_graph
from harness.records.run import Check
from harness.session.entries import UserEntry

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
SUITES = Path(__file__).parents[3] / "suites"
NAMES = ("inductor", "eager", "inductor-tuned", "aot_eager", "cudagraphs")


def test_every_compiler_is_right_and_timed_in_every_process(tmp_path: Path) -> None:
    from harness.runtime.device import current_target

    graph = load(SUITES / "graphs" / "moe_router_forward.py")
    work = comparables(compile_graph(graph, current_target()).regions)[:2]
    with PeerPool(NAMES, tmp_path, 4, processes=2) as pool:
        pool.prepare(work)
        for one in work:
            for row in pool.compare(one, {}):
                assert row.check is Check.PASSED, row
                assert [s.process for s in row.sets] == [0, 1]
                assert row.ms and 0.0005 < row.ms < 1.0
                assert row.reason in ("", HOST), row.reason
                assert row.compiler == "cudagraphs" or not row.reason


@pytest.mark.parametrize("name", ["rms_norm", "swiglu_backward"])
def test_a_hand_written_kernel_beside_its_reference(tmp_path: Path, name: str) -> None:
    work = UserEntry(SUITES / "kernels" / "llm_kernels.py").compile().regions
    (one,) = (w for w in work if w.name == name)
    with PeerPool(("inductor", "eager"), tmp_path, 2) as pool:
        user, inductor, eager = pool.compare(one, {})
    assert [r.check for r in (user, inductor, eager)] == [Check.PASSED] * 3
    assert user.ms and eager.ms and eager.ms > 1.5 * user.ms
