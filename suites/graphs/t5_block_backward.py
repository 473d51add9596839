# harness graph 1
# title: T5 v1.1 base encoder block with relative position bias, bf16, 8 sequences of 512
# origin: transformers T5Block; sizes of google/t5-v1_1-base
# captured: suites.models:t5_block?batch=8&seq=512&hidden=768&intermediate=2048&heads=12&head_size=64
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def t5_block_backward(
    block_layer_0_layer_norm_weight: "bf16[768] parameter",
    block_layer_1_layer_norm_weight: "bf16[768] parameter",
    hidden_states: "bf16[8, 512, 768]",
    rsqrt: "f32[8, 512, 1] saved",
    view: "bf16[4096, 768] saved",
    add_4: "i64[512, 512] saved bound=32",
    to_copy_6: "bf16[8, 12, 512, 512] saved",
    view_14: "bf16[4096, 768] saved",
    mm_3: "bf16[4096, 768] saved",
    rsqrt_1: "f32[8, 512, 1] saved",
    view_16: "bf16[4096, 768] saved",
    mm_4: "bf16[4096, 2048] saved",
    mm_5: "bf16[4096, 2048] saved",
    view_19: "bf16[4096, 2048] saved",
    permute_15: "bf16[768, 2048] saved",
    permute_19: "bf16[2048, 768] saved",
    permute_23: "bf16[2048, 768] saved",
    permute_27: "bf16[768, 768] saved",
    permute_30: "bf16[96, 512, 512]{262144, 1, 512} saved",
    permute_31: "bf16[96, 64, 512]{32768, 1, 64} saved",
    permute_32: "bf16[96, 64, 512]{32768, 1, 64} saved",
    permute_33: "bf16[96, 512, 64]{32768, 1, 512} saved",
    permute_39: "bf16[768, 768] saved",
    permute_44: "bf16[768, 768] saved",
    permute_49: "bf16[768, 768] saved",
    tangent: "bf16[8, 512, 768] gradient",
):
    # [block.layer.1.DenseReluDense.wo] modeling_t5.py:122 in forward: hidden_states = self.wo(hidden_states)
    view_21: "bf16[4096, 768]" = aten.view.default(tangent, [4096, 768])
    permute_13: "bf16[768, 4096]{1, 768}" = aten.permute.default(view_21, [1, 0])
    mm_7: "bf16[768, 2048]" = aten.mm.default(permute_13, view_19)
    permute_14: "bf16[2048, 768]{1, 2048}" = aten.permute.default(mm_7, [1, 0])
    mm_8: "bf16[4096, 2048]" = aten.mm.default(view_21, permute_15)
    view_22: "bf16[8, 512, 2048]" = aten.view.default(mm_8, [8, 512, 2048])
    permute_16: "bf16[768, 2048]" = aten.permute.default(permute_14, [1, 0])
    # [block.layer.1.DenseReluDense.wi_0] modeling_t5.py:107 in forward: hidden_gelu = self.act(self.wi_0(hidden_states))
    view_17: "bf16[8, 512, 2048]" = aten.view.default(mm_4, [8, 512, 2048])
    # [block.layer.1.DenseReluDense.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_7: "bf16[8, 512, 2048]" = aten.mul.Tensor(view_17, 0.5)
    pow_2: "bf16[8, 512, 2048]" = aten.pow.Tensor_Scalar(view_17, 3.0)
    mul_8: "bf16[8, 512, 2048]" = aten.mul.Tensor(pow_2, 0.044715)
    add_8: "bf16[8, 512, 2048]" = aten.add.Tensor(view_17, mul_8)
    mul_9: "bf16[8, 512, 2048]" = aten.mul.Tensor(add_8, 0.7978845608028654)
    tanh: "bf16[8, 512, 2048]" = aten.tanh.default(mul_9)
    add_9: "bf16[8, 512, 2048]" = aten.add.Tensor(tanh, 1.0)
    mul_10: "bf16[8, 512, 2048]" = aten.mul.Tensor(mul_7, add_9)
    # [block.layer.1.DenseReluDense] modeling_t5.py:109 in forward: hidden_states = hidden_gelu * hidden_linear
    mul_12: "bf16[8, 512, 2048]" = aten.mul.Tensor(view_22, mul_10)
    # [block.layer.1.DenseReluDense.wi_1] modeling_t5.py:108 in forward: hidden_linear = self.wi_1(hidden_states)
    view_18: "bf16[8, 512, 2048]" = aten.view.default(mm_5, [8, 512, 2048])
    # [block.layer.1.DenseReluDense] modeling_t5.py:109 in forward: hidden_states = hidden_gelu * hidden_linear
    mul_13: "bf16[8, 512, 2048]" = aten.mul.Tensor(view_22, view_18)
    # [block.layer.1.DenseReluDense.wi_1] modeling_t5.py:108 in forward: hidden_linear = self.wi_1(hidden_states)
    view_23: "bf16[4096, 2048]" = aten.view.default(mul_12, [4096, 2048])
    permute_17: "bf16[2048, 4096]{1, 2048}" = aten.permute.default(view_23, [1, 0])
    mm_9: "bf16[2048, 768]" = aten.mm.default(permute_17, view_16)
    permute_18: "bf16[768, 2048]{1, 768}" = aten.permute.default(mm_9, [1, 0])
    mm_10: "bf16[4096, 768]" = aten.mm.default(view_23, permute_19)
    view_24: "bf16[8, 512, 768]" = aten.view.default(mm_10, [8, 512, 768])
    permute_20: "bf16[2048, 768]" = aten.permute.default(permute_18, [1, 0])
    # [block.layer.1.DenseReluDense.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_14: "bf16[8, 512, 2048]" = aten.mul.Tensor(mul_13, mul_7)
    mul_15: "bf16[8, 512, 2048]" = aten.mul.Tensor(mul_13, add_9)
    to_copy_9: "f32[8, 512, 2048]" = aten._to_copy.default(mul_14, dtype=torch.float32)
    to_copy_10: "f32[8, 512, 2048]" = aten._to_copy.default(tanh, dtype=torch.float32)
    mul_16: "f32[8, 512, 2048]" = aten.mul.Tensor(to_copy_10, to_copy_10)
    sub_2: "f32[8, 512, 2048]" = aten.sub.Tensor(1, mul_16)
    mul_17: "f32[8, 512, 2048]" = aten.mul.Tensor(to_copy_9, sub_2)
    to_copy_11: "bf16[8, 512, 2048]" = prims.convert_element_type.default(mul_17, torch.bfloat16)
    mul_18: "bf16[8, 512, 2048]" = aten.mul.Tensor(to_copy_11, 0.7978845608028654)
    mul_19: "bf16[8, 512, 2048]" = aten.mul.Tensor(mul_18, 0.044715)
    pow_3: "bf16[8, 512, 2048]" = aten.pow.Tensor_Scalar(view_17, 2.0)
    mul_20: "bf16[8, 512, 2048]" = aten.mul.Scalar(pow_3, 3.0)
    mul_21: "bf16[8, 512, 2048]" = aten.mul.Tensor(mul_19, mul_20)
    # activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    add_11: "bf16[8, 512, 2048]" = aten.add.Tensor(mul_18, mul_21)
    # [block.layer.1.DenseReluDense.act] activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    mul_22: "bf16[8, 512, 2048]" = aten.mul.Tensor(mul_15, 0.5)
    # activations.py:66 in forward: return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * tor…
    add_12: "bf16[8, 512, 2048]" = aten.add.Tensor(add_11, mul_22)
    # [block.layer.1.DenseReluDense.wi_0] modeling_t5.py:107 in forward: hidden_gelu = self.act(self.wi_0(hidden_states))
    view_25: "bf16[4096, 2048]" = aten.view.default(add_12, [4096, 2048])
    permute_21: "bf16[2048, 4096]{1, 2048}" = aten.permute.default(view_25, [1, 0])
    mm_11: "bf16[2048, 768]" = aten.mm.default(permute_21, view_16)
    permute_22: "bf16[768, 2048]{1, 768}" = aten.permute.default(mm_11, [1, 0])
    mm_12: "bf16[4096, 768]" = aten.mm.default(view_25, permute_23)
    view_26: "bf16[8, 512, 768]" = aten.view.default(mm_12, [8, 512, 768])
    # modeling_t5.py:107 in forward: hidden_gelu = self.act(self.wi_0(hidden_states))
    add_13: "bf16[8, 512, 768]" = aten.add.Tensor(view_24, view_26)
    # [block.layer.1.DenseReluDense.wi_0] modeling_t5.py:107 in forward: hidden_gelu = self.act(self.wi_0(hidden_states))
    permute_24: "bf16[2048, 768]" = aten.permute.default(permute_22, [1, 0])
    # [block.layer.1.layer_norm] modeling_t5.py:72 in forward: return self.weight * hidden_states
    mul_23: "bf16[8, 512, 768]" = aten.mul.Tensor(add_13, block_layer_1_layer_norm_weight)
    # [block.layer.0.SelfAttention.o] modeling_t5.py:367 in forward: attn_output = self.o(attn_output)
    view_15: "bf16[8, 512, 768]" = aten.view.default(mm_3, [8, 512, 768])
    # [block.layer.0.dropout] modeling_t5.py:400 in forward: attention_output = hidden_states + self.dropout(attention_output)
    clone_5: "bf16[8, 512, 768]" = aten.clone.default(view_15)
    # [block.layer.0] modeling_t5.py:400 in forward: attention_output = hidden_states + self.dropout(attention_output)
    add_6: "bf16[8, 512, 768]" = aten.add.Tensor(hidden_states, clone_5)
    # [block.layer.1.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul_5: "f32[8, 512, 768]" = aten.mul.Tensor(add_6, rsqrt_1)
    # [block.layer.1.layer_norm] modeling_t5.py:70 in forward: hidden_states = hidden_states.to(self.weight.dtype)
    to_copy_8: "bf16[8, 512, 768]" = aten._to_copy.default(mul_5, dtype=torch.bfloat16)
    # [block.layer.1.layer_norm] modeling_t5.py:72 in forward: return self.weight * hidden_states
    mul_24: "bf16[8, 512, 768]" = aten.mul.Tensor(add_13, to_copy_8)
    sum_1: "bf16[1, 1, 768]" = aten.sum.dim_IntList(mul_24, [0, 1], True)
    view_27: "bf16[768]" = aten.view.default(sum_1, [768])
    # [block.layer.1.layer_norm] modeling_t5.py:70 in forward: hidden_states = hidden_states.to(self.weight.dtype)
    to_copy_12: "f32[8, 512, 768]" = aten._to_copy.default(mul_23, dtype=torch.float32)
    # [block.layer.1.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul_25: "f32[8, 512, 768]" = aten.mul.Tensor(to_copy_12, add_6)
    mul_26: "f32[8, 512, 768]" = aten.mul.Tensor(to_copy_12, rsqrt_1)
    to_copy_13: "bf16[8, 512, 768]" = aten._to_copy.default(mul_26, dtype=torch.bfloat16)
    sum_2: "f32[8, 512, 1]" = aten.sum.dim_IntList(mul_25, [2], True)
    # modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    add_14: "bf16[8, 512, 768]" = aten.add.Tensor(tangent, to_copy_13)
    # [block.layer.1.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    pow_4: "f32[8, 512, 1]" = aten.pow.Tensor_Scalar(rsqrt_1, 3)
    mul_27: "f32[8, 512, 1]" = aten.mul.Scalar(sum_2, -0.5)
    mul_28: "f32[8, 512, 1]" = aten.mul.Tensor(mul_27, pow_4)
    # [block.layer.1.layer_norm] modeling_t5.py:65 in forward: variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
    expand_4: "f32[8, 512, 768]{512, 1, 0}" = aten.expand.default(mul_28, [8, 512, 768])
    div_3: "f32[8, 512, 768]" = aten.div.Scalar(expand_4, 768)
    to_copy_7: "f32[8, 512, 768]" = aten._to_copy.default(add_6, dtype=torch.float32)
    pow_5: "f32[8, 512, 768]" = aten.pow.Tensor_Scalar(to_copy_7, 1.0)
    mul_29: "f32[8, 512, 768]" = aten.mul.Scalar(pow_5, 2.0)
    mul_30: "f32[8, 512, 768]" = aten.mul.Tensor(div_3, mul_29)
    to_copy_14: "bf16[8, 512, 768]" = aten._to_copy.default(mul_30, dtype=torch.bfloat16)
    # modeling_t5.py:65 in forward: variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
    add_15: "bf16[8, 512, 768]" = aten.add.Tensor(add_14, to_copy_14)
    # [block.layer.0.SelfAttention.o] modeling_t5.py:367 in forward: attn_output = self.o(attn_output)
    view_28: "bf16[4096, 768]" = aten.view.default(add_15, [4096, 768])
    permute_25: "bf16[768, 4096]{1, 768}" = aten.permute.default(view_28, [1, 0])
    mm_13: "bf16[768, 768]" = aten.mm.default(permute_25, view_14)
    permute_26: "bf16[768, 768]{1, 768}" = aten.permute.default(mm_13, [1, 0])
    mm_14: "bf16[4096, 768]" = aten.mm.default(view_28, permute_27)
    view_29: "bf16[8, 512, 768]" = aten.view.default(mm_14, [8, 512, 768])
    permute_28: "bf16[768, 768]" = aten.permute.default(permute_26, [1, 0])
    # [block.layer.0.SelfAttention] modeling_t5.py:366 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_30: "bf16[8, 512, 12, 64]" = aten.view.default(view_29, [8, 512, 12, 64])
    # [block.layer.0.SelfAttention] modeling_t5.py:354 in forward: attn_output, attn_weights = attention_interface(
    permute_29: "bf16[8, 12, 512, 64]{393216, 64, 768, 1}" = aten.permute.default(view_30, [0, 2, 1, 3])
    clone_8: "bf16[8, 12, 512, 64]" = aten.clone.default(permute_29, memory_format=torch.contiguous_format)
    view_31: "bf16[96, 512, 64]" = aten.view.default(clone_8, [96, 512, 64])
    bmm_2: "bf16[96, 512, 64]" = aten.bmm.default(permute_30, view_31)
    bmm_3: "bf16[96, 512, 512]" = aten.bmm.default(view_31, permute_31)
    view_32: "bf16[8, 12, 512, 64]" = aten.view.default(bmm_2, [8, 12, 512, 64])
    view_33: "bf16[8, 12, 512, 512]" = aten.view.default(bmm_3, [8, 12, 512, 512])
    to_copy_15: "f32[8, 12, 512, 512]" = aten._to_copy.default(view_33, dtype=torch.float32)
    to_copy_16: "f32[8, 12, 512, 512]" = aten._to_copy.default(to_copy_6, dtype=torch.float32)
    mul_31: "f32[8, 12, 512, 512]" = aten.mul.Tensor(to_copy_15, to_copy_16)
    sum_3: "f32[8, 12, 512, 1]" = aten.sum.dim_IntList(mul_31, [-1], True)
    mul_32: "f32[8, 12, 512, 512]" = aten.mul.Tensor(to_copy_16, sum_3)
    sub_3: "f32[8, 12, 512, 512]" = aten.sub.Tensor(mul_31, mul_32)
    to_copy_17: "bf16[8, 12, 512, 512]" = prims.convert_element_type.default(sub_3, torch.bfloat16)
    sum_4: "bf16[1, 12, 512, 512]" = aten.sum.dim_IntList(to_copy_17, [0], True)
    mul_33: "bf16[8, 12, 512, 512]" = aten.mul.Tensor(to_copy_17, 1.0)
    view_34: "bf16[96, 512, 512]" = aten.view.default(mul_33, [96, 512, 512])
    bmm_4: "bf16[96, 64, 512]" = aten.bmm.default(permute_32, view_34)
    bmm_5: "bf16[96, 512, 64]" = aten.bmm.default(view_34, permute_33)
    view_35: "bf16[8, 12, 64, 512]" = aten.view.default(bmm_4, [8, 12, 64, 512])
    view_36: "bf16[8, 12, 512, 64]" = aten.view.default(bmm_5, [8, 12, 512, 64])
    permute_34: "bf16[8, 12, 512, 64]{393216, 32768, 1, 512}" = aten.permute.default(view_35, [0, 1, 3, 2])
    # [block.layer.0.SelfAttention] modeling_t5.py:346 in forward: position_bias = self.compute_bias(
    squeeze: "bf16[12, 512, 512]" = aten.squeeze.dims(sum_4, [0])
    permute_35: "bf16[512, 512, 12]{512, 1, 262144}" = aten.permute.default(squeeze, [1, 2, 0])
    # [block.layer.0.SelfAttention.relative_attention_bias] modeling_t5.py:346 in forward: position_bias = self.compute_bias(
    to_copy_18: "f32[512, 512, 12]{512, 1, 262144}" = aten._to_copy.default(permute_35, dtype=torch.float32)
    full: "f32[32, 12]" = aten.full.default([32, 12], 0, dtype=torch.float32)
    index_put: "f32[32, 12]" = aten.index_put.default(full, [add_4], to_copy_18, True)
    to_copy_19: "bf16[32, 12]" = prims.convert_element_type.default(index_put, torch.bfloat16)
    # [block.layer.0.SelfAttention] modeling_t5.py:326 in forward: value_states = self.v(current_states).view(kv_shape).transpose(1, 2)
    permute_36: "bf16[8, 512, 12, 64]{393216, 64, 32768, 1}" = aten.permute.default(view_32, [0, 2, 1, 3])
    clone_9: "bf16[8, 512, 12, 64]" = aten.clone.default(permute_36, memory_format=torch.contiguous_format)
    view_37: "bf16[8, 512, 768]" = aten.view.default(clone_9, [8, 512, 768])
    # [block.layer.0.SelfAttention.v] modeling_t5.py:326 in forward: value_states = self.v(current_states).view(kv_shape).transpose(1, 2)
    view_38: "bf16[4096, 768]" = aten.view.default(view_37, [4096, 768])
    permute_37: "bf16[768, 4096]{1, 768}" = aten.permute.default(view_38, [1, 0])
    mm_15: "bf16[768, 768]" = aten.mm.default(permute_37, view)
    permute_38: "bf16[768, 768]{1, 768}" = aten.permute.default(mm_15, [1, 0])
    mm_16: "bf16[4096, 768]" = aten.mm.default(view_38, permute_39)
    view_39: "bf16[8, 512, 768]" = aten.view.default(mm_16, [8, 512, 768])
    permute_40: "bf16[768, 768]" = aten.permute.default(permute_38, [1, 0])
    # [block.layer.0.SelfAttention] modeling_t5.py:325 in forward: key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
    permute_41: "bf16[8, 512, 12, 64]{393216, 1, 32768, 512}" = aten.permute.default(permute_34, [0, 2, 1, 3])
    view_40: "bf16[8, 512, 768]{393216, 1, 512}" = aten.view.default(permute_41, [8, 512, 768])
    # [block.layer.0.SelfAttention.k] modeling_t5.py:325 in forward: key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
    clone_10: "bf16[8, 512, 768]" = aten.clone.default(view_40, memory_format=torch.contiguous_format)
    view_41: "bf16[4096, 768]" = aten.view.default(clone_10, [4096, 768])
    permute_42: "bf16[768, 4096]{1, 768}" = aten.permute.default(view_41, [1, 0])
    mm_17: "bf16[768, 768]" = aten.mm.default(permute_42, view)
    permute_43: "bf16[768, 768]{1, 768}" = aten.permute.default(mm_17, [1, 0])
    mm_18: "bf16[4096, 768]" = aten.mm.default(view_41, permute_44)
    view_42: "bf16[8, 512, 768]" = aten.view.default(mm_18, [8, 512, 768])
    # modeling_t5.py:325 in forward: key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
    add_16: "bf16[8, 512, 768]" = aten.add.Tensor(view_39, view_42)
    # [block.layer.0.SelfAttention.k] modeling_t5.py:325 in forward: key_states = self.k(current_states).view(kv_shape).transpose(1, 2)
    permute_45: "bf16[768, 768]" = aten.permute.default(permute_43, [1, 0])
    # [block.layer.0.SelfAttention] modeling_t5.py:304 in forward: query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_46: "bf16[8, 512, 12, 64]{393216, 64, 32768, 1}" = aten.permute.default(view_36, [0, 2, 1, 3])
    clone_11: "bf16[8, 512, 12, 64]" = aten.clone.default(permute_46, memory_format=torch.contiguous_format)
    view_43: "bf16[8, 512, 768]" = aten.view.default(clone_11, [8, 512, 768])
    # [block.layer.0.SelfAttention.q] modeling_t5.py:304 in forward: query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
    view_44: "bf16[4096, 768]" = aten.view.default(view_43, [4096, 768])
    permute_47: "bf16[768, 4096]{1, 768}" = aten.permute.default(view_44, [1, 0])
    mm_19: "bf16[768, 768]" = aten.mm.default(permute_47, view)
    permute_48: "bf16[768, 768]{1, 768}" = aten.permute.default(mm_19, [1, 0])
    mm_20: "bf16[4096, 768]" = aten.mm.default(view_44, permute_49)
    view_45: "bf16[8, 512, 768]" = aten.view.default(mm_20, [8, 512, 768])
    # modeling_t5.py:304 in forward: query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
    add_17: "bf16[8, 512, 768]" = aten.add.Tensor(add_16, view_45)
    # [block.layer.0.SelfAttention.q] modeling_t5.py:304 in forward: query_states = self.q(hidden_states).view(hidden_shape).transpose(1, 2)
    permute_50: "bf16[768, 768]" = aten.permute.default(permute_48, [1, 0])
    # [block.layer.0.layer_norm] modeling_t5.py:72 in forward: return self.weight * hidden_states
    mul_34: "bf16[8, 512, 768]" = aten.mul.Tensor(add_17, block_layer_0_layer_norm_weight)
    # [block.layer.0.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul: "f32[8, 512, 768]" = aten.mul.Tensor(hidden_states, rsqrt)
    # [block.layer.0.layer_norm] modeling_t5.py:70 in forward: hidden_states = hidden_states.to(self.weight.dtype)
    to_copy_1: "bf16[8, 512, 768]" = aten._to_copy.default(mul, dtype=torch.bfloat16)
    # [block.layer.0.layer_norm] modeling_t5.py:72 in forward: return self.weight * hidden_states
    mul_35: "bf16[8, 512, 768]" = aten.mul.Tensor(add_17, to_copy_1)
    sum_5: "bf16[1, 1, 768]" = aten.sum.dim_IntList(mul_35, [0, 1], True)
    view_46: "bf16[768]" = aten.view.default(sum_5, [768])
    # [block.layer.0.layer_norm] modeling_t5.py:70 in forward: hidden_states = hidden_states.to(self.weight.dtype)
    to_copy_20: "f32[8, 512, 768]" = aten._to_copy.default(mul_34, dtype=torch.float32)
    # [block.layer.0.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    mul_36: "f32[8, 512, 768]" = aten.mul.Tensor(to_copy_20, hidden_states)
    mul_37: "f32[8, 512, 768]" = aten.mul.Tensor(to_copy_20, rsqrt)
    to_copy_21: "bf16[8, 512, 768]" = aten._to_copy.default(mul_37, dtype=torch.bfloat16)
    sum_6: "f32[8, 512, 1]" = aten.sum.dim_IntList(mul_36, [2], True)
    # modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    add_18: "bf16[8, 512, 768]" = aten.add.Tensor(add_15, to_copy_21)
    # [block.layer.0.layer_norm] modeling_t5.py:66 in forward: hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
    pow_6: "f32[8, 512, 1]" = aten.pow.Tensor_Scalar(rsqrt, 3)
    mul_38: "f32[8, 512, 1]" = aten.mul.Scalar(sum_6, -0.5)
    mul_39: "f32[8, 512, 1]" = aten.mul.Tensor(mul_38, pow_6)
    # [block.layer.0.layer_norm] modeling_t5.py:65 in forward: variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
    expand_5: "f32[8, 512, 768]{512, 1, 0}" = aten.expand.default(mul_39, [8, 512, 768])
    div_4: "f32[8, 512, 768]" = aten.div.Scalar(expand_5, 768)
    to_copy: "f32[8, 512, 768]" = aten._to_copy.default(hidden_states, dtype=torch.float32)
    pow_7: "f32[8, 512, 768]" = aten.pow.Tensor_Scalar(to_copy, 1.0)
    mul_40: "f32[8, 512, 768]" = aten.mul.Scalar(pow_7, 2.0)
    mul_41: "f32[8, 512, 768]" = aten.mul.Tensor(div_4, mul_40)
    to_copy_22: "bf16[8, 512, 768]" = aten._to_copy.default(mul_41, dtype=torch.bfloat16)
    # modeling_t5.py:65 in forward: variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
    add_19: "bf16[8, 512, 768]" = aten.add.Tensor(add_18, to_copy_22)
    return (
        permute_50,
        permute_45,
        permute_40,
        permute_28,
        to_copy_19,
        view_46,
        permute_24,
        permute_20,
        permute_16,
        view_27,
        add_19,
    )
