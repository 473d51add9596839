from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.options import from_environment


def test_defaults_come_from_the_project_around_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    options = from_environment({"HOME": "/home/x"}, deep, cores=3)
    assert options.results == tmp_path / "results"
    assert options.suites == tmp_path / "suites"
    assert options.cache == Path("/home/x/.cache/harness")
    assert (options.jobs, options.target, options.color) == (3, "sm_90", True)


def test_outside_a_project_the_suites_of_the_harness_are_used(tmp_path: Path) -> None:
    options = from_environment({}, tmp_path)
    assert options.results == tmp_path / "results"
    assert (options.suites / "default.py").is_file()


def test_every_variable(tmp_path: Path) -> None:
    environment = {
        "HARNESS_CACHE": "cache",
        "HARNESS_RESULTS": "/elsewhere/results",
        "HARNESS_SUITES": "mine",
        "HARNESS_JOBS": "7",
        "HARNESS_TARGET": "sm_80",
        "HARNESS_NO_CACHE": "yes",
        "NO_COLOR": "1",
        "CI": "some service",
    }
    options = from_environment(environment, tmp_path)
    assert options.cache == tmp_path / "cache"
    assert options.results == Path("/elsewhere/results")
    assert options.suites == tmp_path / "mine"
    assert (options.jobs, options.target) == (7, "sm_80")
    assert (options.use_cache, options.color, options.interactive) == (False, False, False)


@pytest.mark.parametrize(
    ("name", "value"),
    [("HARNESS_JOBS", "0"), ("HARNESS_JOBS", "two"), ("HARNESS_NO_CACHE", "maybe")],
)
def test_values_that_make_no_sense_are_named(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_environment({name: value}, tmp_path)
    assert name in caught.value.where
    assert value in caught.value.got


def test_watching_kernels(tmp_path: Path) -> None:
    off = from_environment({}, tmp_path)
    assert (off.trace, off.bandwidth, off.bandwidth_file) == (False, None, None)
    on = from_environment({"HARNESS_TRACE": "1", "HARNESS_BANDWIDTH": "1"}, tmp_path)
    assert (on.trace, on.bandwidth, on.bandwidth_file) == (True, "", None)
    some = from_environment({"HARNESS_BANDWIDTH_KERNELS": "soft|norm"}, tmp_path)
    assert some.bandwidth == "soft|norm"
    file = from_environment({"HARNESS_BANDWIDTH_FILE": "out.txt"}, tmp_path)
    assert (file.bandwidth, file.bandwidth_file) == ("", tmp_path / "out.txt")
    with pytest.raises(UsageError, match="not a regular expression"):
        from_environment({"HARNESS_BANDWIDTH_KERNELS": "("}, tmp_path)


def test_a_table_of_configurations(tmp_path: Path) -> None:
    found = from_environment({"HARNESS_TUNING_TABLE": "tables/h100.json"}, tmp_path)
    assert found.tuning_table == tmp_path / "tables" / "h100.json"
    assert from_environment({}, tmp_path).tuning_table is None


def test_without_a_home_the_cache_is_not_where_anybody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert from_environment({}, tmp_path).cache == home / ".cache" / "harness"

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    own = Path(tempfile.gettempdir()) / f"harness-{os.getuid()}"
    assert from_environment({}, tmp_path).cache == own


def test_the_home_of_a_user_who_does_not_exist_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="user who does not exist"):
        from_environment({"HARNESS_RESULTS": "~nosuchuser/results"}, tmp_path)


@pytest.mark.parametrize(
    ("name", "head"), [("harness.toml", ""), ("pyproject.toml", "[tool.harness]\n")]
)
def test_a_project_declares_defaults_and_the_environment_has_the_last_word(
    tmp_path: Path, name: str, head: str
) -> None:
    text = 'target = "sm_80"\njobs = 2\nresults = "kept"\nno-cache = true\n'
    (tmp_path / name).write_text(head + text)
    below = tmp_path / "a"
    below.mkdir()
    options = from_environment({}, below, cores=8)
    assert (options.target, options.jobs, options.use_cache) == ("sm_80", 2, False)
    assert options.results == tmp_path / "kept"
    options = from_environment({"HARNESS_TARGET": "sm_100", "HARNESS_JOBS": ""}, below, cores=8)
    assert (options.target, options.jobs) == ("sm_100", 8)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('traget = "sm_80"', "target"),
        ('jobs = "two"', "a number from 1 up"),
        ("jobs = 0", "a number from 1 up"),
        ("trace = 1", "true or false"),
    ],
)
def test_a_default_that_makes_no_sense_is_named(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "harness.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        from_environment({}, tmp_path)
    assert what in caught.value.expected
    assert "harness.toml" in caught.value.where


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"target = ", "a file of defaults is not TOML"),
        (b"jobs = 1\ntarget = '\xda'", "harness.toml:2: a file of defaults is not UTF-8"),
        (b"results = '~no such user/x'", "the home folder of a user who does not exist"),
    ],
)
def test_a_file_of_defaults_that_is_not_toml_is_named(
    tmp_path: Path, text: bytes, said: str
) -> None:
    (tmp_path / "harness.toml").write_bytes(text)
    with pytest.raises(UsageError, match=said):
        from_environment({}, tmp_path)
    (tmp_path / "harness.toml").rename(tmp_path / "pyproject.toml")
    from_environment({}, tmp_path)  # it is others', too


def test_a_project_without_defaults_declares_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert from_environment({}, tmp_path).target == "sm_90"
