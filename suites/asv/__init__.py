"""What asv tracks: fused kernels, and what their compiler costs."""
