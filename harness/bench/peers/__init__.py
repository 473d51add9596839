"""Other compilers on the same work: eager torch, Inductor, any backend of ``torch.compile``."""
