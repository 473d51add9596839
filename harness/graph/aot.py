"""The one place that touches torch's private tracing machinery.

AOTAutograd, fake tensors and the partitioner have no public names. Everything the
harness needs from them is reached through this file, which is tried on every
supported version of torch (2.11 to 2.13).
"""

from __future__ import annotations

from harness.graph.fx import Conversion, convert, graph_from_fx

__all__ = ["Conversion", "convert", "graph_from_fx"]
