from __future__ import annotations

import threading
import time

import pytest
import torch

from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime import module as modules
from harness.target import find_target
from suites.building import holding
from suites.building.holding import in_slices, most, room, summed_products

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


def test_products_in_slices_are_the_same_and_hold_less(monkeypatch):
    monkeypatch.setattr(holding, "_AT_ONCE", 1)
    whole = modules.load(module(PRODUCTS))
    lean = modules.load(in_slices(whole.text))
    args = whole.get_args(device="cpu")
    for wide in (True, False):
        found = lean.reference(args, wide)
        assert all(map(torch.equal, found, whole.reference(args, wide)))
    assert most(lean) < most(whole)
    assert lean.launch_hash == whole.launch_hash


def test_what_a_check_holds():
    """Of a sum of products, in float64: arguments, copies twice, one slice of the products."""
    lean = modules.load(in_slices(module(PRODUCTS)))
    arguments = 4 * (4 * 8 * 32 + 4 * 16 * 32 + 4 * 8 * 16)
    output = 4 * 4 * 8 * 16
    wide, products = 8 * (4 * 8 * 32 + 4 * 16 * 32), 8 * (4 * 8 * 16 * 32)
    sums = 8 * 4 * 8 * 16
    assert most(lean) == 2 * arguments + output + wide + products + sums


def test_a_product_that_is_read_again_is_made():
    other = PRODUCTS.replace("return (d,)", "return (d, c)")
    assert "summed_products(" not in in_slices(module(other))
    assert "summed_products(" in in_slices(module(PRODUCTS))


@pytest.mark.parametrize(("dims", "keep"), [([-1], False), ([2, 0], True), ([0, 1, 2], False)])
def test_products_are_summed_in_slices(dims, keep, monkeypatch):
    monkeypatch.setattr(holding, "_AT_ONCE", 1)
    one, other = torch.rand(3, 1, 5), torch.rand(4, 5)
    wanted = (one * other).sum(dims, keep)
    found = summed_products(one, other, dims, keep)
    assert found.shape == wanted.shape and torch.allclose(found, wanted)


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
