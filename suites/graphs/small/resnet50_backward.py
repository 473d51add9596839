# harness graph 1
# title: ResNet-50, two blocks of every stage, f32, 32 images of 224
# origin: transformers ResNetForImageClassification; sizes of microsoft/resnet-50
# sizes: small
# captured: transformers:ResNetForImageClassification?depths=(2, 2, 2, 2)&batch=2&image=36&embedding_size=8&hidden_sizes=(16, 24, 32, 40)&num_labels=11
# mode: training
# dtype: f32
# versions: torch 2.13.0, transformers 5.23.0
def resnet50_backward(
    resnet_embedder_embedder_convolution_weight: "f32[8, 3, 7, 7] parameter",
    resnet_embedder_embedder_normalization_weight: "f32[8] parameter",
    resnet_encoder_stages_0_layers_0_shortcut_convolution_weight: "f32[16, 8, 1, 1] parameter",
    resnet_encoder_stages_0_layers_0_shortcut_normalization_weight: "f32[16] parameter",
    resnet_encoder_stages_0_layers_0_layer_0_convolution_weight: "f32[4, 8, 1, 1] parameter",
    resnet_encoder_stages_0_layers_0_layer_0_normalization_weight: "f32[4] parameter",
    resnet_encoder_stages_0_layers_0_layer_1_convolution_weight: "f32[4, 4, 3, 3] parameter",
    resnet_encoder_stages_0_layers_0_layer_1_normalization_weight: "f32[4] parameter",
    resnet_encoder_stages_0_layers_0_layer_2_convolution_weight: "f32[16, 4, 1, 1] parameter",
    resnet_encoder_stages_0_layers_0_layer_2_normalization_weight: "f32[16] parameter",
    resnet_encoder_stages_0_layers_1_layer_0_convolution_weight: "f32[4, 16, 1, 1] parameter",
    resnet_encoder_stages_0_layers_1_layer_0_normalization_weight: "f32[4] parameter",
    resnet_encoder_stages_0_layers_1_layer_1_convolution_weight: "f32[4, 4, 3, 3] parameter",
    resnet_encoder_stages_0_layers_1_layer_1_normalization_weight: "f32[4] parameter",
    resnet_encoder_stages_0_layers_1_layer_2_convolution_weight: "f32[16, 4, 1, 1] parameter",
    resnet_encoder_stages_0_layers_1_layer_2_normalization_weight: "f32[16] parameter",
    resnet_encoder_stages_1_layers_0_shortcut_convolution_weight: "f32[24, 16, 1, 1] parameter",
    resnet_encoder_stages_1_layers_0_shortcut_normalization_weight: "f32[24] parameter",
    resnet_encoder_stages_1_layers_0_layer_0_convolution_weight: "f32[6, 16, 1, 1] parameter",
    resnet_encoder_stages_1_layers_0_layer_0_normalization_weight: "f32[6] parameter",
    resnet_encoder_stages_1_layers_0_layer_1_convolution_weight: "f32[6, 6, 3, 3] parameter",
    resnet_encoder_stages_1_layers_0_layer_1_normalization_weight: "f32[6] parameter",
    resnet_encoder_stages_1_layers_0_layer_2_convolution_weight: "f32[24, 6, 1, 1] parameter",
    resnet_encoder_stages_1_layers_0_layer_2_normalization_weight: "f32[24] parameter",
    resnet_encoder_stages_1_layers_1_layer_0_convolution_weight: "f32[6, 24, 1, 1] parameter",
    resnet_encoder_stages_1_layers_1_layer_0_normalization_weight: "f32[6] parameter",
    resnet_encoder_stages_1_layers_1_layer_1_convolution_weight: "f32[6, 6, 3, 3] parameter",
    resnet_encoder_stages_1_layers_1_layer_1_normalization_weight: "f32[6] parameter",
    resnet_encoder_stages_1_layers_1_layer_2_convolution_weight: "f32[24, 6, 1, 1] parameter",
    resnet_encoder_stages_1_layers_1_layer_2_normalization_weight: "f32[24] parameter",
    resnet_encoder_stages_2_layers_0_shortcut_convolution_weight: "f32[32, 24, 1, 1] parameter",
    resnet_encoder_stages_2_layers_0_shortcut_normalization_weight: "f32[32] parameter",
    resnet_encoder_stages_2_layers_0_layer_0_convolution_weight: "f32[8, 24, 1, 1] parameter",
    resnet_encoder_stages_2_layers_0_layer_0_normalization_weight: "f32[8] parameter",
    resnet_encoder_stages_2_layers_0_layer_1_convolution_weight: "f32[8, 8, 3, 3] parameter",
    resnet_encoder_stages_2_layers_0_layer_1_normalization_weight: "f32[8] parameter",
    resnet_encoder_stages_2_layers_0_layer_2_convolution_weight: "f32[32, 8, 1, 1] parameter",
    resnet_encoder_stages_2_layers_0_layer_2_normalization_weight: "f32[32] parameter",
    resnet_encoder_stages_2_layers_1_layer_0_convolution_weight: "f32[8, 32, 1, 1] parameter",
    resnet_encoder_stages_2_layers_1_layer_0_normalization_weight: "f32[8] parameter",
    resnet_encoder_stages_2_layers_1_layer_1_convolution_weight: "f32[8, 8, 3, 3] parameter",
    resnet_encoder_stages_2_layers_1_layer_1_normalization_weight: "f32[8] parameter",
    resnet_encoder_stages_2_layers_1_layer_2_convolution_weight: "f32[32, 8, 1, 1] parameter",
    resnet_encoder_stages_2_layers_1_layer_2_normalization_weight: "f32[32] parameter",
    resnet_encoder_stages_3_layers_0_shortcut_convolution_weight: "f32[40, 32, 1, 1] parameter",
    resnet_encoder_stages_3_layers_0_shortcut_normalization_weight: "f32[40] parameter",
    resnet_encoder_stages_3_layers_0_layer_0_convolution_weight: "f32[10, 32, 1, 1] parameter",
    resnet_encoder_stages_3_layers_0_layer_0_normalization_weight: "f32[10] parameter",
    resnet_encoder_stages_3_layers_0_layer_1_convolution_weight: "f32[10, 10, 3, 3] parameter",
    resnet_encoder_stages_3_layers_0_layer_1_normalization_weight: "f32[10] parameter",
    resnet_encoder_stages_3_layers_0_layer_2_convolution_weight: "f32[40, 10, 1, 1] parameter",
    resnet_encoder_stages_3_layers_0_layer_2_normalization_weight: "f32[40] parameter",
    resnet_encoder_stages_3_layers_1_layer_0_convolution_weight: "f32[10, 40, 1, 1] parameter",
    resnet_encoder_stages_3_layers_1_layer_0_normalization_weight: "f32[10] parameter",
    resnet_encoder_stages_3_layers_1_layer_1_convolution_weight: "f32[10, 10, 3, 3] parameter",
    resnet_encoder_stages_3_layers_1_layer_1_normalization_weight: "f32[10] parameter",
    resnet_encoder_stages_3_layers_1_layer_2_convolution_weight: "f32[40, 10, 1, 1] parameter",
    resnet_encoder_stages_3_layers_1_layer_2_normalization_weight: "f32[40] parameter",
    pixel_values: "f32[2, 3, 36, 36]",
    labels: "i64[2] bound=11",
    convolution: "f32[2, 8, 18, 18] saved",
    squeeze_1: "f32[8] saved",
    relu: "f32[2, 8, 18, 18] saved",
    getitem_2: "f32[2, 8, 9, 9] saved",
    getitem_3: "i64[2, 8, 9, 9] saved",
    convolution_1: "f32[2, 4, 9, 9] saved",
    squeeze_4: "f32[4] saved",
    relu_1: "f32[2, 4, 9, 9] saved",
    convolution_2: "f32[2, 4, 9, 9] saved",
    squeeze_7: "f32[4] saved",
    relu_2: "f32[2, 4, 9, 9] saved",
    convolution_3: "f32[2, 16, 9, 9] saved",
    squeeze_10: "f32[16] saved",
    convolution_4: "f32[2, 16, 9, 9] saved",
    squeeze_13: "f32[16] saved",
    relu_3: "f32[2, 16, 9, 9] saved",
    convolution_5: "f32[2, 4, 9, 9] saved",
    squeeze_16: "f32[4] saved",
    relu_4: "f32[2, 4, 9, 9] saved",
    convolution_6: "f32[2, 4, 9, 9] saved",
    squeeze_19: "f32[4] saved",
    relu_5: "f32[2, 4, 9, 9] saved",
    convolution_7: "f32[2, 16, 9, 9] saved",
    squeeze_22: "f32[16] saved",
    relu_6: "f32[2, 16, 9, 9] saved",
    convolution_8: "f32[2, 6, 9, 9] saved",
    squeeze_25: "f32[6] saved",
    relu_7: "f32[2, 6, 9, 9] saved",
    convolution_9: "f32[2, 6, 5, 5] saved",
    squeeze_28: "f32[6] saved",
    relu_8: "f32[2, 6, 5, 5] saved",
    convolution_10: "f32[2, 24, 5, 5] saved",
    squeeze_31: "f32[24] saved",
    convolution_11: "f32[2, 24, 5, 5] saved",
    squeeze_34: "f32[24] saved",
    relu_9: "f32[2, 24, 5, 5] saved",
    convolution_12: "f32[2, 6, 5, 5] saved",
    squeeze_37: "f32[6] saved",
    relu_10: "f32[2, 6, 5, 5] saved",
    convolution_13: "f32[2, 6, 5, 5] saved",
    squeeze_40: "f32[6] saved",
    relu_11: "f32[2, 6, 5, 5] saved",
    convolution_14: "f32[2, 24, 5, 5] saved",
    squeeze_43: "f32[24] saved",
    relu_12: "f32[2, 24, 5, 5] saved",
    convolution_15: "f32[2, 8, 5, 5] saved",
    squeeze_46: "f32[8] saved",
    relu_13: "f32[2, 8, 5, 5] saved",
    convolution_16: "f32[2, 8, 3, 3] saved",
    squeeze_49: "f32[8] saved",
    relu_14: "f32[2, 8, 3, 3] saved",
    convolution_17: "f32[2, 32, 3, 3] saved",
    squeeze_52: "f32[32] saved",
    convolution_18: "f32[2, 32, 3, 3] saved",
    squeeze_55: "f32[32] saved",
    relu_15: "f32[2, 32, 3, 3] saved",
    convolution_19: "f32[2, 8, 3, 3] saved",
    squeeze_58: "f32[8] saved",
    relu_16: "f32[2, 8, 3, 3] saved",
    convolution_20: "f32[2, 8, 3, 3] saved",
    squeeze_61: "f32[8] saved",
    relu_17: "f32[2, 8, 3, 3] saved",
    convolution_21: "f32[2, 32, 3, 3] saved",
    squeeze_64: "f32[32] saved",
    relu_18: "f32[2, 32, 3, 3] saved",
    convolution_22: "f32[2, 10, 3, 3] saved",
    squeeze_67: "f32[10] saved",
    relu_19: "f32[2, 10, 3, 3] saved",
    convolution_23: "f32[2, 10, 2, 2] saved",
    squeeze_70: "f32[10] saved",
    relu_20: "f32[2, 10, 2, 2] saved",
    convolution_24: "f32[2, 40, 2, 2] saved",
    squeeze_73: "f32[40] saved",
    convolution_25: "f32[2, 40, 2, 2] saved",
    squeeze_76: "f32[40] saved",
    relu_21: "f32[2, 40, 2, 2] saved",
    convolution_26: "f32[2, 10, 2, 2] saved",
    squeeze_79: "f32[10] saved",
    relu_22: "f32[2, 10, 2, 2] saved",
    convolution_27: "f32[2, 10, 2, 2] saved",
    squeeze_82: "f32[10] saved",
    relu_23: "f32[2, 10, 2, 2] saved",
    convolution_28: "f32[2, 40, 2, 2] saved",
    squeeze_85: "f32[40] saved",
    view: "f32[2, 40] saved",
    addmm: "f32[2, 11] saved",
    amax: "f32[2, 1] saved",
    log: "f32[2, 1] saved",
    to_copy: "f32[] saved",
    permute_1: "f32[11, 40] saved",
    le: "b8[2, 40, 2, 2] saved",
    unsqueeze_120: "f32[1, 40, 1, 1] saved",
    unsqueeze_132: "f32[1, 10, 1, 1] saved",
    unsqueeze_144: "f32[1, 10, 1, 1] saved",
    unsqueeze_156: "f32[1, 40, 1, 1] saved",
    unsqueeze_168: "f32[1, 40, 1, 1] saved",
    unsqueeze_177: "f32[1, 10, 1, 1] saved",
    unsqueeze_189: "f32[1, 10, 1, 1] saved",
    unsqueeze_201: "f32[1, 32, 1, 1] saved",
    unsqueeze_213: "f32[1, 8, 1, 1] saved",
    unsqueeze_225: "f32[1, 8, 1, 1] saved",
    unsqueeze_237: "f32[1, 32, 1, 1] saved",
    unsqueeze_249: "f32[1, 32, 1, 1] saved",
    unsqueeze_258: "f32[1, 8, 1, 1] saved",
    unsqueeze_270: "f32[1, 8, 1, 1] saved",
    unsqueeze_282: "f32[1, 24, 1, 1] saved",
    unsqueeze_294: "f32[1, 6, 1, 1] saved",
    unsqueeze_306: "f32[1, 6, 1, 1] saved",
    unsqueeze_318: "f32[1, 24, 1, 1] saved",
    unsqueeze_330: "f32[1, 24, 1, 1] saved",
    unsqueeze_339: "f32[1, 6, 1, 1] saved",
    unsqueeze_351: "f32[1, 6, 1, 1] saved",
    unsqueeze_363: "f32[1, 16, 1, 1] saved",
    unsqueeze_375: "f32[1, 4, 1, 1] saved",
    unsqueeze_387: "f32[1, 4, 1, 1] saved",
    unsqueeze_399: "f32[1, 16, 1, 1] saved",
    unsqueeze_411: "f32[1, 16, 1, 1] saved",
    unsqueeze_420: "f32[1, 4, 1, 1] saved",
    unsqueeze_432: "f32[1, 4, 1, 1] saved",
    unsqueeze_444: "f32[1, 8, 1, 1] saved",
    tangent: "f32[] gradient",
):
    # modeling_resnet.py:378 in forward: loss = self.loss_function(labels, logits, self.config)
    div_1: "f32[]" = aten.div.Tensor(tangent, to_copy)
    view_2: "i64[2]" = aten.view.default(labels, [-1])
    unsqueeze_117: "i64[2, 1]" = aten.unsqueeze.default(view_2, 1)
    ne_1: "b8[2, 1]" = aten.ne.Scalar(unsqueeze_117, -100)
    scalar_tensor: "i64[]" = aten.scalar_tensor.default(0, dtype=torch.int64)
    where_2: "i64[2, 1]" = aten.where.self(ne_1, unsqueeze_117, scalar_tensor)
    view_1: "f32[2, 11]" = aten.view.default(addmm, [-1, 11])
    sub_29: "f32[2, 11]" = aten.sub.Tensor(view_1, amax)
    sub_30: "f32[2, 11]" = aten.sub.Tensor(sub_29, log)
    full_like: "f32[2, 11]" = aten.full_like.default(sub_30, 0, memory_format=torch.preserve_format)
    scatter: "f32[2, 11]" = aten.scatter.value(full_like, 1, where_2, -1.0)
    scalar_tensor_1: "f32[]" = aten.scalar_tensor.default(0, dtype=torch.float32)
    where_3: "f32[2, 1]" = aten.where.self(ne_1, div_1, scalar_tensor_1)
    mul_203: "f32[2, 11]" = aten.mul.Tensor(scatter, where_3)
    exp_1: "f32[2, 11]" = aten.exp.default(sub_30)
    sum_3: "f32[2, 1]" = aten.sum.dim_IntList(mul_203, [1], True)
    mul_204: "f32[2, 11]" = aten.mul.Tensor(exp_1, sum_3)
    sub_31: "f32[2, 11]" = aten.sub.Tensor(mul_203, mul_204)
    view_3: "f32[2, 11]" = aten.view.default(sub_31, [2, 11])
    # [classifier.1] modeling_resnet.py:373 in forward: logits = self.classifier(pooled_output)
    mm: "f32[2, 40]" = aten.mm.default(view_3, permute_1)
    permute_2: "f32[11, 2]{1, 11}" = aten.permute.default(view_3, [1, 0])
    mm_1: "f32[11, 40]" = aten.mm.default(permute_2, view)
    permute_3: "f32[40, 11]{1, 40}" = aten.permute.default(mm_1, [1, 0])
    sum_4: "f32[1, 11]" = aten.sum.dim_IntList(view_3, [0], True)
    view_4: "f32[11]" = aten.view.default(sum_4, [11])
    permute_4: "f32[11, 40]" = aten.permute.default(permute_3, [1, 0])
    # [classifier.0] modeling_resnet.py:373 in forward: logits = self.classifier(pooled_output)
    view_5: "f32[2, 40, 1, 1]" = aten.view.default(mm, [2, 40, 1, 1])
    # [resnet.pooler] modeling_resnet.py:322 in forward: pooled_output = self.pooler(last_hidden_state)
    expand: "f32[2, 40, 2, 2]{40, 1, 0, 0}" = aten.expand.default(view_5, [2, 40, 2, 2])
    div_2: "f32[2, 40, 2, 2]" = aten.div.Scalar(expand, 4)
    # [resnet.encoder.stages.3.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    where_4: "f32[2, 40, 2, 2]" = aten.where.self(le, scalar_tensor_1, div_2)
    # [resnet.encoder.stages.3.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_5: "f32[40]" = aten.sum.dim_IntList(where_4, [0, 2, 3])
    sub_32: "f32[2, 40, 2, 2]" = aten.sub.Tensor(convolution_28, unsqueeze_120)
    mul_205: "f32[2, 40, 2, 2]" = aten.mul.Tensor(where_4, sub_32)
    sum_6: "f32[40]" = aten.sum.dim_IntList(mul_205, [0, 2, 3])
    mul_206: "f32[40]" = aten.mul.Tensor(sum_5, 0.125)
    unsqueeze_121: "f32[1, 40]" = aten.unsqueeze.default(mul_206, 0)
    unsqueeze_122: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_121, 2)
    unsqueeze_123: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_122, 3)
    mul_207: "f32[40]" = aten.mul.Tensor(sum_6, 0.125)
    mul_208: "f32[40]" = aten.mul.Tensor(squeeze_85, squeeze_85)
    mul_209: "f32[40]" = aten.mul.Tensor(mul_207, mul_208)
    unsqueeze_124: "f32[1, 40]" = aten.unsqueeze.default(mul_209, 0)
    unsqueeze_125: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_124, 2)
    unsqueeze_126: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_125, 3)
    mul_210: "f32[40]" = aten.mul.Tensor(squeeze_85, resnet_encoder_stages_3_layers_1_layer_2_normalization_weight)
    unsqueeze_127: "f32[1, 40]" = aten.unsqueeze.default(mul_210, 0)
    unsqueeze_128: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_127, 2)
    unsqueeze_129: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_128, 3)
    mul_211: "f32[2, 40, 2, 2]" = aten.mul.Tensor(sub_32, unsqueeze_126)
    sub_33: "f32[2, 40, 2, 2]" = aten.sub.Tensor(where_4, mul_211)
    sub_34: "f32[2, 40, 2, 2]" = aten.sub.Tensor(sub_33, unsqueeze_123)
    mul_212: "f32[2, 40, 2, 2]" = aten.mul.Tensor(sub_34, unsqueeze_129)
    mul_213: "f32[40]" = aten.mul.Tensor(sum_6, squeeze_85)
    # [resnet.encoder.stages.3.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward: ("f32[2, 10, 2, 2]", "f32[40, 10, 1, 1]", None) = aten.convolution_backward.default(mul_212, relu_23, resnet_encoder_stages_3_layers_1_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_60: "f32[2, 10, 2, 2]" = getitem(convolution_backward, 0)
    getitem_61: "f32[40, 10, 1, 1]" = getitem(convolution_backward, 1)
    # [resnet.encoder.stages.3.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_1: "b8[2, 10, 2, 2]" = aten.le.Scalar(relu_23, 0)
    where_5: "f32[2, 10, 2, 2]" = aten.where.self(le_1, scalar_tensor_1, getitem_60)
    # [resnet.encoder.stages.3.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_7: "f32[10]" = aten.sum.dim_IntList(where_5, [0, 2, 3])
    sub_35: "f32[2, 10, 2, 2]" = aten.sub.Tensor(convolution_27, unsqueeze_132)
    mul_214: "f32[2, 10, 2, 2]" = aten.mul.Tensor(where_5, sub_35)
    sum_8: "f32[10]" = aten.sum.dim_IntList(mul_214, [0, 2, 3])
    mul_215: "f32[10]" = aten.mul.Tensor(sum_7, 0.125)
    unsqueeze_133: "f32[1, 10]" = aten.unsqueeze.default(mul_215, 0)
    unsqueeze_134: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_133, 2)
    unsqueeze_135: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_134, 3)
    mul_216: "f32[10]" = aten.mul.Tensor(sum_8, 0.125)
    mul_217: "f32[10]" = aten.mul.Tensor(squeeze_82, squeeze_82)
    mul_218: "f32[10]" = aten.mul.Tensor(mul_216, mul_217)
    unsqueeze_136: "f32[1, 10]" = aten.unsqueeze.default(mul_218, 0)
    unsqueeze_137: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_136, 2)
    unsqueeze_138: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_137, 3)
    mul_219: "f32[10]" = aten.mul.Tensor(squeeze_82, resnet_encoder_stages_3_layers_1_layer_1_normalization_weight)
    unsqueeze_139: "f32[1, 10]" = aten.unsqueeze.default(mul_219, 0)
    unsqueeze_140: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_139, 2)
    unsqueeze_141: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_140, 3)
    mul_220: "f32[2, 10, 2, 2]" = aten.mul.Tensor(sub_35, unsqueeze_138)
    sub_36: "f32[2, 10, 2, 2]" = aten.sub.Tensor(where_5, mul_220)
    sub_37: "f32[2, 10, 2, 2]" = aten.sub.Tensor(sub_36, unsqueeze_135)
    mul_221: "f32[2, 10, 2, 2]" = aten.mul.Tensor(sub_37, unsqueeze_141)
    mul_222: "f32[10]" = aten.mul.Tensor(sum_8, squeeze_82)
    # [resnet.encoder.stages.3.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_1: ("f32[2, 10, 2, 2]", "f32[10, 10, 3, 3]", None) = aten.convolution_backward.default(mul_221, relu_22, resnet_encoder_stages_3_layers_1_layer_1_convolution_weight, [0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_62: "f32[2, 10, 2, 2]" = getitem(convolution_backward_1, 0)
    getitem_63: "f32[10, 10, 3, 3]" = getitem(convolution_backward_1, 1)
    # [resnet.encoder.stages.3.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_2: "b8[2, 10, 2, 2]" = aten.le.Scalar(relu_22, 0)
    where_6: "f32[2, 10, 2, 2]" = aten.where.self(le_2, scalar_tensor_1, getitem_62)
    # [resnet.encoder.stages.3.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_9: "f32[10]" = aten.sum.dim_IntList(where_6, [0, 2, 3])
    sub_38: "f32[2, 10, 2, 2]" = aten.sub.Tensor(convolution_26, unsqueeze_144)
    mul_223: "f32[2, 10, 2, 2]" = aten.mul.Tensor(where_6, sub_38)
    sum_10: "f32[10]" = aten.sum.dim_IntList(mul_223, [0, 2, 3])
    mul_224: "f32[10]" = aten.mul.Tensor(sum_9, 0.125)
    unsqueeze_145: "f32[1, 10]" = aten.unsqueeze.default(mul_224, 0)
    unsqueeze_146: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_145, 2)
    unsqueeze_147: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_146, 3)
    mul_225: "f32[10]" = aten.mul.Tensor(sum_10, 0.125)
    mul_226: "f32[10]" = aten.mul.Tensor(squeeze_79, squeeze_79)
    mul_227: "f32[10]" = aten.mul.Tensor(mul_225, mul_226)
    unsqueeze_148: "f32[1, 10]" = aten.unsqueeze.default(mul_227, 0)
    unsqueeze_149: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_148, 2)
    unsqueeze_150: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_149, 3)
    mul_228: "f32[10]" = aten.mul.Tensor(squeeze_79, resnet_encoder_stages_3_layers_1_layer_0_normalization_weight)
    unsqueeze_151: "f32[1, 10]" = aten.unsqueeze.default(mul_228, 0)
    unsqueeze_152: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_151, 2)
    unsqueeze_153: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_152, 3)
    mul_229: "f32[2, 10, 2, 2]" = aten.mul.Tensor(sub_38, unsqueeze_150)
    sub_39: "f32[2, 10, 2, 2]" = aten.sub.Tensor(where_6, mul_229)
    sub_40: "f32[2, 10, 2, 2]" = aten.sub.Tensor(sub_39, unsqueeze_147)
    mul_230: "f32[2, 10, 2, 2]" = aten.mul.Tensor(sub_40, unsqueeze_153)
    mul_231: "f32[10]" = aten.mul.Tensor(sum_10, squeeze_79)
    # [resnet.encoder.stages.3.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_2: ("f32[2, 40, 2, 2]", "f32[10, 40, 1, 1]", None) = aten.convolution_backward.default(mul_230, relu_21, resnet_encoder_stages_3_layers_1_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_64: "f32[2, 40, 2, 2]" = getitem(convolution_backward_2, 0)
    getitem_65: "f32[10, 40, 1, 1]" = getitem(convolution_backward_2, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_153: "f32[2, 40, 2, 2]" = aten.add.Tensor(where_4, getitem_64)
    # [resnet.encoder.stages.3.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le_3: "b8[2, 40, 2, 2]" = aten.le.Scalar(relu_21, 0)
    where_7: "f32[2, 40, 2, 2]" = aten.where.self(le_3, scalar_tensor_1, add_153)
    # [resnet.encoder.stages.3.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    sum_11: "f32[40]" = aten.sum.dim_IntList(where_7, [0, 2, 3])
    sub_41: "f32[2, 40, 2, 2]" = aten.sub.Tensor(convolution_25, unsqueeze_156)
    mul_232: "f32[2, 40, 2, 2]" = aten.mul.Tensor(where_7, sub_41)
    sum_12: "f32[40]" = aten.sum.dim_IntList(mul_232, [0, 2, 3])
    mul_233: "f32[40]" = aten.mul.Tensor(sum_11, 0.125)
    unsqueeze_157: "f32[1, 40]" = aten.unsqueeze.default(mul_233, 0)
    unsqueeze_158: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_157, 2)
    unsqueeze_159: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_158, 3)
    mul_234: "f32[40]" = aten.mul.Tensor(sum_12, 0.125)
    mul_235: "f32[40]" = aten.mul.Tensor(squeeze_76, squeeze_76)
    mul_236: "f32[40]" = aten.mul.Tensor(mul_234, mul_235)
    unsqueeze_160: "f32[1, 40]" = aten.unsqueeze.default(mul_236, 0)
    unsqueeze_161: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_160, 2)
    unsqueeze_162: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_161, 3)
    mul_237: "f32[40]" = aten.mul.Tensor(squeeze_76, resnet_encoder_stages_3_layers_0_shortcut_normalization_weight)
    unsqueeze_163: "f32[1, 40]" = aten.unsqueeze.default(mul_237, 0)
    unsqueeze_164: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_163, 2)
    unsqueeze_165: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_164, 3)
    mul_238: "f32[2, 40, 2, 2]" = aten.mul.Tensor(sub_41, unsqueeze_162)
    sub_42: "f32[2, 40, 2, 2]" = aten.sub.Tensor(where_7, mul_238)
    sub_43: "f32[2, 40, 2, 2]" = aten.sub.Tensor(sub_42, unsqueeze_159)
    mul_239: "f32[2, 40, 2, 2]" = aten.mul.Tensor(sub_43, unsqueeze_165)
    mul_240: "f32[40]" = aten.mul.Tensor(sum_12, squeeze_76)
    # [resnet.encoder.stages.3.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_backward_3: ("f32[2, 32, 3, 3]", "f32[40, 32, 1, 1]", None) = aten.convolution_backward.default(mul_239, relu_18, resnet_encoder_stages_3_layers_0_shortcut_convolution_weight, [0], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_66: "f32[2, 32, 3, 3]" = getitem(convolution_backward_3, 0)
    getitem_67: "f32[40, 32, 1, 1]" = getitem(convolution_backward_3, 1)
    # [resnet.encoder.stages.3.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sub_44: "f32[2, 40, 2, 2]" = aten.sub.Tensor(convolution_24, unsqueeze_168)
    mul_241: "f32[2, 40, 2, 2]" = aten.mul.Tensor(where_7, sub_44)
    sum_13: "f32[40]" = aten.sum.dim_IntList(mul_241, [0, 2, 3])
    mul_242: "f32[40]" = aten.mul.Tensor(sum_13, 0.125)
    mul_243: "f32[40]" = aten.mul.Tensor(squeeze_73, squeeze_73)
    mul_244: "f32[40]" = aten.mul.Tensor(mul_242, mul_243)
    unsqueeze_169: "f32[1, 40]" = aten.unsqueeze.default(mul_244, 0)
    unsqueeze_170: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_169, 2)
    unsqueeze_171: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_170, 3)
    mul_245: "f32[40]" = aten.mul.Tensor(squeeze_73, resnet_encoder_stages_3_layers_0_layer_2_normalization_weight)
    unsqueeze_172: "f32[1, 40]" = aten.unsqueeze.default(mul_245, 0)
    unsqueeze_173: "f32[1, 40, 1]" = aten.unsqueeze.default(unsqueeze_172, 2)
    unsqueeze_174: "f32[1, 40, 1, 1]" = aten.unsqueeze.default(unsqueeze_173, 3)
    mul_246: "f32[2, 40, 2, 2]" = aten.mul.Tensor(sub_44, unsqueeze_171)
    sub_45: "f32[2, 40, 2, 2]" = aten.sub.Tensor(where_7, mul_246)
    sub_46: "f32[2, 40, 2, 2]" = aten.sub.Tensor(sub_45, unsqueeze_159)
    mul_247: "f32[2, 40, 2, 2]" = aten.mul.Tensor(sub_46, unsqueeze_174)
    mul_248: "f32[40]" = aten.mul.Tensor(sum_13, squeeze_73)
    # [resnet.encoder.stages.3.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_4: ("f32[2, 10, 2, 2]", "f32[40, 10, 1, 1]", None) = aten.convolution_backward.default(mul_247, relu_20, resnet_encoder_stages_3_layers_0_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_68: "f32[2, 10, 2, 2]" = getitem(convolution_backward_4, 0)
    getitem_69: "f32[40, 10, 1, 1]" = getitem(convolution_backward_4, 1)
    # [resnet.encoder.stages.3.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_4: "b8[2, 10, 2, 2]" = aten.le.Scalar(relu_20, 0)
    where_8: "f32[2, 10, 2, 2]" = aten.where.self(le_4, scalar_tensor_1, getitem_68)
    # [resnet.encoder.stages.3.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_14: "f32[10]" = aten.sum.dim_IntList(where_8, [0, 2, 3])
    sub_47: "f32[2, 10, 2, 2]" = aten.sub.Tensor(convolution_23, unsqueeze_177)
    mul_249: "f32[2, 10, 2, 2]" = aten.mul.Tensor(where_8, sub_47)
    sum_15: "f32[10]" = aten.sum.dim_IntList(mul_249, [0, 2, 3])
    mul_250: "f32[10]" = aten.mul.Tensor(sum_14, 0.125)
    unsqueeze_178: "f32[1, 10]" = aten.unsqueeze.default(mul_250, 0)
    unsqueeze_179: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_178, 2)
    unsqueeze_180: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_179, 3)
    mul_251: "f32[10]" = aten.mul.Tensor(sum_15, 0.125)
    mul_252: "f32[10]" = aten.mul.Tensor(squeeze_70, squeeze_70)
    mul_253: "f32[10]" = aten.mul.Tensor(mul_251, mul_252)
    unsqueeze_181: "f32[1, 10]" = aten.unsqueeze.default(mul_253, 0)
    unsqueeze_182: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_181, 2)
    unsqueeze_183: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_182, 3)
    mul_254: "f32[10]" = aten.mul.Tensor(squeeze_70, resnet_encoder_stages_3_layers_0_layer_1_normalization_weight)
    unsqueeze_184: "f32[1, 10]" = aten.unsqueeze.default(mul_254, 0)
    unsqueeze_185: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_184, 2)
    unsqueeze_186: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_185, 3)
    mul_255: "f32[2, 10, 2, 2]" = aten.mul.Tensor(sub_47, unsqueeze_183)
    sub_48: "f32[2, 10, 2, 2]" = aten.sub.Tensor(where_8, mul_255)
    sub_49: "f32[2, 10, 2, 2]" = aten.sub.Tensor(sub_48, unsqueeze_180)
    mul_256: "f32[2, 10, 2, 2]" = aten.mul.Tensor(sub_49, unsqueeze_186)
    mul_257: "f32[10]" = aten.mul.Tensor(sum_15, squeeze_70)
    # [resnet.encoder.stages.3.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_5: ("f32[2, 10, 3, 3]", "f32[10, 10, 3, 3]", None) = aten.convolution_backward.default(mul_256, relu_19, resnet_encoder_stages_3_layers_0_layer_1_convolution_weight, [0], [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_70: "f32[2, 10, 3, 3]" = getitem(convolution_backward_5, 0)
    getitem_71: "f32[10, 10, 3, 3]" = getitem(convolution_backward_5, 1)
    # [resnet.encoder.stages.3.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_5: "b8[2, 10, 3, 3]" = aten.le.Scalar(relu_19, 0)
    where_9: "f32[2, 10, 3, 3]" = aten.where.self(le_5, scalar_tensor_1, getitem_70)
    # [resnet.encoder.stages.3.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_16: "f32[10]" = aten.sum.dim_IntList(where_9, [0, 2, 3])
    sub_50: "f32[2, 10, 3, 3]" = aten.sub.Tensor(convolution_22, unsqueeze_189)
    mul_258: "f32[2, 10, 3, 3]" = aten.mul.Tensor(where_9, sub_50)
    sum_17: "f32[10]" = aten.sum.dim_IntList(mul_258, [0, 2, 3])
    mul_259: "f32[10]" = aten.mul.Tensor(sum_16, 0.05555555555555555)
    unsqueeze_190: "f32[1, 10]" = aten.unsqueeze.default(mul_259, 0)
    unsqueeze_191: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_190, 2)
    unsqueeze_192: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_191, 3)
    mul_260: "f32[10]" = aten.mul.Tensor(sum_17, 0.05555555555555555)
    mul_261: "f32[10]" = aten.mul.Tensor(squeeze_67, squeeze_67)
    mul_262: "f32[10]" = aten.mul.Tensor(mul_260, mul_261)
    unsqueeze_193: "f32[1, 10]" = aten.unsqueeze.default(mul_262, 0)
    unsqueeze_194: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_193, 2)
    unsqueeze_195: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_194, 3)
    mul_263: "f32[10]" = aten.mul.Tensor(squeeze_67, resnet_encoder_stages_3_layers_0_layer_0_normalization_weight)
    unsqueeze_196: "f32[1, 10]" = aten.unsqueeze.default(mul_263, 0)
    unsqueeze_197: "f32[1, 10, 1]" = aten.unsqueeze.default(unsqueeze_196, 2)
    unsqueeze_198: "f32[1, 10, 1, 1]" = aten.unsqueeze.default(unsqueeze_197, 3)
    mul_264: "f32[2, 10, 3, 3]" = aten.mul.Tensor(sub_50, unsqueeze_195)
    sub_51: "f32[2, 10, 3, 3]" = aten.sub.Tensor(where_9, mul_264)
    sub_52: "f32[2, 10, 3, 3]" = aten.sub.Tensor(sub_51, unsqueeze_192)
    mul_265: "f32[2, 10, 3, 3]" = aten.mul.Tensor(sub_52, unsqueeze_198)
    mul_266: "f32[10]" = aten.mul.Tensor(sum_17, squeeze_67)
    # [resnet.encoder.stages.3.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_6: ("f32[2, 32, 3, 3]", "f32[10, 32, 1, 1]", None) = aten.convolution_backward.default(mul_265, relu_18, resnet_encoder_stages_3_layers_0_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_72: "f32[2, 32, 3, 3]" = getitem(convolution_backward_6, 0)
    getitem_73: "f32[10, 32, 1, 1]" = getitem(convolution_backward_6, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_154: "f32[2, 32, 3, 3]" = aten.add.Tensor(getitem_66, getitem_72)
    # [resnet.encoder.stages.2.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le_6: "b8[2, 32, 3, 3]" = aten.le.Scalar(relu_18, 0)
    where_10: "f32[2, 32, 3, 3]" = aten.where.self(le_6, scalar_tensor_1, add_154)
    # [resnet.encoder.stages.2.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_18: "f32[32]" = aten.sum.dim_IntList(where_10, [0, 2, 3])
    sub_53: "f32[2, 32, 3, 3]" = aten.sub.Tensor(convolution_21, unsqueeze_201)
    mul_267: "f32[2, 32, 3, 3]" = aten.mul.Tensor(where_10, sub_53)
    sum_19: "f32[32]" = aten.sum.dim_IntList(mul_267, [0, 2, 3])
    mul_268: "f32[32]" = aten.mul.Tensor(sum_18, 0.05555555555555555)
    unsqueeze_202: "f32[1, 32]" = aten.unsqueeze.default(mul_268, 0)
    unsqueeze_203: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_202, 2)
    unsqueeze_204: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_203, 3)
    mul_269: "f32[32]" = aten.mul.Tensor(sum_19, 0.05555555555555555)
    mul_270: "f32[32]" = aten.mul.Tensor(squeeze_64, squeeze_64)
    mul_271: "f32[32]" = aten.mul.Tensor(mul_269, mul_270)
    unsqueeze_205: "f32[1, 32]" = aten.unsqueeze.default(mul_271, 0)
    unsqueeze_206: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_205, 2)
    unsqueeze_207: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_206, 3)
    mul_272: "f32[32]" = aten.mul.Tensor(squeeze_64, resnet_encoder_stages_2_layers_1_layer_2_normalization_weight)
    unsqueeze_208: "f32[1, 32]" = aten.unsqueeze.default(mul_272, 0)
    unsqueeze_209: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_208, 2)
    unsqueeze_210: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_209, 3)
    mul_273: "f32[2, 32, 3, 3]" = aten.mul.Tensor(sub_53, unsqueeze_207)
    sub_54: "f32[2, 32, 3, 3]" = aten.sub.Tensor(where_10, mul_273)
    sub_55: "f32[2, 32, 3, 3]" = aten.sub.Tensor(sub_54, unsqueeze_204)
    mul_274: "f32[2, 32, 3, 3]" = aten.mul.Tensor(sub_55, unsqueeze_210)
    mul_275: "f32[32]" = aten.mul.Tensor(sum_19, squeeze_64)
    # [resnet.encoder.stages.2.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_7: ("f32[2, 8, 3, 3]", "f32[32, 8, 1, 1]", None) = aten.convolution_backward.default(mul_274, relu_17, resnet_encoder_stages_2_layers_1_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_74: "f32[2, 8, 3, 3]" = getitem(convolution_backward_7, 0)
    getitem_75: "f32[32, 8, 1, 1]" = getitem(convolution_backward_7, 1)
    # [resnet.encoder.stages.2.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_7: "b8[2, 8, 3, 3]" = aten.le.Scalar(relu_17, 0)
    where_11: "f32[2, 8, 3, 3]" = aten.where.self(le_7, scalar_tensor_1, getitem_74)
    # [resnet.encoder.stages.2.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_20: "f32[8]" = aten.sum.dim_IntList(where_11, [0, 2, 3])
    sub_56: "f32[2, 8, 3, 3]" = aten.sub.Tensor(convolution_20, unsqueeze_213)
    mul_276: "f32[2, 8, 3, 3]" = aten.mul.Tensor(where_11, sub_56)
    sum_21: "f32[8]" = aten.sum.dim_IntList(mul_276, [0, 2, 3])
    mul_277: "f32[8]" = aten.mul.Tensor(sum_20, 0.05555555555555555)
    unsqueeze_214: "f32[1, 8]" = aten.unsqueeze.default(mul_277, 0)
    unsqueeze_215: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_214, 2)
    unsqueeze_216: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_215, 3)
    mul_278: "f32[8]" = aten.mul.Tensor(sum_21, 0.05555555555555555)
    mul_279: "f32[8]" = aten.mul.Tensor(squeeze_61, squeeze_61)
    mul_280: "f32[8]" = aten.mul.Tensor(mul_278, mul_279)
    unsqueeze_217: "f32[1, 8]" = aten.unsqueeze.default(mul_280, 0)
    unsqueeze_218: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_217, 2)
    unsqueeze_219: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_218, 3)
    mul_281: "f32[8]" = aten.mul.Tensor(squeeze_61, resnet_encoder_stages_2_layers_1_layer_1_normalization_weight)
    unsqueeze_220: "f32[1, 8]" = aten.unsqueeze.default(mul_281, 0)
    unsqueeze_221: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_220, 2)
    unsqueeze_222: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_221, 3)
    mul_282: "f32[2, 8, 3, 3]" = aten.mul.Tensor(sub_56, unsqueeze_219)
    sub_57: "f32[2, 8, 3, 3]" = aten.sub.Tensor(where_11, mul_282)
    sub_58: "f32[2, 8, 3, 3]" = aten.sub.Tensor(sub_57, unsqueeze_216)
    mul_283: "f32[2, 8, 3, 3]" = aten.mul.Tensor(sub_58, unsqueeze_222)
    mul_284: "f32[8]" = aten.mul.Tensor(sum_21, squeeze_61)
    # [resnet.encoder.stages.2.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_8: ("f32[2, 8, 3, 3]", "f32[8, 8, 3, 3]", None) = aten.convolution_backward.default(mul_283, relu_16, resnet_encoder_stages_2_layers_1_layer_1_convolution_weight, [0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_76: "f32[2, 8, 3, 3]" = getitem(convolution_backward_8, 0)
    getitem_77: "f32[8, 8, 3, 3]" = getitem(convolution_backward_8, 1)
    # [resnet.encoder.stages.2.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_8: "b8[2, 8, 3, 3]" = aten.le.Scalar(relu_16, 0)
    where_12: "f32[2, 8, 3, 3]" = aten.where.self(le_8, scalar_tensor_1, getitem_76)
    # [resnet.encoder.stages.2.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_22: "f32[8]" = aten.sum.dim_IntList(where_12, [0, 2, 3])
    sub_59: "f32[2, 8, 3, 3]" = aten.sub.Tensor(convolution_19, unsqueeze_225)
    mul_285: "f32[2, 8, 3, 3]" = aten.mul.Tensor(where_12, sub_59)
    sum_23: "f32[8]" = aten.sum.dim_IntList(mul_285, [0, 2, 3])
    mul_286: "f32[8]" = aten.mul.Tensor(sum_22, 0.05555555555555555)
    unsqueeze_226: "f32[1, 8]" = aten.unsqueeze.default(mul_286, 0)
    unsqueeze_227: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_226, 2)
    unsqueeze_228: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_227, 3)
    mul_287: "f32[8]" = aten.mul.Tensor(sum_23, 0.05555555555555555)
    mul_288: "f32[8]" = aten.mul.Tensor(squeeze_58, squeeze_58)
    mul_289: "f32[8]" = aten.mul.Tensor(mul_287, mul_288)
    unsqueeze_229: "f32[1, 8]" = aten.unsqueeze.default(mul_289, 0)
    unsqueeze_230: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_229, 2)
    unsqueeze_231: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_230, 3)
    mul_290: "f32[8]" = aten.mul.Tensor(squeeze_58, resnet_encoder_stages_2_layers_1_layer_0_normalization_weight)
    unsqueeze_232: "f32[1, 8]" = aten.unsqueeze.default(mul_290, 0)
    unsqueeze_233: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_232, 2)
    unsqueeze_234: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_233, 3)
    mul_291: "f32[2, 8, 3, 3]" = aten.mul.Tensor(sub_59, unsqueeze_231)
    sub_60: "f32[2, 8, 3, 3]" = aten.sub.Tensor(where_12, mul_291)
    sub_61: "f32[2, 8, 3, 3]" = aten.sub.Tensor(sub_60, unsqueeze_228)
    mul_292: "f32[2, 8, 3, 3]" = aten.mul.Tensor(sub_61, unsqueeze_234)
    mul_293: "f32[8]" = aten.mul.Tensor(sum_23, squeeze_58)
    # [resnet.encoder.stages.2.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_9: ("f32[2, 32, 3, 3]", "f32[8, 32, 1, 1]", None) = aten.convolution_backward.default(mul_292, relu_15, resnet_encoder_stages_2_layers_1_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_78: "f32[2, 32, 3, 3]" = getitem(convolution_backward_9, 0)
    getitem_79: "f32[8, 32, 1, 1]" = getitem(convolution_backward_9, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_155: "f32[2, 32, 3, 3]" = aten.add.Tensor(where_10, getitem_78)
    # [resnet.encoder.stages.2.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le_9: "b8[2, 32, 3, 3]" = aten.le.Scalar(relu_15, 0)
    where_13: "f32[2, 32, 3, 3]" = aten.where.self(le_9, scalar_tensor_1, add_155)
    # [resnet.encoder.stages.2.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    sum_24: "f32[32]" = aten.sum.dim_IntList(where_13, [0, 2, 3])
    sub_62: "f32[2, 32, 3, 3]" = aten.sub.Tensor(convolution_18, unsqueeze_237)
    mul_294: "f32[2, 32, 3, 3]" = aten.mul.Tensor(where_13, sub_62)
    sum_25: "f32[32]" = aten.sum.dim_IntList(mul_294, [0, 2, 3])
    mul_295: "f32[32]" = aten.mul.Tensor(sum_24, 0.05555555555555555)
    unsqueeze_238: "f32[1, 32]" = aten.unsqueeze.default(mul_295, 0)
    unsqueeze_239: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_238, 2)
    unsqueeze_240: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_239, 3)
    mul_296: "f32[32]" = aten.mul.Tensor(sum_25, 0.05555555555555555)
    mul_297: "f32[32]" = aten.mul.Tensor(squeeze_55, squeeze_55)
    mul_298: "f32[32]" = aten.mul.Tensor(mul_296, mul_297)
    unsqueeze_241: "f32[1, 32]" = aten.unsqueeze.default(mul_298, 0)
    unsqueeze_242: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_241, 2)
    unsqueeze_243: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_242, 3)
    mul_299: "f32[32]" = aten.mul.Tensor(squeeze_55, resnet_encoder_stages_2_layers_0_shortcut_normalization_weight)
    unsqueeze_244: "f32[1, 32]" = aten.unsqueeze.default(mul_299, 0)
    unsqueeze_245: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_244, 2)
    unsqueeze_246: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_245, 3)
    mul_300: "f32[2, 32, 3, 3]" = aten.mul.Tensor(sub_62, unsqueeze_243)
    sub_63: "f32[2, 32, 3, 3]" = aten.sub.Tensor(where_13, mul_300)
    sub_64: "f32[2, 32, 3, 3]" = aten.sub.Tensor(sub_63, unsqueeze_240)
    mul_301: "f32[2, 32, 3, 3]" = aten.mul.Tensor(sub_64, unsqueeze_246)
    mul_302: "f32[32]" = aten.mul.Tensor(sum_25, squeeze_55)
    # [resnet.encoder.stages.2.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_backward_10: ("f32[2, 24, 5, 5]", "f32[32, 24, 1, 1]", None) = aten.convolution_backward.default(mul_301, relu_12, resnet_encoder_stages_2_layers_0_shortcut_convolution_weight, [0], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_80: "f32[2, 24, 5, 5]" = getitem(convolution_backward_10, 0)
    getitem_81: "f32[32, 24, 1, 1]" = getitem(convolution_backward_10, 1)
    # [resnet.encoder.stages.2.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sub_65: "f32[2, 32, 3, 3]" = aten.sub.Tensor(convolution_17, unsqueeze_249)
    mul_303: "f32[2, 32, 3, 3]" = aten.mul.Tensor(where_13, sub_65)
    sum_26: "f32[32]" = aten.sum.dim_IntList(mul_303, [0, 2, 3])
    mul_304: "f32[32]" = aten.mul.Tensor(sum_26, 0.05555555555555555)
    mul_305: "f32[32]" = aten.mul.Tensor(squeeze_52, squeeze_52)
    mul_306: "f32[32]" = aten.mul.Tensor(mul_304, mul_305)
    unsqueeze_250: "f32[1, 32]" = aten.unsqueeze.default(mul_306, 0)
    unsqueeze_251: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_250, 2)
    unsqueeze_252: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_251, 3)
    mul_307: "f32[32]" = aten.mul.Tensor(squeeze_52, resnet_encoder_stages_2_layers_0_layer_2_normalization_weight)
    unsqueeze_253: "f32[1, 32]" = aten.unsqueeze.default(mul_307, 0)
    unsqueeze_254: "f32[1, 32, 1]" = aten.unsqueeze.default(unsqueeze_253, 2)
    unsqueeze_255: "f32[1, 32, 1, 1]" = aten.unsqueeze.default(unsqueeze_254, 3)
    mul_308: "f32[2, 32, 3, 3]" = aten.mul.Tensor(sub_65, unsqueeze_252)
    sub_66: "f32[2, 32, 3, 3]" = aten.sub.Tensor(where_13, mul_308)
    sub_67: "f32[2, 32, 3, 3]" = aten.sub.Tensor(sub_66, unsqueeze_240)
    mul_309: "f32[2, 32, 3, 3]" = aten.mul.Tensor(sub_67, unsqueeze_255)
    mul_310: "f32[32]" = aten.mul.Tensor(sum_26, squeeze_52)
    # [resnet.encoder.stages.2.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_11: ("f32[2, 8, 3, 3]", "f32[32, 8, 1, 1]", None) = aten.convolution_backward.default(mul_309, relu_14, resnet_encoder_stages_2_layers_0_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_82: "f32[2, 8, 3, 3]" = getitem(convolution_backward_11, 0)
    getitem_83: "f32[32, 8, 1, 1]" = getitem(convolution_backward_11, 1)
    # [resnet.encoder.stages.2.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_10: "b8[2, 8, 3, 3]" = aten.le.Scalar(relu_14, 0)
    where_14: "f32[2, 8, 3, 3]" = aten.where.self(le_10, scalar_tensor_1, getitem_82)
    # [resnet.encoder.stages.2.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_27: "f32[8]" = aten.sum.dim_IntList(where_14, [0, 2, 3])
    sub_68: "f32[2, 8, 3, 3]" = aten.sub.Tensor(convolution_16, unsqueeze_258)
    mul_311: "f32[2, 8, 3, 3]" = aten.mul.Tensor(where_14, sub_68)
    sum_28: "f32[8]" = aten.sum.dim_IntList(mul_311, [0, 2, 3])
    mul_312: "f32[8]" = aten.mul.Tensor(sum_27, 0.05555555555555555)
    unsqueeze_259: "f32[1, 8]" = aten.unsqueeze.default(mul_312, 0)
    unsqueeze_260: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_259, 2)
    unsqueeze_261: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_260, 3)
    mul_313: "f32[8]" = aten.mul.Tensor(sum_28, 0.05555555555555555)
    mul_314: "f32[8]" = aten.mul.Tensor(squeeze_49, squeeze_49)
    mul_315: "f32[8]" = aten.mul.Tensor(mul_313, mul_314)
    unsqueeze_262: "f32[1, 8]" = aten.unsqueeze.default(mul_315, 0)
    unsqueeze_263: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_262, 2)
    unsqueeze_264: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_263, 3)
    mul_316: "f32[8]" = aten.mul.Tensor(squeeze_49, resnet_encoder_stages_2_layers_0_layer_1_normalization_weight)
    unsqueeze_265: "f32[1, 8]" = aten.unsqueeze.default(mul_316, 0)
    unsqueeze_266: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_265, 2)
    unsqueeze_267: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_266, 3)
    mul_317: "f32[2, 8, 3, 3]" = aten.mul.Tensor(sub_68, unsqueeze_264)
    sub_69: "f32[2, 8, 3, 3]" = aten.sub.Tensor(where_14, mul_317)
    sub_70: "f32[2, 8, 3, 3]" = aten.sub.Tensor(sub_69, unsqueeze_261)
    mul_318: "f32[2, 8, 3, 3]" = aten.mul.Tensor(sub_70, unsqueeze_267)
    mul_319: "f32[8]" = aten.mul.Tensor(sum_28, squeeze_49)
    # [resnet.encoder.stages.2.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_12: ("f32[2, 8, 5, 5]", "f32[8, 8, 3, 3]", None) = aten.convolution_backward.default(mul_318, relu_13, resnet_encoder_stages_2_layers_0_layer_1_convolution_weight, [0], [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_84: "f32[2, 8, 5, 5]" = getitem(convolution_backward_12, 0)
    getitem_85: "f32[8, 8, 3, 3]" = getitem(convolution_backward_12, 1)
    # [resnet.encoder.stages.2.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_11: "b8[2, 8, 5, 5]" = aten.le.Scalar(relu_13, 0)
    where_15: "f32[2, 8, 5, 5]" = aten.where.self(le_11, scalar_tensor_1, getitem_84)
    # [resnet.encoder.stages.2.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_29: "f32[8]" = aten.sum.dim_IntList(where_15, [0, 2, 3])
    sub_71: "f32[2, 8, 5, 5]" = aten.sub.Tensor(convolution_15, unsqueeze_270)
    mul_320: "f32[2, 8, 5, 5]" = aten.mul.Tensor(where_15, sub_71)
    sum_30: "f32[8]" = aten.sum.dim_IntList(mul_320, [0, 2, 3])
    mul_321: "f32[8]" = aten.mul.Tensor(sum_29, 0.02)
    unsqueeze_271: "f32[1, 8]" = aten.unsqueeze.default(mul_321, 0)
    unsqueeze_272: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_271, 2)
    unsqueeze_273: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_272, 3)
    mul_322: "f32[8]" = aten.mul.Tensor(sum_30, 0.02)
    mul_323: "f32[8]" = aten.mul.Tensor(squeeze_46, squeeze_46)
    mul_324: "f32[8]" = aten.mul.Tensor(mul_322, mul_323)
    unsqueeze_274: "f32[1, 8]" = aten.unsqueeze.default(mul_324, 0)
    unsqueeze_275: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_274, 2)
    unsqueeze_276: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_275, 3)
    mul_325: "f32[8]" = aten.mul.Tensor(squeeze_46, resnet_encoder_stages_2_layers_0_layer_0_normalization_weight)
    unsqueeze_277: "f32[1, 8]" = aten.unsqueeze.default(mul_325, 0)
    unsqueeze_278: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_277, 2)
    unsqueeze_279: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_278, 3)
    mul_326: "f32[2, 8, 5, 5]" = aten.mul.Tensor(sub_71, unsqueeze_276)
    sub_72: "f32[2, 8, 5, 5]" = aten.sub.Tensor(where_15, mul_326)
    sub_73: "f32[2, 8, 5, 5]" = aten.sub.Tensor(sub_72, unsqueeze_273)
    mul_327: "f32[2, 8, 5, 5]" = aten.mul.Tensor(sub_73, unsqueeze_279)
    mul_328: "f32[8]" = aten.mul.Tensor(sum_30, squeeze_46)
    # [resnet.encoder.stages.2.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_13: ("f32[2, 24, 5, 5]", "f32[8, 24, 1, 1]", None) = aten.convolution_backward.default(mul_327, relu_12, resnet_encoder_stages_2_layers_0_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_86: "f32[2, 24, 5, 5]" = getitem(convolution_backward_13, 0)
    getitem_87: "f32[8, 24, 1, 1]" = getitem(convolution_backward_13, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_156: "f32[2, 24, 5, 5]" = aten.add.Tensor(getitem_80, getitem_86)
    # [resnet.encoder.stages.1.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le_12: "b8[2, 24, 5, 5]" = aten.le.Scalar(relu_12, 0)
    where_16: "f32[2, 24, 5, 5]" = aten.where.self(le_12, scalar_tensor_1, add_156)
    # [resnet.encoder.stages.1.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_31: "f32[24]" = aten.sum.dim_IntList(where_16, [0, 2, 3])
    sub_74: "f32[2, 24, 5, 5]" = aten.sub.Tensor(convolution_14, unsqueeze_282)
    mul_329: "f32[2, 24, 5, 5]" = aten.mul.Tensor(where_16, sub_74)
    sum_32: "f32[24]" = aten.sum.dim_IntList(mul_329, [0, 2, 3])
    mul_330: "f32[24]" = aten.mul.Tensor(sum_31, 0.02)
    unsqueeze_283: "f32[1, 24]" = aten.unsqueeze.default(mul_330, 0)
    unsqueeze_284: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_283, 2)
    unsqueeze_285: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_284, 3)
    mul_331: "f32[24]" = aten.mul.Tensor(sum_32, 0.02)
    mul_332: "f32[24]" = aten.mul.Tensor(squeeze_43, squeeze_43)
    mul_333: "f32[24]" = aten.mul.Tensor(mul_331, mul_332)
    unsqueeze_286: "f32[1, 24]" = aten.unsqueeze.default(mul_333, 0)
    unsqueeze_287: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_286, 2)
    unsqueeze_288: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_287, 3)
    mul_334: "f32[24]" = aten.mul.Tensor(squeeze_43, resnet_encoder_stages_1_layers_1_layer_2_normalization_weight)
    unsqueeze_289: "f32[1, 24]" = aten.unsqueeze.default(mul_334, 0)
    unsqueeze_290: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_289, 2)
    unsqueeze_291: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_290, 3)
    mul_335: "f32[2, 24, 5, 5]" = aten.mul.Tensor(sub_74, unsqueeze_288)
    sub_75: "f32[2, 24, 5, 5]" = aten.sub.Tensor(where_16, mul_335)
    sub_76: "f32[2, 24, 5, 5]" = aten.sub.Tensor(sub_75, unsqueeze_285)
    mul_336: "f32[2, 24, 5, 5]" = aten.mul.Tensor(sub_76, unsqueeze_291)
    mul_337: "f32[24]" = aten.mul.Tensor(sum_32, squeeze_43)
    # [resnet.encoder.stages.1.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_14: ("f32[2, 6, 5, 5]", "f32[24, 6, 1, 1]", None) = aten.convolution_backward.default(mul_336, relu_11, resnet_encoder_stages_1_layers_1_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_88: "f32[2, 6, 5, 5]" = getitem(convolution_backward_14, 0)
    getitem_89: "f32[24, 6, 1, 1]" = getitem(convolution_backward_14, 1)
    # [resnet.encoder.stages.1.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_13: "b8[2, 6, 5, 5]" = aten.le.Scalar(relu_11, 0)
    where_17: "f32[2, 6, 5, 5]" = aten.where.self(le_13, scalar_tensor_1, getitem_88)
    # [resnet.encoder.stages.1.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_33: "f32[6]" = aten.sum.dim_IntList(where_17, [0, 2, 3])
    sub_77: "f32[2, 6, 5, 5]" = aten.sub.Tensor(convolution_13, unsqueeze_294)
    mul_338: "f32[2, 6, 5, 5]" = aten.mul.Tensor(where_17, sub_77)
    sum_34: "f32[6]" = aten.sum.dim_IntList(mul_338, [0, 2, 3])
    mul_339: "f32[6]" = aten.mul.Tensor(sum_33, 0.02)
    unsqueeze_295: "f32[1, 6]" = aten.unsqueeze.default(mul_339, 0)
    unsqueeze_296: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_295, 2)
    unsqueeze_297: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_296, 3)
    mul_340: "f32[6]" = aten.mul.Tensor(sum_34, 0.02)
    mul_341: "f32[6]" = aten.mul.Tensor(squeeze_40, squeeze_40)
    mul_342: "f32[6]" = aten.mul.Tensor(mul_340, mul_341)
    unsqueeze_298: "f32[1, 6]" = aten.unsqueeze.default(mul_342, 0)
    unsqueeze_299: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_298, 2)
    unsqueeze_300: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_299, 3)
    mul_343: "f32[6]" = aten.mul.Tensor(squeeze_40, resnet_encoder_stages_1_layers_1_layer_1_normalization_weight)
    unsqueeze_301: "f32[1, 6]" = aten.unsqueeze.default(mul_343, 0)
    unsqueeze_302: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_301, 2)
    unsqueeze_303: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_302, 3)
    mul_344: "f32[2, 6, 5, 5]" = aten.mul.Tensor(sub_77, unsqueeze_300)
    sub_78: "f32[2, 6, 5, 5]" = aten.sub.Tensor(where_17, mul_344)
    sub_79: "f32[2, 6, 5, 5]" = aten.sub.Tensor(sub_78, unsqueeze_297)
    mul_345: "f32[2, 6, 5, 5]" = aten.mul.Tensor(sub_79, unsqueeze_303)
    mul_346: "f32[6]" = aten.mul.Tensor(sum_34, squeeze_40)
    # [resnet.encoder.stages.1.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_15: ("f32[2, 6, 5, 5]", "f32[6, 6, 3, 3]", None) = aten.convolution_backward.default(mul_345, relu_10, resnet_encoder_stages_1_layers_1_layer_1_convolution_weight, [0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_90: "f32[2, 6, 5, 5]" = getitem(convolution_backward_15, 0)
    getitem_91: "f32[6, 6, 3, 3]" = getitem(convolution_backward_15, 1)
    # [resnet.encoder.stages.1.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_14: "b8[2, 6, 5, 5]" = aten.le.Scalar(relu_10, 0)
    where_18: "f32[2, 6, 5, 5]" = aten.where.self(le_14, scalar_tensor_1, getitem_90)
    # [resnet.encoder.stages.1.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_35: "f32[6]" = aten.sum.dim_IntList(where_18, [0, 2, 3])
    sub_80: "f32[2, 6, 5, 5]" = aten.sub.Tensor(convolution_12, unsqueeze_306)
    mul_347: "f32[2, 6, 5, 5]" = aten.mul.Tensor(where_18, sub_80)
    sum_36: "f32[6]" = aten.sum.dim_IntList(mul_347, [0, 2, 3])
    mul_348: "f32[6]" = aten.mul.Tensor(sum_35, 0.02)
    unsqueeze_307: "f32[1, 6]" = aten.unsqueeze.default(mul_348, 0)
    unsqueeze_308: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_307, 2)
    unsqueeze_309: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_308, 3)
    mul_349: "f32[6]" = aten.mul.Tensor(sum_36, 0.02)
    mul_350: "f32[6]" = aten.mul.Tensor(squeeze_37, squeeze_37)
    mul_351: "f32[6]" = aten.mul.Tensor(mul_349, mul_350)
    unsqueeze_310: "f32[1, 6]" = aten.unsqueeze.default(mul_351, 0)
    unsqueeze_311: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_310, 2)
    unsqueeze_312: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_311, 3)
    mul_352: "f32[6]" = aten.mul.Tensor(squeeze_37, resnet_encoder_stages_1_layers_1_layer_0_normalization_weight)
    unsqueeze_313: "f32[1, 6]" = aten.unsqueeze.default(mul_352, 0)
    unsqueeze_314: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_313, 2)
    unsqueeze_315: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_314, 3)
    mul_353: "f32[2, 6, 5, 5]" = aten.mul.Tensor(sub_80, unsqueeze_312)
    sub_81: "f32[2, 6, 5, 5]" = aten.sub.Tensor(where_18, mul_353)
    sub_82: "f32[2, 6, 5, 5]" = aten.sub.Tensor(sub_81, unsqueeze_309)
    mul_354: "f32[2, 6, 5, 5]" = aten.mul.Tensor(sub_82, unsqueeze_315)
    mul_355: "f32[6]" = aten.mul.Tensor(sum_36, squeeze_37)
    # [resnet.encoder.stages.1.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_16: ("f32[2, 24, 5, 5]", "f32[6, 24, 1, 1]", None) = aten.convolution_backward.default(mul_354, relu_9, resnet_encoder_stages_1_layers_1_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_92: "f32[2, 24, 5, 5]" = getitem(convolution_backward_16, 0)
    getitem_93: "f32[6, 24, 1, 1]" = getitem(convolution_backward_16, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_157: "f32[2, 24, 5, 5]" = aten.add.Tensor(where_16, getitem_92)
    # [resnet.encoder.stages.1.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le_15: "b8[2, 24, 5, 5]" = aten.le.Scalar(relu_9, 0)
    where_19: "f32[2, 24, 5, 5]" = aten.where.self(le_15, scalar_tensor_1, add_157)
    # [resnet.encoder.stages.1.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    sum_37: "f32[24]" = aten.sum.dim_IntList(where_19, [0, 2, 3])
    sub_83: "f32[2, 24, 5, 5]" = aten.sub.Tensor(convolution_11, unsqueeze_318)
    mul_356: "f32[2, 24, 5, 5]" = aten.mul.Tensor(where_19, sub_83)
    sum_38: "f32[24]" = aten.sum.dim_IntList(mul_356, [0, 2, 3])
    mul_357: "f32[24]" = aten.mul.Tensor(sum_37, 0.02)
    unsqueeze_319: "f32[1, 24]" = aten.unsqueeze.default(mul_357, 0)
    unsqueeze_320: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_319, 2)
    unsqueeze_321: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_320, 3)
    mul_358: "f32[24]" = aten.mul.Tensor(sum_38, 0.02)
    mul_359: "f32[24]" = aten.mul.Tensor(squeeze_34, squeeze_34)
    mul_360: "f32[24]" = aten.mul.Tensor(mul_358, mul_359)
    unsqueeze_322: "f32[1, 24]" = aten.unsqueeze.default(mul_360, 0)
    unsqueeze_323: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_322, 2)
    unsqueeze_324: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_323, 3)
    mul_361: "f32[24]" = aten.mul.Tensor(squeeze_34, resnet_encoder_stages_1_layers_0_shortcut_normalization_weight)
    unsqueeze_325: "f32[1, 24]" = aten.unsqueeze.default(mul_361, 0)
    unsqueeze_326: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_325, 2)
    unsqueeze_327: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_326, 3)
    mul_362: "f32[2, 24, 5, 5]" = aten.mul.Tensor(sub_83, unsqueeze_324)
    sub_84: "f32[2, 24, 5, 5]" = aten.sub.Tensor(where_19, mul_362)
    sub_85: "f32[2, 24, 5, 5]" = aten.sub.Tensor(sub_84, unsqueeze_321)
    mul_363: "f32[2, 24, 5, 5]" = aten.mul.Tensor(sub_85, unsqueeze_327)
    mul_364: "f32[24]" = aten.mul.Tensor(sum_38, squeeze_34)
    # [resnet.encoder.stages.1.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_backward_17: ("f32[2, 16, 9, 9]", "f32[24, 16, 1, 1]", None) = aten.convolution_backward.default(mul_363, relu_6, resnet_encoder_stages_1_layers_0_shortcut_convolution_weight, [0], [2, 2], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_94: "f32[2, 16, 9, 9]" = getitem(convolution_backward_17, 0)
    getitem_95: "f32[24, 16, 1, 1]" = getitem(convolution_backward_17, 1)
    # [resnet.encoder.stages.1.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sub_86: "f32[2, 24, 5, 5]" = aten.sub.Tensor(convolution_10, unsqueeze_330)
    mul_365: "f32[2, 24, 5, 5]" = aten.mul.Tensor(where_19, sub_86)
    sum_39: "f32[24]" = aten.sum.dim_IntList(mul_365, [0, 2, 3])
    mul_366: "f32[24]" = aten.mul.Tensor(sum_39, 0.02)
    mul_367: "f32[24]" = aten.mul.Tensor(squeeze_31, squeeze_31)
    mul_368: "f32[24]" = aten.mul.Tensor(mul_366, mul_367)
    unsqueeze_331: "f32[1, 24]" = aten.unsqueeze.default(mul_368, 0)
    unsqueeze_332: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_331, 2)
    unsqueeze_333: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_332, 3)
    mul_369: "f32[24]" = aten.mul.Tensor(squeeze_31, resnet_encoder_stages_1_layers_0_layer_2_normalization_weight)
    unsqueeze_334: "f32[1, 24]" = aten.unsqueeze.default(mul_369, 0)
    unsqueeze_335: "f32[1, 24, 1]" = aten.unsqueeze.default(unsqueeze_334, 2)
    unsqueeze_336: "f32[1, 24, 1, 1]" = aten.unsqueeze.default(unsqueeze_335, 3)
    mul_370: "f32[2, 24, 5, 5]" = aten.mul.Tensor(sub_86, unsqueeze_333)
    sub_87: "f32[2, 24, 5, 5]" = aten.sub.Tensor(where_19, mul_370)
    sub_88: "f32[2, 24, 5, 5]" = aten.sub.Tensor(sub_87, unsqueeze_321)
    mul_371: "f32[2, 24, 5, 5]" = aten.mul.Tensor(sub_88, unsqueeze_336)
    mul_372: "f32[24]" = aten.mul.Tensor(sum_39, squeeze_31)
    # [resnet.encoder.stages.1.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_18: ("f32[2, 6, 5, 5]", "f32[24, 6, 1, 1]", None) = aten.convolution_backward.default(mul_371, relu_8, resnet_encoder_stages_1_layers_0_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_96: "f32[2, 6, 5, 5]" = getitem(convolution_backward_18, 0)
    getitem_97: "f32[24, 6, 1, 1]" = getitem(convolution_backward_18, 1)
    # [resnet.encoder.stages.1.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_16: "b8[2, 6, 5, 5]" = aten.le.Scalar(relu_8, 0)
    where_20: "f32[2, 6, 5, 5]" = aten.where.self(le_16, scalar_tensor_1, getitem_96)
    # [resnet.encoder.stages.1.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_40: "f32[6]" = aten.sum.dim_IntList(where_20, [0, 2, 3])
    sub_89: "f32[2, 6, 5, 5]" = aten.sub.Tensor(convolution_9, unsqueeze_339)
    mul_373: "f32[2, 6, 5, 5]" = aten.mul.Tensor(where_20, sub_89)
    sum_41: "f32[6]" = aten.sum.dim_IntList(mul_373, [0, 2, 3])
    mul_374: "f32[6]" = aten.mul.Tensor(sum_40, 0.02)
    unsqueeze_340: "f32[1, 6]" = aten.unsqueeze.default(mul_374, 0)
    unsqueeze_341: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_340, 2)
    unsqueeze_342: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_341, 3)
    mul_375: "f32[6]" = aten.mul.Tensor(sum_41, 0.02)
    mul_376: "f32[6]" = aten.mul.Tensor(squeeze_28, squeeze_28)
    mul_377: "f32[6]" = aten.mul.Tensor(mul_375, mul_376)
    unsqueeze_343: "f32[1, 6]" = aten.unsqueeze.default(mul_377, 0)
    unsqueeze_344: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_343, 2)
    unsqueeze_345: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_344, 3)
    mul_378: "f32[6]" = aten.mul.Tensor(squeeze_28, resnet_encoder_stages_1_layers_0_layer_1_normalization_weight)
    unsqueeze_346: "f32[1, 6]" = aten.unsqueeze.default(mul_378, 0)
    unsqueeze_347: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_346, 2)
    unsqueeze_348: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_347, 3)
    mul_379: "f32[2, 6, 5, 5]" = aten.mul.Tensor(sub_89, unsqueeze_345)
    sub_90: "f32[2, 6, 5, 5]" = aten.sub.Tensor(where_20, mul_379)
    sub_91: "f32[2, 6, 5, 5]" = aten.sub.Tensor(sub_90, unsqueeze_342)
    mul_380: "f32[2, 6, 5, 5]" = aten.mul.Tensor(sub_91, unsqueeze_348)
    mul_381: "f32[6]" = aten.mul.Tensor(sum_41, squeeze_28)
    # [resnet.encoder.stages.1.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_19: ("f32[2, 6, 9, 9]", "f32[6, 6, 3, 3]", None) = aten.convolution_backward.default(mul_380, relu_7, resnet_encoder_stages_1_layers_0_layer_1_convolution_weight, [0], [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_98: "f32[2, 6, 9, 9]" = getitem(convolution_backward_19, 0)
    getitem_99: "f32[6, 6, 3, 3]" = getitem(convolution_backward_19, 1)
    # [resnet.encoder.stages.1.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_17: "b8[2, 6, 9, 9]" = aten.le.Scalar(relu_7, 0)
    where_21: "f32[2, 6, 9, 9]" = aten.where.self(le_17, scalar_tensor_1, getitem_98)
    # [resnet.encoder.stages.1.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_42: "f32[6]" = aten.sum.dim_IntList(where_21, [0, 2, 3])
    sub_92: "f32[2, 6, 9, 9]" = aten.sub.Tensor(convolution_8, unsqueeze_351)
    mul_382: "f32[2, 6, 9, 9]" = aten.mul.Tensor(where_21, sub_92)
    sum_43: "f32[6]" = aten.sum.dim_IntList(mul_382, [0, 2, 3])
    mul_383: "f32[6]" = aten.mul.Tensor(sum_42, 0.006172839506172839)
    unsqueeze_352: "f32[1, 6]" = aten.unsqueeze.default(mul_383, 0)
    unsqueeze_353: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_352, 2)
    unsqueeze_354: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_353, 3)
    mul_384: "f32[6]" = aten.mul.Tensor(sum_43, 0.006172839506172839)
    mul_385: "f32[6]" = aten.mul.Tensor(squeeze_25, squeeze_25)
    mul_386: "f32[6]" = aten.mul.Tensor(mul_384, mul_385)
    unsqueeze_355: "f32[1, 6]" = aten.unsqueeze.default(mul_386, 0)
    unsqueeze_356: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_355, 2)
    unsqueeze_357: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_356, 3)
    mul_387: "f32[6]" = aten.mul.Tensor(squeeze_25, resnet_encoder_stages_1_layers_0_layer_0_normalization_weight)
    unsqueeze_358: "f32[1, 6]" = aten.unsqueeze.default(mul_387, 0)
    unsqueeze_359: "f32[1, 6, 1]" = aten.unsqueeze.default(unsqueeze_358, 2)
    unsqueeze_360: "f32[1, 6, 1, 1]" = aten.unsqueeze.default(unsqueeze_359, 3)
    mul_388: "f32[2, 6, 9, 9]" = aten.mul.Tensor(sub_92, unsqueeze_357)
    sub_93: "f32[2, 6, 9, 9]" = aten.sub.Tensor(where_21, mul_388)
    sub_94: "f32[2, 6, 9, 9]" = aten.sub.Tensor(sub_93, unsqueeze_354)
    mul_389: "f32[2, 6, 9, 9]" = aten.mul.Tensor(sub_94, unsqueeze_360)
    mul_390: "f32[6]" = aten.mul.Tensor(sum_43, squeeze_25)
    # [resnet.encoder.stages.1.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_20: ("f32[2, 16, 9, 9]", "f32[6, 16, 1, 1]", None) = aten.convolution_backward.default(mul_389, relu_6, resnet_encoder_stages_1_layers_0_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_100: "f32[2, 16, 9, 9]" = getitem(convolution_backward_20, 0)
    getitem_101: "f32[6, 16, 1, 1]" = getitem(convolution_backward_20, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_158: "f32[2, 16, 9, 9]" = aten.add.Tensor(getitem_94, getitem_100)
    # [resnet.encoder.stages.0.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le_18: "b8[2, 16, 9, 9]" = aten.le.Scalar(relu_6, 0)
    where_22: "f32[2, 16, 9, 9]" = aten.where.self(le_18, scalar_tensor_1, add_158)
    # [resnet.encoder.stages.0.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_44: "f32[16]" = aten.sum.dim_IntList(where_22, [0, 2, 3])
    sub_95: "f32[2, 16, 9, 9]" = aten.sub.Tensor(convolution_7, unsqueeze_363)
    mul_391: "f32[2, 16, 9, 9]" = aten.mul.Tensor(where_22, sub_95)
    sum_45: "f32[16]" = aten.sum.dim_IntList(mul_391, [0, 2, 3])
    mul_392: "f32[16]" = aten.mul.Tensor(sum_44, 0.006172839506172839)
    unsqueeze_364: "f32[1, 16]" = aten.unsqueeze.default(mul_392, 0)
    unsqueeze_365: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_364, 2)
    unsqueeze_366: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_365, 3)
    mul_393: "f32[16]" = aten.mul.Tensor(sum_45, 0.006172839506172839)
    mul_394: "f32[16]" = aten.mul.Tensor(squeeze_22, squeeze_22)
    mul_395: "f32[16]" = aten.mul.Tensor(mul_393, mul_394)
    unsqueeze_367: "f32[1, 16]" = aten.unsqueeze.default(mul_395, 0)
    unsqueeze_368: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_367, 2)
    unsqueeze_369: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_368, 3)
    mul_396: "f32[16]" = aten.mul.Tensor(squeeze_22, resnet_encoder_stages_0_layers_1_layer_2_normalization_weight)
    unsqueeze_370: "f32[1, 16]" = aten.unsqueeze.default(mul_396, 0)
    unsqueeze_371: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_370, 2)
    unsqueeze_372: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_371, 3)
    mul_397: "f32[2, 16, 9, 9]" = aten.mul.Tensor(sub_95, unsqueeze_369)
    sub_96: "f32[2, 16, 9, 9]" = aten.sub.Tensor(where_22, mul_397)
    sub_97: "f32[2, 16, 9, 9]" = aten.sub.Tensor(sub_96, unsqueeze_366)
    mul_398: "f32[2, 16, 9, 9]" = aten.mul.Tensor(sub_97, unsqueeze_372)
    mul_399: "f32[16]" = aten.mul.Tensor(sum_45, squeeze_22)
    # [resnet.encoder.stages.0.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_21: ("f32[2, 4, 9, 9]", "f32[16, 4, 1, 1]", None) = aten.convolution_backward.default(mul_398, relu_5, resnet_encoder_stages_0_layers_1_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_102: "f32[2, 4, 9, 9]" = getitem(convolution_backward_21, 0)
    getitem_103: "f32[16, 4, 1, 1]" = getitem(convolution_backward_21, 1)
    # [resnet.encoder.stages.0.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_19: "b8[2, 4, 9, 9]" = aten.le.Scalar(relu_5, 0)
    where_23: "f32[2, 4, 9, 9]" = aten.where.self(le_19, scalar_tensor_1, getitem_102)
    # [resnet.encoder.stages.0.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_46: "f32[4]" = aten.sum.dim_IntList(where_23, [0, 2, 3])
    sub_98: "f32[2, 4, 9, 9]" = aten.sub.Tensor(convolution_6, unsqueeze_375)
    mul_400: "f32[2, 4, 9, 9]" = aten.mul.Tensor(where_23, sub_98)
    sum_47: "f32[4]" = aten.sum.dim_IntList(mul_400, [0, 2, 3])
    mul_401: "f32[4]" = aten.mul.Tensor(sum_46, 0.006172839506172839)
    unsqueeze_376: "f32[1, 4]" = aten.unsqueeze.default(mul_401, 0)
    unsqueeze_377: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_376, 2)
    unsqueeze_378: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_377, 3)
    mul_402: "f32[4]" = aten.mul.Tensor(sum_47, 0.006172839506172839)
    mul_403: "f32[4]" = aten.mul.Tensor(squeeze_19, squeeze_19)
    mul_404: "f32[4]" = aten.mul.Tensor(mul_402, mul_403)
    unsqueeze_379: "f32[1, 4]" = aten.unsqueeze.default(mul_404, 0)
    unsqueeze_380: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_379, 2)
    unsqueeze_381: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_380, 3)
    mul_405: "f32[4]" = aten.mul.Tensor(squeeze_19, resnet_encoder_stages_0_layers_1_layer_1_normalization_weight)
    unsqueeze_382: "f32[1, 4]" = aten.unsqueeze.default(mul_405, 0)
    unsqueeze_383: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_382, 2)
    unsqueeze_384: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_383, 3)
    mul_406: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_98, unsqueeze_381)
    sub_99: "f32[2, 4, 9, 9]" = aten.sub.Tensor(where_23, mul_406)
    sub_100: "f32[2, 4, 9, 9]" = aten.sub.Tensor(sub_99, unsqueeze_378)
    mul_407: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_100, unsqueeze_384)
    mul_408: "f32[4]" = aten.mul.Tensor(sum_47, squeeze_19)
    # [resnet.encoder.stages.0.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_22: ("f32[2, 4, 9, 9]", "f32[4, 4, 3, 3]", None) = aten.convolution_backward.default(mul_407, relu_4, resnet_encoder_stages_0_layers_1_layer_1_convolution_weight, [0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_104: "f32[2, 4, 9, 9]" = getitem(convolution_backward_22, 0)
    getitem_105: "f32[4, 4, 3, 3]" = getitem(convolution_backward_22, 1)
    # [resnet.encoder.stages.0.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_20: "b8[2, 4, 9, 9]" = aten.le.Scalar(relu_4, 0)
    where_24: "f32[2, 4, 9, 9]" = aten.where.self(le_20, scalar_tensor_1, getitem_104)
    # [resnet.encoder.stages.0.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_48: "f32[4]" = aten.sum.dim_IntList(where_24, [0, 2, 3])
    sub_101: "f32[2, 4, 9, 9]" = aten.sub.Tensor(convolution_5, unsqueeze_387)
    mul_409: "f32[2, 4, 9, 9]" = aten.mul.Tensor(where_24, sub_101)
    sum_49: "f32[4]" = aten.sum.dim_IntList(mul_409, [0, 2, 3])
    mul_410: "f32[4]" = aten.mul.Tensor(sum_48, 0.006172839506172839)
    unsqueeze_388: "f32[1, 4]" = aten.unsqueeze.default(mul_410, 0)
    unsqueeze_389: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_388, 2)
    unsqueeze_390: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_389, 3)
    mul_411: "f32[4]" = aten.mul.Tensor(sum_49, 0.006172839506172839)
    mul_412: "f32[4]" = aten.mul.Tensor(squeeze_16, squeeze_16)
    mul_413: "f32[4]" = aten.mul.Tensor(mul_411, mul_412)
    unsqueeze_391: "f32[1, 4]" = aten.unsqueeze.default(mul_413, 0)
    unsqueeze_392: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_391, 2)
    unsqueeze_393: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_392, 3)
    mul_414: "f32[4]" = aten.mul.Tensor(squeeze_16, resnet_encoder_stages_0_layers_1_layer_0_normalization_weight)
    unsqueeze_394: "f32[1, 4]" = aten.unsqueeze.default(mul_414, 0)
    unsqueeze_395: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_394, 2)
    unsqueeze_396: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_395, 3)
    mul_415: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_101, unsqueeze_393)
    sub_102: "f32[2, 4, 9, 9]" = aten.sub.Tensor(where_24, mul_415)
    sub_103: "f32[2, 4, 9, 9]" = aten.sub.Tensor(sub_102, unsqueeze_390)
    mul_416: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_103, unsqueeze_396)
    mul_417: "f32[4]" = aten.mul.Tensor(sum_49, squeeze_16)
    # [resnet.encoder.stages.0.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_23: ("f32[2, 16, 9, 9]", "f32[4, 16, 1, 1]", None) = aten.convolution_backward.default(mul_416, relu_3, resnet_encoder_stages_0_layers_1_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_106: "f32[2, 16, 9, 9]" = getitem(convolution_backward_23, 0)
    getitem_107: "f32[4, 16, 1, 1]" = getitem(convolution_backward_23, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_159: "f32[2, 16, 9, 9]" = aten.add.Tensor(where_22, getitem_106)
    # [resnet.encoder.stages.0.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le_21: "b8[2, 16, 9, 9]" = aten.le.Scalar(relu_3, 0)
    where_25: "f32[2, 16, 9, 9]" = aten.where.self(le_21, scalar_tensor_1, add_159)
    # [resnet.encoder.stages.0.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    sum_50: "f32[16]" = aten.sum.dim_IntList(where_25, [0, 2, 3])
    sub_104: "f32[2, 16, 9, 9]" = aten.sub.Tensor(convolution_4, unsqueeze_399)
    mul_418: "f32[2, 16, 9, 9]" = aten.mul.Tensor(where_25, sub_104)
    sum_51: "f32[16]" = aten.sum.dim_IntList(mul_418, [0, 2, 3])
    mul_419: "f32[16]" = aten.mul.Tensor(sum_50, 0.006172839506172839)
    unsqueeze_400: "f32[1, 16]" = aten.unsqueeze.default(mul_419, 0)
    unsqueeze_401: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_400, 2)
    unsqueeze_402: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_401, 3)
    mul_420: "f32[16]" = aten.mul.Tensor(sum_51, 0.006172839506172839)
    mul_421: "f32[16]" = aten.mul.Tensor(squeeze_13, squeeze_13)
    mul_422: "f32[16]" = aten.mul.Tensor(mul_420, mul_421)
    unsqueeze_403: "f32[1, 16]" = aten.unsqueeze.default(mul_422, 0)
    unsqueeze_404: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_403, 2)
    unsqueeze_405: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_404, 3)
    mul_423: "f32[16]" = aten.mul.Tensor(squeeze_13, resnet_encoder_stages_0_layers_0_shortcut_normalization_weight)
    unsqueeze_406: "f32[1, 16]" = aten.unsqueeze.default(mul_423, 0)
    unsqueeze_407: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_406, 2)
    unsqueeze_408: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_407, 3)
    mul_424: "f32[2, 16, 9, 9]" = aten.mul.Tensor(sub_104, unsqueeze_405)
    sub_105: "f32[2, 16, 9, 9]" = aten.sub.Tensor(where_25, mul_424)
    sub_106: "f32[2, 16, 9, 9]" = aten.sub.Tensor(sub_105, unsqueeze_402)
    mul_425: "f32[2, 16, 9, 9]" = aten.mul.Tensor(sub_106, unsqueeze_408)
    mul_426: "f32[16]" = aten.mul.Tensor(sum_51, squeeze_13)
    # [resnet.encoder.stages.0.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_backward_24: ("f32[2, 8, 9, 9]", "f32[16, 8, 1, 1]", None) = aten.convolution_backward.default(mul_425, getitem_2, resnet_encoder_stages_0_layers_0_shortcut_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_108: "f32[2, 8, 9, 9]" = getitem(convolution_backward_24, 0)
    getitem_109: "f32[16, 8, 1, 1]" = getitem(convolution_backward_24, 1)
    # [resnet.encoder.stages.0.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sub_107: "f32[2, 16, 9, 9]" = aten.sub.Tensor(convolution_3, unsqueeze_411)
    mul_427: "f32[2, 16, 9, 9]" = aten.mul.Tensor(where_25, sub_107)
    sum_52: "f32[16]" = aten.sum.dim_IntList(mul_427, [0, 2, 3])
    mul_428: "f32[16]" = aten.mul.Tensor(sum_52, 0.006172839506172839)
    mul_429: "f32[16]" = aten.mul.Tensor(squeeze_10, squeeze_10)
    mul_430: "f32[16]" = aten.mul.Tensor(mul_428, mul_429)
    unsqueeze_412: "f32[1, 16]" = aten.unsqueeze.default(mul_430, 0)
    unsqueeze_413: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_412, 2)
    unsqueeze_414: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_413, 3)
    mul_431: "f32[16]" = aten.mul.Tensor(squeeze_10, resnet_encoder_stages_0_layers_0_layer_2_normalization_weight)
    unsqueeze_415: "f32[1, 16]" = aten.unsqueeze.default(mul_431, 0)
    unsqueeze_416: "f32[1, 16, 1]" = aten.unsqueeze.default(unsqueeze_415, 2)
    unsqueeze_417: "f32[1, 16, 1, 1]" = aten.unsqueeze.default(unsqueeze_416, 3)
    mul_432: "f32[2, 16, 9, 9]" = aten.mul.Tensor(sub_107, unsqueeze_414)
    sub_108: "f32[2, 16, 9, 9]" = aten.sub.Tensor(where_25, mul_432)
    sub_109: "f32[2, 16, 9, 9]" = aten.sub.Tensor(sub_108, unsqueeze_402)
    mul_433: "f32[2, 16, 9, 9]" = aten.mul.Tensor(sub_109, unsqueeze_417)
    mul_434: "f32[16]" = aten.mul.Tensor(sum_52, squeeze_10)
    # [resnet.encoder.stages.0.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_25: ("f32[2, 4, 9, 9]", "f32[16, 4, 1, 1]", None) = aten.convolution_backward.default(mul_433, relu_2, resnet_encoder_stages_0_layers_0_layer_2_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_110: "f32[2, 4, 9, 9]" = getitem(convolution_backward_25, 0)
    getitem_111: "f32[16, 4, 1, 1]" = getitem(convolution_backward_25, 1)
    # [resnet.encoder.stages.0.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_22: "b8[2, 4, 9, 9]" = aten.le.Scalar(relu_2, 0)
    where_26: "f32[2, 4, 9, 9]" = aten.where.self(le_22, scalar_tensor_1, getitem_110)
    # [resnet.encoder.stages.0.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_53: "f32[4]" = aten.sum.dim_IntList(where_26, [0, 2, 3])
    sub_110: "f32[2, 4, 9, 9]" = aten.sub.Tensor(convolution_2, unsqueeze_420)
    mul_435: "f32[2, 4, 9, 9]" = aten.mul.Tensor(where_26, sub_110)
    sum_54: "f32[4]" = aten.sum.dim_IntList(mul_435, [0, 2, 3])
    mul_436: "f32[4]" = aten.mul.Tensor(sum_53, 0.006172839506172839)
    unsqueeze_421: "f32[1, 4]" = aten.unsqueeze.default(mul_436, 0)
    unsqueeze_422: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_421, 2)
    unsqueeze_423: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_422, 3)
    mul_437: "f32[4]" = aten.mul.Tensor(sum_54, 0.006172839506172839)
    mul_438: "f32[4]" = aten.mul.Tensor(squeeze_7, squeeze_7)
    mul_439: "f32[4]" = aten.mul.Tensor(mul_437, mul_438)
    unsqueeze_424: "f32[1, 4]" = aten.unsqueeze.default(mul_439, 0)
    unsqueeze_425: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_424, 2)
    unsqueeze_426: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_425, 3)
    mul_440: "f32[4]" = aten.mul.Tensor(squeeze_7, resnet_encoder_stages_0_layers_0_layer_1_normalization_weight)
    unsqueeze_427: "f32[1, 4]" = aten.unsqueeze.default(mul_440, 0)
    unsqueeze_428: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_427, 2)
    unsqueeze_429: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_428, 3)
    mul_441: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_110, unsqueeze_426)
    sub_111: "f32[2, 4, 9, 9]" = aten.sub.Tensor(where_26, mul_441)
    sub_112: "f32[2, 4, 9, 9]" = aten.sub.Tensor(sub_111, unsqueeze_423)
    mul_442: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_112, unsqueeze_429)
    mul_443: "f32[4]" = aten.mul.Tensor(sum_54, squeeze_7)
    # [resnet.encoder.stages.0.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_26: ("f32[2, 4, 9, 9]", "f32[4, 4, 3, 3]", None) = aten.convolution_backward.default(mul_442, relu_1, resnet_encoder_stages_0_layers_0_layer_1_convolution_weight, [0], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_112: "f32[2, 4, 9, 9]" = getitem(convolution_backward_26, 0)
    getitem_113: "f32[4, 4, 3, 3]" = getitem(convolution_backward_26, 1)
    # [resnet.encoder.stages.0.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_23: "b8[2, 4, 9, 9]" = aten.le.Scalar(relu_1, 0)
    where_27: "f32[2, 4, 9, 9]" = aten.where.self(le_23, scalar_tensor_1, getitem_112)
    # [resnet.encoder.stages.0.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_55: "f32[4]" = aten.sum.dim_IntList(where_27, [0, 2, 3])
    sub_113: "f32[2, 4, 9, 9]" = aten.sub.Tensor(convolution_1, unsqueeze_432)
    mul_444: "f32[2, 4, 9, 9]" = aten.mul.Tensor(where_27, sub_113)
    sum_56: "f32[4]" = aten.sum.dim_IntList(mul_444, [0, 2, 3])
    mul_445: "f32[4]" = aten.mul.Tensor(sum_55, 0.006172839506172839)
    unsqueeze_433: "f32[1, 4]" = aten.unsqueeze.default(mul_445, 0)
    unsqueeze_434: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_433, 2)
    unsqueeze_435: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_434, 3)
    mul_446: "f32[4]" = aten.mul.Tensor(sum_56, 0.006172839506172839)
    mul_447: "f32[4]" = aten.mul.Tensor(squeeze_4, squeeze_4)
    mul_448: "f32[4]" = aten.mul.Tensor(mul_446, mul_447)
    unsqueeze_436: "f32[1, 4]" = aten.unsqueeze.default(mul_448, 0)
    unsqueeze_437: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_436, 2)
    unsqueeze_438: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_437, 3)
    mul_449: "f32[4]" = aten.mul.Tensor(squeeze_4, resnet_encoder_stages_0_layers_0_layer_0_normalization_weight)
    unsqueeze_439: "f32[1, 4]" = aten.unsqueeze.default(mul_449, 0)
    unsqueeze_440: "f32[1, 4, 1]" = aten.unsqueeze.default(unsqueeze_439, 2)
    unsqueeze_441: "f32[1, 4, 1, 1]" = aten.unsqueeze.default(unsqueeze_440, 3)
    mul_450: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_113, unsqueeze_438)
    sub_114: "f32[2, 4, 9, 9]" = aten.sub.Tensor(where_27, mul_450)
    sub_115: "f32[2, 4, 9, 9]" = aten.sub.Tensor(sub_114, unsqueeze_435)
    mul_451: "f32[2, 4, 9, 9]" = aten.mul.Tensor(sub_115, unsqueeze_441)
    mul_452: "f32[4]" = aten.mul.Tensor(sum_56, squeeze_4)
    # [resnet.encoder.stages.0.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_27: ("f32[2, 8, 9, 9]", "f32[4, 8, 1, 1]", None) = aten.convolution_backward.default(mul_451, getitem_2, resnet_encoder_stages_0_layers_0_layer_0_convolution_weight, [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    getitem_114: "f32[2, 8, 9, 9]" = getitem(convolution_backward_27, 0)
    getitem_115: "f32[4, 8, 1, 1]" = getitem(convolution_backward_27, 1)
    # modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    add_160: "f32[2, 8, 9, 9]" = aten.add.Tensor(getitem_108, getitem_114)
    # [resnet.embedder.pooler] modeling_resnet.py:92 in forward: embedding = self.pooler(embedding)
    max_pool2d_with_indices_backward: "f32[2, 8, 18, 18]" = aten.max_pool2d_with_indices_backward.default(add_160, relu, [3, 3], [2, 2], [1, 1], [1, 1], False, getitem_3)
    # [resnet.embedder.embedder.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    le_24: "b8[2, 8, 18, 18]" = aten.le.Scalar(relu, 0)
    where_28: "f32[2, 8, 18, 18]" = aten.where.self(le_24, scalar_tensor_1, max_pool2d_with_indices_backward)
    # [resnet.embedder.embedder.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    sum_57: "f32[8]" = aten.sum.dim_IntList(where_28, [0, 2, 3])
    sub_116: "f32[2, 8, 18, 18]" = aten.sub.Tensor(convolution, unsqueeze_444)
    mul_453: "f32[2, 8, 18, 18]" = aten.mul.Tensor(where_28, sub_116)
    sum_58: "f32[8]" = aten.sum.dim_IntList(mul_453, [0, 2, 3])
    mul_454: "f32[8]" = aten.mul.Tensor(sum_57, 0.0015432098765432098)
    unsqueeze_445: "f32[1, 8]" = aten.unsqueeze.default(mul_454, 0)
    unsqueeze_446: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_445, 2)
    unsqueeze_447: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_446, 3)
    mul_455: "f32[8]" = aten.mul.Tensor(sum_58, 0.0015432098765432098)
    mul_456: "f32[8]" = aten.mul.Tensor(squeeze_1, squeeze_1)
    mul_457: "f32[8]" = aten.mul.Tensor(mul_455, mul_456)
    unsqueeze_448: "f32[1, 8]" = aten.unsqueeze.default(mul_457, 0)
    unsqueeze_449: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_448, 2)
    unsqueeze_450: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_449, 3)
    mul_458: "f32[8]" = aten.mul.Tensor(squeeze_1, resnet_embedder_embedder_normalization_weight)
    unsqueeze_451: "f32[1, 8]" = aten.unsqueeze.default(mul_458, 0)
    unsqueeze_452: "f32[1, 8, 1]" = aten.unsqueeze.default(unsqueeze_451, 2)
    unsqueeze_453: "f32[1, 8, 1, 1]" = aten.unsqueeze.default(unsqueeze_452, 3)
    mul_459: "f32[2, 8, 18, 18]" = aten.mul.Tensor(sub_116, unsqueeze_450)
    sub_117: "f32[2, 8, 18, 18]" = aten.sub.Tensor(where_28, mul_459)
    sub_118: "f32[2, 8, 18, 18]" = aten.sub.Tensor(sub_117, unsqueeze_447)
    mul_460: "f32[2, 8, 18, 18]" = aten.mul.Tensor(sub_118, unsqueeze_453)
    mul_461: "f32[8]" = aten.mul.Tensor(sum_58, squeeze_1)
    # [resnet.embedder.embedder.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_backward_28: (None, "f32[8, 3, 7, 7]", None) = aten.convolution_backward.default(mul_460, pixel_values, resnet_embedder_embedder_convolution_weight, [0], [2, 2], [3, 3], [1, 1], False, [0, 0], 1, [False, True, False])
    getitem_116: "f32[8, 3, 7, 7]" = getitem(convolution_backward_28, 1)
    return (
        getitem_116,
        mul_461,
        sum_57,
        getitem_109,
        mul_426,
        sum_50,
        getitem_115,
        mul_452,
        sum_55,
        getitem_113,
        mul_443,
        sum_53,
        getitem_111,
        mul_434,
        sum_50,
        getitem_107,
        mul_417,
        sum_48,
        getitem_105,
        mul_408,
        sum_46,
        getitem_103,
        mul_399,
        sum_44,
        getitem_95,
        mul_364,
        sum_37,
        getitem_101,
        mul_390,
        sum_42,
        getitem_99,
        mul_381,
        sum_40,
        getitem_97,
        mul_372,
        sum_37,
        getitem_93,
        mul_355,
        sum_35,
        getitem_91,
        mul_346,
        sum_33,
        getitem_89,
        mul_337,
        sum_31,
        getitem_81,
        mul_302,
        sum_24,
        getitem_87,
        mul_328,
        sum_29,
        getitem_85,
        mul_319,
        sum_27,
        getitem_83,
        mul_310,
        sum_24,
        getitem_79,
        mul_293,
        sum_22,
        getitem_77,
        mul_284,
        sum_20,
        getitem_75,
        mul_275,
        sum_18,
        getitem_67,
        mul_240,
        sum_11,
        getitem_73,
        mul_266,
        sum_16,
        getitem_71,
        mul_257,
        sum_14,
        getitem_69,
        mul_248,
        sum_11,
        getitem_65,
        mul_231,
        sum_9,
        getitem_63,
        mul_222,
        sum_7,
        getitem_61,
        mul_213,
        sum_5,
        permute_4,
        view_4,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
    )
