"""The plugin that ``asv.conf.json`` names: ``"plugins": [".harness.asv.plugin"]``.

asv 0.6 has no hooks for what is needed here, so functions of its commands are replaced, each by
one that calls it. ``asv_direction`` says which way is worse, ``asv_overlay`` is the environment
(``"environment_type": "overlay"``), ``asv_repository`` has the sentences for what is missing or
damaged; here is what happens around ``run``, ``find`` and ``publish``.
"""

from __future__ import annotations

import ast
import contextlib
import math
import os
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asv
from asv import runner, util
from asv.benchmarks import Benchmarks
from asv.commands import continuous, find, publish, run
from asv.console import log
from asv.machine import Machine
from asv.repo import get_repo
from asv.results import get_existing_hashes

from harness.asv import direction as asv_direction
from harness.asv import repository as asv_repository
from harness.asv.measure import chosen_graphs, look_up
from harness.asv.overlay import CommitOverlay, Site
from harness.errors import HarnessError

_VERSION = "0.6."
_GAP = re.compile(r"^\s*\S+(?:\s+n/a)+\s*$")
"""A row of asv's tables without a value."""
_RULE = re.compile(r"^\s*[=-]+[ =-]*$")


def setup() -> None:
    """What asv calls when it has loaded the plugin. Raises asv's ``UserError`` for another
    asv than the one it was written for."""
    if not asv.__version__.startswith(_VERSION):
        raise util.UserError(
            f"harness's asv plugin replaces inner functions of asv {_VERSION}x; this is asv "
            f"{asv.__version__}. Install asv>=0.6.4,<0.7"
        )
    asv_repository.install()
    asv_direction.install(_known_benchmarks)
    run.Run.run = classmethod(_around_run(run.Run.run.__func__))
    find.Find.run = classmethod(_around_find(find.Find.run.__func__))
    publish.Publish.run = classmethod(_around_publish(publish.Publish.run.__func__))
    continuous.Continuous.run = classmethod(_checked(continuous.Continuous.run.__func__))


def _known_benchmarks(conf: Any) -> Any:
    return Benchmarks.load(conf)


def _checked(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, *args: Any, **kwargs: Any) -> Any:
        asv_repository.require_repository(conf)
        return original(cls, conf, *args, **kwargs)

    return command


