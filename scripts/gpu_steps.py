"""Whole steps of models on the GPU at hand: times, first calls, memory, and where the time goes.

    python scripts/gpu_steps.py --out DIR [--seconds 200] [--ways eager,ours,inductor] [MODEL …]

A process per model, each on the next of the visible boards. All of them compile at once, each way
with ``--threads``; when they are done or 70 % of the time is over, they are timed, on each board
one after the other, the ways interleaved, those first that have been compiled (``beside`` counts
processes that still compile). A time is a step's wall time, host included. *First* is the first
call (compiled beside the other models), memory what the allocator had at most, less what other
ways keep. ``steps.json`` and a profile of each in ``steps.txt`` are written to the folder, with
``--host`` also where the host's time goes.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import json
import math
import os
import pstats
import select
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from gpu_models import MODELS  # noqa: E402
from torch._dynamo.pgo import reset_code_state  # noqa: E402

from harness.backend import Compiler, Devices  # noqa: E402
from harness.executor.recording import Recorded  # noqa: E402

WAYS = ("eager", "ours", "inductor", "recorded", "inductor recorded")
PASSES = ("training", "inference")
ROUNDS = 5
ROUND_MS = 60.0
SETTLING = 30
"""Rounds of two steps at most until nothing is recorded anew: what other ways allocate in between
moves inputs, each of which is copied after four moves."""


class Ways:
    """One model, each way of running it compiled: what is timed."""

    def __init__(self, name: str, ways: Sequence[str], threads: int) -> None:
        torch.manual_seed(0)
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            model, self.inputs = MODELS[name]()
        self.model = model.bfloat16()
        self.ways = ways
        self.threads = threads
        self.compilers: list[Compiler] = []
        self.steps: dict[str, Callable[[], torch.Tensor]] = {}
        self.rows: dict[str, dict[str, Any]] = {}

    def prepare(self, training: bool) -> None:
        """Make the first calls of every way, until told that compiling is over."""
        for way in self.ways:
            if select.select([sys.stdin], [], [], 0)[0]:
                return
            key = f"{PASSES[not training]} {way}"
            step = self._step(way, training)
            reset_code_state()  # or sizes that another way met are dynamic from the start
            torch.cuda.empty_cache()
            began = time.perf_counter()
            try:
                loss = float(step())
                first = time.perf_counter() - began
                for _ in range(3):
                    step()
                torch.cuda.synchronize()
            except Exception as error:  # noqa: BLE001 - a way that fails is a row with its error
                self.rows[key] = {"error": f"{type(error).__name__}: {error}"[:300]}
                continue
            self.rows[key] = {"first_s": first, "loss": loss, "gradient": self._gradient()}
            self.steps[key] = step

    def settle(self) -> None:
        """Run all ways in turn until none makes a recording any more, as a long training does."""
        made = -1
        for _ in range(SETTLING):
            found = [f for compiler in self.compilers for f in compiler.recordings.values()]
            if made == (made := sum(f._in_vain + len(f._made) for f in found)):
                return
            for key, step in self.steps.items():
                self.model.train(key.startswith(PASSES[0]))
                step()
                step()

    def time(self) -> None:
        """Fill in times and memory; nothing else may use the machine meanwhile."""
        cuda: Any = torch.cuda
        own = sum(t.nbytes for t in (*self.model.parameters(), *self.model.buffers()))
        own += sum(t.nbytes for t in self.inputs.values())
        rounds: dict[str, list[float]] = {key: [] for key in self.steps}
        hosts: dict[str, list[float]] = {key: [] for key in self.steps}
        for number in range(ROUNDS + 1):
            for key, step in self.steps.items():
                training = key.startswith(PASSES[0])
                self.model.train(training)
                self.model.zero_grad()
                others = cuda.memory_allocated() - own
                cuda.reset_peak_memory_stats()
                count = 2 if not number else max(2, round(ROUND_MS / min(rounds[key])))
                cuda.synchronize()
                began = time.perf_counter()
                for _ in range(count):
                    step()
                host = time.perf_counter() - began
                cuda.synchronize()
                rounds[key].append((time.perf_counter() - began) / count * 1e3)
                hosts[key].append(host / count * 1e3)
                self.rows[key]["peak_gb"] = (cuda.max_memory_allocated() - others) / 1e9
        for key, seen in rounds.items():
            self.rows[key]["ms"] = statistics.median(seen[1:])
            self.rows[key]["host_ms"] = statistics.median(hosts[key][1:])

    def profiles(self, out: Path) -> None:
        """Write where the kernels' time goes."""
        from torch.profiler import ProfilerActivity, profile

        for key, step in self.steps.items():
            self.model.train(key.startswith(PASSES[0]))
            with profile(activities=[ProfilerActivity.CUDA]) as seen:
                step()
                torch.cuda.synchronize()
            averages = seen.key_averages()
            self.rows[key]["kernels_ms"] = sum(a.self_device_time_total for a in averages) / 1e3
            with out.open("a") as file:
                print(key, averages.table("self_device_time_total", 30, 100), sep="\n", file=file)

    def hosts(self, out: Path) -> None:
        """Write which functions the host's time goes to, of 20 steps each."""
        for key, step in self.steps.items():
            self.model.train(key.startswith(PASSES[0]))
            seen, text = cProfile.Profile(), io.StringIO()
            with torch.autograd.set_multithreading_enabled(False):  # only this thread is seen
                step()  # libraries keep their plans by thread
                for _ in range(20):
                    torch.cuda.synchronize()
                    seen.runcall(step)
            pstats.Stats(seen, stream=text).sort_stats("tottime").print_stats(25)
            with out.open("a") as file:
                print(f"{key}: host, 20 steps", text.getvalue(), sep="\n", file=file)

    def _gradient(self) -> float:
        """The norm of all gradients."""
        grads = [p.grad.float().norm() for p in self.model.parameters() if p.grad is not None]
        return float(torch.stack(grads).norm()) if grads else 0.0

    def _step(self, way: str, training: bool) -> Callable[[], torch.Tensor]:
        model, inputs = self.model, self.inputs
        model.train(training)
        run: Any = model
        begin: Any = torch.compiler.cudagraph_mark_step_begin
        if way == "inductor":
            run = torch.compile(model, options={"autotune_local_cache": False})
        elif way == "inductor recorded":
            run = torch.compile(model, mode="reduce-overhead")
        elif way != "eager":
            self.compilers.append(
                Compiler(devices=Devices(jobs=self.threads), reduce_overhead=way == "recorded")
            )
            run = torch.compile(model, backend=self.compilers[-1])

        def step() -> torch.Tensor:
            model.zero_grad()
            if way == "inductor recorded":
                begin()
            with torch.set_grad_enabled(training):
                found = run(**inputs)
            loss: torch.Tensor = found if isinstance(found, torch.Tensor) else found.loss
            if training:
                torch.autograd.backward(loss)
            return loss.detach()

        return step


