# harness graph 1
# title: ConvNeXt-T, one block of every stage, f16, 32 images of 224
# origin: transformers ConvNextForImageClassification; sizes of facebook/convnext-tiny-224
# captured: transformers:ConvNextForImageClassification?depths=(1, 1, 1, 1)&batch=32&image=224&num_labels=1000
# mode: training
# dtype: f16
# versions: torch 2.13.0, transformers 5.23.0
def convnext_backward(
    convnext_embeddings_patch_embeddings_weight: "f16[96, 3, 4, 4] parameter",
    convnext_embeddings_layernorm_weight: "f16[96] parameter",
    convnext_encoder_stages_0_layers_0_layer_scale_parameter: "f16[96] parameter",
    convnext_encoder_stages_0_layers_0_dwconv_weight: "f16[96, 1, 7, 7] parameter",
    convnext_encoder_stages_0_layers_0_layernorm_weight: "f16[96] parameter",
    convnext_encoder_stages_0_layers_0_pwconv1_bias: "f16[384] parameter",
    convnext_encoder_stages_1_downsampling_layer_0_weight: "f16[96] parameter",
    convnext_encoder_stages_1_downsampling_layer_1_weight: "f16[192, 96, 2, 2] parameter",
    convnext_encoder_stages_1_layers_0_layer_scale_parameter: "f16[192] parameter",
    convnext_encoder_stages_1_layers_0_dwconv_weight: "f16[192, 1, 7, 7] parameter",
    convnext_encoder_stages_1_layers_0_layernorm_weight: "f16[192] parameter",
    convnext_encoder_stages_1_layers_0_pwconv1_bias: "f16[768] parameter",
    convnext_encoder_stages_2_downsampling_layer_0_weight: "f16[192] parameter",
    convnext_encoder_stages_2_downsampling_layer_1_weight: "f16[384, 192, 2, 2] parameter",
    convnext_encoder_stages_2_layers_0_layer_scale_parameter: "f16[384] parameter",
    convnext_encoder_stages_2_layers_0_dwconv_weight: "f16[384, 1, 7, 7] parameter",
    convnext_encoder_stages_2_layers_0_layernorm_weight: "f16[384] parameter",
    convnext_encoder_stages_2_layers_0_pwconv1_bias: "f16[1536] parameter",
    convnext_encoder_stages_3_downsampling_layer_0_weight: "f16[384] parameter",
    convnext_encoder_stages_3_downsampling_layer_1_weight: "f16[768, 384, 2, 2] parameter",
    convnext_encoder_stages_3_layers_0_layer_scale_parameter: "f16[768] parameter",
    convnext_encoder_stages_3_layers_0_dwconv_weight: "f16[768, 1, 7, 7] parameter",
    convnext_encoder_stages_3_layers_0_layernorm_weight: "f16[768] parameter",
    convnext_encoder_stages_3_layers_0_pwconv1_bias: "f16[3072] parameter",
    convnext_layernorm_weight: "f16[768] parameter",
    pixel_values: "f16[32, 3, 224, 224]",
    labels: "i64[32] bound=1000",
    convolution: "f16[32, 96, 56, 56] saved",
    getitem_1: "f32[32, 56, 56, 1] saved",
    rsqrt: "f32[32, 56, 56, 1] saved",
    permute_1: "f16[32, 96, 56, 56] saved",
    convolution_1: "f16[32, 96, 56, 56] saved",
    getitem_3: "f32[32, 56, 56, 1] saved",
    rsqrt_1: "f32[32, 56, 56, 1] saved",
    view: "f16[100352, 96] saved",
    mm: "f16[100352, 384] saved",
    view_2: "f16[100352, 384] saved",
    addmm: "f16[100352, 96] saved",
    permute_6: "f16[32, 56, 56, 96]{301056, 56, 1, 3136} saved",
    getitem_5: "f32[32, 56, 56, 1] saved",
    rsqrt_2: "f32[32, 56, 56, 1] saved",
    permute_7: "f16[32, 96, 56, 56] saved",
    convolution_2: "f16[32, 192, 28, 28] saved",
    convolution_3: "f16[32, 192, 28, 28] saved",
    getitem_7: "f32[32, 28, 28, 1] saved",
    rsqrt_3: "f32[32, 28, 28, 1] saved",
    view_4: "f16[25088, 192] saved",
    mm_1: "f16[25088, 768] saved",
    view_6: "f16[25088, 768] saved",
    addmm_1: "f16[25088, 192] saved",
    getitem_9: "f32[32, 28, 28, 1] saved",
    rsqrt_4: "f32[32, 28, 28, 1] saved",
    permute_13: "f16[32, 192, 28, 28] saved",
    convolution_4: "f16[32, 384, 14, 14] saved",
    convolution_5: "f16[32, 384, 14, 14] saved",
    getitem_11: "f32[32, 14, 14, 1] saved",
    rsqrt_5: "f32[32, 14, 14, 1] saved",
    view_8: "f16[6272, 384] saved",
    mm_2: "f16[6272, 1536] saved",
    view_10: "f16[6272, 1536] saved",
    addmm_2: "f16[6272, 384] saved",
    getitem_13: "f32[32, 14, 14, 1] saved",
    rsqrt_6: "f32[32, 14, 14, 1] saved",
    permute_19: "f16[32, 384, 14, 14] saved",
    convolution_6: "f16[32, 768, 7, 7] saved",
    convolution_7: "f16[32, 768, 7, 7] saved",
    getitem_15: "f32[32, 7, 7, 1] saved",
    rsqrt_7: "f32[32, 7, 7, 1] saved",
    view_12: "f16[1568, 768] saved",
    mm_3: "f16[1568, 3072] saved",
    view_14: "f16[1568, 3072] saved",
    addmm_3: "f16[1568, 768] saved",
    mean: "f16[32, 768] saved",
    getitem_17: "f32[32, 1] saved",
    rsqrt_8: "f32[32, 1] saved",
    to_copy_25: "f16[32, 768] saved",
    addmm_4: "f16[32, 1000] saved",
    amax: "f32[32, 1] saved",
    log: "f32[32, 1] saved",
    to_copy_28: "f16[] saved",
    permute_25: "f16[1000, 768] saved",
    permute_30: "f16[768, 3072] saved",
    permute_36: "f16[3072, 768] saved",
    permute_42: "f16[384, 1536] saved",
    permute_48: "f16[1536, 384] saved",
    permute_54: "f16[192, 768] saved",
    permute_60: "f16[768, 192] saved",
    permute_66: "f16[96, 384] saved",
    permute_72: "f16[384, 96] saved",
    tangent: "f16[] gradient",
):
    # modeling_convnext.py:322 in forward: loss = self.loss_function(labels=labels, pooled_logits=logits, config=self.config)
    div_1: "f16[]" = aten.div.Tensor(tangent, to_copy_28)
    view_17: "i64[32]" = aten.view.default(labels, [-1])
    unsqueeze_1: "i64[32, 1]" = aten.unsqueeze.default(view_17, 1)
    ne_1: "b8[32, 1]" = aten.ne.Scalar(unsqueeze_1, -100)
    scalar_tensor: "i64[]" = aten.scalar_tensor.default(0, dtype=torch.int64)
    where_2: "i64[32, 1]" = aten.where.self(ne_1, unsqueeze_1, scalar_tensor)
    view_16: "f16[32, 1000]" = aten.view.default(addmm_4, [-1, 1000])
    to_copy_26: "f32[32, 1000]" = aten._to_copy.default(view_16, dtype=torch.float32)
    sub_9: "f32[32, 1000]" = aten.sub.Tensor(to_copy_26, amax)
    sub_10: "f32[32, 1000]" = aten.sub.Tensor(sub_9, log)
    to_copy_27: "f16[32, 1000]" = prims.convert_element_type.default(sub_10, torch.float16)
    full_like: "f16[32, 1000]" = aten.full_like.default(to_copy_27, 0, memory_format=torch.preserve_format)
    scatter: "f16[32, 1000]" = aten.scatter.value(full_like, 1, where_2, -1.0)
    scalar_tensor_1: "f16[]" = aten.scalar_tensor.default(0, dtype=torch.float16)
    where_3: "f16[32, 1]" = aten.where.self(ne_1, div_1, scalar_tensor_1)
    mul_34: "f16[32, 1000]" = aten.mul.Tensor(scatter, where_3)
    to_copy_29: "f32[32, 1000]" = aten._to_copy.default(mul_34, dtype=torch.float32)
    to_copy_30: "f32[32, 1000]" = aten._to_copy.default(to_copy_27, dtype=torch.float32)
    exp_1: "f32[32, 1000]" = aten.exp.default(to_copy_30)
    sum_3: "f32[32, 1]" = aten.sum.dim_IntList(to_copy_29, [1], True)
    mul_35: "f32[32, 1000]" = aten.mul.Tensor(exp_1, sum_3)
    sub_11: "f32[32, 1000]" = aten.sub.Tensor(to_copy_29, mul_35)
    to_copy_31: "f16[32, 1000]" = prims.convert_element_type.default(sub_11, torch.float16)
    view_18: "f16[32, 1000]" = aten.view.default(to_copy_31, [32, 1000])
    # [classifier] modeling_convnext.py:318 in forward: logits = self.classifier(pooled_output)
    mm_4: "f16[32, 768]" = aten.mm.default(view_18, permute_25)
    permute_26: "f16[1000, 32]{1, 1000}" = aten.permute.default(view_18, [1, 0])
    mm_5: "f16[1000, 768]" = aten.mm.default(permute_26, to_copy_25)
    permute_27: "f16[768, 1000]{1, 768}" = aten.permute.default(mm_5, [1, 0])
    sum_4: "f16[1, 1000]" = aten.sum.dim_IntList(view_18, [0], True)
    view_19: "f16[1000]" = aten.view.default(sum_4, [1000])
    permute_28: "f16[1000, 768]" = aten.permute.default(permute_27, [1, 0])
    # [convnext.layernorm] modeling_convnext.py:278 in forward: pooled_output = self.layernorm(last_hidden_state.mean([-2, -1]))
    to_copy_32: "f32[32, 768]" = aten._to_copy.default(mm_4, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_33: "f32[32, 768]" = aten._to_copy.default(mean, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_34: "f32[768]" = aten._to_copy.default(convnext_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_12: "f32[32, 768]" = aten.sub.Tensor(to_copy_33, getitem_17)
    mul_36: "f32[32, 768]" = aten.mul.Tensor(sub_12, rsqrt_8)
    mul_37: "f32[32, 768]" = aten.mul.Tensor(to_copy_32, to_copy_34)
    mul_38: "f32[32, 768]" = aten.mul.Tensor(mul_37, 768)
    sum_5: "f32[32, 1]" = aten.sum.dim_IntList(mul_37, [1], True)
    mul_39: "f32[32, 768]" = aten.mul.Tensor(mul_37, mul_36)
    sum_6: "f32[32, 1]" = aten.sum.dim_IntList(mul_39, [1], True)
    mul_40: "f32[32, 768]" = aten.mul.Tensor(mul_36, sum_6)
    sub_13: "f32[32, 768]" = aten.sub.Tensor(mul_38, sum_5)
    sub_14: "f32[32, 768]" = aten.sub.Tensor(sub_13, mul_40)
    div_2: "f32[32, 1]" = aten.div.Tensor(rsqrt_8, 768)
    mul_41: "f32[32, 768]" = aten.mul.Tensor(div_2, sub_14)
    mul_42: "f32[32, 768]" = aten.mul.Tensor(to_copy_32, mul_36)
    sum_7: "f32[768]" = aten.sum.dim_IntList(mul_42, [0])
    sum_8: "f32[768]" = aten.sum.dim_IntList(to_copy_32, [0])
    to_copy_35: "f16[32, 768]" = prims.convert_element_type.default(mul_41, torch.float16)
    to_copy_36: "f16[768]" = prims.convert_element_type.default(sum_7, torch.float16)
    to_copy_37: "f16[768]" = prims.convert_element_type.default(sum_8, torch.float16)
    # [convnext] modeling_convnext.py:278 in forward: pooled_output = self.layernorm(last_hidden_state.mean([-2, -1]))
    unsqueeze_2: "f16[32, 768, 1]" = aten.unsqueeze.default(to_copy_35, 2)
    unsqueeze_3: "f16[32, 768, 1, 1]" = aten.unsqueeze.default(unsqueeze_2, 3)
    expand: "f16[32, 768, 7, 7]{768, 1, 0, 0}" = aten.expand.default(unsqueeze_3, [32, 768, 7, 7])
    div_3: "f16[32, 768, 7, 7]" = aten.div.Scalar(expand, 49)
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_29: "f16[32, 7, 7, 768]{37632, 7, 1, 49}" = aten.permute.default(div_3, [0, 2, 3, 1])
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_43: "f16[32, 7, 7, 768]{37632, 7, 1, 49}" = aten.mul.Tensor(permute_29, convnext_encoder_stages_3_layers_0_layer_scale_parameter)
    # [convnext.encoder.stages.3.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_15: "f16[32, 7, 7, 768]" = aten.view.default(addmm_3, [32, 7, 7, 768])
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_44: "f16[32, 7, 7, 768]{37632, 7, 1, 49}" = aten.mul.Tensor(permute_29, view_15)
    sum_9: "f16[1, 1, 1, 768]" = aten.sum.dim_IntList(mul_44, [0, 1, 2], True)
    view_20: "f16[768]" = aten.view.default(sum_9, [768])
    # [convnext.encoder.stages.3.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    clone_4: "f16[32, 7, 7, 768]" = aten.clone.default(mul_43, memory_format=torch.contiguous_format)
    view_21: "f16[1568, 768]" = aten.view.default(clone_4, [1568, 768])
    mm_6: "f16[1568, 3072]" = aten.mm.default(view_21, permute_30)
    permute_31: "f16[768, 1568]{1, 768}" = aten.permute.default(view_21, [1, 0])
    mm_7: "f16[768, 3072]" = aten.mm.default(permute_31, view_14)
    permute_32: "f16[3072, 768]{1, 3072}" = aten.permute.default(mm_7, [1, 0])
    sum_10: "f16[1, 768]" = aten.sum.dim_IntList(view_21, [0], True)
    view_22: "f16[768]" = aten.view.default(sum_10, [768])
    permute_33: "f16[768, 3072]" = aten.permute.default(permute_32, [1, 0])
    view_23: "f16[32, 7, 7, 3072]" = aten.view.default(mm_6, [32, 7, 7, 3072])
    # [convnext.encoder.stages.3.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_38: "f32[32, 7, 7, 3072]" = aten._to_copy.default(view_23, dtype=torch.float32)
    # [convnext.encoder.stages.3.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    view_13: "f16[32, 7, 7, 3072]" = aten.view.default(mm_3, [32, 7, 7, 3072])
    add_25: "f16[32, 7, 7, 3072]" = aten.add.Tensor(view_13, convnext_encoder_stages_3_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.3.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_22: "f32[32, 7, 7, 3072]" = aten._to_copy.default(add_25, dtype=torch.float32)
    mul_29: "f32[32, 7, 7, 3072]" = aten.mul.Tensor(to_copy_22, 0.7071067811865476)
    erf_3: "f32[32, 7, 7, 3072]" = aten.erf.default(mul_29)
    add_26: "f32[32, 7, 7, 3072]" = aten.add.Tensor(erf_3, 1)
    mul_45: "f32[32, 7, 7, 3072]" = aten.mul.Tensor(add_26, 0.5)
    mul_46: "f32[32, 7, 7, 3072]" = aten.mul.Tensor(to_copy_22, to_copy_22)
    mul_47: "f32[32, 7, 7, 3072]" = aten.mul.Tensor(mul_46, -0.5)
    exp_2: "f32[32, 7, 7, 3072]" = aten.exp.default(mul_47)
    mul_48: "f32[32, 7, 7, 3072]" = aten.mul.Tensor(exp_2, 0.3989422804014327)
    mul_49: "f32[32, 7, 7, 3072]" = aten.mul.Tensor(to_copy_22, mul_48)
    add_30: "f32[32, 7, 7, 3072]" = aten.add.Tensor(mul_45, mul_49)
    mul_50: "f32[32, 7, 7, 3072]" = aten.mul.Tensor(to_copy_38, add_30)
    to_copy_39: "f16[32, 7, 7, 3072]" = prims.convert_element_type.default(mul_50, torch.float16)
    # [convnext.encoder.stages.3.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    sum_11: "f16[1, 1, 1, 3072]" = aten.sum.dim_IntList(to_copy_39, [0, 1, 2], True)
    view_24: "f16[3072]" = aten.view.default(sum_11, [3072])
    view_25: "f16[1568, 3072]" = aten.view.default(to_copy_39, [1568, 3072])
    permute_34: "f16[3072, 1568]{1, 3072}" = aten.permute.default(view_25, [1, 0])
    mm_8: "f16[3072, 768]" = aten.mm.default(permute_34, view_12)
    permute_35: "f16[768, 3072]{1, 768}" = aten.permute.default(mm_8, [1, 0])
    mm_9: "f16[1568, 768]" = aten.mm.default(view_25, permute_36)
    view_26: "f16[32, 7, 7, 768]" = aten.view.default(mm_9, [32, 7, 7, 768])
    permute_37: "f16[3072, 768]" = aten.permute.default(permute_35, [1, 0])
    # [convnext.encoder.stages.3.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_40: "f32[32, 7, 7, 768]" = aten._to_copy.default(view_26, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_20: "f16[32, 7, 7, 768]{37632, 7, 1, 49}" = aten.permute.default(convolution_7, [0, 2, 3, 1])
    # [convnext.encoder.stages.3.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_41: "f32[32, 7, 7, 768]" = aten._to_copy.default(permute_20, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_42: "f32[768]" = aten._to_copy.default(convnext_encoder_stages_3_layers_0_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_15: "f32[32, 7, 7, 768]" = aten.sub.Tensor(to_copy_41, getitem_15)
    mul_51: "f32[32, 7, 7, 768]" = aten.mul.Tensor(sub_15, rsqrt_7)
    mul_52: "f32[32, 7, 7, 768]" = aten.mul.Tensor(to_copy_40, to_copy_42)
    mul_53: "f32[32, 7, 7, 768]" = aten.mul.Tensor(mul_52, 768)
    sum_12: "f32[32, 7, 7, 1]" = aten.sum.dim_IntList(mul_52, [3], True)
    mul_54: "f32[32, 7, 7, 768]" = aten.mul.Tensor(mul_52, mul_51)
    sum_13: "f32[32, 7, 7, 1]" = aten.sum.dim_IntList(mul_54, [3], True)
    mul_55: "f32[32, 7, 7, 768]" = aten.mul.Tensor(mul_51, sum_13)
    sub_16: "f32[32, 7, 7, 768]" = aten.sub.Tensor(mul_53, sum_12)
    sub_17: "f32[32, 7, 7, 768]" = aten.sub.Tensor(sub_16, mul_55)
    div_4: "f32[32, 7, 7, 1]" = aten.div.Tensor(rsqrt_7, 768)
    mul_56: "f32[32, 7, 7, 768]" = aten.mul.Tensor(div_4, sub_17)
    mul_57: "f32[32, 7, 7, 768]" = aten.mul.Tensor(to_copy_40, mul_51)
    sum_14: "f32[768]" = aten.sum.dim_IntList(mul_57, [0, 1, 2])
    sum_15: "f32[768]" = aten.sum.dim_IntList(to_copy_40, [0, 1, 2])
    to_copy_43: "f16[32, 7, 7, 768]" = prims.convert_element_type.default(mul_56, torch.float16)
    to_copy_44: "f16[768]" = prims.convert_element_type.default(sum_14, torch.float16)
    to_copy_45: "f16[768]" = prims.convert_element_type.default(sum_15, torch.float16)
    # [convnext.encoder.stages.3.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_38: "f16[32, 768, 7, 7]{37632, 1, 5376, 768}" = aten.permute.default(to_copy_43, [0, 3, 1, 2])
    # [convnext.encoder.stages.3.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_backward: ("f16[32, 768, 7, 7]", "f16[768, 1, 7, 7]", "f16[768]") = aten.convolution_backward.default(permute_38, convolution_6, convnext_encoder_stages_3_layers_0_dwconv_weight, [768], [1, 1], [3, 3], [1, 1], False, [0, 0], 768, [True, True, True])
    getitem_18: "f16[32, 768, 7, 7]" = getitem(convolution_backward, 0)
    getitem_19: "f16[768, 1, 7, 7]" = getitem(convolution_backward, 1)
    getitem_20: "f16[768]" = getitem(convolution_backward, 2)
    # modeling_convnext.py:144 in forward: features = self.dwconv(features)
    add_31: "f16[32, 768, 7, 7]" = aten.add.Tensor(div_3, getitem_18)
    # [convnext.encoder.stages.3.downsampling_layer.1] modeling_convnext.py:187 in forward: features = layer(features)
    convolution_backward_1: ("f16[32, 384, 14, 14]", "f16[768, 384, 2, 2]", "f16[768]") = aten.convolution_backward.default(add_31, permute_19, convnext_encoder_stages_3_downsampling_layer_1_weight, [768], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    getitem_21: "f16[32, 384, 14, 14]" = getitem(convolution_backward_1, 0)
    getitem_22: "f16[768, 384, 2, 2]" = getitem(convolution_backward_1, 1)
    getitem_23: "f16[768]" = getitem(convolution_backward_1, 2)
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_39: "f16[32, 14, 14, 384]{75264, 14, 1, 196}" = aten.permute.default(getitem_21, [0, 2, 3, 1])
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_46: "f32[32, 14, 14, 384]" = aten._to_copy.default(permute_39, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [convnext.encoder.stages.2.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_11: "f16[32, 14, 14, 384]" = aten.view.default(addmm_2, [32, 14, 14, 384])
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_23: "f16[32, 14, 14, 384]" = aten.mul.Tensor(convnext_encoder_stages_2_layers_0_layer_scale_parameter, view_11)
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_17: "f16[32, 384, 14, 14]{75264, 1, 5376, 384}" = aten.permute.default(mul_23, [0, 3, 1, 2])
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:153 in forward: features = residual + self.drop_path(features)
    add_20: "f16[32, 384, 14, 14]" = aten.add.Tensor(convolution_4, permute_17)
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_18: "f16[32, 14, 14, 384]{75264, 14, 1, 196}" = aten.permute.default(add_20, [0, 2, 3, 1])
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_47: "f32[32, 14, 14, 384]" = aten._to_copy.default(permute_18, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_48: "f32[384]" = aten._to_copy.default(convnext_encoder_stages_3_downsampling_layer_0_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_18: "f32[32, 14, 14, 384]" = aten.sub.Tensor(to_copy_47, getitem_13)
    mul_58: "f32[32, 14, 14, 384]" = aten.mul.Tensor(sub_18, rsqrt_6)
    mul_59: "f32[32, 14, 14, 384]" = aten.mul.Tensor(to_copy_46, to_copy_48)
    mul_60: "f32[32, 14, 14, 384]" = aten.mul.Tensor(mul_59, 384)
    sum_16: "f32[32, 14, 14, 1]" = aten.sum.dim_IntList(mul_59, [3], True)
    mul_61: "f32[32, 14, 14, 384]" = aten.mul.Tensor(mul_59, mul_58)
    sum_17: "f32[32, 14, 14, 1]" = aten.sum.dim_IntList(mul_61, [3], True)
    mul_62: "f32[32, 14, 14, 384]" = aten.mul.Tensor(mul_58, sum_17)
    sub_19: "f32[32, 14, 14, 384]" = aten.sub.Tensor(mul_60, sum_16)
    sub_20: "f32[32, 14, 14, 384]" = aten.sub.Tensor(sub_19, mul_62)
    div_5: "f32[32, 14, 14, 1]" = aten.div.Tensor(rsqrt_6, 384)
    mul_63: "f32[32, 14, 14, 384]" = aten.mul.Tensor(div_5, sub_20)
    mul_64: "f32[32, 14, 14, 384]" = aten.mul.Tensor(to_copy_46, mul_58)
    sum_18: "f32[384]" = aten.sum.dim_IntList(mul_64, [0, 1, 2])
    sum_19: "f32[384]" = aten.sum.dim_IntList(to_copy_46, [0, 1, 2])
    to_copy_49: "f16[32, 14, 14, 384]" = prims.convert_element_type.default(mul_63, torch.float16)
    to_copy_50: "f16[384]" = prims.convert_element_type.default(sum_18, torch.float16)
    to_copy_51: "f16[384]" = prims.convert_element_type.default(sum_19, torch.float16)
    # [convnext.encoder.stages.3.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_40: "f16[32, 384, 14, 14]{75264, 1, 5376, 384}" = aten.permute.default(to_copy_49, [0, 3, 1, 2])
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_41: "f16[32, 14, 14, 384]" = aten.permute.default(permute_40, [0, 2, 3, 1])
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_65: "f16[32, 14, 14, 384]" = aten.mul.Tensor(permute_41, convnext_encoder_stages_2_layers_0_layer_scale_parameter)
    mul_66: "f16[32, 14, 14, 384]" = aten.mul.Tensor(permute_41, view_11)
    sum_20: "f16[1, 1, 1, 384]" = aten.sum.dim_IntList(mul_66, [0, 1, 2], True)
    view_27: "f16[384]" = aten.view.default(sum_20, [384])
    # [convnext.encoder.stages.2.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_28: "f16[6272, 384]" = aten.view.default(mul_65, [6272, 384])
    mm_10: "f16[6272, 1536]" = aten.mm.default(view_28, permute_42)
    permute_43: "f16[384, 6272]{1, 384}" = aten.permute.default(view_28, [1, 0])
    mm_11: "f16[384, 1536]" = aten.mm.default(permute_43, view_10)
    permute_44: "f16[1536, 384]{1, 1536}" = aten.permute.default(mm_11, [1, 0])
    sum_21: "f16[1, 384]" = aten.sum.dim_IntList(view_28, [0], True)
    view_29: "f16[384]" = aten.view.default(sum_21, [384])
    permute_45: "f16[384, 1536]" = aten.permute.default(permute_44, [1, 0])
    view_30: "f16[32, 14, 14, 1536]" = aten.view.default(mm_10, [32, 14, 14, 1536])
    # [convnext.encoder.stages.2.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_52: "f32[32, 14, 14, 1536]" = aten._to_copy.default(view_30, dtype=torch.float32)
    # [convnext.encoder.stages.2.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    view_9: "f16[32, 14, 14, 1536]" = aten.view.default(mm_2, [32, 14, 14, 1536])
    add_18: "f16[32, 14, 14, 1536]" = aten.add.Tensor(view_9, convnext_encoder_stages_2_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.2.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_16: "f32[32, 14, 14, 1536]" = aten._to_copy.default(add_18, dtype=torch.float32)
    mul_21: "f32[32, 14, 14, 1536]" = aten.mul.Tensor(to_copy_16, 0.7071067811865476)
    erf_2: "f32[32, 14, 14, 1536]" = aten.erf.default(mul_21)
    add_19: "f32[32, 14, 14, 1536]" = aten.add.Tensor(erf_2, 1)
    mul_67: "f32[32, 14, 14, 1536]" = aten.mul.Tensor(add_19, 0.5)
    mul_68: "f32[32, 14, 14, 1536]" = aten.mul.Tensor(to_copy_16, to_copy_16)
    mul_69: "f32[32, 14, 14, 1536]" = aten.mul.Tensor(mul_68, -0.5)
    exp_3: "f32[32, 14, 14, 1536]" = aten.exp.default(mul_69)
    mul_70: "f32[32, 14, 14, 1536]" = aten.mul.Tensor(exp_3, 0.3989422804014327)
    mul_71: "f32[32, 14, 14, 1536]" = aten.mul.Tensor(to_copy_16, mul_70)
    add_32: "f32[32, 14, 14, 1536]" = aten.add.Tensor(mul_67, mul_71)
    mul_72: "f32[32, 14, 14, 1536]" = aten.mul.Tensor(to_copy_52, add_32)
    to_copy_53: "f16[32, 14, 14, 1536]" = prims.convert_element_type.default(mul_72, torch.float16)
    # [convnext.encoder.stages.2.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    sum_22: "f16[1, 1, 1, 1536]" = aten.sum.dim_IntList(to_copy_53, [0, 1, 2], True)
    view_31: "f16[1536]" = aten.view.default(sum_22, [1536])
    view_32: "f16[6272, 1536]" = aten.view.default(to_copy_53, [6272, 1536])
    permute_46: "f16[1536, 6272]{1, 1536}" = aten.permute.default(view_32, [1, 0])
    mm_12: "f16[1536, 384]" = aten.mm.default(permute_46, view_8)
    permute_47: "f16[384, 1536]{1, 384}" = aten.permute.default(mm_12, [1, 0])
    mm_13: "f16[6272, 384]" = aten.mm.default(view_32, permute_48)
    view_33: "f16[32, 14, 14, 384]" = aten.view.default(mm_13, [32, 14, 14, 384])
    permute_49: "f16[1536, 384]" = aten.permute.default(permute_47, [1, 0])
    # [convnext.encoder.stages.2.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_54: "f32[32, 14, 14, 384]" = aten._to_copy.default(view_33, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_14: "f16[32, 14, 14, 384]{75264, 14, 1, 196}" = aten.permute.default(convolution_5, [0, 2, 3, 1])
    # [convnext.encoder.stages.2.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_55: "f32[32, 14, 14, 384]" = aten._to_copy.default(permute_14, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_56: "f32[384]" = aten._to_copy.default(convnext_encoder_stages_2_layers_0_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_21: "f32[32, 14, 14, 384]" = aten.sub.Tensor(to_copy_55, getitem_11)
    mul_73: "f32[32, 14, 14, 384]" = aten.mul.Tensor(sub_21, rsqrt_5)
    mul_74: "f32[32, 14, 14, 384]" = aten.mul.Tensor(to_copy_54, to_copy_56)
    mul_75: "f32[32, 14, 14, 384]" = aten.mul.Tensor(mul_74, 384)
    sum_23: "f32[32, 14, 14, 1]" = aten.sum.dim_IntList(mul_74, [3], True)
    mul_76: "f32[32, 14, 14, 384]" = aten.mul.Tensor(mul_74, mul_73)
    sum_24: "f32[32, 14, 14, 1]" = aten.sum.dim_IntList(mul_76, [3], True)
    mul_77: "f32[32, 14, 14, 384]" = aten.mul.Tensor(mul_73, sum_24)
    sub_22: "f32[32, 14, 14, 384]" = aten.sub.Tensor(mul_75, sum_23)
    sub_23: "f32[32, 14, 14, 384]" = aten.sub.Tensor(sub_22, mul_77)
    div_6: "f32[32, 14, 14, 1]" = aten.div.Tensor(rsqrt_5, 384)
    mul_78: "f32[32, 14, 14, 384]" = aten.mul.Tensor(div_6, sub_23)
    mul_79: "f32[32, 14, 14, 384]" = aten.mul.Tensor(to_copy_54, mul_73)
    sum_25: "f32[384]" = aten.sum.dim_IntList(mul_79, [0, 1, 2])
    sum_26: "f32[384]" = aten.sum.dim_IntList(to_copy_54, [0, 1, 2])
    to_copy_57: "f16[32, 14, 14, 384]" = prims.convert_element_type.default(mul_78, torch.float16)
    to_copy_58: "f16[384]" = prims.convert_element_type.default(sum_25, torch.float16)
    to_copy_59: "f16[384]" = prims.convert_element_type.default(sum_26, torch.float16)
    # [convnext.encoder.stages.2.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_50: "f16[32, 384, 14, 14]{75264, 1, 5376, 384}" = aten.permute.default(to_copy_57, [0, 3, 1, 2])
    # [convnext.encoder.stages.2.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_backward_2: ("f16[32, 384, 14, 14]", "f16[384, 1, 7, 7]", "f16[384]") = aten.convolution_backward.default(permute_50, convolution_4, convnext_encoder_stages_2_layers_0_dwconv_weight, [384], [1, 1], [3, 3], [1, 1], False, [0, 0], 384, [True, True, True])
    getitem_24: "f16[32, 384, 14, 14]" = getitem(convolution_backward_2, 0)
    getitem_25: "f16[384, 1, 7, 7]" = getitem(convolution_backward_2, 1)
    getitem_26: "f16[384]" = getitem(convolution_backward_2, 2)
    # modeling_convnext.py:144 in forward: features = self.dwconv(features)
    add_33: "f16[32, 384, 14, 14]{75264, 1, 5376, 384}" = aten.add.Tensor(permute_40, getitem_24)
    # [convnext.encoder.stages.2.downsampling_layer.1] modeling_convnext.py:187 in forward: features = layer(features)
    convolution_backward_3: ("f16[32, 192, 28, 28]", "f16[384, 192, 2, 2]", "f16[384]") = aten.convolution_backward.default(add_33, permute_13, convnext_encoder_stages_2_downsampling_layer_1_weight, [384], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    getitem_27: "f16[32, 192, 28, 28]" = getitem(convolution_backward_3, 0)
    getitem_28: "f16[384, 192, 2, 2]" = getitem(convolution_backward_3, 1)
    getitem_29: "f16[384]" = getitem(convolution_backward_3, 2)
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_51: "f16[32, 28, 28, 192]{150528, 28, 1, 784}" = aten.permute.default(getitem_27, [0, 2, 3, 1])
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_60: "f32[32, 28, 28, 192]" = aten._to_copy.default(permute_51, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [convnext.encoder.stages.1.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_7: "f16[32, 28, 28, 192]" = aten.view.default(addmm_1, [32, 28, 28, 192])
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_15: "f16[32, 28, 28, 192]" = aten.mul.Tensor(convnext_encoder_stages_1_layers_0_layer_scale_parameter, view_7)
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_11: "f16[32, 192, 28, 28]{150528, 1, 5376, 192}" = aten.permute.default(mul_15, [0, 3, 1, 2])
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:153 in forward: features = residual + self.drop_path(features)
    add_13: "f16[32, 192, 28, 28]" = aten.add.Tensor(convolution_2, permute_11)
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_12: "f16[32, 28, 28, 192]{150528, 28, 1, 784}" = aten.permute.default(add_13, [0, 2, 3, 1])
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_61: "f32[32, 28, 28, 192]" = aten._to_copy.default(permute_12, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_62: "f32[192]" = aten._to_copy.default(convnext_encoder_stages_2_downsampling_layer_0_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_24: "f32[32, 28, 28, 192]" = aten.sub.Tensor(to_copy_61, getitem_9)
    mul_80: "f32[32, 28, 28, 192]" = aten.mul.Tensor(sub_24, rsqrt_4)
    mul_81: "f32[32, 28, 28, 192]" = aten.mul.Tensor(to_copy_60, to_copy_62)
    mul_82: "f32[32, 28, 28, 192]" = aten.mul.Tensor(mul_81, 192)
    sum_27: "f32[32, 28, 28, 1]" = aten.sum.dim_IntList(mul_81, [3], True)
    mul_83: "f32[32, 28, 28, 192]" = aten.mul.Tensor(mul_81, mul_80)
    sum_28: "f32[32, 28, 28, 1]" = aten.sum.dim_IntList(mul_83, [3], True)
    mul_84: "f32[32, 28, 28, 192]" = aten.mul.Tensor(mul_80, sum_28)
    sub_25: "f32[32, 28, 28, 192]" = aten.sub.Tensor(mul_82, sum_27)
    sub_26: "f32[32, 28, 28, 192]" = aten.sub.Tensor(sub_25, mul_84)
    div_7: "f32[32, 28, 28, 1]" = aten.div.Tensor(rsqrt_4, 192)
    mul_85: "f32[32, 28, 28, 192]" = aten.mul.Tensor(div_7, sub_26)
    mul_86: "f32[32, 28, 28, 192]" = aten.mul.Tensor(to_copy_60, mul_80)
    sum_29: "f32[192]" = aten.sum.dim_IntList(mul_86, [0, 1, 2])
    sum_30: "f32[192]" = aten.sum.dim_IntList(to_copy_60, [0, 1, 2])
    to_copy_63: "f16[32, 28, 28, 192]" = prims.convert_element_type.default(mul_85, torch.float16)
    to_copy_64: "f16[192]" = prims.convert_element_type.default(sum_29, torch.float16)
    to_copy_65: "f16[192]" = prims.convert_element_type.default(sum_30, torch.float16)
    # [convnext.encoder.stages.2.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_52: "f16[32, 192, 28, 28]{150528, 1, 5376, 192}" = aten.permute.default(to_copy_63, [0, 3, 1, 2])
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_53: "f16[32, 28, 28, 192]" = aten.permute.default(permute_52, [0, 2, 3, 1])
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_87: "f16[32, 28, 28, 192]" = aten.mul.Tensor(permute_53, convnext_encoder_stages_1_layers_0_layer_scale_parameter)
    mul_88: "f16[32, 28, 28, 192]" = aten.mul.Tensor(permute_53, view_7)
    sum_31: "f16[1, 1, 1, 192]" = aten.sum.dim_IntList(mul_88, [0, 1, 2], True)
    view_34: "f16[192]" = aten.view.default(sum_31, [192])
    # [convnext.encoder.stages.1.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_35: "f16[25088, 192]" = aten.view.default(mul_87, [25088, 192])
    mm_14: "f16[25088, 768]" = aten.mm.default(view_35, permute_54)
    permute_55: "f16[192, 25088]{1, 192}" = aten.permute.default(view_35, [1, 0])
    mm_15: "f16[192, 768]" = aten.mm.default(permute_55, view_6)
    permute_56: "f16[768, 192]{1, 768}" = aten.permute.default(mm_15, [1, 0])
    sum_32: "f16[1, 192]" = aten.sum.dim_IntList(view_35, [0], True)
    view_36: "f16[192]" = aten.view.default(sum_32, [192])
    permute_57: "f16[192, 768]" = aten.permute.default(permute_56, [1, 0])
    view_37: "f16[32, 28, 28, 768]" = aten.view.default(mm_14, [32, 28, 28, 768])
    # [convnext.encoder.stages.1.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_66: "f32[32, 28, 28, 768]" = aten._to_copy.default(view_37, dtype=torch.float32)
    # [convnext.encoder.stages.1.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    view_5: "f16[32, 28, 28, 768]" = aten.view.default(mm_1, [32, 28, 28, 768])
    add_11: "f16[32, 28, 28, 768]" = aten.add.Tensor(view_5, convnext_encoder_stages_1_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.1.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_10: "f32[32, 28, 28, 768]" = aten._to_copy.default(add_11, dtype=torch.float32)
    mul_13: "f32[32, 28, 28, 768]" = aten.mul.Tensor(to_copy_10, 0.7071067811865476)
    erf_1: "f32[32, 28, 28, 768]" = aten.erf.default(mul_13)
    add_12: "f32[32, 28, 28, 768]" = aten.add.Tensor(erf_1, 1)
    mul_89: "f32[32, 28, 28, 768]" = aten.mul.Tensor(add_12, 0.5)
    mul_90: "f32[32, 28, 28, 768]" = aten.mul.Tensor(to_copy_10, to_copy_10)
    mul_91: "f32[32, 28, 28, 768]" = aten.mul.Tensor(mul_90, -0.5)
    exp_4: "f32[32, 28, 28, 768]" = aten.exp.default(mul_91)
    mul_92: "f32[32, 28, 28, 768]" = aten.mul.Tensor(exp_4, 0.3989422804014327)
    mul_93: "f32[32, 28, 28, 768]" = aten.mul.Tensor(to_copy_10, mul_92)
    add_34: "f32[32, 28, 28, 768]" = aten.add.Tensor(mul_89, mul_93)
    mul_94: "f32[32, 28, 28, 768]" = aten.mul.Tensor(to_copy_66, add_34)
    to_copy_67: "f16[32, 28, 28, 768]" = prims.convert_element_type.default(mul_94, torch.float16)
    # [convnext.encoder.stages.1.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    sum_33: "f16[1, 1, 1, 768]" = aten.sum.dim_IntList(to_copy_67, [0, 1, 2], True)
    view_38: "f16[768]" = aten.view.default(sum_33, [768])
    view_39: "f16[25088, 768]" = aten.view.default(to_copy_67, [25088, 768])
    permute_58: "f16[768, 25088]{1, 768}" = aten.permute.default(view_39, [1, 0])
    mm_16: "f16[768, 192]" = aten.mm.default(permute_58, view_4)
    permute_59: "f16[192, 768]{1, 192}" = aten.permute.default(mm_16, [1, 0])
    mm_17: "f16[25088, 192]" = aten.mm.default(view_39, permute_60)
    view_40: "f16[32, 28, 28, 192]" = aten.view.default(mm_17, [32, 28, 28, 192])
    permute_61: "f16[768, 192]" = aten.permute.default(permute_59, [1, 0])
    # [convnext.encoder.stages.1.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_68: "f32[32, 28, 28, 192]" = aten._to_copy.default(view_40, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_8: "f16[32, 28, 28, 192]{150528, 28, 1, 784}" = aten.permute.default(convolution_3, [0, 2, 3, 1])
    # [convnext.encoder.stages.1.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_69: "f32[32, 28, 28, 192]" = aten._to_copy.default(permute_8, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_70: "f32[192]" = aten._to_copy.default(convnext_encoder_stages_1_layers_0_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_27: "f32[32, 28, 28, 192]" = aten.sub.Tensor(to_copy_69, getitem_7)
    mul_95: "f32[32, 28, 28, 192]" = aten.mul.Tensor(sub_27, rsqrt_3)
    mul_96: "f32[32, 28, 28, 192]" = aten.mul.Tensor(to_copy_68, to_copy_70)
    mul_97: "f32[32, 28, 28, 192]" = aten.mul.Tensor(mul_96, 192)
    sum_34: "f32[32, 28, 28, 1]" = aten.sum.dim_IntList(mul_96, [3], True)
    mul_98: "f32[32, 28, 28, 192]" = aten.mul.Tensor(mul_96, mul_95)
    sum_35: "f32[32, 28, 28, 1]" = aten.sum.dim_IntList(mul_98, [3], True)
    mul_99: "f32[32, 28, 28, 192]" = aten.mul.Tensor(mul_95, sum_35)
    sub_28: "f32[32, 28, 28, 192]" = aten.sub.Tensor(mul_97, sum_34)
    sub_29: "f32[32, 28, 28, 192]" = aten.sub.Tensor(sub_28, mul_99)
    div_8: "f32[32, 28, 28, 1]" = aten.div.Tensor(rsqrt_3, 192)
    mul_100: "f32[32, 28, 28, 192]" = aten.mul.Tensor(div_8, sub_29)
    mul_101: "f32[32, 28, 28, 192]" = aten.mul.Tensor(to_copy_68, mul_95)
    sum_36: "f32[192]" = aten.sum.dim_IntList(mul_101, [0, 1, 2])
    sum_37: "f32[192]" = aten.sum.dim_IntList(to_copy_68, [0, 1, 2])
    to_copy_71: "f16[32, 28, 28, 192]" = prims.convert_element_type.default(mul_100, torch.float16)
    to_copy_72: "f16[192]" = prims.convert_element_type.default(sum_36, torch.float16)
    to_copy_73: "f16[192]" = prims.convert_element_type.default(sum_37, torch.float16)
    # [convnext.encoder.stages.1.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_62: "f16[32, 192, 28, 28]{150528, 1, 5376, 192}" = aten.permute.default(to_copy_71, [0, 3, 1, 2])
    # [convnext.encoder.stages.1.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_backward_4: ("f16[32, 192, 28, 28]", "f16[192, 1, 7, 7]", "f16[192]") = aten.convolution_backward.default(permute_62, convolution_2, convnext_encoder_stages_1_layers_0_dwconv_weight, [192], [1, 1], [3, 3], [1, 1], False, [0, 0], 192, [True, True, True])
    getitem_30: "f16[32, 192, 28, 28]" = getitem(convolution_backward_4, 0)
    getitem_31: "f16[192, 1, 7, 7]" = getitem(convolution_backward_4, 1)
    getitem_32: "f16[192]" = getitem(convolution_backward_4, 2)
    # modeling_convnext.py:144 in forward: features = self.dwconv(features)
    add_35: "f16[32, 192, 28, 28]{150528, 1, 5376, 192}" = aten.add.Tensor(permute_52, getitem_30)
    # [convnext.encoder.stages.1.downsampling_layer.1] modeling_convnext.py:187 in forward: features = layer(features)
    convolution_backward_5: ("f16[32, 96, 56, 56]", "f16[192, 96, 2, 2]", "f16[192]") = aten.convolution_backward.default(add_35, permute_7, convnext_encoder_stages_1_downsampling_layer_1_weight, [192], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    getitem_33: "f16[32, 96, 56, 56]" = getitem(convolution_backward_5, 0)
    getitem_34: "f16[192, 96, 2, 2]" = getitem(convolution_backward_5, 1)
    getitem_35: "f16[192]" = getitem(convolution_backward_5, 2)
    # [convnext.encoder.stages.1.downsampling_layer.0] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_63: "f16[32, 56, 56, 96]{301056, 56, 1, 3136}" = aten.permute.default(getitem_33, [0, 2, 3, 1])
    # [convnext.encoder.stages.1.downsampling_layer.0] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_74: "f32[32, 56, 56, 96]" = aten._to_copy.default(permute_63, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_75: "f32[32, 56, 56, 96]" = aten._to_copy.default(permute_6, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_76: "f32[96]" = aten._to_copy.default(convnext_encoder_stages_1_downsampling_layer_0_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_30: "f32[32, 56, 56, 96]" = aten.sub.Tensor(to_copy_75, getitem_5)
    mul_102: "f32[32, 56, 56, 96]" = aten.mul.Tensor(sub_30, rsqrt_2)
    mul_103: "f32[32, 56, 56, 96]" = aten.mul.Tensor(to_copy_74, to_copy_76)
    mul_104: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_103, 96)
    sum_38: "f32[32, 56, 56, 1]" = aten.sum.dim_IntList(mul_103, [3], True)
    mul_105: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_103, mul_102)
    sum_39: "f32[32, 56, 56, 1]" = aten.sum.dim_IntList(mul_105, [3], True)
    mul_106: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_102, sum_39)
    sub_31: "f32[32, 56, 56, 96]" = aten.sub.Tensor(mul_104, sum_38)
    sub_32: "f32[32, 56, 56, 96]" = aten.sub.Tensor(sub_31, mul_106)
    div_9: "f32[32, 56, 56, 1]" = aten.div.Tensor(rsqrt_2, 96)
    mul_107: "f32[32, 56, 56, 96]" = aten.mul.Tensor(div_9, sub_32)
    mul_108: "f32[32, 56, 56, 96]" = aten.mul.Tensor(to_copy_74, mul_102)
    sum_40: "f32[96]" = aten.sum.dim_IntList(mul_108, [0, 1, 2])
    sum_41: "f32[96]" = aten.sum.dim_IntList(to_copy_74, [0, 1, 2])
    to_copy_77: "f16[32, 56, 56, 96]" = prims.convert_element_type.default(mul_107, torch.float16)
    to_copy_78: "f16[96]" = prims.convert_element_type.default(sum_40, torch.float16)
    to_copy_79: "f16[96]" = prims.convert_element_type.default(sum_41, torch.float16)
    # [convnext.encoder.stages.1.downsampling_layer.0] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_64: "f16[32, 96, 56, 56]{301056, 1, 5376, 96}" = aten.permute.default(to_copy_77, [0, 3, 1, 2])
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:152 in forward: features = features.permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
    permute_65: "f16[32, 56, 56, 96]" = aten.permute.default(permute_64, [0, 2, 3, 1])
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_109: "f16[32, 56, 56, 96]" = aten.mul.Tensor(permute_65, convnext_encoder_stages_0_layers_0_layer_scale_parameter)
    # [convnext.encoder.stages.0.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_3: "f16[32, 56, 56, 96]" = aten.view.default(addmm, [32, 56, 56, 96])
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:151 in forward: features = self.layer_scale_parameter * features
    mul_110: "f16[32, 56, 56, 96]" = aten.mul.Tensor(permute_65, view_3)
    sum_42: "f16[1, 1, 1, 96]" = aten.sum.dim_IntList(mul_110, [0, 1, 2], True)
    view_41: "f16[96]" = aten.view.default(sum_42, [96])
    # [convnext.encoder.stages.0.layers.0.pwconv2] modeling_convnext.py:149 in forward: features = self.pwconv2(features)
    view_42: "f16[100352, 96]" = aten.view.default(mul_109, [100352, 96])
    mm_18: "f16[100352, 384]" = aten.mm.default(view_42, permute_66)
    permute_67: "f16[96, 100352]{1, 96}" = aten.permute.default(view_42, [1, 0])
    mm_19: "f16[96, 384]" = aten.mm.default(permute_67, view_2)
    permute_68: "f16[384, 96]{1, 384}" = aten.permute.default(mm_19, [1, 0])
    sum_43: "f16[1, 96]" = aten.sum.dim_IntList(view_42, [0], True)
    view_43: "f16[96]" = aten.view.default(sum_43, [96])
    permute_69: "f16[96, 384]" = aten.permute.default(permute_68, [1, 0])
    view_44: "f16[32, 56, 56, 384]" = aten.view.default(mm_18, [32, 56, 56, 384])
    # [convnext.encoder.stages.0.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_80: "f32[32, 56, 56, 384]" = aten._to_copy.default(view_44, dtype=torch.float32)
    # [convnext.encoder.stages.0.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    view_1: "f16[32, 56, 56, 384]" = aten.view.default(mm, [32, 56, 56, 384])
    add_4: "f16[32, 56, 56, 384]" = aten.add.Tensor(view_1, convnext_encoder_stages_0_layers_0_pwconv1_bias)
    # [convnext.encoder.stages.0.layers.0.act] activations.py:89 in forward: return self.act(input)
    to_copy_4: "f32[32, 56, 56, 384]" = aten._to_copy.default(add_4, dtype=torch.float32)
    mul_5: "f32[32, 56, 56, 384]" = aten.mul.Tensor(to_copy_4, 0.7071067811865476)
    erf: "f32[32, 56, 56, 384]" = aten.erf.default(mul_5)
    add_5: "f32[32, 56, 56, 384]" = aten.add.Tensor(erf, 1)
    mul_111: "f32[32, 56, 56, 384]" = aten.mul.Tensor(add_5, 0.5)
    mul_112: "f32[32, 56, 56, 384]" = aten.mul.Tensor(to_copy_4, to_copy_4)
    mul_113: "f32[32, 56, 56, 384]" = aten.mul.Tensor(mul_112, -0.5)
    exp_5: "f32[32, 56, 56, 384]" = aten.exp.default(mul_113)
    mul_114: "f32[32, 56, 56, 384]" = aten.mul.Tensor(exp_5, 0.3989422804014327)
    mul_115: "f32[32, 56, 56, 384]" = aten.mul.Tensor(to_copy_4, mul_114)
    add_36: "f32[32, 56, 56, 384]" = aten.add.Tensor(mul_111, mul_115)
    mul_116: "f32[32, 56, 56, 384]" = aten.mul.Tensor(to_copy_80, add_36)
    to_copy_81: "f16[32, 56, 56, 384]" = prims.convert_element_type.default(mul_116, torch.float16)
    # [convnext.encoder.stages.0.layers.0.pwconv1] modeling_convnext.py:147 in forward: features = self.pwconv1(features)
    sum_44: "f16[1, 1, 1, 384]" = aten.sum.dim_IntList(to_copy_81, [0, 1, 2], True)
    view_45: "f16[384]" = aten.view.default(sum_44, [384])
    view_46: "f16[100352, 384]" = aten.view.default(to_copy_81, [100352, 384])
    permute_70: "f16[384, 100352]{1, 384}" = aten.permute.default(view_46, [1, 0])
    mm_20: "f16[384, 96]" = aten.mm.default(permute_70, view)
    permute_71: "f16[96, 384]{1, 96}" = aten.permute.default(mm_20, [1, 0])
    mm_21: "f16[100352, 96]" = aten.mm.default(view_46, permute_72)
    view_47: "f16[32, 56, 56, 96]" = aten.view.default(mm_21, [32, 56, 56, 96])
    permute_73: "f16[384, 96]" = aten.permute.default(permute_71, [1, 0])
    # [convnext.encoder.stages.0.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_82: "f32[32, 56, 56, 96]" = aten._to_copy.default(view_47, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_2: "f16[32, 56, 56, 96]{301056, 56, 1, 3136}" = aten.permute.default(convolution_1, [0, 2, 3, 1])
    # [convnext.encoder.stages.0.layers.0.layernorm] modeling_convnext.py:61 in forward: features = super().forward(features)
    to_copy_83: "f32[32, 56, 56, 96]" = aten._to_copy.default(permute_2, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_84: "f32[96]" = aten._to_copy.default(convnext_encoder_stages_0_layers_0_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_33: "f32[32, 56, 56, 96]" = aten.sub.Tensor(to_copy_83, getitem_3)
    mul_117: "f32[32, 56, 56, 96]" = aten.mul.Tensor(sub_33, rsqrt_1)
    mul_118: "f32[32, 56, 56, 96]" = aten.mul.Tensor(to_copy_82, to_copy_84)
    mul_119: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_118, 96)
    sum_45: "f32[32, 56, 56, 1]" = aten.sum.dim_IntList(mul_118, [3], True)
    mul_120: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_118, mul_117)
    sum_46: "f32[32, 56, 56, 1]" = aten.sum.dim_IntList(mul_120, [3], True)
    mul_121: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_117, sum_46)
    sub_34: "f32[32, 56, 56, 96]" = aten.sub.Tensor(mul_119, sum_45)
    sub_35: "f32[32, 56, 56, 96]" = aten.sub.Tensor(sub_34, mul_121)
    div_10: "f32[32, 56, 56, 1]" = aten.div.Tensor(rsqrt_1, 96)
    mul_122: "f32[32, 56, 56, 96]" = aten.mul.Tensor(div_10, sub_35)
    mul_123: "f32[32, 56, 56, 96]" = aten.mul.Tensor(to_copy_82, mul_117)
    sum_47: "f32[96]" = aten.sum.dim_IntList(mul_123, [0, 1, 2])
    sum_48: "f32[96]" = aten.sum.dim_IntList(to_copy_82, [0, 1, 2])
    to_copy_85: "f16[32, 56, 56, 96]" = prims.convert_element_type.default(mul_122, torch.float16)
    to_copy_86: "f16[96]" = prims.convert_element_type.default(sum_47, torch.float16)
    to_copy_87: "f16[96]" = prims.convert_element_type.default(sum_48, torch.float16)
    # [convnext.encoder.stages.0.layers.0] modeling_convnext.py:145 in forward: features = features.permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
    permute_74: "f16[32, 96, 56, 56]{301056, 1, 5376, 96}" = aten.permute.default(to_copy_85, [0, 3, 1, 2])
    # [convnext.encoder.stages.0.layers.0.dwconv] modeling_convnext.py:144 in forward: features = self.dwconv(features)
    convolution_backward_6: ("f16[32, 96, 56, 56]", "f16[96, 1, 7, 7]", "f16[96]") = aten.convolution_backward.default(permute_74, permute_1, convnext_encoder_stages_0_layers_0_dwconv_weight, [96], [1, 1], [3, 3], [1, 1], False, [0, 0], 96, [True, True, True])
    getitem_36: "f16[32, 96, 56, 56]" = getitem(convolution_backward_6, 0)
    getitem_37: "f16[96, 1, 7, 7]" = getitem(convolution_backward_6, 1)
    getitem_38: "f16[96]" = getitem(convolution_backward_6, 2)
    # modeling_convnext.py:144 in forward: features = self.dwconv(features)
    add_37: "f16[32, 96, 56, 56]{301056, 1, 5376, 96}" = aten.add.Tensor(permute_64, getitem_36)
    # [convnext.embeddings.layernorm] modeling_convnext.py:59 in forward: features = features.permute(0, 3, 1, 2)
    permute_75: "f16[32, 56, 56, 96]" = aten.permute.default(add_37, [0, 2, 3, 1])
    # [convnext.embeddings.layernorm] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_88: "f32[32, 56, 56, 96]" = aten._to_copy.default(permute_75, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [convnext.embeddings.layernorm] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute: "f16[32, 56, 56, 96]{301056, 56, 1, 3136}" = aten.permute.default(convolution, [0, 2, 3, 1])
    # [convnext.embeddings.layernorm] modeling_convnext.py:58 in forward: features = super().forward(features)
    to_copy_89: "f32[32, 56, 56, 96]" = aten._to_copy.default(permute, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_90: "f32[96]" = aten._to_copy.default(convnext_embeddings_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_36: "f32[32, 56, 56, 96]" = aten.sub.Tensor(to_copy_89, getitem_1)
    mul_124: "f32[32, 56, 56, 96]" = aten.mul.Tensor(sub_36, rsqrt)
    mul_125: "f32[32, 56, 56, 96]" = aten.mul.Tensor(to_copy_88, to_copy_90)
    mul_126: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_125, 96)
    sum_49: "f32[32, 56, 56, 1]" = aten.sum.dim_IntList(mul_125, [3], True)
    mul_127: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_125, mul_124)
    sum_50: "f32[32, 56, 56, 1]" = aten.sum.dim_IntList(mul_127, [3], True)
    mul_128: "f32[32, 56, 56, 96]" = aten.mul.Tensor(mul_124, sum_50)
    sub_37: "f32[32, 56, 56, 96]" = aten.sub.Tensor(mul_126, sum_49)
    sub_38: "f32[32, 56, 56, 96]" = aten.sub.Tensor(sub_37, mul_128)
    div_11: "f32[32, 56, 56, 1]" = aten.div.Tensor(rsqrt, 96)
    mul_129: "f32[32, 56, 56, 96]" = aten.mul.Tensor(div_11, sub_38)
    mul_130: "f32[32, 56, 56, 96]" = aten.mul.Tensor(to_copy_88, mul_124)
    sum_51: "f32[96]" = aten.sum.dim_IntList(mul_130, [0, 1, 2])
    sum_52: "f32[96]" = aten.sum.dim_IntList(to_copy_88, [0, 1, 2])
    to_copy_91: "f16[32, 56, 56, 96]" = prims.convert_element_type.default(mul_129, torch.float16)
    to_copy_92: "f16[96]" = prims.convert_element_type.default(sum_51, torch.float16)
    to_copy_93: "f16[96]" = prims.convert_element_type.default(sum_52, torch.float16)
    # [convnext.embeddings.layernorm] modeling_convnext.py:57 in forward: features = features.permute(0, 2, 3, 1)
    permute_76: "f16[32, 96, 56, 56]{301056, 1, 5376, 96}" = aten.permute.default(to_copy_91, [0, 3, 1, 2])
    # [convnext.embeddings.patch_embeddings] modeling_convnext.py:84 in forward: embeddings = self.patch_embeddings(pixel_values)
    convolution_backward_7: (None, "f16[96, 3, 4, 4]", "f16[96]") = aten.convolution_backward.default(permute_76, pixel_values, convnext_embeddings_patch_embeddings_weight, [96], [4, 4], [0, 0], [1, 1], False, [0, 0], 1, [False, True, True])
    getitem_39: "f16[96, 3, 4, 4]" = getitem(convolution_backward_7, 1)
    getitem_40: "f16[96]" = getitem(convolution_backward_7, 2)
    return (
        getitem_39,
        getitem_40,
        to_copy_92,
        to_copy_93,
        view_41,
        getitem_37,
        getitem_38,
        to_copy_86,
        to_copy_87,
        permute_73,
        view_45,
        permute_69,
        view_43,
        to_copy_78,
        to_copy_79,
        getitem_34,
        getitem_35,
        view_34,
        getitem_31,
        getitem_32,
        to_copy_72,
        to_copy_73,
        permute_61,
        view_38,
        permute_57,
        view_36,
        to_copy_64,
        to_copy_65,
        getitem_28,
        getitem_29,
        view_27,
        getitem_25,
        getitem_26,
        to_copy_58,
        to_copy_59,
        permute_49,
        view_31,
        permute_45,
        view_29,
        to_copy_50,
        to_copy_51,
        getitem_22,
        getitem_23,
        view_20,
        getitem_19,
        getitem_20,
        to_copy_44,
        to_copy_45,
        permute_37,
        view_24,
        permute_33,
        view_22,
        to_copy_36,
        to_copy_37,
        permute_28,
        view_19,
        None,
        None,
    )
