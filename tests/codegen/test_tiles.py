"""Kernels of three tiles: tensors that are contiguous in three different loops."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.codegen.source import EmittedModule
from harness.combos.emitting import Part, emit_combo
from harness.conformance.compare import differences
from harness.errors import HarnessError
from harness.graph.model import MANY_TILES, Graph
from harness.graph.text import dumps
from harness.heuristics.facts import Config
from harness.heuristics.limits import block_name, next_power_of_two
from harness.ir.affine import UNKNOWN_SIZE
from harness.runtime import module as runtime
from harness.runtime.grid import checked
from harness.runtime.interpret.interpreter import CheckJob, InterpreterPool
from harness.target import H100
from tests.codegen.kernels import loads, modules, only

Size = int | str


def times(*sizes: Size) -> str:
    """The product of sizes as a graph's text has it."""
    known = [n for n in sizes if isinstance(n, str)]
    return "*".join(map(str, sizes)) if known else str(eval("*".join(map(str, sizes)) or "1"))


def laid_out(dtype: str, shape: Sequence[Size], order: Sequence[int]) -> str:
    """The type of a tensor of ``shape`` whose dimensions lie in memory in ``order``, slowest first;
    those that are not in it are of size 1."""
    strides, sizes = ["0"] * len(shape), [*map(str, shape)]
    for number, dimension in enumerate(order):
        strides[dimension] = times(*(shape[d] for d in order[number + 1 :])) or "1"
    for dimension in set(range(len(shape))) - set(order):
        sizes[dimension], strides[dimension] = "1", "1"
    return f"{dtype}[{', '.join(sizes)}]{{{', '.join(strides)}}}"


def summed(
    shape: Sequence[Size], orders: Sequence[Sequence[int]], dtypes: Sequence[str] = ("f32",) * 9
) -> Graph:
    """Tensors of ``shape`` in several layouts, added up in float32."""
    full = f"f32[{', '.join(map(str, shape))}]"
    given = "".join(
        f'    x{n}: "{laid_out(dtype, shape, order)}",\n'
        for n, (dtype, order) in enumerate(zip(dtypes, orders, strict=False))
    )
    lines, value = "", "x0"
    for n in range(1, len(orders)):
        lines += f'    add_{n}: "{full}" = aten.add.Tensor({value}, x{n})\n'
        value = f"add_{n}"
    last = f'    out: "{full}" = aten.mul.Tensor({value}, 0.5)\n    return (out,)\n'
    return loads(f"# harness graph 1\ndef summed(\n{given}):\n{lines}{last}")


BLOCKS = (4, 8, 16)
LAYOUTS = ((0, 1, 2), (2, 1, 0), (0, 2, 1))


def many(graph: Graph) -> Graph:
    """``graph``, asking for as many tiles as can be."""
    text = dumps(graph)
    head, _, rest = text.partition("\n")
    return loads(f"{head}\n# {MANY_TILES[0]}: {MANY_TILES[1]}\n{rest}")


def wrong(
    jobs: Sequence[tuple[EmittedModule, Config | None, dict[str, int]]], pool: InterpreterPool
) -> list[str]:
    """A line for each job whose kernel does not compute what torch does."""
    asked = [CheckJob(m.text, config, sizes=tuple(sizes.items())) for m, config, sizes in jobs]
    lines = []
    for number, answer in pool.each(asked):
        if isinstance(answer, HarnessError) or not answer.passed:
            lines.append(f"{jobs[number][0].text[:300]} {jobs[number][1:]}: {answer}")
    return lines


def tiles(module: EmittedModule) -> list[str]:
    return [prefix for prefix, _ in module.facts.sizes]


def test_three_layouts_have_three_tiles_and_a_grid_of_three_dimensions(tmp_path: Path) -> None:
    (module,) = modules(summed((40, 24, 17), LAYOUTS))
    assert tiles(module) == ["z", "y", "x"]
    loaded = runtime.load(module.text, tmp_path)
    config = Config((("XBLOCK", 4), ("YBLOCK", 8), ("ZBLOCK", 16)), 4)
    assert loaded.grid(config) == (5, 3, 3)
    assert "tl.program_id(2) * ZBLOCK" in module.text


