# harness graph 1
# title: BERT base encoder layer, f16, 32 sequences of 512
# origin: transformers BertLayer; sizes of google-bert/bert-base-uncased
# captured: suites.models:bert_layer?batch=32&seq=512&hidden=768&intermediate=3072&heads=12
# mode: training
# dtype: f16
# versions: torch 2.13.0, transformers 5.23.0
def bert_layer_forward(
    attention_self_query_weight: "f16[768, 768] parameter",
    attention_self_query_bias: "f16[768] parameter",
    attention_self_key_weight: "f16[768, 768] parameter",
    attention_self_key_bias: "f16[768] parameter",
    attention_self_value_weight: "f16[768, 768] parameter",
    attention_self_value_bias: "f16[768] parameter",
    attention_output_dense_weight: "f16[768, 768] parameter",
    attention_output_dense_bias: "f16[768] parameter",
    attention_output_layernorm_weight: "f16[768] parameter",
    attention_output_layernorm_bias: "f16[768] parameter",
    intermediate_dense_weight: "f16[3072, 768] parameter",
    intermediate_dense_bias: "f16[3072] parameter",
    output_dense_weight: "f16[768, 3072] parameter",
    output_dense_bias: "f16[768] parameter",
    output_layernorm_weight: "f16[768] parameter",
    output_layernorm_bias: "f16[768] parameter",
    hidden_states: "f16[32, 512, 768]",
    attention_mask: "f16[32, 1, 1, 512]",
):
    # [attention.self.query] modeling_bert.py:175 in forward: query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
    view: "f16[16384, 768]" = aten.view.default(hidden_states, [16384, 768])
    permute: "f16[768, 768]{1, 768}" = aten.permute.default(attention_self_query_weight, [1, 0])
    addmm: "f16[16384, 768]" = aten.addmm.default(attention_self_query_bias, view, permute)
    view_1: "f16[32, 512, 768]" = aten.view.default(addmm, [32, 512, 768])
    # [attention.self] modeling_bert.py:175 in forward: query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
    view_2: "f16[32, 512, 12, 64]" = aten.view.default(view_1, [32, 512, -1, 64])
    permute_1: "f16[32, 12, 512, 64]{393216, 64, 768, 1}" = aten.permute.default(view_2, [0, 2, 1, 3])
    # [attention.self.key] modeling_bert.py:176 in forward: key_layer = self.key(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_2: "f16[768, 768]{1, 768}" = aten.permute.default(attention_self_key_weight, [1, 0])
    addmm_1: "f16[16384, 768]" = aten.addmm.default(attention_self_key_bias, view, permute_2)
    view_3: "f16[32, 512, 768]" = aten.view.default(addmm_1, [32, 512, 768])
    # [attention.self] modeling_bert.py:176 in forward: key_layer = self.key(hidden_states).view(*hidden_shape).transpose(1, 2)
    view_4: "f16[32, 512, 12, 64]" = aten.view.default(view_3, [32, 512, -1, 64])
    permute_3: "f16[32, 12, 512, 64]{393216, 64, 768, 1}" = aten.permute.default(view_4, [0, 2, 1, 3])
    # [attention.self.value] modeling_bert.py:177 in forward: value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_4: "f16[768, 768]{1, 768}" = aten.permute.default(attention_self_value_weight, [1, 0])
    addmm_2: "f16[16384, 768]" = aten.addmm.default(attention_self_value_bias, view, permute_4)
    view_5: "f16[32, 512, 768]" = aten.view.default(addmm_2, [32, 512, 768])
    # [attention.self] modeling_bert.py:177 in forward: value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
    view_6: "f16[32, 512, 12, 64]" = aten.view.default(view_5, [32, 512, -1, 64])
    permute_5: "f16[32, 12, 512, 64]{393216, 64, 768, 1}" = aten.permute.default(view_6, [0, 2, 1, 3])
    # [attention.self] modeling_bert.py:192 in forward: attn_output, attn_weights = attention_interface(
    scaled_dot_product_efficient_attention: ("f16[32, 12, 512, 64]{393216, 64, 768, 1}", "f32[32, 12, 512]", "i64[]", "i64[]") = aten._scaled_dot_product_efficient_attention.default(permute_1, permute_3, permute_5, attention_mask, True, scale=0.125)
    getitem: "f16[32, 12, 512, 64]{393216, 64, 768, 1}" = getitem(scaled_dot_product_efficient_attention, 0)
    getitem_1: "i64[]" = getitem(scaled_dot_product_efficient_attention, 3)
    getitem_2: "i64[]" = getitem(scaled_dot_product_efficient_attention, 2)
    getitem_3: "f32[32, 12, 512]" = getitem(scaled_dot_product_efficient_attention, 1)
    view_7: "f16[32, 12, 512, 64]{393216, 64, 768, 1}" = aten.view.default(getitem, [32, 12, 512, 64])
    permute_6: "f16[32, 512, 12, 64]" = aten.permute.default(view_7, [0, 2, 1, 3])
    # [attention.self] modeling_bert.py:202 in forward: attn_output = attn_output.reshape(*input_shape, -1).contiguous()
    view_8: "f16[32, 512, 768]" = aten.view.default(permute_6, [32, 512, -1])
    # [attention.output.dense] modeling_bert.py:290 in forward: hidden_states = self.dense(hidden_states)
    view_9: "f16[16384, 768]" = aten.view.default(view_8, [16384, 768])
    permute_7: "f16[768, 768]{1, 768}" = aten.permute.default(attention_output_dense_weight, [1, 0])
    addmm_3: "f16[16384, 768]" = aten.addmm.default(attention_output_dense_bias, view_9, permute_7)
    view_10: "f16[32, 512, 768]" = aten.view.default(addmm_3, [32, 512, 768])
    # [attention.output.dropout] modeling_bert.py:291 in forward: hidden_states = self.dropout(hidden_states)
    clone: "f16[32, 512, 768]" = aten.clone.default(view_10)
    # [attention.output] modeling_bert.py:292 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    add: "f16[32, 512, 768]" = aten.add.Tensor(clone, hidden_states)
    # [attention.output.LayerNorm] modeling_bert.py:292 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    to_copy: "f32[32, 512, 768]" = aten._to_copy.default(add, dtype=torch.float32)
    var_mean: ("f32[32, 512, 1]", "f32[32, 512, 1]") = aten.var_mean.correction(to_copy, [2], correction=0, keepdim=True)
    getitem_4: "f32[32, 512, 1]" = getitem(var_mean, 0)
    getitem_5: "f32[32, 512, 1]" = getitem(var_mean, 1)
    add_1: "f32[32, 512, 1]" = aten.add.Tensor(getitem_4, 1e-12)
    rsqrt: "f32[32, 512, 1]" = aten.rsqrt.default(add_1)
    sub: "f32[32, 512, 768]" = aten.sub.Tensor(to_copy, getitem_5)
    mul: "f32[32, 512, 768]" = aten.mul.Tensor(sub, rsqrt)
    mul_1: "f32[32, 512, 768]" = aten.mul.Tensor(mul, attention_output_layernorm_weight)
    add_2: "f32[32, 512, 768]" = aten.add.Tensor(mul_1, attention_output_layernorm_bias)
    to_copy_1: "f16[32, 512, 768]" = prims.convert_element_type.default(add_2, torch.float16)
    # [intermediate.dense] modeling_bert.py:335 in forward: hidden_states = self.dense(hidden_states)
    view_11: "f16[16384, 768]" = aten.view.default(to_copy_1, [16384, 768])
    permute_8: "f16[768, 3072]{1, 768}" = aten.permute.default(intermediate_dense_weight, [1, 0])
    addmm_4: "f16[16384, 3072]" = aten.addmm.default(intermediate_dense_bias, view_11, permute_8)
    view_12: "f16[32, 512, 3072]" = aten.view.default(addmm_4, [32, 512, 3072])
    # [intermediate.intermediate_act_fn] activations.py:89 in forward: return self.act(input)
    to_copy_2: "f32[32, 512, 3072]" = aten._to_copy.default(view_12, dtype=torch.float32)
    mul_2: "f32[32, 512, 3072]" = aten.mul.Tensor(to_copy_2, 0.5)
    mul_3: "f32[32, 512, 3072]" = aten.mul.Tensor(to_copy_2, 0.7071067811865476)
    erf: "f32[32, 512, 3072]" = aten.erf.default(mul_3)
    add_3: "f32[32, 512, 3072]" = aten.add.Tensor(erf, 1)
    mul_4: "f32[32, 512, 3072]" = aten.mul.Tensor(mul_2, add_3)
    to_copy_3: "f16[32, 512, 3072]" = prims.convert_element_type.default(mul_4, torch.float16)
    # [output.dense] modeling_bert.py:348 in forward: hidden_states = self.dense(hidden_states)
    view_13: "f16[16384, 3072]" = aten.view.default(to_copy_3, [16384, 3072])
    permute_9: "f16[3072, 768]{1, 3072}" = aten.permute.default(output_dense_weight, [1, 0])
    addmm_5: "f16[16384, 768]" = aten.addmm.default(output_dense_bias, view_13, permute_9)
    view_14: "f16[32, 512, 768]" = aten.view.default(addmm_5, [32, 512, 768])
    # [output.dropout] modeling_bert.py:349 in forward: hidden_states = self.dropout(hidden_states)
    clone_1: "f16[32, 512, 768]" = aten.clone.default(view_14)
    # [output] modeling_bert.py:350 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    add_4: "f16[32, 512, 768]" = aten.add.Tensor(clone_1, to_copy_1)
    # [output.LayerNorm] modeling_bert.py:350 in forward: hidden_states = self.LayerNorm(hidden_states + input_tensor)
    to_copy_4: "f32[32, 512, 768]" = aten._to_copy.default(add_4, dtype=torch.float32)
    var_mean_1: ("f32[32, 512, 1]", "f32[32, 512, 1]") = aten.var_mean.correction(to_copy_4, [2], correction=0, keepdim=True)
    getitem_6: "f32[32, 512, 1]" = getitem(var_mean_1, 0)
    getitem_7: "f32[32, 512, 1]" = getitem(var_mean_1, 1)
    add_5: "f32[32, 512, 1]" = aten.add.Tensor(getitem_6, 1e-12)
    rsqrt_1: "f32[32, 512, 1]" = aten.rsqrt.default(add_5)
    sub_1: "f32[32, 512, 768]" = aten.sub.Tensor(to_copy_4, getitem_7)
    mul_5: "f32[32, 512, 768]" = aten.mul.Tensor(sub_1, rsqrt_1)
    mul_6: "f32[32, 512, 768]" = aten.mul.Tensor(mul_5, output_layernorm_weight)
    add_6: "f32[32, 512, 768]" = aten.add.Tensor(mul_6, output_layernorm_bias)
    to_copy_5: "f16[32, 512, 768]" = prims.convert_element_type.default(add_6, torch.float16)
    # [output.dense] modeling_bert.py:348 in forward: hidden_states = self.dense(hidden_states)
    permute_10: "f16[768, 3072]" = aten.permute.default(permute_9, [1, 0])
    # [intermediate.dense] modeling_bert.py:335 in forward: hidden_states = self.dense(hidden_states)
    permute_14: "f16[3072, 768]" = aten.permute.default(permute_8, [1, 0])
    # [attention.output.dense] modeling_bert.py:290 in forward: hidden_states = self.dense(hidden_states)
    permute_18: "f16[768, 768]" = aten.permute.default(permute_7, [1, 0])
    # [attention.self.value] modeling_bert.py:177 in forward: value_layer = self.value(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_24: "f16[768, 768]" = aten.permute.default(permute_4, [1, 0])
    # [attention.self.key] modeling_bert.py:176 in forward: key_layer = self.key(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_29: "f16[768, 768]" = aten.permute.default(permute_2, [1, 0])
    # [attention.self.query] modeling_bert.py:175 in forward: query_layer = self.query(hidden_states).view(*hidden_shape).transpose(1, 2)
    permute_34: "f16[768, 768]" = aten.permute.default(permute, [1, 0])
    return (
        to_copy_5,
        attention_output_layernorm_weight,
        output_layernorm_weight,
        hidden_states,
        attention_mask,
        permute_1,
        permute_3,
        permute_5,
        getitem,
        getitem_1,
        getitem_2,
        getitem_3,
        addmm_3,
        getitem_5,
        rsqrt,
        view_11,
        addmm_4,
        view_13,
        add_4,
        getitem_7,
        rsqrt_1,
        permute_10,
        permute_14,
        permute_18,
        permute_24,
        permute_29,
        permute_34,
    )
