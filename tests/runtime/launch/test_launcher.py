"""Launching: arguments as the driver gets them, alignment, errors, what is kept and unloaded."""

from __future__ import annotations

import gc
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.errors import CompileFailed, InvalidProgram, NoDevice
from harness.graph.text import loads
from harness.heuristics.facts import Config
from harness.runtime.compile.binary import KernelBinary
from harness.runtime.launch.driver import Driver
from harness.runtime.launch.launcher import Kernel, Launcher, Make, _built, expect, launching
from harness.runtime.module import load
from harness.target import H100
from tests.codegen.kernels import modules
from tests.runtime import emitted
from tests.runtime.launch.fake_driver import FakeDriver


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def make(cache: Path) -> Make:
    return launching(cache)


class Calls:
    """What a kernel called instead of launching."""

    def __init__(self) -> None:
        self.unbound: list[tuple[Any, ...]] = []
        self.misaligned: list[tuple[Any, ...]] = []

    def kernel(self, make: Make, driver: FakeDriver) -> Kernel:
        def failed(code: int, tries: int) -> None:
            driver.recover(code, tries, "k", 0)

        return make(
            lambda *args: self.unbound.append(args),
            lambda *args: self.misaligned.append(args),
            failed,
        )


def bind(kernel: Kernel, driver: FakeDriver, kinds: bytes, cooperative: bool = False) -> None:
    driver.arguments = len(kinds)
    kernel.bind(
        function=77,
        launch=driver.address(cooperative),
        grid=(5, 6, 7),
        threads=128,
        shared=99,
        kinds=kinds,
        cooperative=cooperative,
    )


def bits(kind: str, value: object) -> int:
    return int.from_bytes(struct.pack(f"<{kind}", value).ljust(8, b"\0"), "little")


def test_arguments_reach_the_driver_as_the_kernel_reads_them(make: Make) -> None:
    driver, calls = FakeDriver(), Calls()
    kernel = calls.kernel(make, driver)
    bind(kernel, driver, b"APiqIQfd?bhBH")
    tensor = torch.empty(8)
    given = [tensor, tensor[1:], -5, -(1 << 40), 1 << 31, 1 << 63, 1.5, 2.5, True, -1, -2, 255, 9]
    kernel(4096, *given)
    ((function, grid, threads, shared, stream, values),) = driver.launches
    assert (function, grid, threads, shared, stream) == (77, (5, 6, 7), 128, 99, 4096)
    expected = [tensor.data_ptr(), tensor.data_ptr() + 4]
    widths = {"i": 4, "I": 4, "f": 4, "?": 1, "b": 1, "h": 2, "B": 1, "H": 2}
    for kind, value, got in zip("iqIQfd?bhBH", given[2:], values[2:], strict=True):
        # Beyond the argument's own bytes anything may stand.
        mask = (1 << 8 * widths.get(kind, 8)) - 1
        assert got & mask == bits(kind, value), kind
    assert values[:2] == expected


def test_cooperative_kernels_are_launched_as_such(make: Make) -> None:
    driver, calls = FakeDriver(), Calls()
    kernel = calls.kernel(make, driver)
    bind(kernel, driver, b"P", cooperative=True)
    kernel(0, 16)
    assert driver.launches[0][1] == (5, 6, 7)


def test_addresses_may_be_numbers_or_none(make: Make) -> None:
    driver, calls = FakeDriver(), Calls()
    kernel = calls.kernel(make, driver)
    bind(kernel, driver, b"AP")
    kernel(0, 1 << 47, None)
    assert driver.launches[0][-1] == [1 << 47, 0]


def test_a_misaligned_address_is_handed_on(make: Make) -> None:
    driver, calls = FakeDriver(), Calls()
    kernel = calls.kernel(make, driver)
    bind(kernel, driver, b"PA")
    tensor = torch.empty(8)
    kernel(3, tensor[1:], tensor)
    assert len(driver.launches) == 1 and not calls.misaligned
    kernel(3, tensor, tensor[1:])
    assert len(driver.launches) == 1
    stream, first, second = calls.misaligned[0]
    assert stream == 3 and first is tensor and second.data_ptr() == tensor.data_ptr() + 4


def test_unbound_kernels_call_what_binds_them(make: Make) -> None:
    driver, calls = FakeDriver(), Calls()
    kernel = calls.kernel(make, driver)
    kernel(1, 2, 3)
    assert calls.unbound == [(1, 2, 3)]
    bind(kernel, driver, b"P")
    kernel(1, 2)
    assert len(driver.launches) == 1 and len(calls.unbound) == 1


