# harness graph 1
# title: Row-wise float8 quantisation of activations, 16384 rows of 4096
# origin: the row-wise recipe of torchao's float8 training
# captured: suites.models:fp8_rowwise?rows=16384&columns=4096
# mode: inference
# dtype: bf16
# versions: torch 2.13.0
def fp8_rowwise_forward(
    x: "bf16[16384, 4096]",
):
    # models.py:171 in forward: largest = x.abs().amax(dim=-1, keepdim=True).to(torch.float64)
    abs: "bf16[16384, 4096]" = aten.abs.default(x)
    amax: "bf16[16384, 1]" = aten.amax.default(abs, [-1], True)
    to_copy: "f64[16384, 1]" = aten._to_copy.default(amax, dtype=torch.float64)
    # models.py:172 in forward: scale = (limit / torch.clamp(largest, min=1e-12)).to(torch.float32)
    clamp: "f64[16384, 1]" = aten.clamp.default(to_copy, 1e-12)
    reciprocal: "f64[16384, 1]" = aten.reciprocal.default(clamp)
    mul: "f64[16384, 1]" = aten.mul.Tensor(reciprocal, 448.0)
    to_copy_1: "f32[16384, 1]" = aten._to_copy.default(mul, dtype=torch.float32)
    # models.py:173 in forward: scaled = x.to(torch.float32) * scale
    to_copy_2: "f32[16384, 4096]" = aten._to_copy.default(x, dtype=torch.float32)
    mul_1: "f32[16384, 4096]" = aten.mul.Tensor(to_copy_2, to_copy_1)
    # models.py:174 in forward: return scaled.clamp(min=-limit, max=limit).to(torch.float8_e4m3fn), scale.reciprocal()
    clamp_1: "f32[16384, 4096]" = aten.clamp.default(mul_1, -448.0, 448.0)
    to_copy_3: "f8e4m3[16384, 4096]" = aten._to_copy.default(clamp_1, dtype=torch.float8_e4m3fn)
    reciprocal_1: "f32[16384, 1]" = aten.reciprocal.default(to_copy_1)
    return (to_copy_3, reciprocal_1)
