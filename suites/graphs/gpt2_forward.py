# harness graph 1
# title: GPT-2, two layers and its loss over 50257 classes, bf16, 8 sequences of 1024
# origin: transformers GPT2LMHeadModel; sizes of openai-community/gpt2
# captured: transformers:GPT2LMHeadModel?n_layer=2&batch=8&seq=1024
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def gpt2_forward(
    transformer_wte_weight: "bf16[50257, 768] parameter",
    transformer_wpe_weight: "bf16[1024, 768] parameter",
    transformer_h_0_ln_1_weight: "bf16[768] parameter",
    transformer_h_0_ln_1_bias: "bf16[768] parameter",
    transformer_h_0_attn_c_attn_weight: "bf16[768, 2304] parameter",
    transformer_h_0_attn_c_attn_bias: "bf16[2304] parameter",
    transformer_h_0_attn_c_proj_weight: "bf16[768, 768] parameter",
    transformer_h_0_attn_c_proj_bias: "bf16[768] parameter",
    transformer_h_0_ln_2_weight: "bf16[768] parameter",
    transformer_h_0_ln_2_bias: "bf16[768] parameter",
    transformer_h_0_mlp_c_fc_weight: "bf16[768, 3072] parameter",
    transformer_h_0_mlp_c_fc_bias: "bf16[3072] parameter",
    transformer_h_0_mlp_c_proj_weight: "bf16[3072, 768] parameter",
    transformer_h_0_mlp_c_proj_bias: "bf16[768] parameter",
    transformer_h_1_ln_1_weight: "bf16[768] parameter",
    transformer_h_1_ln_1_bias: "bf16[768] parameter",
    transformer_h_1_attn_c_attn_weight: "bf16[768, 2304] parameter",
    transformer_h_1_attn_c_attn_bias: "bf16[2304] parameter",
    transformer_h_1_attn_c_proj_weight: "bf16[768, 768] parameter",
    transformer_h_1_attn_c_proj_bias: "bf16[768] parameter",
    transformer_h_1_ln_2_weight: "bf16[768] parameter",
    transformer_h_1_ln_2_bias: "bf16[768] parameter",
    transformer_h_1_mlp_c_fc_weight: "bf16[768, 3072] parameter",
    transformer_h_1_mlp_c_fc_bias: "bf16[3072] parameter",
    transformer_h_1_mlp_c_proj_weight: "bf16[3072, 768] parameter",
    transformer_h_1_mlp_c_proj_bias: "bf16[768] parameter",
    transformer_ln_f_weight: "bf16[768] parameter",
    transformer_ln_f_bias: "bf16[768] parameter",
    input_ids: "i64[8, 1024] bound=50257",
    attention_mask: "i64[8, 1024]",
    labels: "i64[8, 1024] bound=50257",
):
    # [transformer] modeling_gpt2.py:547 in forward: input_ids = input_ids.view(-1, input_shape[-1])
    view: "i64[8, 1024]" = aten.view.default(input_ids, [-1, 1024])
    # [transformer.wte] modeling_gpt2.py:567 in forward: inputs_embeds = self.wte(input_ids)
    embedding: "bf16[8, 1024, 768]" = aten.embedding.default(transformer_wte_weight, view)
    # [transformer] modeling_gpt2.py:571 in forward: position_ids = torch.arange(inputs_embeds.shape[1], device=inputs_embeds.device) + past_s…
    arange: "i64[1024]" = aten.arange.start_step(0, 1024)
    add: "i64[1024]" = aten.add.Tensor(arange, 0)
    # [transformer] modeling_gpt2.py:572 in forward: position_ids = position_ids.unsqueeze(0)
    unsqueeze: "i64[1, 1024]" = aten.unsqueeze.default(add, 0)
    # [transformer.wpe] modeling_gpt2.py:574 in forward: position_embeds = self.wpe(position_ids)
    embedding_1: "bf16[1, 1024, 768]" = aten.embedding.default(transformer_wpe_weight, unsqueeze)
    # [transformer] modeling_gpt2.py:575 in forward: hidden_states = inputs_embeds + position_embeds.to(inputs_embeds.device)
    add_1: "bf16[8, 1024, 768]" = aten.add.Tensor(embedding, embedding_1)
    # [transformer] modeling_gpt2.py:579 in forward: attention_mask = attention_mask.view(batch_size, -1)
    view_1: "i64[8, 1024]" = aten.view.default(attention_mask, [8, -1])
    # [transformer] modeling_gpt2.py:581 in forward: causal_mask = create_causal_mask(
    to_copy: "b8[8, 1024]" = aten._to_copy.default(view_1, dtype=torch.bool)
    arange_1: "i64[8]" = aten.arange.start_step(0, 8)
    unsqueeze_1: "i64[8, 1]" = aten.unsqueeze.default(arange_1, 1)
    unsqueeze_2: "i64[8, 1, 1]" = aten.unsqueeze.default(unsqueeze_1, 2)
    unsqueeze_3: "i64[8, 1, 1, 1]" = aten.unsqueeze.default(unsqueeze_2, 3)
    unsqueeze_4: "i64[1, 1, 1024]" = aten.unsqueeze.default(unsqueeze, 1)
    unsqueeze_5: "i64[1, 1, 1024, 1]" = aten.unsqueeze.default(unsqueeze_4, 3)
    unsqueeze_6: "i64[1, 1, 1, 1024]" = aten.unsqueeze.default(unsqueeze_4, 2)
    full: "b8[]" = aten.full.default([], True, dtype=torch.bool)
    le: "b8[1, 1, 1024, 1024]" = aten.le.Tensor(unsqueeze_6, unsqueeze_5)
    bitwise_and: "b8[1, 1, 1024, 1024]" = aten.bitwise_and.Tensor(full, le)
    index: "b8[8, 1, 1, 1024]" = aten.index.Tensor(to_copy, [unsqueeze_3, unsqueeze_6])
    bitwise_and_1: "b8[8, 1, 1024, 1024]" = aten.bitwise_and.Tensor(bitwise_and, index)
    expand: "b8[8, 1, 1024, 1024]" = aten.expand.default(bitwise_and_1, [8, -1, 1024, 1024])
    # [transformer.drop] modeling_gpt2.py:601 in forward: hidden_states = self.drop(hidden_states)
    clone: "bf16[8, 1024, 768]" = aten.clone.default(add_1)
    # [transformer.h.0.ln_1] modeling_gpt2.py:273 in forward: hidden_states = self.ln_1(hidden_states)
    to_copy_1: "f32[8, 1024, 768]" = aten._to_copy.default(clone, dtype=torch.float32)
    var_mean: ("f32[8, 1024, 1]", "f32[8, 1024, 1]") = aten.var_mean.correction(to_copy_1, [2], correction=0, keepdim=True)
    getitem: "f32[8, 1024, 1]" = getitem(var_mean, 0)
    getitem_1: "f32[8, 1024, 1]" = getitem(var_mean, 1)
    add_2: "f32[8, 1024, 1]" = aten.add.Tensor(getitem, 1e-05)
    rsqrt: "f32[8, 1024, 1]" = aten.rsqrt.default(add_2)
    sub: "f32[8, 1024, 768]" = aten.sub.Tensor(to_copy_1, getitem_1)
    mul: "f32[8, 1024, 768]" = aten.mul.Tensor(sub, rsqrt)
    mul_1: "f32[8, 1024, 768]" = aten.mul.Tensor(mul, transformer_h_0_ln_1_weight)
    add_3: "f32[8, 1024, 768]" = aten.add.Tensor(mul_1, transformer_h_0_ln_1_bias)
    to_copy_2: "bf16[8, 1024, 768]" = prims.convert_element_type.default(add_3, torch.bfloat16)
    # [transformer.h.0.attn.c_attn] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_2: "bf16[8192, 768]" = aten.view.default(to_copy_2, [-1, 768])
    addmm: "bf16[8192, 2304]" = aten.addmm.default(transformer_h_0_attn_c_attn_bias, view_2, transformer_h_0_attn_c_attn_weight)
    # [transformer.h.0.attn.c_attn] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_3: "bf16[8, 1024, 2304]" = aten.view.default(addmm, [8, 1024, 2304])
    # [transformer.h.0.attn] modeling_gpt2.py:185 in forward: query_states, key_states, value_states = self.c_attn(hidden_states).split(self.split_size…
    slice: "bf16[8, 1024, 768]{2359296, 2304, 1}" = aten.slice.Tensor(view_3, 2, 0, 768)
    slice_1: "bf16[8, 1024, 768]{2359296, 2304, 1}" = aten.slice.Tensor(view_3, 2, 768, 1536)
    slice_2: "bf16[8, 1024, 768]{2359296, 2304, 1}" = aten.slice.Tensor(view_3, 2, 1536, 2304)
    # [transformer.h.0.attn] modeling_gpt2.py:187 in forward: key_states = key_states.view(shape_kv).transpose(1, 2)
    view_4: "bf16[8, 1024, 12, 64]{2359296, 2304, 64, 1}" = aten.view.default(slice_1, [8, 1024, -1, 64])
    permute: "bf16[8, 12, 1024, 64]{2359296, 64, 2304, 1}" = aten.permute.default(view_4, [0, 2, 1, 3])
    # [transformer.h.0.attn] modeling_gpt2.py:188 in forward: value_states = value_states.view(shape_kv).transpose(1, 2)
    view_5: "bf16[8, 1024, 12, 64]{2359296, 2304, 64, 1}" = aten.view.default(slice_2, [8, 1024, -1, 64])
    permute_1: "bf16[8, 12, 1024, 64]{2359296, 64, 2304, 1}" = aten.permute.default(view_5, [0, 2, 1, 3])
    # [transformer.h.0.attn] modeling_gpt2.py:191 in forward: query_states = query_states.view(shape_q).transpose(1, 2)
    view_6: "bf16[8, 1024, 12, 64]{2359296, 2304, 64, 1}" = aten.view.default(slice, [8, 1024, -1, 64])
    permute_2: "bf16[8, 12, 1024, 64]{2359296, 64, 2304, 1}" = aten.permute.default(view_6, [0, 2, 1, 3])
    # [transformer.h.0.attn] modeling_gpt2.py:211 in forward: attn_output, attn_weights = attention_interface(
    scalar_tensor: "bf16[]" = aten.scalar_tensor.default(float("-inf"), dtype=torch.bfloat16)
    scalar_tensor_1: "bf16[]" = aten.scalar_tensor.default(0.0, dtype=torch.bfloat16)
    where: "bf16[8, 1, 1024, 1024]" = aten.where.self(expand, scalar_tensor_1, scalar_tensor)
    scaled_dot_product_efficient_attention: ("bf16[8, 12, 1024, 64]{786432, 64, 768, 1}", "f32[8, 12, 1024]", "i64[]", "i64[]") = aten._scaled_dot_product_efficient_attention.default(permute_2, permute, permute_1, where, True, scale=0.125)
    getitem_2: "bf16[8, 12, 1024, 64]{786432, 64, 768, 1}" = getitem(scaled_dot_product_efficient_attention, 0)
    getitem_3: "i64[]" = getitem(scaled_dot_product_efficient_attention, 3)
    getitem_4: "i64[]" = getitem(scaled_dot_product_efficient_attention, 2)
    getitem_5: "f32[8, 12, 1024]" = getitem(scaled_dot_product_efficient_attention, 1)
    view_7: "bf16[8, 12, 1024, 64]{786432, 64, 768, 1}" = aten.view.default(getitem_2, [8, 12, 1024, 64])
    permute_3: "bf16[8, 1024, 12, 64]" = aten.permute.default(view_7, [0, 2, 1, 3])
    # [transformer.h.0.attn] modeling_gpt2.py:222 in forward: attn_output = attn_output.reshape(*attn_output.shape[:-2], -1).contiguous()
    view_8: "bf16[8, 1024, 768]" = aten.view.default(permute_3, [8, 1024, -1])
    # [transformer.h.0.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_9: "bf16[8192, 768]" = aten.view.default(view_8, [-1, 768])
    addmm_1: "bf16[8192, 768]" = aten.addmm.default(transformer_h_0_attn_c_proj_bias, view_9, transformer_h_0_attn_c_proj_weight)
    # [transformer.h.0.attn.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_10: "bf16[8, 1024, 768]" = aten.view.default(addmm_1, [8, 1024, 768])
    # [transformer.h.0.attn.resid_dropout] modeling_gpt2.py:224 in forward: attn_output = self.resid_dropout(attn_output)
    clone_1: "bf16[8, 1024, 768]" = aten.clone.default(view_10)
    # [transformer.h.0] modeling_gpt2.py:282 in forward: hidden_states = attn_output + residual
    add_4: "bf16[8, 1024, 768]" = aten.add.Tensor(clone_1, clone)
    # [transformer.h.0.ln_2] modeling_gpt2.py:304 in forward: hidden_states = self.ln_2(hidden_states)
    to_copy_3: "f32[8, 1024, 768]" = aten._to_copy.default(add_4, dtype=torch.float32)
    var_mean_1: ("f32[8, 1024, 1]", "f32[8, 1024, 1]") = aten.var_mean.correction(to_copy_3, [2], correction=0, keepdim=True)
    getitem_6: "f32[8, 1024, 1]" = getitem(var_mean_1, 0)
    getitem_7: "f32[8, 1024, 1]" = getitem(var_mean_1, 1)
    add_5: "f32[8, 1024, 1]" = aten.add.Tensor(getitem_6, 1e-05)
    rsqrt_1: "f32[8, 1024, 1]" = aten.rsqrt.default(add_5)
    sub_1: "f32[8, 1024, 768]" = aten.sub.Tensor(to_copy_3, getitem_7)
    mul_2: "f32[8, 1024, 768]" = aten.mul.Tensor(sub_1, rsqrt_1)
    mul_3: "f32[8, 1024, 768]" = aten.mul.Tensor(mul_2, transformer_h_0_ln_2_weight)
    add_6: "f32[8, 1024, 768]" = aten.add.Tensor(mul_3, transformer_h_0_ln_2_bias)
    to_copy_4: "bf16[8, 1024, 768]" = prims.convert_element_type.default(add_6, torch.bfloat16)
    # [transformer.h.0.mlp.c_fc] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_11: "bf16[8192, 768]" = aten.view.default(to_copy_4, [-1, 768])
    addmm_2: "bf16[8192, 3072]" = aten.addmm.default(transformer_h_0_mlp_c_fc_bias, view_11, transformer_h_0_mlp_c_fc_weight)
    # [transformer.h.0.mlp.c_fc] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_12: "bf16[8, 1024, 3072]" = aten.view.default(addmm_2, [8, 1024, 3072])
    # [transformer.h.0.mlp.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_4: "bf16[8, 1024, 3072]" = aten.mul.Tensor(view_12, 0.5)
    pow: "bf16[8, 1024, 3072]" = aten.pow.Tensor_Scalar(view_12, 3.0)
    mul_5: "bf16[8, 1024, 3072]" = aten.mul.Tensor(pow, 0.044715)
    add_7: "bf16[8, 1024, 3072]" = aten.add.Tensor(view_12, mul_5)
    mul_6: "bf16[8, 1024, 3072]" = aten.mul.Tensor(add_7, 0.7978845608028654)
    tanh: "bf16[8, 1024, 3072]" = aten.tanh.default(mul_6)
    add_8: "bf16[8, 1024, 3072]" = aten.add.Tensor(tanh, 1.0)
    mul_7: "bf16[8, 1024, 3072]" = aten.mul.Tensor(mul_4, add_8)
    # [transformer.h.0.mlp.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_13: "bf16[8192, 3072]" = aten.view.default(mul_7, [-1, 3072])
    addmm_3: "bf16[8192, 768]" = aten.addmm.default(transformer_h_0_mlp_c_proj_bias, view_13, transformer_h_0_mlp_c_proj_weight)
    # [transformer.h.0.mlp.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_14: "bf16[8, 1024, 768]" = aten.view.default(addmm_3, [8, 1024, 768])
    # [transformer.h.0.mlp.dropout] modeling_gpt2.py:242 in forward: hidden_states = self.dropout(hidden_states)
    clone_2: "bf16[8, 1024, 768]" = aten.clone.default(view_14)
    # [transformer.h.0] modeling_gpt2.py:307 in forward: hidden_states = residual + feed_forward_hidden_states
    add_9: "bf16[8, 1024, 768]" = aten.add.Tensor(add_4, clone_2)
    # [transformer.h.1.ln_1] modeling_gpt2.py:273 in forward: hidden_states = self.ln_1(hidden_states)
    to_copy_5: "f32[8, 1024, 768]" = aten._to_copy.default(add_9, dtype=torch.float32)
    var_mean_2: ("f32[8, 1024, 1]", "f32[8, 1024, 1]") = aten.var_mean.correction(to_copy_5, [2], correction=0, keepdim=True)
    getitem_8: "f32[8, 1024, 1]" = getitem(var_mean_2, 0)
    getitem_9: "f32[8, 1024, 1]" = getitem(var_mean_2, 1)
    add_10: "f32[8, 1024, 1]" = aten.add.Tensor(getitem_8, 1e-05)
    rsqrt_2: "f32[8, 1024, 1]" = aten.rsqrt.default(add_10)
    sub_2: "f32[8, 1024, 768]" = aten.sub.Tensor(to_copy_5, getitem_9)
    mul_8: "f32[8, 1024, 768]" = aten.mul.Tensor(sub_2, rsqrt_2)
    mul_9: "f32[8, 1024, 768]" = aten.mul.Tensor(mul_8, transformer_h_1_ln_1_weight)
    add_11: "f32[8, 1024, 768]" = aten.add.Tensor(mul_9, transformer_h_1_ln_1_bias)
    to_copy_6: "bf16[8, 1024, 768]" = prims.convert_element_type.default(add_11, torch.bfloat16)
    # [transformer.h.1.attn.c_attn] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_15: "bf16[8192, 768]" = aten.view.default(to_copy_6, [-1, 768])
    addmm_4: "bf16[8192, 2304]" = aten.addmm.default(transformer_h_1_attn_c_attn_bias, view_15, transformer_h_1_attn_c_attn_weight)
    # [transformer.h.1.attn.c_attn] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_16: "bf16[8, 1024, 2304]" = aten.view.default(addmm_4, [8, 1024, 2304])
    # [transformer.h.1.attn] modeling_gpt2.py:185 in forward: query_states, key_states, value_states = self.c_attn(hidden_states).split(self.split_size…
    slice_3: "bf16[8, 1024, 768]{2359296, 2304, 1}" = aten.slice.Tensor(view_16, 2, 0, 768)
    slice_4: "bf16[8, 1024, 768]{2359296, 2304, 1}" = aten.slice.Tensor(view_16, 2, 768, 1536)
    slice_5: "bf16[8, 1024, 768]{2359296, 2304, 1}" = aten.slice.Tensor(view_16, 2, 1536, 2304)
    # [transformer.h.1.attn] modeling_gpt2.py:187 in forward: key_states = key_states.view(shape_kv).transpose(1, 2)
    view_17: "bf16[8, 1024, 12, 64]{2359296, 2304, 64, 1}" = aten.view.default(slice_4, [8, 1024, -1, 64])
    permute_4: "bf16[8, 12, 1024, 64]{2359296, 64, 2304, 1}" = aten.permute.default(view_17, [0, 2, 1, 3])
    # [transformer.h.1.attn] modeling_gpt2.py:188 in forward: value_states = value_states.view(shape_kv).transpose(1, 2)
    view_18: "bf16[8, 1024, 12, 64]{2359296, 2304, 64, 1}" = aten.view.default(slice_5, [8, 1024, -1, 64])
    permute_5: "bf16[8, 12, 1024, 64]{2359296, 64, 2304, 1}" = aten.permute.default(view_18, [0, 2, 1, 3])
    # [transformer.h.1.attn] modeling_gpt2.py:191 in forward: query_states = query_states.view(shape_q).transpose(1, 2)
    view_19: "bf16[8, 1024, 12, 64]{2359296, 2304, 64, 1}" = aten.view.default(slice_3, [8, 1024, -1, 64])
    permute_6: "bf16[8, 12, 1024, 64]{2359296, 64, 2304, 1}" = aten.permute.default(view_19, [0, 2, 1, 3])
    # [transformer.h.1.attn] modeling_gpt2.py:211 in forward: attn_output, attn_weights = attention_interface(
    scaled_dot_product_efficient_attention_1: ("bf16[8, 12, 1024, 64]{786432, 64, 768, 1}", "f32[8, 12, 1024]", "i64[]", "i64[]") = aten._scaled_dot_product_efficient_attention.default(permute_6, permute_4, permute_5, where, True, scale=0.125)
    getitem_10: "bf16[8, 12, 1024, 64]{786432, 64, 768, 1}" = getitem(scaled_dot_product_efficient_attention_1, 0)
    getitem_11: "i64[]" = getitem(scaled_dot_product_efficient_attention_1, 3)
    getitem_12: "i64[]" = getitem(scaled_dot_product_efficient_attention_1, 2)
    getitem_13: "f32[8, 12, 1024]" = getitem(scaled_dot_product_efficient_attention_1, 1)
    view_20: "bf16[8, 12, 1024, 64]{786432, 64, 768, 1}" = aten.view.default(getitem_10, [8, 12, 1024, 64])
    permute_7: "bf16[8, 1024, 12, 64]" = aten.permute.default(view_20, [0, 2, 1, 3])
    # [transformer.h.1.attn] modeling_gpt2.py:222 in forward: attn_output = attn_output.reshape(*attn_output.shape[:-2], -1).contiguous()
    view_21: "bf16[8, 1024, 768]" = aten.view.default(permute_7, [8, 1024, -1])
    # [transformer.h.1.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_22: "bf16[8192, 768]" = aten.view.default(view_21, [-1, 768])
    addmm_5: "bf16[8192, 768]" = aten.addmm.default(transformer_h_1_attn_c_proj_bias, view_22, transformer_h_1_attn_c_proj_weight)
    # [transformer.h.1.attn.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_23: "bf16[8, 1024, 768]" = aten.view.default(addmm_5, [8, 1024, 768])
    # [transformer.h.1.attn.resid_dropout] modeling_gpt2.py:224 in forward: attn_output = self.resid_dropout(attn_output)
    clone_3: "bf16[8, 1024, 768]" = aten.clone.default(view_23)
    # [transformer.h.1] modeling_gpt2.py:282 in forward: hidden_states = attn_output + residual
    add_12: "bf16[8, 1024, 768]" = aten.add.Tensor(clone_3, add_9)
    # [transformer.h.1.ln_2] modeling_gpt2.py:304 in forward: hidden_states = self.ln_2(hidden_states)
    to_copy_7: "f32[8, 1024, 768]" = aten._to_copy.default(add_12, dtype=torch.float32)
    var_mean_3: ("f32[8, 1024, 1]", "f32[8, 1024, 1]") = aten.var_mean.correction(to_copy_7, [2], correction=0, keepdim=True)
    getitem_14: "f32[8, 1024, 1]" = getitem(var_mean_3, 0)
    getitem_15: "f32[8, 1024, 1]" = getitem(var_mean_3, 1)
    add_13: "f32[8, 1024, 1]" = aten.add.Tensor(getitem_14, 1e-05)
    rsqrt_3: "f32[8, 1024, 1]" = aten.rsqrt.default(add_13)
    sub_3: "f32[8, 1024, 768]" = aten.sub.Tensor(to_copy_7, getitem_15)
    mul_10: "f32[8, 1024, 768]" = aten.mul.Tensor(sub_3, rsqrt_3)
    mul_11: "f32[8, 1024, 768]" = aten.mul.Tensor(mul_10, transformer_h_1_ln_2_weight)
    add_14: "f32[8, 1024, 768]" = aten.add.Tensor(mul_11, transformer_h_1_ln_2_bias)
    to_copy_8: "bf16[8, 1024, 768]" = prims.convert_element_type.default(add_14, torch.bfloat16)
    # [transformer.h.1.mlp.c_fc] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_24: "bf16[8192, 768]" = aten.view.default(to_copy_8, [-1, 768])
    addmm_6: "bf16[8192, 3072]" = aten.addmm.default(transformer_h_1_mlp_c_fc_bias, view_24, transformer_h_1_mlp_c_fc_weight)
    # [transformer.h.1.mlp.c_fc] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_25: "bf16[8, 1024, 3072]" = aten.view.default(addmm_6, [8, 1024, 3072])
    # [transformer.h.1.mlp.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_12: "bf16[8, 1024, 3072]" = aten.mul.Tensor(view_25, 0.5)
    pow_1: "bf16[8, 1024, 3072]" = aten.pow.Tensor_Scalar(view_25, 3.0)
    mul_13: "bf16[8, 1024, 3072]" = aten.mul.Tensor(pow_1, 0.044715)
    add_15: "bf16[8, 1024, 3072]" = aten.add.Tensor(view_25, mul_13)
    mul_14: "bf16[8, 1024, 3072]" = aten.mul.Tensor(add_15, 0.7978845608028654)
    tanh_1: "bf16[8, 1024, 3072]" = aten.tanh.default(mul_14)
    add_16: "bf16[8, 1024, 3072]" = aten.add.Tensor(tanh_1, 1.0)
    mul_15: "bf16[8, 1024, 3072]" = aten.mul.Tensor(mul_12, add_16)
    # [transformer.h.1.mlp.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    view_26: "bf16[8192, 3072]" = aten.view.default(mul_15, [-1, 3072])
    addmm_7: "bf16[8192, 768]" = aten.addmm.default(transformer_h_1_mlp_c_proj_bias, view_26, transformer_h_1_mlp_c_proj_weight)
    # [transformer.h.1.mlp.c_proj] pytorch_utils.py:120 in forward: x = x.view(size_out)
    view_27: "bf16[8, 1024, 768]" = aten.view.default(addmm_7, [8, 1024, 768])
    # [transformer.h.1.mlp.dropout] modeling_gpt2.py:242 in forward: hidden_states = self.dropout(hidden_states)
    clone_4: "bf16[8, 1024, 768]" = aten.clone.default(view_27)
    # [transformer.h.1] modeling_gpt2.py:307 in forward: hidden_states = residual + feed_forward_hidden_states
    add_17: "bf16[8, 1024, 768]" = aten.add.Tensor(add_12, clone_4)
    # [transformer.ln_f] modeling_gpt2.py:617 in forward: hidden_states = self.ln_f(hidden_states)
    to_copy_9: "f32[8, 1024, 768]" = aten._to_copy.default(add_17, dtype=torch.float32)
    var_mean_4: ("f32[8, 1024, 1]", "f32[8, 1024, 1]") = aten.var_mean.correction(to_copy_9, [2], correction=0, keepdim=True)
    getitem_16: "f32[8, 1024, 1]" = getitem(var_mean_4, 0)
    getitem_17: "f32[8, 1024, 1]" = getitem(var_mean_4, 1)
    add_18: "f32[8, 1024, 1]" = aten.add.Tensor(getitem_16, 1e-05)
    rsqrt_4: "f32[8, 1024, 1]" = aten.rsqrt.default(add_18)
    sub_4: "f32[8, 1024, 768]" = aten.sub.Tensor(to_copy_9, getitem_17)
    mul_16: "f32[8, 1024, 768]" = aten.mul.Tensor(sub_4, rsqrt_4)
    mul_17: "f32[8, 1024, 768]" = aten.mul.Tensor(mul_16, transformer_ln_f_weight)
    add_19: "f32[8, 1024, 768]" = aten.add.Tensor(mul_17, transformer_ln_f_bias)
    to_copy_10: "bf16[8, 1024, 768]" = prims.convert_element_type.default(add_19, torch.bfloat16)
    # [transformer] modeling_gpt2.py:619 in forward: hidden_states = hidden_states.view(output_shape)
    view_28: "bf16[8, 1024, 768]" = aten.view.default(to_copy_10, [-1, 1024, 768])
    # [lm_head] modeling_gpt2.py:695 in forward: logits = self.lm_head(hidden_states)
    permute_8: "bf16[768, 50257]{1, 768}" = aten.permute.default(transformer_wte_weight, [1, 0])
    view_29: "bf16[8192, 768]" = aten.view.default(view_28, [8192, 768])
    mm: "bf16[8192, 50257]" = aten.mm.default(view_29, permute_8)
    view_30: "bf16[8, 1024, 50257]" = aten.view.default(mm, [8, 1024, 50257])
    # modeling_gpt2.py:700 in forward: loss = self.loss_function(
    to_copy_11: "f32[8, 1024, 50257]" = aten._to_copy.default(view_30, dtype=torch.float32)
    constant_pad_nd: "i64[8, 1025]" = aten.constant_pad_nd.default(labels, [0, 1], -100.0)
    slice_6: "i64[8, 1024]{1025, 1}" = aten.slice.Tensor(constant_pad_nd, 1, 1, 9223372036854775807)
    clone_5: "i64[8, 1024]" = aten.clone.default(slice_6, memory_format=torch.contiguous_format)
    view_31: "f32[8192, 50257]" = aten.view.default(to_copy_11, [-1, 50257])
    view_32: "i64[8192]" = aten.view.default(clone_5, [-1])
    amax: "f32[8192, 1]" = aten.amax.default(view_31, [1], True)
    sub_5: "f32[8192, 50257]" = aten.sub.Tensor(view_31, amax)
    exp: "f32[8192, 50257]" = aten.exp.default(sub_5)
    sum: "f32[8192, 1]" = aten.sum.dim_IntList(exp, [1], True)
    log: "f32[8192, 1]" = aten.log.default(sum)
    sub_6: "f32[8192, 50257]" = aten.sub.Tensor(sub_5, log)
    ne: "b8[8192]" = aten.ne.Scalar(view_32, -100)
    scalar_tensor_2: "i64[]" = aten.scalar_tensor.default(0, dtype=torch.int64)
    where_1: "i64[8192]" = aten.where.self(ne, view_32, scalar_tensor_2)
    unsqueeze_7: "i64[8192, 1]" = aten.unsqueeze.default(where_1, 1)
    gather: "f32[8192, 1]" = aten.gather.default(sub_6, 1, unsqueeze_7)
    squeeze: "f32[8192]" = aten.squeeze.dims(gather, [1])
    neg: "f32[8192]" = aten.neg.default(squeeze)
    scalar_tensor_3: "f32[]" = aten.scalar_tensor.default(0, dtype=torch.float32)
    where_2: "f32[8192]" = aten.where.self(ne, neg, scalar_tensor_3)
    sum_1: "i64[]" = aten.sum.dim_IntList(ne, [0])
    to_copy_12: "f32[]" = aten._to_copy.default(sum_1, dtype=torch.float32)
    sum_2: "f32[]" = aten.sum.dim_IntList(where_2, [0])
    div: "f32[]" = aten.div.Tensor(sum_2, to_copy_12)
    unsqueeze_8: "i64[8192, 1]" = aten.unsqueeze.default(view_32, 1)
    ne_1: "b8[8192, 1]" = aten.ne.Scalar(unsqueeze_8, -100)
    where_3: "i64[8192, 1]" = aten.where.self(ne_1, unsqueeze_8, scalar_tensor_2)
    # [lm_head] modeling_gpt2.py:695 in forward: logits = self.lm_head(hidden_states)
    permute_11: "bf16[50257, 768]" = aten.permute.default(permute_8, [1, 0])
    # [transformer.h.1.mlp.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_13: "bf16[768, 3072]{1, 768}" = aten.permute.default(transformer_h_1_mlp_c_proj_weight, [1, 0])
    permute_14: "bf16[3072, 8192]{1, 3072}" = aten.permute.default(view_26, [1, 0])
    # [transformer.h.1.mlp.c_fc] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_15: "bf16[3072, 768]{1, 3072}" = aten.permute.default(transformer_h_1_mlp_c_fc_weight, [1, 0])
    permute_16: "bf16[768, 8192]{1, 768}" = aten.permute.default(view_24, [1, 0])
    # [transformer.h.1.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_17: "bf16[768, 768]{1, 768}" = aten.permute.default(transformer_h_1_attn_c_proj_weight, [1, 0])
    # [transformer.h.1.attn.c_attn] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_23: "bf16[2304, 768]{1, 2304}" = aten.permute.default(transformer_h_1_attn_c_attn_weight, [1, 0])
    permute_24: "bf16[768, 8192]{1, 768}" = aten.permute.default(view_15, [1, 0])
    # [transformer.h.0.mlp.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_25: "bf16[768, 3072]{1, 768}" = aten.permute.default(transformer_h_0_mlp_c_proj_weight, [1, 0])
    permute_26: "bf16[3072, 8192]{1, 3072}" = aten.permute.default(view_13, [1, 0])
    # [transformer.h.0.mlp.c_fc] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_27: "bf16[3072, 768]{1, 3072}" = aten.permute.default(transformer_h_0_mlp_c_fc_weight, [1, 0])
    permute_28: "bf16[768, 8192]{1, 768}" = aten.permute.default(view_11, [1, 0])
    # [transformer.h.0.attn.c_proj] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_29: "bf16[768, 768]{1, 768}" = aten.permute.default(transformer_h_0_attn_c_proj_weight, [1, 0])
    # [transformer.h.0.attn.c_attn] pytorch_utils.py:119 in forward: x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
    permute_35: "bf16[2304, 768]{1, 2304}" = aten.permute.default(transformer_h_0_attn_c_attn_weight, [1, 0])
    permute_36: "bf16[768, 8192]{1, 768}" = aten.permute.default(view_2, [1, 0])
    return (
        div,
        transformer_h_0_ln_1_weight,
        transformer_h_0_ln_2_weight,
        transformer_h_1_ln_1_weight,
        transformer_h_1_ln_2_weight,
        transformer_ln_f_weight,
        view,
        embedding,
        unsqueeze,
        embedding_1,
        getitem_1,
        rsqrt,
        permute,
        permute_1,
        permute_2,
        where,
        getitem_2,
        getitem_3,
        getitem_4,
        getitem_5,
        add_4,
        getitem_7,
        rsqrt_1,
        addmm_2,
        add_9,
        getitem_9,
        rsqrt_2,
        permute_4,
        permute_5,
        permute_6,
        getitem_10,
        getitem_11,
        getitem_12,
        getitem_13,
        add_12,
        getitem_15,
        rsqrt_3,
        addmm_6,
        add_17,
        getitem_17,
        rsqrt_4,
        view_29,
        mm,
        amax,
        log,
        to_copy_12,
        ne_1,
        where_3,
        permute_11,
        permute_13,
        permute_14,
        permute_15,
        permute_16,
        permute_17,
        permute_23,
        permute_24,
        permute_25,
        permute_26,
        permute_27,
        permute_28,
        permute_29,
        permute_35,
        permute_36,
    )
