# harness graph 1
# title: NCHW to NHWC, f16, 32 x 256 x 56 x 56
# origin: torch's channels_last memory format at the border of a network
# sizes: small
# captured: suites.models:channels_last?batch=2&channels=19&height=9&width=7
# mode: inference
# dtype: f16
# versions: torch 2.13.0
def channels_last_forward(
    x: "f16[2, 19, 9, 7]",
):
    # models.py:184 in forward: return x.contiguous(memory_format=torch.channels_last)
    clone: "f16[2, 19, 9, 7]{1197, 1, 133, 19}" = aten.clone.default(x, memory_format=torch.channels_last)
    return (clone,)
