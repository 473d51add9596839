# harness graph 1
# title: GPT-2, two layers and its loss over 50257 classes, bf16, 8 sequences of 1024
# origin: transformers GPT2LMHeadModel; sizes of openai-community/gpt2
# sizes: small
# captured: transformers:GPT2LMHeadModel?n_layer=2&batch=2&seq=9&n_embd=40&n_head=5&vocab_size=101&n_positions=16
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def gpt2_backward(
    transformer_h_0_ln_1_weight: "bf16[40] parameter",
    transformer_h_0_ln_2_weight: "bf16[40] parameter",
    transformer_h_1_ln_1_weight: "bf16[40] parameter",
    transformer_h_1_ln_2_weight: "bf16[40] parameter",
    transformer_ln_f_weight: "bf16[40] parameter",
    view: "i64[2, 9] saved bound=101",
    embedding: "bf16[2, 9, 40] saved",
    unsqueeze: "i64[1, 9] saved bound=16",
    embedding_1: "bf16[1, 9, 40] saved",
    getitem_1: "f32[2, 9, 1] saved",
    rsqrt: "f32[2, 9, 1] saved",
    permute: "bf16[2, 5, 9, 8]{1080, 8, 120, 1} saved",
    permute_1: "bf16[2, 5, 9, 8]{1080, 8, 120, 1} saved",
    permute_2: "bf16[2, 5, 9, 8]{1080, 8, 120, 1} saved",
    where: "bf16[2, 1, 9, 9] saved",
    getitem_2: "bf16[2, 5, 9, 8]{360, 8, 40, 1} saved",
    getitem_3: "i64[] saved",
    getitem_4: "i64[] saved",
    getitem_5: "f32[2, 5, 32] saved",
    add_4: "bf16[2, 9, 40] saved",
    getitem_7: "f32[2, 9, 1] saved",
    rsqrt_1: "f32[2, 9, 1] saved",
    addmm_2: "bf16[18, 160] saved",
    add_9: "bf16[2, 9, 40] saved",
    getitem_9: "f32[2, 9, 1] saved",
    rsqrt_2: "f32[2, 9, 1] saved",
    permute_4: "bf16[2, 5, 9, 8]{1080, 8, 120, 1} saved",
    permute_5: "bf16[2, 5, 9, 8]{1080, 8, 120, 1} saved",
    permute_6: "bf16[2, 5, 9, 8]{1080, 8, 120, 1} saved",
    getitem_10: "bf16[2, 5, 9, 8]{360, 8, 40, 1} saved",
    getitem_11: "i64[] saved",
    getitem_12: "i64[] saved",
    getitem_13: "f32[2, 5, 32] saved",
    add_12: "bf16[2, 9, 40] saved",
    getitem_15: "f32[2, 9, 1] saved",
    rsqrt_3: "f32[2, 9, 1] saved",
    addmm_6: "bf16[18, 160] saved",
    add_17: "bf16[2, 9, 40] saved",
    getitem_17: "f32[2, 9, 1] saved",
    rsqrt_4: "f32[2, 9, 1] saved",
    view_29: "bf16[18, 40] saved",
    mm: "bf16[18, 101] saved",
    amax: "f32[18, 1] saved",
    log: "f32[18, 1] saved",
    to_copy_12: "f32[] saved",
    ne_1: "b8[18, 1] saved",
    where_3: "i64[18, 1] saved bound=101",
    permute_11: "bf16[101, 40] saved",
    permute_13: "bf16[40, 160]{1, 40} saved",
    permute_14: "bf16[160, 18]{1, 160} saved",
    permute_15: "bf16[160, 40]{1, 160} saved",
    permute_16: "bf16[40, 18]{1, 40} saved",
    permute_17: "bf16[40, 40]{1, 40} saved",
    permute_23: "bf16[120, 40]{1, 120} saved",
    permute_24: "bf16[40, 18]{1, 40} saved",
    permute_25: "bf16[40, 160]{1, 40} saved",
    permute_26: "bf16[160, 18]{1, 160} saved",
    permute_27: "bf16[160, 40]{1, 160} saved",
    permute_28: "bf16[40, 18]{1, 40} saved",
    permute_29: "bf16[40, 40]{1, 40} saved",
    permute_35: "bf16[120, 40]{1, 120} saved",
    permute_36: "bf16[40, 18]{1, 40} saved",
    tangent: "f32[] gradient",
):
    # modeling_gpt2.py:700 in forward: loss = self.loss_function(
    div_1: "f32[]" = aten.div.Tensor(tangent, to_copy_12)
    # [lm_head] modeling_gpt2.py:695 in forward: logits = self.lm_head(hidden_states)
    view_30: "bf16[2, 9, 101]" = aten.view.default(mm, [2, 9, 101])
    # modeling_gpt2.py:700 in forward: loss = self.loss_function(
    to_copy_11: "f32[2, 9, 101]" = aten._to_copy.default(view_30, dtype=torch.float32)
    view_31: "f32[18, 101]" = aten.view.default(to_copy_11, [-1, 101])
    sub_5: "f32[18, 101]" = aten.sub.Tensor(view_31, amax)
    sub_6: "f32[18, 101]" = aten.sub.Tensor(sub_5, log)
    full_like: "f32[18, 101]" = aten.full_like.default(sub_6, 0, memory_format=torch.preserve_format)
    scatter: "f32[18, 101]" = aten.scatter.value(full_like, 1, where_3, -1.0)
    scalar_tensor_3: "f32[]" = aten.scalar_tensor.default(0, dtype=torch.float32)
    where_4: "f32[18, 1]" = aten.where.self(ne_1, div_1, scalar_tensor_3)
    mul_18: "f32[18, 101]" = aten.mul.Tensor(scatter, where_4)
    exp_1: "f32[18, 101]" = aten.exp.default(sub_6)
    sum_3: "f32[18, 1]" = aten.sum.dim_IntList(mul_18, [1], True)
    mul_19: "f32[18, 101]" = aten.mul.Tensor(exp_1, sum_3)
    sub_7: "f32[18, 101]" = aten.sub.Tensor(mul_18, mul_19)
    view_33: "f32[2, 9, 101]" = aten.view.default(sub_7, [2, 9, 101])
    to_copy_13: "bf16[2, 9, 101]" = aten._to_copy.default(view_33, dtype=torch.bfloat16)
    # [lm_head] modeling_gpt2.py:695 in forward: logits = self.lm_head(hidden_states)
    view_34: "bf16[18, 101]" = aten.view.default(to_copy_13, [18, 101])
    permute_9: "bf16[101, 18]{1, 101}" = aten.permute.default(view_34, [1, 0])
    mm_1: "bf16[101, 40]" = aten.mm.default(permute_9, view_29)
    permute_10: "bf16[40, 101]{1, 40}" = aten.permute.default(mm_1, [1, 0])
    mm_2: "bf16[18, 40]" = aten.mm.default(view_34, permute_11)
    view_35: "bf16[2, 9, 40]" = aten.view.default(mm_2, [2, 9, 40])
    permute_12: "bf16[101, 40]" = aten.permute.default(permute_10, [1, 0])
    # [transformer] modeling_gpt2.py:619 in forward: hidden_states = hidden_states.view(output_shape)
    view_36: "bf16[2, 9, 40]" = aten.view.default(view_35, [2, 9, 40])
    # [transformer.ln_f] modeling_gpt2.py:617 in forward: hidden_states = self.ln_f(hidden_states)
    to_copy_14: "f32[2, 9, 40]" = aten._to_copy.default(view_36, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_15: "f32[2, 9, 40]" = aten._to_copy.default(add_17, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_16: "f32[40]" = aten._to_copy.default(transformer_ln_f_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_8: "f32[2, 9, 40]" = aten.sub.Tensor(to_copy_15, getitem_17)
    mul_20: "f32[2, 9, 40]" = aten.mul.Tensor(sub_8, rsqrt_4)
    mul_21: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_14, to_copy_16)
    mul_22: "f32[2, 9, 40]" = aten.mul.Tensor(mul_21, 40)
    sum_4: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_21, [2], True)
    mul_23: "f32[2, 9, 40]" = aten.mul.Tensor(mul_21, mul_20)
    sum_5: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_23, [2], True)
    mul_24: "f32[2, 9, 40]" = aten.mul.Tensor(mul_20, sum_5)
    sub_9: "f32[2, 9, 40]" = aten.sub.Tensor(mul_22, sum_4)
    sub_10: "f32[2, 9, 40]" = aten.sub.Tensor(sub_9, mul_24)
    div_2: "f32[2, 9, 1]" = aten.div.Tensor(rsqrt_4, 40)
    mul_25: "f32[2, 9, 40]" = aten.mul.Tensor(div_2, sub_10)
    mul_26: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_14, mul_20)
    sum_6: "f32[40]" = aten.sum.dim_IntList(mul_26, [0, 1])
    sum_7: "f32[40]" = aten.sum.dim_IntList(to_copy_14, [0, 1])
    to_copy_17: "bf16[2, 9, 40]" = prims.convert_element_type.default(mul_25, torch.bfloat16)
    to_copy_18: "bf16[40]" = prims.convert_element_type.default(sum_6, torch.bfloat16)
    to_copy_19: "bf16[40]" = prims.convert_element_type.default(sum_7, torch.bfloat16)
    # [transformer.h.1.mlp.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_37: "bf16[18, 40]" = aten.view.default(to_copy_17, [18, 40])
    # [transformer.h.1.mlp.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_3: "bf16[18, 160]" = aten.mm.default(view_37, permute_13)
    mm_4: "bf16[160, 40]" = aten.mm.default(permute_14, view_37)
    sum_8: "bf16[1, 40]" = aten.sum.dim_IntList(view_37, [0], True)
    view_38: "bf16[40]" = aten.view.default(sum_8, [40])
    view_39: "bf16[2, 9, 160]" = aten.view.default(mm_3, [2, 9, 160])
    # [transformer.h.1.mlp.c_fc] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_25: "bf16[2, 9, 160]" = aten.view.default(addmm_6, [2, 9, 160])
    # [transformer.h.1.mlp.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_12: "bf16[2, 9, 160]" = aten.mul.Tensor(view_25, 0.5)
    mul_27: "bf16[2, 9, 160]" = aten.mul.Tensor(view_39, mul_12)
    pow_1: "bf16[2, 9, 160]" = aten.pow.Tensor_Scalar(view_25, 3.0)
    mul_13: "bf16[2, 9, 160]" = aten.mul.Tensor(pow_1, 0.044715)
    add_15: "bf16[2, 9, 160]" = aten.add.Tensor(view_25, mul_13)
    mul_14: "bf16[2, 9, 160]" = aten.mul.Tensor(add_15, 0.7978845608028654)
    tanh_1: "bf16[2, 9, 160]" = aten.tanh.default(mul_14)
    add_16: "bf16[2, 9, 160]" = aten.add.Tensor(tanh_1, 1.0)
    mul_28: "bf16[2, 9, 160]" = aten.mul.Tensor(view_39, add_16)
    to_copy_20: "f32[2, 9, 160]" = aten._to_copy.default(mul_27, dtype=torch.float32)
    to_copy_21: "f32[2, 9, 160]" = aten._to_copy.default(tanh_1, dtype=torch.float32)
    mul_29: "f32[2, 9, 160]" = aten.mul.Tensor(to_copy_21, to_copy_21)
    sub_11: "f32[2, 9, 160]" = aten.sub.Tensor(1, mul_29)
    mul_30: "f32[2, 9, 160]" = aten.mul.Tensor(to_copy_20, sub_11)
    to_copy_22: "bf16[2, 9, 160]" = prims.convert_element_type.default(mul_30, torch.bfloat16)
    mul_31: "bf16[2, 9, 160]" = aten.mul.Tensor(to_copy_22, 0.7978845608028654)
    mul_32: "bf16[2, 9, 160]" = aten.mul.Tensor(mul_31, 0.044715)
    pow_2: "bf16[2, 9, 160]" = aten.pow.Tensor_Scalar(view_25, 2.0)
    mul_33: "bf16[2, 9, 160]" = aten.mul.Scalar(pow_2, 3.0)
    mul_34: "bf16[2, 9, 160]" = aten.mul.Tensor(mul_32, mul_33)
    # activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    add_20: "bf16[2, 9, 160]" = aten.add.Tensor(mul_31, mul_34)
    # [transformer.h.1.mlp.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_35: "bf16[2, 9, 160]" = aten.mul.Tensor(mul_28, 0.5)
    # activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    add_21: "bf16[2, 9, 160]" = aten.add.Tensor(add_20, mul_35)
    # [transformer.h.1.mlp.c_fc] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_40: "bf16[18, 160]" = aten.view.default(add_21, [18, 160])
    # [transformer.h.1.mlp.c_fc] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_5: "bf16[18, 40]" = aten.mm.default(view_40, permute_15)
    mm_6: "bf16[40, 160]" = aten.mm.default(permute_16, view_40)
    sum_9: "bf16[1, 160]" = aten.sum.dim_IntList(view_40, [0], True)
    view_41: "bf16[160]" = aten.view.default(sum_9, [160])
    view_42: "bf16[2, 9, 40]" = aten.view.default(mm_5, [2, 9, 40])
    # [transformer.h.1.ln_2] modeling_gpt2.py:304 in forward: hidden_states = self.ln_2(hidden_states)
    to_copy_23: "f32[2, 9, 40]" = aten._to_copy.default(view_42, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_24: "f32[2, 9, 40]" = aten._to_copy.default(add_12, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_25: "f32[40]" = aten._to_copy.default(transformer_h_1_ln_2_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_12: "f32[2, 9, 40]" = aten.sub.Tensor(to_copy_24, getitem_15)
    mul_36: "f32[2, 9, 40]" = aten.mul.Tensor(sub_12, rsqrt_3)
    mul_37: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_23, to_copy_25)
    mul_38: "f32[2, 9, 40]" = aten.mul.Tensor(mul_37, 40)
    sum_10: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_37, [2], True)
    mul_39: "f32[2, 9, 40]" = aten.mul.Tensor(mul_37, mul_36)
    sum_11: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_39, [2], True)
    mul_40: "f32[2, 9, 40]" = aten.mul.Tensor(mul_36, sum_11)
    sub_13: "f32[2, 9, 40]" = aten.sub.Tensor(mul_38, sum_10)
    sub_14: "f32[2, 9, 40]" = aten.sub.Tensor(sub_13, mul_40)
    div_3: "f32[2, 9, 1]" = aten.div.Tensor(rsqrt_3, 40)
    mul_41: "f32[2, 9, 40]" = aten.mul.Tensor(div_3, sub_14)
    mul_42: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_23, mul_36)
    sum_12: "f32[40]" = aten.sum.dim_IntList(mul_42, [0, 1])
    sum_13: "f32[40]" = aten.sum.dim_IntList(to_copy_23, [0, 1])
    to_copy_26: "bf16[2, 9, 40]" = prims.convert_element_type.default(mul_41, torch.bfloat16)
    to_copy_27: "bf16[40]" = prims.convert_element_type.default(sum_12, torch.bfloat16)
    to_copy_28: "bf16[40]" = prims.convert_element_type.default(sum_13, torch.bfloat16)
    # modeling_gpt2.py:304 in forward: hidden_states = self.ln_2(hidden_states)
    add_22: "bf16[2, 9, 40]" = aten.add.Tensor(to_copy_17, to_copy_26)
    # [transformer.h.1.attn.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_43: "bf16[18, 40]" = aten.view.default(add_22, [18, 40])
    # [transformer.h.1.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_7: "bf16[18, 40]" = aten.mm.default(view_43, permute_17)
    # [transformer.h.1.attn] modeling_gpt2.py:211 in forward: attn_output, attn_weights = attention_interface(
    view_20: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = aten.view.default(getitem_10, [2, 5, 9, 8])
    permute_7: "bf16[2, 9, 5, 8]" = aten.permute.default(view_20, [0, 2, 1, 3])
    # [transformer.h.1.attn] modeling_gpt2.py:222 in forward: attn_output = attn_output.reshape(*attn_output.shape[:-2], -1).contiguous()
    view_21: "bf16[2, 9, 40]" = aten.view.default(permute_7, [2, 9, -1])
    # [transformer.h.1.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_22: "bf16[18, 40]" = aten.view.default(view_21, [-1, 40])
    permute_18: "bf16[40, 18]{1, 40}" = aten.permute.default(view_22, [1, 0])
    mm_8: "bf16[40, 40]" = aten.mm.default(permute_18, view_43)
    sum_14: "bf16[1, 40]" = aten.sum.dim_IntList(view_43, [0], True)
    view_44: "bf16[40]" = aten.view.default(sum_14, [40])
    view_45: "bf16[2, 9, 40]" = aten.view.default(mm_7, [2, 9, 40])
    # [transformer.h.1.attn] modeling_gpt2.py:222 in forward: attn_output = attn_output.reshape(*attn_output.shape[:-2], -1).contiguous()
    view_46: "bf16[2, 9, 5, 8]" = aten.view.default(view_45, [2, 9, 5, 8])
    # [transformer.h.1.attn] modeling_gpt2.py:211 in forward: attn_output, attn_weights = attention_interface(
    permute_19: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = aten.permute.default(view_46, [0, 2, 1, 3])
    view_47: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = aten.view.default(permute_19, [2, 5, 9, 8])
    scaled_dot_product_efficient_attention_backward: ("bf16[2, 5, 9, 8]{360, 8, 40, 1}", "bf16[2, 5, 9, 8]{360, 8, 40, 1}", "bf16[2, 5, 9, 8]{360, 8, 40, 1}", None) = aten._scaled_dot_product_efficient_attention_backward.default(view_47, permute_6, permute_4, permute_5, where, getitem_10, getitem_13, getitem_12, getitem_11, 0.0, [True, True, True, False], scale=0.3535533905932738)
    getitem_18: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 0)
    getitem_19: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 1)
    getitem_20: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 2)
    # [transformer.h.1.attn] modeling_gpt2.py:191 in forward: query_states = query_states.view(shape_q).transpose(1, 2)
    permute_20: "bf16[2, 9, 5, 8]" = aten.permute.default(getitem_18, [0, 2, 1, 3])
    view_48: "bf16[2, 9, 40]" = aten.view.default(permute_20, [2, 9, 40])
    # [transformer.h.1.attn] modeling_gpt2.py:188 in forward: value_states = value_states.view(shape_kv).transpose(1, 2)
    permute_21: "bf16[2, 9, 5, 8]" = aten.permute.default(getitem_20, [0, 2, 1, 3])
    view_49: "bf16[2, 9, 40]" = aten.view.default(permute_21, [2, 9, 40])
    # [transformer.h.1.attn] modeling_gpt2.py:187 in forward: key_states = key_states.view(shape_kv).transpose(1, 2)
    permute_22: "bf16[2, 9, 5, 8]" = aten.permute.default(getitem_19, [0, 2, 1, 3])
    view_50: "bf16[2, 9, 40]" = aten.view.default(permute_22, [2, 9, 40])
    # [transformer.h.1.attn] modeling_gpt2.py:185 in forward: query_states, key_states, value_states = self.c_attn(hidden_states).split(self.split_size…
    cat: "bf16[2, 9, 120]" = aten.cat.default([view_48, view_50, view_49], 2)
    # [transformer.h.1.attn.c_attn] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_51: "bf16[18, 120]" = aten.view.default(cat, [18, 120])
    # [transformer.h.1.attn.c_attn] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_9: "bf16[18, 40]" = aten.mm.default(view_51, permute_23)
    mm_10: "bf16[40, 120]" = aten.mm.default(permute_24, view_51)
    sum_15: "bf16[1, 120]" = aten.sum.dim_IntList(view_51, [0], True)
    view_52: "bf16[120]" = aten.view.default(sum_15, [120])
    view_53: "bf16[2, 9, 40]" = aten.view.default(mm_9, [2, 9, 40])
    # [transformer.h.1.ln_1] modeling_gpt2.py:273 in forward: hidden_states = self.ln_1(hidden_states)
    to_copy_29: "f32[2, 9, 40]" = aten._to_copy.default(view_53, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_30: "f32[2, 9, 40]" = aten._to_copy.default(add_9, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_31: "f32[40]" = aten._to_copy.default(transformer_h_1_ln_1_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_15: "f32[2, 9, 40]" = aten.sub.Tensor(to_copy_30, getitem_9)
    mul_43: "f32[2, 9, 40]" = aten.mul.Tensor(sub_15, rsqrt_2)
    mul_44: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_29, to_copy_31)
    mul_45: "f32[2, 9, 40]" = aten.mul.Tensor(mul_44, 40)
    sum_16: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_44, [2], True)
    mul_46: "f32[2, 9, 40]" = aten.mul.Tensor(mul_44, mul_43)
    sum_17: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_46, [2], True)
    mul_47: "f32[2, 9, 40]" = aten.mul.Tensor(mul_43, sum_17)
    sub_16: "f32[2, 9, 40]" = aten.sub.Tensor(mul_45, sum_16)
    sub_17: "f32[2, 9, 40]" = aten.sub.Tensor(sub_16, mul_47)
    div_4: "f32[2, 9, 1]" = aten.div.Tensor(rsqrt_2, 40)
    mul_48: "f32[2, 9, 40]" = aten.mul.Tensor(div_4, sub_17)
    mul_49: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_29, mul_43)
    sum_18: "f32[40]" = aten.sum.dim_IntList(mul_49, [0, 1])
    sum_19: "f32[40]" = aten.sum.dim_IntList(to_copy_29, [0, 1])
    to_copy_32: "bf16[2, 9, 40]" = prims.convert_element_type.default(mul_48, torch.bfloat16)
    to_copy_33: "bf16[40]" = prims.convert_element_type.default(sum_18, torch.bfloat16)
    to_copy_34: "bf16[40]" = prims.convert_element_type.default(sum_19, torch.bfloat16)
    # modeling_gpt2.py:273 in forward: hidden_states = self.ln_1(hidden_states)
    add_23: "bf16[2, 9, 40]" = aten.add.Tensor(add_22, to_copy_32)
    # [transformer.h.0.mlp.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_54: "bf16[18, 40]" = aten.view.default(add_23, [18, 40])
    # [transformer.h.0.mlp.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_11: "bf16[18, 160]" = aten.mm.default(view_54, permute_25)
    mm_12: "bf16[160, 40]" = aten.mm.default(permute_26, view_54)
    sum_20: "bf16[1, 40]" = aten.sum.dim_IntList(view_54, [0], True)
    view_55: "bf16[40]" = aten.view.default(sum_20, [40])
    view_56: "bf16[2, 9, 160]" = aten.view.default(mm_11, [2, 9, 160])
    # [transformer.h.0.mlp.c_fc] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_12: "bf16[2, 9, 160]" = aten.view.default(addmm_2, [2, 9, 160])
    # [transformer.h.0.mlp.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_4: "bf16[2, 9, 160]" = aten.mul.Tensor(view_12, 0.5)
    mul_50: "bf16[2, 9, 160]" = aten.mul.Tensor(view_56, mul_4)
    pow: "bf16[2, 9, 160]" = aten.pow.Tensor_Scalar(view_12, 3.0)
    mul_5: "bf16[2, 9, 160]" = aten.mul.Tensor(pow, 0.044715)
    add_7: "bf16[2, 9, 160]" = aten.add.Tensor(view_12, mul_5)
    mul_6: "bf16[2, 9, 160]" = aten.mul.Tensor(add_7, 0.7978845608028654)
    tanh: "bf16[2, 9, 160]" = aten.tanh.default(mul_6)
    add_8: "bf16[2, 9, 160]" = aten.add.Tensor(tanh, 1.0)
    mul_51: "bf16[2, 9, 160]" = aten.mul.Tensor(view_56, add_8)
    to_copy_35: "f32[2, 9, 160]" = aten._to_copy.default(mul_50, dtype=torch.float32)
    to_copy_36: "f32[2, 9, 160]" = aten._to_copy.default(tanh, dtype=torch.float32)
    mul_52: "f32[2, 9, 160]" = aten.mul.Tensor(to_copy_36, to_copy_36)
    sub_18: "f32[2, 9, 160]" = aten.sub.Tensor(1, mul_52)
    mul_53: "f32[2, 9, 160]" = aten.mul.Tensor(to_copy_35, sub_18)
    to_copy_37: "bf16[2, 9, 160]" = prims.convert_element_type.default(mul_53, torch.bfloat16)
    mul_54: "bf16[2, 9, 160]" = aten.mul.Tensor(to_copy_37, 0.7978845608028654)
    mul_55: "bf16[2, 9, 160]" = aten.mul.Tensor(mul_54, 0.044715)
    pow_3: "bf16[2, 9, 160]" = aten.pow.Tensor_Scalar(view_12, 2.0)
    mul_56: "bf16[2, 9, 160]" = aten.mul.Scalar(pow_3, 3.0)
    mul_57: "bf16[2, 9, 160]" = aten.mul.Tensor(mul_55, mul_56)
    # activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    add_24: "bf16[2, 9, 160]" = aten.add.Tensor(mul_54, mul_57)
    # [transformer.h.0.mlp.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_58: "bf16[2, 9, 160]" = aten.mul.Tensor(mul_51, 0.5)
    # activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    add_25: "bf16[2, 9, 160]" = aten.add.Tensor(add_24, mul_58)
    # [transformer.h.0.mlp.c_fc] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_57: "bf16[18, 160]" = aten.view.default(add_25, [18, 160])
    # [transformer.h.0.mlp.c_fc] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_13: "bf16[18, 40]" = aten.mm.default(view_57, permute_27)
    mm_14: "bf16[40, 160]" = aten.mm.default(permute_28, view_57)
    sum_21: "bf16[1, 160]" = aten.sum.dim_IntList(view_57, [0], True)
    view_58: "bf16[160]" = aten.view.default(sum_21, [160])
    view_59: "bf16[2, 9, 40]" = aten.view.default(mm_13, [2, 9, 40])
    # [transformer.h.0.ln_2] modeling_gpt2.py:304 in forward: hidden_states = self.ln_2(hidden_states)
    to_copy_38: "f32[2, 9, 40]" = aten._to_copy.default(view_59, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_39: "f32[2, 9, 40]" = aten._to_copy.default(add_4, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_40: "f32[40]" = aten._to_copy.default(transformer_h_0_ln_2_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_19: "f32[2, 9, 40]" = aten.sub.Tensor(to_copy_39, getitem_7)
    mul_59: "f32[2, 9, 40]" = aten.mul.Tensor(sub_19, rsqrt_1)
    mul_60: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_38, to_copy_40)
    mul_61: "f32[2, 9, 40]" = aten.mul.Tensor(mul_60, 40)
    sum_22: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_60, [2], True)
    mul_62: "f32[2, 9, 40]" = aten.mul.Tensor(mul_60, mul_59)
    sum_23: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_62, [2], True)
    mul_63: "f32[2, 9, 40]" = aten.mul.Tensor(mul_59, sum_23)
    sub_20: "f32[2, 9, 40]" = aten.sub.Tensor(mul_61, sum_22)
    sub_21: "f32[2, 9, 40]" = aten.sub.Tensor(sub_20, mul_63)
    div_5: "f32[2, 9, 1]" = aten.div.Tensor(rsqrt_1, 40)
    mul_64: "f32[2, 9, 40]" = aten.mul.Tensor(div_5, sub_21)
    mul_65: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_38, mul_59)
    sum_24: "f32[40]" = aten.sum.dim_IntList(mul_65, [0, 1])
    sum_25: "f32[40]" = aten.sum.dim_IntList(to_copy_38, [0, 1])
    to_copy_41: "bf16[2, 9, 40]" = prims.convert_element_type.default(mul_64, torch.bfloat16)
    to_copy_42: "bf16[40]" = prims.convert_element_type.default(sum_24, torch.bfloat16)
    to_copy_43: "bf16[40]" = prims.convert_element_type.default(sum_25, torch.bfloat16)
    # modeling_gpt2.py:304 in forward: hidden_states = self.ln_2(hidden_states)
    add_26: "bf16[2, 9, 40]" = aten.add.Tensor(add_23, to_copy_41)
    # [transformer.h.0.attn.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_60: "bf16[18, 40]" = aten.view.default(add_26, [18, 40])
    # [transformer.h.0.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_15: "bf16[18, 40]" = aten.mm.default(view_60, permute_29)
    # [transformer.h.0.attn] modeling_gpt2.py:211 in forward: attn_output, attn_weights = attention_interface(
    view_7: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = aten.view.default(getitem_2, [2, 5, 9, 8])
    permute_3: "bf16[2, 9, 5, 8]" = aten.permute.default(view_7, [0, 2, 1, 3])
    # [transformer.h.0.attn] modeling_gpt2.py:222 in forward: attn_output = attn_output.reshape(*attn_output.shape[:-2], -1).contiguous()
    view_8: "bf16[2, 9, 40]" = aten.view.default(permute_3, [2, 9, -1])
    # [transformer.h.0.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_9: "bf16[18, 40]" = aten.view.default(view_8, [-1, 40])
    permute_30: "bf16[40, 18]{1, 40}" = aten.permute.default(view_9, [1, 0])
    mm_16: "bf16[40, 40]" = aten.mm.default(permute_30, view_60)
    sum_26: "bf16[1, 40]" = aten.sum.dim_IntList(view_60, [0], True)
    view_61: "bf16[40]" = aten.view.default(sum_26, [40])
    view_62: "bf16[2, 9, 40]" = aten.view.default(mm_15, [2, 9, 40])
    # [transformer.h.0.attn] modeling_gpt2.py:222 in forward: attn_output = attn_output.reshape(*attn_output.shape[:-2], -1).contiguous()
    view_63: "bf16[2, 9, 5, 8]" = aten.view.default(view_62, [2, 9, 5, 8])
    # [transformer.h.0.attn] modeling_gpt2.py:211 in forward: attn_output, attn_weights = attention_interface(
    permute_31: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = aten.permute.default(view_63, [0, 2, 1, 3])
    view_64: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = aten.view.default(permute_31, [2, 5, 9, 8])
    scaled_dot_product_efficient_attention_backward_1: ("bf16[2, 5, 9, 8]{360, 8, 40, 1}", "bf16[2, 5, 9, 8]{360, 8, 40, 1}", "bf16[2, 5, 9, 8]{360, 8, 40, 1}", None) = aten._scaled_dot_product_efficient_attention_backward.default(view_64, permute_2, permute, permute_1, where, getitem_2, getitem_5, getitem_4, getitem_3, 0.0, [True, True, True, False], scale=0.3535533905932738)
    getitem_21: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward_1, 0)
    getitem_22: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward_1, 1)
    getitem_23: "bf16[2, 5, 9, 8]{360, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward_1, 2)
    # [transformer.h.0.attn] modeling_gpt2.py:191 in forward: query_states = query_states.view(shape_q).transpose(1, 2)
    permute_32: "bf16[2, 9, 5, 8]" = aten.permute.default(getitem_21, [0, 2, 1, 3])
    view_65: "bf16[2, 9, 40]" = aten.view.default(permute_32, [2, 9, 40])
    # [transformer.h.0.attn] modeling_gpt2.py:188 in forward: value_states = value_states.view(shape_kv).transpose(1, 2)
    permute_33: "bf16[2, 9, 5, 8]" = aten.permute.default(getitem_23, [0, 2, 1, 3])
    view_66: "bf16[2, 9, 40]" = aten.view.default(permute_33, [2, 9, 40])
    # [transformer.h.0.attn] modeling_gpt2.py:187 in forward: key_states = key_states.view(shape_kv).transpose(1, 2)
    permute_34: "bf16[2, 9, 5, 8]" = aten.permute.default(getitem_22, [0, 2, 1, 3])
    view_67: "bf16[2, 9, 40]" = aten.view.default(permute_34, [2, 9, 40])
    # [transformer.h.0.attn] modeling_gpt2.py:185 in forward: query_states, key_states, value_states = self.c_attn(hidden_states).split(self.split_size…
    cat_1: "bf16[2, 9, 120]" = aten.cat.default([view_65, view_67, view_66], 2)
    # [transformer.h.0.attn.c_attn] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_68: "bf16[18, 120]" = aten.view.default(cat_1, [18, 120])
    # [transformer.h.0.attn.c_attn] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    mm_17: "bf16[18, 40]" = aten.mm.default(view_68, permute_35)
    mm_18: "bf16[40, 120]" = aten.mm.default(permute_36, view_68)
    sum_27: "bf16[1, 120]" = aten.sum.dim_IntList(view_68, [0], True)
    view_69: "bf16[120]" = aten.view.default(sum_27, [120])
    view_70: "bf16[2, 9, 40]" = aten.view.default(mm_17, [2, 9, 40])
    # [transformer.h.0.ln_1] modeling_gpt2.py:273 in forward: hidden_states = self.ln_1(hidden_states)
    to_copy_44: "f32[2, 9, 40]" = aten._to_copy.default(view_70, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [transformer] modeling_gpt2.py:575 in forward: hidden_states = inputs_embeds + position_embeds.to(inputs_embeds.device)
    add_1: "bf16[2, 9, 40]" = aten.add.Tensor(embedding, embedding_1)
    # [transformer.drop] modeling_gpt2.py:601 in forward: hidden_states = self.drop(hidden_states)
    clone: "bf16[2, 9, 40]" = aten.clone.default(add_1)
    # [transformer.h.0.ln_1] modeling_gpt2.py:273 in forward: hidden_states = self.ln_1(hidden_states)
    to_copy_45: "f32[2, 9, 40]" = aten._to_copy.default(clone, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_46: "f32[40]" = aten._to_copy.default(transformer_h_0_ln_1_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_22: "f32[2, 9, 40]" = aten.sub.Tensor(to_copy_45, getitem_1)
    mul_66: "f32[2, 9, 40]" = aten.mul.Tensor(sub_22, rsqrt)
    mul_67: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_44, to_copy_46)
    mul_68: "f32[2, 9, 40]" = aten.mul.Tensor(mul_67, 40)
    sum_28: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_67, [2], True)
    mul_69: "f32[2, 9, 40]" = aten.mul.Tensor(mul_67, mul_66)
    sum_29: "f32[2, 9, 1]" = aten.sum.dim_IntList(mul_69, [2], True)
    mul_70: "f32[2, 9, 40]" = aten.mul.Tensor(mul_66, sum_29)
    sub_23: "f32[2, 9, 40]" = aten.sub.Tensor(mul_68, sum_28)
    sub_24: "f32[2, 9, 40]" = aten.sub.Tensor(sub_23, mul_70)
    div_6: "f32[2, 9, 1]" = aten.div.Tensor(rsqrt, 40)
    mul_71: "f32[2, 9, 40]" = aten.mul.Tensor(div_6, sub_24)
    mul_72: "f32[2, 9, 40]" = aten.mul.Tensor(to_copy_44, mul_66)
    sum_30: "f32[40]" = aten.sum.dim_IntList(mul_72, [0, 1])
    sum_31: "f32[40]" = aten.sum.dim_IntList(to_copy_44, [0, 1])
    to_copy_47: "bf16[2, 9, 40]" = prims.convert_element_type.default(mul_71, torch.bfloat16)
    to_copy_48: "bf16[40]" = prims.convert_element_type.default(sum_30, torch.bfloat16)
    to_copy_49: "bf16[40]" = prims.convert_element_type.default(sum_31, torch.bfloat16)
    # modeling_gpt2.py:273 in forward: hidden_states = self.ln_1(hidden_states)
    add_27: "bf16[2, 9, 40]" = aten.add.Tensor(add_26, to_copy_47)
    # [transformer] modeling_gpt2.py:575 in forward: hidden_states = inputs_embeds + position_embeds.to(inputs_embeds.device)
    sum_32: "bf16[1, 9, 40]" = aten.sum.dim_IntList(add_27, [0], True)
    # [transformer.wpe] modeling_gpt2.py:574 in forward: position_embeds = self.wpe(position_ids)
    to_copy_50: "f32[1, 9, 40]" = aten._to_copy.default(sum_32, dtype=torch.float32)
    full_1: "f32[16, 40]" = aten.full.default([16, 40], 0, dtype=torch.float32)
    index_put: "f32[16, 40]" = aten.index_put.default(full_1, [unsqueeze], to_copy_50, True)
    to_copy_51: "bf16[16, 40]" = prims.convert_element_type.default(index_put, torch.bfloat16)
    # [transformer.wte] modeling_gpt2.py:567 in forward: inputs_embeds = self.wte(input_ids)
    to_copy_52: "f32[2, 9, 40]" = aten._to_copy.default(add_27, dtype=torch.float32)
    full_2: "f32[101, 40]" = aten.full.default([101, 40], 0, dtype=torch.float32)
    index_put_1: "f32[101, 40]" = aten.index_put.default(full_2, [view], to_copy_52, True)
    to_copy_53: "bf16[101, 40]" = prims.convert_element_type.default(index_put_1, torch.bfloat16)
    # modeling_gpt2.py:567 in forward: inputs_embeds = self.wte(input_ids)
    add_28: "bf16[101, 40]" = aten.add.Tensor(permute_12, to_copy_53)
    return (
        add_28,
        to_copy_51,
        to_copy_48,
        to_copy_49,
        mm_18,
        view_69,
        mm_16,
        view_61,
        to_copy_42,
        to_copy_43,
        mm_14,
        view_58,
        mm_12,
        view_55,
        to_copy_33,
        to_copy_34,
        mm_10,
        view_52,
        mm_8,
        view_44,
        to_copy_27,
        to_copy_28,
        mm_6,
        view_41,
        mm_4,
        view_38,
        to_copy_18,
        to_copy_19,
        None,
        None,
        None,
    )
