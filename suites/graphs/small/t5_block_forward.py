# harness graph 1
# title: T5 v1.1 base encoder block with relative position bias, bf16, 8 sequences of 512
# origin: transformers T5Block; sizes of google/t5-v1_1-base
# sizes: small
# captured: suites.models:t5_block?batch=2&seq=11&hidden=40&intermediate=56&heads=3&head_size=8
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def t5_block_forward(
    block_layer_0_selfattention_q_weight: "bf16[24, 40] parameter",
    block_layer_0_selfattention_k_weight: "bf16[24, 40] parameter",
    block_layer_0_selfattention_v_weight: "bf16[24, 40] parameter",
    block_layer_0_selfattention_o_weight: "bf16[40, 24] parameter",
    block_layer_0_selfattention_relative_attention_bias_weight: "bf16[32, 3] parameter",
    block_layer_0_layer_norm_weight: "bf16[40] parameter",
    block_layer_1_densereludense_wi_0_weight: "bf16[56, 40] parameter",
    block_layer_1_densereludense_wi_1_weight: "bf16[56, 40] parameter",
    block_layer_1_densereludense_wo_weight: "bf16[40, 56] parameter",
    block_layer_1_layer_norm_weight: "bf16[40] parameter",
    hidden_states: "bf16[2, 11, 40]",
):
    # [block.layer.0.layer_norm] modeling_t5.py:65 in forward: variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
    to_copy: "f32[2, 11, 40]" = aten._to_copy.default(hidden_states, dtype=torch.float32)
    pow: "f32[2, 11, 40]" = aten.pow.Tensor_Scalar(to_copy, 2)
    mean: "f32[2, 11, 1]" = aten.mean.dim(pow, [-1], True)
    # [block.layer.0.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    add: "f32[2, 11, 1]" = aten.add.Tensor(mean, 1e-06)
    rsqrt: "f32[2, 11, 1]" = aten.rsqrt.default(add)
    mul: "f32[2, 11, 40]" = aten.mul.Tensor(hidden_states, rsqrt)
    # [block.layer.0.layer_norm] modeling_t5.py:70 in forward: hidden_states = hidden_states.to(self.weight.dtype)
    to_copy_1: "bf16[2, 11, 40]" = aten._to_copy.default(mul, dtype=torch.bfloat16)
    # [block.layer.0.layer_norm] modeling_t5.py:72 in forward: return self.weight * hidden_states
    mul_1: "bf16[2, 11, 40]" = aten.mul.Tensor(block_layer_0_layer_norm_weight, to_copy_1)
    # [block.layer.0.SelfAttention.q] modeling_t5.py:304 in forward: query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
    permute: "bf16[40, 24]{1, 40}" = aten.permute.default(block_layer_0_selfattention_q_weight, [1, 0])
    view: "bf16[22, 40]" = aten.view.default(mul_1, [22, 40])
    mm: "bf16[22, 24]" = aten.mm.default(view, permute)
    view_1: "bf16[2, 11, 24]" = aten.view.default(mm, [2, 11, 24])
    # [block.layer.0.SelfAttention] modeling_t5.py:304 in forward: query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
    view_2: "bf16[2, 11, 3, 8]" = aten.view.default(view_1, [2, 11, -1, 8])
    permute_1: "bf16[2, 3, 11, 8]{264, 8, 24, 1}" = aten.permute.default(view_2, [0, 2, 1, 3])
    # [block.layer.0.SelfAttention.k] modeling_t5.py:325 in forward: key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
    permute_2: "bf16[40, 24]{1, 40}" = aten.permute.default(block_layer_0_selfattention_k_weight, [1, 0])
    mm_1: "bf16[22, 24]" = aten.mm.default(view, permute_2)
    view_3: "bf16[2, 11, 24]" = aten.view.default(mm_1, [2, 11, 24])
    # [block.layer.0.SelfAttention] modeling_t5.py:325 in forward: key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
    view_4: "bf16[2, 11, 3, 8]" = aten.view.default(view_3, [2, 11, -1, 8])
    permute_3: "bf16[2, 3, 11, 8]{264, 8, 24, 1}" = aten.permute.default(view_4, [0, 2, 1, 3])
    # [block.layer.0.SelfAttention.v] modeling_t5.py:326 in forward: value_states = self.v(current_states).view(kv_shape).transpose(1, 2)
    permute_4: "bf16[40, 24]{1, 40}" = aten.permute.default(block_layer_0_selfattention_v_weight, [1, 0])
    mm_2: "bf16[22, 24]" = aten.mm.default(view, permute_4)
    view_5: "bf16[2, 11, 24]" = aten.view.default(mm_2, [2, 11, 24])
    # [block.layer.0.SelfAttention] modeling_t5.py:326 in forward: value_states = self.v(current_states).view(kv_shape).transpose(1, 2)
    view_6: "bf16[2, 11, 3, 8]" = aten.view.default(view_5, [2, 11, -1, 8])
    permute_5: "bf16[2, 3, 11, 8]{264, 8, 24, 1}" = aten.permute.default(view_6, [0, 2, 1, 3])
    # [block.layer.0.SelfAttention] modeling_t5.py:346 in forward: position_bias = self.compute_bias(
    arange: "i64[11]" = aten.arange.start_step(0, 11, dtype=torch.int64)
    unsqueeze: "i64[11, 1]" = aten.unsqueeze.default(arange, 1)
    add_1: "i64[11, 1]" = aten.add.Tensor(unsqueeze, 0)
    unsqueeze_1: "i64[1, 11]" = aten.unsqueeze.default(arange, 0)
    sub: "i64[11, 11]" = aten.sub.Tensor(unsqueeze_1, add_1)
    gt: "b8[11, 11]" = aten.gt.Scalar(sub, 0)
    to_copy_2: "i64[11, 11]" = aten._to_copy.default(gt, dtype=torch.int64)
    mul_2: "i64[11, 11]" = aten.mul.Tensor(to_copy_2, 16)
    add_2: "i64[11, 11]" = aten.add.Tensor(mul_2, 0)
    abs: "i64[11, 11]" = aten.abs.default(sub)
    lt: "b8[11, 11]" = aten.lt.Scalar(abs, 8)
    to_copy_3: "f32[11, 11]" = aten._to_copy.default(abs, dtype=torch.float32)
    div: "f32[11, 11]" = aten.div.Tensor(to_copy_3, 8)
    log: "f32[11, 11]" = aten.log.default(div)
    div_1: "f32[11, 11]" = aten.div.Tensor(log, 2.772588722239781)
    mul_3: "f32[11, 11]" = aten.mul.Tensor(div_1, 8)
    to_copy_4: "i64[11, 11]" = aten._to_copy.default(mul_3, dtype=torch.int64)
    add_3: "i64[11, 11]" = aten.add.Tensor(to_copy_4, 8)
    full_like: "i64[11, 11]" = aten.full_like.default(add_3, 15)
    minimum: "i64[11, 11]" = aten.minimum.default(add_3, full_like)
    where: "i64[11, 11]" = aten.where.self(lt, abs, minimum)
    add_4: "i64[11, 11]" = aten.add.Tensor(add_2, where)
    # [block.layer.0.SelfAttention.relative_attention_bias] modeling_t5.py:346 in forward: position_bias = self.compute_bias(
    embedding: "bf16[11, 11, 3]" = aten.embedding.default(block_layer_0_selfattention_relative_attention_bias_weight, add_4)
    # [block.layer.0.SelfAttention] modeling_t5.py:346 in forward: position_bias = self.compute_bias(
    permute_6: "bf16[3, 11, 11]{1, 33, 3}" = aten.permute.default(embedding, [2, 0, 1])
    unsqueeze_2: "bf16[1, 3, 11, 11]{3, 1, 33, 3}" = aten.unsqueeze.default(permute_6, 0)
    # [block.layer.0.SelfAttention] modeling_t5.py:354 in forward: attn_output, attn_weights = attention_interface(
    permute_7: "bf16[2, 3, 8, 11]{264, 8, 1, 24}" = aten.permute.default(permute_3, [0, 1, 3, 2])
    expand: "bf16[2, 3, 11, 8]{264, 8, 24, 1}" = aten.expand.default(permute_1, [2, 3, 11, 8])
    clone: "bf16[2, 3, 11, 8]" = aten.clone.default(expand, memory_format=torch.contiguous_format)
    view_7: "bf16[6, 11, 8]" = aten.view.default(clone, [6, 11, 8])
    expand_1: "bf16[2, 3, 8, 11]{264, 8, 1, 24}" = aten.expand.default(permute_7, [2, 3, 8, 11])
    clone_1: "bf16[2, 3, 8, 11]" = aten.clone.default(expand_1, memory_format=torch.contiguous_format)
    view_8: "bf16[6, 8, 11]" = aten.view.default(clone_1, [6, 8, 11])
    bmm: "bf16[6, 11, 11]" = aten.bmm.default(view_7, view_8)
    view_9: "bf16[2, 3, 11, 11]" = aten.view.default(bmm, [2, 3, 11, 11])
    mul_4: "bf16[2, 3, 11, 11]" = aten.mul.Tensor(view_9, 1.0)
    add_5: "bf16[2, 3, 11, 11]" = aten.add.Tensor(mul_4, unsqueeze_2)
    to_copy_5: "f32[2, 3, 11, 11]" = aten._to_copy.default(add_5, dtype=torch.float32)
    amax: "f32[2, 3, 11, 1]" = aten.amax.default(to_copy_5, [-1], True)
    sub_1: "f32[2, 3, 11, 11]" = aten.sub.Tensor(to_copy_5, amax)
    exp: "f32[2, 3, 11, 11]" = aten.exp.default(sub_1)
    sum: "f32[2, 3, 11, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    div_2: "f32[2, 3, 11, 11]" = aten.div.Tensor(exp, sum)
    to_copy_6: "bf16[2, 3, 11, 11]" = prims.convert_element_type.default(div_2, torch.bfloat16)
    clone_2: "bf16[2, 3, 11, 11]" = aten.clone.default(to_copy_6)
    expand_2: "bf16[2, 3, 11, 11]" = aten.expand.default(clone_2, [2, 3, 11, 11])
    view_10: "bf16[6, 11, 11]" = aten.view.default(expand_2, [6, 11, 11])
    expand_3: "bf16[2, 3, 11, 8]{264, 8, 24, 1}" = aten.expand.default(permute_5, [2, 3, 11, 8])
    clone_3: "bf16[2, 3, 11, 8]" = aten.clone.default(expand_3, memory_format=torch.contiguous_format)
    view_11: "bf16[6, 11, 8]" = aten.view.default(clone_3, [6, 11, 8])
    bmm_1: "bf16[6, 11, 8]" = aten.bmm.default(view_10, view_11)
    view_12: "bf16[2, 3, 11, 8]" = aten.view.default(bmm_1, [2, 3, 11, 8])
    permute_8: "bf16[2, 11, 3, 8]{264, 8, 88, 1}" = aten.permute.default(view_12, [0, 2, 1, 3])
    clone_4: "bf16[2, 11, 3, 8]" = aten.clone.default(permute_8, memory_format=torch.contiguous_format)
    # [block.layer.0.SelfAttention] modeling_t5.py:366 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_13: "bf16[2, 11, 24]" = aten.view.default(clone_4, [2, 11, -1])
    # [block.layer.0.SelfAttention.o] modeling_t5.py:367 in forward: attn_output = self.o(attn_output)
    permute_9: "bf16[24, 40]{1, 24}" = aten.permute.default(block_layer_0_selfattention_o_weight, [1, 0])
    view_14: "bf16[22, 24]" = aten.view.default(view_13, [22, 24])
    mm_3: "bf16[22, 40]" = aten.mm.default(view_14, permute_9)
    view_15: "bf16[2, 11, 40]" = aten.view.default(mm_3, [2, 11, 40])
    # [block.layer.0.dropout] modeling_t5.py:400 in forward: attention_output = hidden_states + self.dropout(attention_output)
    clone_5: "bf16[2, 11, 40]" = aten.clone.default(view_15)
    # [block.layer.0] modeling_t5.py:400 in forward: attention_output = hidden_states + self.dropout(attention_output)
    add_6: "bf16[2, 11, 40]" = aten.add.Tensor(hidden_states, clone_5)
    # [block.layer.1.layer_norm] modeling_t5.py:65 in forward: variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
    to_copy_7: "f32[2, 11, 40]" = aten._to_copy.default(add_6, dtype=torch.float32)
    pow_1: "f32[2, 11, 40]" = aten.pow.Tensor_Scalar(to_copy_7, 2)
    mean_1: "f32[2, 11, 1]" = aten.mean.dim(pow_1, [-1], True)
    # [block.layer.1.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    add_7: "f32[2, 11, 1]" = aten.add.Tensor(mean_1, 1e-06)
    rsqrt_1: "f32[2, 11, 1]" = aten.rsqrt.default(add_7)
    mul_5: "f32[2, 11, 40]" = aten.mul.Tensor(add_6, rsqrt_1)
    # [block.layer.1.layer_norm] modeling_t5.py:70 in forward: hidden_states = hidden_states.to(self.weight.dtype)
    to_copy_8: "bf16[2, 11, 40]" = aten._to_copy.default(mul_5, dtype=torch.bfloat16)
    # [block.layer.1.layer_norm] modeling_t5.py:72 in forward: return self.weight * hidden_states
    mul_6: "bf16[2, 11, 40]" = aten.mul.Tensor(block_layer_1_layer_norm_weight, to_copy_8)
    # [block.layer.1.DenseReluDense.wi_0] modeling_t5.py:107 in forward: hidden_gelu = self.act(self.wi_0(hidden_states))
    permute_10: "bf16[40, 56]{1, 40}" = aten.permute.default(block_layer_1_densereludense_wi_0_weight, [1, 0])
    view_16: "bf16[22, 40]" = aten.view.default(mul_6, [22, 40])
    mm_4: "bf16[22, 56]" = aten.mm.default(view_16, permute_10)
    view_17: "bf16[2, 11, 56]" = aten.view.default(mm_4, [2, 11, 56])
    # [block.layer.1.DenseReluDense.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_7: "bf16[2, 11, 56]" = aten.mul.Tensor(view_17, 0.5)
    pow_2: "bf16[2, 11, 56]" = aten.pow.Tensor_Scalar(view_17, 3.0)
    mul_8: "bf16[2, 11, 56]" = aten.mul.Tensor(pow_2, 0.044715)
    add_8: "bf16[2, 11, 56]" = aten.add.Tensor(view_17, mul_8)
    mul_9: "bf16[2, 11, 56]" = aten.mul.Tensor(add_8, 0.7978845608028654)
    tanh: "bf16[2, 11, 56]" = aten.tanh.default(mul_9)
    add_9: "bf16[2, 11, 56]" = aten.add.Tensor(tanh, 1.0)
    mul_10: "bf16[2, 11, 56]" = aten.mul.Tensor(mul_7, add_9)
    # [block.layer.1.DenseReluDense.wi_1] modeling_t5.py:108 in forward: hidden_linear = self.wi_1(hidden_states)
    permute_11: "bf16[40, 56]{1, 40}" = aten.permute.default(block_layer_1_densereludense_wi_1_weight, [1, 0])
    mm_5: "bf16[22, 56]" = aten.mm.default(view_16, permute_11)
    view_18: "bf16[2, 11, 56]" = aten.view.default(mm_5, [2, 11, 56])
    # [block.layer.1.DenseReluDense] modeling_t5.py:109 in forward: hidden_states = hidden_gelu * hidden_linear
    mul_11: "bf16[2, 11, 56]" = aten.mul.Tensor(mul_10, view_18)
    # [block.layer.1.DenseReluDense.dropout] modeling_t5.py:110 in forward: hidden_states = self.dropout(hidden_states)
    clone_6: "bf16[2, 11, 56]" = aten.clone.default(mul_11)
    # [block.layer.1.DenseReluDense.wo] modeling_t5.py:122 in forward: hidden_states = self.wo(hidden_states)
    permute_12: "bf16[56, 40]{1, 56}" = aten.permute.default(block_layer_1_densereludense_wo_weight, [1, 0])
    view_19: "bf16[22, 56]" = aten.view.default(clone_6, [22, 56])
    mm_6: "bf16[22, 40]" = aten.mm.default(view_19, permute_12)
    view_20: "bf16[2, 11, 40]" = aten.view.default(mm_6, [2, 11, 40])
    # [block.layer.1.dropout] modeling_t5.py:140 in forward: hidden_states = hidden_states + self.dropout(forwarded_states)
    clone_7: "bf16[2, 11, 40]" = aten.clone.default(view_20)
    # [block.layer.1] modeling_t5.py:140 in forward: hidden_states = hidden_states + self.dropout(forwarded_states)
    add_10: "bf16[2, 11, 40]" = aten.add.Tensor(add_6, clone_7)
    # [block.layer.1.DenseReluDense.wo] modeling_t5.py:122 in forward: hidden_states = self.wo(hidden_states)
    permute_15: "bf16[40, 56]" = aten.permute.default(permute_12, [1, 0])
    # [block.layer.1.DenseReluDense.wi_1] modeling_t5.py:108 in forward: hidden_linear = self.wi_1(hidden_states)
    permute_19: "bf16[56, 40]" = aten.permute.default(permute_11, [1, 0])
    # [block.layer.1.DenseReluDense.wi_0] modeling_t5.py:107 in forward: hidden_gelu = self.act(self.wi_0(hidden_states))
    permute_23: "bf16[56, 40]" = aten.permute.default(permute_10, [1, 0])
    # [block.layer.0.SelfAttention.o] modeling_t5.py:367 in forward: attn_output = self.o(attn_output)
    permute_27: "bf16[40, 24]" = aten.permute.default(permute_9, [1, 0])
    # [block.layer.0.SelfAttention] modeling_t5.py:354 in forward: attn_output, attn_weights = attention_interface(
    permute_30: "bf16[6, 11, 11]{121, 1, 11}" = aten.permute.default(view_10, [0, 2, 1])
    permute_31: "bf16[6, 8, 11]{88, 1, 8}" = aten.permute.default(view_11, [0, 2, 1])
    permute_32: "bf16[6, 8, 11]{88, 1, 8}" = aten.permute.default(view_7, [0, 2, 1])
    permute_33: "bf16[6, 11, 8]{88, 1, 11}" = aten.permute.default(view_8, [0, 2, 1])
    # [block.layer.0.SelfAttention.v] modeling_t5.py:326 in forward: value_states = self.v(current_states).view(kv_shape).transpose(1, 2)
    permute_39: "bf16[24, 40]" = aten.permute.default(permute_4, [1, 0])
    # [block.layer.0.SelfAttention.k] modeling_t5.py:325 in forward: key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
    permute_44: "bf16[24, 40]" = aten.permute.default(permute_2, [1, 0])
    # [block.layer.0.SelfAttention.q] modeling_t5.py:304 in forward: query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_49: "bf16[24, 40]" = aten.permute.default(permute, [1, 0])
    return (
        add_10,
        block_layer_0_layer_norm_weight,
        block_layer_1_layer_norm_weight,
        hidden_states,
        rsqrt,
        view,
        add_4,
        to_copy_6,
        view_14,
        mm_3,
        rsqrt_1,
        view_16,
        mm_4,
        mm_5,
        view_19,
        permute_15,
        permute_19,
        permute_23,
        permute_27,
        permute_30,
        permute_31,
        permute_32,
        permute_33,
        permute_39,
        permute_44,
        permute_49,
    )