def test_random_layouts_compute_what_torch_does(interpreter: InterpreterPool) -> None:
    draw, jobs = random.Random(23), []
    for _ in range(8):
        rank = draw.choice((3, 3, 4))
        shape = [draw.choice((8, 9, 12, 16, 17, 31)) for _ in range(rank)]
        shape = [min(n, 12) for n in shape] if rank == 4 else shape
        orders = [draw.choice([*permutations(range(rank))]) for _ in range(draw.randint(2, 4))]
        short = draw.sample(range(rank), draw.randint(1, rank))  # broadcast along the others
        dtypes = [draw.choice(("f32", "bf16", "f16")) for _ in range(5)]
        graph = summed(shape, [*orders, short], dtypes)
        for module in (*modules(graph), *modules(many(graph))):
            points = sorted(module.facts.sizes)
            blocks = [
                (block_name(p), min(next_power_of_two(n), draw.choice(BLOCKS))) for p, n in points
            ]
            jobs += [(module, None, {}), (module, Config(tuple(blocks), 4), {})]
    assert sum(len(tiles(module)) == 3 for module, _, _ in jobs) > 10
    assert wrong(jobs, interpreter) == []


def test_unknown_sizes_and_grids_beyond_the_launch_limit(
    interpreter: InterpreterPool, tmp_path: Path
) -> None:
    (module,) = modules(summed(("s0", "s1", "s2"), LAYOUTS))
    assert tiles(module) == ["z", "y", "x"]
    assert module.facts.sizes == tuple((p, UNKNOWN_SIZE) for p in "zyx")
    every = ((8, 16, 32), (1, 1, 1), (17, 5, 33), (2, 40, 9))
    jobs = [(module, None, dict(zip(("s0", "s1", "s2"), one, strict=True))) for one in every]
    assert wrong(jobs, interpreter) == []
    loaded = runtime.load(module.text, tmp_path)
    config = Config((("XBLOCK", 4), ("YBLOCK", 4), ("ZBLOCK", 4)), 4)
    arguments = [None] * 4
    for sizes in ((1 << 20, 8, 8), (8, 1 << 20, 8), (9, 1 << 20, 5)):
        x, y, z = checked(loaded.grid(config, [*arguments, *sizes]), "grid")
        blocks = [-(-n // 4) for n in sizes]
        assert (x, y, z) == (blocks[0] * blocks[1] * blocks[2], 1, 1)


def test_rows_too_many_for_y_are_numbered_in_x(interpreter: InterpreterPool) -> None:
    (module,) = modules(summed((8, 70000, 9), LAYOUTS))
    assert tiles(module) == ["z", "y", "x"]
    assert "tl.program_id(1)" not in module.text
    blocks = Config((("XBLOCK", 16), ("YBLOCK", 1024), ("ZBLOCK", 8)), 4)
    assert wrong([(module, blocks, {})], interpreter) == []


def test_two_tiles_of_too_many_rows_are_numbered_in_x(interpreter: InterpreterPool) -> None:
    """A block that divides the rows needs no mask, however many blocks there are."""
    (module,) = modules(summed((70656, 9), [(0, 1), (1, 0)]))
    assert tiles(module) == ["y", "x"]
    assert "tl.program_id(1)" not in module.text
    assert "ymask" not in module.text
    assert "return (-(-9 // XBLOCK) * -(-70656 // YBLOCK), 1, 1)\n" in module.text
    blocks = Config((("XBLOCK", 4), ("YBLOCK", 1024)), 4)
    assert wrong([(module, blocks, {})], interpreter) == []


def test_kernels_of_three_tiles_share_a_launch(interpreter: InterpreterPool) -> None:
    """Programs of a combo have one number, of which each tile has its own."""
    every = (summed((9, 17, 8), LAYOUTS), summed(("s0", "s1", "s2"), LAYOUTS))
    parts = [Part(only(graph).plan, graph, 2) for graph in every]
    combo = emit_combo(parts, 0, H100)
    assert "ZBLOCK_1" in combo.text
    sizes = {"s0": 17, "s1": 12, "s2": 9}
    assert wrong([(combo, None, sizes)], interpreter) == []


@pytest.mark.parametrize("asked", [False, True])
def test_as_many_tiles_as_can_be_are_an_option(devices: Devices, asked: bool) -> None:
    compiler = Compiler(devices=devices, many_tiles=asked, fail_on_fallback=True)
    inputs = [torch.randn(9, 10, 12), torch.randn(10, 1), torch.randn(9, 1, 1)]
    assert differences(lambda x, y, z: x * y + z, inputs, compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert len(kernel.source.plan.tiles) == (3 if asked else 1)


@pytest.mark.parametrize("shift", [0, 4, 29])
def test_rolled_images_are_read_along_memory(shift: int, devices: Devices) -> None:
    """Windows of an image of channels apart, in another order: where is known, not looked up."""
    torch.manual_seed(shift)

    def windows(x: torch.Tensor) -> torch.Tensor:
        at = (torch.arange(32) + shift) % 32
        found = x.permute(0, 2, 3, 1).index_select(1, at).index_select(2, torch.fmod(at, 32))
        return found.reshape(2, 4, 8, 4, 8, 48).transpose(2, 3).contiguous()

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(windows, [torch.randn(2, 48, 32, 32)], compiler) == []
    (kernel,) = compiler.compiled[-1].kernels
    assert [tile.prefix for tile in kernel.source.plan.tiles] == ["y", "x"]
    assert not kernel.source.plan.facts.looked_up


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8])
@pytest.mark.parametrize("first", [-3, 0, 5])
def test_quotients_and_remainders_of_positions(
    first: int, dtype: torch.dtype, devices: Devices
) -> None:
    """Of numbers that wrap around in their type, and of negative ones, they are computed."""
    divisor = random.Random(first).randint(2, 90)

    def parts(x: torch.Tensor) -> list[torch.Tensor]:
        n = torch.arange(x.numel()).to(dtype) + first
        found = [n % divisor, torch.fmod(n, divisor), n // divisor]
        found.append(torch.div(n, divisor, rounding_mode="trunc"))
        if dtype.is_signed:
            found += [n // -divisor, n % -divisor, torch.fmod(n, -divisor)]
        return [x + part for part in found]

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(parts, [torch.randn(300)], compiler) == []


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_divided_may_need_64_bits(dynamic: bool, devices: Devices) -> None:
    """Where 32 hold the quotient, which is a number or a place in memory."""

    def parts(x: torch.Tensor) -> list[torch.Tensor]:
        n = torch.arange(x.numel()) * 1_000_003
        return [x + n // 1_000_033, x + n % 999_983, x[n // 2_000_003]]

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(parts, [torch.randn(5000)], compiler, dynamic=dynamic) == []


@pytest.mark.parametrize("op", ["//", "%"])
def test_a_divisor_may_need_64_bits(op: str, devices: Devices) -> None:
    """Where 32 hold what is divided: such a number is none of a position of unknown size."""

    def part(x: torch.Tensor) -> torch.Tensor:
        n = torch.arange(x.numel())
        return x + (n // (1 << 33) if op == "//" else n % (1 << 33))

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(part, [torch.randn(70)], compiler, dynamic=True) == []


def test_a_position_is_compared_with_what_needs_64_bits(devices: Devices) -> None:
    """Then it has those, too, whatever a kernel of unknown sizes counts in."""

    def part(x: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.arange(x.numel()) < 1 << 33, x, 0)

    compiler = Compiler(devices=devices, fail_on_fallback=True)
    assert differences(part, [torch.randn(70)], compiler, dynamic=True) == []
