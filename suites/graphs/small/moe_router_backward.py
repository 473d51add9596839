# harness graph 1
# title: Mixtral 8x7B router with its load-balancing loss, bf16, 8192 tokens
# origin: transformers MixtralTopKRouter and load_balancing_loss_func
# sizes: small
# captured: suites.models:moe_router?batch=2&seq=17&hidden=40&experts=8&top_k=2
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def moe_router_backward(
    attention_mask: "bf16[2, 17]",
    view: "bf16[34, 40] saved",
    div: "f32[34, 8] saved",
    getitem: "f32[34, 2] saved",
    getitem_1: "i64[34, 2] saved bound=8",
    scatter_add: "f32[8] saved",
    to_copy_3: "f32[34, 8] saved",
    add_2: "f32[] saved",
    permute_3: "bf16[8, 40] saved",
    tangent: "f32[34, 2] gradient",
    tangent_1: "f32[] gradient",
):
    # models.py:146 in forward: loss = load_balancing_loss_func(
    mul_3: "f32[]" = aten.mul.Tensor(tangent_1, 8)
    expand_1: "f32[1, 8]{1, 0}" = aten.expand.default(mul_3, [1, 8])
    full: "f32[8]" = aten.full.default([8], 0, dtype=torch.float32)
    add: "f32[8]" = aten.add.Tensor(full, scatter_add)
    div_2: "f32[8]" = aten.div.Tensor(add, add_2)
    mul_4: "f32[1, 8]" = aten.mul.Tensor(expand_1, div_2)
    squeeze: "f32[8]" = aten.squeeze.dims(mul_4, [0])
    div_4: "f32[8]" = aten.div.Tensor(squeeze, add_2)
    unsqueeze_3: "f32[1, 8]" = aten.unsqueeze.default(div_4, 0)
    expand_2: "f32[34, 8]{0, 1}" = aten.expand.default(unsqueeze_3, [34, 8])
    view_1: "bf16[34]" = aten.view.default(attention_mask, [-1])
    to_copy_1: "f32[34]" = aten._to_copy.default(view_1, dtype=torch.float32)
    unsqueeze_1: "f32[34, 1]" = aten.unsqueeze.default(to_copy_1, -1)
    mul_5: "f32[34, 8]" = aten.mul.Tensor(expand_2, unsqueeze_1)
    to_copy_4: "bf16[34, 8]" = aten._to_copy.default(mul_5, dtype=torch.bfloat16)
    to_copy_5: "f32[34, 8]" = aten._to_copy.default(to_copy_4, dtype=torch.float32)
    mul_6: "f32[34, 8]" = aten.mul.Tensor(to_copy_5, to_copy_3)
    sum_5: "f32[34, 1]" = aten.sum.dim_IntList(mul_6, [-1], True)
    mul_7: "f32[34, 8]" = aten.mul.Tensor(to_copy_3, sum_5)
    sub_1: "f32[34, 8]" = aten.sub.Tensor(mul_6, mul_7)
    to_copy_6: "bf16[34, 8]" = prims.convert_element_type.default(sub_1, torch.bfloat16)
    # [gate] modeling_mixtral.py:108 in forward: router_top_value /= router_top_value.sum(dim=-1, keepdim=True)
    sum_1: "f32[34, 1]" = aten.sum.dim_IntList(getitem, [-1], True)
    clone: "f32[34, 2]" = aten.clone.default(getitem)
    # modeling_mixtral.py:108 in forward: router_top_value /= router_top_value.sum(dim=-1, keepdim=True)
    div_5: "f32[34, 2]" = aten.div.Tensor(clone, sum_1)
    div_6: "f32[34, 2]" = aten.div.Tensor(div_5, sum_1)
    neg: "f32[34, 2]" = aten.neg.default(tangent)
    mul_8: "f32[34, 2]" = aten.mul.Tensor(neg, div_6)
    div_7: "f32[34, 2]" = aten.div.Tensor(tangent, sum_1)
    sum_6: "f32[34, 1]" = aten.sum.dim_IntList(mul_8, [1], True)
    # [gate] modeling_mixtral.py:108 in forward: router_top_value /= router_top_value.sum(dim=-1, keepdim=True)
    expand_3: "f32[34, 2]{1, 0}" = aten.expand.default(sum_6, [34, 2])
    # modeling_mixtral.py:108 in forward: router_top_value /= router_top_value.sum(dim=-1, keepdim=True)
    add_3: "f32[34, 2]" = aten.add.Tensor(div_7, expand_3)
    # [gate] modeling_mixtral.py:107 in forward: router_top_value, router_indices = torch.topk(router_probs, self.top_k, dim=-1)  # (seq_l…
    full_1: "f32[34, 8]" = aten.full.default([34, 8], 0, dtype=torch.float32)
    scatter: "f32[34, 8]" = aten.scatter.src(full_1, -1, getitem_1, add_3)
    # [gate] modeling_mixtral.py:106 in forward: router_probs = torch.nn.functional.softmax(router_logits.float(), dim=-1)
    mul_9: "f32[34, 8]" = aten.mul.Tensor(scatter, div)
    sum_7: "f32[34, 1]" = aten.sum.dim_IntList(mul_9, [-1], True)
    mul_10: "f32[34, 8]" = aten.mul.Tensor(div, sum_7)
    sub_2: "f32[34, 8]" = aten.sub.Tensor(mul_9, mul_10)
    to_copy_7: "bf16[34, 8]" = aten._to_copy.default(sub_2, dtype=torch.bfloat16)
    # modeling_mixtral.py:106 in forward: router_probs = torch.nn.functional.softmax(router_logits.float(), dim=-1)
    add_4: "bf16[34, 8]" = aten.add.Tensor(to_copy_6, to_copy_7)
    # [gate] modeling_mixtral.py:105 in forward: router_logits = F.linear(hidden_states, self.weight)  # (seq_len, num_experts)
    permute_1: "bf16[8, 34]{1, 8}" = aten.permute.default(add_4, [1, 0])
    mm_1: "bf16[8, 40]" = aten.mm.default(permute_1, view)
    permute_2: "bf16[40, 8]{1, 40}" = aten.permute.default(mm_1, [1, 0])
    mm_2: "bf16[34, 40]" = aten.mm.default(add_4, permute_3)
    permute_4: "bf16[8, 40]" = aten.permute.default(permute_2, [1, 0])
    # [gate] modeling_mixtral.py:104 in forward: hidden_states = hidden_states.reshape(-1, self.hidden_dim)
    view_4: "bf16[2, 17, 40]" = aten.view.default(mm_2, [2, 17, 40])
    return (permute_4, view_4, None)
