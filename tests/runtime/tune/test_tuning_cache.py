"""The tuning cache: what is kept, what is ignored, races and crashes."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.context import ForkProcess
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import pytest

from harness.errors import RecordError
from harness.heuristics.facts import Config
from harness.records.trials import Origin, Resources, Trial, Tuned
from harness.runtime import module as modules
from harness.runtime.tune.autotune import CachingAutotuner
from harness.runtime.tune.search import CoordinateDescent
from harness.runtime.tune.tuning_cache import (
    TABLE_FORMAT,
    LookupTable,
    TuningCache,
    device_identity,
    driver_version,
)
from harness.target import H100
from tests.runtime import emitted
from tests.runtime.fake_device import FakeDevice
from tests.runtime.modules import with_configs

DEVICE = (("driver", "580.1"), ("name", "H100"), ("triton", "3.6"))
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def loaded(tmp_path: Path) -> modules.LoadedModule:
    return modules.load(emitted.POINTWISE, tmp_path / "modules")


def tuned(loaded: modules.LoadedModule, block: int = 512) -> Tuned:
    trials = tuple(
        Trial(modules.config_dict(c), Origin.HEURISTICS, (), 32, 0, 64, "no time")
        for c in loaded.configs
    )
    config = Config((("XBLOCK", block),), 4)
    return Tuned(config, trials, 1.5, 0.004, artifact="abc")


class Told(list[str]):
    def __call__(self, text: str) -> None:
        self.append(text)


def test_what_is_kept_comes_back(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE)
    found = tuned(loaded)
    assert tuning_cache.get(loaded) is None
    tuning_cache.put(loaded, found, "descent")
    assert TuningCache(tmp_path / "tuned", DEVICE).get(loaded) == replace(found, source="cache")
    assert not list((tmp_path / "tuned").glob("*.tmp"))


def test_fields_keep_their_order(tmp_path: Path) -> None:
    loaded = modules.load(emitted.ROW_SUM, tmp_path / "modules")
    (first,) = loaded.configs
    trials = (Trial(modules.config_dict(first), samples_ms=(0.1, 0.2), level=0.15),)
    found = Tuned(first, trials, 0.1)
    told = Told()
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE, told)
    tuning_cache.put(loaded, found)
    assert tuning_cache.get(loaded) == replace(found, source="cache")
    assert not told


def test_the_key_has_everything_that_decides(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    tuning_cache = TuningCache(tmp_path, DEVICE)
    tuning_cache.put(loaded, tuned(loaded))
    for device in ((("driver", "581"), *DEVICE[1:]), (*DEVICE[:2], ("triton", "3.7"))):
        assert TuningCache(tmp_path, device).get(loaded) is None
    other = loaded.text.replace("tmp0) + tmp1", "tmp0) * tmp1")
    assert tuning_cache.get(modules.load(other, tmp_path)) is None
    fewer = with_configs(tmp_path, [modules.config_dict(loaded.configs[0])])
    assert tuning_cache.get(fewer) is None
    assert tuning_cache.get(loaded, deterministic=True) is None
    assert tuning_cache.get(loaded, search="guided-24") is None
    renamed = loaded.text.replace("triton_poi_fused_tanh_add_0", "triton_poi_fused_other_7")
    spaced = renamed.replace("    tmp2 =", "    tmp2  =  ")
    assert tuning_cache.get(modules.load(spaced, tmp_path)) is not None


def test_a_winner_outlives_a_change_of_what_stands_around_the_kernel(tmp_path: Path) -> None:
    """A commit that rewrites a module's frame is not another race between equals."""
    tuning_cache = TuningCache(tmp_path, DEVICE)
    generated = emitted.POINTWISE.replace("OUTPUTS", "ARGS = [\n    ((2000,), 1),\n]\nOUTPUTS", 1)
    before = modules.load(generated, tmp_path)
    tuning_cache.put(before, tuned(before))
    framed = generated.replace("def get_args(", "def _drawn():\n    return 1\n\n\ndef get_args(")
    framed = framed.replace("CONFIGS = [", "FLOPS = 1\nCONFIGS = [").replace("tanh(a) + b.", "Sum.")
    later = framed.replace("def reference(", "def _wide(arg):\n    return arg\n\n\ndef reference(")
    assert tuning_cache.get(modules.load(later.replace("_drawn", "_made"), tmp_path)) is not None
    resized = generated.replace("((2000,), 1)", "((4000,), 1)")
    assert tuning_cache.get(modules.load(resized, tmp_path)) is None