def _around_run(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, range_spec: Any = None, **kwargs: Any) -> Any:
        asv_repository.require_repository(conf)
        if conf.environment_type != CommitOverlay.tool_name:
            return original(cls, conf, range_spec=range_spec, **kwargs)
        _require_fresh_rounds(kwargs.get("attribute"), kwargs.get("interleave_rounds"))
        repo = get_repo(conf)
        measured = get_existing_hashes(conf.results_dir)
        if range_spec == "NEW":
            asv_repository.require_common_line(repo, conf.branches, measured)
        asv_repository.warn_of_history(repo, measured)
        skip = set(measured) if kwargs.get("skip_existing_commits") else set()

        def announce(commits: list[str]) -> list[str]:
            return [commit for commit in commits if commit not in skip]

        with _measuring(conf, run, announce), _stoppable():
            return original(cls, conf, range_spec=range_spec, **(kwargs | {"record_samples": True}))

    return command


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C ends a run with a sentence. Exit status 130, as shells count it."""
    try:
        yield
    except KeyboardInterrupt:
        log.flush()
        log.error(
            "stopped: the commit that was being measured is left out; what was measured before it "
            "is kept, and asv run --skip-existing-commits goes on from there"
        )
        raise SystemExit(130) from None


def _require_fresh_rounds(attribute: Any, interleaved: bool | None) -> None:
    """Raises ``UserError`` for repeats that would be copies: asv measures a commit once for all
    rounds unless they are interleaved."""
    if attribute and int(attribute.get("rounds", 1)) > 1 and interleaved is False:
        raise util.UserError(
            "-a rounds=N alone would record copies of the same samples: a commit is measured once "
            "for all rounds. Add --interleave-rounds to measure it anew in each"
        )


def _around_find(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, *args: Any, **kwargs: Any) -> Any:
        asv_repository.require_repository(conf)
        # The ends name the series; what lies between is compiled when the search gets there.
        with _measuring(conf, find, lambda commits: [commits[0], commits[-1]]) as site:
            # find has no way round a commit that cannot be built; a failed benchmark it skips.
            site.tolerant = True
            return original(cls, conf, *args, **kwargs)

    return command


@contextlib.contextmanager
def _measuring(
    conf: Any, command: Any, announced: Callable[[list[str]], list[str]]
) -> Iterator[Site]:
    """While a command measures: machines describe themselves, and the kernels of the commits
    that are ``announced`` are known before benchmarks are discovered."""
    site = conf.site = Site(conf)
    try:
        chosen_graphs(site.options, site.wanted)
    except HarnessError as error:
        raise util.UserError(str(error)) from error

    class Tracked(Benchmarks):
        @classmethod
        def discover(
            cls, conf: Any, repo: Any, environments: Any, commit_hash: list[str], **kwargs: Any
        ) -> Any:
            site.announce(Path(repo._path), announced(list(commit_hash)))
            found = Benchmarks.discover(conf, repo, environments, commit_hash, **kwargs)
            site.metrics = _metrics(found)
            return found

    def load(_: Any, /, machine_name: str | None = None, **_kwargs: Any) -> Any:
        machine = Machine()
        fields = dict(site.described["machine"])
        machine.__dict__.update(fields | ({"machine": machine_name} if machine_name else {}))
        return machine

    with (
        asv_direction.replaced(command, Benchmarks=Tracked),
        asv_direction.replaced(Machine, load=classmethod(load)),
        asv_direction.replaced(
            runner,
            run_benchmark=answering(runner.run_benchmark),
            format_benchmark_result=without_gaps(runner.format_benchmark_result),
        ),
    ):
        try:
            yield site
        except HarnessError as error:
            raise util.UserError(str(error)) from error


def _metrics(selected: Any) -> tuple[str, ...]:
    """What the ``selected`` benchmarks look up; empty if one of them cannot be seen through."""
    if not all("metric" in entry for entry in selected.values()):
        return ()
    return tuple(sorted({str(entry["metric"]) for entry in selected.values()}))


def answering(original: Callable[..., Any]) -> Callable[..., Any]:
    """``runner.run_benchmark`` that looks a tracked value up itself. asv would start a process
    for each row, which for thousands of kernels takes longer than measuring them."""

    def run_benchmark(
        benchmark: Any,
        spawner: Any,
        profile: bool,
        selected_idx: Any = None,
        extra_params: Any = None,
        cwd: str | None = None,
    ) -> Any:
        if "table" not in benchmark or cwd is None or profile:
            return original(benchmark, spawner, profile, selected_idx, extra_params, cwd)
        with open(os.path.join(cwd, "cache.pickle"), "rb") as file:
            cache = pickle.load(file)  # noqa: S301 - what this run's own setup_cache wrote
        answers = [
            _answer(cache, benchmark, row)
            if selected_idx is None or index in selected_idx
            else (math.nan, "")
            for index, row in enumerate(benchmark["params"][0])
        ]
        values = [value for value, _ in answers]
        said = "\n".join(reason for _, reason in answers if reason)
        kept: list[dict[str, Any]] = [v if isinstance(v, dict) else {} for v in values]
        return runner.BenchmarkResult(
            # asv works out the median of what has samples; till then it wants something there.
            result=[True if k else v for k, v in zip(kept, values, strict=True)],
            samples=[k.get("samples") for k in kept],
            number=[k.get("number") for k in kept],
            errcode=1 if said else 0,
            stderr=said,
            profile=None,
        )

    return run_benchmark


def without_gaps(original: Callable[..., Any]) -> Callable[..., Any]:
    """``format_benchmark_result`` whose tables count the rows without any value: a run of three
    graphs of twenty would otherwise be a screen of n/a."""

    def format_benchmark_result(results: Any, benchmark: Any) -> Any:
        info, details = original(results, benchmark)
        lines = str(details or "").splitlines()
        kept = [line for line in lines if not _GAP.match(line)]
        gone = len(lines) - len(kept)
        if not gone:
            return info, details
        rules = [number for number, line in enumerate(kept) if _RULE.match(line)]
        # Nothing between the rule below the head and the last one: a table without rows.
        table = [] if len(rules) > 1 and rules[-1] - rules[-2] == 1 else kept
        return info, "\n".join([*table, f"{gone} rows n/a"])

    return format_benchmark_result


def _answer(cache: Any, benchmark: Any, row: str) -> tuple[Any, str]:
    """The value of ``row`` (a parameter as asv writes it) and why there is none."""
    name = ast.literal_eval(row)
    try:
        return look_up(cache, benchmark["table"], name, benchmark["metric"]), ""
    except HarnessError as error:
        return None, str(error)


def _around_publish(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, *args: Any, **kwargs: Any) -> Any:
        asv_repository.require_repository(conf)
        asv_repository.warn_of_history(get_repo(conf), get_existing_hashes(conf.results_dir))
        return original(cls, conf, *args, **kwargs)

    return command
