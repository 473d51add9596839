# harness graph 1
# title: Stable Diffusion UNet, residual block of the way up and upsampling, f16
# origin: diffusers ResnetBlock2D and Upsample2D; sizes of stable-diffusion-v1-5
# captured: suites.models:unet_up_block?batch=8&channels=640&skip=640&height=48&width=32&temb=1280&groups=32
# mode: inference
# dtype: f16
# versions: torch 2.13.0, diffusers 0.42.1
def unet_up_block_forward(
    resnet_norm1_weight: "f16[1280] parameter",
    resnet_norm1_bias: "f16[1280] parameter",
    resnet_conv1_weight: "f16[640, 1280, 3, 3] parameter",
    resnet_conv1_bias: "f16[640] parameter",
    resnet_time_emb_proj_weight: "f16[640, 1280] parameter",
    resnet_time_emb_proj_bias: "f16[640] parameter",
    resnet_norm2_weight: "f16[640] parameter",
    resnet_norm2_bias: "f16[640] parameter",
    resnet_conv2_weight: "f16[640, 640, 3, 3] parameter",
    resnet_conv2_bias: "f16[640] parameter",
    resnet_conv_shortcut_weight: "f16[640, 1280, 1, 1] parameter",
    resnet_conv_shortcut_bias: "f16[640] parameter",
    upsample_conv_weight: "f16[640, 640, 3, 3] parameter",
    upsample_conv_bias: "f16[640] parameter",
    hidden_states: "f16[8, 640, 48, 32]",
    skip: "f16[8, 640, 48, 32]",
    temb: "f16[8, 1280]",
):
    # models.py:115 in forward: hidden_states = torch.cat([hidden_states, skip], dim=1)
    cat: "f16[8, 1280, 48, 32]" = aten.cat.default([hidden_states, skip], 1)
    # [resnet.norm1] resnet.py:326 in forward: hidden_states = self.norm1(hidden_states)
    to_copy: "f32[8, 1280, 48, 32]" = aten._to_copy.default(cat, dtype=torch.float32)
    view: "f32[8, 32, 40, 1536]" = aten.view.default(to_copy, [8, 32, 40, 1536])
    var_mean: ("f32[8, 32, 1, 1]", "f32[8, 32, 1, 1]") = aten.var_mean.correction(view, [2, 3], correction=0, keepdim=True)
    getitem: "f32[8, 32, 1, 1]" = getitem(var_mean, 0)
    getitem_1: "f32[8, 32, 1, 1]" = getitem(var_mean, 1)
    add: "f32[8, 32, 1, 1]" = aten.add.Tensor(getitem, 1e-06)
    rsqrt: "f32[8, 32, 1, 1]" = aten.rsqrt.default(add)
    sub: "f32[8, 32, 40, 1536]" = aten.sub.Tensor(view, getitem_1)
    mul: "f32[8, 32, 40, 1536]" = aten.mul.Tensor(sub, rsqrt)
    view_1: "f32[8, 1280, 48, 32]" = aten.view.default(mul, [8, 1280, 48, 32])
    view_2: "f16[1, 1280, 1, 1]" = aten.view.default(resnet_norm1_weight, [1, 1280, 1, 1])
    mul_1: "f32[8, 1280, 48, 32]" = aten.mul.Tensor(view_1, view_2)
    view_3: "f16[1, 1280, 1, 1]" = aten.view.default(resnet_norm1_bias, [1, 1280, 1, 1])
    add_1: "f32[8, 1280, 48, 32]" = aten.add.Tensor(mul_1, view_3)
    to_copy_1: "f16[8, 1280, 48, 32]" = prims.convert_element_type.default(add_1, torch.float16)
    # [resnet.nonlinearity] resnet.py:327 in forward: hidden_states = self.nonlinearity(hidden_states)
    to_copy_2: "f32[8, 1280, 48, 32]" = aten._to_copy.default(to_copy_1, dtype=torch.float32)
    sigmoid: "f32[8, 1280, 48, 32]" = aten.sigmoid.default(to_copy_2)
    mul_2: "f32[8, 1280, 48, 32]" = aten.mul.Tensor(to_copy_2, sigmoid)
    to_copy_3: "f16[8, 1280, 48, 32]" = prims.convert_element_type.default(mul_2, torch.float16)
    # [resnet.conv1] resnet.py:340 in forward: hidden_states = self.conv1(hidden_states)
    convolution: "f16[8, 640, 48, 32]" = aten.convolution.default(to_copy_3, resnet_conv1_weight, resnet_conv1_bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.nonlinearity] resnet.py:344 in forward: temb = self.nonlinearity(temb)
    to_copy_4: "f32[8, 1280]" = aten._to_copy.default(temb, dtype=torch.float32)
    sigmoid_1: "f32[8, 1280]" = aten.sigmoid.default(to_copy_4)
    mul_3: "f32[8, 1280]" = aten.mul.Tensor(to_copy_4, sigmoid_1)
    to_copy_5: "f16[8, 1280]" = prims.convert_element_type.default(mul_3, torch.float16)
    # [resnet.time_emb_proj] resnet.py:345 in forward: temb = self.time_emb_proj(temb)[:, :, None, None]
    permute: "f16[1280, 640]{1, 1280}" = aten.permute.default(resnet_time_emb_proj_weight, [1, 0])
    addmm: "f16[8, 640]" = aten.addmm.default(resnet_time_emb_proj_bias, to_copy_5, permute)
    # [resnet] resnet.py:345 in forward: temb = self.time_emb_proj(temb)[:, :, None, None]
    unsqueeze: "f16[8, 640, 1]" = aten.unsqueeze.default(addmm, 2)
    unsqueeze_1: "f16[8, 640, 1, 1]" = aten.unsqueeze.default(unsqueeze, 3)
    # [resnet] resnet.py:349 in forward: hidden_states = hidden_states + temb
    add_2: "f16[8, 640, 48, 32]" = aten.add.Tensor(convolution, unsqueeze_1)
    # [resnet.norm2] resnet.py:350 in forward: hidden_states = self.norm2(hidden_states)
    to_copy_6: "f32[8, 640, 48, 32]" = aten._to_copy.default(add_2, dtype=torch.float32)
    view_4: "f32[8, 32, 20, 1536]" = aten.view.default(to_copy_6, [8, 32, 20, 1536])
    var_mean_1: ("f32[8, 32, 1, 1]", "f32[8, 32, 1, 1]") = aten.var_mean.correction(view_4, [2, 3], correction=0, keepdim=True)
    getitem_2: "f32[8, 32, 1, 1]" = getitem(var_mean_1, 0)
    getitem_3: "f32[8, 32, 1, 1]" = getitem(var_mean_1, 1)
    add_3: "f32[8, 32, 1, 1]" = aten.add.Tensor(getitem_2, 1e-06)
    rsqrt_1: "f32[8, 32, 1, 1]" = aten.rsqrt.default(add_3)
    sub_1: "f32[8, 32, 20, 1536]" = aten.sub.Tensor(view_4, getitem_3)
    mul_4: "f32[8, 32, 20, 1536]" = aten.mul.Tensor(sub_1, rsqrt_1)
    view_5: "f32[8, 640, 48, 32]" = aten.view.default(mul_4, [8, 640, 48, 32])
    view_6: "f16[1, 640, 1, 1]" = aten.view.default(resnet_norm2_weight, [1, 640, 1, 1])
    mul_5: "f32[8, 640, 48, 32]" = aten.mul.Tensor(view_5, view_6)
    view_7: "f16[1, 640, 1, 1]" = aten.view.default(resnet_norm2_bias, [1, 640, 1, 1])
    add_4: "f32[8, 640, 48, 32]" = aten.add.Tensor(mul_5, view_7)
    to_copy_7: "f16[8, 640, 48, 32]" = prims.convert_element_type.default(add_4, torch.float16)
    # [resnet.nonlinearity] resnet.py:362 in forward: hidden_states = self.nonlinearity(hidden_states)
    to_copy_8: "f32[8, 640, 48, 32]" = aten._to_copy.default(to_copy_7, dtype=torch.float32)
    sigmoid_2: "f32[8, 640, 48, 32]" = aten.sigmoid.default(to_copy_8)
    mul_6: "f32[8, 640, 48, 32]" = aten.mul.Tensor(to_copy_8, sigmoid_2)
    to_copy_9: "f16[8, 640, 48, 32]" = prims.convert_element_type.default(mul_6, torch.float16)
    # [resnet.dropout] resnet.py:364 in forward: hidden_states = self.dropout(hidden_states)
    clone: "f16[8, 640, 48, 32]" = aten.clone.default(to_copy_9)
    # [resnet.conv2] resnet.py:365 in forward: hidden_states = self.conv2(hidden_states)
    convolution_1: "f16[8, 640, 48, 32]" = aten.convolution.default(clone, resnet_conv2_weight, resnet_conv2_bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.conv_shortcut] resnet.py:373 in forward: input_tensor = self.conv_shortcut(input_tensor)
    convolution_2: "f16[8, 640, 48, 32]" = aten.convolution.default(cat, resnet_conv_shortcut_weight, resnet_conv_shortcut_bias, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet] resnet.py:375 in forward: output_tensor = (input_tensor + hidden_states) / self.output_scale_factor
    add_5: "f16[8, 640, 48, 32]" = aten.add.Tensor(convolution_2, convolution_1)
    div: "f16[8, 640, 48, 32]" = aten.div.Tensor(add_5, 1.0)
    # [upsample] upsampling.py:175 in forward: hidden_states = F.interpolate(hidden_states, scale_factor=2.0, mode="nearest")
    to_copy_10: "f32[8, 640, 48, 32]" = aten._to_copy.default(div, dtype=torch.float32)
    arange: "f32[96]" = aten.arange.start_step(0, 96, dtype=torch.float32)
    add_6: "f32[96]" = aten.add.Tensor(arange, 0.0)
    mul_7: "f32[96]" = aten.mul.Tensor(add_6, 0.5)
    to_copy_11: "i64[96]" = aten._to_copy.default(mul_7, dtype=torch.int64)
    unsqueeze_2: "i64[96, 1]" = aten.unsqueeze.default(to_copy_11, -1)
    arange_1: "f32[64]" = aten.arange.start_step(0, 64, dtype=torch.float32)
    add_7: "f32[64]" = aten.add.Tensor(arange_1, 0.0)
    mul_8: "f32[64]" = aten.mul.Tensor(add_7, 0.5)
    to_copy_12: "i64[64]" = aten._to_copy.default(mul_8, dtype=torch.int64)
    index: "f32[8, 640, 96, 64]" = aten.index.Tensor(to_copy_10, [None, None, unsqueeze_2, to_copy_12])
    to_copy_13: "f16[8, 640, 96, 64]" = aten._to_copy.default(index, dtype=torch.float16)
    # [upsample.conv] upsampling.py:186 in forward: hidden_states = self.conv(hidden_states)
    convolution_3: "f16[8, 640, 96, 64]" = aten.convolution.default(to_copy_13, upsample_conv_weight, upsample_conv_bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    return (convolution_3,)
