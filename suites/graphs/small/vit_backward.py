# harness graph 1
# title: ViT-B/16, two layers and the loss over 1000 classes, bf16, 64 images of 224
# origin: transformers ViTForImageClassification; sizes of google/vit-base-patch16-224
# sizes: small
# captured: transformers:ViTForImageClassification?num_hidden_layers=2&batch=2&num_labels=11&image=24&patch_size=8&hidden_size=40&num_attention_heads=5&intermediate_size=72
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def vit_backward(
    vit_embeddings_position_embeddings: "bf16[1, 10, 40] parameter",
    vit_embeddings_patch_embeddings_projection_weight: "bf16[40, 3, 8, 8] parameter",
    vit_layers_0_layernorm_before_weight: "bf16[40] parameter",
    vit_layers_0_layernorm_after_weight: "bf16[40] parameter",
    vit_layers_1_layernorm_before_weight: "bf16[40] parameter",
    vit_layers_1_layernorm_after_weight: "bf16[40] parameter",
    vit_layernorm_weight: "bf16[40] parameter",
    pixel_values: "bf16[2, 3, 24, 24]",
    labels: "i64[2] bound=11",
    cat: "bf16[2, 10, 40] saved",
    getitem_1: "f32[2, 10, 1] saved",
    rsqrt: "f32[2, 10, 1] saved",
    view_1: "bf16[20, 40] saved",
    permute_2: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    permute_4: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    permute_6: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    where: "bf16[2, 1, 10, 10] saved",
    getitem_2: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    getitem_3: "i64[] saved",
    getitem_4: "i64[] saved",
    getitem_5: "f32[2, 5, 32] saved",
    add_4: "bf16[2, 10, 40] saved",
    getitem_7: "f32[2, 10, 1] saved",
    rsqrt_1: "f32[2, 10, 1] saved",
    view_12: "bf16[20, 40] saved",
    addmm_4: "bf16[20, 72] saved",
    view_14: "bf16[20, 72] saved",
    add_8: "bf16[2, 10, 40] saved",
    getitem_9: "f32[2, 10, 1] saved",
    rsqrt_2: "f32[2, 10, 1] saved",
    view_16: "bf16[20, 40] saved",
    permute_12: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    permute_14: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    permute_16: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    getitem_10: "bf16[2, 5, 10, 8]{400, 8, 40, 1} saved",
    getitem_11: "i64[] saved",
    getitem_12: "i64[] saved",
    getitem_13: "f32[2, 5, 32] saved",
    add_11: "bf16[2, 10, 40] saved",
    getitem_15: "f32[2, 10, 1] saved",
    rsqrt_3: "f32[2, 10, 1] saved",
    view_27: "bf16[20, 40] saved",
    addmm_10: "bf16[20, 72] saved",
    view_29: "bf16[20, 72] saved",
    add_15: "bf16[2, 10, 40] saved",
    getitem_17: "f32[2, 10, 1] saved",
    rsqrt_4: "f32[2, 10, 1] saved",
    select: "bf16[2, 40]{400, 1} saved",
    addmm_12: "bf16[2, 11] saved",
    amax: "f32[2, 1] saved",
    log: "f32[2, 1] saved",
    to_copy_16: "bf16[] saved",
    permute_22: "bf16[11, 40] saved",
    permute_26: "bf16[40, 72] saved",
    permute_30: "bf16[72, 40] saved",
    permute_34: "bf16[40, 40] saved",
    permute_40: "bf16[40, 40] saved",
    permute_45: "bf16[40, 40] saved",
    permute_50: "bf16[40, 40] saved",
    permute_54: "bf16[40, 72] saved",
    permute_58: "bf16[72, 40] saved",
    permute_62: "bf16[40, 40] saved",
    permute_68: "bf16[40, 40] saved",
    permute_73: "bf16[40, 40] saved",
    permute_78: "bf16[40, 40] saved",
    tangent: "bf16[] gradient",
):
    # modeling_vit.py:551 in forward: loss = self.loss_function(labels, logits, self.config, **kwargs)
    div_1: "bf16[]" = aten.div.Tensor(tangent, to_copy_16)
    view_32: "i64[2]" = aten.view.default(labels, [-1])
    unsqueeze_4: "i64[2, 1]" = aten.unsqueeze.default(view_32, 1)
    ne_1: "b8[2, 1]" = aten.ne.Scalar(unsqueeze_4, -100)
    scalar_tensor_2: "i64[]" = aten.scalar_tensor.default(0, dtype=torch.int64)
    where_3: "i64[2, 1]" = aten.where.self(ne_1, unsqueeze_4, scalar_tensor_2)
    view_31: "bf16[2, 11]" = aten.view.default(addmm_12, [-1, 11])
    to_copy_14: "f32[2, 11]" = aten._to_copy.default(view_31, dtype=torch.float32)
    sub_5: "f32[2, 11]" = aten.sub.Tensor(to_copy_14, amax)
    sub_6: "f32[2, 11]" = aten.sub.Tensor(sub_5, log)
    to_copy_15: "bf16[2, 11]" = prims.convert_element_type.default(sub_6, torch.bfloat16)
    full_like: "bf16[2, 11]" = aten.full_like.default(to_copy_15, 0, memory_format=torch.preserve_format)
    scatter: "bf16[2, 11]" = aten.scatter.value(full_like, 1, where_3, -1.0)
    scalar_tensor_3: "bf16[]" = aten.scalar_tensor.default(0, dtype=torch.bfloat16)
    where_4: "bf16[2, 1]" = aten.where.self(ne_1, div_1, scalar_tensor_3)
    mul_16: "bf16[2, 11]" = aten.mul.Tensor(scatter, where_4)
    to_copy_17: "f32[2, 11]" = aten._to_copy.default(mul_16, dtype=torch.float32)
    to_copy_18: "f32[2, 11]" = aten._to_copy.default(to_copy_15, dtype=torch.float32)
    exp_1: "f32[2, 11]" = aten.exp.default(to_copy_18)
    sum_3: "f32[2, 1]" = aten.sum.dim_IntList(to_copy_17, [1], True)
    mul_17: "f32[2, 11]" = aten.mul.Tensor(exp_1, sum_3)
    sub_7: "f32[2, 11]" = aten.sub.Tensor(to_copy_17, mul_17)
    to_copy_19: "bf16[2, 11]" = prims.convert_element_type.default(sub_7, torch.bfloat16)
    view_33: "bf16[2, 11]" = aten.view.default(to_copy_19, [2, 11])
    # [classifier] modeling_vit.py:547 in forward: logits = self.classifier(pooled_output)
    mm: "bf16[2, 40]" = aten.mm.default(view_33, permute_22)
    permute_23: "bf16[11, 2]{1, 11}" = aten.permute.default(view_33, [1, 0])
    mm_1: "bf16[11, 40]" = aten.mm.default(permute_23, select)
    permute_24: "bf16[40, 11]{1, 40}" = aten.permute.default(mm_1, [1, 0])
    sum_4: "bf16[1, 11]" = aten.sum.dim_IntList(view_33, [0], True)
    view_34: "bf16[11]" = aten.view.default(sum_4, [11])
    permute_25: "bf16[11, 40]" = aten.permute.default(permute_24, [1, 0])
    # modeling_vit.py:546 in forward: pooled_output = sequence_output[:, 0, :]
    full: "bf16[2, 10, 40]" = aten.full.default([2, 10, 40], 0, dtype=torch.bfloat16)
    unsqueeze_5: "bf16[2, 1, 40]" = aten.unsqueeze.default(mm, 1)
    slice_scatter: "bf16[2, 10, 40]" = aten.slice_scatter.default(full, unsqueeze_5, 1, 0, 1)
    # [vit.layernorm] modeling_vit.py:385 in forward: sequence_output = self.layernorm(hidden_states)
    to_copy_20: "f32[2, 10, 40]" = aten._to_copy.default(slice_scatter, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_21: "f32[2, 10, 40]" = aten._to_copy.default(add_15, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_22: "f32[40]" = aten._to_copy.default(vit_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_8: "f32[2, 10, 40]" = aten.sub.Tensor(to_copy_21, getitem_17)
    mul_18: "f32[2, 10, 40]" = aten.mul.Tensor(sub_8, rsqrt_4)
    mul_19: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_20, to_copy_22)
    mul_20: "f32[2, 10, 40]" = aten.mul.Tensor(mul_19, 40)
    sum_5: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_19, [2], True)
    mul_21: "f32[2, 10, 40]" = aten.mul.Tensor(mul_19, mul_18)
    sum_6: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_21, [2], True)
    mul_22: "f32[2, 10, 40]" = aten.mul.Tensor(mul_18, sum_6)
    sub_9: "f32[2, 10, 40]" = aten.sub.Tensor(mul_20, sum_5)
    sub_10: "f32[2, 10, 40]" = aten.sub.Tensor(sub_9, mul_22)
    div_2: "f32[2, 10, 1]" = aten.div.Tensor(rsqrt_4, 40)
    mul_23: "f32[2, 10, 40]" = aten.mul.Tensor(div_2, sub_10)
    mul_24: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_20, mul_18)
    sum_7: "f32[40]" = aten.sum.dim_IntList(mul_24, [0, 1])
    sum_8: "f32[40]" = aten.sum.dim_IntList(to_copy_20, [0, 1])
    to_copy_23: "bf16[2, 10, 40]" = prims.convert_element_type.default(mul_23, torch.bfloat16)
    to_copy_24: "bf16[40]" = prims.convert_element_type.default(sum_7, torch.bfloat16)
    to_copy_25: "bf16[40]" = prims.convert_element_type.default(sum_8, torch.bfloat16)
    # [vit.layers.1.mlp.fc2] modeling_vit.py:252 in forward: hidden_states = self.fc2(hidden_states)
    view_35: "bf16[20, 40]" = aten.view.default(to_copy_23, [20, 40])
    mm_2: "bf16[20, 72]" = aten.mm.default(view_35, permute_26)
    permute_27: "bf16[40, 20]{1, 40}" = aten.permute.default(view_35, [1, 0])
    mm_3: "bf16[40, 72]" = aten.mm.default(permute_27, view_29)
    permute_28: "bf16[72, 40]{1, 72}" = aten.permute.default(mm_3, [1, 0])
    sum_9: "bf16[1, 40]" = aten.sum.dim_IntList(view_35, [0], True)
    view_36: "bf16[40]" = aten.view.default(sum_9, [40])
    permute_29: "bf16[40, 72]" = aten.permute.default(permute_28, [1, 0])
    view_37: "bf16[2, 10, 72]" = aten.view.default(mm_2, [2, 10, 72])
    # [vit.layers.1.mlp.activation_fn] activations.py:89 in forward: return self.act(input)
    to_copy_26: "f32[2, 10, 72]" = aten._to_copy.default(view_37, dtype=torch.float32)
    # [vit.layers.1.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    view_28: "bf16[2, 10, 72]" = aten.view.default(addmm_10, [2, 10, 72])
    # [vit.layers.1.mlp.activation_fn] activations.py:89 in forward: return self.act(input)
    to_copy_10: "f32[2, 10, 72]" = aten._to_copy.default(view_28, dtype=torch.float32)
    mul_12: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_10, 0.7071067811865476)
    erf_1: "f32[2, 10, 72]" = aten.erf.default(mul_12)
    add_14: "f32[2, 10, 72]" = aten.add.Tensor(erf_1, 1)
    mul_25: "f32[2, 10, 72]" = aten.mul.Tensor(add_14, 0.5)
    mul_26: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_10, to_copy_10)
    mul_27: "f32[2, 10, 72]" = aten.mul.Tensor(mul_26, -0.5)
    exp_2: "f32[2, 10, 72]" = aten.exp.default(mul_27)
    mul_28: "f32[2, 10, 72]" = aten.mul.Tensor(exp_2, 0.3989422804014327)
    mul_29: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_10, mul_28)
    add_18: "f32[2, 10, 72]" = aten.add.Tensor(mul_25, mul_29)
    mul_30: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_26, add_18)
    to_copy_27: "bf16[2, 10, 72]" = prims.convert_element_type.default(mul_30, torch.bfloat16)
    # [vit.layers.1.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    view_38: "bf16[20, 72]" = aten.view.default(to_copy_27, [20, 72])
    mm_4: "bf16[20, 40]" = aten.mm.default(view_38, permute_30)
    permute_31: "bf16[72, 20]{1, 72}" = aten.permute.default(view_38, [1, 0])
    mm_5: "bf16[72, 40]" = aten.mm.default(permute_31, view_27)
    permute_32: "bf16[40, 72]{1, 40}" = aten.permute.default(mm_5, [1, 0])
    sum_10: "bf16[1, 72]" = aten.sum.dim_IntList(view_38, [0], True)
    view_39: "bf16[72]" = aten.view.default(sum_10, [72])
    permute_33: "bf16[72, 40]" = aten.permute.default(permute_32, [1, 0])
    view_40: "bf16[2, 10, 40]" = aten.view.default(mm_4, [2, 10, 40])
    # [vit.layers.1.layernorm_after] modeling_vit.py:281 in forward: hidden_states = self.layernorm_after(hidden_states)
    to_copy_28: "f32[2, 10, 40]" = aten._to_copy.default(view_40, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_29: "f32[2, 10, 40]" = aten._to_copy.default(add_11, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_30: "f32[40]" = aten._to_copy.default(vit_layers_1_layernorm_after_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_11: "f32[2, 10, 40]" = aten.sub.Tensor(to_copy_29, getitem_15)
    mul_31: "f32[2, 10, 40]" = aten.mul.Tensor(sub_11, rsqrt_3)
    mul_32: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_28, to_copy_30)
    mul_33: "f32[2, 10, 40]" = aten.mul.Tensor(mul_32, 40)
    sum_11: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_32, [2], True)
    mul_34: "f32[2, 10, 40]" = aten.mul.Tensor(mul_32, mul_31)
    sum_12: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_34, [2], True)
    mul_35: "f32[2, 10, 40]" = aten.mul.Tensor(mul_31, sum_12)
    sub_12: "f32[2, 10, 40]" = aten.sub.Tensor(mul_33, sum_11)
    sub_13: "f32[2, 10, 40]" = aten.sub.Tensor(sub_12, mul_35)
    div_3: "f32[2, 10, 1]" = aten.div.Tensor(rsqrt_3, 40)
    mul_36: "f32[2, 10, 40]" = aten.mul.Tensor(div_3, sub_13)
    mul_37: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_28, mul_31)
    sum_13: "f32[40]" = aten.sum.dim_IntList(mul_37, [0, 1])
    sum_14: "f32[40]" = aten.sum.dim_IntList(to_copy_28, [0, 1])
    to_copy_31: "bf16[2, 10, 40]" = prims.convert_element_type.default(mul_36, torch.bfloat16)
    to_copy_32: "bf16[40]" = prims.convert_element_type.default(sum_13, torch.bfloat16)
    to_copy_33: "bf16[40]" = prims.convert_element_type.default(sum_14, torch.bfloat16)
    # modeling_vit.py:281 in forward: hidden_states = self.layernorm_after(hidden_states)
    add_19: "bf16[2, 10, 40]" = aten.add.Tensor(to_copy_23, to_copy_31)
    # [vit.layers.1.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    view_41: "bf16[20, 40]" = aten.view.default(add_19, [20, 40])
    mm_6: "bf16[20, 40]" = aten.mm.default(view_41, permute_34)
    permute_35: "bf16[40, 20]{1, 40}" = aten.permute.default(view_41, [1, 0])
    # [vit.layers.1.attention] modeling_vit.py:224 in forward: attn_output, attn_weights = attention_interface(
    view_23: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = aten.view.default(getitem_10, [2, 5, 10, 8])
    permute_17: "bf16[2, 10, 5, 8]" = aten.permute.default(view_23, [0, 2, 1, 3])
    # [vit.layers.1.attention] modeling_vit.py:235 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_24: "bf16[2, 10, 40]" = aten.view.default(permute_17, [2, 10, -1])
    # [vit.layers.1.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    view_25: "bf16[20, 40]" = aten.view.default(view_24, [20, 40])
    mm_7: "bf16[40, 40]" = aten.mm.default(permute_35, view_25)
    permute_36: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_7, [1, 0])
    sum_15: "bf16[1, 40]" = aten.sum.dim_IntList(view_41, [0], True)
    view_42: "bf16[40]" = aten.view.default(sum_15, [40])
    permute_37: "bf16[40, 40]" = aten.permute.default(permute_36, [1, 0])
    view_43: "bf16[2, 10, 40]" = aten.view.default(mm_6, [2, 10, 40])
    # [vit.layers.1.attention] modeling_vit.py:235 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_44: "bf16[2, 10, 5, 8]" = aten.view.default(view_43, [2, 10, 5, 8])
    # [vit.layers.1.attention] modeling_vit.py:224 in forward: attn_output, attn_weights = attention_interface(
    permute_38: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = aten.permute.default(view_44, [0, 2, 1, 3])
    view_45: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = aten.view.default(permute_38, [2, 5, 10, 8])
    scaled_dot_product_efficient_attention_backward: ("bf16[2, 5, 10, 8]{400, 8, 40, 1}", "bf16[2, 5, 10, 8]{400, 8, 40, 1}", "bf16[2, 5, 10, 8]{400, 8, 40, 1}", None) = aten._scaled_dot_product_efficient_attention_backward.default(view_45, permute_12, permute_14, permute_16, where, getitem_10, getitem_13, getitem_12, getitem_11, 0.0, [True, True, True, False], scale=0.3535533905932738)
    getitem_18: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 0)
    getitem_19: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 1)
    getitem_20: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 2)
    # [vit.layers.1.attention] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_39: "bf16[2, 10, 5, 8]" = aten.permute.default(getitem_20, [0, 2, 1, 3])
    view_46: "bf16[2, 10, 40]" = aten.view.default(permute_39, [2, 10, 40])
    # [vit.layers.1.attention.v_proj] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_47: "bf16[20, 40]" = aten.view.default(view_46, [20, 40])
    mm_8: "bf16[20, 40]" = aten.mm.default(view_47, permute_40)
    permute_41: "bf16[40, 20]{1, 40}" = aten.permute.default(view_47, [1, 0])
    mm_9: "bf16[40, 40]" = aten.mm.default(permute_41, view_16)
    permute_42: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_9, [1, 0])
    sum_16: "bf16[1, 40]" = aten.sum.dim_IntList(view_47, [0], True)
    view_48: "bf16[40]" = aten.view.default(sum_16, [40])
    permute_43: "bf16[40, 40]" = aten.permute.default(permute_42, [1, 0])
    view_49: "bf16[2, 10, 40]" = aten.view.default(mm_8, [2, 10, 40])
    # [vit.layers.1.attention] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_44: "bf16[2, 10, 5, 8]" = aten.permute.default(getitem_19, [0, 2, 1, 3])
    view_50: "bf16[2, 10, 40]" = aten.view.default(permute_44, [2, 10, 40])
    # [vit.layers.1.attention.k_proj] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_51: "bf16[20, 40]" = aten.view.default(view_50, [20, 40])
    mm_10: "bf16[20, 40]" = aten.mm.default(view_51, permute_45)
    permute_46: "bf16[40, 20]{1, 40}" = aten.permute.default(view_51, [1, 0])
    mm_11: "bf16[40, 40]" = aten.mm.default(permute_46, view_16)
    permute_47: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_11, [1, 0])
    sum_17: "bf16[1, 40]" = aten.sum.dim_IntList(view_51, [0], True)
    view_52: "bf16[40]" = aten.view.default(sum_17, [40])
    permute_48: "bf16[40, 40]" = aten.permute.default(permute_47, [1, 0])
    view_53: "bf16[2, 10, 40]" = aten.view.default(mm_10, [2, 10, 40])
    # modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    add_20: "bf16[2, 10, 40]" = aten.add.Tensor(view_49, view_53)
    # [vit.layers.1.attention] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_49: "bf16[2, 10, 5, 8]" = aten.permute.default(getitem_18, [0, 2, 1, 3])
    view_54: "bf16[2, 10, 40]" = aten.view.default(permute_49, [2, 10, 40])
    # [vit.layers.1.attention.q_proj] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_55: "bf16[20, 40]" = aten.view.default(view_54, [20, 40])
    mm_12: "bf16[20, 40]" = aten.mm.default(view_55, permute_50)
    permute_51: "bf16[40, 20]{1, 40}" = aten.permute.default(view_55, [1, 0])
    mm_13: "bf16[40, 40]" = aten.mm.default(permute_51, view_16)
    permute_52: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_13, [1, 0])
    sum_18: "bf16[1, 40]" = aten.sum.dim_IntList(view_55, [0], True)
    view_56: "bf16[40]" = aten.view.default(sum_18, [40])
    permute_53: "bf16[40, 40]" = aten.permute.default(permute_52, [1, 0])
    view_57: "bf16[2, 10, 40]" = aten.view.default(mm_12, [2, 10, 40])
    # modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    add_21: "bf16[2, 10, 40]" = aten.add.Tensor(add_20, view_57)
    # [vit.layers.1.layernorm_before] modeling_vit.py:274 in forward: hidden_states = self.layernorm_before(hidden_states)
    to_copy_34: "f32[2, 10, 40]" = aten._to_copy.default(add_21, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_35: "f32[2, 10, 40]" = aten._to_copy.default(add_8, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_36: "f32[40]" = aten._to_copy.default(vit_layers_1_layernorm_before_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_14: "f32[2, 10, 40]" = aten.sub.Tensor(to_copy_35, getitem_9)
    mul_38: "f32[2, 10, 40]" = aten.mul.Tensor(sub_14, rsqrt_2)
    mul_39: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_34, to_copy_36)
    mul_40: "f32[2, 10, 40]" = aten.mul.Tensor(mul_39, 40)
    sum_19: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_39, [2], True)
    mul_41: "f32[2, 10, 40]" = aten.mul.Tensor(mul_39, mul_38)
    sum_20: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_41, [2], True)
    mul_42: "f32[2, 10, 40]" = aten.mul.Tensor(mul_38, sum_20)
    sub_15: "f32[2, 10, 40]" = aten.sub.Tensor(mul_40, sum_19)
    sub_16: "f32[2, 10, 40]" = aten.sub.Tensor(sub_15, mul_42)
    div_4: "f32[2, 10, 1]" = aten.div.Tensor(rsqrt_2, 40)
    mul_43: "f32[2, 10, 40]" = aten.mul.Tensor(div_4, sub_16)
    mul_44: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_34, mul_38)
    sum_21: "f32[40]" = aten.sum.dim_IntList(mul_44, [0, 1])
    sum_22: "f32[40]" = aten.sum.dim_IntList(to_copy_34, [0, 1])
    to_copy_37: "bf16[2, 10, 40]" = prims.convert_element_type.default(mul_43, torch.bfloat16)
    to_copy_38: "bf16[40]" = prims.convert_element_type.default(sum_21, torch.bfloat16)
    to_copy_39: "bf16[40]" = prims.convert_element_type.default(sum_22, torch.bfloat16)
    # modeling_vit.py:274 in forward: hidden_states = self.layernorm_before(hidden_states)
    add_22: "bf16[2, 10, 40]" = aten.add.Tensor(add_19, to_copy_37)
    # [vit.layers.0.mlp.fc2] modeling_vit.py:252 in forward: hidden_states = self.fc2(hidden_states)
    view_58: "bf16[20, 40]" = aten.view.default(add_22, [20, 40])
    mm_14: "bf16[20, 72]" = aten.mm.default(view_58, permute_54)
    permute_55: "bf16[40, 20]{1, 40}" = aten.permute.default(view_58, [1, 0])
    mm_15: "bf16[40, 72]" = aten.mm.default(permute_55, view_14)
    permute_56: "bf16[72, 40]{1, 72}" = aten.permute.default(mm_15, [1, 0])
    sum_23: "bf16[1, 40]" = aten.sum.dim_IntList(view_58, [0], True)
    view_59: "bf16[40]" = aten.view.default(sum_23, [40])
    permute_57: "bf16[40, 72]" = aten.permute.default(permute_56, [1, 0])
    view_60: "bf16[2, 10, 72]" = aten.view.default(mm_14, [2, 10, 72])
    # [vit.layers.0.mlp.activation_fn] activations.py:89 in forward: return self.act(input)
    to_copy_40: "f32[2, 10, 72]" = aten._to_copy.default(view_60, dtype=torch.float32)
    # [vit.layers.0.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    view_13: "bf16[2, 10, 72]" = aten.view.default(addmm_4, [2, 10, 72])
    # [vit.layers.0.mlp.activation_fn] activations.py:89 in forward: return self.act(input)
    to_copy_4: "f32[2, 10, 72]" = aten._to_copy.default(view_13, dtype=torch.float32)
    mul_5: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_4, 0.7071067811865476)
    erf: "f32[2, 10, 72]" = aten.erf.default(mul_5)
    add_7: "f32[2, 10, 72]" = aten.add.Tensor(erf, 1)
    mul_45: "f32[2, 10, 72]" = aten.mul.Tensor(add_7, 0.5)
    mul_46: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_4, to_copy_4)
    mul_47: "f32[2, 10, 72]" = aten.mul.Tensor(mul_46, -0.5)
    exp_3: "f32[2, 10, 72]" = aten.exp.default(mul_47)
    mul_48: "f32[2, 10, 72]" = aten.mul.Tensor(exp_3, 0.3989422804014327)
    mul_49: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_4, mul_48)
    add_23: "f32[2, 10, 72]" = aten.add.Tensor(mul_45, mul_49)
    mul_50: "f32[2, 10, 72]" = aten.mul.Tensor(to_copy_40, add_23)
    to_copy_41: "bf16[2, 10, 72]" = prims.convert_element_type.default(mul_50, torch.bfloat16)
    # [vit.layers.0.mlp.fc1] modeling_vit.py:250 in forward: hidden_states = self.fc1(hidden_states)
    view_61: "bf16[20, 72]" = aten.view.default(to_copy_41, [20, 72])
    mm_16: "bf16[20, 40]" = aten.mm.default(view_61, permute_58)
    permute_59: "bf16[72, 20]{1, 72}" = aten.permute.default(view_61, [1, 0])
    mm_17: "bf16[72, 40]" = aten.mm.default(permute_59, view_12)
    permute_60: "bf16[40, 72]{1, 40}" = aten.permute.default(mm_17, [1, 0])
    sum_24: "bf16[1, 72]" = aten.sum.dim_IntList(view_61, [0], True)
    view_62: "bf16[72]" = aten.view.default(sum_24, [72])
    permute_61: "bf16[72, 40]" = aten.permute.default(permute_60, [1, 0])
    view_63: "bf16[2, 10, 40]" = aten.view.default(mm_16, [2, 10, 40])
    # [vit.layers.0.layernorm_after] modeling_vit.py:281 in forward: hidden_states = self.layernorm_after(hidden_states)
    to_copy_42: "f32[2, 10, 40]" = aten._to_copy.default(view_63, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_43: "f32[2, 10, 40]" = aten._to_copy.default(add_4, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_44: "f32[40]" = aten._to_copy.default(vit_layers_0_layernorm_after_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_17: "f32[2, 10, 40]" = aten.sub.Tensor(to_copy_43, getitem_7)
    mul_51: "f32[2, 10, 40]" = aten.mul.Tensor(sub_17, rsqrt_1)
    mul_52: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_42, to_copy_44)
    mul_53: "f32[2, 10, 40]" = aten.mul.Tensor(mul_52, 40)
    sum_25: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_52, [2], True)
    mul_54: "f32[2, 10, 40]" = aten.mul.Tensor(mul_52, mul_51)
    sum_26: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_54, [2], True)
    mul_55: "f32[2, 10, 40]" = aten.mul.Tensor(mul_51, sum_26)
    sub_18: "f32[2, 10, 40]" = aten.sub.Tensor(mul_53, sum_25)
    sub_19: "f32[2, 10, 40]" = aten.sub.Tensor(sub_18, mul_55)
    div_5: "f32[2, 10, 1]" = aten.div.Tensor(rsqrt_1, 40)
    mul_56: "f32[2, 10, 40]" = aten.mul.Tensor(div_5, sub_19)
    mul_57: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_42, mul_51)
    sum_27: "f32[40]" = aten.sum.dim_IntList(mul_57, [0, 1])
    sum_28: "f32[40]" = aten.sum.dim_IntList(to_copy_42, [0, 1])
    to_copy_45: "bf16[2, 10, 40]" = prims.convert_element_type.default(mul_56, torch.bfloat16)
    to_copy_46: "bf16[40]" = prims.convert_element_type.default(sum_27, torch.bfloat16)
    to_copy_47: "bf16[40]" = prims.convert_element_type.default(sum_28, torch.bfloat16)
    # modeling_vit.py:281 in forward: hidden_states = self.layernorm_after(hidden_states)
    add_24: "bf16[2, 10, 40]" = aten.add.Tensor(add_22, to_copy_45)
    # [vit.layers.0.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    view_64: "bf16[20, 40]" = aten.view.default(add_24, [20, 40])
    mm_18: "bf16[20, 40]" = aten.mm.default(view_64, permute_62)
    permute_63: "bf16[40, 20]{1, 40}" = aten.permute.default(view_64, [1, 0])
    # [vit.layers.0.attention] modeling_vit.py:224 in forward: attn_output, attn_weights = attention_interface(
    view_8: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = aten.view.default(getitem_2, [2, 5, 10, 8])
    permute_7: "bf16[2, 10, 5, 8]" = aten.permute.default(view_8, [0, 2, 1, 3])
    # [vit.layers.0.attention] modeling_vit.py:235 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_9: "bf16[2, 10, 40]" = aten.view.default(permute_7, [2, 10, -1])
    # [vit.layers.0.attention.o_proj] modeling_vit.py:236 in forward: attn_output = self.o_proj(attn_output)
    view_10: "bf16[20, 40]" = aten.view.default(view_9, [20, 40])
    mm_19: "bf16[40, 40]" = aten.mm.default(permute_63, view_10)
    permute_64: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_19, [1, 0])
    sum_29: "bf16[1, 40]" = aten.sum.dim_IntList(view_64, [0], True)
    view_65: "bf16[40]" = aten.view.default(sum_29, [40])
    permute_65: "bf16[40, 40]" = aten.permute.default(permute_64, [1, 0])
    view_66: "bf16[2, 10, 40]" = aten.view.default(mm_18, [2, 10, 40])
    # [vit.layers.0.attention] modeling_vit.py:235 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_67: "bf16[2, 10, 5, 8]" = aten.view.default(view_66, [2, 10, 5, 8])
    # [vit.layers.0.attention] modeling_vit.py:224 in forward: attn_output, attn_weights = attention_interface(
    permute_66: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = aten.permute.default(view_67, [0, 2, 1, 3])
    view_68: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = aten.view.default(permute_66, [2, 5, 10, 8])
    scaled_dot_product_efficient_attention_backward_1: ("bf16[2, 5, 10, 8]{400, 8, 40, 1}", "bf16[2, 5, 10, 8]{400, 8, 40, 1}", "bf16[2, 5, 10, 8]{400, 8, 40, 1}", None) = aten._scaled_dot_product_efficient_attention_backward.default(view_68, permute_2, permute_4, permute_6, where, getitem_2, getitem_5, getitem_4, getitem_3, 0.0, [True, True, True, False], scale=0.3535533905932738)
    getitem_21: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward_1, 0)
    getitem_22: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward_1, 1)
    getitem_23: "bf16[2, 5, 10, 8]{400, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward_1, 2)
    # [vit.layers.0.attention] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_67: "bf16[2, 10, 5, 8]" = aten.permute.default(getitem_23, [0, 2, 1, 3])
    view_69: "bf16[2, 10, 40]" = aten.view.default(permute_67, [2, 10, 40])
    # [vit.layers.0.attention.v_proj] modeling_vit.py:218 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_70: "bf16[20, 40]" = aten.view.default(view_69, [20, 40])
    mm_20: "bf16[20, 40]" = aten.mm.default(view_70, permute_68)
    permute_69: "bf16[40, 20]{1, 40}" = aten.permute.default(view_70, [1, 0])
    mm_21: "bf16[40, 40]" = aten.mm.default(permute_69, view_1)
    permute_70: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_21, [1, 0])
    sum_30: "bf16[1, 40]" = aten.sum.dim_IntList(view_70, [0], True)
    view_71: "bf16[40]" = aten.view.default(sum_30, [40])
    permute_71: "bf16[40, 40]" = aten.permute.default(permute_70, [1, 0])
    view_72: "bf16[2, 10, 40]" = aten.view.default(mm_20, [2, 10, 40])
    # [vit.layers.0.attention] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_72: "bf16[2, 10, 5, 8]" = aten.permute.default(getitem_22, [0, 2, 1, 3])
    view_73: "bf16[2, 10, 40]" = aten.view.default(permute_72, [2, 10, 40])
    # [vit.layers.0.attention.k_proj] modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_74: "bf16[20, 40]" = aten.view.default(view_73, [20, 40])
    mm_22: "bf16[20, 40]" = aten.mm.default(view_74, permute_73)
    permute_74: "bf16[40, 20]{1, 40}" = aten.permute.default(view_74, [1, 0])
    mm_23: "bf16[40, 40]" = aten.mm.default(permute_74, view_1)
    permute_75: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_23, [1, 0])
    sum_31: "bf16[1, 40]" = aten.sum.dim_IntList(view_74, [0], True)
    view_75: "bf16[40]" = aten.view.default(sum_31, [40])
    permute_76: "bf16[40, 40]" = aten.permute.default(permute_75, [1, 0])
    view_76: "bf16[2, 10, 40]" = aten.view.default(mm_22, [2, 10, 40])
    # modeling_vit.py:217 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    add_25: "bf16[2, 10, 40]" = aten.add.Tensor(view_72, view_76)
    # [vit.layers.0.attention] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_77: "bf16[2, 10, 5, 8]" = aten.permute.default(getitem_21, [0, 2, 1, 3])
    view_77: "bf16[2, 10, 40]" = aten.view.default(permute_77, [2, 10, 40])
    # [vit.layers.0.attention.q_proj] modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_78: "bf16[20, 40]" = aten.view.default(view_77, [20, 40])
    mm_24: "bf16[20, 40]" = aten.mm.default(view_78, permute_78)
    permute_79: "bf16[40, 20]{1, 40}" = aten.permute.default(view_78, [1, 0])
    mm_25: "bf16[40, 40]" = aten.mm.default(permute_79, view_1)
    permute_80: "bf16[40, 40]{1, 40}" = aten.permute.default(mm_25, [1, 0])
    sum_32: "bf16[1, 40]" = aten.sum.dim_IntList(view_78, [0], True)
    view_79: "bf16[40]" = aten.view.default(sum_32, [40])
    permute_81: "bf16[40, 40]" = aten.permute.default(permute_80, [1, 0])
    view_80: "bf16[2, 10, 40]" = aten.view.default(mm_24, [2, 10, 40])
    # modeling_vit.py:216 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    add_26: "bf16[2, 10, 40]" = aten.add.Tensor(add_25, view_80)
    # [vit.layers.0.layernorm_before] modeling_vit.py:274 in forward: hidden_states = self.layernorm_before(hidden_states)
    to_copy_48: "f32[2, 10, 40]" = aten._to_copy.default(add_26, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [vit.embeddings] modeling_vit.py:157 in forward: embeddings = embeddings + self.position_embeddings
    add: "bf16[2, 10, 40]" = aten.add.Tensor(cat, vit_embeddings_position_embeddings)
    # [vit.embeddings.dropout] modeling_vit.py:159 in forward: embeddings = self.dropout(embeddings)
    clone: "bf16[2, 10, 40]" = aten.clone.default(add)
    # [vit.layers.0.layernorm_before] modeling_vit.py:274 in forward: hidden_states = self.layernorm_before(hidden_states)
    to_copy_49: "f32[2, 10, 40]" = aten._to_copy.default(clone, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_50: "f32[40]" = aten._to_copy.default(vit_layers_0_layernorm_before_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_20: "f32[2, 10, 40]" = aten.sub.Tensor(to_copy_49, getitem_1)
    mul_58: "f32[2, 10, 40]" = aten.mul.Tensor(sub_20, rsqrt)
    mul_59: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_48, to_copy_50)
    mul_60: "f32[2, 10, 40]" = aten.mul.Tensor(mul_59, 40)
    sum_33: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_59, [2], True)
    mul_61: "f32[2, 10, 40]" = aten.mul.Tensor(mul_59, mul_58)
    sum_34: "f32[2, 10, 1]" = aten.sum.dim_IntList(mul_61, [2], True)
    mul_62: "f32[2, 10, 40]" = aten.mul.Tensor(mul_58, sum_34)
    sub_21: "f32[2, 10, 40]" = aten.sub.Tensor(mul_60, sum_33)
    sub_22: "f32[2, 10, 40]" = aten.sub.Tensor(sub_21, mul_62)
    div_6: "f32[2, 10, 1]" = aten.div.Tensor(rsqrt, 40)
    mul_63: "f32[2, 10, 40]" = aten.mul.Tensor(div_6, sub_22)
    mul_64: "f32[2, 10, 40]" = aten.mul.Tensor(to_copy_48, mul_58)
    sum_35: "f32[40]" = aten.sum.dim_IntList(mul_64, [0, 1])
    sum_36: "f32[40]" = aten.sum.dim_IntList(to_copy_48, [0, 1])
    to_copy_51: "bf16[2, 10, 40]" = prims.convert_element_type.default(mul_63, torch.bfloat16)
    to_copy_52: "bf16[40]" = prims.convert_element_type.default(sum_35, torch.bfloat16)
    to_copy_53: "bf16[40]" = prims.convert_element_type.default(sum_36, torch.bfloat16)
    # modeling_vit.py:274 in forward: hidden_states = self.layernorm_before(hidden_states)
    add_27: "bf16[2, 10, 40]" = aten.add.Tensor(add_24, to_copy_51)
    # [vit.embeddings] modeling_vit.py:157 in forward: embeddings = embeddings + self.position_embeddings
    sum_37: "bf16[1, 10, 40]" = aten.sum.dim_IntList(add_27, [0], True)
    # [vit.embeddings] modeling_vit.py:147 in forward: embeddings = torch.cat((cls_tokens, embeddings), dim=1)
    slice: "bf16[2, 1, 40]{400, 40, 1}" = aten.slice.Tensor(add_27, 1, 0, 1)
    slice_1: "bf16[2, 9, 40]{400, 40, 1}" = aten.slice.Tensor(add_27, 1, 1, 10)
    # [vit.embeddings] modeling_vit.py:146 in forward: cls_tokens = self.cls_token.expand(batch_size, -1, -1)
    sum_38: "bf16[1, 1, 40]" = aten.sum.dim_IntList(slice, [0], True)
    # [vit.embeddings.patch_embeddings] modeling_vit.py:69 in forward: return self.projection(pixel_values).flatten(2).transpose(1, 2)
    permute_82: "bf16[2, 40, 9]{400, 1, 40}" = aten.permute.default(slice_1, [0, 2, 1])
    view_81: "bf16[2, 40, 3, 3]{400, 1, 120, 40}" = aten.view.default(permute_82, [2, 40, 3, 3])
    # [vit.embeddings.patch_embeddings.projection] modeling_vit.py:69 in forward: return self.projection(pixel_values).flatten(2).transpose(1, 2)
    convolution_backward: (None, "bf16[40, 3, 8, 8]", "bf16[40]") = aten.convolution_backward.default(view_81, pixel_values, vit_embeddings_patch_embeddings_projection_weight, [40], [8, 8], [0, 0], [1, 1], False, [0, 0], 1, [False, True, True])
    getitem_24: "bf16[40, 3, 8, 8]" = getitem(convolution_backward, 1)
    getitem_25: "bf16[40]" = getitem(convolution_backward, 2)
    return (
        sum_38,
        sum_37,
        getitem_24,
        getitem_25,
        permute_81,
        view_79,
        permute_76,
        view_75,
        permute_71,
        view_71,
        permute_65,
        view_65,
        to_copy_52,
        to_copy_53,
        to_copy_46,
        to_copy_47,
        permute_61,
        view_62,
        permute_57,
        view_59,
        permute_53,
        view_56,
        permute_48,
        view_52,
        permute_43,
        view_48,
        permute_37,
        view_42,
        to_copy_38,
        to_copy_39,
        to_copy_32,
        to_copy_33,
        permute_33,
        view_39,
        permute_29,
        view_36,
        to_copy_24,
        to_copy_25,
        permute_25,
        view_34,
        None,
        None,
    )
