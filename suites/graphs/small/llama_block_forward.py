# harness graph 1
# title: Llama 3 8B decoder layer, bf16, sequence of 2048
# origin: transformers LlamaDecoderLayer; sizes of meta-llama/Meta-Llama-3-8B
# sizes: small
# captured: suites.models:llama_block?batch=1&seq=12&hidden=48&intermediate=88&heads=6&kv_heads=2
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def llama_block_forward(
    layer_self_attn_q_proj_weight: "bf16[48, 48] parameter",
    layer_self_attn_k_proj_weight: "bf16[16, 48] parameter",
    layer_self_attn_v_proj_weight: "bf16[16, 48] parameter",
    layer_self_attn_o_proj_weight: "bf16[48, 48] parameter",
    layer_mlp_gate_proj_weight: "bf16[88, 48] parameter",
    layer_mlp_up_proj_weight: "bf16[88, 48] parameter",
    layer_mlp_down_proj_weight: "bf16[48, 88] parameter",
    layer_input_layernorm_weight: "bf16[48] parameter",
    layer_post_attention_layernorm_weight: "bf16[48] parameter",
    rotary_inv_freq: "f32[4] buffer",
    hidden_states: "bf16[1, 12, 48]",
):
    # models.py:26 in forward: positions = torch.arange(hidden_states.shape[1], device=hidden_states.device)[None]
    arange: "i64[12]" = aten.arange.start_step(0, 12)
    unsqueeze: "i64[1, 12]" = aten.unsqueeze.default(arange, 0)
    # [rotary]
    unsqueeze_1: "i64[1, 12, 1]" = aten.unsqueeze.default(unsqueeze, 2)
    to_copy: "f32[1, 12, 1]" = aten._to_copy.default(unsqueeze_1, dtype=torch.float32)
    mul: "f32[1, 12, 4]" = aten.mul.Tensor(to_copy, rotary_inv_freq)
    cat: "f32[1, 12, 8]" = aten.cat.default([mul, mul], -1)
    cos: "f32[1, 12, 8]" = aten.cos.default(cat)
    mul_1: "f32[1, 12, 8]" = aten.mul.Tensor(cos, 1.0)
    sin: "f32[1, 12, 8]" = aten.sin.default(cat)
    mul_2: "f32[1, 12, 8]" = aten.mul.Tensor(sin, 1.0)
    to_copy_1: "bf16[1, 12, 8]" = aten._to_copy.default(mul_1, dtype=torch.bfloat16)
    to_copy_2: "bf16[1, 12, 8]" = aten._to_copy.default(mul_2, dtype=torch.bfloat16)
    # [layer.input_layernorm] modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    to_copy_3: "f32[1, 12, 48]" = aten._to_copy.default(hidden_states, dtype=torch.float32)
    # [layer.input_layernorm] modeling_llama.py:64 in forward: variance = hidden_states.pow(2).mean(-1, keepdim=True)
    pow: "f32[1, 12, 48]" = aten.pow.Tensor_Scalar(to_copy_3, 2)
    mean: "f32[1, 12, 1]" = aten.mean.dim(pow, [-1], True)
    # [layer.input_layernorm] modeling_llama.py:65 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    add: "f32[1, 12, 1]" = aten.add.Tensor(mean, 1e-06)
    rsqrt: "f32[1, 12, 1]" = aten.rsqrt.default(add)
    mul_3: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_3, rsqrt)
    # [layer.input_layernorm] modeling_llama.py:66 in forward: return self.weight * hidden_states.to(input_dtype)
    to_copy_4: "bf16[1, 12, 48]" = aten._to_copy.default(mul_3, dtype=torch.bfloat16)
    mul_4: "bf16[1, 12, 48]" = aten.mul.Tensor(layer_input_layernorm_weight, to_copy_4)
    # [layer.self_attn.q_proj] modeling_llama.py:243 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute: "bf16[48, 48]{1, 48}" = aten.permute.default(layer_self_attn_q_proj_weight, [1, 0])
    view: "bf16[12, 48]" = aten.view.default(mul_4, [12, 48])
    mm: "bf16[12, 48]" = aten.mm.default(view, permute)
    view_1: "bf16[1, 12, 48]" = aten.view.default(mm, [1, 12, 48])
    # [layer.self_attn] modeling_llama.py:243 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_2: "bf16[1, 12, 6, 8]" = aten.view.default(view_1, [1, 12, -1, 8])
    permute_1: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.permute.default(view_2, [0, 2, 1, 3])
    # [layer.self_attn.k_proj] modeling_llama.py:244 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_2: "bf16[48, 16]{1, 48}" = aten.permute.default(layer_self_attn_k_proj_weight, [1, 0])
    mm_1: "bf16[12, 16]" = aten.mm.default(view, permute_2)
    view_3: "bf16[1, 12, 16]" = aten.view.default(mm_1, [1, 12, 16])
    # [layer.self_attn] modeling_llama.py:244 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_4: "bf16[1, 12, 2, 8]" = aten.view.default(view_3, [1, 12, -1, 8])
    permute_3: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = aten.permute.default(view_4, [0, 2, 1, 3])
    # [layer.self_attn.v_proj] modeling_llama.py:245 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_4: "bf16[48, 16]{1, 48}" = aten.permute.default(layer_self_attn_v_proj_weight, [1, 0])
    mm_2: "bf16[12, 16]" = aten.mm.default(view, permute_4)
    view_5: "bf16[1, 12, 16]" = aten.view.default(mm_2, [1, 12, 16])
    # [layer.self_attn] modeling_llama.py:245 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    view_6: "bf16[1, 12, 2, 8]" = aten.view.default(view_5, [1, 12, -1, 8])
    permute_5: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = aten.permute.default(view_6, [0, 2, 1, 3])
    # [layer.self_attn] modeling_llama.py:248 in forward: query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin)
    unsqueeze_2: "bf16[1, 1, 12, 8]" = aten.unsqueeze.default(to_copy_1, 1)
    unsqueeze_3: "bf16[1, 1, 12, 8]" = aten.unsqueeze.default(to_copy_2, 1)
    mul_5: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.mul.Tensor(permute_1, unsqueeze_2)
    slice: "bf16[1, 6, 12, 4]{576, 8, 48, 1}" = aten.slice.Tensor(permute_1, 3, 0, 4)
    slice_1: "bf16[1, 6, 12, 4]{576, 8, 48, 1}" = aten.slice.Tensor(permute_1, 3, 4, 9223372036854775807)
    neg: "bf16[1, 6, 12, 4]{288, 4, 24, 1}" = aten.neg.default(slice_1)
    cat_1: "bf16[1, 6, 12, 8]" = aten.cat.default([neg, slice], -1)
    mul_6: "bf16[1, 6, 12, 8]" = aten.mul.Tensor(cat_1, unsqueeze_3)
    add_1: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.add.Tensor(mul_5, mul_6)
    mul_7: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = aten.mul.Tensor(permute_3, unsqueeze_2)
    slice_2: "bf16[1, 2, 12, 4]{192, 8, 16, 1}" = aten.slice.Tensor(permute_3, 3, 0, 4)
    slice_3: "bf16[1, 2, 12, 4]{192, 8, 16, 1}" = aten.slice.Tensor(permute_3, 3, 4, 9223372036854775807)
    neg_1: "bf16[1, 2, 12, 4]{96, 4, 8, 1}" = aten.neg.default(slice_3)
    cat_2: "bf16[1, 2, 12, 8]" = aten.cat.default([neg_1, slice_2], -1)
    mul_8: "bf16[1, 2, 12, 8]" = aten.mul.Tensor(cat_2, unsqueeze_3)
    add_2: "bf16[1, 2, 12, 8]{192, 8, 16, 1}" = aten.add.Tensor(mul_7, mul_8)
    # [layer.self_attn] modeling_llama.py:257 in forward: attn_output, attn_weights = attention_interface(
    scaled_dot_product_flash_attention: ("bf16[1, 6, 12, 8]{576, 8, 48, 1}", "f32[1, 6, 12]", None, None, None, None, "u64[2]", "u64[]", "bf16[0]") = aten._scaled_dot_product_flash_attention.default(add_1, add_2, permute_5, 0.0, True, scale=0.3535533905932738)
    getitem: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = getitem(scaled_dot_product_flash_attention, 0)
    getitem_1: "u64[]" = getitem(scaled_dot_product_flash_attention, 7)
    getitem_2: "u64[2]" = getitem(scaled_dot_product_flash_attention, 6)
    getitem_3: "f32[1, 6, 12]" = getitem(scaled_dot_product_flash_attention, 1)
    view_7: "bf16[1, 6, 12, 8]{576, 8, 48, 1}" = aten.view.default(getitem, [1, 6, 12, 8])
    permute_6: "bf16[1, 12, 6, 8]" = aten.permute.default(view_7, [0, 2, 1, 3])
    # [layer.self_attn] modeling_llama.py:268 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_8: "bf16[1, 12, 48]" = aten.view.default(permute_6, [1, 12, -1])
    # [layer.self_attn.o_proj] modeling_llama.py:269 in forward: attn_output = self.o_proj(attn_output)
    permute_7: "bf16[48, 48]{1, 48}" = aten.permute.default(layer_self_attn_o_proj_weight, [1, 0])
    view_9: "bf16[12, 48]" = aten.view.default(view_8, [12, 48])
    mm_3: "bf16[12, 48]" = aten.mm.default(view_9, permute_7)
    view_10: "bf16[1, 12, 48]" = aten.view.default(mm_3, [1, 12, 48])
    # [layer] modeling_llama.py:306 in forward: hidden_states = residual + hidden_states
    add_3: "bf16[1, 12, 48]" = aten.add.Tensor(hidden_states, view_10)
    # [layer.post_attention_layernorm] modeling_llama.py:63 in forward: hidden_states = hidden_states.to(torch.float32)
    to_copy_5: "f32[1, 12, 48]" = aten._to_copy.default(add_3, dtype=torch.float32)
    # [layer.post_attention_layernorm] modeling_llama.py:64 in forward: variance = hidden_states.pow(2).mean(-1, keepdim=True)
    pow_1: "f32[1, 12, 48]" = aten.pow.Tensor_Scalar(to_copy_5, 2)
    mean_1: "f32[1, 12, 1]" = aten.mean.dim(pow_1, [-1], True)
    # [layer.post_attention_layernorm] modeling_llama.py:65 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    add_4: "f32[1, 12, 1]" = aten.add.Tensor(mean_1, 1e-06)
    rsqrt_1: "f32[1, 12, 1]" = aten.rsqrt.default(add_4)
    mul_9: "f32[1, 12, 48]" = aten.mul.Tensor(to_copy_5, rsqrt_1)
    # [layer.post_attention_layernorm] modeling_llama.py:66 in forward: return self.weight * hidden_states.to(input_dtype)
    to_copy_6: "bf16[1, 12, 48]" = aten._to_copy.default(mul_9, dtype=torch.bfloat16)
    mul_10: "bf16[1, 12, 48]" = aten.mul.Tensor(layer_post_attention_layernorm_weight, to_copy_6)
    # [layer.mlp.gate_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    permute_8: "bf16[48, 88]{1, 48}" = aten.permute.default(layer_mlp_gate_proj_weight, [1, 0])
    view_11: "bf16[12, 48]" = aten.view.default(mul_10, [12, 48])
    mm_4: "bf16[12, 88]" = aten.mm.default(view_11, permute_8)
    view_12: "bf16[1, 12, 88]" = aten.view.default(mm_4, [1, 12, 88])
    # [layer.mlp.act_fn] activations.py:103 in forward: return nn.functional.silu(input)
    to_copy_7: "f32[1, 12, 88]" = aten._to_copy.default(view_12, dtype=torch.float32)
    sigmoid: "f32[1, 12, 88]" = aten.sigmoid.default(to_copy_7)
    mul_11: "f32[1, 12, 88]" = aten.mul.Tensor(to_copy_7, sigmoid)
    to_copy_8: "bf16[1, 12, 88]" = prims.convert_element_type.default(mul_11, torch.bfloat16)
    # [layer.mlp.up_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    permute_9: "bf16[48, 88]{1, 48}" = aten.permute.default(layer_mlp_up_proj_weight, [1, 0])
    mm_5: "bf16[12, 88]" = aten.mm.default(view_11, permute_9)
    view_13: "bf16[1, 12, 88]" = aten.view.default(mm_5, [1, 12, 88])
    # [layer.mlp] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    mul_12: "bf16[1, 12, 88]" = aten.mul.Tensor(to_copy_8, view_13)
    # [layer.mlp.down_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    permute_10: "bf16[88, 48]{1, 88}" = aten.permute.default(layer_mlp_down_proj_weight, [1, 0])
    view_14: "bf16[12, 88]" = aten.view.default(mul_12, [12, 88])
    mm_6: "bf16[12, 48]" = aten.mm.default(view_14, permute_10)
    view_15: "bf16[1, 12, 48]" = aten.view.default(mm_6, [1, 12, 48])
    # [layer] modeling_llama.py:312 in forward: hidden_states = residual + hidden_states
    add_5: "bf16[1, 12, 48]" = aten.add.Tensor(add_3, view_15)
    # [layer.mlp.down_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    permute_13: "bf16[48, 88]" = aten.permute.default(permute_10, [1, 0])
    # [layer.mlp.up_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    permute_17: "bf16[88, 48]" = aten.permute.default(permute_9, [1, 0])
    # [layer.mlp.gate_proj] modeling_llama.py:164 in forward: down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
    permute_21: "bf16[88, 48]" = aten.permute.default(permute_8, [1, 0])
    # [layer.self_attn.o_proj] modeling_llama.py:269 in forward: attn_output = self.o_proj(attn_output)
    permute_25: "bf16[48, 48]" = aten.permute.default(permute_7, [1, 0])
    # [layer.self_attn.v_proj] modeling_llama.py:245 in forward: value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_31: "bf16[16, 48]" = aten.permute.default(permute_4, [1, 0])
    # [layer.self_attn.k_proj] modeling_llama.py:244 in forward: key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_36: "bf16[16, 48]" = aten.permute.default(permute_2, [1, 0])
    # [layer.self_attn.q_proj] modeling_llama.py:243 in forward: query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_41: "bf16[48, 48]" = aten.permute.default(permute, [1, 0])
    return (
        add_5,
        layer_input_layernorm_weight,
        layer_post_attention_layernorm_weight,
        hidden_states,
        cat,
        rsqrt,
        view,
        permute_5,
        add_1,
        add_2,
        getitem,
        getitem_1,
        getitem_2,
        getitem_3,
        mm_3,
        rsqrt_1,
        view_11,
        mm_4,
        mm_5,
        view_14,
        permute_13,
        permute_17,
        permute_21,
        permute_25,
        permute_31,
        permute_36,
        permute_41,
    )
