# harness graph 1
# title: ConvNeXt-T, one block of every stage, f16, 32 images of 224
# origin: transformers ConvNextForImageClassification; sizes of facebook/convnext-tiny-224
# sizes: small
# captured: transformers:ConvNextForImageClassification?depths=(1, 1, 1, 1)&batch=2&image=68&hidden_sizes=(4, 12, 20, 28)&num_labels=11
# mode: training
# dtype: f16
# versions: torch 2.13.0, transformers 5.23.0
def convnext_forward(
    convnext_embeddings_patch_embeddings_weight: "f16[4, 3, 4, 4] parameter",
    convnext_embeddings_patch_embeddings_bias: "f16[4] parameter",
    convnext_embeddings_layernorm_weight: "f16[4] parameter",
    convnext_embeddings_layernorm_bias: "f16[4] parameter",
    convnext_encoder_stages_0_layers_0_layer_scale_parameter: "f16[4] parameter",
    convnext_encoder_stages_0_layers_0_dwconv_weight: "f16[4, 1, 7, 7] parameter",
    convnext_encoder_stages_0_layers_0_dwconv_bias: "f16[4] parameter",
    convnext_encoder_stages_0_layers_0_layernorm_weight: "f16[4] parameter",
    convnext_encoder_stages_0_layers_0_layernorm_bias: "f16[4] parameter",
    convnext_encoder_stages_0_layers_0_pwconv1_weight: "f16[16, 4] parameter",
    convnext_encoder_stages_0_layers_0_pwconv1_bias: "f16[16] parameter",
    convnext_encoder_stages_0_layers_0_pwconv2_weight: "f16[4, 16] parameter",
    convnext_encoder_stages_0_layers_0_pwconv2_bias: "f16[4] parameter",
    convnext_encoder_stages_1_downsampling_layer_0_weight: "f16[4] parameter",
    convnext_encoder_stages_1_downsampling_layer_0_bias: "f16[4] parameter",
    convnext_encoder_stages_1_downsampling_layer_1_weight: "f16[12, 4, 2, 2] parameter",
    convnext_encoder_stages_1_downsampling_layer_1_bias: "f16[12] parameter",
    convnext_encoder_stages_1_layers_0_layer_scale_parameter: "f16[12] parameter",
    convnext_encoder_stages_1_layers_0_dwconv_weight: "f16[12, 1, 7, 7] parameter",
    convnext_encoder_stages_1_layers_0_dwconv_bias: "f16[12] parameter",
    convnext_encoder_stages_1_layers_0_layernorm_weight: "f16[12] parameter",
    convnext_encoder_stages_1_layers_0_layernorm_bias: "f16[12] parameter",
    convnext_encoder_stages_1_layers_0_pwconv1_weight: "f16[48, 12] parameter",
    convnext_encoder_stages_1_layers_0_pwconv1_bias: "f16[48] parameter",
    convnext_encoder_stages_1_layers_0_pwconv2_weight: "f16[12, 48] parameter",
    convnext_encoder_stages_1_layers_0_pwconv2_bias: "f16[12] parameter",
    convnext_encoder_stages_2_downsampling_layer_0_weight: "f16[12] parameter",
    convnext_encoder_stages_2_downsampling_layer_0_bias: "f16[12] parameter",
    convnext_encoder_stages_2_downsampling_layer_1_weight: "f16[20, 12, 2, 2] parameter",
    convnext_encoder_stages_2_downsampling_layer_1_bias: "f16[20] parameter",
    convnext_encoder_stages_2_layers_0_layer_scale_parameter: "f16[20] parameter",
    convnext_encoder_stages_2_layers_0_dwconv_weight: "f16[20, 1, 7, 7] parameter",
    convnext_encoder_stages_2_layers_0_dwconv_bias: "f16[20] parameter",
    convnext_encoder_stages_2_layers_0_layernorm_weight: "f16[20] parameter",
    convnext_encoder_stages_2_layers_0_layernorm_bias: "f16[20] parameter",
    convnext_encoder_stages_2_layers_0_pwconv1_weight: "f16[80, 20] parameter",
    convnext_encoder_stages_2_layers_0_pwconv1_bias: "f16[80] parameter",
    convnext_encoder_stages_2_layers_0_pwconv2_weight: "f16[20, 80] parameter",
    convnext_encoder_stages_2_layers_0_pwconv2_bias: "f16[20] parameter",
    convnext_encoder_stages_3_downsampling_layer_0_weight: "f16[20] parameter",
    convnext_encoder_stages_3_downsampling_layer_0_bias: "f16[20] parameter",
    convnext_encoder_stages_3_downsampling_layer_1_weight: "f16[28, 20, 2, 2] parameter",
    convnext_encoder_stages_3_downsampling_layer_1_bias: "f16[28] parameter",
    convnext_encoder_stages_3_layers_0_layer_scale_parameter: "f16[28] parameter",
    convnext_encoder_stages_3_layers_0_dwconv_weight: "f16[28, 1, 7, 7] parameter",
    convnext_encoder_stages_3_layers_0_dwconv_bias: "f16[28] parameter",
    convnext_encoder_stages_3_layers_0_layernorm_weight: "f16[28] parameter",
    convnext_encoder_stages_3_layers_0_layernorm_bias: "f16[28] parameter",
    convnext_encoder_stages_3_layers_0_pwconv1_weight: "f16[112, 28] parameter",
    convnext_encoder_stages_3_layers_0_pwconv1_bias: "f16[112] parameter",
    convnext_encoder_stages_3_layers_0_pwconv2_weight: "f16[28, 112] parameter",
    convnext_encoder_stages_3_layers_0_pwconv2_bias: "f16[28] parameter",
    convnext_layernorm_weight: "f16[28] parameter",
    convnext_layernorm_bias: "f16[28] parameter",
    classifier_weight: "f16[11, 28] parameter",
    classifier_bias: "f16[11] parameter",
    pixel_values: "f16[2, 3, 68, 68]",
    labels: "i64[2] bound=11",
):
    # [convnext.embeddings.patch_embeddings] modeling_convnext.py:84 in forward: embeddings = self.patch_embeddings(pixel_values)
    convolution: "f16[2, 4, 17, 17]" = aten.convolution.default(pixel_values, convnext_embeddings_patch_embeddings_weight, convnext_embeddings_patch_embeddings_bias, [4, 4], [0, 0], [1, 1], False, [0, 0], 1)
    # [convnext.embeddings.layernorm] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute: "f16[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.permute.default(convolution, [0, 2, 3, 1])
    # [convnext.embeddings.layernorm] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten._to_copy.default(permute, dtype=torch.float32)
    var_mean: ("f32[2, 17, 17, 1]", "f32[2, 17, 17, 1]") = aten.var_mean.correction(to_copy, [3], correction=0, keepdim=True)
    getitem: "f32[2, 17, 17, 1]" = getitem(var_mean, 0)
    getitem_1: "f32[2, 17, 17, 1]" = getitem(var_mean, 1)
    add: "f32[2, 17, 17, 1]" = aten.add.Tensor(getitem, 1e-06)
    rsqrt: "f32[2, 17, 17, 1]" = aten.rsqrt.default(add)
    sub: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.sub.Tensor(to_copy, getitem_1)
    mul: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.mul.Tensor(sub, rsqrt)
    mul_1: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.mul.Tensor(mul, convnext_embeddings_layernorm_weight)
    add_1: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.add.Tensor(mul_1, convnext_embeddings_layernorm_bias)
    to_copy_1: "f16[2, 17, 17, 4]{1156, 17, 1, 289}" = prims.convert_element_type.default(add_1, torch.float16)
    # [convnext.embeddings.layernorm] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_1: "f16[2, 4, 17, 17]" = aten.permute.default(to_copy_1, [0, 3, 1, 2])
    # [convnext.encoder.stages.0.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_1: "f16[2, 4, 17, 17]" = aten.convolution.default(permute_1, convnext_encoder_stages_0_layers_0_dwconv_weight, convnext_encoder_stages_0_layers_0_dwconv_bias, [1, 1], [3, 3], [1, 1], False, [0, 0], 4)
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_2: "f16[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.permute.default(convolution_1, [0, 2, 3, 1])
    # [convnext.encoder.stages.0.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_2: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten._to_copy.default(permute_2, dtype=torch.float32)
    var_mean_1: ("f32[2, 17, 17, 1]", "f32[2, 17, 17, 1]") = aten.var_mean.correction(to_copy_2, [3], correction=0, keepdim=True)
    getitem_2: "f32[2, 17, 17, 1]" = getitem(var_mean_1, 0)
    getitem_3: "f32[2, 17, 17, 1]" = getitem(var_mean_1, 1)
    add_2: "f32[2, 17, 17, 1]" = aten.add.Tensor(getitem_2, 1e-06)
    rsqrt_1: "f32[2, 17, 17, 1]" = aten.rsqrt.default(add_2)
    sub_1: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.sub.Tensor(to_copy_2, getitem_3)
    mul_2: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.mul.Tensor(sub_1, rsqrt_1)
    mul_3: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.mul.Tensor(mul_2, convnext_encoder_stages_0_layers_0_layernorm_weight)
    add_3: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.add.Tensor(mul_3, convnext_encoder_stages_0_layers_0_layernorm_bias)
    to_copy_3: "f16[2, 17, 17, 4]{1156, 17, 1, 289}" = prims.convert_element_type.default(add_3, torch.float16)
    # [convnext.encoder.stages.0.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_3: "f16[4, 16]{1, 4}" = aten.permute.default(convnext_encoder_stages_0_layers_0_pwconv1_weight, [1, 0])
    clone: "f16[2, 17, 17, 4]" = aten.clone.default(to_copy_3, memory_format=torch.contiguous_format)
    view: "f16[578, 4]" = aten.view.default(clone, [578, 4])
    mm: "f16[578, 16]" = aten.mm.default(view, permute_3)
    view_1: "f16[2, 17, 17, 16]" = aten.view.default(mm, [2, 17, 17, 16])
    add_4: "f16[2, 17, 17, 16]" = aten.add.Tensor(view_1, convnext_encoder_stages_0_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.0.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_4: "f32[2, 17, 17, 16]" = aten._to_copy.default(add_4, dtype=torch.float32)
    mul_4: "f32[2, 17, 17, 16]" = aten.mul.Tensor(to_copy_4, 0.5)
    mul_5: "f32[2, 17, 17, 16]" = aten.mul.Tensor(to_copy_4, 0.7071067811865476)
    erf: "f32[2, 17, 17, 16]" = aten.erf.default(mul_5)
    add_5: "f32[2, 17, 17, 16]" = aten.add.Tensor(erf, 1)
    mul_6: "f32[2, 17, 17, 16]" = aten.mul.Tensor(mul_4, add_5)
    to_copy_5: "f16[2, 17, 17, 16]" = prims.convert_element_type.default(mul_6, torch.float16)
    # [convnext.encoder.stages.0.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_2: "f16[578, 16]" = aten.view.default(to_copy_5, [578, 16])
    permute_4: "f16[16, 4]{1, 16}" = aten.permute.default(convnext_encoder_stages_0_layers_0_pwconv2_weight, [1, 0])
    addmm: "f16[578, 4]" = aten.addmm.default(convnext_encoder_stages_0_layers_0_pwconv2_bias, view_2, permute_4)
    view_3: "f16[2, 17, 17, 4]" = aten.view.default(addmm, [2, 17, 17, 4])
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_7: "f16[2, 17, 17, 4]" = aten.mul.Tensor(convnext_encoder_stages_0_layers_0_layer_scale_parameter, view_3)
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_5: "f16[2, 4, 17, 17]{1156, 1, 68, 4}" = aten.permute.default(mul_7, [0, 3, 1, 2])
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:153 in forward: features = residual + self.drop_path(features)
    add_6: "f16[2, 4, 17, 17]" = aten.add.Tensor(permute_1, permute_5)
    # [convnext.encoder.stages.1.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_6: "f16[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.permute.default(add_6, [0, 2, 3, 1])
    # [convnext.encoder.stages.1.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_6: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten._to_copy.default(permute_6, dtype=torch.float32)
    var_mean_2: ("f32[2, 17, 17, 1]", "f32[2, 17, 17, 1]") = aten.var_mean.correction(to_copy_6, [3], correction=0, keepdim=True)
    getitem_4: "f32[2, 17, 17, 1]" = getitem(var_mean_2, 0)
    getitem_5: "f32[2, 17, 17, 1]" = getitem(var_mean_2, 1)
    add_7: "f32[2, 17, 17, 1]" = aten.add.Tensor(getitem_4, 1e-06)
    rsqrt_2: "f32[2, 17, 17, 1]" = aten.rsqrt.default(add_7)
    sub_2: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.sub.Tensor(to_copy_6, getitem_5)
    mul_8: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.mul.Tensor(sub_2, rsqrt_2)
    mul_9: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.mul.Tensor(mul_8, convnext_encoder_stages_1_downsampling_layer_0_weight)
    add_8: "f32[2, 17, 17, 4]{1156, 17, 1, 289}" = aten.add.Tensor(mul_9, convnext_encoder_stages_1_downsampling_layer_0_bias)
    to_copy_7: "f16[2, 17, 17, 4]{1156, 17, 1, 289}" = prims.convert_element_type.default(add_8, torch.float16)
    # [convnext.encoder.stages.1.downsampling_layer.0] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_7: "f16[2, 4, 17, 17]" = aten.permute.default(to_copy_7, [0, 3, 1, 2])
    # [convnext.encoder.stages.1.downsampling_layer.1] modeling_convnext.py:187 in forward: features = layer(features)
    convolution_2: "f16[2, 12, 8, 8]" = aten.convolution.default(permute_7, convnext_encoder_stages_1_downsampling_layer_1_weight, convnext_encoder_stages_1_downsampling_layer_1_bias, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)
    # [convnext.encoder.stages.1.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_3: "f16[2, 12, 8, 8]" = aten.convolution.default(convolution_2, convnext_encoder_stages_1_layers_0_dwconv_weight, convnext_encoder_stages_1_layers_0_dwconv_bias, [1, 1], [3, 3], [1, 1], False, [0, 0], 12)
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_8: "f16[2, 8, 8, 12]{768, 8, 1, 64}" = aten.permute.default(convolution_3, [0, 2, 3, 1])
    # [convnext.encoder.stages.1.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_8: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten._to_copy.default(permute_8, dtype=torch.float32)
    var_mean_3: ("f32[2, 8, 8, 1]", "f32[2, 8, 8, 1]") = aten.var_mean.correction(to_copy_8, [3], correction=0, keepdim=True)
    getitem_6: "f32[2, 8, 8, 1]" = getitem(var_mean_3, 0)
    getitem_7: "f32[2, 8, 8, 1]" = getitem(var_mean_3, 1)
    add_9: "f32[2, 8, 8, 1]" = aten.add.Tensor(getitem_6, 1e-06)
    rsqrt_3: "f32[2, 8, 8, 1]" = aten.rsqrt.default(add_9)
    sub_3: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.sub.Tensor(to_copy_8, getitem_7)
    mul_10: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.mul.Tensor(sub_3, rsqrt_3)
    mul_11: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.mul.Tensor(mul_10, convnext_encoder_stages_1_layers_0_layernorm_weight)
    add_10: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.add.Tensor(mul_11, convnext_encoder_stages_1_layers_0_layernorm_bias)
    to_copy_9: "f16[2, 8, 8, 12]{768, 8, 1, 64}" = prims.convert_element_type.default(add_10, torch.float16)
    # [convnext.encoder.stages.1.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_9: "f16[12, 48]{1, 12}" = aten.permute.default(convnext_encoder_stages_1_layers_0_pwconv1_weight, [1, 0])
    clone_1: "f16[2, 8, 8, 12]" = aten.clone.default(to_copy_9, memory_format=torch.contiguous_format)
    view_4: "f16[128, 12]" = aten.view.default(clone_1, [128, 12])
    mm_1: "f16[128, 48]" = aten.mm.default(view_4, permute_9)
    view_5: "f16[2, 8, 8, 48]" = aten.view.default(mm_1, [2, 8, 8, 48])
    add_11: "f16[2, 8, 8, 48]" = aten.add.Tensor(view_5, convnext_encoder_stages_1_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.1.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_10: "f32[2, 8, 8, 48]" = aten._to_copy.default(add_11, dtype=torch.float32)
    mul_12: "f32[2, 8, 8, 48]" = aten.mul.Tensor(to_copy_10, 0.5)
    mul_13: "f32[2, 8, 8, 48]" = aten.mul.Tensor(to_copy_10, 0.7071067811865476)
    erf_1: "f32[2, 8, 8, 48]" = aten.erf.default(mul_13)
    add_12: "f32[2, 8, 8, 48]" = aten.add.Tensor(erf_1, 1)
    mul_14: "f32[2, 8, 8, 48]" = aten.mul.Tensor(mul_12, add_12)
    to_copy_11: "f16[2, 8, 8, 48]" = prims.convert_element_type.default(mul_14, torch.float16)
    # [convnext.encoder.stages.1.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_6: "f16[128, 48]" = aten.view.default(to_copy_11, [128, 48])
    permute_10: "f16[48, 12]{1, 48}" = aten.permute.default(convnext_encoder_stages_1_layers_0_pwconv2_weight, [1, 0])
    addmm_1: "f16[128, 12]" = aten.addmm.default(convnext_encoder_stages_1_layers_0_pwconv2_bias, view_6, permute_10)
    view_7: "f16[2, 8, 8, 12]" = aten.view.default(addmm_1, [2, 8, 8, 12])
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_15: "f16[2, 8, 8, 12]" = aten.mul.Tensor(convnext_encoder_stages_1_layers_0_layer_scale_parameter, view_7)
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_11: "f16[2, 12, 8, 8]{768, 1, 96, 12}" = aten.permute.default(mul_15, [0, 3, 1, 2])
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:153 in forward: features = residual + self.drop_path(features)
    add_13: "f16[2, 12, 8, 8]" = aten.add.Tensor(convolution_2, permute_11)
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_12: "f16[2, 8, 8, 12]{768, 8, 1, 64}" = aten.permute.default(add_13, [0, 2, 3, 1])
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_12: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten._to_copy.default(permute_12, dtype=torch.float32)
    var_mean_4: ("f32[2, 8, 8, 1]", "f32[2, 8, 8, 1]") = aten.var_mean.correction(to_copy_12, [3], correction=0, keepdim=True)
    getitem_8: "f32[2, 8, 8, 1]" = getitem(var_mean_4, 0)
    getitem_9: "f32[2, 8, 8, 1]" = getitem(var_mean_4, 1)
    add_14: "f32[2, 8, 8, 1]" = aten.add.Tensor(getitem_8, 1e-06)
    rsqrt_4: "f32[2, 8, 8, 1]" = aten.rsqrt.default(add_14)
    sub_4: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.sub.Tensor(to_copy_12, getitem_9)
    mul_16: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.mul.Tensor(sub_4, rsqrt_4)
    mul_17: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.mul.Tensor(mul_16, convnext_encoder_stages_2_downsampling_layer_0_weight)
    add_15: "f32[2, 8, 8, 12]{768, 8, 1, 64}" = aten.add.Tensor(mul_17, convnext_encoder_stages_2_downsampling_layer_0_bias)
    to_copy_13: "f16[2, 8, 8, 12]{768, 8, 1, 64}" = prims.convert_element_type.default(add_15, torch.float16)
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_13: "f16[2, 12, 8, 8]" = aten.permute.default(to_copy_13, [0, 3, 1, 2])
    # [convnext.encoder.stages.2.downsampling_layer.1] modeling_convnext.py:187 in forward: features = layer(features)
    convolution_4: "f16[2, 20, 4, 4]" = aten.convolution.default(permute_13, convnext_encoder_stages_2_downsampling_layer_1_weight, convnext_encoder_stages_2_downsampling_layer_1_bias, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)
    # [convnext.encoder.stages.2.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_5: "f16[2, 20, 4, 4]" = aten.convolution.default(convolution_4, convnext_encoder_stages_2_layers_0_dwconv_weight, convnext_encoder_stages_2_layers_0_dwconv_bias, [1, 1], [3, 3], [1, 1], False, [0, 0], 20)
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_14: "f16[2, 4, 4, 20]{320, 4, 1, 16}" = aten.permute.default(convolution_5, [0, 2, 3, 1])
    # [convnext.encoder.stages.2.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_14: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten._to_copy.default(permute_14, dtype=torch.float32)
    var_mean_5: ("f32[2, 4, 4, 1]", "f32[2, 4, 4, 1]") = aten.var_mean.correction(to_copy_14, [3], correction=0, keepdim=True)
    getitem_10: "f32[2, 4, 4, 1]" = getitem(var_mean_5, 0)
    getitem_11: "f32[2, 4, 4, 1]" = getitem(var_mean_5, 1)
    add_16: "f32[2, 4, 4, 1]" = aten.add.Tensor(getitem_10, 1e-06)
    rsqrt_5: "f32[2, 4, 4, 1]" = aten.rsqrt.default(add_16)
    sub_5: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.sub.Tensor(to_copy_14, getitem_11)
    mul_18: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.mul.Tensor(sub_5, rsqrt_5)
    mul_19: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.mul.Tensor(mul_18, convnext_encoder_stages_2_layers_0_layernorm_weight)
    add_17: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.add.Tensor(mul_19, convnext_encoder_stages_2_layers_0_layernorm_bias)
    to_copy_15: "f16[2, 4, 4, 20]{320, 4, 1, 16}" = prims.convert_element_type.default(add_17, torch.float16)
    # [convnext.encoder.stages.2.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_15: "f16[20, 80]{1, 20}" = aten.permute.default(convnext_encoder_stages_2_layers_0_pwconv1_weight, [1, 0])
    clone_2: "f16[2, 4, 4, 20]" = aten.clone.default(to_copy_15, memory_format=torch.contiguous_format)
    view_8: "f16[32, 20]" = aten.view.default(clone_2, [32, 20])
    mm_2: "f16[32, 80]" = aten.mm.default(view_8, permute_15)
    view_9: "f16[2, 4, 4, 80]" = aten.view.default(mm_2, [2, 4, 4, 80])
    add_18: "f16[2, 4, 4, 80]" = aten.add.Tensor(view_9, convnext_encoder_stages_2_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.2.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_16: "f32[2, 4, 4, 80]" = aten._to_copy.default(add_18, dtype=torch.float32)
    mul_20: "f32[2, 4, 4, 80]" = aten.mul.Tensor(to_copy_16, 0.5)
    mul_21: "f32[2, 4, 4, 80]" = aten.mul.Tensor(to_copy_16, 0.7071067811865476)
    erf_2: "f32[2, 4, 4, 80]" = aten.erf.default(mul_21)
    add_19: "f32[2, 4, 4, 80]" = aten.add.Tensor(erf_2, 1)
    mul_22: "f32[2, 4, 4, 80]" = aten.mul.Tensor(mul_20, add_19)
    to_copy_17: "f16[2, 4, 4, 80]" = prims.convert_element_type.default(mul_22, torch.float16)
    # [convnext.encoder.stages.2.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_10: "f16[32, 80]" = aten.view.default(to_copy_17, [32, 80])
    permute_16: "f16[80, 20]{1, 80}" = aten.permute.default(convnext_encoder_stages_2_layers_0_pwconv2_weight, [1, 0])
    addmm_2: "f16[32, 20]" = aten.addmm.default(convnext_encoder_stages_2_layers_0_pwconv2_bias, view_10, permute_16)
    view_11: "f16[2, 4, 4, 20]" = aten.view.default(addmm_2, [2, 4, 4, 20])
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_23: "f16[2, 4, 4, 20]" = aten.mul.Tensor(convnext_encoder_stages_2_layers_0_layer_scale_parameter, view_11)
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_17: "f16[2, 20, 4, 4]{320, 1, 80, 20}" = aten.permute.default(mul_23, [0, 3, 1, 2])
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:153 in forward: features = residual + self.drop_path(features)
    add_20: "f16[2, 20, 4, 4]" = aten.add.Tensor(convolution_4, permute_17)
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_18: "f16[2, 4, 4, 20]{320, 4, 1, 16}" = aten.permute.default(add_20, [0, 2, 3, 1])
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_18: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten._to_copy.default(permute_18, dtype=torch.float32)
    var_mean_6: ("f32[2, 4, 4, 1]", "f32[2, 4, 4, 1]") = aten.var_mean.correction(to_copy_18, [3], correction=0, keepdim=True)
    getitem_12: "f32[2, 4, 4, 1]" = getitem(var_mean_6, 0)
    getitem_13: "f32[2, 4, 4, 1]" = getitem(var_mean_6, 1)
    add_21: "f32[2, 4, 4, 1]" = aten.add.Tensor(getitem_12, 1e-06)
    rsqrt_6: "f32[2, 4, 4, 1]" = aten.rsqrt.default(add_21)
    sub_6: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.sub.Tensor(to_copy_18, getitem_13)
    mul_24: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.mul.Tensor(sub_6, rsqrt_6)
    mul_25: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.mul.Tensor(mul_24, convnext_encoder_stages_3_downsampling_layer_0_weight)
    add_22: "f32[2, 4, 4, 20]{320, 4, 1, 16}" = aten.add.Tensor(mul_25, convnext_encoder_stages_3_downsampling_layer_0_bias)
    to_copy_19: "f16[2, 4, 4, 20]{320, 4, 1, 16}" = prims.convert_element_type.default(add_22, torch.float16)
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_19: "f16[2, 20, 4, 4]" = aten.permute.default(to_copy_19, [0, 3, 1, 2])
    # [convnext.encoder.stages.3.downsampling_layer.1] modeling_convnext.py:187 in forward: features = layer(features)
    convolution_6: "f16[2, 28, 2, 2]" = aten.convolution.default(permute_19, convnext_encoder_stages_3_downsampling_layer_1_weight, convnext_encoder_stages_3_downsampling_layer_1_bias, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)
    # [convnext.encoder.stages.3.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_7: "f16[2, 28, 2, 2]" = aten.convolution.default(convolution_6, convnext_encoder_stages_3_layers_0_dwconv_weight, convnext_encoder_stages_3_layers_0_dwconv_bias, [1, 1], [3, 3], [1, 1], False, [0, 0], 28)
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_20: "f16[2, 2, 2, 28]{112, 2, 1, 4}" = aten.permute.default(convolution_7, [0, 2, 3, 1])
    # [convnext.encoder.stages.3.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_20: "f32[2, 2, 2, 28]{112, 2, 1, 4}" = aten._to_copy.default(permute_20, dtype=torch.float32)
    var_mean_7: ("f32[2, 2, 2, 1]", "f32[2, 2, 2, 1]") = aten.var_mean.correction(to_copy_20, [3], correction=0, keepdim=True)
    getitem_14: "f32[2, 2, 2, 1]" = getitem(var_mean_7, 0)
    getitem_15: "f32[2, 2, 2, 1]" = getitem(var_mean_7, 1)
    add_23: "f32[2, 2, 2, 1]" = aten.add.Tensor(getitem_14, 1e-06)
    rsqrt_7: "f32[2, 2, 2, 1]" = aten.rsqrt.default(add_23)
    sub_7: "f32[2, 2, 2, 28]{112, 2, 1, 4}" = aten.sub.Tensor(to_copy_20, getitem_15)
    mul_26: "f32[2, 2, 2, 28]{112, 2, 1, 4}" = aten.mul.Tensor(sub_7, rsqrt_7)
    mul_27: "f32[2, 2, 2, 28]{112, 2, 1, 4}" = aten.mul.Tensor(mul_26, convnext_encoder_stages_3_layers_0_layernorm_weight)
    add_24: "f32[2, 2, 2, 28]{112, 2, 1, 4}" = aten.add.Tensor(mul_27, convnext_encoder_stages_3_layers_0_layernorm_bias)
    to_copy_21: "f16[2, 2, 2, 28]{112, 2, 1, 4}" = prims.convert_element_type.default(add_24, torch.float16)
    # [convnext.encoder.stages.3.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_21: "f16[28, 112]{1, 28}" = aten.permute.default(convnext_encoder_stages_3_layers_0_pwconv1_weight, [1, 0])
    clone_3: "f16[2, 2, 2, 28]" = aten.clone.default(to_copy_21, memory_format=torch.contiguous_format)
    view_12: "f16[8, 28]" = aten.view.default(clone_3, [8, 28])
    mm_3: "f16[8, 112]" = aten.mm.default(view_12, permute_21)
    view_13: "f16[2, 2, 2, 112]" = aten.view.default(mm_3, [2, 2, 2, 112])
    add_25: "f16[2, 2, 2, 112]" = aten.add.Tensor(view_13, convnext_encoder_stages_3_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.3.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_22: "f32[2, 2, 2, 112]" = aten._to_copy.default(add_25, dtype=torch.float32)
    mul_28: "f32[2, 2, 2, 112]" = aten.mul.Tensor(to_copy_22, 0.5)
    mul_29: "f32[2, 2, 2, 112]" = aten.mul.Tensor(to_copy_22, 0.7071067811865476)
    erf_3: "f32[2, 2, 2, 112]" = aten.erf.default(mul_29)
    add_26: "f32[2, 2, 2, 112]" = aten.add.Tensor(erf_3, 1)
    mul_30: "f32[2, 2, 2, 112]" = aten.mul.Tensor(mul_28, add_26)
    to_copy_23: "f16[2, 2, 2, 112]" = prims.convert_element_type.default(mul_30, torch.float16)
    # [convnext.encoder.stages.3.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_14: "f16[8, 112]" = aten.view.default(to_copy_23, [8, 112])
    permute_22: "f16[112, 28]{1, 112}" = aten.permute.default(convnext_encoder_stages_3_layers_0_pwconv2_weight, [1, 0])
    addmm_3: "f16[8, 28]" = aten.addmm.default(convnext_encoder_stages_3_layers_0_pwconv2_bias, view_14, permute_22)
    view_15: "f16[2, 2, 2, 28]" = aten.view.default(addmm_3, [2, 2, 2, 28])
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_31: "f16[2, 2, 2, 28]" = aten.mul.Tensor(convnext_encoder_stages_3_layers_0_layer_scale_parameter, view_15)
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_23: "f16[2, 28, 2, 2]{112, 1, 56, 28}" = aten.permute.default(mul_31, [0, 3, 1, 2])
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:153 in forward: features = residual + self.drop_path(features)
    add_27: "f16[2, 28, 2, 2]" = aten.add.Tensor(convolution_6, permute_23)
    # [convnext] modeling_convnext.py:278 in forward: pooled_output = self.layernorm(last_hidden_state.mean([-2, -1]))
    mean: "f16[2, 28]" = aten.mean.dim(add_27, [-2, -1])
    # [convnext.layernorm] modeling_convnext.py:278 in forward: pooled_output = self.layernorm(last_hidden_state.mean([-2, -1]))
    to_copy_24: "f32[2, 28]" = aten._to_copy.default(mean, dtype=torch.float32)
    var_mean_8: ("f32[2, 1]", "f32[2, 1]") = aten.var_mean.correction(to_copy_24, [1], correction=0, keepdim=True)
    getitem_16: "f32[2, 1]" = getitem(var_mean_8, 0)
    getitem_17: "f32[2, 1]" = getitem(var_mean_8, 1)
    add_28: "f32[2, 1]" = aten.add.Tensor(getitem_16, 1e-12)
    rsqrt_8: "f32[2, 1]" = aten.rsqrt.default(add_28)
    sub_8: "f32[2, 28]" = aten.sub.Tensor(to_copy_24, getitem_17)
    mul_32: "f32[2, 28]" = aten.mul.Tensor(sub_8, rsqrt_8)
    mul_33: "f32[2, 28]" = aten.mul.Tensor(mul_32, convnext_layernorm_weight)
    add_29: "f32[2, 28]" = aten.add.Tensor(mul_33, convnext_layernorm_bias)
    to_copy_25: "f16[2, 28]" = prims.convert_element_type.default(add_29, torch.float16)
    # [classifier] modeling_convnext.py:318 in forward: logits = self.classifier(pooled_output)
    permute_24: "f16[28, 11]{1, 28}" = aten.permute.default(classifier_weight, [1, 0])
    addmm_4: "f16[2, 11]" = aten.addmm.default(classifier_bias, to_copy_25, permute_24)
    # modeling_convnext.py:322 in forward: loss = self.loss_function(labels=labels, pooled_logits=logits, config=self.config)
    view_16: "f16[2, 11]" = aten.view.default(addmm_4, [-1, 11])
    view_17: "i64[2]" = aten.view.default(labels, [-1])
    to_copy_26: "f32[2, 11]" = aten._to_copy.default(view_16, dtype=torch.float32)
    amax: "f32[2, 1]" = aten.amax.default(to_copy_26, [1], True)
    sub_9: "f32[2, 11]" = aten.sub.Tensor(to_copy_26, amax)
    exp: "f32[2, 11]" = aten.exp.default(sub_9)
    sum: "f32[2, 1]" = aten.sum.dim_IntList(exp, [1], True)
    log: "f32[2, 1]" = aten.log.default(sum)
    sub_10: "f32[2, 11]" = aten.sub.Tensor(sub_9, log)
    to_copy_27: "f16[2, 11]" = prims.convert_element_type.default(sub_10, torch.float16)
    ne: "b8[2]" = aten.ne.Scalar(view_17, -100)
    scalar_tensor: "i64[]" = aten.scalar_tensor.default(0, dtype=torch.int64)
    where: "i64[2]" = aten.where.self(ne, view_17, scalar_tensor)
    unsqueeze: "i64[2, 1]" = aten.unsqueeze.default(where, 1)
    gather: "f16[2, 1]" = aten.gather.default(to_copy_27, 1, unsqueeze)
    squeeze: "f16[2]" = aten.squeeze.dims(gather, [1])
    neg: "f16[2]" = aten.neg.default(squeeze)
    scalar_tensor_1: "f16[]" = aten.scalar_tensor.default(0, dtype=torch.float16)
    where_1: "f16[2]" = aten.where.self(ne, neg, scalar_tensor_1)
    sum_1: "i64[]" = aten.sum.dim_IntList(ne, [0])
    to_copy_28: "f16[]" = aten._to_copy.default(sum_1, dtype=torch.float16)
    sum_2: "f16[]" = aten.sum.dim_IntList(where_1, [0])
    div: "f16[]" = aten.div.Tensor(sum_2, to_copy_28)
    # [classifier] modeling_convnext.py:318 in forward: logits = self.classifier(pooled_output)
    permute_25: "f16[11, 28]" = aten.permute.default(permute_24, [1, 0])
    # [convnext.encoder.stages.3.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    permute_30: "f16[28, 112]" = aten.permute.default(permute_22, [1, 0])
    # [convnext.encoder.stages.3.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_36: "f16[112, 28]" = aten.permute.default(permute_21, [1, 0])
    # [convnext.encoder.stages.2.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    permute_42: "f16[20, 80]" = aten.permute.default(permute_16, [1, 0])
    # [convnext.encoder.stages.2.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_48: "f16[80, 20]" = aten.permute.default(permute_15, [1, 0])
    # [convnext.encoder.stages.1.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    permute_54: "f16[12, 48]" = aten.permute.default(permute_10, [1, 0])
    # [convnext.encoder.stages.1.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_60: "f16[48, 12]" = aten.permute.default(permute_9, [1, 0])
    # [convnext.encoder.stages.0.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    permute_66: "f16[4, 16]" = aten.permute.default(permute_4, [1, 0])
    # [convnext.encoder.stages.0.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    permute_72: "f16[16, 4]" = aten.permute.default(permute_3, [1, 0])
    return (
        div,
        convnext_embeddings_patch_embeddings_weight,
        convnext_embeddings_layernorm_weight,
        convnext_encoder_stages_0_layers_0_layer_scale_parameter,
        convnext_encoder_stages_0_layers_0_dwconv_weight,
        convnext_encoder_stages_0_layers_0_layernorm_weight,
        convnext_encoder_stages_0_layers_0_pwconv1_bias,
        convnext_encoder_stages_1_downsampling_layer_0_weight,
        convnext_encoder_stages_1_downsampling_layer_1_weight,
        convnext_encoder_stages_1_layers_0_layer_scale_parameter,
        convnext_encoder_stages_1_layers_0_dwconv_weight,
        convnext_encoder_stages_1_layers_0_layernorm_weight,
        convnext_encoder_stages_1_layers_0_pwconv1_bias,
        convnext_encoder_stages_2_downsampling_layer_0_weight,
        convnext_encoder_stages_2_downsampling_layer_1_weight,
        convnext_encoder_stages_2_layers_0_layer_scale_parameter,
        convnext_encoder_stages_2_layers_0_dwconv_weight,
        convnext_encoder_stages_2_layers_0_layernorm_weight,
        convnext_encoder_stages_2_layers_0_pwconv1_bias,
        convnext_encoder_stages_3_downsampling_layer_0_weight,
        convnext_encoder_stages_3_downsampling_layer_1_weight,
        convnext_encoder_stages_3_layers_0_layer_scale_parameter,
        convnext_encoder_stages_3_layers_0_dwconv_weight,
        convnext_encoder_stages_3_layers_0_layernorm_weight,
        convnext_encoder_stages_3_layers_0_pwconv1_bias,
        convnext_layernorm_weight,
        pixel_values,
        labels,
        convolution,
        getitem_1,
        rsqrt,
        permute_1,
        convolution_1,
        getitem_3,
        rsqrt_1,
        view,
        mm,
        view_2,
        addmm,
        permute_6,
        getitem_5,
        rsqrt_2,
        permute_7,
        convolution_2,
        convolution_3,
        getitem_7,
        rsqrt_3,
        view_4,
        mm_1,
        view_6,
        addmm_1,
        getitem_9,
        rsqrt_4,
        permute_13,
        convolution_4,
        convolution_5,
        getitem_11,
        rsqrt_5,
        view_8,
        mm_2,
        view_10,
        addmm_2,
        getitem_13,
        rsqrt_6,
        permute_19,
        convolution_6,
        convolution_7,
        getitem_15,
        rsqrt_7,
        view_12,
        mm_3,
        view_14,
        addmm_3,
        mean,
        getitem_17,
        rsqrt_8,
        to_copy_25,
        addmm_4,
        amax,
        log,
        to_copy_28,
        permute_25,
        permute_30,
        permute_36,
        permute_42,
        permute_48,
        permute_54,
        permute_60,
        permute_66,
        permute_72,
    )
