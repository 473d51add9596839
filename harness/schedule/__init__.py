"""From loop nests to kernels: what is fused, in which order, over which loops."""