def test_early_ends_are_not_kept(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    tuning_cache = TuningCache(tmp_path, DEVICE)
    tuning_cache.put(loaded, replace(tuned(loaded), partial="device lost"))
    assert tuning_cache.get(loaded) is None


def _damage(kind: str, path: Path) -> None:
    data = path.read_bytes()
    document = json.loads(data)
    match kind:
        case "torn":
            path.write_bytes(data[: len(data) // 2])
        case "empty":
            path.write_bytes(b"")
        case "edited":
            path.write_bytes(data.replace(b'["XBLOCK", 512]', b'["XBLOCK", 256]'))
        case "binary":
            path.write_bytes(bytes(random.Random(0).randbytes(500)))
        case "stale":
            document["body"]["key"]["format"] = 0
            _seal(path, document)
        case "foreign":
            document["body"]["key"]["device"]["name"] = "H200"
            _seal(path, document)
        case "other fields":
            document["body"]["tuned"]["config"]["blocks"] = [["YBLOCK", 4]]
            _seal(path, document)
        case "another program's":
            path.write_text("[1, 2, 3]")


def _seal(path: Path, document: dict[str, object]) -> None:
    import hashlib

    text = json.dumps(document["body"], sort_keys=True)
    document["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document))


KINDS = (
    "torn",
    "empty",
    "edited",
    "binary",
    "stale",
    "foreign",
    "other fields",
    "another program's",
)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_ignored_with_one_warning_and_retuned(
    loaded: modules.LoadedModule, tmp_path: Path, kind: str
) -> None:
    TuningCache(tmp_path, DEVICE).put(loaded, tuned(loaded))
    (entry,) = tmp_path.glob("*.json")
    _damage(kind, entry)
    told = Told()
    tuning_cache = TuningCache(tmp_path, DEVICE, told)
    device = FakeDevice(lambda c: float(c.block("XBLOCK")))
    for _ in range(2):
        tuner = CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache)
        assert tuner.tune(loaded.get_args(), device, device).source in ("timed", "cache")
    assert len(told) == 1
    assert str(entry) in told[0]
    assert TuningCache(tmp_path, DEVICE, told).get(loaded) is not None
    assert len(told) == 1


def test_a_folder_that_cannot_be_written_is_one_warning(
    loaded: modules.LoadedModule, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    told = Told()
    tuning_cache = TuningCache(tmp_path / "file" / "tuned", DEVICE, told)
    device = FakeDevice(lambda c: float(c.block("XBLOCK")))
    for _ in range(3):
        tuner = CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache)
        assert tuner.tune(loaded.get_args(), device, device).source == "timed"
    assert len([t for t in told if "cannot be written" in t]) == 1
    assert len(told) <= 2  # one for reading, one for writing


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_still_gives_what_it_has(
    loaded: modules.LoadedModule, tmp_path: Path
) -> None:
    told = Told()
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE, told)
    tuning_cache.put(loaded, tuned(loaded))
    (tmp_path / "tuned").chmod(0o555)
    assert tuning_cache.get(loaded) is not None
    tuning_cache.put(loaded, tuned(loaded, 1024))
    assert len(told) == 1


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT])
def test_a_read_only_or_full_disk_is_one_warning_and_leaves_nothing(
    loaded: modules.LoadedModule, tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE, told)
    tuning_cache.put(loaded, tuned(loaded))
    before = sorted(p.name for p in (tmp_path / "tuned").iterdir())

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", refuse)
    for _ in range(2):
        tuning_cache.put(loaded, tuned(loaded, 1024))
    monkeypatch.undo()
    assert len(told) == 1
    assert os.strerror(code) in told[0]
    assert sorted(p.name for p in (tmp_path / "tuned").iterdir()) == before
    found = tuning_cache.get(loaded)
    assert found is not None
    assert found.config.block("XBLOCK") == 512


def _fills_up(folder: Path) -> None:
    loaded, told = modules.load(emitted.POINTWISE, folder / "modules"), Told()
    tuning_cache = TuningCache(folder / "tuned", DEVICE, told)
    tuning_cache.put(loaded, tuned(loaded))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    tuning_cache.put(loaded, tuned(loaded, 1024))
    assert len(told) == 1, told
    found = tuning_cache.get(loaded)
    assert found is not None and found.config.block("XBLOCK") == 512
    assert not list((folder / "tuned").glob("*.tmp"))


