# harness graph 1
# title: BERT base encoder layer, f16, 32 sequences of 512
# origin: transformers BertLayer; sizes of google-bert/bert-base-uncased
# sizes: small
# captured: suites.models:bert_layer?batch=2&seq=11&hidden=40&intermediate=72&heads=5
# mode: training
# dtype: f16
# versions: torch 2.13.0, transformers 5.23.0
def bert_layer_backward(
    attention_output_layernorm_weight: "f16[40] parameter",
    output_layernorm_weight: "f16[40] parameter",
    hidden_states: "f16[2, 11, 40]",
    attention_mask: "f16[2, 1, 1, 11]",
    permute_1: "f16[2, 5, 11, 8]{440, 8, 40, 1} saved",
    permute_3: "f16[2, 5, 11, 8]{440, 8, 40, 1} saved",
    permute_5: "f16[2, 5, 11, 8]{440, 8, 40, 1} saved",
    getitem: "f16[2, 5, 11, 8]{440, 8, 40, 1} saved",
    getitem_1: "i64[] saved",
    getitem_2: "i64[] saved",
    getitem_3: "f32[2, 5, 32] saved",
    addmm_3: "f16[22, 40] saved",
    getitem_5: "f32[2, 11, 1] saved",
    rsqrt: "f32[2, 11, 1] saved",
    view_11: "f16[22, 40] saved",
    addmm_4: "f16[22, 72] saved",
    view_13: "f16[22, 72] saved",
    add_4: "f16[2, 11, 40] saved",
    getitem_7: "f32[2, 11, 1] saved",
    rsqrt_1: "f32[2, 11, 1] saved",
    permute_10: "f16[40, 72] saved",
    permute_14: "f16[72, 40] saved",
    permute_18: "f16[40, 40] saved",
    permute_24: "f16[40, 40] saved",
    permute_29: "f16[40, 40] saved",
    permute_34: "f16[40, 40] saved",
    tangent: "f16[2, 11, 40] gradient",
):
    # [output.LayerNorm] modeling_bert.py:350 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    to_copy_6: "f32[2, 11, 40]" = aten._to_copy.default(tangent, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_7: "f32[2, 11, 40]" = aten._to_copy.default(add_4, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_8: "f32[40]" = aten._to_copy.default(output_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_2: "f32[2, 11, 40]" = aten.sub.Tensor(to_copy_7, getitem_7)
    mul_7: "f32[2, 11, 40]" = aten.mul.Tensor(sub_2, rsqrt_1)
    mul_8: "f32[2, 11, 40]" = aten.mul.Tensor(to_copy_6, to_copy_8)
    mul_9: "f32[2, 11, 40]" = aten.mul.Tensor(mul_8, 40)
    sum: "f32[2, 11, 1]" = aten.sum.dim_IntList(mul_8, [2], True)
    mul_10: "f32[2, 11, 40]" = aten.mul.Tensor(mul_8, mul_7)
    sum_1: "f32[2, 11, 1]" = aten.sum.dim_IntList(mul_10, [2], True)
    mul_11: "f32[2, 11, 40]" = aten.mul.Tensor(mul_7, sum_1)
    sub_3: "f32[2, 11, 40]" = aten.sub.Tensor(mul_9, sum)
    sub_4: "f32[2, 11, 40]" = aten.sub.Tensor(sub_3, mul_11)
    div: "f32[2, 11, 1]" = aten.div.Tensor(rsqrt_1, 40)
    mul_12: "f32[2, 11, 40]" = aten.mul.Tensor(div, sub_4)
    mul_13: "f32[2, 11, 40]" = aten.mul.Tensor(to_copy_6, mul_7)
    sum_2: "f32[40]" = aten.sum.dim_IntList(mul_13, [0, 1])
    sum_3: "f32[40]" = aten.sum.dim_IntList(to_copy_6, [0, 1])
    to_copy_9: "f16[2, 11, 40]" = prims.convert_element_type.default(mul_12, torch.float16)
    to_copy_10: "f16[40]" = prims.convert_element_type.default(sum_2, torch.float16)
    to_copy_11: "f16[40]" = prims.convert_element_type.default(sum_3, torch.float16)
    # [output.dense] modeling_bert.py:348 in forward: hidden_states = self.dense(hidden_states)
    view_15: "f16[22, 40]" = aten.view.default(to_copy_9, [22, 40])
    mm: "f16[22, 72]" = aten.mm.default(view_15, permute_10)
    permute_11: "f16[40, 22]{1, 40}" = aten.permute.default(view_15, [1, 0])
    mm_1: "f16[40, 72]" = aten.mm.default(permute_11, view_13)
    permute_12: "f16[72, 40]{1, 72}" = aten.permute.default(mm_1, [1, 0])
    sum_4: "f16[1, 40]" = aten.sum.dim_IntList(view_15, [0], True)
    view_16: "f16[40]" = aten.view.default(sum_4, [40])
    permute_13: "f16[40, 72]" = aten.permute.default(permute_12, [1, 0])
    view_17: "f16[2, 11, 72]" = aten.view.default(mm, [2, 11, 72])
    # [intermediate.intermediate_act_fn] activations.py:89 in forward: return self.act(input)
    to_copy_12: "f32[2, 11, 72]" = aten._to_copy.default(view_17, dtype=torch.float32)
    # [intermediate.dense] modeling_bert.py:335 in forward: hidden_states = self.dense(hidden_states)
    view_12: "f16[2, 11, 72]" = aten.view.default(addmm_4, [2, 11, 72])
    # [intermediate.intermediate_act_fn] activations.py:89 in forward: return self.act(input)
    to_copy_2: "f32[2, 11, 72]" = aten._to_copy.default(view_12, dtype=torch.float32)
    mul_3: "f32[2, 11, 72]" = aten.mul.Tensor(to_copy_2, 0.7071067811865476)
    erf: "f32[2, 11, 72]" = aten.erf.default(mul_3)
    add_3: "f32[2, 11, 72]" = aten.add.Tensor(erf, 1)
    mul_14: "f32[2, 11, 72]" = aten.mul.Tensor(add_3, 0.5)
    mul_15: "f32[2, 11, 72]" = aten.mul.Tensor(to_copy_2, to_copy_2)
    mul_16: "f32[2, 11, 72]" = aten.mul.Tensor(mul_15, -0.5)
    exp: "f32[2, 11, 72]" = aten.exp.default(mul_16)
    mul_17: "f32[2, 11, 72]" = aten.mul.Tensor(exp, 0.3989422804014327)
    mul_18: "f32[2, 11, 72]" = aten.mul.Tensor(to_copy_2, mul_17)
    add_7: "f32[2, 11, 72]" = aten.add.Tensor(mul_14, mul_18)
    mul_19: "f32[2, 11, 72]" = aten.mul.Tensor(to_copy_12, add_7)
    to_copy_13: "f16[2, 11, 72]" = prims.convert_element_type.default(mul_19, torch.float16)
    # [intermediate.dense] modeling_bert.py:335 in forward: hidden_states = self.dense(hidden_states)
    view_18: "f16[22, 72]" = aten.view.default(to_copy_13, [22, 72])
    mm_2: "f16[22, 40]" = aten.mm.default(view_18, permute_14)
    permute_15: "f16[72, 22]{1, 72}" = aten.permute.default(view_18, [1, 0])
    mm_3: "f16[72, 40]" = aten.mm.default(permute_15, view_11)
    permute_16: "f16[40, 72]{1, 40}" = aten.permute.default(mm_3, [1, 0])
    sum_5: "f16[1, 72]" = aten.sum.dim_IntList(view_18, [0], True)
    view_19: "f16[72]" = aten.view.default(sum_5, [72])
    permute_17: "f16[72, 40]" = aten.permute.default(permute_16, [1, 0])
    view_20: "f16[2, 11, 40]" = aten.view.default(mm_2, [2, 11, 40])
    # modeling_bert.py:335 in forward: hidden_states = self.dense(hidden_states)
    add_8: "f16[2, 11, 40]" = aten.add.Tensor(to_copy_9, view_20)
    # [attention.output.LayerNorm] modeling_bert.py:292 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    to_copy_14: "f32[2, 11, 40]" = aten._to_copy.default(add_8, dtype=torch.float32, memory_format=torch.contiguous_format)
    # [attention.output.dense] modeling_bert.py:290 in forward: hidden_states = self.dense(hidden_states)
    view_10: "f16[2, 11, 40]" = aten.view.default(addmm_3, [2, 11, 40])
    # [attention.output.dropout] modeling_bert.py:291 in forward: hidden_states = self.dropout(hidden_states)
    clone: "f16[2, 11, 40]" = aten.clone.default(view_10)
    # [attention.output] modeling_bert.py:292 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    add: "f16[2, 11, 40]" = aten.add.Tensor(clone, hidden_states)
    # [attention.output.LayerNorm] modeling_bert.py:292 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    to_copy_15: "f32[2, 11, 40]" = aten._to_copy.default(add, dtype=torch.float32, memory_format=torch.contiguous_format)
    to_copy_16: "f32[40]" = aten._to_copy.default(attention_output_layernorm_weight, dtype=torch.float32, memory_format=torch.contiguous_format)
    sub_5: "f32[2, 11, 40]" = aten.sub.Tensor(to_copy_15, getitem_5)
    mul_20: "f32[2, 11, 40]" = aten.mul.Tensor(sub_5, rsqrt)
    mul_21: "f32[2, 11, 40]" = aten.mul.Tensor(to_copy_14, to_copy_16)
    mul_22: "f32[2, 11, 40]" = aten.mul.Tensor(mul_21, 40)
    sum_6: "f32[2, 11, 1]" = aten.sum.dim_IntList(mul_21, [2], True)
    mul_23: "f32[2, 11, 40]" = aten.mul.Tensor(mul_21, mul_20)
    sum_7: "f32[2, 11, 1]" = aten.sum.dim_IntList(mul_23, [2], True)
    mul_24: "f32[2, 11, 40]" = aten.mul.Tensor(mul_20, sum_7)
    sub_6: "f32[2, 11, 40]" = aten.sub.Tensor(mul_22, sum_6)
    sub_7: "f32[2, 11, 40]" = aten.sub.Tensor(sub_6, mul_24)
    div_1: "f32[2, 11, 1]" = aten.div.Tensor(rsqrt, 40)
    mul_25: "f32[2, 11, 40]" = aten.mul.Tensor(div_1, sub_7)
    mul_26: "f32[2, 11, 40]" = aten.mul.Tensor(to_copy_14, mul_20)
    sum_8: "f32[40]" = aten.sum.dim_IntList(mul_26, [0, 1])
    sum_9: "f32[40]" = aten.sum.dim_IntList(to_copy_14, [0, 1])
    to_copy_17: "f16[2, 11, 40]" = prims.convert_element_type.default(mul_25, torch.float16)
    to_copy_18: "f16[40]" = prims.convert_element_type.default(sum_8, torch.float16)
    to_copy_19: "f16[40]" = prims.convert_element_type.default(sum_9, torch.float16)
    # [attention.output.dense] modeling_bert.py:290 in forward: hidden_states = self.dense(hidden_states)
    view_21: "f16[22, 40]" = aten.view.default(to_copy_17, [22, 40])
    mm_4: "f16[22, 40]" = aten.mm.default(view_21, permute_18)
    permute_19: "f16[40, 22]{1, 40}" = aten.permute.default(view_21, [1, 0])
    # [attention.self] modeling_bert.py:192 in forward: attn_output, attn_weights = attention_interface(
    view_7: "f16[2, 5, 11, 8]{440, 8, 40, 1}" = aten.view.default(getitem, [2, 5, 11, 8])
    permute_6: "f16[2, 11, 5, 8]" = aten.permute.default(view_7, [0, 2, 1, 3])
    # [attention.self] modeling_bert.py:202 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_8: "f16[2, 11, 40]" = aten.view.default(permute_6, [2, 11, -1])
    # [attention.output.dense] modeling_bert.py:290 in forward: hidden_states = self.dense(hidden_states)
    view_9: "f16[22, 40]" = aten.view.default(view_8, [22, 40])
    mm_5: "f16[40, 40]" = aten.mm.default(permute_19, view_9)
    permute_20: "f16[40, 40]{1, 40}" = aten.permute.default(mm_5, [1, 0])
    sum_10: "f16[1, 40]" = aten.sum.dim_IntList(view_21, [0], True)
    view_22: "f16[40]" = aten.view.default(sum_10, [40])
    permute_21: "f16[40, 40]" = aten.permute.default(permute_20, [1, 0])
    view_23: "f16[2, 11, 40]" = aten.view.default(mm_4, [2, 11, 40])
    # [attention.self] modeling_bert.py:202 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_24: "f16[2, 11, 5, 8]" = aten.view.default(view_23, [2, 11, 5, 8])
    # [attention.self] modeling_bert.py:192 in forward: attn_output, attn_weights = attention_interface(
    permute_22: "f16[2, 5, 11, 8]{440, 8, 40, 1}" = aten.permute.default(view_24, [0, 2, 1, 3])
    view_25: "f16[2, 5, 11, 8]{440, 8, 40, 1}" = aten.view.default(permute_22, [2, 5, 11, 8])
    scaled_dot_product_efficient_attention_backward: ("f16[2, 5, 11, 8]{440, 8, 40, 1}", "f16[2, 5, 11, 8]{440, 8, 40, 1}", "f16[2, 5, 11, 8]{440, 8, 40, 1}", None) = aten._scaled_dot_product_efficient_attention_backward.default(view_25, permute_1, permute_3, permute_5, attention_mask, getitem, getitem_3, getitem_2, getitem_1, 0.0, [True, True, True, False], scale=0.3535533905932738)
    getitem_8: "f16[2, 5, 11, 8]{440, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 0)
    getitem_9: "f16[2, 5, 11, 8]{440, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 1)
    getitem_10: "f16[2, 5, 11, 8]{440, 8, 40, 1}" = getitem(scaled_dot_product_efficient_attention_backward, 2)
    # [attention.self] modeling_bert.py:177 in forward: value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_23: "f16[2, 11, 5, 8]" = aten.permute.default(getitem_10, [0, 2, 1, 3])
    view_26: "f16[2, 11, 40]" = aten.view.default(permute_23, [2, 11, 40])
    # [attention.self.value] modeling_bert.py:177 in forward: value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
    view_27: "f16[22, 40]" = aten.view.default(view_26, [22, 40])
    mm_6: "f16[22, 40]" = aten.mm.default(view_27, permute_24)
    permute_25: "f16[40, 22]{1, 40}" = aten.permute.default(view_27, [1, 0])
    # [attention.self.query] modeling_bert.py:175 in forward: query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
    view: "f16[22, 40]" = aten.view.default(hidden_states, [22, 40])
    # [attention.self.value] modeling_bert.py:177 in forward: value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
    mm_7: "f16[40, 40]" = aten.mm.default(permute_25, view)
    permute_26: "f16[40, 40]{1, 40}" = aten.permute.default(mm_7, [1, 0])
    sum_11: "f16[1, 40]" = aten.sum.dim_IntList(view_27, [0], True)
    view_28: "f16[40]" = aten.view.default(sum_11, [40])
    permute_27: "f16[40, 40]" = aten.permute.default(permute_26, [1, 0])
    view_29: "f16[2, 11, 40]" = aten.view.default(mm_6, [2, 11, 40])
    # modeling_bert.py:177 in forward: value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
    add_9: "f16[2, 11, 40]" = aten.add.Tensor(to_copy_17, view_29)
    # [attention.self] modeling_bert.py:176 in forward: key_layer = self.key(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_28: "f16[2, 11, 5, 8]" = aten.permute.default(getitem_9, [0, 2, 1, 3])
    view_30: "f16[2, 11, 40]" = aten.view.default(permute_28, [2, 11, 40])
    # [attention.self.key] modeling_bert.py:176 in forward: key_layer = self.key(hidden_states).view(*hidden_shape).transpose(1, 2)
    view_31: "f16[22, 40]" = aten.view.default(view_30, [22, 40])
    mm_8: "f16[22, 40]" = aten.mm.default(view_31, permute_29)
    permute_30: "f16[40, 22]{1, 40}" = aten.permute.default(view_31, [1, 0])
    mm_9: "f16[40, 40]" = aten.mm.default(permute_30, view)
    permute_31: "f16[40, 40]{1, 40}" = aten.permute.default(mm_9, [1, 0])
    sum_12: "f16[1, 40]" = aten.sum.dim_IntList(view_31, [0], True)
    view_32: "f16[40]" = aten.view.default(sum_12, [40])
    permute_32: "f16[40, 40]" = aten.permute.default(permute_31, [1, 0])
    view_33: "f16[2, 11, 40]" = aten.view.default(mm_8, [2, 11, 40])
    # modeling_bert.py:176 in forward: key_layer = self.key(hidden_states).view(*hidden_shape).transpose(1, 2)
    add_10: "f16[2, 11, 40]" = aten.add.Tensor(add_9, view_33)
    # [attention.self] modeling_bert.py:175 in forward: query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_33: "f16[2, 11, 5, 8]" = aten.permute.default(getitem_8, [0, 2, 1, 3])
    view_34: "f16[2, 11, 40]" = aten.view.default(permute_33, [2, 11, 40])
    # [attention.self.query] modeling_bert.py:175 in forward: query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
    view_35: "f16[22, 40]" = aten.view.default(view_34, [22, 40])
    mm_10: "f16[22, 40]" = aten.mm.default(view_35, permute_34)
    permute_35: "f16[40, 22]{1, 40}" = aten.permute.default(view_35, [1, 0])
    mm_11: "f16[40, 40]" = aten.mm.default(permute_35, view)
    permute_36: "f16[40, 40]{1, 40}" = aten.permute.default(mm_11, [1, 0])
    sum_13: "f16[1, 40]" = aten.sum.dim_IntList(view_35, [0], True)
    view_36: "f16[40]" = aten.view.default(sum_13, [40])
    permute_37: "f16[40, 40]" = aten.permute.default(permute_36, [1, 0])
    view_37: "f16[2, 11, 40]" = aten.view.default(mm_10, [2, 11, 40])
    # modeling_bert.py:175 in forward: query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
    add_11: "f16[2, 11, 40]" = aten.add.Tensor(add_10, view_37)
    return (
        permute_37,
        view_36,
        permute_32,
        view_32,
        permute_27,
        view_28,
        permute_21,
        view_22,
        to_copy_18,
        to_copy_19,
        permute_17,
        view_19,
        permute_13,
        view_16,
        to_copy_10,
        to_copy_11,
        add_11,
        None,
    )
