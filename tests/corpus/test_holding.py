from __future__ import annotations

import threading
import time

from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime import module as modules
from harness.runtime import products
from harness.target import find_target
from suites.building import holding
from suites.building.holding import most, room

PRODUCTS = """# harness graph 1
def g(
    a: "f32[4, 8, 1, 32]",
    b: "f32[4, 1, 16, 32]",
):
    c: "f32[4, 8, 16, 32]" = aten.mul.Tensor(a, b)
    d: "f32[4, 8, 16]" = aten.sum.dim_IntList(c, [3])
    return (d,)
"""


def module(text):
    (kernel,) = compile_graph(loads(text), find_target("sm_90")).kernels
    return kernel.module.text


def test_what_a_check_holds(monkeypatch):
    """Of a sum of products, in float64: arguments, copies twice, one slice of the products."""
    monkeypatch.setattr(products, "_AT_ONCE", 8 * 16 * 32)
    arguments = 4 * (4 * 8 * 32 + 4 * 16 * 32 + 4 * 8 * 16)
    output = 4 * 4 * 8 * 16
    wide, slices = 8 * (4 * 8 * 32 + 4 * 16 * 32), 8 * (8 * 16 * 32)
    sums = 8 * 4 * 8 * 16
    assert most(modules.load(module(PRODUCTS))) == 2 * arguments + output + wide + slices + sums


def test_a_board_has_room_for_some(tmp_path, monkeypatch):
    """Two of three fit; the third waits for one of them, and what is too large for all of it until
    it is alone. A process that ended without a word holds nothing."""
    (tmp_path / "1").write_text("1000")
    held, most_held, lock, two = [], [], threading.Lock(), threading.Event()
    names = iter(range(2, 9))
    monkeypatch.setattr(holding.os, "getpid", lambda: next(names))

    def work(needed):
        with room(tmp_path, 100, needed):
            with lock:
                held.append(needed)
                most_held.append(sorted(held))
                if len(held) == 2:
                    two.set()
            assert needed == 1000 or two.wait(300)
            time.sleep(0.1)  # for whoever should wait
            with lock:
                held.remove(needed)

    threads = [threading.Thread(target=work, args=(needed,)) for needed in (40, 41, 42, 1000)]
    for thread in threads[:3]:
        thread.start()
    assert two.wait(300)
    threads[3].start()
    for thread in threads:
        thread.join()
    assert len(most_held) == 4 and [1000] in most_held
    assert max(map(len, most_held)) == 2
    assert all(sum(each) <= 100 for each in most_held if each != [1000])