def state(found: Recorded) -> str:
    """How many recordings there are, and what is copied for and from them, by positions."""
    inputs = sorted({number for made in found._made for number in made.copies})
    copied = f"inputs {inputs} and outputs {sorted(found._copied)} copied"
    return found.refused or f"{len(found._made)} made, {found._in_vain} in vain, {copied}"


def child(name: str, ways: Sequence[str], given: argparse.Namespace) -> None:
    """Compile, say so, wait for one's turn, time, say what was found."""
    import torch._dynamo

    answers, sys.stdout = sys.stdout, sys.stderr
    torch._dynamo.config.recompile_limit = 64
    model = Ways(name, ways, given.threads)
    for training in (True, False):
        model.prepare(training)
    torch.cuda.empty_cache()
    print("READY", file=answers, flush=True)
    for line in sys.stdin:
        if line.strip() == "time":
            break
    model.settle()
    model.time()
    model.profiles(given.out / f"{name}.txt")
    if given.host:
        model.hosts(given.out / f"{name}.txt")
    counts = [
        f"{name}: {found.replays} replays, {found.plain} plain, {state(found)}"
        for compiler in model.compilers
        for name, found in compiler.recordings.items()
    ]
    print("ROWS", json.dumps({"rows": model.rows, "recordings": counts}), file=answers, flush=True)
    for compiler in model.compilers:
        compiler.close()
    os._exit(0)


def start(name: str, given: argparse.Namespace, cache: Path, board: str) -> subprocess.Popen[str]:
    """A model's process, with caches of its own: a first call is a first call."""
    alone = {"TORCHINDUCTOR_COMPILE_THREADS": str(given.threads), "OMP_NUM_THREADS": "1"}
    homes = {
        "TORCHINDUCTOR_CACHE_DIR": cache / f"{name}-inductor",
        "TRITON_CACHE_DIR": cache / f"{name}-triton",
        "HARNESS_CACHE": cache / f"{name}-harness",
    }
    env = {**os.environ, **alone, **{key: str(path) for key, path in homes.items()}}
    env["CUDA_VISIBLE_DEVICES"] = board
    command = [sys.executable, __file__, "--out", str(given.out), "--ways", given.ways]
    command += ["--threads", str(given.threads), *["--host"] * given.host]
    with (given.out / f"{name}.log").open("w") as log:
        return subprocess.Popen(
            [*command, "--child", name],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


@dataclass
class Turns:
    """The models' processes: who compiles, who waits for its board, who is timed on it."""

    running: dict[str, subprocess.Popen[str]]
    board: dict[str, str]
    compiling: set[str]
    waiting: list[str] = field(default_factory=list)
    timed: dict[str, str] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    def heard(self, name: str, line: str) -> bool:
        """Take in what a process says; True if it says no more."""
        if line.startswith("READY"):
            print(f"{name} compiled", flush=True)
            self.compiling.discard(name)
            self.waiting.append(name)
        elif line.startswith("ROWS ") or not line:
            rows = json.loads(line[5:]) if line else {"rows": {}, "error": "ended"}
            self.found[name] = {**self.found.get(name, {}), **rows}
            self.compiling.discard(name)
            self.timed = {at: other for at, other in self.timed.items() if other != name}
            return True
        return False

    def next(self) -> None:
        """Time the next on each board on which nothing is timed."""
        for name in [*self.waiting]:
            if self.board[name] not in self.timed:
                self.tell(name, "time")
                self.waiting.remove(name)
                self.timed[self.board[name]] = name
                self.found[name] = {"beside": len(self.compiling)}

    def tell(self, name: str, word: str = "") -> None:
        """Say so to a process that goes on."""
        told = self.running[name].stdin
        assert told is not None
        with contextlib.suppress(BrokenPipeError):
            print(word, file=told, flush=True)

    def end(self) -> None:
        """End all of them, and say what is missing."""
        for name, process in self.running.items():
            process.kill()
            late = "not compiled in time" if name in self.compiling else "not timed in time"
            if "rows" not in self.found.get(name, {}):
                self.found[name] = {"rows": {}, "error": late}


def boards() -> list[str]:
    """What the environment calls the visible boards."""
    count = max(1, torch.cuda.device_count())
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",")[:count] if named else [str(number) for number in range(count)]


