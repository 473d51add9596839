"""Rows of the operator table: views, creation, indexing, joining, scattering."""

from __future__ import annotations

from tests.operator_cases import Case, Tensor
from tests.operator_operands import (
    BF16,
    BOOLS,
    COLUMN,
    EXPANDED,
    F32,
    GAPS,
    HALF,
    I32,
    I64,
    INTEGERS,
    SCALAR,
    SMALL_INTEGERS,
    TRANSPOSED,
    A,
    B,
    row,
)


def _reshaping() -> list[Case]:
    view = "aten.view.default"
    return [
        row("merge", view, A, (15, 7)),
        row("split", view, Tensor((6, 8)), (2, 3, 4, 2)),
        row("regroup", view, Tensor((6, 8)), (4, 12)),
        row("ones", view, Tensor((1, 6, 1, 4)), (6, 1, 2, 2, 1)),
        row("flat", view, A, (105,)),
        row("infer", view, A, (-1, 7)),
        row("scalar", view, Tensor((1, 1)), ()),
        row("kept_strided", view, Tensor((4, 6), stride=(1, 4)), (4, 2, 3)),
        row("plain", "aten.permute.default", A, (2, 0, 1)),
        row("negative", "aten.permute.default", A, (-1, 0, -2)),
        row("plain", "aten.expand.default", COLUMN, (3, -1, 4)),
        row("scalar", "aten.expand.default", SCALAR, (2, 3)),
        row("some", "aten.squeeze.dims", Tensor((1, 3, 1, 2)), (0, 1)),
        row("last", "aten.unsqueeze.default", A, -1),
        row("middle", "aten.unsqueeze.default", A, 1),
        row("plain", "aten.slice.Tensor", A, 1, 1, 4),
        row("step", "aten.slice.Tensor", A, 2, 1, 9223372036854775807, 3),
        row("negative", "aten.slice.Tensor", A, -1, -5, -1),
        row("beyond", "aten.slice.Tensor", A, 0, -100, 100),
        row("negative", "aten.select.int", A, -1, -2),
        row("strided", "aten.select.int", TRANSPOSED, 0, 3),
        row("plain", "aten.flip.default", A, (0, -1)),
        row("offset", "aten.diagonal.default", Tensor((5, 7)), 2),
        row("below", "aten.diagonal.default", A, -1, 2, 1),
        row("windows", "aten.unfold.default", A, 2, 3, 2),
        row("plain", "aten.repeat.default", Tensor((2, 3)), (4, 1, 2)),
        row("plain", "aten.alias.default", GAPS),
        row("permuted", "aten.clone.default", TRANSPOSED),
    ]


def _creation() -> list[Case]:
    return [
        row("plain", "aten.full.default", (3, 4), 2.5, dtype=F32),
        row("scalar", "aten.full.default", (), -float("inf"), dtype=BF16),
        row("like", "aten.full_like.default", HALF, 3),
        row("step", "aten.arange.start_step", 1, 10, 3),
        row("float", "aten.arange.start_step", 0, 1, 0.125, dtype=F32),
        row("plain", "prims.iota.default", 7, start=2, step=3, dtype=I64,
            requires_grad=False),
        row("plain", "aten.scalar_tensor.default", 1.5, dtype=F32),
    ]  # fmt: skip


def _indexing() -> list[Case]:
    table = Tensor((11, 6))
    ids = Tensor((2, 5), I64, low=0, high=11)
    wrapped = Tensor((4,), I64, low=-3, high=3)
    return [
        row("plain", "aten.embedding.default", table, ids),
        row("bf16", "aten.embedding.default", Tensor((11, 6), BF16, stride=(1, 11)), ids),
        row("int32", "aten.embedding.default", table, Tensor((3,), I32, low=0, high=11)),
        row("one_row", "aten.embedding.default", Tensor((1, 6)), Tensor((3,), I64, low=0, high=1)),
        row("last", "aten.gather.default", Tensor((4, 9)), -1, Tensor((4, 3), I64, low=0, high=9)),
        row("first", "aten.gather.default", Tensor((4, 9)), 0, Tensor((2, 5), I64, low=0, high=4)),
        row("plain", "aten.index_select.default", A, 1, Tensor((4,), I64, low=0, high=5)),
        row("one", "aten.index.Tensor", A, (wrapped,)),
        row("middle", "aten.index.Tensor", A, (None, wrapped)),
        row("two", "aten.index.Tensor", A, (wrapped, Tensor((2, 1), I64, low=-5, high=5))),
        row("apart", "aten.index.Tensor", A, (wrapped, None, Tensor((2, 4), I64, low=0, high=7))),
        row("bf16_transposed", "aten.index.Tensor", Tensor((5, 7), BF16, stride=(1, 5)),
            (None, Tensor((3, 2), I32, low=0, high=7))),
    ]  # fmt: skip


