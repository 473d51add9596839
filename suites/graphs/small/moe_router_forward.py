# harness graph 1
# title: Mixtral 8x7B router with its load-balancing loss, bf16, 8192 tokens
# origin: transformers MixtralTopKRouter and load_balancing_loss_func
# sizes: small
# captured: suites.models:moe_router?batch=2&seq=17&hidden=40&experts=8&top_k=2
# mode: training
# dtype: bf16
# versions: torch 2.13.0, transformers 5.23.0
def moe_router_forward(
    gate_weight: "bf16[8, 40] parameter",
    hidden_states: "bf16[2, 17, 40]",
    attention_mask: "bf16[2, 17]",
):
    # [gate] modeling_mixtral.py:104 in forward: hidden_states = hidden_states.reshape(-1, self.hidden_dim)
    view: "bf16[34, 40]" = aten.view.default(hidden_states, [-1, 40])
    # [gate] modeling_mixtral.py:105 in forward: router_logits = F.linear(hidden_states, self.weight)  # (seq_len, num_experts)
    permute: "bf16[40, 8]{1, 40}" = aten.permute.default(gate_weight, [1, 0])
    mm: "bf16[34, 8]" = aten.mm.default(view, permute)
    # [gate] modeling_mixtral.py:106 in forward: router_probs = torch.nn.functional.softmax(router_logits.float(), dim=-1)
    to_copy: "f32[34, 8]" = aten._to_copy.default(mm, dtype=torch.float32)
    amax: "f32[34, 1]" = aten.amax.default(to_copy, [-1], True)
    sub: "f32[34, 8]" = aten.sub.Tensor(to_copy, amax)
    exp: "f32[34, 8]" = aten.exp.default(sub)
    sum: "f32[34, 1]" = aten.sum.dim_IntList(exp, [-1], True)
    div: "f32[34, 8]" = aten.div.Tensor(exp, sum)
    # [gate] modeling_mixtral.py:107 in forward: router_top_value, router_indices = torch.topk(router_probs, self.top_k, dim=-1)  # (seq_l…
    topk: ("f32[34, 2]", "i64[34, 2]") = aten.topk.default(div, 2)
    getitem: "f32[34, 2]" = getitem(topk, 0)
    getitem_1: "i64[34, 2]" = getitem(topk, 1)
    # [gate] modeling_mixtral.py:108 in forward: router_top_value /= router_top_value.sum(dim=-1, keepdim=True)
    sum_1: "f32[34, 1]" = aten.sum.dim_IntList(getitem, [-1], True)
    div_1: "f32[34, 2]" = aten.div.Tensor(getitem, sum_1)
    # models.py:146 in forward: loss = load_balancing_loss_func(
    full: "f32[8]" = aten.full.default([8], 0, dtype=torch.float32)
    view_1: "bf16[34]" = aten.view.default(attention_mask, [-1])
    to_copy_1: "f32[34]" = aten._to_copy.default(view_1, dtype=torch.float32)
    to_copy_2: "bf16[34, 8]" = prims.convert_element_type.default(div, torch.bfloat16)
    topk_1: ("bf16[34, 2]", "i64[34, 2]") = aten.topk.default(to_copy_2, 2)
    getitem_2: "i64[34, 2]" = getitem(topk_1, 1)
    view_2: "i64[68]" = aten.view.default(getitem_2, [-1])
    unsqueeze: "f32[34, 1]" = aten.unsqueeze.default(to_copy_1, 1)
    expand: "f32[34, 2]{1, 0}" = aten.expand.default(unsqueeze, [34, 2])
    clone_1: "f32[34, 2]" = aten.clone.default(expand, memory_format=torch.contiguous_format)
    view_3: "f32[68]" = aten.view.default(clone_1, [68])
    scatter_add: "f32[8]" = aten.scatter_add.default(full, 0, view_2, view_3)
    add: "f32[8]" = aten.add.Tensor(full, scatter_add)
    to_copy_3: "f32[34, 8]" = aten._to_copy.default(to_copy_2, dtype=torch.float32)
    unsqueeze_1: "f32[34, 1]" = aten.unsqueeze.default(to_copy_1, -1)
    mul: "f32[34, 8]" = aten.mul.Tensor(to_copy_3, unsqueeze_1)
    sum_2: "f32[8]" = aten.sum.dim_IntList(mul, [0])
    add_1: "f32[8]" = aten.add.Tensor(full, sum_2)
    sum_3: "f32[]" = aten.sum.dim_IntList(to_copy_1, [0])
    add_2: "f32[]" = aten.add.Tensor(sum_3, 0.0)
    div_2: "f32[8]" = aten.div.Tensor(add, add_2)
    div_3: "f32[8]" = aten.div.Tensor(add_1, add_2)
    unsqueeze_2: "f32[1, 8]" = aten.unsqueeze.default(div_3, 0)
    mul_1: "f32[1, 8]" = aten.mul.Tensor(div_2, unsqueeze_2)
    sum_4: "f32[]" = aten.sum.dim_IntList(mul_1, [0, 1])
    mul_2: "f32[]" = aten.mul.Tensor(sum_4, 8)
    # [gate] modeling_mixtral.py:105 in forward: router_logits = F.linear(hidden_states, self.weight)  # (seq_len, num_experts)
    permute_3: "bf16[8, 40]" = aten.permute.default(permute, [1, 0])
    return (
        div_1,
        getitem_1,
        mul_2,
        attention_mask,
        view,
        div,
        getitem,
        getitem_1,
        scatter_add,
        to_copy_3,
        add_2,
        permute_3,
    )