def gather(given: argparse.Namespace, names: Sequence[str], until: float) -> dict[str, Any]:
    """Start all, and give each its turn once all are ready or the time is nearly over."""
    cache, at = Path(tempfile.mkdtemp(prefix="steps-")), boards()
    board = {name: at[number % len(at)] for number, name in enumerate(names)}
    running = {name: start(name, given, cache, board[name]) for name in names}
    turns, stopped = Turns(running, board, set(names)), until - given.seconds * 0.3
    told = False
    try:
        with selectors.DefaultSelector() as listened:
            for name, process in running.items():
                assert process.stdout is not None
                listened.register(process.stdout, selectors.EVENT_READ, name)
            while listened.get_map() and time.time() < until:
                for event, _ in listened.select(timeout=1.0):
                    said = event.fileobj.readline()  # type: ignore[union-attr]
                    if turns.heard(event.data, said):
                        listened.unregister(event.fileobj)
                        save(given, turns.found)
                if not told and time.time() > stopped:
                    told = True  # what is compiled by now is timed
                    for name in turns.compiling:
                        turns.tell(name)
                if told or not turns.compiling:
                    turns.next()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    turns.end()
    return turns.found


def save(given: argparse.Namespace, found: dict[str, Any]) -> None:
    """What is known so far."""
    head = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    text = json.dumps({**head, "ways": given.ways.split(","), "models": found}, indent=0)
    (given.out / "steps.json").write_text(text + "\n")


def line(name: str, rows: dict[str, Any], ways: Sequence[str], of: str) -> str:
    """One model's times, its kernels' times, first calls and memory."""
    cells = []
    for way in ways:
        row = rows.get(f"{of} {way}", {})
        if "ms" not in row:
            cells.append(f"{way}: {row.get('error', 'missing')[:40]}")
            continue
        eager = rows.get(f"{of} eager", row)
        near = all(
            math.isclose(row[key], eager.get(key, row[key]), rel_tol=0.03, abs_tol=1e-3)
            for key in ("loss", "gradient")
        )
        shown = f"{row['ms']:.2f} ({row['kernels_ms']:.2f}) {row['first_s']:.0f}s"
        cells.append(f"{shown} {row['peak_gb']:.2f}GB{'' if near else ' OFF'}")
    return f"{of[:5]} {name:9} " + " | ".join(cells)


def ratios(found: dict[str, Any], of: str, way: str, other: str) -> str:
    """The geometric mean of how many times as fast a way is, and the least."""
    pairs = {
        name: rows[f"{of} {other}"]["ms"] / rows[f"{of} {way}"]["ms"]
        for name, rows in ((name, one["rows"]) for name, one in found.items())
        if all("ms" in rows.get(f"{of} {one}", {}) for one in (way, other))
    }
    if not pairs:
        return f"{of}: nothing to compare with {other}"
    mean = statistics.geometric_mean(pairs.values())
    least = min(pairs, key=lambda name: pairs[name])
    return f"{of} {way} over {other}: {mean:.3f} of {len(pairs)}, least {least} {pairs[least]:.3f}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--ways", default="eager,ours,inductor", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--threads", type=int, default=1, help="of each way's compiling")
    parser.add_argument("--host", action="store_true", help="profile the host too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    ways = given.ways.split(",")
    given.out.mkdir(parents=True, exist_ok=True)
    if given.child:
        child(given.child, ways, given)
    until = time.time() + given.seconds
    found = gather(given, given.models or list(MODELS), until)
    save(given, found)
    with (given.out / "steps.txt").open("w") as file:
        for path in (given.out / f"{name}.txt" for name in found):
            if path.exists():
                file.write(f"{path.stem}\n{path.read_text()}\n")
                path.unlink()
    print("model: ms (kernels' ms) first call, memory; " + " | ".join(ways))
    for of in PASSES:
        for name, one in found.items():
            missing = one.get("error", "no step compiled in time")
            print(line(name, one["rows"], ways, of) if one["rows"] else f"{name}: {missing}")
    for of in PASSES:
        for way in (w for w in ("ours", "recorded") if w in ways):
            for other in (w for w in ways if w not in ("ours", "recorded")):
                print(ratios(found, of, way, other))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
