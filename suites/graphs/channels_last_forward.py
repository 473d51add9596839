# harness graph 1
# title: NCHW to NHWC, f16, 32 x 256 x 56 x 56
# origin: torch's channels_last memory format at the border of a network
# captured: suites.models:channels_last?batch=32&channels=256&height=56&width=56
# mode: inference
# dtype: f16
# versions: torch 2.13.0
def channels_last_forward(
    x: "f16[32, 256, 56, 56]",
):
    # models.py:184 in forward: return x.contiguous(memory_format=torch.channels_last)
    clone: "f16[32, 256, 56, 56]{802816, 1, 14336, 256}" = aten.clone.default(x, memory_format=torch.channels_last)
    return (clone,)
