# harness graph 1
# title: ResNet-50, two blocks of every stage, f32, 32 images of 224
# origin: transformers ResNetForImageClassification; sizes of microsoft/resnet-50
# captured: transformers:ResNetForImageClassification?depths=(2, 2, 2, 2)&batch=32&image=224&num_labels=1000
# mode: training
# dtype: f32
# versions: torch 2.13.0, transformers 5.23.0
def resnet50_forward(
    resnet_embedder_embedder_convolution_weight: "f32[64, 3, 7, 7] parameter",
    resnet_embedder_embedder_normalization_weight: "f32[64] parameter",
    resnet_embedder_embedder_normalization_bias: "f32[64] parameter",
    resnet_encoder_stages_0_layers_0_shortcut_convolution_weight: "f32[256, 64, 1, 1] parameter",
    resnet_encoder_stages_0_layers_0_shortcut_normalization_weight: "f32[256] parameter",
    resnet_encoder_stages_0_layers_0_shortcut_normalization_bias: "f32[256] parameter",
    resnet_encoder_stages_0_layers_0_layer_0_convolution_weight: "f32[64, 64, 1, 1] parameter",
    resnet_encoder_stages_0_layers_0_layer_0_normalization_weight: "f32[64] parameter",
    resnet_encoder_stages_0_layers_0_layer_0_normalization_bias: "f32[64] parameter",
    resnet_encoder_stages_0_layers_0_layer_1_convolution_weight: "f32[64, 64, 3, 3] parameter",
    resnet_encoder_stages_0_layers_0_layer_1_normalization_weight: "f32[64] parameter",
    resnet_encoder_stages_0_layers_0_layer_1_normalization_bias: "f32[64] parameter",
    resnet_encoder_stages_0_layers_0_layer_2_convolution_weight: "f32[256, 64, 1, 1] parameter",
    resnet_encoder_stages_0_layers_0_layer_2_normalization_weight: "f32[256] parameter",
    resnet_encoder_stages_0_layers_0_layer_2_normalization_bias: "f32[256] parameter",
    resnet_encoder_stages_0_layers_1_layer_0_convolution_weight: "f32[64, 256, 1, 1] parameter",
    resnet_encoder_stages_0_layers_1_layer_0_normalization_weight: "f32[64] parameter",
    resnet_encoder_stages_0_layers_1_layer_0_normalization_bias: "f32[64] parameter",
    resnet_encoder_stages_0_layers_1_layer_1_convolution_weight: "f32[64, 64, 3, 3] parameter",
    resnet_encoder_stages_0_layers_1_layer_1_normalization_weight: "f32[64] parameter",
    resnet_encoder_stages_0_layers_1_layer_1_normalization_bias: "f32[64] parameter",
    resnet_encoder_stages_0_layers_1_layer_2_convolution_weight: "f32[256, 64, 1, 1] parameter",
    resnet_encoder_stages_0_layers_1_layer_2_normalization_weight: "f32[256] parameter",
    resnet_encoder_stages_0_layers_1_layer_2_normalization_bias: "f32[256] parameter",
    resnet_encoder_stages_1_layers_0_shortcut_convolution_weight: "f32[512, 256, 1, 1] parameter",
    resnet_encoder_stages_1_layers_0_shortcut_normalization_weight: "f32[512] parameter",
    resnet_encoder_stages_1_layers_0_shortcut_normalization_bias: "f32[512] parameter",
    resnet_encoder_stages_1_layers_0_layer_0_convolution_weight: "f32[128, 256, 1, 1] parameter",
    resnet_encoder_stages_1_layers_0_layer_0_normalization_weight: "f32[128] parameter",
    resnet_encoder_stages_1_layers_0_layer_0_normalization_bias: "f32[128] parameter",
    resnet_encoder_stages_1_layers_0_layer_1_convolution_weight: "f32[128, 128, 3, 3] parameter",
    resnet_encoder_stages_1_layers_0_layer_1_normalization_weight: "f32[128] parameter",
    resnet_encoder_stages_1_layers_0_layer_1_normalization_bias: "f32[128] parameter",
    resnet_encoder_stages_1_layers_0_layer_2_convolution_weight: "f32[512, 128, 1, 1] parameter",
    resnet_encoder_stages_1_layers_0_layer_2_normalization_weight: "f32[512] parameter",
    resnet_encoder_stages_1_layers_0_layer_2_normalization_bias: "f32[512] parameter",
    resnet_encoder_stages_1_layers_1_layer_0_convolution_weight: "f32[128, 512, 1, 1] parameter",
    resnet_encoder_stages_1_layers_1_layer_0_normalization_weight: "f32[128] parameter",
    resnet_encoder_stages_1_layers_1_layer_0_normalization_bias: "f32[128] parameter",
    resnet_encoder_stages_1_layers_1_layer_1_convolution_weight: "f32[128, 128, 3, 3] parameter",
    resnet_encoder_stages_1_layers_1_layer_1_normalization_weight: "f32[128] parameter",
    resnet_encoder_stages_1_layers_1_layer_1_normalization_bias: "f32[128] parameter",
    resnet_encoder_stages_1_layers_1_layer_2_convolution_weight: "f32[512, 128, 1, 1] parameter",
    resnet_encoder_stages_1_layers_1_layer_2_normalization_weight: "f32[512] parameter",
    resnet_encoder_stages_1_layers_1_layer_2_normalization_bias: "f32[512] parameter",
    resnet_encoder_stages_2_layers_0_shortcut_convolution_weight: "f32[1024, 512, 1, 1] parameter",
    resnet_encoder_stages_2_layers_0_shortcut_normalization_weight: "f32[1024] parameter",
    resnet_encoder_stages_2_layers_0_shortcut_normalization_bias: "f32[1024] parameter",
    resnet_encoder_stages_2_layers_0_layer_0_convolution_weight: "f32[256, 512, 1, 1] parameter",
    resnet_encoder_stages_2_layers_0_layer_0_normalization_weight: "f32[256] parameter",
    resnet_encoder_stages_2_layers_0_layer_0_normalization_bias: "f32[256] parameter",
    resnet_encoder_stages_2_layers_0_layer_1_convolution_weight: "f32[256, 256, 3, 3] parameter",
    resnet_encoder_stages_2_layers_0_layer_1_normalization_weight: "f32[256] parameter",
    resnet_encoder_stages_2_layers_0_layer_1_normalization_bias: "f32[256] parameter",
    resnet_encoder_stages_2_layers_0_layer_2_convolution_weight: "f32[1024, 256, 1, 1] parameter",
    resnet_encoder_stages_2_layers_0_layer_2_normalization_weight: "f32[1024] parameter",
    resnet_encoder_stages_2_layers_0_layer_2_normalization_bias: "f32[1024] parameter",
    resnet_encoder_stages_2_layers_1_layer_0_convolution_weight: "f32[256, 1024, 1, 1] parameter",
    resnet_encoder_stages_2_layers_1_layer_0_normalization_weight: "f32[256] parameter",
    resnet_encoder_stages_2_layers_1_layer_0_normalization_bias: "f32[256] parameter",
    resnet_encoder_stages_2_layers_1_layer_1_convolution_weight: "f32[256, 256, 3, 3] parameter",
    resnet_encoder_stages_2_layers_1_layer_1_normalization_weight: "f32[256] parameter",
    resnet_encoder_stages_2_layers_1_layer_1_normalization_bias: "f32[256] parameter",
    resnet_encoder_stages_2_layers_1_layer_2_convolution_weight: "f32[1024, 256, 1, 1] parameter",
    resnet_encoder_stages_2_layers_1_layer_2_normalization_weight: "f32[1024] parameter",
    resnet_encoder_stages_2_layers_1_layer_2_normalization_bias: "f32[1024] parameter",
    resnet_encoder_stages_3_layers_0_shortcut_convolution_weight: "f32[2048, 1024, 1, 1] parameter",
    resnet_encoder_stages_3_layers_0_shortcut_normalization_weight: "f32[2048] parameter",
    resnet_encoder_stages_3_layers_0_shortcut_normalization_bias: "f32[2048] parameter",
    resnet_encoder_stages_3_layers_0_layer_0_convolution_weight: "f32[512, 1024, 1, 1] parameter",
    resnet_encoder_stages_3_layers_0_layer_0_normalization_weight: "f32[512] parameter",
    resnet_encoder_stages_3_layers_0_layer_0_normalization_bias: "f32[512] parameter",
    resnet_encoder_stages_3_layers_0_layer_1_convolution_weight: "f32[512, 512, 3, 3] parameter",
    resnet_encoder_stages_3_layers_0_layer_1_normalization_weight: "f32[512] parameter",
    resnet_encoder_stages_3_layers_0_layer_1_normalization_bias: "f32[512] parameter",
    resnet_encoder_stages_3_layers_0_layer_2_convolution_weight: "f32[2048, 512, 1, 1] parameter",
    resnet_encoder_stages_3_layers_0_layer_2_normalization_weight: "f32[2048] parameter",
    resnet_encoder_stages_3_layers_0_layer_2_normalization_bias: "f32[2048] parameter",
    resnet_encoder_stages_3_layers_1_layer_0_convolution_weight: "f32[512, 2048, 1, 1] parameter",
    resnet_encoder_stages_3_layers_1_layer_0_normalization_weight: "f32[512] parameter",
    resnet_encoder_stages_3_layers_1_layer_0_normalization_bias: "f32[512] parameter",
    resnet_encoder_stages_3_layers_1_layer_1_convolution_weight: "f32[512, 512, 3, 3] parameter",
    resnet_encoder_stages_3_layers_1_layer_1_normalization_weight: "f32[512] parameter",
    resnet_encoder_stages_3_layers_1_layer_1_normalization_bias: "f32[512] parameter",
    resnet_encoder_stages_3_layers_1_layer_2_convolution_weight: "f32[2048, 512, 1, 1] parameter",
    resnet_encoder_stages_3_layers_1_layer_2_normalization_weight: "f32[2048] parameter",
    resnet_encoder_stages_3_layers_1_layer_2_normalization_bias: "f32[2048] parameter",
    classifier_1_weight: "f32[1000, 2048] parameter",
    classifier_1_bias: "f32[1000] parameter",
    resnet_embedder_embedder_normalization_running_mean: "f32[64] buffer",
    resnet_embedder_embedder_normalization_running_var: "f32[64] buffer",
    resnet_embedder_embedder_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_0_layers_0_shortcut_normalization_running_mean: "f32[256] buffer",
    resnet_encoder_stages_0_layers_0_shortcut_normalization_running_var: "f32[256] buffer",
    resnet_encoder_stages_0_layers_0_shortcut_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_0_layers_0_layer_0_normalization_running_mean: "f32[64] buffer",
    resnet_encoder_stages_0_layers_0_layer_0_normalization_running_var: "f32[64] buffer",
    resnet_encoder_stages_0_layers_0_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_0_layers_0_layer_1_normalization_running_mean: "f32[64] buffer",
    resnet_encoder_stages_0_layers_0_layer_1_normalization_running_var: "f32[64] buffer",
    resnet_encoder_stages_0_layers_0_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_0_layers_0_layer_2_normalization_running_mean: "f32[256] buffer",
    resnet_encoder_stages_0_layers_0_layer_2_normalization_running_var: "f32[256] buffer",
    resnet_encoder_stages_0_layers_0_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_0_layers_1_layer_0_normalization_running_mean: "f32[64] buffer",
    resnet_encoder_stages_0_layers_1_layer_0_normalization_running_var: "f32[64] buffer",
    resnet_encoder_stages_0_layers_1_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_0_layers_1_layer_1_normalization_running_mean: "f32[64] buffer",
    resnet_encoder_stages_0_layers_1_layer_1_normalization_running_var: "f32[64] buffer",
    resnet_encoder_stages_0_layers_1_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_0_layers_1_layer_2_normalization_running_mean: "f32[256] buffer",
    resnet_encoder_stages_0_layers_1_layer_2_normalization_running_var: "f32[256] buffer",
    resnet_encoder_stages_0_layers_1_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_1_layers_0_shortcut_normalization_running_mean: "f32[512] buffer",
    resnet_encoder_stages_1_layers_0_shortcut_normalization_running_var: "f32[512] buffer",
    resnet_encoder_stages_1_layers_0_shortcut_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_1_layers_0_layer_0_normalization_running_mean: "f32[128] buffer",
    resnet_encoder_stages_1_layers_0_layer_0_normalization_running_var: "f32[128] buffer",
    resnet_encoder_stages_1_layers_0_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_1_layers_0_layer_1_normalization_running_mean: "f32[128] buffer",
    resnet_encoder_stages_1_layers_0_layer_1_normalization_running_var: "f32[128] buffer",
    resnet_encoder_stages_1_layers_0_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_1_layers_0_layer_2_normalization_running_mean: "f32[512] buffer",
    resnet_encoder_stages_1_layers_0_layer_2_normalization_running_var: "f32[512] buffer",
    resnet_encoder_stages_1_layers_0_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_1_layers_1_layer_0_normalization_running_mean: "f32[128] buffer",
    resnet_encoder_stages_1_layers_1_layer_0_normalization_running_var: "f32[128] buffer",
    resnet_encoder_stages_1_layers_1_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_1_layers_1_layer_1_normalization_running_mean: "f32[128] buffer",
    resnet_encoder_stages_1_layers_1_layer_1_normalization_running_var: "f32[128] buffer",
    resnet_encoder_stages_1_layers_1_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_1_layers_1_layer_2_normalization_running_mean: "f32[512] buffer",
    resnet_encoder_stages_1_layers_1_layer_2_normalization_running_var: "f32[512] buffer",
    resnet_encoder_stages_1_layers_1_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_2_layers_0_shortcut_normalization_running_mean: "f32[1024] buffer",
    resnet_encoder_stages_2_layers_0_shortcut_normalization_running_var: "f32[1024] buffer",
    resnet_encoder_stages_2_layers_0_shortcut_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_2_layers_0_layer_0_normalization_running_mean: "f32[256] buffer",
    resnet_encoder_stages_2_layers_0_layer_0_normalization_running_var: "f32[256] buffer",
    resnet_encoder_stages_2_layers_0_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_2_layers_0_layer_1_normalization_running_mean: "f32[256] buffer",
    resnet_encoder_stages_2_layers_0_layer_1_normalization_running_var: "f32[256] buffer",
    resnet_encoder_stages_2_layers_0_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_2_layers_0_layer_2_normalization_running_mean: "f32[1024] buffer",
    resnet_encoder_stages_2_layers_0_layer_2_normalization_running_var: "f32[1024] buffer",
    resnet_encoder_stages_2_layers_0_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_2_layers_1_layer_0_normalization_running_mean: "f32[256] buffer",
    resnet_encoder_stages_2_layers_1_layer_0_normalization_running_var: "f32[256] buffer",
    resnet_encoder_stages_2_layers_1_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_2_layers_1_layer_1_normalization_running_mean: "f32[256] buffer",
    resnet_encoder_stages_2_layers_1_layer_1_normalization_running_var: "f32[256] buffer",
    resnet_encoder_stages_2_layers_1_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_2_layers_1_layer_2_normalization_running_mean: "f32[1024] buffer",
    resnet_encoder_stages_2_layers_1_layer_2_normalization_running_var: "f32[1024] buffer",
    resnet_encoder_stages_2_layers_1_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_3_layers_0_shortcut_normalization_running_mean: "f32[2048] buffer",
    resnet_encoder_stages_3_layers_0_shortcut_normalization_running_var: "f32[2048] buffer",
    resnet_encoder_stages_3_layers_0_shortcut_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_3_layers_0_layer_0_normalization_running_mean: "f32[512] buffer",
    resnet_encoder_stages_3_layers_0_layer_0_normalization_running_var: "f32[512] buffer",
    resnet_encoder_stages_3_layers_0_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_3_layers_0_layer_1_normalization_running_mean: "f32[512] buffer",
    resnet_encoder_stages_3_layers_0_layer_1_normalization_running_var: "f32[512] buffer",
    resnet_encoder_stages_3_layers_0_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_3_layers_0_layer_2_normalization_running_mean: "f32[2048] buffer",
    resnet_encoder_stages_3_layers_0_layer_2_normalization_running_var: "f32[2048] buffer",
    resnet_encoder_stages_3_layers_0_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_3_layers_1_layer_0_normalization_running_mean: "f32[512] buffer",
    resnet_encoder_stages_3_layers_1_layer_0_normalization_running_var: "f32[512] buffer",
    resnet_encoder_stages_3_layers_1_layer_0_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_3_layers_1_layer_1_normalization_running_mean: "f32[512] buffer",
    resnet_encoder_stages_3_layers_1_layer_1_normalization_running_var: "f32[512] buffer",
    resnet_encoder_stages_3_layers_1_layer_1_normalization_num_batches_tracked: "i64[] buffer",
    resnet_encoder_stages_3_layers_1_layer_2_normalization_running_mean: "f32[2048] buffer",
    resnet_encoder_stages_3_layers_1_layer_2_normalization_running_var: "f32[2048] buffer",
    resnet_encoder_stages_3_layers_1_layer_2_normalization_num_batches_tracked: "i64[] buffer",
    pixel_values: "f32[32, 3, 224, 224]",
    labels: "i64[32] bound=1000",
):
    # [resnet.embedder.embedder.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution: "f32[32, 64, 112, 112]" = aten.convolution.default(pixel_values, resnet_embedder_embedder_convolution_weight, None, [2, 2], [3, 3], [1, 1], False, [0, 0], 1)
    # [resnet.embedder.embedder.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add: "i64[]" = aten.add.Tensor(resnet_embedder_embedder_normalization_num_batches_tracked, 1)
    var_mean: ("f32[1, 64, 1, 1]", "f32[1, 64, 1, 1]") = aten.var_mean.correction(convolution, [0, 2, 3], correction=0, keepdim=True)
    getitem: "f32[1, 64, 1, 1]" = getitem(var_mean, 0)
    getitem_1: "f32[1, 64, 1, 1]" = getitem(var_mean, 1)
    add_1: "f32[1, 64, 1, 1]" = aten.add.Tensor(getitem, 1e-05)
    rsqrt: "f32[1, 64, 1, 1]" = aten.rsqrt.default(add_1)
    sub: "f32[32, 64, 112, 112]" = aten.sub.Tensor(convolution, getitem_1)
    mul: "f32[32, 64, 112, 112]" = aten.mul.Tensor(sub, rsqrt)
    squeeze: "f32[64]" = aten.squeeze.dims(getitem_1, [0, 2, 3])
    squeeze_1: "f32[64]" = aten.squeeze.dims(rsqrt, [0, 2, 3])
    mul_1: "f32[64]" = aten.mul.Tensor(squeeze, 0.1)
    mul_2: "f32[64]" = aten.mul.Tensor(resnet_embedder_embedder_normalization_running_mean, 0.9)
    add_2: "f32[64]" = aten.add.Tensor(mul_1, mul_2)
    squeeze_2: "f32[64]" = aten.squeeze.dims(getitem, [0, 2, 3])
    mul_3: "f32[64]" = aten.mul.Tensor(squeeze_2, 1.0000024912370735)
    mul_4: "f32[64]" = aten.mul.Tensor(mul_3, 0.1)
    mul_5: "f32[64]" = aten.mul.Tensor(resnet_embedder_embedder_normalization_running_var, 0.9)
    add_3: "f32[64]" = aten.add.Tensor(mul_4, mul_5)
    unsqueeze: "f32[64, 1]" = aten.unsqueeze.default(resnet_embedder_embedder_normalization_weight, -1)
    unsqueeze_1: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze, -1)
    mul_6: "f32[32, 64, 112, 112]" = aten.mul.Tensor(mul, unsqueeze_1)
    unsqueeze_2: "f32[64, 1]" = aten.unsqueeze.default(resnet_embedder_embedder_normalization_bias, -1)
    unsqueeze_3: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_2, -1)
    add_4: "f32[32, 64, 112, 112]" = aten.add.Tensor(mul_6, unsqueeze_3)
    # [resnet.embedder.embedder.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu: "f32[32, 64, 112, 112]" = aten.relu.default(add_4)
    # [resnet.embedder.pooler] modeling_resnet.py:92 in forward: embedding = self.pooler(embedding)
    max_pool2d_with_indices: ("f32[32, 64, 56, 56]", "i64[32, 64, 56, 56]") = aten.max_pool2d_with_indices.default(relu, [3, 3], [2, 2], [1, 1])
    getitem_2: "f32[32, 64, 56, 56]" = getitem(max_pool2d_with_indices, 0)
    getitem_3: "i64[32, 64, 56, 56]" = getitem(max_pool2d_with_indices, 1)
    # [resnet.encoder.stages.0.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_1: "f32[32, 64, 56, 56]" = aten.convolution.default(getitem_2, resnet_encoder_stages_0_layers_0_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.0.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_5: "i64[]" = aten.add.Tensor(resnet_encoder_stages_0_layers_0_layer_0_normalization_num_batches_tracked, 1)
    var_mean_1: ("f32[1, 64, 1, 1]", "f32[1, 64, 1, 1]") = aten.var_mean.correction(convolution_1, [0, 2, 3], correction=0, keepdim=True)
    getitem_4: "f32[1, 64, 1, 1]" = getitem(var_mean_1, 0)
    getitem_5: "f32[1, 64, 1, 1]" = getitem(var_mean_1, 1)
    add_6: "f32[1, 64, 1, 1]" = aten.add.Tensor(getitem_4, 1e-05)
    rsqrt_1: "f32[1, 64, 1, 1]" = aten.rsqrt.default(add_6)
    sub_1: "f32[32, 64, 56, 56]" = aten.sub.Tensor(convolution_1, getitem_5)
    mul_7: "f32[32, 64, 56, 56]" = aten.mul.Tensor(sub_1, rsqrt_1)
    squeeze_3: "f32[64]" = aten.squeeze.dims(getitem_5, [0, 2, 3])
    squeeze_4: "f32[64]" = aten.squeeze.dims(rsqrt_1, [0, 2, 3])
    mul_8: "f32[64]" = aten.mul.Tensor(squeeze_3, 0.1)
    mul_9: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_layer_0_normalization_running_mean, 0.9)
    add_7: "f32[64]" = aten.add.Tensor(mul_8, mul_9)
    squeeze_5: "f32[64]" = aten.squeeze.dims(getitem_4, [0, 2, 3])
    mul_10: "f32[64]" = aten.mul.Tensor(squeeze_5, 1.00000996502277)
    mul_11: "f32[64]" = aten.mul.Tensor(mul_10, 0.1)
    mul_12: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_layer_0_normalization_running_var, 0.9)
    add_8: "f32[64]" = aten.add.Tensor(mul_11, mul_12)
    unsqueeze_4: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_layer_0_normalization_weight, -1)
    unsqueeze_5: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_4, -1)
    mul_13: "f32[32, 64, 56, 56]" = aten.mul.Tensor(mul_7, unsqueeze_5)
    unsqueeze_6: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_layer_0_normalization_bias, -1)
    unsqueeze_7: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_6, -1)
    add_9: "f32[32, 64, 56, 56]" = aten.add.Tensor(mul_13, unsqueeze_7)
    # [resnet.encoder.stages.0.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_1: "f32[32, 64, 56, 56]" = aten.relu.default(add_9)
    # [resnet.encoder.stages.0.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_2: "f32[32, 64, 56, 56]" = aten.convolution.default(relu_1, resnet_encoder_stages_0_layers_0_layer_1_convolution_weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.0.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_10: "i64[]" = aten.add.Tensor(resnet_encoder_stages_0_layers_0_layer_1_normalization_num_batches_tracked, 1)
    var_mean_2: ("f32[1, 64, 1, 1]", "f32[1, 64, 1, 1]") = aten.var_mean.correction(convolution_2, [0, 2, 3], correction=0, keepdim=True)
    getitem_6: "f32[1, 64, 1, 1]" = getitem(var_mean_2, 0)
    getitem_7: "f32[1, 64, 1, 1]" = getitem(var_mean_2, 1)
    add_11: "f32[1, 64, 1, 1]" = aten.add.Tensor(getitem_6, 1e-05)
    rsqrt_2: "f32[1, 64, 1, 1]" = aten.rsqrt.default(add_11)
    sub_2: "f32[32, 64, 56, 56]" = aten.sub.Tensor(convolution_2, getitem_7)
    mul_14: "f32[32, 64, 56, 56]" = aten.mul.Tensor(sub_2, rsqrt_2)
    squeeze_6: "f32[64]" = aten.squeeze.dims(getitem_7, [0, 2, 3])
    squeeze_7: "f32[64]" = aten.squeeze.dims(rsqrt_2, [0, 2, 3])
    mul_15: "f32[64]" = aten.mul.Tensor(squeeze_6, 0.1)
    mul_16: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_layer_1_normalization_running_mean, 0.9)
    add_12: "f32[64]" = aten.add.Tensor(mul_15, mul_16)
    squeeze_8: "f32[64]" = aten.squeeze.dims(getitem_6, [0, 2, 3])
    mul_17: "f32[64]" = aten.mul.Tensor(squeeze_8, 1.00000996502277)
    mul_18: "f32[64]" = aten.mul.Tensor(mul_17, 0.1)
    mul_19: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_layer_1_normalization_running_var, 0.9)
    add_13: "f32[64]" = aten.add.Tensor(mul_18, mul_19)
    unsqueeze_8: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_layer_1_normalization_weight, -1)
    unsqueeze_9: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_8, -1)
    mul_20: "f32[32, 64, 56, 56]" = aten.mul.Tensor(mul_14, unsqueeze_9)
    unsqueeze_10: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_layer_1_normalization_bias, -1)
    unsqueeze_11: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_10, -1)
    add_14: "f32[32, 64, 56, 56]" = aten.add.Tensor(mul_20, unsqueeze_11)
    # [resnet.encoder.stages.0.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_2: "f32[32, 64, 56, 56]" = aten.relu.default(add_14)
    # [resnet.encoder.stages.0.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_3: "f32[32, 256, 56, 56]" = aten.convolution.default(relu_2, resnet_encoder_stages_0_layers_0_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.0.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_15: "i64[]" = aten.add.Tensor(resnet_encoder_stages_0_layers_0_layer_2_normalization_num_batches_tracked, 1)
    var_mean_3: ("f32[1, 256, 1, 1]", "f32[1, 256, 1, 1]") = aten.var_mean.correction(convolution_3, [0, 2, 3], correction=0, keepdim=True)
    getitem_8: "f32[1, 256, 1, 1]" = getitem(var_mean_3, 0)
    getitem_9: "f32[1, 256, 1, 1]" = getitem(var_mean_3, 1)
    add_16: "f32[1, 256, 1, 1]" = aten.add.Tensor(getitem_8, 1e-05)
    rsqrt_3: "f32[1, 256, 1, 1]" = aten.rsqrt.default(add_16)
    sub_3: "f32[32, 256, 56, 56]" = aten.sub.Tensor(convolution_3, getitem_9)
    mul_21: "f32[32, 256, 56, 56]" = aten.mul.Tensor(sub_3, rsqrt_3)
    squeeze_9: "f32[256]" = aten.squeeze.dims(getitem_9, [0, 2, 3])
    squeeze_10: "f32[256]" = aten.squeeze.dims(rsqrt_3, [0, 2, 3])
    mul_22: "f32[256]" = aten.mul.Tensor(squeeze_9, 0.1)
    mul_23: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_layer_2_normalization_running_mean, 0.9)
    add_17: "f32[256]" = aten.add.Tensor(mul_22, mul_23)
    squeeze_11: "f32[256]" = aten.squeeze.dims(getitem_8, [0, 2, 3])
    mul_24: "f32[256]" = aten.mul.Tensor(squeeze_11, 1.00000996502277)
    mul_25: "f32[256]" = aten.mul.Tensor(mul_24, 0.1)
    mul_26: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_layer_2_normalization_running_var, 0.9)
    add_18: "f32[256]" = aten.add.Tensor(mul_25, mul_26)
    unsqueeze_12: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_layer_2_normalization_weight, -1)
    unsqueeze_13: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_12, -1)
    mul_27: "f32[32, 256, 56, 56]" = aten.mul.Tensor(mul_21, unsqueeze_13)
    unsqueeze_14: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_layer_2_normalization_bias, -1)
    unsqueeze_15: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_14, -1)
    add_19: "f32[32, 256, 56, 56]" = aten.add.Tensor(mul_27, unsqueeze_15)
    # [resnet.encoder.stages.0.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_4: "f32[32, 256, 56, 56]" = aten.convolution.default(getitem_2, resnet_encoder_stages_0_layers_0_shortcut_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.0.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    add_20: "i64[]" = aten.add.Tensor(resnet_encoder_stages_0_layers_0_shortcut_normalization_num_batches_tracked, 1)
    var_mean_4: ("f32[1, 256, 1, 1]", "f32[1, 256, 1, 1]") = aten.var_mean.correction(convolution_4, [0, 2, 3], correction=0, keepdim=True)
    getitem_10: "f32[1, 256, 1, 1]" = getitem(var_mean_4, 0)
    getitem_11: "f32[1, 256, 1, 1]" = getitem(var_mean_4, 1)
    add_21: "f32[1, 256, 1, 1]" = aten.add.Tensor(getitem_10, 1e-05)
    rsqrt_4: "f32[1, 256, 1, 1]" = aten.rsqrt.default(add_21)
    sub_4: "f32[32, 256, 56, 56]" = aten.sub.Tensor(convolution_4, getitem_11)
    mul_28: "f32[32, 256, 56, 56]" = aten.mul.Tensor(sub_4, rsqrt_4)
    squeeze_12: "f32[256]" = aten.squeeze.dims(getitem_11, [0, 2, 3])
    squeeze_13: "f32[256]" = aten.squeeze.dims(rsqrt_4, [0, 2, 3])
    mul_29: "f32[256]" = aten.mul.Tensor(squeeze_12, 0.1)
    mul_30: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_shortcut_normalization_running_mean, 0.9)
    add_22: "f32[256]" = aten.add.Tensor(mul_29, mul_30)
    squeeze_14: "f32[256]" = aten.squeeze.dims(getitem_10, [0, 2, 3])
    mul_31: "f32[256]" = aten.mul.Tensor(squeeze_14, 1.00000996502277)
    mul_32: "f32[256]" = aten.mul.Tensor(mul_31, 0.1)
    mul_33: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_0_shortcut_normalization_running_var, 0.9)
    add_23: "f32[256]" = aten.add.Tensor(mul_32, mul_33)
    unsqueeze_16: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_shortcut_normalization_weight, -1)
    unsqueeze_17: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_16, -1)
    mul_34: "f32[32, 256, 56, 56]" = aten.mul.Tensor(mul_28, unsqueeze_17)
    unsqueeze_18: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_0_shortcut_normalization_bias, -1)
    unsqueeze_19: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_18, -1)
    add_24: "f32[32, 256, 56, 56]" = aten.add.Tensor(mul_34, unsqueeze_19)
    # [resnet.encoder.stages.0.layers.0] modeling_resnet.py:176 in forward: hidden_state += residual
    add_25: "f32[32, 256, 56, 56]" = aten.add.Tensor(add_19, add_24)
    # [resnet.encoder.stages.0.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_3: "f32[32, 256, 56, 56]" = aten.relu.default(add_25)
    # [resnet.encoder.stages.0.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_5: "f32[32, 64, 56, 56]" = aten.convolution.default(relu_3, resnet_encoder_stages_0_layers_1_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.0.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_26: "i64[]" = aten.add.Tensor(resnet_encoder_stages_0_layers_1_layer_0_normalization_num_batches_tracked, 1)
    var_mean_5: ("f32[1, 64, 1, 1]", "f32[1, 64, 1, 1]") = aten.var_mean.correction(convolution_5, [0, 2, 3], correction=0, keepdim=True)
    getitem_12: "f32[1, 64, 1, 1]" = getitem(var_mean_5, 0)
    getitem_13: "f32[1, 64, 1, 1]" = getitem(var_mean_5, 1)
    add_27: "f32[1, 64, 1, 1]" = aten.add.Tensor(getitem_12, 1e-05)
    rsqrt_5: "f32[1, 64, 1, 1]" = aten.rsqrt.default(add_27)
    sub_5: "f32[32, 64, 56, 56]" = aten.sub.Tensor(convolution_5, getitem_13)
    mul_35: "f32[32, 64, 56, 56]" = aten.mul.Tensor(sub_5, rsqrt_5)
    squeeze_15: "f32[64]" = aten.squeeze.dims(getitem_13, [0, 2, 3])
    squeeze_16: "f32[64]" = aten.squeeze.dims(rsqrt_5, [0, 2, 3])
    mul_36: "f32[64]" = aten.mul.Tensor(squeeze_15, 0.1)
    mul_37: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_1_layer_0_normalization_running_mean, 0.9)
    add_28: "f32[64]" = aten.add.Tensor(mul_36, mul_37)
    squeeze_17: "f32[64]" = aten.squeeze.dims(getitem_12, [0, 2, 3])
    mul_38: "f32[64]" = aten.mul.Tensor(squeeze_17, 1.00000996502277)
    mul_39: "f32[64]" = aten.mul.Tensor(mul_38, 0.1)
    mul_40: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_1_layer_0_normalization_running_var, 0.9)
    add_29: "f32[64]" = aten.add.Tensor(mul_39, mul_40)
    unsqueeze_20: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_1_layer_0_normalization_weight, -1)
    unsqueeze_21: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_20, -1)
    mul_41: "f32[32, 64, 56, 56]" = aten.mul.Tensor(mul_35, unsqueeze_21)
    unsqueeze_22: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_1_layer_0_normalization_bias, -1)
    unsqueeze_23: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_22, -1)
    add_30: "f32[32, 64, 56, 56]" = aten.add.Tensor(mul_41, unsqueeze_23)
    # [resnet.encoder.stages.0.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_4: "f32[32, 64, 56, 56]" = aten.relu.default(add_30)
    # [resnet.encoder.stages.0.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_6: "f32[32, 64, 56, 56]" = aten.convolution.default(relu_4, resnet_encoder_stages_0_layers_1_layer_1_convolution_weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.0.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_31: "i64[]" = aten.add.Tensor(resnet_encoder_stages_0_layers_1_layer_1_normalization_num_batches_tracked, 1)
    var_mean_6: ("f32[1, 64, 1, 1]", "f32[1, 64, 1, 1]") = aten.var_mean.correction(convolution_6, [0, 2, 3], correction=0, keepdim=True)
    getitem_14: "f32[1, 64, 1, 1]" = getitem(var_mean_6, 0)
    getitem_15: "f32[1, 64, 1, 1]" = getitem(var_mean_6, 1)
    add_32: "f32[1, 64, 1, 1]" = aten.add.Tensor(getitem_14, 1e-05)
    rsqrt_6: "f32[1, 64, 1, 1]" = aten.rsqrt.default(add_32)
    sub_6: "f32[32, 64, 56, 56]" = aten.sub.Tensor(convolution_6, getitem_15)
    mul_42: "f32[32, 64, 56, 56]" = aten.mul.Tensor(sub_6, rsqrt_6)
    squeeze_18: "f32[64]" = aten.squeeze.dims(getitem_15, [0, 2, 3])
    squeeze_19: "f32[64]" = aten.squeeze.dims(rsqrt_6, [0, 2, 3])
    mul_43: "f32[64]" = aten.mul.Tensor(squeeze_18, 0.1)
    mul_44: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_1_layer_1_normalization_running_mean, 0.9)
    add_33: "f32[64]" = aten.add.Tensor(mul_43, mul_44)
    squeeze_20: "f32[64]" = aten.squeeze.dims(getitem_14, [0, 2, 3])
    mul_45: "f32[64]" = aten.mul.Tensor(squeeze_20, 1.00000996502277)
    mul_46: "f32[64]" = aten.mul.Tensor(mul_45, 0.1)
    mul_47: "f32[64]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_1_layer_1_normalization_running_var, 0.9)
    add_34: "f32[64]" = aten.add.Tensor(mul_46, mul_47)
    unsqueeze_24: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_1_layer_1_normalization_weight, -1)
    unsqueeze_25: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_24, -1)
    mul_48: "f32[32, 64, 56, 56]" = aten.mul.Tensor(mul_42, unsqueeze_25)
    unsqueeze_26: "f32[64, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_1_layer_1_normalization_bias, -1)
    unsqueeze_27: "f32[64, 1, 1]" = aten.unsqueeze.default(unsqueeze_26, -1)
    add_35: "f32[32, 64, 56, 56]" = aten.add.Tensor(mul_48, unsqueeze_27)
    # [resnet.encoder.stages.0.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_5: "f32[32, 64, 56, 56]" = aten.relu.default(add_35)
    # [resnet.encoder.stages.0.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_7: "f32[32, 256, 56, 56]" = aten.convolution.default(relu_5, resnet_encoder_stages_0_layers_1_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.0.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_36: "i64[]" = aten.add.Tensor(resnet_encoder_stages_0_layers_1_layer_2_normalization_num_batches_tracked, 1)
    var_mean_7: ("f32[1, 256, 1, 1]", "f32[1, 256, 1, 1]") = aten.var_mean.correction(convolution_7, [0, 2, 3], correction=0, keepdim=True)
    getitem_16: "f32[1, 256, 1, 1]" = getitem(var_mean_7, 0)
    getitem_17: "f32[1, 256, 1, 1]" = getitem(var_mean_7, 1)
    add_37: "f32[1, 256, 1, 1]" = aten.add.Tensor(getitem_16, 1e-05)
    rsqrt_7: "f32[1, 256, 1, 1]" = aten.rsqrt.default(add_37)
    sub_7: "f32[32, 256, 56, 56]" = aten.sub.Tensor(convolution_7, getitem_17)
    mul_49: "f32[32, 256, 56, 56]" = aten.mul.Tensor(sub_7, rsqrt_7)
    squeeze_21: "f32[256]" = aten.squeeze.dims(getitem_17, [0, 2, 3])
    squeeze_22: "f32[256]" = aten.squeeze.dims(rsqrt_7, [0, 2, 3])
    mul_50: "f32[256]" = aten.mul.Tensor(squeeze_21, 0.1)
    mul_51: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_1_layer_2_normalization_running_mean, 0.9)
    add_38: "f32[256]" = aten.add.Tensor(mul_50, mul_51)
    squeeze_23: "f32[256]" = aten.squeeze.dims(getitem_16, [0, 2, 3])
    mul_52: "f32[256]" = aten.mul.Tensor(squeeze_23, 1.00000996502277)
    mul_53: "f32[256]" = aten.mul.Tensor(mul_52, 0.1)
    mul_54: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_0_layers_1_layer_2_normalization_running_var, 0.9)
    add_39: "f32[256]" = aten.add.Tensor(mul_53, mul_54)
    unsqueeze_28: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_1_layer_2_normalization_weight, -1)
    unsqueeze_29: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_28, -1)
    mul_55: "f32[32, 256, 56, 56]" = aten.mul.Tensor(mul_49, unsqueeze_29)
    unsqueeze_30: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_0_layers_1_layer_2_normalization_bias, -1)
    unsqueeze_31: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_30, -1)
    add_40: "f32[32, 256, 56, 56]" = aten.add.Tensor(mul_55, unsqueeze_31)
    # [resnet.encoder.stages.0.layers.1] modeling_resnet.py:176 in forward: hidden_state += residual
    add_41: "f32[32, 256, 56, 56]" = aten.add.Tensor(add_40, relu_3)
    # [resnet.encoder.stages.0.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_6: "f32[32, 256, 56, 56]" = aten.relu.default(add_41)
    # [resnet.encoder.stages.1.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_8: "f32[32, 128, 56, 56]" = aten.convolution.default(relu_6, resnet_encoder_stages_1_layers_0_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.1.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_42: "i64[]" = aten.add.Tensor(resnet_encoder_stages_1_layers_0_layer_0_normalization_num_batches_tracked, 1)
    var_mean_8: ("f32[1, 128, 1, 1]", "f32[1, 128, 1, 1]") = aten.var_mean.correction(convolution_8, [0, 2, 3], correction=0, keepdim=True)
    getitem_18: "f32[1, 128, 1, 1]" = getitem(var_mean_8, 0)
    getitem_19: "f32[1, 128, 1, 1]" = getitem(var_mean_8, 1)
    add_43: "f32[1, 128, 1, 1]" = aten.add.Tensor(getitem_18, 1e-05)
    rsqrt_8: "f32[1, 128, 1, 1]" = aten.rsqrt.default(add_43)
    sub_8: "f32[32, 128, 56, 56]" = aten.sub.Tensor(convolution_8, getitem_19)
    mul_56: "f32[32, 128, 56, 56]" = aten.mul.Tensor(sub_8, rsqrt_8)
    squeeze_24: "f32[128]" = aten.squeeze.dims(getitem_19, [0, 2, 3])
    squeeze_25: "f32[128]" = aten.squeeze.dims(rsqrt_8, [0, 2, 3])
    mul_57: "f32[128]" = aten.mul.Tensor(squeeze_24, 0.1)
    mul_58: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_layer_0_normalization_running_mean, 0.9)
    add_44: "f32[128]" = aten.add.Tensor(mul_57, mul_58)
    squeeze_26: "f32[128]" = aten.squeeze.dims(getitem_18, [0, 2, 3])
    mul_59: "f32[128]" = aten.mul.Tensor(squeeze_26, 1.00000996502277)
    mul_60: "f32[128]" = aten.mul.Tensor(mul_59, 0.1)
    mul_61: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_layer_0_normalization_running_var, 0.9)
    add_45: "f32[128]" = aten.add.Tensor(mul_60, mul_61)
    unsqueeze_32: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_layer_0_normalization_weight, -1)
    unsqueeze_33: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_32, -1)
    mul_62: "f32[32, 128, 56, 56]" = aten.mul.Tensor(mul_56, unsqueeze_33)
    unsqueeze_34: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_layer_0_normalization_bias, -1)
    unsqueeze_35: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_34, -1)
    add_46: "f32[32, 128, 56, 56]" = aten.add.Tensor(mul_62, unsqueeze_35)
    # [resnet.encoder.stages.1.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_7: "f32[32, 128, 56, 56]" = aten.relu.default(add_46)
    # [resnet.encoder.stages.1.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_9: "f32[32, 128, 28, 28]" = aten.convolution.default(relu_7, resnet_encoder_stages_1_layers_0_layer_1_convolution_weight, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.1.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_47: "i64[]" = aten.add.Tensor(resnet_encoder_stages_1_layers_0_layer_1_normalization_num_batches_tracked, 1)
    var_mean_9: ("f32[1, 128, 1, 1]", "f32[1, 128, 1, 1]") = aten.var_mean.correction(convolution_9, [0, 2, 3], correction=0, keepdim=True)
    getitem_20: "f32[1, 128, 1, 1]" = getitem(var_mean_9, 0)
    getitem_21: "f32[1, 128, 1, 1]" = getitem(var_mean_9, 1)
    add_48: "f32[1, 128, 1, 1]" = aten.add.Tensor(getitem_20, 1e-05)
    rsqrt_9: "f32[1, 128, 1, 1]" = aten.rsqrt.default(add_48)
    sub_9: "f32[32, 128, 28, 28]" = aten.sub.Tensor(convolution_9, getitem_21)
    mul_63: "f32[32, 128, 28, 28]" = aten.mul.Tensor(sub_9, rsqrt_9)
    squeeze_27: "f32[128]" = aten.squeeze.dims(getitem_21, [0, 2, 3])
    squeeze_28: "f32[128]" = aten.squeeze.dims(rsqrt_9, [0, 2, 3])
    mul_64: "f32[128]" = aten.mul.Tensor(squeeze_27, 0.1)
    mul_65: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_layer_1_normalization_running_mean, 0.9)
    add_49: "f32[128]" = aten.add.Tensor(mul_64, mul_65)
    squeeze_29: "f32[128]" = aten.squeeze.dims(getitem_20, [0, 2, 3])
    mul_66: "f32[128]" = aten.mul.Tensor(squeeze_29, 1.0000398612827361)
    mul_67: "f32[128]" = aten.mul.Tensor(mul_66, 0.1)
    mul_68: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_layer_1_normalization_running_var, 0.9)
    add_50: "f32[128]" = aten.add.Tensor(mul_67, mul_68)
    unsqueeze_36: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_layer_1_normalization_weight, -1)
    unsqueeze_37: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_36, -1)
    mul_69: "f32[32, 128, 28, 28]" = aten.mul.Tensor(mul_63, unsqueeze_37)
    unsqueeze_38: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_layer_1_normalization_bias, -1)
    unsqueeze_39: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_38, -1)
    add_51: "f32[32, 128, 28, 28]" = aten.add.Tensor(mul_69, unsqueeze_39)
    # [resnet.encoder.stages.1.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_8: "f32[32, 128, 28, 28]" = aten.relu.default(add_51)
    # [resnet.encoder.stages.1.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_10: "f32[32, 512, 28, 28]" = aten.convolution.default(relu_8, resnet_encoder_stages_1_layers_0_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.1.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_52: "i64[]" = aten.add.Tensor(resnet_encoder_stages_1_layers_0_layer_2_normalization_num_batches_tracked, 1)
    var_mean_10: ("f32[1, 512, 1, 1]", "f32[1, 512, 1, 1]") = aten.var_mean.correction(convolution_10, [0, 2, 3], correction=0, keepdim=True)
    getitem_22: "f32[1, 512, 1, 1]" = getitem(var_mean_10, 0)
    getitem_23: "f32[1, 512, 1, 1]" = getitem(var_mean_10, 1)
    add_53: "f32[1, 512, 1, 1]" = aten.add.Tensor(getitem_22, 1e-05)
    rsqrt_10: "f32[1, 512, 1, 1]" = aten.rsqrt.default(add_53)
    sub_10: "f32[32, 512, 28, 28]" = aten.sub.Tensor(convolution_10, getitem_23)
    mul_70: "f32[32, 512, 28, 28]" = aten.mul.Tensor(sub_10, rsqrt_10)
    squeeze_30: "f32[512]" = aten.squeeze.dims(getitem_23, [0, 2, 3])
    squeeze_31: "f32[512]" = aten.squeeze.dims(rsqrt_10, [0, 2, 3])
    mul_71: "f32[512]" = aten.mul.Tensor(squeeze_30, 0.1)
    mul_72: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_layer_2_normalization_running_mean, 0.9)
    add_54: "f32[512]" = aten.add.Tensor(mul_71, mul_72)
    squeeze_32: "f32[512]" = aten.squeeze.dims(getitem_22, [0, 2, 3])
    mul_73: "f32[512]" = aten.mul.Tensor(squeeze_32, 1.0000398612827361)
    mul_74: "f32[512]" = aten.mul.Tensor(mul_73, 0.1)
    mul_75: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_layer_2_normalization_running_var, 0.9)
    add_55: "f32[512]" = aten.add.Tensor(mul_74, mul_75)
    unsqueeze_40: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_layer_2_normalization_weight, -1)
    unsqueeze_41: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_40, -1)
    mul_76: "f32[32, 512, 28, 28]" = aten.mul.Tensor(mul_70, unsqueeze_41)
    unsqueeze_42: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_layer_2_normalization_bias, -1)
    unsqueeze_43: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_42, -1)
    add_56: "f32[32, 512, 28, 28]" = aten.add.Tensor(mul_76, unsqueeze_43)
    # [resnet.encoder.stages.1.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_11: "f32[32, 512, 28, 28]" = aten.convolution.default(relu_6, resnet_encoder_stages_1_layers_0_shortcut_convolution_weight, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.1.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    add_57: "i64[]" = aten.add.Tensor(resnet_encoder_stages_1_layers_0_shortcut_normalization_num_batches_tracked, 1)
    var_mean_11: ("f32[1, 512, 1, 1]", "f32[1, 512, 1, 1]") = aten.var_mean.correction(convolution_11, [0, 2, 3], correction=0, keepdim=True)
    getitem_24: "f32[1, 512, 1, 1]" = getitem(var_mean_11, 0)
    getitem_25: "f32[1, 512, 1, 1]" = getitem(var_mean_11, 1)
    add_58: "f32[1, 512, 1, 1]" = aten.add.Tensor(getitem_24, 1e-05)
    rsqrt_11: "f32[1, 512, 1, 1]" = aten.rsqrt.default(add_58)
    sub_11: "f32[32, 512, 28, 28]" = aten.sub.Tensor(convolution_11, getitem_25)
    mul_77: "f32[32, 512, 28, 28]" = aten.mul.Tensor(sub_11, rsqrt_11)
    squeeze_33: "f32[512]" = aten.squeeze.dims(getitem_25, [0, 2, 3])
    squeeze_34: "f32[512]" = aten.squeeze.dims(rsqrt_11, [0, 2, 3])
    mul_78: "f32[512]" = aten.mul.Tensor(squeeze_33, 0.1)
    mul_79: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_shortcut_normalization_running_mean, 0.9)
    add_59: "f32[512]" = aten.add.Tensor(mul_78, mul_79)
    squeeze_35: "f32[512]" = aten.squeeze.dims(getitem_24, [0, 2, 3])
    mul_80: "f32[512]" = aten.mul.Tensor(squeeze_35, 1.0000398612827361)
    mul_81: "f32[512]" = aten.mul.Tensor(mul_80, 0.1)
    mul_82: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_0_shortcut_normalization_running_var, 0.9)
    add_60: "f32[512]" = aten.add.Tensor(mul_81, mul_82)
    unsqueeze_44: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_shortcut_normalization_weight, -1)
    unsqueeze_45: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_44, -1)
    mul_83: "f32[32, 512, 28, 28]" = aten.mul.Tensor(mul_77, unsqueeze_45)
    unsqueeze_46: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_0_shortcut_normalization_bias, -1)
    unsqueeze_47: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_46, -1)
    add_61: "f32[32, 512, 28, 28]" = aten.add.Tensor(mul_83, unsqueeze_47)
    # [resnet.encoder.stages.1.layers.0] modeling_resnet.py:176 in forward: hidden_state += residual
    add_62: "f32[32, 512, 28, 28]" = aten.add.Tensor(add_56, add_61)
    # [resnet.encoder.stages.1.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_9: "f32[32, 512, 28, 28]" = aten.relu.default(add_62)
    # [resnet.encoder.stages.1.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_12: "f32[32, 128, 28, 28]" = aten.convolution.default(relu_9, resnet_encoder_stages_1_layers_1_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.1.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_63: "i64[]" = aten.add.Tensor(resnet_encoder_stages_1_layers_1_layer_0_normalization_num_batches_tracked, 1)
    var_mean_12: ("f32[1, 128, 1, 1]", "f32[1, 128, 1, 1]") = aten.var_mean.correction(convolution_12, [0, 2, 3], correction=0, keepdim=True)
    getitem_26: "f32[1, 128, 1, 1]" = getitem(var_mean_12, 0)
    getitem_27: "f32[1, 128, 1, 1]" = getitem(var_mean_12, 1)
    add_64: "f32[1, 128, 1, 1]" = aten.add.Tensor(getitem_26, 1e-05)
    rsqrt_12: "f32[1, 128, 1, 1]" = aten.rsqrt.default(add_64)
    sub_12: "f32[32, 128, 28, 28]" = aten.sub.Tensor(convolution_12, getitem_27)
    mul_84: "f32[32, 128, 28, 28]" = aten.mul.Tensor(sub_12, rsqrt_12)
    squeeze_36: "f32[128]" = aten.squeeze.dims(getitem_27, [0, 2, 3])
    squeeze_37: "f32[128]" = aten.squeeze.dims(rsqrt_12, [0, 2, 3])
    mul_85: "f32[128]" = aten.mul.Tensor(squeeze_36, 0.1)
    mul_86: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_1_layer_0_normalization_running_mean, 0.9)
    add_65: "f32[128]" = aten.add.Tensor(mul_85, mul_86)
    squeeze_38: "f32[128]" = aten.squeeze.dims(getitem_26, [0, 2, 3])
    mul_87: "f32[128]" = aten.mul.Tensor(squeeze_38, 1.0000398612827361)
    mul_88: "f32[128]" = aten.mul.Tensor(mul_87, 0.1)
    mul_89: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_1_layer_0_normalization_running_var, 0.9)
    add_66: "f32[128]" = aten.add.Tensor(mul_88, mul_89)
    unsqueeze_48: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_1_layer_0_normalization_weight, -1)
    unsqueeze_49: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_48, -1)
    mul_90: "f32[32, 128, 28, 28]" = aten.mul.Tensor(mul_84, unsqueeze_49)
    unsqueeze_50: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_1_layer_0_normalization_bias, -1)
    unsqueeze_51: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_50, -1)
    add_67: "f32[32, 128, 28, 28]" = aten.add.Tensor(mul_90, unsqueeze_51)
    # [resnet.encoder.stages.1.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_10: "f32[32, 128, 28, 28]" = aten.relu.default(add_67)
    # [resnet.encoder.stages.1.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_13: "f32[32, 128, 28, 28]" = aten.convolution.default(relu_10, resnet_encoder_stages_1_layers_1_layer_1_convolution_weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.1.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_68: "i64[]" = aten.add.Tensor(resnet_encoder_stages_1_layers_1_layer_1_normalization_num_batches_tracked, 1)
    var_mean_13: ("f32[1, 128, 1, 1]", "f32[1, 128, 1, 1]") = aten.var_mean.correction(convolution_13, [0, 2, 3], correction=0, keepdim=True)
    getitem_28: "f32[1, 128, 1, 1]" = getitem(var_mean_13, 0)
    getitem_29: "f32[1, 128, 1, 1]" = getitem(var_mean_13, 1)
    add_69: "f32[1, 128, 1, 1]" = aten.add.Tensor(getitem_28, 1e-05)
    rsqrt_13: "f32[1, 128, 1, 1]" = aten.rsqrt.default(add_69)
    sub_13: "f32[32, 128, 28, 28]" = aten.sub.Tensor(convolution_13, getitem_29)
    mul_91: "f32[32, 128, 28, 28]" = aten.mul.Tensor(sub_13, rsqrt_13)
    squeeze_39: "f32[128]" = aten.squeeze.dims(getitem_29, [0, 2, 3])
    squeeze_40: "f32[128]" = aten.squeeze.dims(rsqrt_13, [0, 2, 3])
    mul_92: "f32[128]" = aten.mul.Tensor(squeeze_39, 0.1)
    mul_93: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_1_layer_1_normalization_running_mean, 0.9)
    add_70: "f32[128]" = aten.add.Tensor(mul_92, mul_93)
    squeeze_41: "f32[128]" = aten.squeeze.dims(getitem_28, [0, 2, 3])
    mul_94: "f32[128]" = aten.mul.Tensor(squeeze_41, 1.0000398612827361)
    mul_95: "f32[128]" = aten.mul.Tensor(mul_94, 0.1)
    mul_96: "f32[128]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_1_layer_1_normalization_running_var, 0.9)
    add_71: "f32[128]" = aten.add.Tensor(mul_95, mul_96)
    unsqueeze_52: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_1_layer_1_normalization_weight, -1)
    unsqueeze_53: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_52, -1)
    mul_97: "f32[32, 128, 28, 28]" = aten.mul.Tensor(mul_91, unsqueeze_53)
    unsqueeze_54: "f32[128, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_1_layer_1_normalization_bias, -1)
    unsqueeze_55: "f32[128, 1, 1]" = aten.unsqueeze.default(unsqueeze_54, -1)
    add_72: "f32[32, 128, 28, 28]" = aten.add.Tensor(mul_97, unsqueeze_55)
    # [resnet.encoder.stages.1.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_11: "f32[32, 128, 28, 28]" = aten.relu.default(add_72)
    # [resnet.encoder.stages.1.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_14: "f32[32, 512, 28, 28]" = aten.convolution.default(relu_11, resnet_encoder_stages_1_layers_1_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.1.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_73: "i64[]" = aten.add.Tensor(resnet_encoder_stages_1_layers_1_layer_2_normalization_num_batches_tracked, 1)
    var_mean_14: ("f32[1, 512, 1, 1]", "f32[1, 512, 1, 1]") = aten.var_mean.correction(convolution_14, [0, 2, 3], correction=0, keepdim=True)
    getitem_30: "f32[1, 512, 1, 1]" = getitem(var_mean_14, 0)
    getitem_31: "f32[1, 512, 1, 1]" = getitem(var_mean_14, 1)
    add_74: "f32[1, 512, 1, 1]" = aten.add.Tensor(getitem_30, 1e-05)
    rsqrt_14: "f32[1, 512, 1, 1]" = aten.rsqrt.default(add_74)
    sub_14: "f32[32, 512, 28, 28]" = aten.sub.Tensor(convolution_14, getitem_31)
    mul_98: "f32[32, 512, 28, 28]" = aten.mul.Tensor(sub_14, rsqrt_14)
    squeeze_42: "f32[512]" = aten.squeeze.dims(getitem_31, [0, 2, 3])
    squeeze_43: "f32[512]" = aten.squeeze.dims(rsqrt_14, [0, 2, 3])
    mul_99: "f32[512]" = aten.mul.Tensor(squeeze_42, 0.1)
    mul_100: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_1_layer_2_normalization_running_mean, 0.9)
    add_75: "f32[512]" = aten.add.Tensor(mul_99, mul_100)
    squeeze_44: "f32[512]" = aten.squeeze.dims(getitem_30, [0, 2, 3])
    mul_101: "f32[512]" = aten.mul.Tensor(squeeze_44, 1.0000398612827361)
    mul_102: "f32[512]" = aten.mul.Tensor(mul_101, 0.1)
    mul_103: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_1_layers_1_layer_2_normalization_running_var, 0.9)
    add_76: "f32[512]" = aten.add.Tensor(mul_102, mul_103)
    unsqueeze_56: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_1_layer_2_normalization_weight, -1)
    unsqueeze_57: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_56, -1)
    mul_104: "f32[32, 512, 28, 28]" = aten.mul.Tensor(mul_98, unsqueeze_57)
    unsqueeze_58: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_1_layers_1_layer_2_normalization_bias, -1)
    unsqueeze_59: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_58, -1)
    add_77: "f32[32, 512, 28, 28]" = aten.add.Tensor(mul_104, unsqueeze_59)
    # [resnet.encoder.stages.1.layers.1] modeling_resnet.py:176 in forward: hidden_state += residual
    add_78: "f32[32, 512, 28, 28]" = aten.add.Tensor(add_77, relu_9)
    # [resnet.encoder.stages.1.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_12: "f32[32, 512, 28, 28]" = aten.relu.default(add_78)
    # [resnet.encoder.stages.2.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_15: "f32[32, 256, 28, 28]" = aten.convolution.default(relu_12, resnet_encoder_stages_2_layers_0_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.2.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_79: "i64[]" = aten.add.Tensor(resnet_encoder_stages_2_layers_0_layer_0_normalization_num_batches_tracked, 1)
    var_mean_15: ("f32[1, 256, 1, 1]", "f32[1, 256, 1, 1]") = aten.var_mean.correction(convolution_15, [0, 2, 3], correction=0, keepdim=True)
    getitem_32: "f32[1, 256, 1, 1]" = getitem(var_mean_15, 0)
    getitem_33: "f32[1, 256, 1, 1]" = getitem(var_mean_15, 1)
    add_80: "f32[1, 256, 1, 1]" = aten.add.Tensor(getitem_32, 1e-05)
    rsqrt_15: "f32[1, 256, 1, 1]" = aten.rsqrt.default(add_80)
    sub_15: "f32[32, 256, 28, 28]" = aten.sub.Tensor(convolution_15, getitem_33)
    mul_105: "f32[32, 256, 28, 28]" = aten.mul.Tensor(sub_15, rsqrt_15)
    squeeze_45: "f32[256]" = aten.squeeze.dims(getitem_33, [0, 2, 3])
    squeeze_46: "f32[256]" = aten.squeeze.dims(rsqrt_15, [0, 2, 3])
    mul_106: "f32[256]" = aten.mul.Tensor(squeeze_45, 0.1)
    mul_107: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_layer_0_normalization_running_mean, 0.9)
    add_81: "f32[256]" = aten.add.Tensor(mul_106, mul_107)
    squeeze_47: "f32[256]" = aten.squeeze.dims(getitem_32, [0, 2, 3])
    mul_108: "f32[256]" = aten.mul.Tensor(squeeze_47, 1.0000398612827361)
    mul_109: "f32[256]" = aten.mul.Tensor(mul_108, 0.1)
    mul_110: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_layer_0_normalization_running_var, 0.9)
    add_82: "f32[256]" = aten.add.Tensor(mul_109, mul_110)
    unsqueeze_60: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_layer_0_normalization_weight, -1)
    unsqueeze_61: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_60, -1)
    mul_111: "f32[32, 256, 28, 28]" = aten.mul.Tensor(mul_105, unsqueeze_61)
    unsqueeze_62: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_layer_0_normalization_bias, -1)
    unsqueeze_63: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_62, -1)
    add_83: "f32[32, 256, 28, 28]" = aten.add.Tensor(mul_111, unsqueeze_63)
    # [resnet.encoder.stages.2.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_13: "f32[32, 256, 28, 28]" = aten.relu.default(add_83)
    # [resnet.encoder.stages.2.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_16: "f32[32, 256, 14, 14]" = aten.convolution.default(relu_13, resnet_encoder_stages_2_layers_0_layer_1_convolution_weight, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.2.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_84: "i64[]" = aten.add.Tensor(resnet_encoder_stages_2_layers_0_layer_1_normalization_num_batches_tracked, 1)
    var_mean_16: ("f32[1, 256, 1, 1]", "f32[1, 256, 1, 1]") = aten.var_mean.correction(convolution_16, [0, 2, 3], correction=0, keepdim=True)
    getitem_34: "f32[1, 256, 1, 1]" = getitem(var_mean_16, 0)
    getitem_35: "f32[1, 256, 1, 1]" = getitem(var_mean_16, 1)
    add_85: "f32[1, 256, 1, 1]" = aten.add.Tensor(getitem_34, 1e-05)
    rsqrt_16: "f32[1, 256, 1, 1]" = aten.rsqrt.default(add_85)
    sub_16: "f32[32, 256, 14, 14]" = aten.sub.Tensor(convolution_16, getitem_35)
    mul_112: "f32[32, 256, 14, 14]" = aten.mul.Tensor(sub_16, rsqrt_16)
    squeeze_48: "f32[256]" = aten.squeeze.dims(getitem_35, [0, 2, 3])
    squeeze_49: "f32[256]" = aten.squeeze.dims(rsqrt_16, [0, 2, 3])
    mul_113: "f32[256]" = aten.mul.Tensor(squeeze_48, 0.1)
    mul_114: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_layer_1_normalization_running_mean, 0.9)
    add_86: "f32[256]" = aten.add.Tensor(mul_113, mul_114)
    squeeze_50: "f32[256]" = aten.squeeze.dims(getitem_34, [0, 2, 3])
    mul_115: "f32[256]" = aten.mul.Tensor(squeeze_50, 1.0001594642002871)
    mul_116: "f32[256]" = aten.mul.Tensor(mul_115, 0.1)
    mul_117: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_layer_1_normalization_running_var, 0.9)
    add_87: "f32[256]" = aten.add.Tensor(mul_116, mul_117)
    unsqueeze_64: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_layer_1_normalization_weight, -1)
    unsqueeze_65: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_64, -1)
    mul_118: "f32[32, 256, 14, 14]" = aten.mul.Tensor(mul_112, unsqueeze_65)
    unsqueeze_66: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_layer_1_normalization_bias, -1)
    unsqueeze_67: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_66, -1)
    add_88: "f32[32, 256, 14, 14]" = aten.add.Tensor(mul_118, unsqueeze_67)
    # [resnet.encoder.stages.2.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_14: "f32[32, 256, 14, 14]" = aten.relu.default(add_88)
    # [resnet.encoder.stages.2.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_17: "f32[32, 1024, 14, 14]" = aten.convolution.default(relu_14, resnet_encoder_stages_2_layers_0_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.2.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_89: "i64[]" = aten.add.Tensor(resnet_encoder_stages_2_layers_0_layer_2_normalization_num_batches_tracked, 1)
    var_mean_17: ("f32[1, 1024, 1, 1]", "f32[1, 1024, 1, 1]") = aten.var_mean.correction(convolution_17, [0, 2, 3], correction=0, keepdim=True)
    getitem_36: "f32[1, 1024, 1, 1]" = getitem(var_mean_17, 0)
    getitem_37: "f32[1, 1024, 1, 1]" = getitem(var_mean_17, 1)
    add_90: "f32[1, 1024, 1, 1]" = aten.add.Tensor(getitem_36, 1e-05)
    rsqrt_17: "f32[1, 1024, 1, 1]" = aten.rsqrt.default(add_90)
    sub_17: "f32[32, 1024, 14, 14]" = aten.sub.Tensor(convolution_17, getitem_37)
    mul_119: "f32[32, 1024, 14, 14]" = aten.mul.Tensor(sub_17, rsqrt_17)
    squeeze_51: "f32[1024]" = aten.squeeze.dims(getitem_37, [0, 2, 3])
    squeeze_52: "f32[1024]" = aten.squeeze.dims(rsqrt_17, [0, 2, 3])
    mul_120: "f32[1024]" = aten.mul.Tensor(squeeze_51, 0.1)
    mul_121: "f32[1024]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_layer_2_normalization_running_mean, 0.9)
    add_91: "f32[1024]" = aten.add.Tensor(mul_120, mul_121)
    squeeze_53: "f32[1024]" = aten.squeeze.dims(getitem_36, [0, 2, 3])
    mul_122: "f32[1024]" = aten.mul.Tensor(squeeze_53, 1.0001594642002871)
    mul_123: "f32[1024]" = aten.mul.Tensor(mul_122, 0.1)
    mul_124: "f32[1024]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_layer_2_normalization_running_var, 0.9)
    add_92: "f32[1024]" = aten.add.Tensor(mul_123, mul_124)
    unsqueeze_68: "f32[1024, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_layer_2_normalization_weight, -1)
    unsqueeze_69: "f32[1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_68, -1)
    mul_125: "f32[32, 1024, 14, 14]" = aten.mul.Tensor(mul_119, unsqueeze_69)
    unsqueeze_70: "f32[1024, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_layer_2_normalization_bias, -1)
    unsqueeze_71: "f32[1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_70, -1)
    add_93: "f32[32, 1024, 14, 14]" = aten.add.Tensor(mul_125, unsqueeze_71)
    # [resnet.encoder.stages.2.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_18: "f32[32, 1024, 14, 14]" = aten.convolution.default(relu_12, resnet_encoder_stages_2_layers_0_shortcut_convolution_weight, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.2.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    add_94: "i64[]" = aten.add.Tensor(resnet_encoder_stages_2_layers_0_shortcut_normalization_num_batches_tracked, 1)
    var_mean_18: ("f32[1, 1024, 1, 1]", "f32[1, 1024, 1, 1]") = aten.var_mean.correction(convolution_18, [0, 2, 3], correction=0, keepdim=True)
    getitem_38: "f32[1, 1024, 1, 1]" = getitem(var_mean_18, 0)
    getitem_39: "f32[1, 1024, 1, 1]" = getitem(var_mean_18, 1)
    add_95: "f32[1, 1024, 1, 1]" = aten.add.Tensor(getitem_38, 1e-05)
    rsqrt_18: "f32[1, 1024, 1, 1]" = aten.rsqrt.default(add_95)
    sub_18: "f32[32, 1024, 14, 14]" = aten.sub.Tensor(convolution_18, getitem_39)
    mul_126: "f32[32, 1024, 14, 14]" = aten.mul.Tensor(sub_18, rsqrt_18)
    squeeze_54: "f32[1024]" = aten.squeeze.dims(getitem_39, [0, 2, 3])
    squeeze_55: "f32[1024]" = aten.squeeze.dims(rsqrt_18, [0, 2, 3])
    mul_127: "f32[1024]" = aten.mul.Tensor(squeeze_54, 0.1)
    mul_128: "f32[1024]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_shortcut_normalization_running_mean, 0.9)
    add_96: "f32[1024]" = aten.add.Tensor(mul_127, mul_128)
    squeeze_56: "f32[1024]" = aten.squeeze.dims(getitem_38, [0, 2, 3])
    mul_129: "f32[1024]" = aten.mul.Tensor(squeeze_56, 1.0001594642002871)
    mul_130: "f32[1024]" = aten.mul.Tensor(mul_129, 0.1)
    mul_131: "f32[1024]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_0_shortcut_normalization_running_var, 0.9)
    add_97: "f32[1024]" = aten.add.Tensor(mul_130, mul_131)
    unsqueeze_72: "f32[1024, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_shortcut_normalization_weight, -1)
    unsqueeze_73: "f32[1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_72, -1)
    mul_132: "f32[32, 1024, 14, 14]" = aten.mul.Tensor(mul_126, unsqueeze_73)
    unsqueeze_74: "f32[1024, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_0_shortcut_normalization_bias, -1)
    unsqueeze_75: "f32[1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_74, -1)
    add_98: "f32[32, 1024, 14, 14]" = aten.add.Tensor(mul_132, unsqueeze_75)
    # [resnet.encoder.stages.2.layers.0] modeling_resnet.py:176 in forward: hidden_state += residual
    add_99: "f32[32, 1024, 14, 14]" = aten.add.Tensor(add_93, add_98)
    # [resnet.encoder.stages.2.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_15: "f32[32, 1024, 14, 14]" = aten.relu.default(add_99)
    # [resnet.encoder.stages.2.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_19: "f32[32, 256, 14, 14]" = aten.convolution.default(relu_15, resnet_encoder_stages_2_layers_1_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.2.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_100: "i64[]" = aten.add.Tensor(resnet_encoder_stages_2_layers_1_layer_0_normalization_num_batches_tracked, 1)
    var_mean_19: ("f32[1, 256, 1, 1]", "f32[1, 256, 1, 1]") = aten.var_mean.correction(convolution_19, [0, 2, 3], correction=0, keepdim=True)
    getitem_40: "f32[1, 256, 1, 1]" = getitem(var_mean_19, 0)
    getitem_41: "f32[1, 256, 1, 1]" = getitem(var_mean_19, 1)
    add_101: "f32[1, 256, 1, 1]" = aten.add.Tensor(getitem_40, 1e-05)
    rsqrt_19: "f32[1, 256, 1, 1]" = aten.rsqrt.default(add_101)
    sub_19: "f32[32, 256, 14, 14]" = aten.sub.Tensor(convolution_19, getitem_41)
    mul_133: "f32[32, 256, 14, 14]" = aten.mul.Tensor(sub_19, rsqrt_19)
    squeeze_57: "f32[256]" = aten.squeeze.dims(getitem_41, [0, 2, 3])
    squeeze_58: "f32[256]" = aten.squeeze.dims(rsqrt_19, [0, 2, 3])
    mul_134: "f32[256]" = aten.mul.Tensor(squeeze_57, 0.1)
    mul_135: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_1_layer_0_normalization_running_mean, 0.9)
    add_102: "f32[256]" = aten.add.Tensor(mul_134, mul_135)
    squeeze_59: "f32[256]" = aten.squeeze.dims(getitem_40, [0, 2, 3])
    mul_136: "f32[256]" = aten.mul.Tensor(squeeze_59, 1.0001594642002871)
    mul_137: "f32[256]" = aten.mul.Tensor(mul_136, 0.1)
    mul_138: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_1_layer_0_normalization_running_var, 0.9)
    add_103: "f32[256]" = aten.add.Tensor(mul_137, mul_138)
    unsqueeze_76: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_1_layer_0_normalization_weight, -1)
    unsqueeze_77: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_76, -1)
    mul_139: "f32[32, 256, 14, 14]" = aten.mul.Tensor(mul_133, unsqueeze_77)
    unsqueeze_78: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_1_layer_0_normalization_bias, -1)
    unsqueeze_79: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_78, -1)
    add_104: "f32[32, 256, 14, 14]" = aten.add.Tensor(mul_139, unsqueeze_79)
    # [resnet.encoder.stages.2.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_16: "f32[32, 256, 14, 14]" = aten.relu.default(add_104)
    # [resnet.encoder.stages.2.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_20: "f32[32, 256, 14, 14]" = aten.convolution.default(relu_16, resnet_encoder_stages_2_layers_1_layer_1_convolution_weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.2.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_105: "i64[]" = aten.add.Tensor(resnet_encoder_stages_2_layers_1_layer_1_normalization_num_batches_tracked, 1)
    var_mean_20: ("f32[1, 256, 1, 1]", "f32[1, 256, 1, 1]") = aten.var_mean.correction(convolution_20, [0, 2, 3], correction=0, keepdim=True)
    getitem_42: "f32[1, 256, 1, 1]" = getitem(var_mean_20, 0)
    getitem_43: "f32[1, 256, 1, 1]" = getitem(var_mean_20, 1)
    add_106: "f32[1, 256, 1, 1]" = aten.add.Tensor(getitem_42, 1e-05)
    rsqrt_20: "f32[1, 256, 1, 1]" = aten.rsqrt.default(add_106)
    sub_20: "f32[32, 256, 14, 14]" = aten.sub.Tensor(convolution_20, getitem_43)
    mul_140: "f32[32, 256, 14, 14]" = aten.mul.Tensor(sub_20, rsqrt_20)
    squeeze_60: "f32[256]" = aten.squeeze.dims(getitem_43, [0, 2, 3])
    squeeze_61: "f32[256]" = aten.squeeze.dims(rsqrt_20, [0, 2, 3])
    mul_141: "f32[256]" = aten.mul.Tensor(squeeze_60, 0.1)
    mul_142: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_1_layer_1_normalization_running_mean, 0.9)
    add_107: "f32[256]" = aten.add.Tensor(mul_141, mul_142)
    squeeze_62: "f32[256]" = aten.squeeze.dims(getitem_42, [0, 2, 3])
    mul_143: "f32[256]" = aten.mul.Tensor(squeeze_62, 1.0001594642002871)
    mul_144: "f32[256]" = aten.mul.Tensor(mul_143, 0.1)
    mul_145: "f32[256]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_1_layer_1_normalization_running_var, 0.9)
    add_108: "f32[256]" = aten.add.Tensor(mul_144, mul_145)
    unsqueeze_80: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_1_layer_1_normalization_weight, -1)
    unsqueeze_81: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_80, -1)
    mul_146: "f32[32, 256, 14, 14]" = aten.mul.Tensor(mul_140, unsqueeze_81)
    unsqueeze_82: "f32[256, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_1_layer_1_normalization_bias, -1)
    unsqueeze_83: "f32[256, 1, 1]" = aten.unsqueeze.default(unsqueeze_82, -1)
    add_109: "f32[32, 256, 14, 14]" = aten.add.Tensor(mul_146, unsqueeze_83)
    # [resnet.encoder.stages.2.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_17: "f32[32, 256, 14, 14]" = aten.relu.default(add_109)
    # [resnet.encoder.stages.2.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_21: "f32[32, 1024, 14, 14]" = aten.convolution.default(relu_17, resnet_encoder_stages_2_layers_1_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.2.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_110: "i64[]" = aten.add.Tensor(resnet_encoder_stages_2_layers_1_layer_2_normalization_num_batches_tracked, 1)
    var_mean_21: ("f32[1, 1024, 1, 1]", "f32[1, 1024, 1, 1]") = aten.var_mean.correction(convolution_21, [0, 2, 3], correction=0, keepdim=True)
    getitem_44: "f32[1, 1024, 1, 1]" = getitem(var_mean_21, 0)
    getitem_45: "f32[1, 1024, 1, 1]" = getitem(var_mean_21, 1)
    add_111: "f32[1, 1024, 1, 1]" = aten.add.Tensor(getitem_44, 1e-05)
    rsqrt_21: "f32[1, 1024, 1, 1]" = aten.rsqrt.default(add_111)
    sub_21: "f32[32, 1024, 14, 14]" = aten.sub.Tensor(convolution_21, getitem_45)
    mul_147: "f32[32, 1024, 14, 14]" = aten.mul.Tensor(sub_21, rsqrt_21)
    squeeze_63: "f32[1024]" = aten.squeeze.dims(getitem_45, [0, 2, 3])
    squeeze_64: "f32[1024]" = aten.squeeze.dims(rsqrt_21, [0, 2, 3])
    mul_148: "f32[1024]" = aten.mul.Tensor(squeeze_63, 0.1)
    mul_149: "f32[1024]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_1_layer_2_normalization_running_mean, 0.9)
    add_112: "f32[1024]" = aten.add.Tensor(mul_148, mul_149)
    squeeze_65: "f32[1024]" = aten.squeeze.dims(getitem_44, [0, 2, 3])
    mul_150: "f32[1024]" = aten.mul.Tensor(squeeze_65, 1.0001594642002871)
    mul_151: "f32[1024]" = aten.mul.Tensor(mul_150, 0.1)
    mul_152: "f32[1024]" = aten.mul.Tensor(resnet_encoder_stages_2_layers_1_layer_2_normalization_running_var, 0.9)
    add_113: "f32[1024]" = aten.add.Tensor(mul_151, mul_152)
    unsqueeze_84: "f32[1024, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_1_layer_2_normalization_weight, -1)
    unsqueeze_85: "f32[1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_84, -1)
    mul_153: "f32[32, 1024, 14, 14]" = aten.mul.Tensor(mul_147, unsqueeze_85)
    unsqueeze_86: "f32[1024, 1]" = aten.unsqueeze.default(resnet_encoder_stages_2_layers_1_layer_2_normalization_bias, -1)
    unsqueeze_87: "f32[1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_86, -1)
    add_114: "f32[32, 1024, 14, 14]" = aten.add.Tensor(mul_153, unsqueeze_87)
    # [resnet.encoder.stages.2.layers.1] modeling_resnet.py:176 in forward: hidden_state += residual
    add_115: "f32[32, 1024, 14, 14]" = aten.add.Tensor(add_114, relu_15)
    # [resnet.encoder.stages.2.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_18: "f32[32, 1024, 14, 14]" = aten.relu.default(add_115)
    # [resnet.encoder.stages.3.layers.0.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_22: "f32[32, 512, 14, 14]" = aten.convolution.default(relu_18, resnet_encoder_stages_3_layers_0_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.3.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_116: "i64[]" = aten.add.Tensor(resnet_encoder_stages_3_layers_0_layer_0_normalization_num_batches_tracked, 1)
    var_mean_22: ("f32[1, 512, 1, 1]", "f32[1, 512, 1, 1]") = aten.var_mean.correction(convolution_22, [0, 2, 3], correction=0, keepdim=True)
    getitem_46: "f32[1, 512, 1, 1]" = getitem(var_mean_22, 0)
    getitem_47: "f32[1, 512, 1, 1]" = getitem(var_mean_22, 1)
    add_117: "f32[1, 512, 1, 1]" = aten.add.Tensor(getitem_46, 1e-05)
    rsqrt_22: "f32[1, 512, 1, 1]" = aten.rsqrt.default(add_117)
    sub_22: "f32[32, 512, 14, 14]" = aten.sub.Tensor(convolution_22, getitem_47)
    mul_154: "f32[32, 512, 14, 14]" = aten.mul.Tensor(sub_22, rsqrt_22)
    squeeze_66: "f32[512]" = aten.squeeze.dims(getitem_47, [0, 2, 3])
    squeeze_67: "f32[512]" = aten.squeeze.dims(rsqrt_22, [0, 2, 3])
    mul_155: "f32[512]" = aten.mul.Tensor(squeeze_66, 0.1)
    mul_156: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_layer_0_normalization_running_mean, 0.9)
    add_118: "f32[512]" = aten.add.Tensor(mul_155, mul_156)
    squeeze_68: "f32[512]" = aten.squeeze.dims(getitem_46, [0, 2, 3])
    mul_157: "f32[512]" = aten.mul.Tensor(squeeze_68, 1.0001594642002871)
    mul_158: "f32[512]" = aten.mul.Tensor(mul_157, 0.1)
    mul_159: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_layer_0_normalization_running_var, 0.9)
    add_119: "f32[512]" = aten.add.Tensor(mul_158, mul_159)
    unsqueeze_88: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_layer_0_normalization_weight, -1)
    unsqueeze_89: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_88, -1)
    mul_160: "f32[32, 512, 14, 14]" = aten.mul.Tensor(mul_154, unsqueeze_89)
    unsqueeze_90: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_layer_0_normalization_bias, -1)
    unsqueeze_91: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_90, -1)
    add_120: "f32[32, 512, 14, 14]" = aten.add.Tensor(mul_160, unsqueeze_91)
    # [resnet.encoder.stages.3.layers.0.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_19: "f32[32, 512, 14, 14]" = aten.relu.default(add_120)
    # [resnet.encoder.stages.3.layers.0.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_23: "f32[32, 512, 7, 7]" = aten.convolution.default(relu_19, resnet_encoder_stages_3_layers_0_layer_1_convolution_weight, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.3.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_121: "i64[]" = aten.add.Tensor(resnet_encoder_stages_3_layers_0_layer_1_normalization_num_batches_tracked, 1)
    var_mean_23: ("f32[1, 512, 1, 1]", "f32[1, 512, 1, 1]") = aten.var_mean.correction(convolution_23, [0, 2, 3], correction=0, keepdim=True)
    getitem_48: "f32[1, 512, 1, 1]" = getitem(var_mean_23, 0)
    getitem_49: "f32[1, 512, 1, 1]" = getitem(var_mean_23, 1)
    add_122: "f32[1, 512, 1, 1]" = aten.add.Tensor(getitem_48, 1e-05)
    rsqrt_23: "f32[1, 512, 1, 1]" = aten.rsqrt.default(add_122)
    sub_23: "f32[32, 512, 7, 7]" = aten.sub.Tensor(convolution_23, getitem_49)
    mul_161: "f32[32, 512, 7, 7]" = aten.mul.Tensor(sub_23, rsqrt_23)
    squeeze_69: "f32[512]" = aten.squeeze.dims(getitem_49, [0, 2, 3])
    squeeze_70: "f32[512]" = aten.squeeze.dims(rsqrt_23, [0, 2, 3])
    mul_162: "f32[512]" = aten.mul.Tensor(squeeze_69, 0.1)
    mul_163: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_layer_1_normalization_running_mean, 0.9)
    add_123: "f32[512]" = aten.add.Tensor(mul_162, mul_163)
    squeeze_71: "f32[512]" = aten.squeeze.dims(getitem_48, [0, 2, 3])
    mul_164: "f32[512]" = aten.mul.Tensor(squeeze_71, 1.0006381620931717)
    mul_165: "f32[512]" = aten.mul.Tensor(mul_164, 0.1)
    mul_166: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_layer_1_normalization_running_var, 0.9)
    add_124: "f32[512]" = aten.add.Tensor(mul_165, mul_166)
    unsqueeze_92: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_layer_1_normalization_weight, -1)
    unsqueeze_93: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_92, -1)
    mul_167: "f32[32, 512, 7, 7]" = aten.mul.Tensor(mul_161, unsqueeze_93)
    unsqueeze_94: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_layer_1_normalization_bias, -1)
    unsqueeze_95: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_94, -1)
    add_125: "f32[32, 512, 7, 7]" = aten.add.Tensor(mul_167, unsqueeze_95)
    # [resnet.encoder.stages.3.layers.0.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_20: "f32[32, 512, 7, 7]" = aten.relu.default(add_125)
    # [resnet.encoder.stages.3.layers.0.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_24: "f32[32, 2048, 7, 7]" = aten.convolution.default(relu_20, resnet_encoder_stages_3_layers_0_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.3.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_126: "i64[]" = aten.add.Tensor(resnet_encoder_stages_3_layers_0_layer_2_normalization_num_batches_tracked, 1)
    var_mean_24: ("f32[1, 2048, 1, 1]", "f32[1, 2048, 1, 1]") = aten.var_mean.correction(convolution_24, [0, 2, 3], correction=0, keepdim=True)
    getitem_50: "f32[1, 2048, 1, 1]" = getitem(var_mean_24, 0)
    getitem_51: "f32[1, 2048, 1, 1]" = getitem(var_mean_24, 1)
    add_127: "f32[1, 2048, 1, 1]" = aten.add.Tensor(getitem_50, 1e-05)
    rsqrt_24: "f32[1, 2048, 1, 1]" = aten.rsqrt.default(add_127)
    sub_24: "f32[32, 2048, 7, 7]" = aten.sub.Tensor(convolution_24, getitem_51)
    mul_168: "f32[32, 2048, 7, 7]" = aten.mul.Tensor(sub_24, rsqrt_24)
    squeeze_72: "f32[2048]" = aten.squeeze.dims(getitem_51, [0, 2, 3])
    squeeze_73: "f32[2048]" = aten.squeeze.dims(rsqrt_24, [0, 2, 3])
    mul_169: "f32[2048]" = aten.mul.Tensor(squeeze_72, 0.1)
    mul_170: "f32[2048]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_layer_2_normalization_running_mean, 0.9)
    add_128: "f32[2048]" = aten.add.Tensor(mul_169, mul_170)
    squeeze_74: "f32[2048]" = aten.squeeze.dims(getitem_50, [0, 2, 3])
    mul_171: "f32[2048]" = aten.mul.Tensor(squeeze_74, 1.0006381620931717)
    mul_172: "f32[2048]" = aten.mul.Tensor(mul_171, 0.1)
    mul_173: "f32[2048]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_layer_2_normalization_running_var, 0.9)
    add_129: "f32[2048]" = aten.add.Tensor(mul_172, mul_173)
    unsqueeze_96: "f32[2048, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_layer_2_normalization_weight, -1)
    unsqueeze_97: "f32[2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_96, -1)
    mul_174: "f32[32, 2048, 7, 7]" = aten.mul.Tensor(mul_168, unsqueeze_97)
    unsqueeze_98: "f32[2048, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_layer_2_normalization_bias, -1)
    unsqueeze_99: "f32[2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_98, -1)
    add_130: "f32[32, 2048, 7, 7]" = aten.add.Tensor(mul_174, unsqueeze_99)
    # [resnet.encoder.stages.3.layers.0.shortcut.convolution] modeling_resnet.py:108 in forward: hidden_state = self.convolution(input)
    convolution_25: "f32[32, 2048, 7, 7]" = aten.convolution.default(relu_18, resnet_encoder_stages_3_layers_0_shortcut_convolution_weight, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.3.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    add_131: "i64[]" = aten.add.Tensor(resnet_encoder_stages_3_layers_0_shortcut_normalization_num_batches_tracked, 1)
    var_mean_25: ("f32[1, 2048, 1, 1]", "f32[1, 2048, 1, 1]") = aten.var_mean.correction(convolution_25, [0, 2, 3], correction=0, keepdim=True)
    getitem_52: "f32[1, 2048, 1, 1]" = getitem(var_mean_25, 0)
    getitem_53: "f32[1, 2048, 1, 1]" = getitem(var_mean_25, 1)
    add_132: "f32[1, 2048, 1, 1]" = aten.add.Tensor(getitem_52, 1e-05)
    rsqrt_25: "f32[1, 2048, 1, 1]" = aten.rsqrt.default(add_132)
    sub_25: "f32[32, 2048, 7, 7]" = aten.sub.Tensor(convolution_25, getitem_53)
    mul_175: "f32[32, 2048, 7, 7]" = aten.mul.Tensor(sub_25, rsqrt_25)
    squeeze_75: "f32[2048]" = aten.squeeze.dims(getitem_53, [0, 2, 3])
    squeeze_76: "f32[2048]" = aten.squeeze.dims(rsqrt_25, [0, 2, 3])
    mul_176: "f32[2048]" = aten.mul.Tensor(squeeze_75, 0.1)
    mul_177: "f32[2048]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_shortcut_normalization_running_mean, 0.9)
    add_133: "f32[2048]" = aten.add.Tensor(mul_176, mul_177)
    squeeze_77: "f32[2048]" = aten.squeeze.dims(getitem_52, [0, 2, 3])
    mul_178: "f32[2048]" = aten.mul.Tensor(squeeze_77, 1.0006381620931717)
    mul_179: "f32[2048]" = aten.mul.Tensor(mul_178, 0.1)
    mul_180: "f32[2048]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_0_shortcut_normalization_running_var, 0.9)
    add_134: "f32[2048]" = aten.add.Tensor(mul_179, mul_180)
    unsqueeze_100: "f32[2048, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_shortcut_normalization_weight, -1)
    unsqueeze_101: "f32[2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_100, -1)
    mul_181: "f32[32, 2048, 7, 7]" = aten.mul.Tensor(mul_175, unsqueeze_101)
    unsqueeze_102: "f32[2048, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_0_shortcut_normalization_bias, -1)
    unsqueeze_103: "f32[2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_102, -1)
    add_135: "f32[32, 2048, 7, 7]" = aten.add.Tensor(mul_181, unsqueeze_103)
    # [resnet.encoder.stages.3.layers.0] modeling_resnet.py:176 in forward: hidden_state += residual
    add_136: "f32[32, 2048, 7, 7]" = aten.add.Tensor(add_130, add_135)
    # [resnet.encoder.stages.3.layers.0.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_21: "f32[32, 2048, 7, 7]" = aten.relu.default(add_136)
    # [resnet.encoder.stages.3.layers.1.layer.0.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_26: "f32[32, 512, 7, 7]" = aten.convolution.default(relu_21, resnet_encoder_stages_3_layers_1_layer_0_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.3.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_137: "i64[]" = aten.add.Tensor(resnet_encoder_stages_3_layers_1_layer_0_normalization_num_batches_tracked, 1)
    var_mean_26: ("f32[1, 512, 1, 1]", "f32[1, 512, 1, 1]") = aten.var_mean.correction(convolution_26, [0, 2, 3], correction=0, keepdim=True)
    getitem_54: "f32[1, 512, 1, 1]" = getitem(var_mean_26, 0)
    getitem_55: "f32[1, 512, 1, 1]" = getitem(var_mean_26, 1)
    add_138: "f32[1, 512, 1, 1]" = aten.add.Tensor(getitem_54, 1e-05)
    rsqrt_26: "f32[1, 512, 1, 1]" = aten.rsqrt.default(add_138)
    sub_26: "f32[32, 512, 7, 7]" = aten.sub.Tensor(convolution_26, getitem_55)
    mul_182: "f32[32, 512, 7, 7]" = aten.mul.Tensor(sub_26, rsqrt_26)
    squeeze_78: "f32[512]" = aten.squeeze.dims(getitem_55, [0, 2, 3])
    squeeze_79: "f32[512]" = aten.squeeze.dims(rsqrt_26, [0, 2, 3])
    mul_183: "f32[512]" = aten.mul.Tensor(squeeze_78, 0.1)
    mul_184: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_1_layer_0_normalization_running_mean, 0.9)
    add_139: "f32[512]" = aten.add.Tensor(mul_183, mul_184)
    squeeze_80: "f32[512]" = aten.squeeze.dims(getitem_54, [0, 2, 3])
    mul_185: "f32[512]" = aten.mul.Tensor(squeeze_80, 1.0006381620931717)
    mul_186: "f32[512]" = aten.mul.Tensor(mul_185, 0.1)
    mul_187: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_1_layer_0_normalization_running_var, 0.9)
    add_140: "f32[512]" = aten.add.Tensor(mul_186, mul_187)
    unsqueeze_104: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_1_layer_0_normalization_weight, -1)
    unsqueeze_105: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_104, -1)
    mul_188: "f32[32, 512, 7, 7]" = aten.mul.Tensor(mul_182, unsqueeze_105)
    unsqueeze_106: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_1_layer_0_normalization_bias, -1)
    unsqueeze_107: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_106, -1)
    add_141: "f32[32, 512, 7, 7]" = aten.add.Tensor(mul_188, unsqueeze_107)
    # [resnet.encoder.stages.3.layers.1.layer.0.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_22: "f32[32, 512, 7, 7]" = aten.relu.default(add_141)
    # [resnet.encoder.stages.3.layers.1.layer.1.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_27: "f32[32, 512, 7, 7]" = aten.convolution.default(relu_22, resnet_encoder_stages_3_layers_1_layer_1_convolution_weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.3.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_142: "i64[]" = aten.add.Tensor(resnet_encoder_stages_3_layers_1_layer_1_normalization_num_batches_tracked, 1)
    var_mean_27: ("f32[1, 512, 1, 1]", "f32[1, 512, 1, 1]") = aten.var_mean.correction(convolution_27, [0, 2, 3], correction=0, keepdim=True)
    getitem_56: "f32[1, 512, 1, 1]" = getitem(var_mean_27, 0)
    getitem_57: "f32[1, 512, 1, 1]" = getitem(var_mean_27, 1)
    add_143: "f32[1, 512, 1, 1]" = aten.add.Tensor(getitem_56, 1e-05)
    rsqrt_27: "f32[1, 512, 1, 1]" = aten.rsqrt.default(add_143)
    sub_27: "f32[32, 512, 7, 7]" = aten.sub.Tensor(convolution_27, getitem_57)
    mul_189: "f32[32, 512, 7, 7]" = aten.mul.Tensor(sub_27, rsqrt_27)
    squeeze_81: "f32[512]" = aten.squeeze.dims(getitem_57, [0, 2, 3])
    squeeze_82: "f32[512]" = aten.squeeze.dims(rsqrt_27, [0, 2, 3])
    mul_190: "f32[512]" = aten.mul.Tensor(squeeze_81, 0.1)
    mul_191: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_1_layer_1_normalization_running_mean, 0.9)
    add_144: "f32[512]" = aten.add.Tensor(mul_190, mul_191)
    squeeze_83: "f32[512]" = aten.squeeze.dims(getitem_56, [0, 2, 3])
    mul_192: "f32[512]" = aten.mul.Tensor(squeeze_83, 1.0006381620931717)
    mul_193: "f32[512]" = aten.mul.Tensor(mul_192, 0.1)
    mul_194: "f32[512]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_1_layer_1_normalization_running_var, 0.9)
    add_145: "f32[512]" = aten.add.Tensor(mul_193, mul_194)
    unsqueeze_108: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_1_layer_1_normalization_weight, -1)
    unsqueeze_109: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_108, -1)
    mul_195: "f32[32, 512, 7, 7]" = aten.mul.Tensor(mul_189, unsqueeze_109)
    unsqueeze_110: "f32[512, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_1_layer_1_normalization_bias, -1)
    unsqueeze_111: "f32[512, 1, 1]" = aten.unsqueeze.default(unsqueeze_110, -1)
    add_146: "f32[32, 512, 7, 7]" = aten.add.Tensor(mul_195, unsqueeze_111)
    # [resnet.encoder.stages.3.layers.1.layer.1.activation] modeling_resnet.py:68 in forward: hidden_states = self.activation(hidden_states)
    relu_23: "f32[32, 512, 7, 7]" = aten.relu.default(add_146)
    # [resnet.encoder.stages.3.layers.1.layer.2.convolution] modeling_resnet.py:66 in forward: hidden_states = self.convolution(hidden_states)
    convolution_28: "f32[32, 2048, 7, 7]" = aten.convolution.default(relu_23, resnet_encoder_stages_3_layers_1_layer_2_convolution_weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    # [resnet.encoder.stages.3.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    add_147: "i64[]" = aten.add.Tensor(resnet_encoder_stages_3_layers_1_layer_2_normalization_num_batches_tracked, 1)
    var_mean_28: ("f32[1, 2048, 1, 1]", "f32[1, 2048, 1, 1]") = aten.var_mean.correction(convolution_28, [0, 2, 3], correction=0, keepdim=True)
    getitem_58: "f32[1, 2048, 1, 1]" = getitem(var_mean_28, 0)
    getitem_59: "f32[1, 2048, 1, 1]" = getitem(var_mean_28, 1)
    add_148: "f32[1, 2048, 1, 1]" = aten.add.Tensor(getitem_58, 1e-05)
    rsqrt_28: "f32[1, 2048, 1, 1]" = aten.rsqrt.default(add_148)
    sub_28: "f32[32, 2048, 7, 7]" = aten.sub.Tensor(convolution_28, getitem_59)
    mul_196: "f32[32, 2048, 7, 7]" = aten.mul.Tensor(sub_28, rsqrt_28)
    squeeze_84: "f32[2048]" = aten.squeeze.dims(getitem_59, [0, 2, 3])
    squeeze_85: "f32[2048]" = aten.squeeze.dims(rsqrt_28, [0, 2, 3])
    mul_197: "f32[2048]" = aten.mul.Tensor(squeeze_84, 0.1)
    mul_198: "f32[2048]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_1_layer_2_normalization_running_mean, 0.9)
    add_149: "f32[2048]" = aten.add.Tensor(mul_197, mul_198)
    squeeze_86: "f32[2048]" = aten.squeeze.dims(getitem_58, [0, 2, 3])
    mul_199: "f32[2048]" = aten.mul.Tensor(squeeze_86, 1.0006381620931717)
    mul_200: "f32[2048]" = aten.mul.Tensor(mul_199, 0.1)
    mul_201: "f32[2048]" = aten.mul.Tensor(resnet_encoder_stages_3_layers_1_layer_2_normalization_running_var, 0.9)
    add_150: "f32[2048]" = aten.add.Tensor(mul_200, mul_201)
    unsqueeze_112: "f32[2048, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_1_layer_2_normalization_weight, -1)
    unsqueeze_113: "f32[2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_112, -1)
    mul_202: "f32[32, 2048, 7, 7]" = aten.mul.Tensor(mul_196, unsqueeze_113)
    unsqueeze_114: "f32[2048, 1]" = aten.unsqueeze.default(resnet_encoder_stages_3_layers_1_layer_2_normalization_bias, -1)
    unsqueeze_115: "f32[2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_114, -1)
    add_151: "f32[32, 2048, 7, 7]" = aten.add.Tensor(mul_202, unsqueeze_115)
    # [resnet.encoder.stages.3.layers.1] modeling_resnet.py:176 in forward: hidden_state += residual
    add_152: "f32[32, 2048, 7, 7]" = aten.add.Tensor(add_151, relu_21)
    # [resnet.encoder.stages.3.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    relu_24: "f32[32, 2048, 7, 7]" = aten.relu.default(add_152)
    # [resnet.pooler] modeling_resnet.py:322 in forward: pooled_output = self.pooler(last_hidden_state)
    mean: "f32[32, 2048, 1, 1]" = aten.mean.dim(relu_24, [-1, -2], True)
    # [classifier.0] modeling_resnet.py:373 in forward: logits = self.classifier(pooled_output)
    view: "f32[32, 2048]" = aten.view.default(mean, [32, 2048])
    # [classifier.1] modeling_resnet.py:373 in forward: logits = self.classifier(pooled_output)
    permute: "f32[2048, 1000]{1, 2048}" = aten.permute.default(classifier_1_weight, [1, 0])
    addmm: "f32[32, 1000]" = aten.addmm.default(classifier_1_bias, view, permute)
    # modeling_resnet.py:378 in forward: loss = self.loss_function(labels, logits, self.config)
    view_1: "f32[32, 1000]" = aten.view.default(addmm, [-1, 1000])
    view_2: "i64[32]" = aten.view.default(labels, [-1])
    amax: "f32[32, 1]" = aten.amax.default(view_1, [1], True)
    sub_29: "f32[32, 1000]" = aten.sub.Tensor(view_1, amax)
    exp: "f32[32, 1000]" = aten.exp.default(sub_29)
    sum: "f32[32, 1]" = aten.sum.dim_IntList(exp, [1], True)
    log: "f32[32, 1]" = aten.log.default(sum)
    sub_30: "f32[32, 1000]" = aten.sub.Tensor(sub_29, log)
    ne: "b8[32]" = aten.ne.Scalar(view_2, -100)
    scalar_tensor: "i64[]" = aten.scalar_tensor.default(0, dtype=torch.int64)
    where: "i64[32]" = aten.where.self(ne, view_2, scalar_tensor)
    unsqueeze_116: "i64[32, 1]" = aten.unsqueeze.default(where, 1)
    gather: "f32[32, 1]" = aten.gather.default(sub_30, 1, unsqueeze_116)
    squeeze_87: "f32[32]" = aten.squeeze.dims(gather, [1])
    neg: "f32[32]" = aten.neg.default(squeeze_87)
    scalar_tensor_1: "f32[]" = aten.scalar_tensor.default(0, dtype=torch.float32)
    where_1: "f32[32]" = aten.where.self(ne, neg, scalar_tensor_1)
    sum_1: "i64[]" = aten.sum.dim_IntList(ne, [0])
    to_copy: "f32[]" = aten._to_copy.default(sum_1, dtype=torch.float32)
    sum_2: "f32[]" = aten.sum.dim_IntList(where_1, [0])
    div: "f32[]" = aten.div.Tensor(sum_2, to_copy)
    # [classifier.1] modeling_resnet.py:373 in forward: logits = self.classifier(pooled_output)
    permute_1: "f32[1000, 2048]" = aten.permute.default(permute, [1, 0])
    # [resnet.encoder.stages.3.layers.1.activation] modeling_resnet.py:177 in forward: hidden_state = self.activation(hidden_state)
    le: "b8[32, 2048, 7, 7]" = aten.le.Scalar(relu_24, 0)
    # [resnet.encoder.stages.3.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_118: "f32[1, 2048]" = aten.unsqueeze.default(squeeze_84, 0)
    unsqueeze_119: "f32[1, 2048, 1]" = aten.unsqueeze.default(unsqueeze_118, 2)
    unsqueeze_120: "f32[1, 2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_119, 3)
    # [resnet.encoder.stages.3.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_130: "f32[1, 512]" = aten.unsqueeze.default(squeeze_81, 0)
    unsqueeze_131: "f32[1, 512, 1]" = aten.unsqueeze.default(unsqueeze_130, 2)
    unsqueeze_132: "f32[1, 512, 1, 1]" = aten.unsqueeze.default(unsqueeze_131, 3)
    # [resnet.encoder.stages.3.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_142: "f32[1, 512]" = aten.unsqueeze.default(squeeze_78, 0)
    unsqueeze_143: "f32[1, 512, 1]" = aten.unsqueeze.default(unsqueeze_142, 2)
    unsqueeze_144: "f32[1, 512, 1, 1]" = aten.unsqueeze.default(unsqueeze_143, 3)
    # [resnet.encoder.stages.3.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    unsqueeze_154: "f32[1, 2048]" = aten.unsqueeze.default(squeeze_75, 0)
    unsqueeze_155: "f32[1, 2048, 1]" = aten.unsqueeze.default(unsqueeze_154, 2)
    unsqueeze_156: "f32[1, 2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_155, 3)
    # [resnet.encoder.stages.3.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_166: "f32[1, 2048]" = aten.unsqueeze.default(squeeze_72, 0)
    unsqueeze_167: "f32[1, 2048, 1]" = aten.unsqueeze.default(unsqueeze_166, 2)
    unsqueeze_168: "f32[1, 2048, 1, 1]" = aten.unsqueeze.default(unsqueeze_167, 3)
    # [resnet.encoder.stages.3.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_175: "f32[1, 512]" = aten.unsqueeze.default(squeeze_69, 0)
    unsqueeze_176: "f32[1, 512, 1]" = aten.unsqueeze.default(unsqueeze_175, 2)
    unsqueeze_177: "f32[1, 512, 1, 1]" = aten.unsqueeze.default(unsqueeze_176, 3)
    # [resnet.encoder.stages.3.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_187: "f32[1, 512]" = aten.unsqueeze.default(squeeze_66, 0)
    unsqueeze_188: "f32[1, 512, 1]" = aten.unsqueeze.default(unsqueeze_187, 2)
    unsqueeze_189: "f32[1, 512, 1, 1]" = aten.unsqueeze.default(unsqueeze_188, 3)
    # [resnet.encoder.stages.2.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_199: "f32[1, 1024]" = aten.unsqueeze.default(squeeze_63, 0)
    unsqueeze_200: "f32[1, 1024, 1]" = aten.unsqueeze.default(unsqueeze_199, 2)
    unsqueeze_201: "f32[1, 1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_200, 3)
    # [resnet.encoder.stages.2.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_211: "f32[1, 256]" = aten.unsqueeze.default(squeeze_60, 0)
    unsqueeze_212: "f32[1, 256, 1]" = aten.unsqueeze.default(unsqueeze_211, 2)
    unsqueeze_213: "f32[1, 256, 1, 1]" = aten.unsqueeze.default(unsqueeze_212, 3)
    # [resnet.encoder.stages.2.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_223: "f32[1, 256]" = aten.unsqueeze.default(squeeze_57, 0)
    unsqueeze_224: "f32[1, 256, 1]" = aten.unsqueeze.default(unsqueeze_223, 2)
    unsqueeze_225: "f32[1, 256, 1, 1]" = aten.unsqueeze.default(unsqueeze_224, 3)
    # [resnet.encoder.stages.2.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    unsqueeze_235: "f32[1, 1024]" = aten.unsqueeze.default(squeeze_54, 0)
    unsqueeze_236: "f32[1, 1024, 1]" = aten.unsqueeze.default(unsqueeze_235, 2)
    unsqueeze_237: "f32[1, 1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_236, 3)
    # [resnet.encoder.stages.2.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_247: "f32[1, 1024]" = aten.unsqueeze.default(squeeze_51, 0)
    unsqueeze_248: "f32[1, 1024, 1]" = aten.unsqueeze.default(unsqueeze_247, 2)
    unsqueeze_249: "f32[1, 1024, 1, 1]" = aten.unsqueeze.default(unsqueeze_248, 3)
    # [resnet.encoder.stages.2.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_256: "f32[1, 256]" = aten.unsqueeze.default(squeeze_48, 0)
    unsqueeze_257: "f32[1, 256, 1]" = aten.unsqueeze.default(unsqueeze_256, 2)
    unsqueeze_258: "f32[1, 256, 1, 1]" = aten.unsqueeze.default(unsqueeze_257, 3)
    # [resnet.encoder.stages.2.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_268: "f32[1, 256]" = aten.unsqueeze.default(squeeze_45, 0)
    unsqueeze_269: "f32[1, 256, 1]" = aten.unsqueeze.default(unsqueeze_268, 2)
    unsqueeze_270: "f32[1, 256, 1, 1]" = aten.unsqueeze.default(unsqueeze_269, 3)
    # [resnet.encoder.stages.1.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_280: "f32[1, 512]" = aten.unsqueeze.default(squeeze_42, 0)
    unsqueeze_281: "f32[1, 512, 1]" = aten.unsqueeze.default(unsqueeze_280, 2)
    unsqueeze_282: "f32[1, 512, 1, 1]" = aten.unsqueeze.default(unsqueeze_281, 3)
    # [resnet.encoder.stages.1.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_292: "f32[1, 128]" = aten.unsqueeze.default(squeeze_39, 0)
    unsqueeze_293: "f32[1, 128, 1]" = aten.unsqueeze.default(unsqueeze_292, 2)
    unsqueeze_294: "f32[1, 128, 1, 1]" = aten.unsqueeze.default(unsqueeze_293, 3)
    # [resnet.encoder.stages.1.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_304: "f32[1, 128]" = aten.unsqueeze.default(squeeze_36, 0)
    unsqueeze_305: "f32[1, 128, 1]" = aten.unsqueeze.default(unsqueeze_304, 2)
    unsqueeze_306: "f32[1, 128, 1, 1]" = aten.unsqueeze.default(unsqueeze_305, 3)
    # [resnet.encoder.stages.1.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    unsqueeze_316: "f32[1, 512]" = aten.unsqueeze.default(squeeze_33, 0)
    unsqueeze_317: "f32[1, 512, 1]" = aten.unsqueeze.default(unsqueeze_316, 2)
    unsqueeze_318: "f32[1, 512, 1, 1]" = aten.unsqueeze.default(unsqueeze_317, 3)
    # [resnet.encoder.stages.1.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_328: "f32[1, 512]" = aten.unsqueeze.default(squeeze_30, 0)
    unsqueeze_329: "f32[1, 512, 1]" = aten.unsqueeze.default(unsqueeze_328, 2)
    unsqueeze_330: "f32[1, 512, 1, 1]" = aten.unsqueeze.default(unsqueeze_329, 3)
    # [resnet.encoder.stages.1.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_337: "f32[1, 128]" = aten.unsqueeze.default(squeeze_27, 0)
    unsqueeze_338: "f32[1, 128, 1]" = aten.unsqueeze.default(unsqueeze_337, 2)
    unsqueeze_339: "f32[1, 128, 1, 1]" = aten.unsqueeze.default(unsqueeze_338, 3)
    # [resnet.encoder.stages.1.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_349: "f32[1, 128]" = aten.unsqueeze.default(squeeze_24, 0)
    unsqueeze_350: "f32[1, 128, 1]" = aten.unsqueeze.default(unsqueeze_349, 2)
    unsqueeze_351: "f32[1, 128, 1, 1]" = aten.unsqueeze.default(unsqueeze_350, 3)
    # [resnet.encoder.stages.0.layers.1.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_361: "f32[1, 256]" = aten.unsqueeze.default(squeeze_21, 0)
    unsqueeze_362: "f32[1, 256, 1]" = aten.unsqueeze.default(unsqueeze_361, 2)
    unsqueeze_363: "f32[1, 256, 1, 1]" = aten.unsqueeze.default(unsqueeze_362, 3)
    # [resnet.encoder.stages.0.layers.1.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_373: "f32[1, 64]" = aten.unsqueeze.default(squeeze_18, 0)
    unsqueeze_374: "f32[1, 64, 1]" = aten.unsqueeze.default(unsqueeze_373, 2)
    unsqueeze_375: "f32[1, 64, 1, 1]" = aten.unsqueeze.default(unsqueeze_374, 3)
    # [resnet.encoder.stages.0.layers.1.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_385: "f32[1, 64]" = aten.unsqueeze.default(squeeze_15, 0)
    unsqueeze_386: "f32[1, 64, 1]" = aten.unsqueeze.default(unsqueeze_385, 2)
    unsqueeze_387: "f32[1, 64, 1, 1]" = aten.unsqueeze.default(unsqueeze_386, 3)
    # [resnet.encoder.stages.0.layers.0.shortcut.normalization] modeling_resnet.py:109 in forward: hidden_state = self.normalization(hidden_state)
    unsqueeze_397: "f32[1, 256]" = aten.unsqueeze.default(squeeze_12, 0)
    unsqueeze_398: "f32[1, 256, 1]" = aten.unsqueeze.default(unsqueeze_397, 2)
    unsqueeze_399: "f32[1, 256, 1, 1]" = aten.unsqueeze.default(unsqueeze_398, 3)
    # [resnet.encoder.stages.0.layers.0.layer.2.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_409: "f32[1, 256]" = aten.unsqueeze.default(squeeze_9, 0)
    unsqueeze_410: "f32[1, 256, 1]" = aten.unsqueeze.default(unsqueeze_409, 2)
    unsqueeze_411: "f32[1, 256, 1, 1]" = aten.unsqueeze.default(unsqueeze_410, 3)
    # [resnet.encoder.stages.0.layers.0.layer.1.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_418: "f32[1, 64]" = aten.unsqueeze.default(squeeze_6, 0)
    unsqueeze_419: "f32[1, 64, 1]" = aten.unsqueeze.default(unsqueeze_418, 2)
    unsqueeze_420: "f32[1, 64, 1, 1]" = aten.unsqueeze.default(unsqueeze_419, 3)
    # [resnet.encoder.stages.0.layers.0.layer.0.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_430: "f32[1, 64]" = aten.unsqueeze.default(squeeze_3, 0)
    unsqueeze_431: "f32[1, 64, 1]" = aten.unsqueeze.default(unsqueeze_430, 2)
    unsqueeze_432: "f32[1, 64, 1, 1]" = aten.unsqueeze.default(unsqueeze_431, 3)
    # [resnet.embedder.embedder.normalization] modeling_resnet.py:67 in forward: hidden_states = self.normalization(hidden_states)
    unsqueeze_442: "f32[1, 64]" = aten.unsqueeze.default(squeeze, 0)
    unsqueeze_443: "f32[1, 64, 1]" = aten.unsqueeze.default(unsqueeze_442, 2)
    unsqueeze_444: "f32[1, 64, 1, 1]" = aten.unsqueeze.default(unsqueeze_443, 3)
    resnet_embedder_embedder_normalization_running_mean[...] = add_2
    resnet_embedder_embedder_normalization_running_var[...] = add_3
    resnet_embedder_embedder_normalization_num_batches_tracked[...] = add
    resnet_encoder_stages_0_layers_0_shortcut_normalization_running_mean[...] = add_22
    resnet_encoder_stages_0_layers_0_shortcut_normalization_running_var[...] = add_23
    resnet_encoder_stages_0_layers_0_shortcut_normalization_num_batches_tracked[...] = add_20
    resnet_encoder_stages_0_layers_0_layer_0_normalization_running_mean[...] = add_7
    resnet_encoder_stages_0_layers_0_layer_0_normalization_running_var[...] = add_8
    resnet_encoder_stages_0_layers_0_layer_0_normalization_num_batches_tracked[...] = add_5
    resnet_encoder_stages_0_layers_0_layer_1_normalization_running_mean[...] = add_12
    resnet_encoder_stages_0_layers_0_layer_1_normalization_running_var[...] = add_13
    resnet_encoder_stages_0_layers_0_layer_1_normalization_num_batches_tracked[...] = add_10
    resnet_encoder_stages_0_layers_0_layer_2_normalization_running_mean[...] = add_17
    resnet_encoder_stages_0_layers_0_layer_2_normalization_running_var[...] = add_18
    resnet_encoder_stages_0_layers_0_layer_2_normalization_num_batches_tracked[...] = add_15
    resnet_encoder_stages_0_layers_1_layer_0_normalization_running_mean[...] = add_28
    resnet_encoder_stages_0_layers_1_layer_0_normalization_running_var[...] = add_29
    resnet_encoder_stages_0_layers_1_layer_0_normalization_num_batches_tracked[...] = add_26
    resnet_encoder_stages_0_layers_1_layer_1_normalization_running_mean[...] = add_33
    resnet_encoder_stages_0_layers_1_layer_1_normalization_running_var[...] = add_34
    resnet_encoder_stages_0_layers_1_layer_1_normalization_num_batches_tracked[...] = add_31
    resnet_encoder_stages_0_layers_1_layer_2_normalization_running_mean[...] = add_38
    resnet_encoder_stages_0_layers_1_layer_2_normalization_running_var[...] = add_39
    resnet_encoder_stages_0_layers_1_layer_2_normalization_num_batches_tracked[...] = add_36
    resnet_encoder_stages_1_layers_0_shortcut_normalization_running_mean[...] = add_59
    resnet_encoder_stages_1_layers_0_shortcut_normalization_running_var[...] = add_60
    resnet_encoder_stages_1_layers_0_shortcut_normalization_num_batches_tracked[...] = add_57
    resnet_encoder_stages_1_layers_0_layer_0_normalization_running_mean[...] = add_44
    resnet_encoder_stages_1_layers_0_layer_0_normalization_running_var[...] = add_45
    resnet_encoder_stages_1_layers_0_layer_0_normalization_num_batches_tracked[...] = add_42
    resnet_encoder_stages_1_layers_0_layer_1_normalization_running_mean[...] = add_49
    resnet_encoder_stages_1_layers_0_layer_1_normalization_running_var[...] = add_50
    resnet_encoder_stages_1_layers_0_layer_1_normalization_num_batches_tracked[...] = add_47
    resnet_encoder_stages_1_layers_0_layer_2_normalization_running_mean[...] = add_54
    resnet_encoder_stages_1_layers_0_layer_2_normalization_running_var[...] = add_55
    resnet_encoder_stages_1_layers_0_layer_2_normalization_num_batches_tracked[...] = add_52
    resnet_encoder_stages_1_layers_1_layer_0_normalization_running_mean[...] = add_65
    resnet_encoder_stages_1_layers_1_layer_0_normalization_running_var[...] = add_66
    resnet_encoder_stages_1_layers_1_layer_0_normalization_num_batches_tracked[...] = add_63
    resnet_encoder_stages_1_layers_1_layer_1_normalization_running_mean[...] = add_70
    resnet_encoder_stages_1_layers_1_layer_1_normalization_running_var[...] = add_71
    resnet_encoder_stages_1_layers_1_layer_1_normalization_num_batches_tracked[...] = add_68
    resnet_encoder_stages_1_layers_1_layer_2_normalization_running_mean[...] = add_75
    resnet_encoder_stages_1_layers_1_layer_2_normalization_running_var[...] = add_76
    resnet_encoder_stages_1_layers_1_layer_2_normalization_num_batches_tracked[...] = add_73
    resnet_encoder_stages_2_layers_0_shortcut_normalization_running_mean[...] = add_96
    resnet_encoder_stages_2_layers_0_shortcut_normalization_running_var[...] = add_97
    resnet_encoder_stages_2_layers_0_shortcut_normalization_num_batches_tracked[...] = add_94
    resnet_encoder_stages_2_layers_0_layer_0_normalization_running_mean[...] = add_81
    resnet_encoder_stages_2_layers_0_layer_0_normalization_running_var[...] = add_82
    resnet_encoder_stages_2_layers_0_layer_0_normalization_num_batches_tracked[...] = add_79
    resnet_encoder_stages_2_layers_0_layer_1_normalization_running_mean[...] = add_86
    resnet_encoder_stages_2_layers_0_layer_1_normalization_running_var[...] = add_87
    resnet_encoder_stages_2_layers_0_layer_1_normalization_num_batches_tracked[...] = add_84
    resnet_encoder_stages_2_layers_0_layer_2_normalization_running_mean[...] = add_91
    resnet_encoder_stages_2_layers_0_layer_2_normalization_running_var[...] = add_92
    resnet_encoder_stages_2_layers_0_layer_2_normalization_num_batches_tracked[...] = add_89
    resnet_encoder_stages_2_layers_1_layer_0_normalization_running_mean[...] = add_102
    resnet_encoder_stages_2_layers_1_layer_0_normalization_running_var[...] = add_103
    resnet_encoder_stages_2_layers_1_layer_0_normalization_num_batches_tracked[...] = add_100
    resnet_encoder_stages_2_layers_1_layer_1_normalization_running_mean[...] = add_107
    resnet_encoder_stages_2_layers_1_layer_1_normalization_running_var[...] = add_108
    resnet_encoder_stages_2_layers_1_layer_1_normalization_num_batches_tracked[...] = add_105
    resnet_encoder_stages_2_layers_1_layer_2_normalization_running_mean[...] = add_112
    resnet_encoder_stages_2_layers_1_layer_2_normalization_running_var[...] = add_113
    resnet_encoder_stages_2_layers_1_layer_2_normalization_num_batches_tracked[...] = add_110
    resnet_encoder_stages_3_layers_0_shortcut_normalization_running_mean[...] = add_133
    resnet_encoder_stages_3_layers_0_shortcut_normalization_running_var[...] = add_134
    resnet_encoder_stages_3_layers_0_shortcut_normalization_num_batches_tracked[...] = add_131
    resnet_encoder_stages_3_layers_0_layer_0_normalization_running_mean[...] = add_118
    resnet_encoder_stages_3_layers_0_layer_0_normalization_running_var[...] = add_119
    resnet_encoder_stages_3_layers_0_layer_0_normalization_num_batches_tracked[...] = add_116
    resnet_encoder_stages_3_layers_0_layer_1_normalization_running_mean[...] = add_123
    resnet_encoder_stages_3_layers_0_layer_1_normalization_running_var[...] = add_124
    resnet_encoder_stages_3_layers_0_layer_1_normalization_num_batches_tracked[...] = add_121
    resnet_encoder_stages_3_layers_0_layer_2_normalization_running_mean[...] = add_128
    resnet_encoder_stages_3_layers_0_layer_2_normalization_running_var[...] = add_129
    resnet_encoder_stages_3_layers_0_layer_2_normalization_num_batches_tracked[...] = add_126
    resnet_encoder_stages_3_layers_1_layer_0_normalization_running_mean[...] = add_139
    resnet_encoder_stages_3_layers_1_layer_0_normalization_running_var[...] = add_140
    resnet_encoder_stages_3_layers_1_layer_0_normalization_num_batches_tracked[...] = add_137
    resnet_encoder_stages_3_layers_1_layer_1_normalization_running_mean[...] = add_144
    resnet_encoder_stages_3_layers_1_layer_1_normalization_running_var[...] = add_145
    resnet_encoder_stages_3_layers_1_layer_1_normalization_num_batches_tracked[...] = add_142
    resnet_encoder_stages_3_layers_1_layer_2_normalization_running_mean[...] = add_149
    resnet_encoder_stages_3_layers_1_layer_2_normalization_running_var[...] = add_150
    resnet_encoder_stages_3_layers_1_layer_2_normalization_num_batches_tracked[...] = add_147
    return (
        div,
        resnet_embedder_embedder_convolution_weight,
        resnet_embedder_embedder_normalization_weight,
        resnet_encoder_stages_0_layers_0_shortcut_convolution_weight,
        resnet_encoder_stages_0_layers_0_shortcut_normalization_weight,
        resnet_encoder_stages_0_layers_0_layer_0_convolution_weight,
        resnet_encoder_stages_0_layers_0_layer_0_normalization_weight,
        resnet_encoder_stages_0_layers_0_layer_1_convolution_weight,
        resnet_encoder_stages_0_layers_0_layer_1_normalization_weight,
        resnet_encoder_stages_0_layers_0_layer_2_convolution_weight,
        resnet_encoder_stages_0_layers_0_layer_2_normalization_weight,
        resnet_encoder_stages_0_layers_1_layer_0_convolution_weight,
        resnet_encoder_stages_0_layers_1_layer_0_normalization_weight,
        resnet_encoder_stages_0_layers_1_layer_1_convolution_weight,
        resnet_encoder_stages_0_layers_1_layer_1_normalization_weight,
        resnet_encoder_stages_0_layers_1_layer_2_convolution_weight,
        resnet_encoder_stages_0_layers_1_layer_2_normalization_weight,
        resnet_encoder_stages_1_layers_0_shortcut_convolution_weight,
        resnet_encoder_stages_1_layers_0_shortcut_normalization_weight,
        resnet_encoder_stages_1_layers_0_layer_0_convolution_weight,
        resnet_encoder_stages_1_layers_0_layer_0_normalization_weight,
        resnet_encoder_stages_1_layers_0_layer_1_convolution_weight,
        resnet_encoder_stages_1_layers_0_layer_1_normalization_weight,
        resnet_encoder_stages_1_layers_0_layer_2_convolution_weight,
        resnet_encoder_stages_1_layers_0_layer_2_normalization_weight,
        resnet_encoder_stages_1_layers_1_layer_0_convolution_weight,
        resnet_encoder_stages_1_layers_1_layer_0_normalization_weight,
        resnet_encoder_stages_1_layers_1_layer_1_convolution_weight,
        resnet_encoder_stages_1_layers_1_layer_1_normalization_weight,
        resnet_encoder_stages_1_layers_1_layer_2_convolution_weight,
        resnet_encoder_stages_1_layers_1_layer_2_normalization_weight,
        resnet_encoder_stages_2_layers_0_shortcut_convolution_weight,
        resnet_encoder_stages_2_layers_0_shortcut_normalization_weight,
        resnet_encoder_stages_2_layers_0_layer_0_convolution_weight,
        resnet_encoder_stages_2_layers_0_layer_0_normalization_weight,
        resnet_encoder_stages_2_layers_0_layer_1_convolution_weight,
        resnet_encoder_stages_2_layers_0_layer_1_normalization_weight,
        resnet_encoder_stages_2_layers_0_layer_2_convolution_weight,
        resnet_encoder_stages_2_layers_0_layer_2_normalization_weight,
        resnet_encoder_stages_2_layers_1_layer_0_convolution_weight,
        resnet_encoder_stages_2_layers_1_layer_0_normalization_weight,
        resnet_encoder_stages_2_layers_1_layer_1_convolution_weight,
        resnet_encoder_stages_2_layers_1_layer_1_normalization_weight,
        resnet_encoder_stages_2_layers_1_layer_2_convolution_weight,
        resnet_encoder_stages_2_layers_1_layer_2_normalization_weight,
        resnet_encoder_stages_3_layers_0_shortcut_convolution_weight,
        resnet_encoder_stages_3_layers_0_shortcut_normalization_weight,
        resnet_encoder_stages_3_layers_0_layer_0_convolution_weight,
        resnet_encoder_stages_3_layers_0_layer_0_normalization_weight,
        resnet_encoder_stages_3_layers_0_layer_1_convolution_weight,
        resnet_encoder_stages_3_layers_0_layer_1_normalization_weight,
        resnet_encoder_stages_3_layers_0_layer_2_convolution_weight,
        resnet_encoder_stages_3_layers_0_layer_2_normalization_weight,
        resnet_encoder_stages_3_layers_1_layer_0_convolution_weight,
        resnet_encoder_stages_3_layers_1_layer_0_normalization_weight,
        resnet_encoder_stages_3_layers_1_layer_1_convolution_weight,
        resnet_encoder_stages_3_layers_1_layer_1_normalization_weight,
        resnet_encoder_stages_3_layers_1_layer_2_convolution_weight,
        resnet_encoder_stages_3_layers_1_layer_2_normalization_weight,
        pixel_values,
        labels,
        convolution,
        squeeze_1,
        relu,
        getitem_2,
        getitem_3,
        convolution_1,
        squeeze_4,
        relu_1,
        convolution_2,
        squeeze_7,
        relu_2,
        convolution_3,
        squeeze_10,
        convolution_4,
        squeeze_13,
        relu_3,
        convolution_5,
        squeeze_16,
        relu_4,
        convolution_6,
        squeeze_19,
        relu_5,
        convolution_7,
        squeeze_22,
        relu_6,
        convolution_8,
        squeeze_25,
        relu_7,
        convolution_9,
        squeeze_28,
        relu_8,
        convolution_10,
        squeeze_31,
        convolution_11,
        squeeze_34,
        relu_9,
        convolution_12,
        squeeze_37,
        relu_10,
        convolution_13,
        squeeze_40,
        relu_11,
        convolution_14,
        squeeze_43,
        relu_12,
        convolution_15,
        squeeze_46,
        relu_13,
        convolution_16,
        squeeze_49,
        relu_14,
        convolution_17,
        squeeze_52,
        convolution_18,
        squeeze_55,
        relu_15,
        convolution_19,
        squeeze_58,
        relu_16,
        convolution_20,
        squeeze_61,
        relu_17,
        convolution_21,
        squeeze_64,
        relu_18,
        convolution_22,
        squeeze_67,
        relu_19,
        convolution_23,
        squeeze_70,
        relu_20,
        convolution_24,
        squeeze_73,
        convolution_25,
        squeeze_76,
        relu_21,
        convolution_26,
        squeeze_79,
        relu_22,
        convolution_27,
        squeeze_82,
        relu_23,
        convolution_28,
        squeeze_85,
        view,
        addmm,
        amax,
        log,
        to_copy,
        permute_1,
        le,
        unsqueeze_120,
        unsqueeze_132,
        unsqueeze_144,
        unsqueeze_156,
        unsqueeze_168,
        unsqueeze_177,
        unsqueeze_189,
        unsqueeze_201,
        unsqueeze_213,
        unsqueeze_225,
        unsqueeze_237,
        unsqueeze_249,
        unsqueeze_258,
        unsqueeze_270,
        unsqueeze_282,
        unsqueeze_294,
        unsqueeze_306,
        unsqueeze_318,
        unsqueeze_330,
        unsqueeze_339,
        unsqueeze_351,
        unsqueeze_363,
        unsqueeze_375,
        unsqueeze_387,
        unsqueeze_399,
        unsqueeze_411,
        unsqueeze_420,
        unsqueeze_432,
        unsqueeze_444,
    )
