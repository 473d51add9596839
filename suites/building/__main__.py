"""``python -m suites.building``: capture the catalogue's models and build the corpus from them.

python -m suites.building capture 'Llama*'     # leaves captures in the working folder
python -m suites.building build                # captures what suites/corpus lacks, writes it
python -m suites.building build --no-capture   # of what has been captured
python -m suites.building try small=yes        # small counterparts in the interpreter
python -m suites.building check 'bytes<1GB'    # kernels at full size, on the GPUs here
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from harness import options as settings
from harness.corpus import store
from harness.corpus.selecting import select
from harness.devices.job import Device
from harness.errors import HarnessError
from harness.report import output
from suites.building import catalogue
from suites.building.capturing import Shard, earlier, merged, shards
from suites.building.causes import markdown
from suites.building.counterparts import with_small
from suites.building.picture import draw
from suites.building.trying import TARGETS, Tried, on_gpus, summary, tried
from suites.building.writing import save


def main(arguments: Sequence[str]) -> str | None:
    """Do what the arguments say; the error's text where one ends it."""
    options = settings.current()
    parser = argparse.ArgumentParser(prog="python -m suites.building", description=__doc__)
    parser.add_argument("what", choices=("capture", "build", "try", "check", "picture", "causes"))
    parser.add_argument("names", nargs="*", metavar="MODEL", help="names or patterns; default: all")
    parser.add_argument("--jobs", type=int, default=options.jobs, help="worker processes")
    parser.add_argument("--folder", type=Path, default=options.suites / "corpus")
    parser.add_argument("--work", type=Path, default=options.cache / "corpus")
    parser.add_argument(
        "--log", type=Path, help="where try and check go on; default: in the working folder"
    )
    parser.add_argument("--no-capture", action="store_true", help="leave out what is not captured")
    given = parser.parse_intermixed_args(arguments)
    sys.path.insert(0, str(options.suites.parent))  # targets are modules beside the suites
    try:
        if given.what == "picture":
            draw(store.load(given.folder), Path(given.names[0] if given.names else "corpus.svg"))
            return None
        if given.what == "causes":
            declared = catalogue.load(given.folder)
            sys.stdout.write(markdown(declared, store.load(given.folder).captures))
            return None
        if given.what in ("try", "check"):
            _through_the_compiler(given)
            return None
        planned = catalogue.named(catalogue.load(given.folder), given.names)
        building, workers = given.what == "build", 0 if given.no_capture else given.jobs
        there = (
            earlier(store.load(given.folder)) if building and store.is_corpus(given.folder) else {}
        )
        found = shards(planned, given.work, workers, _tell, there)
        if building:
            known = _known(given.folder)
            patterns = list(with_small(merged(found), given.jobs, known, planned))
            key = save(given.folder, [shard.capture for shard in found], patterns)
            small = sum(1 for pattern in patterns if pattern.small)
            sys.stdout.write(
                f"{len(patterns)} patterns ({small} with a small counterpart) of {len(found)} "
                f"captures in {given.folder}: {key}\n"
            )
    except HarnessError as error:
        return str(error)
    return None


def _through_the_compiler(given: argparse.Namespace) -> None:
    """What ``try`` and ``check`` do."""
    corpus, memory = store.load(given.folder), 0
    places: list[Device] = []
    texts = corpus.texts(p.name for p in select(corpus, " ".join(given.names)))
    if given.what == "check":
        places, memory = on_gpus(given.jobs)
        longest = sorted(texts, key=lambda name: len(texts[name][0]), reverse=True)
        texts = {name: (texts[name][0], "") for name in longest}
    log = given.log or given.work / f"{given.what}.jsonl"
    targets = ("sm_90",) if places else TARGETS
    with output.progress("starting", settings.current(), output.Watch.USUAL) as bar:

        def tell(one: Tried, done: int, total: int) -> None:
            bar.update(one.name, done, total)

        outcome = tried(texts, log, given.jobs, targets, tell, places, memory)
    sys.stdout.write(summary(outcome) + "\n")


def _known(folder: Path) -> dict[str, tuple[str, str]]:
    """The small counterparts of the corpus that is there; where there was none, it is tried
    again."""
    if not store.is_corpus(folder):
        return {}
    there = store.load(folder).tables
    rows = [
        zip(*(t.column(key).to_pylist() for key in ("text", "small")), strict=True) for t in there
    ]
    return {text: (small, "") for table in rows for text, small in table if small}


def _tell(shard: Shard, done: int, total: int) -> None:
    one = shard.capture
    said = one.reason or f"{one.regions} regions, {len(shard.patterns)} patterns"
    sys.stdout.write(f"{done}/{total} {one.name}: {said} ({one.seconds:.1f} s)\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
