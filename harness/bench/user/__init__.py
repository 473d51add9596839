"""Hand-written Triton kernels: from a declaration in a file to emitted modules."""
