"""Trees of fast forms of configurations, by kind of kernel.

Written by ``scripts/learn_heuristics.py`` from 1 files of tunings, see
docs/measurements/heuristics.md. Not to be edited by hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.heuristics.forms import Form, Leaf, Split

TREES: Mapping[str, Split | Leaf] = {
    "looped inner": Split(
        "loads",
        4.5,
        Split(
            "points per multiprocessor",
            16.01,
            Leaf(
                (
                    Form(1, 2048, 32),
                    Form(1, 4096, 32),
                    Form(1, 2048, 16),
                    Form(1, 4096, 16),
                )
            ),
            Leaf(
                (
                    Form(1, 2048, 16),
                    Form(1, 4096, 4),
                    Form(1, 2048, 8),
                    Form(1, 512, 8),
                )
            ),
        ),
        Leaf(
            (
                Form(1, 4096, 32),
                Form(1, 2048, 32),
                Form(1, 4096, 16),
                Form(2, 2048, 16),
            )
        ),
    ),
    "looped mixed": Leaf(
        (
            Form(1, 2048, 1),
            Form(8, 128, 2),
            Form(32, 64, 2),
            Form(64, 32, 16),
        )
    ),
    "looped outer": Split(
        "loads",
        3.5,
        Split(
            "parallel per multiprocessor",
            4.541,
            Leaf(
                (
                    Form(8, 64, 16),
                    Form(4, 128, 16),
                    Form(8, 64, 8),
                    Form(8, 128, 8),
                )
            ),
            Split(
                "reduced",
                9.307,
                Leaf(
                    (
                        Form(32, 32, 4),
                        Form(32, 8, 4),
                        Form(32, 16, 4),
                        Form(32, 256, 2),
                    )
                ),
                Leaf(
                    (
                        Form(64, 64, 32),
                        Form(64, 64, 16),
                        Form(64, 32, 16),
                        Form(32, 64, 16),
                    )
                ),
            ),
        ),
        Leaf(
            (
                Form(64, 64, 4),
                Form(32, 32, 2),
                Form(32, 64, 4),
                Form(32, 64, 2),
            )
        ),
    ),
    "persistent inner": Split(
        "loads",
        6.5,
        Split(
            "points per multiprocessor",
            12.86,
            Leaf(
                (
                    Form(256, 0, 32),
                    Form(256, 0, 4),
                    Form(256, 0, 16),
                    Form(512, 0, 8),
                )
            ),
            Leaf(
                (
                    Form(512, 0, 32),
                    Form(2048, 0, 16),
                    Form(256, 0, 32),
                    Form(256, 0, 64),
                )
            ),
        ),
        Split(
            "points per multiprocessor",
            15.06,
            Leaf(
                (
                    Form(256, 0, 8),
                    Form(512, 0, 8),
                    Form(256, 0, 4),
                    Form(1024, 0, 8),
                )
            ),
            Leaf(
                (
                    Form(256, 0, 32),
                    Form(256, 0, 64),
                    Form(512, 0, 32),
                    Form(2048, 0, 16),
                )
            ),
        ),
    ),
    "persistent mixed": Leaf(
        (
            Form(16, 0, 64),
            Form(32, 0, 16),
            Form(16, 0, 32),
            Form(32, 0, 64),
        )
    ),
    "persistent outer": Split(
        "loads",
        1.5,
        Split(
            "parallel per multiprocessor",
            3.041,
            Leaf(
                (
                    Form(16, 0, 32),
                    Form(32, 0, 64),
                    Form(8, 0, 16),
                    Form(16, 0, 16),
                )
            ),
            Leaf(
                (
                    Form(32, 0, 64),
                    Form(64, 0, 32),
                    Form(32, 0, 32),
                    Form(16, 0, 32),
                )
            ),
        ),
        Split(
            "reduced",
            3.5,
            Split(
                "loads",
                3.5,
                Leaf(
                    (
                        Form(128, 0, 32),
                        Form(128, 0, 64),
                        Form(64, 0, 16),
                        Form(64, 0, 32),
                    )
                ),
                Leaf(
                    (
                        Form(64, 0, 16),
                        Form(4, 0, 4),
                        Form(64, 0, 32),
                        Form(128, 0, 32),
                    )
                ),
            ),
            Leaf(
                (
                    Form(2, 0, 4),
                    Form(16, 0, 4),
                    Form(16, 0, 2),
                    Form(8, 0, 16),
                )
            ),
        ),
    ),
    "pointwise 1": Split(
        "bytes per point",
        2.792,
        Split(
            "parallel per multiprocessor",
            14.85,
            Leaf(
                (
                    Form(1024, 0, 8),
                    Form(1024, 0, 4),
                    Form(2048, 0, 8),
                    Form(4096, 0, 16),
                )
            ),
            Split(
                "bytes per point",
                2.022,
                Leaf(
                    (
                        Form(2048, 0, 4),
                        Form(4096, 0, 8),
                        Form(4096, 0, 4),
                        Form(1024, 0, 2),
                    )
                ),
                Leaf(
                    (
                        Form(1024, 0, 4),
                        Form(4096, 0, 8),
                        Form(4096, 0, 16),
                        Form(2048, 0, 8),
                    )
                ),
            ),
        ),
        Split(
            "parallel per multiprocessor",
            15.76,
            Split(
                "parallel per multiprocessor",
                11.54,
                Leaf(
                    (
                        Form(256, 0, 8),
                        Form(512, 0, 16),
                        Form(256, 0, 16),
                        Form(128, 0, 4),
                    )
                ),
                Leaf(
                    (
                        Form(512, 0, 8),
                        Form(512, 0, 4),
                        Form(1024, 0, 16),
                        Form(256, 0, 4),
                    )
                ),
            ),
            Leaf(
                (
                    Form(512, 0, 4),
                    Form(2048, 0, 16),
                    Form(512, 0, 2),
                    Form(1024, 0, 8),
                )
            ),
        ),
    ),
    "pointwise 2": Leaf(
        (
            Form(32, 64, 4),
            Form(128, 32, 8),
            Form(64, 64, 4),
            Form(32, 64, 16),
        )
    ),
}