def test_a_disk_that_fills_up_while_writing(tmp_path: Path) -> None:
    """A real process whose files may not grow past 200 bytes."""
    process = _started(_fills_up, tmp_path)
    process.join(400)
    assert process.exitcode == 0


def _writes(folder: Path, block: int, ready: Event) -> None:
    loaded = modules.load(emitted.POINTWISE, folder / "modules")
    tuning_cache = TuningCache(folder / "tuned", DEVICE)
    ready.set()
    while True:
        tuning_cache.put(loaded, tuned(loaded, block))


def _writer(folder: Path, block: int) -> ForkProcess:
    """A process that is about to write as fast as it can."""
    process = _started(_writes, folder, block, ready := FORK.Event())
    assert ready.wait(400)
    return process


def test_a_writer_that_is_killed_leaves_a_valid_entry(
    loaded: modules.LoadedModule, tmp_path: Path
) -> None:
    told = Told()
    for seconds in (0.0, 0.003, 0.011):
        writer = _writer(tmp_path, 512)
        while not list((tmp_path / "tuned").glob("*.json")):
            time.sleep(0.001)
        time.sleep(seconds)
        writer.kill()
        writer.join()
        found = TuningCache(tmp_path / "tuned", DEVICE, told).get(loaded)
        assert found is not None
        assert not told


def test_two_processes_end_with_one_valid_entry(
    loaded: modules.LoadedModule, tmp_path: Path
) -> None:
    """Two write as fast as they can; a reader never sees anything but one or the other."""
    told = Told()
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE, told)
    writers = [_writer(tmp_path, block) for block in (512, 1024)]
    try:
        seen = set()
        end = time.monotonic() + 300
        while time.monotonic() < end and len(seen) < 2:
            for _ in range(50):
                found = tuning_cache.get(loaded)
                if found is not None:
                    seen.add(found.config.block("XBLOCK"))
        assert seen == {512, 1024}
    finally:
        for writer in writers:
            writer.kill()
            writer.join()
    assert not told
    assert len(list((tmp_path / "tuned").glob("*.json"))) == 1
    assert tuning_cache.get(loaded) is not None


def _tunes(folder: Path, together: Barrier, answers: SimpleQueue[Any]) -> None:
    told = Told()
    tuning_cache = TuningCache(folder / "tuned", DEVICE, told)
    device = FakeDevice(lambda c: c.block("XBLOCK") / 1024)
    together.wait(400)
    loaded = modules.load(emitted.POINTWISE, folder)
    tuner = CachingAutotuner(loaded, H100, folder, tuning_cache=tuning_cache)
    found = tuner.tune(tuner.loaded.get_args(), device, device)
    answers.put((found.config.block("XBLOCK"), [*told]))


def test_two_processes_that_tune_at_once_agree(
    loaded: modules.LoadedModule, tmp_path: Path
) -> None:
    together, answers = FORK.Barrier(2), FORK.SimpleQueue()
    tuners = [_started(_tunes, tmp_path, together, answers) for _ in range(2)]
    for process in tuners:
        process.join(400)
        assert process.exitcode == 0
    assert [answers.get() for _ in tuners] == [(512, [])] * 2
    found = TuningCache(tmp_path / "tuned", DEVICE).get(loaded)
    assert found is not None
    assert found.config == loaded.configs[1]
    assert len(list((tmp_path / "tuned").glob("*"))) == 1


def _started(work: Callable[..., None], *given: object) -> ForkProcess:
    """A process for ``work`` that has imported what this one has."""
    process = FORK.Process(target=work, args=given, daemon=True)
    process.start()
    return process


# The autotuner around it.


def test_a_warm_start_times_nothing(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE)
    device = FakeDevice(lambda c: float(c.block("XBLOCK")))
    CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache).tune(
        loaded.get_args(), device, device
    )
    again = FakeDevice(lambda c: float(c.block("XBLOCK")))
    tuner = CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache)
    known = tuner.known()
    found = tuner.tune(loaded.get_args(), again, again)
    assert known == found
    assert found.source == "cache"
    assert not again.timed
    assert list(again.compiled) == [loaded.configs[1]]


