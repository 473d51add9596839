"""Load an emitted module from its text.

Triton reads a kernel's source from the file it was defined in, so the text is written
to a file named by its hash before it is executed. Nothing is entered in
``sys.modules``: dropping the module object frees what it holds.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

import msgspec

from harness.errors import CompileFailed, HarnessError, InvalidProgram, reason
from harness.files import holds, write_atomically
from harness.heuristics.facts import OPTIONS, Config, Facts
from harness.heuristics.joint import Member, joint_candidates
from harness.heuristics.registry import candidates
from harness.records import modules as stated
from harness.runtime.compile.cache import process_folder
from harness.runtime.grid import checked
from harness.target import Target

USER, COMBO = "user", "for"
"""The categories of hand-written kernels and of combos."""

ALIGNED = "ALIGNED"
"""A parameter of some kernels: whether every address is a multiple of 16."""

Arguments = list[Any]
"""Kernel arguments in order: tensors, and integers for unknown sizes."""


def config_dict(config: Config) -> dict[str, int]:
    """``config`` as emitted modules write it: block sizes by name, warps, stages, and what
    other options of the compiler there are."""
    launch = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return {**dict(config.blocks), **launch, **dict(config.options)}


def config_from_dict(values: Mapping[str, int]) -> Config:
    """The inverse of ``config_dict``."""
    rest = {"num_warps", "num_stages", *OPTIONS}
    blocks = tuple((k, v) for k, v in values.items() if k not in rest)
    options = tuple((k, values[k]) for k in OPTIONS if k in values)
    return Config(blocks, values["num_warps"], values.get("num_stages", 1), options)


def config_text(config: Config) -> str:
    """``config`` in a sentence: ``XBLOCK=1 R0_BLOCK=2048 num_warps=8 num_stages=1``."""
    return " ".join(f"{key}={value}" for key, value in config_dict(config).items())


def _stated(name: str, kind: type, otherwise: object = None) -> Any:
    """A field that holds what a module states: under which name, of which type, and what holds of a
    module that does not say (``None``: every module does)."""
    return field(metadata={"name": name, "kind": kind, "otherwise": otherwise})


@dataclass(frozen=True, eq=False, slots=True)
class LoadedModule:
    """An emitted module ready to use; ``raw`` is the module object itself. The rest is what it
    states, of the right types.

    ``category`` is the kernel's kind (``poi``, ``red``, ``per`` …). ``bytes_moved`` and ``flops``
    are those of one launch, modelled; ``tensor`` says whether the operations are the tensor
    cores'. ``configs`` are candidates, the default first.
    ``signature`` is Triton's type name of each argument, in order; ``divisible_by_16`` are the
    arguments whose value (address, for pointers) is a multiple of 16, ``constants`` parameters that
    are neither arguments nor part of a configuration, ``compile_options`` options of Triton's
    compiler that every configuration has. ``outputs`` are positions of arguments that
    the kernel writes, ``zeroed`` of those that must hold zeros before every launch. ``points``
    are points by tile prefix (``x``, ``r0_``), ``fixed_blocks`` block sizes that the kernel's text
    fixes, ``least_per_thread`` elements that every thread must own, ``reduced`` elements that one
    element of an output sums up. ``unknown_sizes`` are sizes that only a launch knows, with the
    values that ``get_args`` gives them; the grid then depends on the arguments.
    """

    raw: ModuleType
    text: str
    path: Path
    name: str = _stated("KERNEL", str)
    category: str = _stated("CATEGORY", str)
    bytes_moved: int = _stated("BYTES", int)
    configs: tuple[Config, ...] = _stated("CONFIGS", list)
    signature: dict[str, str] = _stated("SIGNATURE", dict)
    divisible_by_16: tuple[str, ...] = _stated("DIVISIBLE_BY_16", tuple)
    outputs: tuple[int, ...] = _stated("OUTPUTS", tuple)
    flops: int = _stated("FLOPS", int, 0)
    tensor: bool = _stated("TENSOR", bool, False)
    constants: dict[str, Any] = _stated("CONSTANTS", dict, {})
    compile_options: dict[str, Any] = _stated("COMPILE_OPTIONS", dict, {})
    points: dict[str, int] = _stated("POINTS", dict, {})
    fixed_blocks: dict[str, int] = _stated("PINNED", dict, {})
    least_per_thread: int = _stated("LEAST_PER_THREAD", int, 0)
    reduced: int = _stated("REDUCED", int, 1)
    zeroed: tuple[int, ...] = _stated("ZEROED", tuple, ())
    unknown_sizes: dict[str, int] = _stated("UNKNOWN_SIZES", dict, {})

    def __repr__(self) -> str:
        return f"<module {self.name}: {self.path}>"

    @property
    def launch_hash(self) -> str:
        """What names a launch (``ModuleFacts.launch_hash``)."""
        return stated.facts(self.text).launch_hash

    @property
    def interpreted(self) -> bool:
        """Whether the kernel is to run in Triton's interpreter (TRITON_INTERPRET=1)."""
        return type(self.kernel).__name__ == "InterpretedFunction"

    @property
    def kernel(self) -> Any:
        """Triton's jitted (or interpreted) function."""
        return getattr(self.raw, self.name)

    def grid(self, config: Config, args: Sequence[Any] | None = None) -> tuple[int, int, int]:
        """The launch grid under ``config``; ``args`` are needed where ``unknown_sizes`` are.
        Raises ``GridTooLarge`` for one that no launch takes."""
        values = config_dict(config)
        where = f"{self.name} {values}"
        if not self.unknown_sizes:
            return checked(self.raw.grid(values), where)
        if args is None:
            raise InvalidProgram(
                "the number of programs depends on sizes that only a launch knows",
                where=where,
                got="no arguments",
                expected=f"arguments with values of {', '.join(self.unknown_sizes)}",
                remedy="ask for the grid at every launch, with its arguments",
            )
        return checked(self.raw.grid(values, args), where)

    def sizes(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Those of ``args`` that only a launch knows."""
        return tuple(args[len(args) - len(self.unknown_sizes) :])

    def only_sizes(self, sizes: Mapping[str, int]) -> list[Any]:
        """Arguments of which only the unknown ones among ``sizes``, by name, are there."""
        known = [sizes[name] for name in self.unknown_sizes]
        return [None] * (len(self.signature) - len(known)) + known

    def fitted(self, config: Config, args: Sequence[Any] | None = None) -> Config:
        """``config`` with what is compiled for the sizes in ``args``: the parts of the kernel, and
        the largest power of two that divides each, up to 16. Without ``args`` for those of
        ``get_args``, where the configuration says nothing; nothing if all sizes are known."""
        if args is None and not self.unknown_sizes:
            return config
        full = self.only_sizes(self.unknown_sizes) if args is None else args
        sizes = zip(self.sizes(list(self.signature)), self.sizes(full), strict=True)
        known = {n: math.gcd(size, 16) for n, size in sizes if n in self.divisible_by_16}
        if self.category == COMBO:  # what divides all: every combination would be compiled else
            known = dict.fromkeys(known, min(known.values(), default=1))
        if hasattr(self.raw, "variant"):
            stated = self.raw.variant(config_dict(config), full)
            known |= {name: int(value) for name, value in stated.items()}
        blocks = dict(config.blocks)
        blocks = {**known, **blocks} if args is None else {**blocks, **known}
        return replace(config, blocks=tuple(blocks.items()))

    def at(self, args: Sequence[Any], target: Target) -> LoadedModule:
        """The module with candidates for the sizes in ``args``."""
        made = self
        if hasattr(self.raw, "members"):
            stated = ((msgspec.convert(one[0], Facts), *one[1:]) for one in self.raw.members(args))
            members = [Member(*one).at(points) for *one, points in stated]
            made = replace(self, configs=joint_candidates(members, target))
        elif hasattr(self.raw, "facts"):
            stated, points = self.raw.facts(args)
            facts = msgspec.convert(stated, Facts).at(points)
            configs, fixed = candidates(facts, target), dict(facts.fixed_blocks)
            made = replace(self, configs=configs, points=points, fixed_blocks=fixed)
        configs = tuple(self.fitted(c, args) for c in made.configs)
        return replace(made, configs=configs) if self.unknown_sizes else made

    def get_args(
        self, device: str | None = None, seed: int = 0, sizes: Mapping[str, int] | None = None
    ) -> Arguments:
        """Fresh random arguments; ``sizes`` in place of ``unknown_sizes``."""
        more = {"sizes": dict(sizes)} if sizes else {}
        return list(self.raw.get_args(device=device, seed=seed, **more))

    def call(self, args: Arguments, config: Config | None = None) -> None:
        """Launch on the current stream."""
        known = config_dict(config or self.configs[0])
        self.raw.call(args, {name: n for name, n in known.items() if name not in self.signature})

    def reference(self, args: Arguments, wide: bool = False) -> list[Any]:
        """What the outputs should hold, by plain torch."""
        return list(self.raw.reference(args, wide=wide))

    def check(
        self,
        args: Arguments | None,
        config: Config | None = None,
        launch: Callable[[Arguments], object] | None = None,
    ) -> dict[str, Any]:
        """Run with poisoned outputs and compare: ``passed``, ``max_error``, ``allowed``. ``launch``
        runs the kernel in the place of ``call``, under which Triton would compile for itself."""
        from harness.runtime.products import in_slices  # with torch

        names = {**self.raw.check.__globals__, "reference": in_slices(frugal(self))}
        if launch is not None:
            names["call"] = lambda args, _: launch(args)
        checker = FunctionType(self.raw.check.__code__, names, argdefs=(None, None))
        return dict(checker(args, None if config is None else config_dict(config)))


def frugal(module: LoadedModule) -> Callable[..., list[Any]]:
    """The module's ``reference``, which gives every value back after its last use, and its list of
    arguments once they are converted: of one with inputs of 4 GB it holds 53 GiB and not 193."""
    text = module.text[module.text.rindex("\ndef reference(") :].partition("\n\n\n")[0]
    tree: Any = ast.parse(text)
    function = tree.body[0]
    made = names_in(ast.List([t for step in function.body for t in getattr(step, "targets", ())]))
    steps, function.body, needed = function.body, [], set[str]()
    for step in reversed(steps):
        names = names_in(step)
        over = [f"del {name}" for name in sorted((names & made) - {"args", *needed})]
        over += ["args.clear()"] if "args" in names - needed else []
        # What the last step reads, it returns.
        function.body[:0] = [step, *(ast.parse("\n".join(over)).body if needed else ())]
        needed |= names
    namespace = dict(module.raw.reference.__globals__)
    exec(compile(tree, str(module.path), "exec"), namespace)  # noqa: S102 - as ``_execute``
    return namespace["reference"]


def names_in(tree: ast.AST) -> set[str]:
    """Variables that a piece of code mentions."""
    return {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}


def text_hash(text: str) -> str:
    """The name under which a module's text is known: 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


Load: TypeAlias = Callable[[str, Path | None], LoadedModule]


def load(text: str, cache: Path | None = None) -> LoadedModule:
    """Execute the emitted module ``text`` and return it.

    Its file is written to the folder ``modules`` of ``cache`` (if None, to a temporary folder of
    this process). Raises ``RecordError`` when that cannot be written and ``CompileFailed`` when
    the text is not an emitted module.
    """
    folder = process_folder() if cache is None else cache / "modules"
    path, data = folder / f"kernel_{text_hash(text)}.py", text.encode()
    if not holds(path, data):
        write_atomically(path, data)
    module = _execute(text, path)
    return LoadedModule(module, text, path, **_checked(module, path, text))


def keeping(_: object = None) -> Load:
    """``load`` for who asks for modules again: the latest 256 stay, more than a session has between
    looking up and comparing. One for all jobs of a process: ``Context.once`` of this."""
    return functools.lru_cache(256)(load)


def _execute(text: str, path: Path) -> ModuleType:
    """The module. What runs is ``text``, never what Python compiled and kept beside the file. No
    launch asks for the reference, or for anything behind it, which is nine tenths of what Python
    compiles: that is executed once somebody does."""
    module, end = ModuleType(path.stem), text.find("\ndef reference(")
    if end < 0 or stated.stated(text, "CATEGORY") == USER:  # a user's functions stand at the end
        end = len(text)
    later = {*re.findall(r"^(?:def )?(\w+)", text[end:], re.MULTILINE)}

    def execute_rest(name: str) -> Any:
        if name not in later:
            raise AttributeError(name)
        rest = "\n" * text.count("\n", 0, end) + text[end:]
        exec(compile(rest, str(path), "exec"), vars(module))  # noqa: S102 - as below
        return vars(module)[name]

    vars(module).update(__file__=str(path), __getattr__=execute_rest)
    try:
        exec(compile(text[:end], str(path), "exec"), vars(module))  # noqa: S102 - what emitted modules are
    except HarnessError:
        raise
    except Exception as error:
        raise CompileFailed(
            "an emitted module cannot be executed",
            where=str(path),
            got=reason(error),
            expected="Python text that imports only torch and triton",
            remedy="emit the module again",
        ) from error
    return module


def _checked(module: ModuleType, path: Path, text: str) -> dict[str, Any]:
    """What ``module`` states, each of its type. Raises ``CompileFailed``."""
    found: dict[str, Any] = {}
    functions = ("grid", "get_args", "call", "reference", "check")
    wrong = [f"no {name}" for name in functions if f"\ndef {name}(" not in text]
    for key, of in ((f.name, f.metadata) for f in fields(LoadedModule) if f.metadata):
        found[key] = value = getattr(module, of["name"], of["otherwise"])
        if value is None:
            wrong.append(f"no {of['name']}")
        elif not isinstance(value, of["kind"]):
            wrong.append(f"{of['name']} is {value!r}")
    if not wrong and not hasattr(module, found["name"]):
        wrong = ["no function named by KERNEL"]
    if wrong:
        raise CompileFailed(
            "a file is not an emitted module",
            where=str(path),
            got=", ".join(wrong),
            expected="the contract in docs/design.md, 'The emitted module'",
            remedy="emit the module again",
        )
    return {**found, "configs": tuple(config_from_dict(c) for c in found["configs"])}