def _joining() -> list[Case]:
    image = Tensor((2, 3, 4, 5))
    return [
        row("two", "aten.cat.default", (A, Tensor((3, 2, 7))), 1),
        row("three_mixed", "aten.cat.default", (HALF, Tensor((4, 1)), Tensor((4, 3), BF16)), -1),
        row("one", "aten.cat.default", (A,)),
        row("ints", "aten.cat.default", (INTEGERS, SMALL_INTEGERS), 0),
        row("transposed", "aten.cat.default", (TRANSPOSED, GAPS, EXPANDED), 0),
        row("empty", "aten.cat.default", (Tensor((0,)), A), 0),
        row("both", "aten.constant_pad_nd.default", A, (1, 2, 0, 3), 1.5),
        row("cut", "aten.constant_pad_nd.default", A, (-2, 1)),
        row("bf16", "aten.constant_pad_nd.default", HALF, (0, 7)),
        row("bool", "aten.constant_pad_nd.default", BOOLS, (1, 1), True),
        row("plain", "aten.slice_scatter.default", A, Tensor((3, 2, 7)), 1, 2, 4),
        row("step", "aten.slice_scatter.default", A, Tensor((3, 5, 2)), 2, 1, 6, 3),
        row("whole", "aten.slice_scatter.default", A, B, 0, 0, 9223372036854775807),
        row("plain", "aten.max_pool2d_with_indices.default", image, (2, 2)),
        row("padded", "aten.max_pool2d_with_indices.default", Tensor((2, 3, 8, 7)), (3, 3),
            (2, 2), (1, 1)),
        row("deep", "aten.max_pool3d_with_indices.default", Tensor((1, 2, 4, 5, 4)), (2, 3, 2),
            (2, 1, 2), (1, 1, 0)),
        row("plain", "aten.avg_pool2d.default", image, (2, 2)),
        row("ceil", "aten.avg_pool2d.default", Tensor((2, 3, 6, 7)), (3, 3), (2, 2), (1, 1), True),
        row("ceil_uncounted", "aten.avg_pool2d.default", Tensor((2, 6, 7)), (3, 3), (2, 2), (1, 1),
            True, False),
        row("deep", "aten.avg_pool3d.default", Tensor((1, 2, 4, 5, 4)), (2, 3, 2), (2, 2, 1),
            (1, 1, 0), True),
        row(
            "uneven",
            "aten.avg_pool2d_backward.default",
            Tensor((2, 3, 2, 3)),
            Tensor((2, 3, 5, 7)),
            (3, 3),
            (2, 2),
            (0, 0),
            False,
            True,
            None,
        ),
        row(
            "padded",
            "aten.avg_pool2d_backward.default",
            Tensor((2, 3, 3, 3), BF16),
            Tensor((2, 3, 6, 5), BF16),
            (3, 2),
            (2, 2),
            (1, 1),
            False,
            True,
            None,
        ),
        row("one", "aten._adaptive_avg_pool2d.default", image, (1, 1)),
        row("tiles", "aten._adaptive_avg_pool2d.default", Tensor((3, 8, 6), BF16), (4, 2)),
        row("padded", "aten.avg_pool2d.default", image, (3, 3), (2, 2), (1, 1)),
        row("uncounted", "aten.avg_pool2d.default", image, (3, 3), (1, 1), (1, 1), False, False),
    ]  # fmt: skip


def _scattering() -> list[Case]:
    lines = Tensor((4, 9))
    spots = Tensor((4, 1), I64, low=0, high=9)
    return [
        row("one_per_line", "aten.scatter.value", lines, 1, spots, 1.0),
        row("negative_dim", "aten.scatter.value", HALF, -1, spots, -2),
        row("transposed", "aten.scatter.value", Tensor((9, 4), stride=(1, 9)), 0,
            Tensor((1, 4), I64, low=0, high=9), 3),
        row("several", "aten.scatter.value", lines, 1, Tensor((4, 3), I64, low=0, high=9), 7.5),
        row("plain", "aten.scatter_add.default", lines, 1, Tensor((4, 6), I64, low=0, high=9),
            Tensor((4, 6))),
        row("wide_source", "aten.scatter_add.default", lines, 0,
            Tensor((3, 5), I64, low=0, high=4), Tensor((6, 9))),
        row("one_row", "aten.index_put.default", A, (Tensor((1,), I64, low=-3, high=3),),
            Tensor((1, 5, 7))),
        row("add_rows", "aten.index_put.default", Tensor((11, 6)),
            (Tensor((2, 5), I64, low=0, high=11),), Tensor((2, 5, 6)), True),
        row("add_pairs", "aten.index_put.default", A,
            (Tensor((6,), I64, low=0, high=3), None, Tensor((6,), I64, low=0, high=7)),
            Tensor((6, 5)), True),
        row("add_number", "aten.index_put.default", A, (None, Tensor((6,), I64, low=0, high=5)),
            SCALAR, True),
        row(
            "plain",
            "aten.index_add.default",
            A,
            1,
            Tensor((8,), I64, low=0, high=5),
            Tensor((3, 8, 7)),
            alpha=0.5,
        ),
        row("largest", "aten.scatter_reduce.two", Tensor((4, 9), I32, low=-50, high=50), 1,
            Tensor((4, 6), I64, low=0, high=9), Tensor((4, 7), I32, low=-99, high=99), "amax"),
        row("largest_long", "aten.scatter_reduce.two", Tensor((5,), I64, low=-5, high=0), 0,
            Tensor((40,), I64, low=0, high=5), Tensor((40,), I64, low=-(2**60), high=2**60),
            "amax"),
        row("mask", "aten.index_put.default", lines, (BOOLS,), SCALAR),
        row("mask_rows", "aten.index_put.default", Tensor((4, 9, 2)), (BOOLS,), SCALAR),
    ]  # fmt: skip


FAMILIES = (_reshaping, _creation, _indexing, _joining, _scattering)