def test_another_binary_makes_an_entry_stale(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    told = Told()
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE, told)
    tuning_cache.put(loaded, tuned(loaded))
    needs = {loaded.configs[1]: Resources(40, 0, 0, "def")}
    device = FakeDevice(lambda c: float(c.block("XBLOCK")), needs=needs)
    tuner = CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache)
    assert tuner.tune(loaded.get_args(), device, device).source == "timed"
    assert len(told) == 1
    assert "another binary" in told[0]


def test_without_caches_everything_is_timed_again(
    loaded: modules.LoadedModule, tmp_path: Path
) -> None:
    for _ in range(2):
        device = FakeDevice(lambda c: float(c.block("XBLOCK")))
        tuner = CachingAutotuner(loaded, H100, None)
        assert tuner.tune(loaded.get_args(), device, device).source == "timed"
        assert device.timed
    assert not (tmp_path / "tuned").exists()


def test_the_table_decides_before_the_cache(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    pinned = {"XBLOCK": 256, "num_warps": 2, "num_stages": 1}
    LookupTable(TABLE_FORMAT, {loaded.launch_hash: pinned}).save(tmp_path / "table.json")
    table = LookupTable.load(tmp_path / "table.json")
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE)
    tuning_cache.put(loaded, tuned(loaded))
    device = FakeDevice(lambda _: 1.0)
    tuner = CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache, table=table)
    found = tuner.tune(loaded.get_args(), device, device)
    assert (found.source, modules.config_dict(found.config)) == ("lookup table", pinned)
    assert not device.timed


def test_a_table_that_is_none_is_an_error(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    for text in ("{", '{"format": 9, "kernels": {}}', "[]", '{"format": 1, "kernels": {"a": 1}}'):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(RecordError, match="lookup table"):
            LookupTable.load(tmp_path / "t.json")
    wrong = LookupTable(TABLE_FORMAT, {loaded.launch_hash: {"YBLOCK": 1}}, "t.json")
    with pytest.raises(RecordError, match="does not fit"):
        wrong.get(loaded)


@pytest.fixture
def interpreted(tmp_path: Path) -> Iterator[str]:
    yield emitted.POINTWISE.replace("@triton.jit", "@_interpreted").replace(
        "import triton\n",
        "import triton\nfrom triton.runtime.interpreter import InterpretedFunction\n\n"
        "def _interpreted(function):\n    return InterpretedFunction(function)\n",
        1,
    )


def test_the_interpreter_takes_the_first_candidate(interpreted: str, tmp_path: Path) -> None:
    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE)
    tuner = CachingAutotuner(
        modules.load(interpreted, tmp_path), H100, tmp_path / "c", tuning_cache=tuning_cache
    )
    device = FakeDevice(lambda _: 1.0)
    found = tuner.tune(tuner.loaded.get_args(), device, device)
    assert (found.config, found.source) == (tuner.loaded.configs[0], "interpreter")
    assert not device.compiled
    assert not (tmp_path / "tuned").exists()
    assert not (tmp_path / "c" / "triton").exists()


def test_a_search_asked_for_later_is_done(loaded: modules.LoadedModule, tmp_path: Path) -> None:
    """An entry made without a search does not answer for one with; the other way it does."""
    from harness.runtime.tune.autotune import Settings

    tuning_cache = TuningCache(tmp_path / "tuned", DEVICE)
    device = FakeDevice(lambda c: float(c.block("XBLOCK")))
    plain = CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache)
    plain.tune(loaded.get_args(), device, device)
    searching = Settings(search=CoordinateDescent())
    deep = CachingAutotuner(loaded, H100, tmp_path, searching, tuning_cache)
    found = deep.tune(loaded.get_args(), device, device)
    assert found.source == "timed" and len(found.trials) > len(loaded.configs)
    later = CachingAutotuner(loaded, H100, tmp_path, tuning_cache=tuning_cache)
    assert later.tune(loaded.get_args(), device, device).config == found.config


def test_the_drivers_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "version"
    file.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue\nGCC version:\n"
    )
    assert driver_version(file) == "580.159.04"
    assert driver_version(tmp_path / "none") == ""


@pytest.mark.gpu
def test_the_device_identifies_itself() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    found = dict(device_identity())
    assert found["multi_processor_count"]
    assert found["triton"]
    assert found["name"]
