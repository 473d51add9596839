"""The plugin that ``asv.conf.json`` names: ``"plugins": [".suites.tracking.plugin"]``.

asv 0.6 has no hooks for what is needed here, so functions of its commands are replaced, each by
one that calls it. ``direction`` says which way is worse, ``environment`` is the environment
(``"environment_type": "overlay"``), ``repository`` has the sentences for what is missing or
damaged; here is what happens around ``run``, ``find`` and ``publish``.
"""

from __future__ import annotations

import ast
import contextlib
import math
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import asv
from asv import runner, util
from asv.benchmarks import Benchmarks
from asv.commands import compare, continuous, find, publish, run
from asv.console import log
from asv.machine import Machine
from asv.repo import get_repo
from asv.results import get_existing_hashes

from harness.errors import HarnessError
from suites.tracking import direction, repository
from suites.tracking.environment import CommitOverlay, Site
from suites.tracking.measure import look_up

_VERSION = "0.6."
_GAP = re.compile(r"^\s*\S+(?:\s+n/a)+\s*$")
"""A row of asv's tables without a value."""


def setup() -> None:
    """What asv calls when it has loaded the plugin. Raises asv's ``UserError`` for another
    asv than the one it was written for."""
    if not asv.__version__.startswith(_VERSION):
        raise util.UserError(
            f"harness's asv plugin replaces inner functions of asv {_VERSION}x; this is asv "
            f"{asv.__version__}. Install asv>=0.6.4,<0.7"
        )
    repository.install()
    direction.setup()
    run.Run.run = classmethod(_around_run(run.Run.run.__func__))
    find.Find.run = classmethod(_around_find(find.Find.run.__func__))
    publish.Publish.run = classmethod(_around_publish(publish.Publish.run.__func__))
    compare.Compare.run = classmethod(_around_compare(compare.Compare.run.__func__))
    continuous.Continuous.run = classmethod(_checked(continuous.Continuous.run.__func__))


def _checked(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, *args: Any, **kwargs: Any) -> Any:
        repository.require_repository(conf)
        return original(cls, conf, *args, **kwargs)

    return command


def _around_run(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, range_spec: Any = None, **kwargs: Any) -> Any:
        if conf.environment_type != CommitOverlay.tool_name:
            return original(cls, conf, range_spec=range_spec, **kwargs)
        repo = get_repo(conf)
        measured = get_existing_hashes(conf.results_dir)
        if range_spec == "NEW":
            repository.require_common_line(repo, conf.branches, measured)
        repository.warn_of_history(repo, measured)
        skip = set(measured) if kwargs.get("skip_existing_commits") else set()

        def announced(commits: list[str]) -> list[str]:
            return [commit for commit in commits if commit not in skip]

        with _measuring(conf, run, announced), stoppable():
            return original(cls, conf, range_spec, **(kwargs | {"record_samples": True}))

    return _checked(command)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
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


def _around_find(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, *args: Any, **kwargs: Any) -> Any:
        # The ends name the series; what lies between is compiled when the search gets there.
        with _measuring(conf, find, lambda commits: [commits[0], commits[-1]]) as site:
            # find has no way round a commit that cannot be built; a failed benchmark it skips.
            site.tolerant = True
            return original(cls, conf, *args, **kwargs)

    return _checked(command)


def _around_compare(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, hash_1: str, hash_2: str, **kwargs: Any) -> Any:
        if kwargs.get("machine") is None:
            kwargs["machine"] = repository.machine_with(conf, (hash_1, hash_2))
        return original(cls, conf, hash_1, hash_2, **kwargs)

    return _checked(command)


def _around_publish(original: Callable[..., Any]) -> Callable[..., Any]:
    def command(cls: Any, conf: Any, *args: Any, **kwargs: Any) -> Any:
        repository.warn_of_history(get_repo(conf), get_existing_hashes(conf.results_dir))
        return original(cls, conf, *args, **kwargs)

    return _checked(command)