@pytest.mark.parametrize(
    ("kinds", "args", "error"),
    [
        (b"PP", (16,), TypeError),
        (b"i", (1 << 31,), OverflowError),
        (b"I", (-1,), OverflowError),
        (b"?", (2,), OverflowError),
        (b"P", ("text",), AttributeError),
    ],
)
def test_arguments_that_do_not_fit_launch_nothing(
    make: Make, kinds: bytes, args: tuple[Any, ...], error: type[Exception]
) -> None:
    driver, calls = FakeDriver(), Calls()
    kernel = calls.kernel(make, driver)
    bind(kernel, driver, kinds)
    with pytest.raises(error):
        kernel(0, *args)
    assert not driver.launches


def test_what_the_driver_refuses_is_an_error_and_a_lost_context_is_taken_again(make: Make) -> None:
    driver, calls = FakeDriver(codes=[201]), Calls()
    kernel = calls.kernel(make, driver)
    bind(kernel, driver, b"P")
    kernel(0, 16)
    assert driver.recovered == [201] and len(driver.launches) == 1
    driver.codes = [701]
    with pytest.raises(CompileFailed, match="does not fit the device"):
        kernel(0, 16)
    driver.codes = [700]
    with pytest.raises(NoDevice, match="did not carry out"):
        kernel(0, 16)
    driver.codes = [201, 201]
    with pytest.raises(NoDevice):
        kernel(0, 16)


def test_no_compiler_is_an_error_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(**_: Any) -> Any:
        raise RuntimeError("no C compiler")

    monkeypatch.setattr("triton.runtime.build.compile_module_from_src", none)
    with pytest.raises(CompileFailed, match="no C compiler"):
        launching(tmp_path)


def test_what_is_expected_is_built_once_beside_what_this_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, asked = threading.Event(), []

    def build(**given: Any) -> Any:
        asked.append(given["name"])
        assert go.wait(60)
        return SimpleNamespace(Kernel="made")

    read = threading.Event()
    monkeypatch.setattr("triton.runtime.build.compile_module_from_src", build)
    monkeypatch.setattr("triton.runtime.cache.triton_key", read.set)
    expect(tmp_path)
    assert read.wait(60)
    expect(tmp_path)
    go.set()
    assert launching(tmp_path) == "made" == launching(tmp_path)
    assert asked == ["harness_launch"]


def test_the_extension_is_kept_and_a_torn_one_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = _built
    whole, other = tmp_path / "whole", tmp_path / "other"
    build(whole)
    (kept,) = whole.rglob("harness_launch*.so")
    torn = other / kept.relative_to(whole)
    torn.parent.mkdir(parents=True)
    torn.write_bytes(b"torn")
    build(other)
    assert torn.stat().st_size == kept.stat().st_size

    def refuse(*_: Any) -> Any:
        raise AssertionError("built again")

    monkeypatch.setattr("triton.runtime.build._build", refuse)
    assert build(other)


# -- the launcher, on a device that is not there ------------------------------------------


@pytest.fixture
def launcher(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeDriver], Launcher]:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)

    def made(driver: FakeDriver) -> Launcher:
        loaded = load(emitted.POINTWISE, cache / "modules")
        driver.arguments = 3
        config = loaded.configs[0]
        return Launcher(loaded, config, H100, cache, driver, _stream=lambda device: 9 + device)

    return made


