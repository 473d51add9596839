# harness graph 1
# title: Decoded images to normalised NCHW, f16, 128 images of 224
# origin: the usual ImageNet preprocessing on the device
# captured: suites.models:image_preprocess?batch=128&height=224&width=224
# mode: inference
# dtype: f16
# versions: torch 2.13.0
def image_preprocess_forward(
    images: "u8[128, 224, 224, 3]",
    mean: "f16[3]",
    std: "f16[3]",
):
    # models.py:198 in forward: scaled = images.permute(0, 3, 1, 2).to(mean.dtype) / 255
    permute: "u8[128, 3, 224, 224]{150528, 1, 672, 3}" = aten.permute.default(images, [0, 3, 1, 2])
    to_copy: "f16[128, 3, 224, 224]{150528, 1, 672, 3}" = aten._to_copy.default(permute, dtype=torch.float16)
    div: "f16[128, 3, 224, 224]{150528, 1, 672, 3}" = aten.div.Tensor(to_copy, 255)
    # models.py:199 in forward: return ((scaled - mean[:, None, None]) / std[:, None, None]).contiguous()
    unsqueeze: "f16[3, 1]" = aten.unsqueeze.default(mean, 1)
    unsqueeze_1: "f16[3, 1, 1]" = aten.unsqueeze.default(unsqueeze, 2)
    sub: "f16[128, 3, 224, 224]{150528, 1, 672, 3}" = aten.sub.Tensor(div, unsqueeze_1)
    unsqueeze_2: "f16[3, 1]" = aten.unsqueeze.default(std, 1)
    unsqueeze_3: "f16[3, 1, 1]" = aten.unsqueeze.default(unsqueeze_2, 2)
    div_1: "f16[128, 3, 224, 224]{150528, 1, 672, 3}" = aten.div.Tensor(sub, unsqueeze_3)
    clone: "f16[128, 3, 224, 224]" = aten.clone.default(div_1, memory_format=torch.contiguous_format)
    return (clone,)