@contextlib.contextmanager
def _measuring(
    conf: Any, command: Any, announced: Callable[[list[str]], list[str]]
) -> Iterator[Site]:
    """While a command measures: machines describe themselves, and the kernels of the commits
    that are ``announced`` are known before benchmarks are discovered."""
    try:
        site = conf.site = Site(conf)

        class Tracked(Benchmarks):
            @classmethod
            def discover(
                cls, conf: Any, repo: Any, environments: Any, commits: list[str], **kwargs: Any
            ) -> Any:
                site.announce(Path(repo._path), announced(list(commits)))
                found = Benchmarks.discover(conf, repo, environments, commits, **kwargs)
                if set(site.graphs) != set(site.wanted.graphs):
                    select(found, site.graphs)
                site.selection.update(found.benchmark_selection)
                asked = {str(entry.get("metric", "")) for entry in found.values()}
                site.metrics = () if "" in asked else tuple(sorted(asked))
                return found

        def load(_: Any, /, machine_name: str | None = None, **_kwargs: Any) -> Any:
            machine = Machine()
            fields = dict(site.described["machine"])
            site.machine = machine_name or fields["machine"]
            machine.__dict__.update(fields | {"machine": site.machine})
            return machine

        runs = answering(runner.run_benchmark)
        shows = without_gaps(runner.format_benchmark_result, site.selection)
        with (
            patch.object(command, "Benchmarks", Tracked),
            patch.object(Machine, "load", classmethod(load)),
            patch.multiple(runner, run_benchmark=runs, format_benchmark_result=shows),
        ):
            yield site
    except HarnessError as error:
        raise util.UserError(str(error)) from error


def select(benchmarks: Any, graphs: tuple[str, ...]) -> None:
    """Leave of ``benchmarks`` the rows of ``graphs``: asv then keeps what it has of the others."""
    for name, entry in list(benchmarks.items()):
        rows = [ast.literal_eval(row).partition("/")[0] for row in entry["params"][0]]
        chosen = benchmarks.benchmark_selection[name]
        chosen[:] = [place for place in chosen if rows[place] in graphs]
        if not chosen:
            del benchmarks[name]


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
        # What this run's own setup_cache wrote.
        cache = pickle.loads((Path(cwd) / "cache.pickle").read_bytes())  # noqa: S301
        values: list[Any] = []
        said = []
        for index, row in enumerate(benchmark["params"][0]):
            try:
                chosen = selected_idx is None or index in selected_idx
                where = (benchmark["table"], ast.literal_eval(row), benchmark["metric"])
                values.append(look_up(cache, *where) if chosen else math.nan)
            except HarnessError as error:
                values.append(None)
                said.append(str(error))
        kept: list[dict[str, Any]] = [v if isinstance(v, dict) else {} for v in values]
        return runner.BenchmarkResult(
            # asv works out the median of what has samples; till then it wants something there.
            result=[True if k else v for k, v in zip(kept, values, strict=True)],
            samples=[k.get("samples") for k in kept],
            number=[k.get("number") for k in kept],
            errcode=1 if said else 0,
            stderr="\n".join(said),
            profile=None,
        )

    return run_benchmark


def without_gaps(original: Callable[..., Any], selection: Mapping[str, Any]) -> Callable[..., Any]:
    """``format_benchmark_result`` whose tables count the rows without any value: a run of three
    graphs of twenty would otherwise be a screen of n/a."""

    def format_benchmark_result(results: Any, benchmark: Any) -> Any:
        info, details = original(direction.Selected(results, selection), benchmark)
        lines = str(details or "").splitlines()
        kept = [line for line in lines if not _GAP.match(line)]
        gone = len(lines) - len(kept)
        if not gone:
            return info, details
        # A head and three rules are no table.
        return info, "\n".join([*(kept if len(kept) > 4 else []), f"{gone} rows n/a"])

    return format_benchmark_result