def aligned(offset: int = 0) -> torch.Tensor:
    whole = torch.empty(2032)
    start = -(whole.data_ptr() // 4) % 4
    return whole[start + offset : start + offset + 2000]


def test_launcher_uses_the_current_stream_and_loads_once(
    launcher: Callable[[FakeDriver], Launcher],
) -> None:
    driver = FakeDriver()
    launch = launcher(driver)
    args = [aligned() for _ in range(3)]
    launch(args)
    launch(args)
    assert driver.loaded == [("triton_poi_fused_tanh_add_0", 0)]
    first, second = driver.launches
    assert first == second
    assert first[1:5] == ((2, 1, 1), 128, first[3], 9)
    assert first[5] == [a.data_ptr() for a in args]
    assert (launch.resources().spills, launch.resources().registers) == (0, 16)


def test_misaligned_arguments_get_a_variant_of_their_own(
    launcher: Callable[[FakeDriver], Launcher],
) -> None:
    driver = FakeDriver()
    launch = launcher(driver)
    for _ in range(2):
        launch([aligned(), aligned(1), aligned()])
    assert len(driver.loaded) == 2 and len(driver.launches) == 2
    launch([aligned() for _ in range(3)])
    functions = [launched[0] for launched in driver.launches]
    assert functions[0] == functions[1] != functions[2]
    assert launch.binary(["in_ptr1"]).aligned == ("in_ptr0", "out_ptr0")
    assert launch.binary(["in_ptr1"]).cubin != launch.binary().cubin


def test_binaries_are_unloaded_with_their_launcher(
    launcher: Callable[[FakeDriver], Launcher],
) -> None:
    driver = FakeDriver()
    launch = launcher(driver)
    launch([aligned() for _ in range(3)])
    assert not driver.unloaded
    del launch
    gc.collect()
    assert driver.unloaded == [1]


def test_a_forked_child_unloads_nothing(
    launcher: Callable[[FakeDriver], Launcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = FakeDriver()
    launch = launcher(driver)
    launch([aligned() for _ in range(3)])
    monkeypatch.setattr("os.getpid", lambda: -1)
    del launch
    gc.collect()
    assert not driver.unloaded


def test_too_much_shared_memory_is_an_error(launcher: Callable[[FakeDriver], Launcher]) -> None:
    with pytest.raises(CompileFailed, match="does not fit"):
        launcher(FakeDriver(limit=-1)).resources()


def test_a_kept_binary_is_loaded_without_compiling(
    launcher: Callable[[FakeDriver], Launcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher(FakeDriver()).resources()

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setattr("harness.runtime.compile.static.compile_for", refuse)
    driver = FakeDriver()
    launcher(driver)([aligned() for _ in range(3)])
    assert len(driver.launches) == 1


# -- kernels whose sizes only a launch knows ---------------------------------------------


def sized(cache: Path, driver: FakeDriver) -> Launcher:
    graph = loads(
        '# harness graph 1\ndef twice(\n    x: "f32[s0]",\n):\n'
        '    mul: "f32[s0]" = aten.mul.Tensor(x, 2.0)\n    return (mul,)\n',
        "test graph",
    )
    (module,) = modules(graph)
    loaded = load(module.text, cache / "modules")
    driver.arguments = 3
    config = Config((("XBLOCK", 512),), 4)
    return Launcher(loaded, config, H100, cache, driver, _stream=lambda device: 9 + device)


def test_the_grid_follows_the_sizes_of_each_launch(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    driver = FakeDriver()
    launch = sized(cache, driver)
    assert launch.resources().spills == 0
    for n in (512, 5120, 512):
        launch([aligned(), aligned(), n])
    assert [grid for _, grid, *_ in driver.launches] == [(1, 1, 1), (10, 1, 1), (1, 1, 1)]
    assert [row[-1][2] for row in driver.launches] == [512, 5120, 512]
    assert len(driver.loaded) == 1


def test_a_binary_knows_the_power_of_two_that_divides_a_size(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    driver = FakeDriver()
    launch = sized(cache, driver)
    for n in (512, 100, 5120, 101, 204, 307):
        launch([aligned(), aligned(), n])
    assert [row[-1][2] for row in driver.launches] == [512, 100, 5120, 101, 204, 307]
    assert len(driver.loaded) == 3
    known = {n: dict(launch.binary((), [None, None, n]).config) for n in (512, 100, 101)}
    assert [config["ks0"] for config in known.values()] == [16, 4, 1]
    assert [config["XEVEN"] for config in known.values()] == [1, 0, 0]


def test_positions_have_64_bits_where_32_do_not_hold_them(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    launch = sized(cache, FakeDriver())
    wide = [dict(launch.binary((), [None, None, n]).config)["WIDE"] for n in (2**30, 2**31)]
    assert wide == [0, 1]


def test_unaligned_arguments_of_unknown_size_find_their_grid(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    driver = FakeDriver()
    sized(cache, driver)([aligned(1), aligned(), 1024])
    assert driver.launches[0][1] == (2, 1, 1)


def test_a_binary_without_its_module_cannot_know_its_grid(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    launch = sized(cache, FakeDriver())
    again = KernelBinary.from_bytes(launch.binary().to_bytes())
    assert again == launch.binary()
    with pytest.raises(InvalidProgram, match="sizes that only a launch knows"):
        launch.bind(launching(cache)(print, print, print), 0)


class LibraryOfAnother:
    """CUDA's, on a device of capability 9.0 that cannot run the binary it is given."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *_: 209 if name == "cuModuleLoadData" else 0

    def cuCtxGetCurrent(self, context: Any) -> int:
        context._obj.value = 1
        return 0

    def cuDeviceGetAttribute(self, found: Any, which: int, _: Any) -> int:
        found._obj.value = {75: 9, 76: 0}.get(which, 1 << 16)
        return 0


def test_a_binary_of_another_device_is_refused() -> None:
    with pytest.raises(CompileFailed, match="cannot run a binary") as caught:
        Driver(LibraryOfAnother()).load(b"", "tanh", shared=0, threads=128, device=0)
    assert caught.value.where == "tanh" and "capability 90" in caught.value.expected
