# harness graph 1
# title: ViT-B/16, two layers and the loss over 1000 classes, bf16, 64 images of 224
# origin: transformers ViTForImageClassification; sizes of google/vit-base-patch16-224
# captured: transformers:ViTForImageClassification?num_hidden_layers=2&batch=64&num_labels=1000
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def vit_forward(
    vit_embeddings_cls_token: "bf16[1, 1, 768] parameter",
    vit_embeddings_position_embeddings: "bf16[1, 197, 768] parameter",
    vit_embeddings_patch_embeddings_projection_weight: "bf16[768, 3, 16, 16] parameter",
    vit_embeddings_patch_embeddings_projection_bias: "bf16[768] parameter",
    vit_layers_0_attention_q_proj_weight: "bf16[768, 768] parameter",
    vit_layers_0_attention_q_proj_bias: "bf16[768] parameter",
    vit_layers_0_attention_k_proj_weight: "bf16[768, 768] parameter",
    vit_layers_0_attention_k_proj_bias: "bf16[768] parameter",
    vit_layers_0_attention_v_proj_weight: "bf16[768, 768] parameter",
    vit_layers_0_attention_v_proj_bias: "bf16[768] parameter",
    vit_layers_0_attention_o_proj_weight: "bf16[768, 768] parameter",
    vit_layers_0_attention_o_proj_bias: "bf16[768] parameter",
    vit_layers_0_layernorm_before_weight: "bf16[768] parameter",
    vit_layers_0_layernorm_before_bias: "bf16[768] parameter",
    vit_layers_0_layernorm_after_weight: "bf16[768] parameter",
    vit_layers_0_layernorm_after_bias: "bf16[768] parameter",
    vit_layers_0_mlp_fc1_weight: "bf16[3072, 768] parameter",
    vit_layers_0_mlp_fc1_bias: "bf16[3072] parameter",
    vit_layers_0_mlp_fc2_weight: "bf16[768, 3072] parameter",
    vit_layers_0_mlp_fc2_bias: "bf16[768] parameter",
    vit_layers_1_attention_q_proj_weight: "bf16[768, 768] parameter",
    vit_layers_1_attention_q_proj_bias: "bf16[768] parameter",
    vit_layers_1_attention_k_proj_weight: "bf16[768, 768] parameter",
    vit_layers_1_attention_k_proj_bias: "bf16[768] parameter",
    vit_layers_1_attention_v_proj_weight: "bf16[768, 768] parameter",
    vit_layers_1_attention_v_proj_bias: "bf16[768] parameter",
    vit_layers_1_attention_o_proj_weight: "bf16[768, 768] parameter",
    vit_layers_1_attention_o_proj_bias: "bf16[768] parameter",
    vit_layers_1_layernorm_before_weight: "bf16[768] parameter",
    vit_layers_1_layernorm_before_bias: "bf16[768] parameter",
    vit_layers_1_layernorm_after_weight: "bf16[768] parameter",
    vit_layers_1_layernorm_after_bias: "bf16[768] parameter",
    vit_layers_1_mlp_fc1_weight: "bf16[3072, 768] parameter",
    vit_layers_1_mlp_fc1_bias: "bf16[3072] parameter",
    vit_layers_1_mlp_fc2_weight: "bf16[768, 3072] parameter",
    vit_layers_1_mlp_fc2_bias: "bf16[768] parameter",
    vit_layernorm_weight: "bf16[768] parameter",
    vit_layernorm_bias: "bf16[768] parameter",
    classifier_weight: "bf16[1000, 768] parameter",
    classifier_bias: "bf16[1000] parameter",
    pixel_values: "bf16[64, 3, 224, 224]",
    labels: "i64[64] bound=1000",
):
    # [vit.embeddings.patch_embeddings.projection] modeling_vit.py:69 in forward: return self.projection(pixel_values).flatten(2).transpose(1, 2)
    convolution: "bf16[64, 768, 14, 14]" = aten.convolution.default(pixel_values, vit_embeddings_patch_embeddings_projection_weight, vit_embeddings_patch_embeddings_projection_bias, [16, 16], [0, 0], [1, 1], False, [0, 0], 1)
    # [vit.embeddings.patch_embeddings] modeling_vit.py:69 in forward: return self.projection(pixel_values).flatten(2).transpose(1, 2)
    view: "bf16[64, 768, 196]" = aten.view.default(convolution, [64, 768, 196])
    permute: "bf16[64, 196, 768]{150528, 1, 196}" = aten.permute.default(view, [0, 2, 1])
    # [vit.embeddings] modeling_vit.py:146 in forward: cls_tokens = self.cls_token.expand(batch_size, -1, -1)
    expand: "bf16[64, 1, 768]{0, 768, 1}" = aten.expand.default(vit_embeddings_cls_token, [64, -1, -1])
    # [vit.embeddings] modeling_vit.py:147 in forward: embeddings = torch.cat((cls_tokens, embeddings), dim=1)
    cat: "bf16[64, 197, 768]" = aten.cat.default([expand, permute], 1)
    # [vit.embeddings] modeling_vit.py:157 in forward: embeddings = embeddings + self.position_embeddings
    add: "bf16[64, 197, 768]" = aten.add.Tensor(cat, vit_embeddings_position_embeddings)
    # [vit.embeddings.dropout] modeling_vit.py:159 in forward: embeddings = self.dropout(embeddings)
    clone: "bf16[64, 197, 768]" = aten.clone.default(add)
    # [vit] modeling_vit.py:376 in forward: attention_mask = create_bidirectional_mask(
    arange: "i64[197]" = aten.arange.start_step(0, 197)
    add_1: "i64[197]" = aten.add.Tensor(arange, 0)
    unsqueeze: "i64[1, 197]" = aten.unsqueeze.default(add_1, 0)
    unsqueeze_1: "i64[1, 1, 197]" = aten.unsqueeze.default(unsqueeze, 1)
    unsqueeze_2: "i64[1, 1, 197, 1]" = aten.unsqueeze.default(unsqueeze_1, 3)
    ge: "b8[1, 1, 197, 1]" = aten.ge.Scalar(unsqueeze_2, 0)
    expand_1: "b8[64, 1, 197, 197]{0, 197, 1, 0}" = aten.expand.default(ge, [64, -1, 197, 197])
    # [vit.layers.0.layernorm_before] modeling_vit.py:274 in forward: hidden_states = self.layernorm_before(hidden_states)
    to_copy: "f32[64, 197, 768]" = aten._to_copy.default(clone, dtype=torch.float32)
    var_mean: ("f32[64, 197, 1]", "f32[64, 197, 1]") = aten.var_mean.correction(to_copy, [2], correction=0, keepdim=True)
    getitem: "f32[64, 197, 1]" = getitem(var_mean, 0)
    getitem_1: "f32[64, 197, 1]" = getitem(var_mean, 1)
    add_2: "f32[64, 197, 1]" = aten.add.Tensor(getitem, 1e-12)
    rsqrt: "f32[64, 197, 1]" = aten.rsqrt.default(add_2)
    sub: "f32[64, 197, 768]" = aten.sub.Tensor(to_copy, getitem_1)
    mul: "f32[64, 197, 768]" = aten.mul.Tensor(sub, rsqrt)
    mul_1: "f32[64, 197, 768]" = aten.mul.Tensor(mul, vit_layers_0_layernorm_before_weight)
    add_3: "f32[64, 197, 768]" = aten.add.Tensor(mul_1, vit_layers_0_layernorm_before_bias)
    to_copy_1: "bf16[64, 197, 768]" = prims.convert_element_type.default(add_3, torch.bfloat16)
    # [vit.layers.0.attention.q_proj] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_1: "bf16[12608, 768]" = aten.view.default(to_copy_1, [12608, 768])
    permute_1: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_0_attention_q_proj_weight, [1, 0])
    addmm: "bf16[12608, 768]" = aten.addmm.default(vit_layers_0_attention_q_proj_bias, view_1, permute_1)
    view_2: "bf16[64, 197, 768]" = aten.view.default(addmm, [64, 197, 768])
    # [vit.layers.0.attention] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_3: "bf16[64, 197, 12, 64]" = aten.view.default(view_2, [64, 197, -1, 64])
    permute_2: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.permute.default(view_3, [0, 2, 1, 3])
    # [vit.layers.0.attention.k_proj] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_3: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_0_attention_k_proj_weight, [1, 0])
    addmm_1: "bf16[12608, 768]" = aten.addmm.default(vit_layers_0_attention_k_proj_bias, view_1, permute_3)
    view_4: "bf16[64, 197, 768]" = aten.view.default(addmm_1, [64, 197, 768])
    # [vit.layers.0.attention] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_5: "bf16[64, 197, 12, 64]" = aten.view.default(view_4, [64, 197, -1, 64])
    permute_4: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.permute.default(view_5, [0, 2, 1, 3])
    # [vit.layers.0.attention.v_proj] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_5: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_0_attention_v_proj_weight, [1, 0])
    addmm_2: "bf16[12608, 768]" = aten.addmm.default(vit_layers_0_attention_v_proj_bias, view_1, permute_5)
    view_6: "bf16[64, 197, 768]" = aten.view.default(addmm_2, [64, 197, 768])
    # [vit.layers.0.attention] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_7: "bf16[64, 197, 12, 64]" = aten.view.default(view_6, [64, 197, -1, 64])
    permute_6: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.permute.default(view_7, [0, 2, 1, 3])
    # [vit.layers.0.attention] modeling_vit.py:224 in forward: attn_output, attn_weights = attention_interface(
    scalar_tensor: "bf16[]" = aten.scalar_tensor.default(float("-inf"), dtype=torch.bfloat16)
    scalar_tensor_1: "bf16[]" = aten.scalar_tensor.default(0.0, dtype=torch.bfloat16)
    where: "bf16[64, 1, 197, 197]" = aten.where.self(expand_1, scalar_tensor_1, scalar_tensor)
    scaled_dot_product_efficient_attention: ("bf16[64, 12, 197, 64]{151296, 64, 768, 1}", "f32[64, 12, 224]", "i64[]", "i64[]") = aten._scaled_dot_product_efficient_attention.default(permute_2, permute_4, permute_6, where, True, scale=0.125)
    getitem_2: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = getitem(scaled_dot_product_efficient_attention, 0)
    getitem_3: "i64[]" = getitem(scaled_dot_product_efficient_attention, 3)
    getitem_4: "i64[]" = getitem(scaled_dot_product_efficient_attention, 2)
    getitem_5: "f32[64, 12, 224]" = getitem(scaled_dot_product_efficient_attention, 1)
    view_8: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.view.default(getitem_2, [64, 12, 197, 64])
    permute_7: "bf16[64, 197, 12, 64]" = aten.permute.default(view_8, [0, 2, 1, 3])
    # [vit.layers.0.attention] modeling_vit.py:235 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_9: "bf16[64, 197, 768]" = aten.view.default(permute_7, [64, 197, -1])
    # [vit.layers.0.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    view_10: "bf16[12608, 768]" = aten.view.default(view_9, [12608, 768])
    permute_8: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_0_attention_o_proj_weight, [1, 0])
    addmm_3: "bf16[12608, 768]" = aten.addmm.default(vit_layers_0_attention_o_proj_bias, view_10, permute_8)
    view_11: "bf16[64, 197, 768]" = aten.view.default(addmm_3, [64, 197, 768])
    # [vit.layers.0.dropout] modeling_vit.py:276 in forward: hidden_states = self.dropout(hidden_states)
    clone_1: "bf16[64, 197, 768]" = aten.clone.default(view_11)
    # [vit.layers.0] modeling_vit.py:277 in forward: hidden_states = hidden_states + residual
    add_4: "bf16[64, 197, 768]" = aten.add.Tensor(clone_1, clone)
    # [vit.layers.0.layernorm_after] modeling_vit.py:281 in forward: hidden_states = self.layernorm_after(hidden_states)
    to_copy_2: "f32[64, 197, 768]" = aten._to_copy.default(add_4, dtype=torch.float32)
    var_mean_1: ("f32[64, 197, 1]", "f32[64, 197, 1]") = aten.var_mean.correction(to_copy_2, [2], correction=0, keepdim=True)
    getitem_6: "f32[64, 197, 1]" = getitem(var_mean_1, 0)
    getitem_7: "f32[64, 197, 1]" = getitem(var_mean_1, 1)
    add_5: "f32[64, 197, 1]" = aten.add.Tensor(getitem_6, 1e-12)
    rsqrt_1: "f32[64, 197, 1]" = aten.rsqrt.default(add_5)
    sub_1: "f32[64, 197, 768]" = aten.sub.Tensor(to_copy_2, getitem_7)
    mul_2: "f32[64, 197, 768]" = aten.mul.Tensor(sub_1, rsqrt_1)
    mul_3: "f32[64, 197, 768]" = aten.mul.Tensor(mul_2, vit_layers_0_layernorm_after_weight)
    add_6: "f32[64, 197, 768]" = aten.add.Tensor(mul_3, vit_layers_0_layernorm_after_bias)
    to_copy_3: "bf16[64, 197, 768]" = prims.convert_element_type.default(add_6, torch.bfloat16)
    # [vit.layers.0.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    view_12: "bf16[12608, 768]" = aten.view.default(to_copy_3, [12608, 768])
    permute_9: "bf16[768, 3072]{1, 768}" = aten.permute.default(vit_layers_0_mlp_fc1_weight, [1, 0])
    addmm_4: "bf16[12608, 3072]" = aten.addmm.default(vit_layers_0_mlp_fc1_bias, view_12, permute_9)
    view_13: "bf16[64, 197, 3072]" = aten.view.default(addmm_4, [64, 197, 3072])
    # [vit.layers.0.mlp.activation_fn] activations.py:89 in forward: return self.act(input)
    to_copy_4: "f32[64, 197, 3072]" = aten._to_copy.default(view_13, dtype=torch.float32)
    mul_4: "f32[64, 197, 3072]" = aten.mul.Tensor(to_copy_4, 0.5)
    mul_5: "f32[64, 197, 3072]" = aten.mul.Tensor(to_copy_4, 0.7071067811865476)
    erf: "f32[64, 197, 3072]" = aten.erf.default(mul_5)
    add_7: "f32[64, 197, 3072]" = aten.add.Tensor(erf, 1)
    mul_6: "f32[64, 197, 3072]" = aten.mul.Tensor(mul_4, add_7)
    to_copy_5: "bf16[64, 197, 3072]" = prims.convert_element_type.default(mul_6, torch.bfloat16)
    # [vit.layers.0.mlp.fc2] modeling_vit.py:252 in forward: hidden_states = self.fc2(hidden_states)
    view_14: "bf16[12608, 3072]" = aten.view.default(to_copy_5, [12608, 3072])
    permute_10: "bf16[3072, 768]{1, 3072}" = aten.permute.default(vit_layers_0_mlp_fc2_weight, [1, 0])
    addmm_5: "bf16[12608, 768]" = aten.addmm.default(vit_layers_0_mlp_fc2_bias, view_14, permute_10)
    view_15: "bf16[64, 197, 768]" = aten.view.default(addmm_5, [64, 197, 768])
    # [vit.layers.0.dropout] modeling_vit.py:283 in forward: hidden_states = self.dropout(hidden_states)
    clone_2: "bf16[64, 197, 768]" = aten.clone.default(view_15)
    # [vit.layers.0] modeling_vit.py:284 in forward: hidden_states = hidden_states + residual
    add_8: "bf16[64, 197, 768]" = aten.add.Tensor(clone_2, add_4)
    # [vit.layers.1.layernorm_before] modeling_vit.py:274 in forward: hidden_states = self.layernorm_before(hidden_states)
    to_copy_6: "f32[64, 197, 768]" = aten._to_copy.default(add_8, dtype=torch.float32)
    var_mean_2: ("f32[64, 197, 1]", "f32[64, 197, 1]") = aten.var_mean.correction(to_copy_6, [2], correction=0, keepdim=True)
    getitem_8: "f32[64, 197, 1]" = getitem(var_mean_2, 0)
    getitem_9: "f32[64, 197, 1]" = getitem(var_mean_2, 1)
    add_9: "f32[64, 197, 1]" = aten.add.Tensor(getitem_8, 1e-12)
    rsqrt_2: "f32[64, 197, 1]" = aten.rsqrt.default(add_9)
    sub_2: "f32[64, 197, 768]" = aten.sub.Tensor(to_copy_6, getitem_9)
    mul_7: "f32[64, 197, 768]" = aten.mul.Tensor(sub_2, rsqrt_2)
    mul_8: "f32[64, 197, 768]" = aten.mul.Tensor(mul_7, vit_layers_1_layernorm_before_weight)
    add_10: "f32[64, 197, 768]" = aten.add.Tensor(mul_8, vit_layers_1_layernorm_before_bias)
    to_copy_7: "bf16[64, 197, 768]" = prims.convert_element_type.default(add_10, torch.bfloat16)
    # [vit.layers.1.attention.q_proj] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_16: "bf16[12608, 768]" = aten.view.default(to_copy_7, [12608, 768])
    permute_11: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_1_attention_q_proj_weight, [1, 0])
    addmm_6: "bf16[12608, 768]" = aten.addmm.default(vit_layers_1_attention_q_proj_bias, view_16, permute_11)
    view_17: "bf16[64, 197, 768]" = aten.view.default(addmm_6, [64, 197, 768])
    # [vit.layers.1.attention] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_18: "bf16[64, 197, 12, 64]" = aten.view.default(view_17, [64, 197, -1, 64])
    permute_12: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.permute.default(view_18, [0, 2, 1, 3])
    # [vit.layers.1.attention.k_proj] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_13: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_1_attention_k_proj_weight, [1, 0])
    addmm_7: "bf16[12608, 768]" = aten.addmm.default(vit_layers_1_attention_k_proj_bias, view_16, permute_13)
    view_19: "bf16[64, 197, 768]" = aten.view.default(addmm_7, [64, 197, 768])
    # [vit.layers.1.attention] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_20: "bf16[64, 197, 12, 64]" = aten.view.default(view_19, [64, 197, -1, 64])
    permute_14: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.permute.default(view_20, [0, 2, 1, 3])
    # [vit.layers.1.attention.v_proj] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_15: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_1_attention_v_proj_weight, [1, 0])
    addmm_8: "bf16[12608, 768]" = aten.addmm.default(vit_layers_1_attention_v_proj_bias, view_16, permute_15)
    view_21: "bf16[64, 197, 768]" = aten.view.default(addmm_8, [64, 197, 768])
    # [vit.layers.1.attention] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_22: "bf16[64, 197, 12, 64]" = aten.view.default(view_21, [64, 197, -1, 64])
    permute_16: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.permute.default(view_22, [0, 2, 1, 3])
    # [vit.layers.1.attention] modeling_vit.py:224 in forward: attn_output, attn_weights = attention_interface(
    scaled_dot_product_efficient_attention_1: ("bf16[64, 12, 197, 64]{151296, 64, 768, 1}", "f32[64, 12, 224]", "i64[]", "i64[]") = aten._scaled_dot_product_efficient_attention.default(permute_12, permute_14, permute_16, where, True, scale=0.125)
    getitem_10: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = getitem(scaled_dot_product_efficient_attention_1, 0)
    getitem_11: "i64[]" = getitem(scaled_dot_product_efficient_attention_1, 3)
    getitem_12: "i64[]" = getitem(scaled_dot_product_efficient_attention_1, 2)
    getitem_13: "f32[64, 12, 224]" = getitem(scaled_dot_product_efficient_attention_1, 1)
    view_23: "bf16[64, 12, 197, 64]{151296, 64, 768, 1}" = aten.view.default(getitem_10, [64, 12, 197, 64])
    permute_17: "bf16[64, 197, 12, 64]" = aten.permute.default(view_23, [0, 2, 1, 3])
    # [vit.layers.1.attention] modeling_vit.py:235 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_24: "bf16[64, 197, 768]" = aten.view.default(permute_17, [64, 197, -1])
    # [vit.layers.1.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    view_25: "bf16[12608, 768]" = aten.view.default(view_24, [12608, 768])
    permute_18: "bf16[768, 768]{1, 768}" = aten.permute.default(vit_layers_1_attention_o_proj_weight, [1, 0])
    addmm_9: "bf16[12608, 768]" = aten.addmm.default(vit_layers_1_attention_o_proj_bias, view_25, permute_18)
    view_26: "bf16[64, 197, 768]" = aten.view.default(addmm_9, [64, 197, 768])
    # [vit.layers.1.dropout] modeling_vit.py:276 in forward: hidden_states = self.dropout(hidden_states)
    clone_3: "bf16[64, 197, 768]" = aten.clone.default(view_26)
    # [vit.layers.1] modeling_vit.py:277 in forward: hidden_states = hidden_states + residual
    add_11: "bf16[64, 197, 768]" = aten.add.Tensor(clone_3, add_8)
    # [vit.layers.1.layernorm_after] modeling_vit.py:281 in forward: hidden_states = self.layernorm_after(hidden_states)
    to_copy_8: "f32[64, 197, 768]" = aten._to_copy.default(add_11, dtype=torch.float32)
    var_mean_3: ("f32[64, 197, 1]", "f32[64, 197, 1]") = aten.var_mean.correction(to_copy_8, [2], correction=0, keepdim=True)
    getitem_14: "f32[64, 197, 1]" = getitem(var_mean_3, 0)
    getitem_15: "f32[64, 197, 1]" = getitem(var_mean_3, 1)
    add_12: "f32[64, 197, 1]" = aten.add.Tensor(getitem_14, 1e-12)
    rsqrt_3: "f32[64, 197, 1]" = aten.rsqrt.default(add_12)
    sub_3: "f32[64, 197, 768]" = aten.sub.Tensor(to_copy_8, getitem_15)
    mul_9: "f32[64, 197, 768]" = aten.mul.Tensor(sub_3, rsqrt_3)
    mul_10: "f32[64, 197, 768]" = aten.mul.Tensor(mul_9, vit_layers_1_layernorm_after_weight)
    add_13: "f32[64, 197, 768]" = aten.add.Tensor(mul_10, vit_layers_1_layernorm_after_bias)
    to_copy_9: "bf16[64, 197, 768]" = prims.convert_element_type.default(add_13, torch.bfloat16)
    # [vit.layers.1.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    view_27: "bf16[12608, 768]" = aten.view.default(to_copy_9, [12608, 768])
    permute_19: "bf16[768, 3072]{1, 768}" = aten.permute.default(vit_layers_1_mlp_fc1_weight, [1, 0])
    addmm_10: "bf16[12608, 3072]" = aten.addmm.default(vit_layers_1_mlp_fc1_bias, view_27, permute_19)
    view_28: "bf16[64, 197, 3072]" = aten.view.default(addmm_10, [64, 197, 3072])
    # [vit.layers.1.mlp.activation_fn] activations.py:89 in forward: return self.act(input)
    to_copy_10: "f32[64, 197, 3072]" = aten._to_copy.default(view_28, dtype=torch.float32)
    mul_11: "f32[64, 197, 3072]" = aten.mul.Tensor(to_copy_10, 0.5)
    mul_12: "f32[64, 197, 3072]" = aten.mul.Tensor(to_copy_10, 0.7071067811865476)
    erf_1: "f32[64, 197, 3072]" = aten.erf.default(mul_12)
    add_14: "f32[64, 197, 3072]" = aten.add.Tensor(erf_1, 1)
    mul_13: "f32[64, 197, 3072]" = aten.mul.Tensor(mul_11, add_14)
    to_copy_11: "bf16[64, 197, 3072]" = prims.convert_element_type.default(mul_13, torch.bfloat16)
    # [vit.layers.1.mlp.fc2] modeling_vit.py:252 in forward: hidden_states = self.fc2(hidden_states)
    view_29: "bf16[12608, 3072]" = aten.view.default(to_copy_11, [12608, 3072])
    permute_20: "bf16[3072, 768]{1, 3072}" = aten.permute.default(vit_layers_1_mlp_fc2_weight, [1, 0])
    addmm_11: "bf16[12608, 768]" = aten.addmm.default(vit_layers_1_mlp_fc2_bias, view_29, permute_20)
    view_30: "bf16[64, 197, 768]" = aten.view.default(addmm_11, [64, 197, 768])
    # [vit.layers.1.dropout] modeling_vit.py:283 in forward: hidden_states = self.dropout(hidden_states)
    clone_4: "bf16[64, 197, 768]" = aten.clone.default(view_30)
    # [vit.layers.1] modeling_vit.py:284 in forward: hidden_states = hidden_states + residual
    add_15: "bf16[64, 197, 768]" = aten.add.Tensor(clone_4, add_11)
    # [vit.layernorm] modeling_vit.py:385 in forward: sequence_output = self.layernorm(hidden_states)
    to_copy_12: "f32[64, 197, 768]" = aten._to_copy.default(add_15, dtype=torch.float32)
    var_mean_4: ("f32[64, 197, 1]", "f32[64, 197, 1]") = aten.var_mean.correction(to_copy_12, [2], correction=0, keepdim=True)
    getitem_16: "f32[64, 197, 1]" = getitem(var_mean_4, 0)
    getitem_17: "f32[64, 197, 1]" = getitem(var_mean_4, 1)
    add_16: "f32[64, 197, 1]" = aten.add.Tensor(getitem_16, 1e-12)
    rsqrt_4: "f32[64, 197, 1]" = aten.rsqrt.default(add_16)
    sub_4: "f32[64, 197, 768]" = aten.sub.Tensor(to_copy_12, getitem_17)
    mul_14: "f32[64, 197, 768]" = aten.mul.Tensor(sub_4, rsqrt_4)
    mul_15: "f32[64, 197, 768]" = aten.mul.Tensor(mul_14, vit_layernorm_weight)
    add_17: "f32[64, 197, 768]" = aten.add.Tensor(mul_15, vit_layernorm_bias)
    to_copy_13: "bf16[64, 197, 768]" = prims.convert_element_type.default(add_17, torch.bfloat16)
    # modeling_vit.py:546 in forward: pooled_output = sequence_output[:, 0, :]
    select: "bf16[64, 768]{151296, 1}" = aten.select.int(to_copy_13, 1, 0)
    # [classifier] modeling_vit.py:547 in forward: logits = self.classifier(pooled_output)
    permute_21: "bf16[768, 1000]{1, 768}" = aten.permute.default(classifier_weight, [1, 0])
    addmm_12: "bf16[64, 1000]" = aten.addmm.default(classifier_bias, select, permute_21)
    # modeling_vit.py:551 in forward: loss = self.loss_function(labels, logits, self.config, **kwargs)
    view_31: "bf16[64, 1000]" = aten.view.default(addmm_12, [-1, 1000])
    view_32: "i64[64]" = aten.view.default(labels, [-1])
    to_copy_14: "f32[64, 1000]" = aten._to_copy.default(view_31, dtype=torch.float32)
    amax: "f32[64, 1]" = aten.amax.default(to_copy_14, [1], True)
    sub_5: "f32[64, 1000]" = aten.sub.Tensor(to_copy_14, amax)
    exp: "f32[64, 1000]" = aten.exp.default(sub_5)
    sum: "f32[64, 1]" = aten.sum.dim_IntList(exp, [1], True)
    log: "f32[64, 1]" = aten.log.default(sum)
    sub_6: "f32[64, 1000]" = aten.sub.Tensor(sub_5, log)
    to_copy_15: "bf16[64, 1000]" = prims.convert_element_type.default(sub_6, torch.bfloat16)
    ne: "b8[64]" = aten.ne.Scalar(view_32, -100)
    scalar_tensor_2: "i64[]" = aten.scalar_tensor.default(0, dtype=torch.int64)
    where_1: "i64[64]" = aten.where.self(ne, view_32, scalar_tensor_2)
    unsqueeze_3: "i64[64, 1]" = aten.unsqueeze.default(where_1, 1)
    gather: "bf16[64, 1]" = aten.gather.default(to_copy_15, 1, unsqueeze_3)
    squeeze: "bf16[64]" = aten.squeeze.dims(gather, [1])
    neg: "bf16[64]" = aten.neg.default(squeeze)
    scalar_tensor_3: "bf16[]" = aten.scalar_tensor.default(0, dtype=torch.bfloat16)
    where_2: "bf16[64]" = aten.where.self(ne, neg, scalar_tensor_3)
    sum_1: "i64[]" = aten.sum.dim_IntList(ne, [0])
    to_copy_16: "bf16[]" = aten._to_copy.default(sum_1, dtype=torch.bfloat16)
    sum_2: "bf16[]" = aten.sum.dim_IntList(where_2, [0])
    div: "bf16[]" = aten.div.Tensor(sum_2, to_copy_16)
    # [classifier] modeling_vit.py:547 in forward: logits = self.classifier(pooled_output)
    permute_22: "bf16[1000, 768]" = aten.permute.default(permute_21, [1, 0])
    # [vit.layers.1.mlp.fc2] modeling_vit.py:252 in forward: hidden_states = self.fc2(hidden_states)
    permute_26: "bf16[768, 3072]" = aten.permute.default(permute_20, [1, 0])
    # [vit.layers.1.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    permute_30: "bf16[3072, 768]" = aten.permute.default(permute_19, [1, 0])
    # [vit.layers.1.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    permute_34: "bf16[768, 768]" = aten.permute.default(permute_18, [1, 0])
    # [vit.layers.1.attention.v_proj] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_40: "bf16[768, 768]" = aten.permute.default(permute_15, [1, 0])
    # [vit.layers.1.attention.k_proj] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_45: "bf16[768, 768]" = aten.permute.default(permute_13, [1, 0])
    # [vit.layers.1.attention.q_proj] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_50: "bf16[768, 768]" = aten.permute.default(permute_11, [1, 0])
    # [vit.layers.0.mlp.fc2] modeling_vit.py:252 in forward: hidden_states = self.fc2(hidden_states)
    permute_54: "bf16[768, 3072]" = aten.permute.default(permute_10, [1, 0])
    # [vit.layers.0.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    permute_58: "bf16[3072, 768]" = aten.permute.default(permute_9, [1, 0])
    # [vit.layers.0.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    permute_62: "bf16[768, 768]" = aten.permute.default(permute_8, [1, 0])
    # [vit.layers.0.attention.v_proj] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_68: "bf16[768, 768]" = aten.permute.default(permute_5, [1, 0])
    # [vit.layers.0.attention.k_proj] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_73: "bf16[768, 768]" = aten.permute.default(permute_3, [1, 0])
    # [vit.layers.0.attention.q_proj] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_78: "bf16[768, 768]" = aten.permute.default(permute_1, [1, 0])
    return (
        div,
        vit_embeddings_position_embeddings,
        vit_embeddings_patch_embeddings_projection_weight,
        vit_layers_0_layernorm_before_weight,
        vit_layers_0_layernorm_after_weight,
        vit_layers_1_layernorm_before_weight,
        vit_layers_1_layernorm_after_weight,
        vit_layernorm_weight,
        pixel_values,
        labels,
        cat,
        getitem_1,
        rsqrt,
        view_1,
        permute_2,
        permute_4,
        permute_6,
        where,
        getitem_2,
        getitem_3,
        getitem_4,
        getitem_5,
        add_4,
        getitem_7,
        rsqrt_1,
        view_12,
        addmm_4,
        view_14,
        add_8,
        getitem_9,
        rsqrt_2,
        view_16,
        permute_12,
        permute_14,
        permute_16,
        getitem_10,
        getitem_11,
        getitem_12,
        getitem_13,
        add_11,
        getitem_15,
        rsqrt_3,
        view_27,
        addmm_10,
        view_29,
        add_15,
        getitem_17,
        rsqrt_4,
        select,
        addmm_12,
        amax,
        log,
        to_copy_16,
        permute_22,
        permute_26,
        permute_30,
        permute_34,
        permute_40,
        permute_45,
        permute_50,
        permute_54,
        permute_58,
        permute_62,
        permute_68,
        permute_73,
        permute_78,
    )
