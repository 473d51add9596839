# harness graph 1
# title: Llama 3 8B decoder layer, bf16, sequence of 2048
# origin: transformers LlamaDecoderLayer; sizes of meta-llama/Meta-Llama-3-8B
# sizes: small
# captured: suites.models:llama_block?batch=1&seq=12&hidden=48&intermediate=88&heads=6&kv_heads=2
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def llama_block_backward(
    layer_input_layernorm_weight: "bf16[48] parameter",
    layer_post_attention_layernorm_weight: "bf16[48] parameter",
    hidden_states: "bf16[1, 12, 48]",
    cat: "f32[1, 12, 8] saved",
    rsqrt: "f32[1, 12, 1] saved",
    view: "bf16[12, 48] saved",
    permute_5: "bf16[1, 2, 12, 8]{192, 8, 16, 1} saved",
    add_1: "bf16[1, 6, 12, 8]{576, 8, 48, 1} saved",
    add_2: "bf16[1, 2, 12, 8]{192, 8, 16, 1} saved",
    getitem: "bf16[1, 6, 12, 8]{576, 8, 48, 1} saved",
    getitem_1: "u64[] saved",
    getitem_2: "u64[2] saved",
    getitem_3: "f32[1, 6, 12] saved",
    mm_3: "bf16[12, 48] saved",
    rsqrt_1: "f32[1, 12, 1] saved",
    view_11: "bf16[12, 48] saved",
    mm_4: "bf16[12, 88] saved",
    mm_5: "bf16[12, 88] saved",
    view_14: "bf16[12, 88] saved",
    permute_13: "bf16[48, 88] saved",
    permute_17: "bf16[88, 48] saved",
    permute_21: "bf16[88, 48] saved",
    permute_25: "bf16[48, 48] saved",
    permute_31: "bf16[16, 48] saved",
    permute_36: "bf16[16, 48] saved",
    permute_41: "bf16[48, 48] saved",
    tangent: "bf16[1, 12, 48] gradient",
):
    # [layer.mlp.down_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    view_16: "bf16[12, 48]" = aten.view.default(tangent, [12, 48])
    permute_11: "bf16[48, 12]{1, 48}" = aten.permute.default(view_16, [1, 0])
    mm_7: "bf16[48, 88]" = aten.mm.default(permute_11, view_14)
    permute_12: "bf16[88, 48]{1, 88}" = aten.permute.default(mm_7, [1, 0])
    mm_8: "bf16[12, 88]" = aten.mm.default(view_16, permute_13)
    view_17: "bf16[1, 12, 88]" = aten.view.default(mm_8, [1, 12, 88])
    permute_14: "bf16[48, 88]" = aten.permute.default(permute_12, [1, 0])
    # [layer.mlp.gate_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    view_12: "bf16[1, 12, 88]" = aten.view.default(mm_4, [1, 12, 88])
    # [layer.mlp.act_fn] activations.py:103 in forward: return nn.functional.silu(input)
    to_copy_7: "f32[1, 12, 88]" = aten._to_copy.default(view_12, dtype=torch.float32)
    sigmoid: "f32[1, 12, 88]" = aten.sigmoid.default(to_copy_7)
    mul_11: "f32[1, 12, 88]" = aten.mul.Tensor(to_copy_7, sigmoid)
    to_copy_8: "bf16[1, 12, 88]" = prims.convert_element_type.default(mul_11, torch.bfloat16)
    # [layer.mlp] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    mul_13: "bf16[1, 12, 88]" = aten.mul.Tensor(view_17, to_copy_8)
    # [layer.mlp.up_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    view_13: "bf16[1, 12, 88]" = aten.view.default(mm_5, [1, 12, 88])
    # [layer.mlp] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    mul_14: "bf16[1, 12, 88]" = aten.mul.Tensor(view_17, view_13)
    # [layer.mlp.up_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    view_18: "bf16[12, 88]" = aten.view.default(mul_13, [12, 88])
    permute_15: "bf16[88, 12]{1, 88}" = aten.permute.default(view_18, [1, 0])
    mm_9: "bf16[88, 48]" = aten.mm.default(permute_15, view_11)
    permute_16: "bf16[48, 88]{1, 48}" = aten.permute.default(mm_9, [1, 0])
    mm_10: "bf16[12, 48]" = aten.mm.default(view_18, permute_17)
    view_19: "bf16[1, 12, 48]" = aten.view.default(mm_10, [1, 12, 48])
    permute_18: "bf16[88, 48]" = aten.permute.default(permute_16, [1, 0])
    # [layer.mlp.act_fn] activations.py:103 in forward: return nn.functional.silu(input)
    to_copy_9: "f32[1, 12, 88]" = aten._to_copy.default(mul_14, dtype=torch.float32)
    mul_15: "f32[1, 12, 88]" = aten.mul.Tensor(to_copy_9, sigmoid)
    sub: "f32[1, 12, 88]" = aten.sub.Tensor(1, sigmoid)
    mul_16: "f32[1, 12, 88]" = aten.mul.Tensor(to_copy_7, sub)
    add_6: "f32[1, 12, 88]" = aten.add.Tensor(mul_16, 1)
    mul_17: "f32[1, 12, 88]" = aten.mul.Tensor(mul_15, add_6)
    to_copy_10: "bf16[1, 12, 88]" = prims.convert_element_type.default(mul_17, torch.bfloat16)
    # [layer.mlp.gate_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    view_20: "bf16[12, 88]" = aten.view.default(to_copy_10, [12, 88])
    permute_19: "bf16[88, 12]{1, 88}" = aten.permute.default(view_20, [1, 0])
    mm_11: "bf16[88, 48]" = aten.mm.default(permute_19, view_11)
    permute_20: "bf16[48, 88]{1, 48}" = aten.permute.default(mm_11, [1, 0])
    mm_12: "bf16[12, 48]" = aten.mm.default(view_20, permute_21)
    view_21: "bf16[1, 12, 48]" = aten.view.default(mm_12, [1, 12, 48])
    # modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    add_7: "bf16[1, 12, 48]" = aten.add.Tensor(view_19, view_21)
    # [layer.mlp.gate_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    permute_22: "bf16[88, 48]" = aten.permute.default(permute_20, [1, 0])
    # [layer.post_attention_layernorm] modeling_llama.py:66 in forward: return self.weight * hidden_states.to(input_dtype)
    mul_18: "bf16[1, 12, 48]" = aten.mul.Tensor(add_7, layer_post_attention_layernorm_weight)
    # [layer.self_attn.o_proj] modeling_llama.py:269 in forward: attn_output = self.o_proj(attn_output)
    view_10: "bf16[1, 12, 48]" = aten.view.default(mm_3, [1, 12, 48])
    # [layer] modeling_llama.py:306 in forward: hidden_states = residual + hidden_states
    add_3: "bf16[1, 12, 48]" = aten.add.Tensor(hidden_states, view_10)
    # [layer.post_attention_layernorm] modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    to_copy_5: "f32[1, 12, 48]" = aten._to_copy.default(add_3, dtype=torch.float32)
    # [layer.post_attention_layernorm] modeling_llama.py:65 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul_9: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_5, rsqrt_1)
    # [layer.post_attention_layernorm] modeling_llama.py:66 in forward: return self.weight * hidden_states.to(input_dtype)
    to_copy_6: "bf16[1, 12, 48]" = aten._to_copy.default(mul_9, dtype=torch.bfloat16)
    mul_19: "bf16[1, 12, 48]" = aten.mul.Tensor(add_7, to_copy_6)
    sum: "bf16[1, 1, 48]" = aten.sum.dim_IntList(mul_19, [0, 1], True)
    view_22: "bf16[48]" = aten.view.default(sum, [48])
    to_copy_11: "f32[1, 12, 48]" = aten._to_copy.default(mul_18, dtype=torch.float32)
    # [layer.post_attention_layernorm] modeling_llama.py:65 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul_20: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_11, to_copy_5)
    mul_21: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_11, rsqrt_1)
    sum_1: "f32[1, 12, 1]" = aten.sum.dim_IntList(mul_20, [2], True)
    pow_2: "f32[1, 12, 1]" = aten.pow.Tensor_Scalar(rsqrt_1, 3)
    mul_22: "f32[1, 12, 1]" = aten.mul.Scalar(sum_1, -0.5)
    mul_23: "f32[1, 12, 1]" = aten.mul.Tensor(mul_22, pow_2)
    # [layer.post_attention_layernorm] modeling_llama.py:64 in forward: variance = hidden_states.pow(2).mean(-1, keepdim=True)
    expand: "f32[1, 12, 48]{12, 1, 0}" = aten.expand.default(mul_23, [1, 12, 48])
    div: "f32[1, 12, 48]" = aten.div.Scalar(expand, 48)
    pow_3: "f32[1, 12, 48]" = aten.pow.Tensor_Scalar(to_copy_5, 1.0)
    mul_24: "f32[1, 12, 48]" = aten.mul.Scalar(pow_3, 2.0)
    mul_25: "f32[1, 12, 48]" = aten.mul.Tensor(div, mul_24)
    # modeling_llama.py:64 in forward: variance = hidden_states.pow(2).mean(-1, keepdim=True)
    add_8: "f32[1, 12, 48]" = aten.add.Tensor(mul_21, mul_25)
    # [layer.post_attention_layernorm] modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    to_copy_12: "bf16[1, 12, 48]" = aten._to_copy.default(add_8, dtype=torch.bfloat16)
    # modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    add_9: "bf16[1, 12, 48]" = aten.add.Tensor(tangent, to_copy_12)
    # [layer.self_attn.o_proj] modeling_llama.py:269 in forward: attn_output = self.o_proj(attn_output)
    view_23: "bf16[12, 48]" = aten.view.default(add_9, [12, 48])
    permute_23: "bf16[48, 12]{1, 48}" = aten.permute.default(view_23, [1, 0])
    # [layer.self_attn] modeling_llama.py:257 in forward: attn_output, attn_weights = attention_interface(
    view_7: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.view.default(getitem, [1, 6, 12, 8])
    permute_6: "bf16[1, 12, 6, 8]" = aten.permute.default(view_7, [0, 2, 1, 3])
    # [layer.self_attn] modeling_llama.py:268 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_8: "bf16[1, 12, 48]" = aten.view.default(permute_6, [1, 12, -1])
    # [layer.self_attn.o_proj] modeling_llama.py:269 in forward: attn_output = self.o_proj(attn_output)
    view_9: "bf16[12, 48]" = aten.view.default(view_8, [12, 48])
    mm_13: "bf16[48, 48]" = aten.mm.default(permute_23, view_9)
    permute_24: "bf16[48, 48]{1, 48}" = aten.permute.default(mm_13, [1, 0])
    mm_14: "bf16[12, 48]" = aten.mm.default(view_23, permute_25)
    view_24: "bf16[1, 12, 48]" = aten.view.default(mm_14, [1, 12, 48])
    permute_26: "bf16[48, 48]" = aten.permute.default(permute_24, [1, 0])
    # [layer.self_attn] modeling_llama.py:268 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_25: "bf16[1, 12, 6, 8]" = aten.view.default(view_24, [1, 12, 6, 8])
    # [layer.self_attn] modeling_llama.py:257 in forward: attn_output, attn_weights = attention_interface(
    permute_27: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.permute.default(view_25, [0, 2, 1, 3])
    view_26: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.view.default(permute_27, [1, 6, 12, 8])
    scaled_dot_product_flash_attention_backward: ("bf16[1, 6, 12, 8]{576, 8, 48, 1}", "bf16[1, 2, 12, 8]{192, 8, 16, 1}", "bf16[1, 2, 12, 8]{192, 8, 16, 1}") = aten._scaled_dot_product_flash_attention_backward.default(view_26, add_1, add_2, permute_5, getitem, getitem_3, None, None, 12, 12, 0.0, True, getitem_2, getitem_1, scale=0.3535533905932738)
    getitem_4: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = getitem(scaled_dot_product_flash_attention_backward, 0)
    getitem_5: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = getitem(scaled_dot_product_flash_attention_backward, 1)
    getitem_6: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = getitem(scaled_dot_product_flash_attention_backward, 2)
    # [rotary]
    sin: "f32[1, 12, 8]" = aten.sin.default(cat)
    mul_2: "f32[1, 12, 8]" = aten.mul.Tensor(sin, 1.0)
    to_copy_2: "bf16[1, 12, 8]" = aten._to_copy.default(mul_2, dtype=torch.bfloat16)
    # [layer.self_attn] modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    unsqueeze_3: "bf16[1, 1, 12, 8]" = aten.unsqueeze.default(to_copy_2, 1)
    mul_26: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = aten.mul.Tensor(getitem_5, unsqueeze_3)
    slice_4: "bf16[1, 2, 12, 4]{192, 8, 16, 1}" = aten.slice.Tensor(mul_26, 3, 0, 4)
    slice_5: "bf16[1, 2, 12, 4]{192, 8, 16, 1}" = aten.slice.Tensor(mul_26, 3, 4, 8)
    neg_2: "bf16[1, 2, 12, 4]{96, 4, 8, 1}" = aten.neg.default(slice_4)
    full: "bf16[1, 2, 12, 8]" = aten.full.default([1, 2, 12, 8], 0, dtype=torch.bfloat16)
    slice_scatter: "bf16[1, 2, 12, 8]" = aten.slice_scatter.default(full, neg_2, 3, 4, 9223372036854775807)
    slice_scatter_1: "bf16[1, 2, 12, 8]" = aten.slice_scatter.default(full, slice_5, 3, 0, 4)
    # modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    add_10: "bf16[1, 2, 12, 8]" = aten.add.Tensor(slice_scatter, slice_scatter_1)
    # [rotary]
    cos: "f32[1, 12, 8]" = aten.cos.default(cat)
    mul_1: "f32[1, 12, 8]" = aten.mul.Tensor(cos, 1.0)
    to_copy_1: "bf16[1, 12, 8]" = aten._to_copy.default(mul_1, dtype=torch.bfloat16)
    # [layer.self_attn] modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    unsqueeze_2: "bf16[1, 1, 12, 8]" = aten.unsqueeze.default(to_copy_1, 1)
    mul_27: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = aten.mul.Tensor(getitem_5, unsqueeze_2)
    # modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    add_11: "bf16[1, 2, 12, 8]" = aten.add.Tensor(add_10, mul_27)
    # [layer.self_attn] modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    mul_28: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.mul.Tensor(getitem_4, unsqueeze_3)
    slice_6: "bf16[1, 6, 12, 4]{576, 8, 48, 1}" = aten.slice.Tensor(mul_28, 3, 0, 4)
    slice_7: "bf16[1, 6, 12, 4]{576, 8, 48, 1}" = aten.slice.Tensor(mul_28, 3, 4, 8)
    neg_3: "bf16[1, 6, 12, 4]{288, 4, 24, 1}" = aten.neg.default(slice_6)
    full_1: "bf16[1, 6, 12, 8]" = aten.full.default([1, 6, 12, 8], 0, dtype=torch.bfloat16)
    slice_scatter_2: "bf16[1, 6, 12, 8]" = aten.slice_scatter.default(full_1, neg_3, 3, 4, 9223372036854775807)
    slice_scatter_3: "bf16[1, 6, 12, 8]" = aten.slice_scatter.default(full_1, slice_7, 3, 0, 4)
    # modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    add_12: "bf16[1, 6, 12, 8]" = aten.add.Tensor(slice_scatter_2, slice_scatter_3)
    # [layer.self_attn] modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    mul_29: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.mul.Tensor(getitem_4, unsqueeze_2)
    # modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    add_13: "bf16[1, 6, 12, 8]" = aten.add.Tensor(add_12, mul_29)
    # [layer.self_attn] modeling_llama.py:245 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_28: "bf16[1, 12, 2, 8]" = aten.permute.default(getitem_6, [0, 2, 1, 3])
    view_27: "bf16[1, 12, 16]" = aten.view.default(permute_28, [1, 12, 16])
    # [layer.self_attn.v_proj] modeling_llama.py:245 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_28: "bf16[12, 16]" = aten.view.default(view_27, [12, 16])
    permute_29: "bf16[16, 12]{1, 16}" = aten.permute.default(view_28, [1, 0])
    mm_15: "bf16[16, 48]" = aten.mm.default(permute_29, view)
    permute_30: "bf16[48, 16]{1, 48}" = aten.permute.default(mm_15, [1, 0])
    mm_16: "bf16[12, 48]" = aten.mm.default(view_28, permute_31)
    view_29: "bf16[1, 12, 48]" = aten.view.default(mm_16, [1, 12, 48])
    permute_32: "bf16[16, 48]" = aten.permute.default(permute_30, [1, 0])
    # [layer.self_attn] modeling_llama.py:244 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_33: "bf16[1, 12, 2, 8]{192, 8, 96, 1}" = aten.permute.default(add_11, [0, 2, 1, 3])
    clone: "bf16[1, 12, 2, 8]" = aten.clone.default(permute_33, memory_format=torch.contiguous_format)
    view_30: "bf16[1, 12, 16]" = aten.view.default(clone, [1, 12, 16])
    # [layer.self_attn.k_proj] modeling_llama.py:244 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_31: "bf16[12, 16]" = aten.view.default(view_30, [12, 16])
    permute_34: "bf16[16, 12]{1, 16}" = aten.permute.default(view_31, [1, 0])
    mm_17: "bf16[16, 48]" = aten.mm.default(permute_34, view)
    permute_35: "bf16[48, 16]{1, 48}" = aten.permute.default(mm_17, [1, 0])
    mm_18: "bf16[12, 48]" = aten.mm.default(view_31, permute_36)
    view_32: "bf16[1, 12, 48]" = aten.view.default(mm_18, [1, 12, 48])
    # modeling_llama.py:244 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    add_14: "bf16[1, 12, 48]" = aten.add.Tensor(view_29, view_32)
    # [layer.self_attn.k_proj] modeling_llama.py:244 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_37: "bf16[16, 48]" = aten.permute.default(permute_35, [1, 0])
    # [layer.self_attn] modeling_llama.py:243 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_38: "bf16[1, 12, 6, 8]{576, 8, 96, 1}" = aten.permute.default(add_13, [0, 2, 1, 3])
    clone_1: "bf16[1, 12, 6, 8]" = aten.clone.default(permute_38, memory_format=torch.contiguous_format)
    view_33: "bf16[1, 12, 48]" = aten.view.default(clone_1, [1, 12, 48])
    # [layer.self_attn.q_proj] modeling_llama.py:243 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_34: "bf16[12, 48]" = aten.view.default(view_33, [12, 48])
    permute_39: "bf16[48, 12]{1, 48}" = aten.permute.default(view_34, [1, 0])
    mm_19: "bf16[48, 48]" = aten.mm.default(permute_39, view)
    permute_40: "bf16[48, 48]{1, 48}" = aten.permute.default(mm_19, [1, 0])
    mm_20: "bf16[12, 48]" = aten.mm.default(view_34, permute_41)
    view_35: "bf16[1, 12, 48]" = aten.view.default(mm_20, [1, 12, 48])
    # modeling_llama.py:243 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    add_15: "bf16[1, 12, 48]" = aten.add.Tensor(add_14, view_35)
    # [layer.self_attn.q_proj] modeling_llama.py:243 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_42: "bf16[48, 48]" = aten.permute.default(permute_40, [1, 0])
    # [layer.input_layernorm] modeling_llama.py:66 in forward: return self.weight * hidden_states.to(input_dtype)
    mul_30: "bf16[1, 12, 48]" = aten.mul.Tensor(add_15, layer_input_layernorm_weight)
    # [layer.input_layernorm] modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    to_copy_3: "f32[1, 12, 48]" = aten._to_copy.default(hidden_states, dtype=torch.float32)
    # [layer.input_layernorm] modeling_llama.py:65 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul_3: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_3, rsqrt)
    # [layer.input_layernorm] modeling_llama.py:66 in forward: return self.weight * hidden_states.to(input_dtype)
    to_copy_4: "bf16[1, 12, 48]" = aten._to_copy.default(mul_3, dtype=torch.bfloat16)
    mul_31: "bf16[1, 12, 48]" = aten.mul.Tensor(add_15, to_copy_4)
    sum_2: "bf16[1, 1, 48]" = aten.sum.dim_IntList(mul_31, [0, 1], True)
    view_36: "bf16[48]" = aten.view.default(sum_2, [48])
    to_copy_13: "f32[1, 12, 48]" = aten._to_copy.default(mul_30, dtype=torch.float32)
    # [layer.input_layernorm] modeling_llama.py:65 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul_32: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_13, to_copy_3)
    mul_33: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_13, rsqrt)
    sum_3: "f32[1, 12, 1]" = aten.sum.dim_IntList(mul_32, [2], True)
    pow_4: "f32[1, 12, 1]" = aten.pow.Tensor_Scalar(rsqrt, 3)
    mul_34: "f32[1, 12, 1]" = aten.mul.Scalar(sum_3, -0.5)
    mul_35: "f32[1, 12, 1]" = aten.mul.Tensor(mul_34, pow_4)
    # [layer.input_layernorm] modeling_llama.py:64 in forward: variance = hidden_states.pow(2).mean(-1, keepdim=True)
    expand_1: "f32[1, 12, 48]{12, 1, 0}" = aten.expand.default(mul_35, [1, 12, 48])
    div_1: "f32[1, 12, 48]" = aten.div.Scalar(expand_1, 48)
    pow_5: "f32[1, 12, 48]" = aten.pow.Tensor_Scalar(to_copy_3, 1.0)
    mul_36: "f32[1, 12, 48]" = aten.mul.Scalar(pow_5, 2.0)
    mul_37: "f32[1, 12, 48]" = aten.mul.Tensor(div_1, mul_36)
    # modeling_llama.py:64 in forward: variance = hidden_states.pow(2).mean(-1, keepdim=True)
    add_16: "f32[1, 12, 48]" = aten.add.Tensor(mul_33, mul_37)
    # [layer.input_layernorm] modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    to_copy_14: "bf16[1, 12, 48]" = aten._to_copy.default(add_16, dtype=torch.bfloat16)
    # modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    add_17: "bf16[1, 12, 48]" = aten.add.Tensor(add_9, to_copy_14)
    return (
        permute_42,
        permute_37,
        permute_32,
        permute_26,
        permute_22,
        permute_18,
        permute_14,
        view_36,
        view_22,
        None,
        None,
        add_17,
    )
