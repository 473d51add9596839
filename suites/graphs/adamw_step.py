# harness graph 1
# title: AdamW step over the parameters of GPT-2 with two layers, f32
# origin: torch.optim.AdamW over transformers GPT2LMHeadModel
# captured: transformers:GPT2LMHeadModel?n_layer=2
# mode: optimizer
# dtype: f32
# versions: torch 2.13.0, transformers 5.23.0
def adamw_step(
    parameters_model_transformer_wte_weight: "f32[50257, 768] parameter",
    parameters_model_transformer_wpe_weight: "f32[1024, 768] parameter",
    parameters_model_transformer_h_0_ln_1_weight: "f32[768] parameter",
    parameters_model_transformer_h_0_ln_1_bias: "f32[768] parameter",
    parameters_model_transformer_h_0_attn_c_attn_weight: "f32[768, 2304] parameter",
    parameters_model_transformer_h_0_attn_c_attn_bias: "f32[2304] parameter",
    parameters_model_transformer_h_0_attn_c_proj_weight: "f32[768, 768] parameter",
    parameters_model_transformer_h_0_attn_c_proj_bias: "f32[768] parameter",
    parameters_model_transformer_h_0_ln_2_weight: "f32[768] parameter",
    parameters_model_transformer_h_0_ln_2_bias: "f32[768] parameter",
    parameters_model_transformer_h_0_mlp_c_fc_weight: "f32[768, 3072] parameter",
    parameters_model_transformer_h_0_mlp_c_fc_bias: "f32[3072] parameter",
    parameters_model_transformer_h_0_mlp_c_proj_weight: "f32[3072, 768] parameter",
    parameters_model_transformer_h_0_mlp_c_proj_bias: "f32[768] parameter",
    parameters_model_transformer_h_1_ln_1_weight: "f32[768] parameter",
    parameters_model_transformer_h_1_ln_1_bias: "f32[768] parameter",
    parameters_model_transformer_h_1_attn_c_attn_weight: "f32[768, 2304] parameter",
    parameters_model_transformer_h_1_attn_c_attn_bias: "f32[2304] parameter",
    parameters_model_transformer_h_1_attn_c_proj_weight: "f32[768, 768] parameter",
    parameters_model_transformer_h_1_attn_c_proj_bias: "f32[768] parameter",
    parameters_model_transformer_h_1_ln_2_weight: "f32[768] parameter",
    parameters_model_transformer_h_1_ln_2_bias: "f32[768] parameter",
    parameters_model_transformer_h_1_mlp_c_fc_weight: "f32[768, 3072] parameter",
    parameters_model_transformer_h_1_mlp_c_fc_bias: "f32[3072] parameter",
    parameters_model_transformer_h_1_mlp_c_proj_weight: "f32[3072, 768] parameter",
    parameters_model_transformer_h_1_mlp_c_proj_bias: "f32[768] parameter",
    parameters_model_transformer_ln_f_weight: "f32[768] parameter",
    parameters_model_transformer_ln_f_bias: "f32[768] parameter",
    gradients_model_transformer_wte_weight: "f32[50257, 768] gradient",
    gradients_model_transformer_wpe_weight: "f32[1024, 768] gradient",
    gradients_model_transformer_h_0_ln_1_weight: "f32[768] gradient",
    gradients_model_transformer_h_0_ln_1_bias: "f32[768] gradient",
    gradients_model_transformer_h_0_attn_c_attn_weight: "f32[768, 2304] gradient",
    gradients_model_transformer_h_0_attn_c_attn_bias: "f32[2304] gradient",
    gradients_model_transformer_h_0_attn_c_proj_weight: "f32[768, 768] gradient",
    gradients_model_transformer_h_0_attn_c_proj_bias: "f32[768] gradient",
    gradients_model_transformer_h_0_ln_2_weight: "f32[768] gradient",
    gradients_model_transformer_h_0_ln_2_bias: "f32[768] gradient",
    gradients_model_transformer_h_0_mlp_c_fc_weight: "f32[768, 3072] gradient",
    gradients_model_transformer_h_0_mlp_c_fc_bias: "f32[3072] gradient",
    gradients_model_transformer_h_0_mlp_c_proj_weight: "f32[3072, 768] gradient",
    gradients_model_transformer_h_0_mlp_c_proj_bias: "f32[768] gradient",
    gradients_model_transformer_h_1_ln_1_weight: "f32[768] gradient",
    gradients_model_transformer_h_1_ln_1_bias: "f32[768] gradient",
    gradients_model_transformer_h_1_attn_c_attn_weight: "f32[768, 2304] gradient",
    gradients_model_transformer_h_1_attn_c_attn_bias: "f32[2304] gradient",
    gradients_model_transformer_h_1_attn_c_proj_weight: "f32[768, 768] gradient",
    gradients_model_transformer_h_1_attn_c_proj_bias: "f32[768] gradient",
    gradients_model_transformer_h_1_ln_2_weight: "f32[768] gradient",
    gradients_model_transformer_h_1_ln_2_bias: "f32[768] gradient",
    gradients_model_transformer_h_1_mlp_c_fc_weight: "f32[768, 3072] gradient",
    gradients_model_transformer_h_1_mlp_c_fc_bias: "f32[3072] gradient",
    gradients_model_transformer_h_1_mlp_c_proj_weight: "f32[3072, 768] gradient",
    gradients_model_transformer_h_1_mlp_c_proj_bias: "f32[768] gradient",
    gradients_model_transformer_ln_f_weight: "f32[768] gradient",
    gradients_model_transformer_ln_f_bias: "f32[768] gradient",
    state_exp_avg_model_transformer_wte_weight: "f32[50257, 768] buffer",
    state_exp_avg_model_transformer_wpe_weight: "f32[1024, 768] buffer",
    state_exp_avg_model_transformer_h_0_ln_1_weight: "f32[768] buffer",
    state_exp_avg_model_transformer_h_0_ln_1_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_h_0_attn_c_attn_weight: "f32[768, 2304] buffer",
    state_exp_avg_model_transformer_h_0_attn_c_attn_bias: "f32[2304] buffer",
    state_exp_avg_model_transformer_h_0_attn_c_proj_weight: "f32[768, 768] buffer",
    state_exp_avg_model_transformer_h_0_attn_c_proj_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_h_0_ln_2_weight: "f32[768] buffer",
    state_exp_avg_model_transformer_h_0_ln_2_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_h_0_mlp_c_fc_weight: "f32[768, 3072] buffer",
    state_exp_avg_model_transformer_h_0_mlp_c_fc_bias: "f32[3072] buffer",
    state_exp_avg_model_transformer_h_0_mlp_c_proj_weight: "f32[3072, 768] buffer",
    state_exp_avg_model_transformer_h_0_mlp_c_proj_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_h_1_ln_1_weight: "f32[768] buffer",
    state_exp_avg_model_transformer_h_1_ln_1_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_h_1_attn_c_attn_weight: "f32[768, 2304] buffer",
    state_exp_avg_model_transformer_h_1_attn_c_attn_bias: "f32[2304] buffer",
    state_exp_avg_model_transformer_h_1_attn_c_proj_weight: "f32[768, 768] buffer",
    state_exp_avg_model_transformer_h_1_attn_c_proj_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_h_1_ln_2_weight: "f32[768] buffer",
    state_exp_avg_model_transformer_h_1_ln_2_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_h_1_mlp_c_fc_weight: "f32[768, 3072] buffer",
    state_exp_avg_model_transformer_h_1_mlp_c_fc_bias: "f32[3072] buffer",
    state_exp_avg_model_transformer_h_1_mlp_c_proj_weight: "f32[3072, 768] buffer",
    state_exp_avg_model_transformer_h_1_mlp_c_proj_bias: "f32[768] buffer",
    state_exp_avg_model_transformer_ln_f_weight: "f32[768] buffer",
    state_exp_avg_model_transformer_ln_f_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_wte_weight: "f32[50257, 768] buffer",
    state_exp_avg_sq_model_transformer_wpe_weight: "f32[1024, 768] buffer",
    state_exp_avg_sq_model_transformer_h_0_ln_1_weight: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_0_ln_1_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_0_attn_c_attn_weight: "f32[768, 2304] buffer",
    state_exp_avg_sq_model_transformer_h_0_attn_c_attn_bias: "f32[2304] buffer",
    state_exp_avg_sq_model_transformer_h_0_attn_c_proj_weight: "f32[768, 768] buffer",
    state_exp_avg_sq_model_transformer_h_0_attn_c_proj_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_0_ln_2_weight: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_0_ln_2_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_0_mlp_c_fc_weight: "f32[768, 3072] buffer",
    state_exp_avg_sq_model_transformer_h_0_mlp_c_fc_bias: "f32[3072] buffer",
    state_exp_avg_sq_model_transformer_h_0_mlp_c_proj_weight: "f32[3072, 768] buffer",
    state_exp_avg_sq_model_transformer_h_0_mlp_c_proj_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_1_ln_1_weight: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_1_ln_1_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_1_attn_c_attn_weight: "f32[768, 2304] buffer",
    state_exp_avg_sq_model_transformer_h_1_attn_c_attn_bias: "f32[2304] buffer",
    state_exp_avg_sq_model_transformer_h_1_attn_c_proj_weight: "f32[768, 768] buffer",
    state_exp_avg_sq_model_transformer_h_1_attn_c_proj_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_1_ln_2_weight: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_1_ln_2_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_h_1_mlp_c_fc_weight: "f32[768, 3072] buffer",
    state_exp_avg_sq_model_transformer_h_1_mlp_c_fc_bias: "f32[3072] buffer",
    state_exp_avg_sq_model_transformer_h_1_mlp_c_proj_weight: "f32[3072, 768] buffer",
    state_exp_avg_sq_model_transformer_h_1_mlp_c_proj_bias: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_ln_f_weight: "f32[768] buffer",
    state_exp_avg_sq_model_transformer_ln_f_bias: "f32[768] buffer",
    state_step_model_transformer_wte_weight: "f32[] buffer",
    state_step_model_transformer_wpe_weight: "f32[] buffer",
    state_step_model_transformer_h_0_ln_1_weight: "f32[] buffer",
    state_step_model_transformer_h_0_ln_1_bias: "f32[] buffer",
    state_step_model_transformer_h_0_attn_c_attn_weight: "f32[] buffer",
    state_step_model_transformer_h_0_attn_c_attn_bias: "f32[] buffer",
    state_step_model_transformer_h_0_attn_c_proj_weight: "f32[] buffer",
    state_step_model_transformer_h_0_attn_c_proj_bias: "f32[] buffer",
    state_step_model_transformer_h_0_ln_2_weight: "f32[] buffer",
    state_step_model_transformer_h_0_ln_2_bias: "f32[] buffer",
    state_step_model_transformer_h_0_mlp_c_fc_weight: "f32[] buffer",
    state_step_model_transformer_h_0_mlp_c_fc_bias: "f32[] buffer",
    state_step_model_transformer_h_0_mlp_c_proj_weight: "f32[] buffer",
    state_step_model_transformer_h_0_mlp_c_proj_bias: "f32[] buffer",
    state_step_model_transformer_h_1_ln_1_weight: "f32[] buffer",
    state_step_model_transformer_h_1_ln_1_bias: "f32[] buffer",
    state_step_model_transformer_h_1_attn_c_attn_weight: "f32[] buffer",
    state_step_model_transformer_h_1_attn_c_attn_bias: "f32[] buffer",
    state_step_model_transformer_h_1_attn_c_proj_weight: "f32[] buffer",
    state_step_model_transformer_h_1_attn_c_proj_bias: "f32[] buffer",
    state_step_model_transformer_h_1_ln_2_weight: "f32[] buffer",
    state_step_model_transformer_h_1_ln_2_bias: "f32[] buffer",
    state_step_model_transformer_h_1_mlp_c_fc_weight: "f32[] buffer",
    state_step_model_transformer_h_1_mlp_c_fc_bias: "f32[] buffer",
    state_step_model_transformer_h_1_mlp_c_proj_weight: "f32[] buffer",
    state_step_model_transformer_h_1_mlp_c_proj_bias: "f32[] buffer",
    state_step_model_transformer_ln_f_weight: "f32[] buffer",
    state_step_model_transformer_ln_f_bias: "f32[] buffer",
):
    add: "f32[]" = aten.add.Tensor(state_step_model_transformer_wte_weight, 1)
    mul: "f32[50257, 768]" = aten.mul.Tensor(parameters_model_transformer_wte_weight, 0.99999)
    full: "f32[]" = aten.full.default([], 0.09999999999999998, dtype=torch.float32)
    abs: "f32[]" = aten.abs.default(full)
    ge: "b8[]" = aten.ge.Scalar(abs, 0.5)
    sub: "f32[]" = aten.sub.Tensor(full, 1)
    where: "f32[]" = aten.where.self(ge, sub, full)
    where_1: "f32[50257, 768]" = aten.where.self(ge, gradients_model_transformer_wte_weight, state_exp_avg_model_transformer_wte_weight)
    sub_1: "f32[50257, 768]" = aten.sub.Tensor(gradients_model_transformer_wte_weight, state_exp_avg_model_transformer_wte_weight)
    mul_1: "f32[50257, 768]" = aten.mul.Tensor(where, sub_1)
    add_1: "f32[50257, 768]" = aten.add.Tensor(mul_1, where_1)
    mul_2: "f32[50257, 768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_wte_weight, 0.999)
    mul_3: "f32[50257, 768]" = aten.mul.Tensor(gradients_model_transformer_wte_weight, 0.0010000000000000009)
    mul_4: "f32[50257, 768]" = aten.mul.Tensor(mul_3, gradients_model_transformer_wte_weight)
    add_2: "f32[50257, 768]" = aten.add.Tensor(mul_2, mul_4)
    pow: "f32[]" = aten.pow.Scalar(0.9, add)
    sub_2: "f32[]" = aten.sub.Tensor(1, pow)
    pow_1: "f32[]" = aten.pow.Scalar(0.999, add)
    sub_3: "f32[]" = aten.sub.Tensor(1, pow_1)
    reciprocal: "f32[]" = aten.reciprocal.default(sub_2)
    mul_5: "f32[]" = aten.mul.Tensor(reciprocal, 0.001)
    neg: "f32[]" = aten.neg.default(mul_5)
    sqrt: "f32[]" = aten.sqrt.default(sub_3)
    sqrt_1: "f32[50257, 768]" = aten.sqrt.default(add_2)
    mul_6: "f32[]" = aten.mul.Tensor(sqrt, neg)
    div: "f32[50257, 768]" = aten.div.Tensor(sqrt_1, mul_6)
    reciprocal_1: "f32[]" = aten.reciprocal.default(neg)
    mul_7: "f32[]" = aten.mul.Tensor(reciprocal_1, 1e-08)
    add_3: "f32[50257, 768]" = aten.add.Tensor(div, mul_7)
    mul_8: "f32[50257, 768]" = aten.mul.Tensor(add_1, 1)
    div_1: "f32[50257, 768]" = aten.div.Tensor(mul_8, add_3)
    add_4: "f32[50257, 768]" = aten.add.Tensor(mul, div_1)
    add_5: "f32[]" = aten.add.Tensor(state_step_model_transformer_wpe_weight, 1)
    mul_9: "f32[1024, 768]" = aten.mul.Tensor(parameters_model_transformer_wpe_weight, 0.99999)
    where_2: "f32[1024, 768]" = aten.where.self(ge, gradients_model_transformer_wpe_weight, state_exp_avg_model_transformer_wpe_weight)
    sub_4: "f32[1024, 768]" = aten.sub.Tensor(gradients_model_transformer_wpe_weight, state_exp_avg_model_transformer_wpe_weight)
    mul_10: "f32[1024, 768]" = aten.mul.Tensor(where, sub_4)
    add_6: "f32[1024, 768]" = aten.add.Tensor(mul_10, where_2)
    mul_11: "f32[1024, 768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_wpe_weight, 0.999)
    mul_12: "f32[1024, 768]" = aten.mul.Tensor(gradients_model_transformer_wpe_weight, 0.0010000000000000009)
    mul_13: "f32[1024, 768]" = aten.mul.Tensor(mul_12, gradients_model_transformer_wpe_weight)
    add_7: "f32[1024, 768]" = aten.add.Tensor(mul_11, mul_13)
    pow_2: "f32[]" = aten.pow.Scalar(0.9, add_5)
    sub_5: "f32[]" = aten.sub.Tensor(1, pow_2)
    pow_3: "f32[]" = aten.pow.Scalar(0.999, add_5)
    sub_6: "f32[]" = aten.sub.Tensor(1, pow_3)
    reciprocal_2: "f32[]" = aten.reciprocal.default(sub_5)
    mul_14: "f32[]" = aten.mul.Tensor(reciprocal_2, 0.001)
    neg_1: "f32[]" = aten.neg.default(mul_14)
    sqrt_2: "f32[]" = aten.sqrt.default(sub_6)
    sqrt_3: "f32[1024, 768]" = aten.sqrt.default(add_7)
    mul_15: "f32[]" = aten.mul.Tensor(sqrt_2, neg_1)
    div_2: "f32[1024, 768]" = aten.div.Tensor(sqrt_3, mul_15)
    reciprocal_3: "f32[]" = aten.reciprocal.default(neg_1)
    mul_16: "f32[]" = aten.mul.Tensor(reciprocal_3, 1e-08)
    add_8: "f32[1024, 768]" = aten.add.Tensor(div_2, mul_16)
    mul_17: "f32[1024, 768]" = aten.mul.Tensor(add_6, 1)
    div_3: "f32[1024, 768]" = aten.div.Tensor(mul_17, add_8)
    add_9: "f32[1024, 768]" = aten.add.Tensor(mul_9, div_3)
    add_10: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_ln_1_weight, 1)
    mul_18: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_0_ln_1_weight, 0.99999)
    where_3: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_0_ln_1_weight, state_exp_avg_model_transformer_h_0_ln_1_weight)
    sub_7: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_0_ln_1_weight, state_exp_avg_model_transformer_h_0_ln_1_weight)
    mul_19: "f32[768]" = aten.mul.Tensor(where, sub_7)
    add_11: "f32[768]" = aten.add.Tensor(mul_19, where_3)
    mul_20: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_ln_1_weight, 0.999)
    mul_21: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_0_ln_1_weight, 0.0010000000000000009)
    mul_22: "f32[768]" = aten.mul.Tensor(mul_21, gradients_model_transformer_h_0_ln_1_weight)
    add_12: "f32[768]" = aten.add.Tensor(mul_20, mul_22)
    pow_4: "f32[]" = aten.pow.Scalar(0.9, add_10)
    sub_8: "f32[]" = aten.sub.Tensor(1, pow_4)
    pow_5: "f32[]" = aten.pow.Scalar(0.999, add_10)
    sub_9: "f32[]" = aten.sub.Tensor(1, pow_5)
    reciprocal_4: "f32[]" = aten.reciprocal.default(sub_8)
    mul_23: "f32[]" = aten.mul.Tensor(reciprocal_4, 0.001)
    neg_2: "f32[]" = aten.neg.default(mul_23)
    sqrt_4: "f32[]" = aten.sqrt.default(sub_9)
    sqrt_5: "f32[768]" = aten.sqrt.default(add_12)
    mul_24: "f32[]" = aten.mul.Tensor(sqrt_4, neg_2)
    div_4: "f32[768]" = aten.div.Tensor(sqrt_5, mul_24)
    reciprocal_5: "f32[]" = aten.reciprocal.default(neg_2)
    mul_25: "f32[]" = aten.mul.Tensor(reciprocal_5, 1e-08)
    add_13: "f32[768]" = aten.add.Tensor(div_4, mul_25)
    mul_26: "f32[768]" = aten.mul.Tensor(add_11, 1)
    div_5: "f32[768]" = aten.div.Tensor(mul_26, add_13)
    add_14: "f32[768]" = aten.add.Tensor(mul_18, div_5)
    add_15: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_ln_1_bias, 1)
    mul_27: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_0_ln_1_bias, 0.99999)
    where_4: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_0_ln_1_bias, state_exp_avg_model_transformer_h_0_ln_1_bias)
    sub_10: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_0_ln_1_bias, state_exp_avg_model_transformer_h_0_ln_1_bias)
    mul_28: "f32[768]" = aten.mul.Tensor(where, sub_10)
    add_16: "f32[768]" = aten.add.Tensor(mul_28, where_4)
    mul_29: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_ln_1_bias, 0.999)
    mul_30: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_0_ln_1_bias, 0.0010000000000000009)
    mul_31: "f32[768]" = aten.mul.Tensor(mul_30, gradients_model_transformer_h_0_ln_1_bias)
    add_17: "f32[768]" = aten.add.Tensor(mul_29, mul_31)
    pow_6: "f32[]" = aten.pow.Scalar(0.9, add_15)
    sub_11: "f32[]" = aten.sub.Tensor(1, pow_6)
    pow_7: "f32[]" = aten.pow.Scalar(0.999, add_15)
    sub_12: "f32[]" = aten.sub.Tensor(1, pow_7)
    reciprocal_6: "f32[]" = aten.reciprocal.default(sub_11)
    mul_32: "f32[]" = aten.mul.Tensor(reciprocal_6, 0.001)
    neg_3: "f32[]" = aten.neg.default(mul_32)
    sqrt_6: "f32[]" = aten.sqrt.default(sub_12)
    sqrt_7: "f32[768]" = aten.sqrt.default(add_17)
    mul_33: "f32[]" = aten.mul.Tensor(sqrt_6, neg_3)
    div_6: "f32[768]" = aten.div.Tensor(sqrt_7, mul_33)
    reciprocal_7: "f32[]" = aten.reciprocal.default(neg_3)
    mul_34: "f32[]" = aten.mul.Tensor(reciprocal_7, 1e-08)
    add_18: "f32[768]" = aten.add.Tensor(div_6, mul_34)
    mul_35: "f32[768]" = aten.mul.Tensor(add_16, 1)
    div_7: "f32[768]" = aten.div.Tensor(mul_35, add_18)
    add_19: "f32[768]" = aten.add.Tensor(mul_27, div_7)
    add_20: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_attn_c_attn_weight, 1)
    mul_36: "f32[768, 2304]" = aten.mul.Tensor(parameters_model_transformer_h_0_attn_c_attn_weight, 0.99999)
    where_5: "f32[768, 2304]" = aten.where.self(ge, gradients_model_transformer_h_0_attn_c_attn_weight, state_exp_avg_model_transformer_h_0_attn_c_attn_weight)
    sub_13: "f32[768, 2304]" = aten.sub.Tensor(gradients_model_transformer_h_0_attn_c_attn_weight, state_exp_avg_model_transformer_h_0_attn_c_attn_weight)
    mul_37: "f32[768, 2304]" = aten.mul.Tensor(where, sub_13)
    add_21: "f32[768, 2304]" = aten.add.Tensor(mul_37, where_5)
    mul_38: "f32[768, 2304]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_attn_c_attn_weight, 0.999)
    mul_39: "f32[768, 2304]" = aten.mul.Tensor(gradients_model_transformer_h_0_attn_c_attn_weight, 0.0010000000000000009)
    mul_40: "f32[768, 2304]" = aten.mul.Tensor(mul_39, gradients_model_transformer_h_0_attn_c_attn_weight)
    add_22: "f32[768, 2304]" = aten.add.Tensor(mul_38, mul_40)
    pow_8: "f32[]" = aten.pow.Scalar(0.9, add_20)
    sub_14: "f32[]" = aten.sub.Tensor(1, pow_8)
    pow_9: "f32[]" = aten.pow.Scalar(0.999, add_20)
    sub_15: "f32[]" = aten.sub.Tensor(1, pow_9)
    reciprocal_8: "f32[]" = aten.reciprocal.default(sub_14)
    mul_41: "f32[]" = aten.mul.Tensor(reciprocal_8, 0.001)
    neg_4: "f32[]" = aten.neg.default(mul_41)
    sqrt_8: "f32[]" = aten.sqrt.default(sub_15)
    sqrt_9: "f32[768, 2304]" = aten.sqrt.default(add_22)
    mul_42: "f32[]" = aten.mul.Tensor(sqrt_8, neg_4)
    div_8: "f32[768, 2304]" = aten.div.Tensor(sqrt_9, mul_42)
    reciprocal_9: "f32[]" = aten.reciprocal.default(neg_4)
    mul_43: "f32[]" = aten.mul.Tensor(reciprocal_9, 1e-08)
    add_23: "f32[768, 2304]" = aten.add.Tensor(div_8, mul_43)
    mul_44: "f32[768, 2304]" = aten.mul.Tensor(add_21, 1)
    div_9: "f32[768, 2304]" = aten.div.Tensor(mul_44, add_23)
    add_24: "f32[768, 2304]" = aten.add.Tensor(mul_36, div_9)
    add_25: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_attn_c_attn_bias, 1)
    mul_45: "f32[2304]" = aten.mul.Tensor(parameters_model_transformer_h_0_attn_c_attn_bias, 0.99999)
    where_6: "f32[2304]" = aten.where.self(ge, gradients_model_transformer_h_0_attn_c_attn_bias, state_exp_avg_model_transformer_h_0_attn_c_attn_bias)
    sub_16: "f32[2304]" = aten.sub.Tensor(gradients_model_transformer_h_0_attn_c_attn_bias, state_exp_avg_model_transformer_h_0_attn_c_attn_bias)
    mul_46: "f32[2304]" = aten.mul.Tensor(where, sub_16)
    add_26: "f32[2304]" = aten.add.Tensor(mul_46, where_6)
    mul_47: "f32[2304]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_attn_c_attn_bias, 0.999)
    mul_48: "f32[2304]" = aten.mul.Tensor(gradients_model_transformer_h_0_attn_c_attn_bias, 0.0010000000000000009)
    mul_49: "f32[2304]" = aten.mul.Tensor(mul_48, gradients_model_transformer_h_0_attn_c_attn_bias)
    add_27: "f32[2304]" = aten.add.Tensor(mul_47, mul_49)
    pow_10: "f32[]" = aten.pow.Scalar(0.9, add_25)
    sub_17: "f32[]" = aten.sub.Tensor(1, pow_10)
    pow_11: "f32[]" = aten.pow.Scalar(0.999, add_25)
    sub_18: "f32[]" = aten.sub.Tensor(1, pow_11)
    reciprocal_10: "f32[]" = aten.reciprocal.default(sub_17)
    mul_50: "f32[]" = aten.mul.Tensor(reciprocal_10, 0.001)
    neg_5: "f32[]" = aten.neg.default(mul_50)
    sqrt_10: "f32[]" = aten.sqrt.default(sub_18)
    sqrt_11: "f32[2304]" = aten.sqrt.default(add_27)
    mul_51: "f32[]" = aten.mul.Tensor(sqrt_10, neg_5)
    div_10: "f32[2304]" = aten.div.Tensor(sqrt_11, mul_51)
    reciprocal_11: "f32[]" = aten.reciprocal.default(neg_5)
    mul_52: "f32[]" = aten.mul.Tensor(reciprocal_11, 1e-08)
    add_28: "f32[2304]" = aten.add.Tensor(div_10, mul_52)
    mul_53: "f32[2304]" = aten.mul.Tensor(add_26, 1)
    div_11: "f32[2304]" = aten.div.Tensor(mul_53, add_28)
    add_29: "f32[2304]" = aten.add.Tensor(mul_45, div_11)
    add_30: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_attn_c_proj_weight, 1)
    mul_54: "f32[768, 768]" = aten.mul.Tensor(parameters_model_transformer_h_0_attn_c_proj_weight, 0.99999)
    where_7: "f32[768, 768]" = aten.where.self(ge, gradients_model_transformer_h_0_attn_c_proj_weight, state_exp_avg_model_transformer_h_0_attn_c_proj_weight)
    sub_19: "f32[768, 768]" = aten.sub.Tensor(gradients_model_transformer_h_0_attn_c_proj_weight, state_exp_avg_model_transformer_h_0_attn_c_proj_weight)
    mul_55: "f32[768, 768]" = aten.mul.Tensor(where, sub_19)
    add_31: "f32[768, 768]" = aten.add.Tensor(mul_55, where_7)
    mul_56: "f32[768, 768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_attn_c_proj_weight, 0.999)
    mul_57: "f32[768, 768]" = aten.mul.Tensor(gradients_model_transformer_h_0_attn_c_proj_weight, 0.0010000000000000009)
    mul_58: "f32[768, 768]" = aten.mul.Tensor(mul_57, gradients_model_transformer_h_0_attn_c_proj_weight)
    add_32: "f32[768, 768]" = aten.add.Tensor(mul_56, mul_58)
    pow_12: "f32[]" = aten.pow.Scalar(0.9, add_30)
    sub_20: "f32[]" = aten.sub.Tensor(1, pow_12)
    pow_13: "f32[]" = aten.pow.Scalar(0.999, add_30)
    sub_21: "f32[]" = aten.sub.Tensor(1, pow_13)
    reciprocal_12: "f32[]" = aten.reciprocal.default(sub_20)
    mul_59: "f32[]" = aten.mul.Tensor(reciprocal_12, 0.001)
    neg_6: "f32[]" = aten.neg.default(mul_59)
    sqrt_12: "f32[]" = aten.sqrt.default(sub_21)
    sqrt_13: "f32[768, 768]" = aten.sqrt.default(add_32)
    mul_60: "f32[]" = aten.mul.Tensor(sqrt_12, neg_6)
    div_12: "f32[768, 768]" = aten.div.Tensor(sqrt_13, mul_60)
    reciprocal_13: "f32[]" = aten.reciprocal.default(neg_6)
    mul_61: "f32[]" = aten.mul.Tensor(reciprocal_13, 1e-08)
    add_33: "f32[768, 768]" = aten.add.Tensor(div_12, mul_61)
    mul_62: "f32[768, 768]" = aten.mul.Tensor(add_31, 1)
    div_13: "f32[768, 768]" = aten.div.Tensor(mul_62, add_33)
    add_34: "f32[768, 768]" = aten.add.Tensor(mul_54, div_13)
    add_35: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_attn_c_proj_bias, 1)
    mul_63: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_0_attn_c_proj_bias, 0.99999)
    where_8: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_0_attn_c_proj_bias, state_exp_avg_model_transformer_h_0_attn_c_proj_bias)
    sub_22: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_0_attn_c_proj_bias, state_exp_avg_model_transformer_h_0_attn_c_proj_bias)
    mul_64: "f32[768]" = aten.mul.Tensor(where, sub_22)
    add_36: "f32[768]" = aten.add.Tensor(mul_64, where_8)
    mul_65: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_attn_c_proj_bias, 0.999)
    mul_66: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_0_attn_c_proj_bias, 0.0010000000000000009)
    mul_67: "f32[768]" = aten.mul.Tensor(mul_66, gradients_model_transformer_h_0_attn_c_proj_bias)
    add_37: "f32[768]" = aten.add.Tensor(mul_65, mul_67)
    pow_14: "f32[]" = aten.pow.Scalar(0.9, add_35)
    sub_23: "f32[]" = aten.sub.Tensor(1, pow_14)
    pow_15: "f32[]" = aten.pow.Scalar(0.999, add_35)
    sub_24: "f32[]" = aten.sub.Tensor(1, pow_15)
    reciprocal_14: "f32[]" = aten.reciprocal.default(sub_23)
    mul_68: "f32[]" = aten.mul.Tensor(reciprocal_14, 0.001)
    neg_7: "f32[]" = aten.neg.default(mul_68)
    sqrt_14: "f32[]" = aten.sqrt.default(sub_24)
    sqrt_15: "f32[768]" = aten.sqrt.default(add_37)
    mul_69: "f32[]" = aten.mul.Tensor(sqrt_14, neg_7)
    div_14: "f32[768]" = aten.div.Tensor(sqrt_15, mul_69)
    reciprocal_15: "f32[]" = aten.reciprocal.default(neg_7)
    mul_70: "f32[]" = aten.mul.Tensor(reciprocal_15, 1e-08)
    add_38: "f32[768]" = aten.add.Tensor(div_14, mul_70)
    mul_71: "f32[768]" = aten.mul.Tensor(add_36, 1)
    div_15: "f32[768]" = aten.div.Tensor(mul_71, add_38)
    add_39: "f32[768]" = aten.add.Tensor(mul_63, div_15)
    add_40: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_ln_2_weight, 1)
    mul_72: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_0_ln_2_weight, 0.99999)
    where_9: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_0_ln_2_weight, state_exp_avg_model_transformer_h_0_ln_2_weight)
    sub_25: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_0_ln_2_weight, state_exp_avg_model_transformer_h_0_ln_2_weight)
    mul_73: "f32[768]" = aten.mul.Tensor(where, sub_25)
    add_41: "f32[768]" = aten.add.Tensor(mul_73, where_9)
    mul_74: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_ln_2_weight, 0.999)
    mul_75: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_0_ln_2_weight, 0.0010000000000000009)
    mul_76: "f32[768]" = aten.mul.Tensor(mul_75, gradients_model_transformer_h_0_ln_2_weight)
    add_42: "f32[768]" = aten.add.Tensor(mul_74, mul_76)
    pow_16: "f32[]" = aten.pow.Scalar(0.9, add_40)
    sub_26: "f32[]" = aten.sub.Tensor(1, pow_16)
    pow_17: "f32[]" = aten.pow.Scalar(0.999, add_40)
    sub_27: "f32[]" = aten.sub.Tensor(1, pow_17)
    reciprocal_16: "f32[]" = aten.reciprocal.default(sub_26)
    mul_77: "f32[]" = aten.mul.Tensor(reciprocal_16, 0.001)
    neg_8: "f32[]" = aten.neg.default(mul_77)
    sqrt_16: "f32[]" = aten.sqrt.default(sub_27)
    sqrt_17: "f32[768]" = aten.sqrt.default(add_42)
    mul_78: "f32[]" = aten.mul.Tensor(sqrt_16, neg_8)
    div_16: "f32[768]" = aten.div.Tensor(sqrt_17, mul_78)
    reciprocal_17: "f32[]" = aten.reciprocal.default(neg_8)
    mul_79: "f32[]" = aten.mul.Tensor(reciprocal_17, 1e-08)
    add_43: "f32[768]" = aten.add.Tensor(div_16, mul_79)
    mul_80: "f32[768]" = aten.mul.Tensor(add_41, 1)
    div_17: "f32[768]" = aten.div.Tensor(mul_80, add_43)
    add_44: "f32[768]" = aten.add.Tensor(mul_72, div_17)
    add_45: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_ln_2_bias, 1)
    mul_81: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_0_ln_2_bias, 0.99999)
    where_10: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_0_ln_2_bias, state_exp_avg_model_transformer_h_0_ln_2_bias)
    sub_28: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_0_ln_2_bias, state_exp_avg_model_transformer_h_0_ln_2_bias)
    mul_82: "f32[768]" = aten.mul.Tensor(where, sub_28)
    add_46: "f32[768]" = aten.add.Tensor(mul_82, where_10)
    mul_83: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_ln_2_bias, 0.999)
    mul_84: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_0_ln_2_bias, 0.0010000000000000009)
    mul_85: "f32[768]" = aten.mul.Tensor(mul_84, gradients_model_transformer_h_0_ln_2_bias)
    add_47: "f32[768]" = aten.add.Tensor(mul_83, mul_85)
    pow_18: "f32[]" = aten.pow.Scalar(0.9, add_45)
    sub_29: "f32[]" = aten.sub.Tensor(1, pow_18)
    pow_19: "f32[]" = aten.pow.Scalar(0.999, add_45)
    sub_30: "f32[]" = aten.sub.Tensor(1, pow_19)
    reciprocal_18: "f32[]" = aten.reciprocal.default(sub_29)
    mul_86: "f32[]" = aten.mul.Tensor(reciprocal_18, 0.001)
    neg_9: "f32[]" = aten.neg.default(mul_86)
    sqrt_18: "f32[]" = aten.sqrt.default(sub_30)
    sqrt_19: "f32[768]" = aten.sqrt.default(add_47)
    mul_87: "f32[]" = aten.mul.Tensor(sqrt_18, neg_9)
    div_18: "f32[768]" = aten.div.Tensor(sqrt_19, mul_87)
    reciprocal_19: "f32[]" = aten.reciprocal.default(neg_9)
    mul_88: "f32[]" = aten.mul.Tensor(reciprocal_19, 1e-08)
    add_48: "f32[768]" = aten.add.Tensor(div_18, mul_88)
    mul_89: "f32[768]" = aten.mul.Tensor(add_46, 1)
    div_19: "f32[768]" = aten.div.Tensor(mul_89, add_48)
    add_49: "f32[768]" = aten.add.Tensor(mul_81, div_19)
    add_50: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_mlp_c_fc_weight, 1)
    mul_90: "f32[768, 3072]" = aten.mul.Tensor(parameters_model_transformer_h_0_mlp_c_fc_weight, 0.99999)
    where_11: "f32[768, 3072]" = aten.where.self(ge, gradients_model_transformer_h_0_mlp_c_fc_weight, state_exp_avg_model_transformer_h_0_mlp_c_fc_weight)
    sub_31: "f32[768, 3072]" = aten.sub.Tensor(gradients_model_transformer_h_0_mlp_c_fc_weight, state_exp_avg_model_transformer_h_0_mlp_c_fc_weight)
    mul_91: "f32[768, 3072]" = aten.mul.Tensor(where, sub_31)
    add_51: "f32[768, 3072]" = aten.add.Tensor(mul_91, where_11)
    mul_92: "f32[768, 3072]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_mlp_c_fc_weight, 0.999)
    mul_93: "f32[768, 3072]" = aten.mul.Tensor(gradients_model_transformer_h_0_mlp_c_fc_weight, 0.0010000000000000009)
    mul_94: "f32[768, 3072]" = aten.mul.Tensor(mul_93, gradients_model_transformer_h_0_mlp_c_fc_weight)
    add_52: "f32[768, 3072]" = aten.add.Tensor(mul_92, mul_94)
    pow_20: "f32[]" = aten.pow.Scalar(0.9, add_50)
    sub_32: "f32[]" = aten.sub.Tensor(1, pow_20)
    pow_21: "f32[]" = aten.pow.Scalar(0.999, add_50)
    sub_33: "f32[]" = aten.sub.Tensor(1, pow_21)
    reciprocal_20: "f32[]" = aten.reciprocal.default(sub_32)
    mul_95: "f32[]" = aten.mul.Tensor(reciprocal_20, 0.001)
    neg_10: "f32[]" = aten.neg.default(mul_95)
    sqrt_20: "f32[]" = aten.sqrt.default(sub_33)
    sqrt_21: "f32[768, 3072]" = aten.sqrt.default(add_52)
    mul_96: "f32[]" = aten.mul.Tensor(sqrt_20, neg_10)
    div_20: "f32[768, 3072]" = aten.div.Tensor(sqrt_21, mul_96)
    reciprocal_21: "f32[]" = aten.reciprocal.default(neg_10)
    mul_97: "f32[]" = aten.mul.Tensor(reciprocal_21, 1e-08)
    add_53: "f32[768, 3072]" = aten.add.Tensor(div_20, mul_97)
    mul_98: "f32[768, 3072]" = aten.mul.Tensor(add_51, 1)
    div_21: "f32[768, 3072]" = aten.div.Tensor(mul_98, add_53)
    add_54: "f32[768, 3072]" = aten.add.Tensor(mul_90, div_21)
    add_55: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_mlp_c_fc_bias, 1)
    mul_99: "f32[3072]" = aten.mul.Tensor(parameters_model_transformer_h_0_mlp_c_fc_bias, 0.99999)
    where_12: "f32[3072]" = aten.where.self(ge, gradients_model_transformer_h_0_mlp_c_fc_bias, state_exp_avg_model_transformer_h_0_mlp_c_fc_bias)
    sub_34: "f32[3072]" = aten.sub.Tensor(gradients_model_transformer_h_0_mlp_c_fc_bias, state_exp_avg_model_transformer_h_0_mlp_c_fc_bias)
    mul_100: "f32[3072]" = aten.mul.Tensor(where, sub_34)
    add_56: "f32[3072]" = aten.add.Tensor(mul_100, where_12)
    mul_101: "f32[3072]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_mlp_c_fc_bias, 0.999)
    mul_102: "f32[3072]" = aten.mul.Tensor(gradients_model_transformer_h_0_mlp_c_fc_bias, 0.0010000000000000009)
    mul_103: "f32[3072]" = aten.mul.Tensor(mul_102, gradients_model_transformer_h_0_mlp_c_fc_bias)
    add_57: "f32[3072]" = aten.add.Tensor(mul_101, mul_103)
    pow_22: "f32[]" = aten.pow.Scalar(0.9, add_55)
    sub_35: "f32[]" = aten.sub.Tensor(1, pow_22)
    pow_23: "f32[]" = aten.pow.Scalar(0.999, add_55)
    sub_36: "f32[]" = aten.sub.Tensor(1, pow_23)
    reciprocal_22: "f32[]" = aten.reciprocal.default(sub_35)
    mul_104: "f32[]" = aten.mul.Tensor(reciprocal_22, 0.001)
    neg_11: "f32[]" = aten.neg.default(mul_104)
    sqrt_22: "f32[]" = aten.sqrt.default(sub_36)
    sqrt_23: "f32[3072]" = aten.sqrt.default(add_57)
    mul_105: "f32[]" = aten.mul.Tensor(sqrt_22, neg_11)
    div_22: "f32[3072]" = aten.div.Tensor(sqrt_23, mul_105)
    reciprocal_23: "f32[]" = aten.reciprocal.default(neg_11)
    mul_106: "f32[]" = aten.mul.Tensor(reciprocal_23, 1e-08)
    add_58: "f32[3072]" = aten.add.Tensor(div_22, mul_106)
    mul_107: "f32[3072]" = aten.mul.Tensor(add_56, 1)
    div_23: "f32[3072]" = aten.div.Tensor(mul_107, add_58)
    add_59: "f32[3072]" = aten.add.Tensor(mul_99, div_23)
    add_60: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_mlp_c_proj_weight, 1)
    mul_108: "f32[3072, 768]" = aten.mul.Tensor(parameters_model_transformer_h_0_mlp_c_proj_weight, 0.99999)
    where_13: "f32[3072, 768]" = aten.where.self(ge, gradients_model_transformer_h_0_mlp_c_proj_weight, state_exp_avg_model_transformer_h_0_mlp_c_proj_weight)
    sub_37: "f32[3072, 768]" = aten.sub.Tensor(gradients_model_transformer_h_0_mlp_c_proj_weight, state_exp_avg_model_transformer_h_0_mlp_c_proj_weight)
    mul_109: "f32[3072, 768]" = aten.mul.Tensor(where, sub_37)
    add_61: "f32[3072, 768]" = aten.add.Tensor(mul_109, where_13)
    mul_110: "f32[3072, 768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_mlp_c_proj_weight, 0.999)
    mul_111: "f32[3072, 768]" = aten.mul.Tensor(gradients_model_transformer_h_0_mlp_c_proj_weight, 0.0010000000000000009)
    mul_112: "f32[3072, 768]" = aten.mul.Tensor(mul_111, gradients_model_transformer_h_0_mlp_c_proj_weight)
    add_62: "f32[3072, 768]" = aten.add.Tensor(mul_110, mul_112)
    pow_24: "f32[]" = aten.pow.Scalar(0.9, add_60)
    sub_38: "f32[]" = aten.sub.Tensor(1, pow_24)
    pow_25: "f32[]" = aten.pow.Scalar(0.999, add_60)
    sub_39: "f32[]" = aten.sub.Tensor(1, pow_25)
    reciprocal_24: "f32[]" = aten.reciprocal.default(sub_38)
    mul_113: "f32[]" = aten.mul.Tensor(reciprocal_24, 0.001)
    neg_12: "f32[]" = aten.neg.default(mul_113)
    sqrt_24: "f32[]" = aten.sqrt.default(sub_39)
    sqrt_25: "f32[3072, 768]" = aten.sqrt.default(add_62)
    mul_114: "f32[]" = aten.mul.Tensor(sqrt_24, neg_12)
    div_24: "f32[3072, 768]" = aten.div.Tensor(sqrt_25, mul_114)
    reciprocal_25: "f32[]" = aten.reciprocal.default(neg_12)
    mul_115: "f32[]" = aten.mul.Tensor(reciprocal_25, 1e-08)
    add_63: "f32[3072, 768]" = aten.add.Tensor(div_24, mul_115)
    mul_116: "f32[3072, 768]" = aten.mul.Tensor(add_61, 1)
    div_25: "f32[3072, 768]" = aten.div.Tensor(mul_116, add_63)
    add_64: "f32[3072, 768]" = aten.add.Tensor(mul_108, div_25)
    add_65: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_0_mlp_c_proj_bias, 1)
    mul_117: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_0_mlp_c_proj_bias, 0.99999)
    where_14: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_0_mlp_c_proj_bias, state_exp_avg_model_transformer_h_0_mlp_c_proj_bias)
    sub_40: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_0_mlp_c_proj_bias, state_exp_avg_model_transformer_h_0_mlp_c_proj_bias)
    mul_118: "f32[768]" = aten.mul.Tensor(where, sub_40)
    add_66: "f32[768]" = aten.add.Tensor(mul_118, where_14)
    mul_119: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_0_mlp_c_proj_bias, 0.999)
    mul_120: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_0_mlp_c_proj_bias, 0.0010000000000000009)
    mul_121: "f32[768]" = aten.mul.Tensor(mul_120, gradients_model_transformer_h_0_mlp_c_proj_bias)
    add_67: "f32[768]" = aten.add.Tensor(mul_119, mul_121)
    pow_26: "f32[]" = aten.pow.Scalar(0.9, add_65)
    sub_41: "f32[]" = aten.sub.Tensor(1, pow_26)
    pow_27: "f32[]" = aten.pow.Scalar(0.999, add_65)
    sub_42: "f32[]" = aten.sub.Tensor(1, pow_27)
    reciprocal_26: "f32[]" = aten.reciprocal.default(sub_41)
    mul_122: "f32[]" = aten.mul.Tensor(reciprocal_26, 0.001)
    neg_13: "f32[]" = aten.neg.default(mul_122)
    sqrt_26: "f32[]" = aten.sqrt.default(sub_42)
    sqrt_27: "f32[768]" = aten.sqrt.default(add_67)
    mul_123: "f32[]" = aten.mul.Tensor(sqrt_26, neg_13)
    div_26: "f32[768]" = aten.div.Tensor(sqrt_27, mul_123)
    reciprocal_27: "f32[]" = aten.reciprocal.default(neg_13)
    mul_124: "f32[]" = aten.mul.Tensor(reciprocal_27, 1e-08)
    add_68: "f32[768]" = aten.add.Tensor(div_26, mul_124)
    mul_125: "f32[768]" = aten.mul.Tensor(add_66, 1)
    div_27: "f32[768]" = aten.div.Tensor(mul_125, add_68)
    add_69: "f32[768]" = aten.add.Tensor(mul_117, div_27)
    add_70: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_ln_1_weight, 1)
    mul_126: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_1_ln_1_weight, 0.99999)
    where_15: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_1_ln_1_weight, state_exp_avg_model_transformer_h_1_ln_1_weight)
    sub_43: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_1_ln_1_weight, state_exp_avg_model_transformer_h_1_ln_1_weight)
    mul_127: "f32[768]" = aten.mul.Tensor(where, sub_43)
    add_71: "f32[768]" = aten.add.Tensor(mul_127, where_15)
    mul_128: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_ln_1_weight, 0.999)
    mul_129: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_1_ln_1_weight, 0.0010000000000000009)
    mul_130: "f32[768]" = aten.mul.Tensor(mul_129, gradients_model_transformer_h_1_ln_1_weight)
    add_72: "f32[768]" = aten.add.Tensor(mul_128, mul_130)
    pow_28: "f32[]" = aten.pow.Scalar(0.9, add_70)
    sub_44: "f32[]" = aten.sub.Tensor(1, pow_28)
    pow_29: "f32[]" = aten.pow.Scalar(0.999, add_70)
    sub_45: "f32[]" = aten.sub.Tensor(1, pow_29)
    reciprocal_28: "f32[]" = aten.reciprocal.default(sub_44)
    mul_131: "f32[]" = aten.mul.Tensor(reciprocal_28, 0.001)
    neg_14: "f32[]" = aten.neg.default(mul_131)
    sqrt_28: "f32[]" = aten.sqrt.default(sub_45)
    sqrt_29: "f32[768]" = aten.sqrt.default(add_72)
    mul_132: "f32[]" = aten.mul.Tensor(sqrt_28, neg_14)
    div_28: "f32[768]" = aten.div.Tensor(sqrt_29, mul_132)
    reciprocal_29: "f32[]" = aten.reciprocal.default(neg_14)
    mul_133: "f32[]" = aten.mul.Tensor(reciprocal_29, 1e-08)
    add_73: "f32[768]" = aten.add.Tensor(div_28, mul_133)
    mul_134: "f32[768]" = aten.mul.Tensor(add_71, 1)
    div_29: "f32[768]" = aten.div.Tensor(mul_134, add_73)
    add_74: "f32[768]" = aten.add.Tensor(mul_126, div_29)
    add_75: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_ln_1_bias, 1)
    mul_135: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_1_ln_1_bias, 0.99999)
    where_16: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_1_ln_1_bias, state_exp_avg_model_transformer_h_1_ln_1_bias)
    sub_46: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_1_ln_1_bias, state_exp_avg_model_transformer_h_1_ln_1_bias)
    mul_136: "f32[768]" = aten.mul.Tensor(where, sub_46)
    add_76: "f32[768]" = aten.add.Tensor(mul_136, where_16)
    mul_137: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_ln_1_bias, 0.999)
    mul_138: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_1_ln_1_bias, 0.0010000000000000009)
    mul_139: "f32[768]" = aten.mul.Tensor(mul_138, gradients_model_transformer_h_1_ln_1_bias)
    add_77: "f32[768]" = aten.add.Tensor(mul_137, mul_139)
    pow_30: "f32[]" = aten.pow.Scalar(0.9, add_75)
    sub_47: "f32[]" = aten.sub.Tensor(1, pow_30)
    pow_31: "f32[]" = aten.pow.Scalar(0.999, add_75)
    sub_48: "f32[]" = aten.sub.Tensor(1, pow_31)
    reciprocal_30: "f32[]" = aten.reciprocal.default(sub_47)
    mul_140: "f32[]" = aten.mul.Tensor(reciprocal_30, 0.001)
    neg_15: "f32[]" = aten.neg.default(mul_140)
    sqrt_30: "f32[]" = aten.sqrt.default(sub_48)
    sqrt_31: "f32[768]" = aten.sqrt.default(add_77)
    mul_141: "f32[]" = aten.mul.Tensor(sqrt_30, neg_15)
    div_30: "f32[768]" = aten.div.Tensor(sqrt_31, mul_141)
    reciprocal_31: "f32[]" = aten.reciprocal.default(neg_15)
    mul_142: "f32[]" = aten.mul.Tensor(reciprocal_31, 1e-08)
    add_78: "f32[768]" = aten.add.Tensor(div_30, mul_142)
    mul_143: "f32[768]" = aten.mul.Tensor(add_76, 1)
    div_31: "f32[768]" = aten.div.Tensor(mul_143, add_78)
    add_79: "f32[768]" = aten.add.Tensor(mul_135, div_31)
    add_80: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_attn_c_attn_weight, 1)
    mul_144: "f32[768, 2304]" = aten.mul.Tensor(parameters_model_transformer_h_1_attn_c_attn_weight, 0.99999)
    where_17: "f32[768, 2304]" = aten.where.self(ge, gradients_model_transformer_h_1_attn_c_attn_weight, state_exp_avg_model_transformer_h_1_attn_c_attn_weight)
    sub_49: "f32[768, 2304]" = aten.sub.Tensor(gradients_model_transformer_h_1_attn_c_attn_weight, state_exp_avg_model_transformer_h_1_attn_c_attn_weight)
    mul_145: "f32[768, 2304]" = aten.mul.Tensor(where, sub_49)
    add_81: "f32[768, 2304]" = aten.add.Tensor(mul_145, where_17)
    mul_146: "f32[768, 2304]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_attn_c_attn_weight, 0.999)
    mul_147: "f32[768, 2304]" = aten.mul.Tensor(gradients_model_transformer_h_1_attn_c_attn_weight, 0.0010000000000000009)
    mul_148: "f32[768, 2304]" = aten.mul.Tensor(mul_147, gradients_model_transformer_h_1_attn_c_attn_weight)
    add_82: "f32[768, 2304]" = aten.add.Tensor(mul_146, mul_148)
    pow_32: "f32[]" = aten.pow.Scalar(0.9, add_80)
    sub_50: "f32[]" = aten.sub.Tensor(1, pow_32)
    pow_33: "f32[]" = aten.pow.Scalar(0.999, add_80)
    sub_51: "f32[]" = aten.sub.Tensor(1, pow_33)
    reciprocal_32: "f32[]" = aten.reciprocal.default(sub_50)
    mul_149: "f32[]" = aten.mul.Tensor(reciprocal_32, 0.001)
    neg_16: "f32[]" = aten.neg.default(mul_149)
    sqrt_32: "f32[]" = aten.sqrt.default(sub_51)
    sqrt_33: "f32[768, 2304]" = aten.sqrt.default(add_82)
    mul_150: "f32[]" = aten.mul.Tensor(sqrt_32, neg_16)
    div_32: "f32[768, 2304]" = aten.div.Tensor(sqrt_33, mul_150)
    reciprocal_33: "f32[]" = aten.reciprocal.default(neg_16)
    mul_151: "f32[]" = aten.mul.Tensor(reciprocal_33, 1e-08)
    add_83: "f32[768, 2304]" = aten.add.Tensor(div_32, mul_151)
    mul_152: "f32[768, 2304]" = aten.mul.Tensor(add_81, 1)
    div_33: "f32[768, 2304]" = aten.div.Tensor(mul_152, add_83)
    add_84: "f32[768, 2304]" = aten.add.Tensor(mul_144, div_33)
    add_85: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_attn_c_attn_bias, 1)
    mul_153: "f32[2304]" = aten.mul.Tensor(parameters_model_transformer_h_1_attn_c_attn_bias, 0.99999)
    where_18: "f32[2304]" = aten.where.self(ge, gradients_model_transformer_h_1_attn_c_attn_bias, state_exp_avg_model_transformer_h_1_attn_c_attn_bias)
    sub_52: "f32[2304]" = aten.sub.Tensor(gradients_model_transformer_h_1_attn_c_attn_bias, state_exp_avg_model_transformer_h_1_attn_c_attn_bias)
    mul_154: "f32[2304]" = aten.mul.Tensor(where, sub_52)
    add_86: "f32[2304]" = aten.add.Tensor(mul_154, where_18)
    mul_155: "f32[2304]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_attn_c_attn_bias, 0.999)
    mul_156: "f32[2304]" = aten.mul.Tensor(gradients_model_transformer_h_1_attn_c_attn_bias, 0.0010000000000000009)
    mul_157: "f32[2304]" = aten.mul.Tensor(mul_156, gradients_model_transformer_h_1_attn_c_attn_bias)
    add_87: "f32[2304]" = aten.add.Tensor(mul_155, mul_157)
    pow_34: "f32[]" = aten.pow.Scalar(0.9, add_85)
    sub_53: "f32[]" = aten.sub.Tensor(1, pow_34)
    pow_35: "f32[]" = aten.pow.Scalar(0.999, add_85)
    sub_54: "f32[]" = aten.sub.Tensor(1, pow_35)
    reciprocal_34: "f32[]" = aten.reciprocal.default(sub_53)
    mul_158: "f32[]" = aten.mul.Tensor(reciprocal_34, 0.001)
    neg_17: "f32[]" = aten.neg.default(mul_158)
    sqrt_34: "f32[]" = aten.sqrt.default(sub_54)
    sqrt_35: "f32[2304]" = aten.sqrt.default(add_87)
    mul_159: "f32[]" = aten.mul.Tensor(sqrt_34, neg_17)
    div_34: "f32[2304]" = aten.div.Tensor(sqrt_35, mul_159)
    reciprocal_35: "f32[]" = aten.reciprocal.default(neg_17)
    mul_160: "f32[]" = aten.mul.Tensor(reciprocal_35, 1e-08)
    add_88: "f32[2304]" = aten.add.Tensor(div_34, mul_160)
    mul_161: "f32[2304]" = aten.mul.Tensor(add_86, 1)
    div_35: "f32[2304]" = aten.div.Tensor(mul_161, add_88)
    add_89: "f32[2304]" = aten.add.Tensor(mul_153, div_35)
    add_90: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_attn_c_proj_weight, 1)
    mul_162: "f32[768, 768]" = aten.mul.Tensor(parameters_model_transformer_h_1_attn_c_proj_weight, 0.99999)
    where_19: "f32[768, 768]" = aten.where.self(ge, gradients_model_transformer_h_1_attn_c_proj_weight, state_exp_avg_model_transformer_h_1_attn_c_proj_weight)
    sub_55: "f32[768, 768]" = aten.sub.Tensor(gradients_model_transformer_h_1_attn_c_proj_weight, state_exp_avg_model_transformer_h_1_attn_c_proj_weight)
    mul_163: "f32[768, 768]" = aten.mul.Tensor(where, sub_55)
    add_91: "f32[768, 768]" = aten.add.Tensor(mul_163, where_19)
    mul_164: "f32[768, 768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_attn_c_proj_weight, 0.999)
    mul_165: "f32[768, 768]" = aten.mul.Tensor(gradients_model_transformer_h_1_attn_c_proj_weight, 0.0010000000000000009)
    mul_166: "f32[768, 768]" = aten.mul.Tensor(mul_165, gradients_model_transformer_h_1_attn_c_proj_weight)
    add_92: "f32[768, 768]" = aten.add.Tensor(mul_164, mul_166)
    pow_36: "f32[]" = aten.pow.Scalar(0.9, add_90)
    sub_56: "f32[]" = aten.sub.Tensor(1, pow_36)
    pow_37: "f32[]" = aten.pow.Scalar(0.999, add_90)
    sub_57: "f32[]" = aten.sub.Tensor(1, pow_37)
    reciprocal_36: "f32[]" = aten.reciprocal.default(sub_56)
    mul_167: "f32[]" = aten.mul.Tensor(reciprocal_36, 0.001)
    neg_18: "f32[]" = aten.neg.default(mul_167)
    sqrt_36: "f32[]" = aten.sqrt.default(sub_57)
    sqrt_37: "f32[768, 768]" = aten.sqrt.default(add_92)
    mul_168: "f32[]" = aten.mul.Tensor(sqrt_36, neg_18)
    div_36: "f32[768, 768]" = aten.div.Tensor(sqrt_37, mul_168)
    reciprocal_37: "f32[]" = aten.reciprocal.default(neg_18)
    mul_169: "f32[]" = aten.mul.Tensor(reciprocal_37, 1e-08)
    add_93: "f32[768, 768]" = aten.add.Tensor(div_36, mul_169)
    mul_170: "f32[768, 768]" = aten.mul.Tensor(add_91, 1)
    div_37: "f32[768, 768]" = aten.div.Tensor(mul_170, add_93)
    add_94: "f32[768, 768]" = aten.add.Tensor(mul_162, div_37)
    add_95: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_attn_c_proj_bias, 1)
    mul_171: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_1_attn_c_proj_bias, 0.99999)
    where_20: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_1_attn_c_proj_bias, state_exp_avg_model_transformer_h_1_attn_c_proj_bias)
    sub_58: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_1_attn_c_proj_bias, state_exp_avg_model_transformer_h_1_attn_c_proj_bias)
    mul_172: "f32[768]" = aten.mul.Tensor(where, sub_58)
    add_96: "f32[768]" = aten.add.Tensor(mul_172, where_20)
    mul_173: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_attn_c_proj_bias, 0.999)
    mul_174: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_1_attn_c_proj_bias, 0.0010000000000000009)
    mul_175: "f32[768]" = aten.mul.Tensor(mul_174, gradients_model_transformer_h_1_attn_c_proj_bias)
    add_97: "f32[768]" = aten.add.Tensor(mul_173, mul_175)
    pow_38: "f32[]" = aten.pow.Scalar(0.9, add_95)
    sub_59: "f32[]" = aten.sub.Tensor(1, pow_38)
    pow_39: "f32[]" = aten.pow.Scalar(0.999, add_95)
    sub_60: "f32[]" = aten.sub.Tensor(1, pow_39)
    reciprocal_38: "f32[]" = aten.reciprocal.default(sub_59)
    mul_176: "f32[]" = aten.mul.Tensor(reciprocal_38, 0.001)
    neg_19: "f32[]" = aten.neg.default(mul_176)
    sqrt_38: "f32[]" = aten.sqrt.default(sub_60)
    sqrt_39: "f32[768]" = aten.sqrt.default(add_97)
    mul_177: "f32[]" = aten.mul.Tensor(sqrt_38, neg_19)
    div_38: "f32[768]" = aten.div.Tensor(sqrt_39, mul_177)
    reciprocal_39: "f32[]" = aten.reciprocal.default(neg_19)
    mul_178: "f32[]" = aten.mul.Tensor(reciprocal_39, 1e-08)
    add_98: "f32[768]" = aten.add.Tensor(div_38, mul_178)
    mul_179: "f32[768]" = aten.mul.Tensor(add_96, 1)
    div_39: "f32[768]" = aten.div.Tensor(mul_179, add_98)
    add_99: "f32[768]" = aten.add.Tensor(mul_171, div_39)
    add_100: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_ln_2_weight, 1)
    mul_180: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_1_ln_2_weight, 0.99999)
    where_21: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_1_ln_2_weight, state_exp_avg_model_transformer_h_1_ln_2_weight)
    sub_61: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_1_ln_2_weight, state_exp_avg_model_transformer_h_1_ln_2_weight)
    mul_181: "f32[768]" = aten.mul.Tensor(where, sub_61)
    add_101: "f32[768]" = aten.add.Tensor(mul_181, where_21)
    mul_182: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_ln_2_weight, 0.999)
    mul_183: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_1_ln_2_weight, 0.0010000000000000009)
    mul_184: "f32[768]" = aten.mul.Tensor(mul_183, gradients_model_transformer_h_1_ln_2_weight)
    add_102: "f32[768]" = aten.add.Tensor(mul_182, mul_184)
    pow_40: "f32[]" = aten.pow.Scalar(0.9, add_100)
    sub_62: "f32[]" = aten.sub.Tensor(1, pow_40)
    pow_41: "f32[]" = aten.pow.Scalar(0.999, add_100)
    sub_63: "f32[]" = aten.sub.Tensor(1, pow_41)
    reciprocal_40: "f32[]" = aten.reciprocal.default(sub_62)
    mul_185: "f32[]" = aten.mul.Tensor(reciprocal_40, 0.001)
    neg_20: "f32[]" = aten.neg.default(mul_185)
    sqrt_40: "f32[]" = aten.sqrt.default(sub_63)
    sqrt_41: "f32[768]" = aten.sqrt.default(add_102)
    mul_186: "f32[]" = aten.mul.Tensor(sqrt_40, neg_20)
    div_40: "f32[768]" = aten.div.Tensor(sqrt_41, mul_186)
    reciprocal_41: "f32[]" = aten.reciprocal.default(neg_20)
    mul_187: "f32[]" = aten.mul.Tensor(reciprocal_41, 1e-08)
    add_103: "f32[768]" = aten.add.Tensor(div_40, mul_187)
    mul_188: "f32[768]" = aten.mul.Tensor(add_101, 1)
    div_41: "f32[768]" = aten.div.Tensor(mul_188, add_103)
    add_104: "f32[768]" = aten.add.Tensor(mul_180, div_41)
    add_105: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_ln_2_bias, 1)
    mul_189: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_1_ln_2_bias, 0.99999)
    where_22: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_1_ln_2_bias, state_exp_avg_model_transformer_h_1_ln_2_bias)
    sub_64: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_1_ln_2_bias, state_exp_avg_model_transformer_h_1_ln_2_bias)
    mul_190: "f32[768]" = aten.mul.Tensor(where, sub_64)
    add_106: "f32[768]" = aten.add.Tensor(mul_190, where_22)
    mul_191: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_ln_2_bias, 0.999)
    mul_192: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_1_ln_2_bias, 0.0010000000000000009)
    mul_193: "f32[768]" = aten.mul.Tensor(mul_192, gradients_model_transformer_h_1_ln_2_bias)
    add_107: "f32[768]" = aten.add.Tensor(mul_191, mul_193)
    pow_42: "f32[]" = aten.pow.Scalar(0.9, add_105)
    sub_65: "f32[]" = aten.sub.Tensor(1, pow_42)
    pow_43: "f32[]" = aten.pow.Scalar(0.999, add_105)
    sub_66: "f32[]" = aten.sub.Tensor(1, pow_43)
    reciprocal_42: "f32[]" = aten.reciprocal.default(sub_65)
    mul_194: "f32[]" = aten.mul.Tensor(reciprocal_42, 0.001)
    neg_21: "f32[]" = aten.neg.default(mul_194)
    sqrt_42: "f32[]" = aten.sqrt.default(sub_66)
    sqrt_43: "f32[768]" = aten.sqrt.default(add_107)
    mul_195: "f32[]" = aten.mul.Tensor(sqrt_42, neg_21)
    div_42: "f32[768]" = aten.div.Tensor(sqrt_43, mul_195)
    reciprocal_43: "f32[]" = aten.reciprocal.default(neg_21)
    mul_196: "f32[]" = aten.mul.Tensor(reciprocal_43, 1e-08)
    add_108: "f32[768]" = aten.add.Tensor(div_42, mul_196)
    mul_197: "f32[768]" = aten.mul.Tensor(add_106, 1)
    div_43: "f32[768]" = aten.div.Tensor(mul_197, add_108)
    add_109: "f32[768]" = aten.add.Tensor(mul_189, div_43)
    add_110: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_mlp_c_fc_weight, 1)
    mul_198: "f32[768, 3072]" = aten.mul.Tensor(parameters_model_transformer_h_1_mlp_c_fc_weight, 0.99999)
    where_23: "f32[768, 3072]" = aten.where.self(ge, gradients_model_transformer_h_1_mlp_c_fc_weight, state_exp_avg_model_transformer_h_1_mlp_c_fc_weight)
    sub_67: "f32[768, 3072]" = aten.sub.Tensor(gradients_model_transformer_h_1_mlp_c_fc_weight, state_exp_avg_model_transformer_h_1_mlp_c_fc_weight)
    mul_199: "f32[768, 3072]" = aten.mul.Tensor(where, sub_67)
    add_111: "f32[768, 3072]" = aten.add.Tensor(mul_199, where_23)
    mul_200: "f32[768, 3072]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_mlp_c_fc_weight, 0.999)
    mul_201: "f32[768, 3072]" = aten.mul.Tensor(gradients_model_transformer_h_1_mlp_c_fc_weight, 0.0010000000000000009)
    mul_202: "f32[768, 3072]" = aten.mul.Tensor(mul_201, gradients_model_transformer_h_1_mlp_c_fc_weight)
    add_112: "f32[768, 3072]" = aten.add.Tensor(mul_200, mul_202)
    pow_44: "f32[]" = aten.pow.Scalar(0.9, add_110)
    sub_68: "f32[]" = aten.sub.Tensor(1, pow_44)
    pow_45: "f32[]" = aten.pow.Scalar(0.999, add_110)
    sub_69: "f32[]" = aten.sub.Tensor(1, pow_45)
    reciprocal_44: "f32[]" = aten.reciprocal.default(sub_68)
    mul_203: "f32[]" = aten.mul.Tensor(reciprocal_44, 0.001)
    neg_22: "f32[]" = aten.neg.default(mul_203)
    sqrt_44: "f32[]" = aten.sqrt.default(sub_69)
    sqrt_45: "f32[768, 3072]" = aten.sqrt.default(add_112)
    mul_204: "f32[]" = aten.mul.Tensor(sqrt_44, neg_22)
    div_44: "f32[768, 3072]" = aten.div.Tensor(sqrt_45, mul_204)
    reciprocal_45: "f32[]" = aten.reciprocal.default(neg_22)
    mul_205: "f32[]" = aten.mul.Tensor(reciprocal_45, 1e-08)
    add_113: "f32[768, 3072]" = aten.add.Tensor(div_44, mul_205)
    mul_206: "f32[768, 3072]" = aten.mul.Tensor(add_111, 1)
    div_45: "f32[768, 3072]" = aten.div.Tensor(mul_206, add_113)
    add_114: "f32[768, 3072]" = aten.add.Tensor(mul_198, div_45)
    add_115: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_mlp_c_fc_bias, 1)
    mul_207: "f32[3072]" = aten.mul.Tensor(parameters_model_transformer_h_1_mlp_c_fc_bias, 0.99999)
    where_24: "f32[3072]" = aten.where.self(ge, gradients_model_transformer_h_1_mlp_c_fc_bias, state_exp_avg_model_transformer_h_1_mlp_c_fc_bias)
    sub_70: "f32[3072]" = aten.sub.Tensor(gradients_model_transformer_h_1_mlp_c_fc_bias, state_exp_avg_model_transformer_h_1_mlp_c_fc_bias)
    mul_208: "f32[3072]" = aten.mul.Tensor(where, sub_70)
    add_116: "f32[3072]" = aten.add.Tensor(mul_208, where_24)
    mul_209: "f32[3072]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_mlp_c_fc_bias, 0.999)
    mul_210: "f32[3072]" = aten.mul.Tensor(gradients_model_transformer_h_1_mlp_c_fc_bias, 0.0010000000000000009)
    mul_211: "f32[3072]" = aten.mul.Tensor(mul_210, gradients_model_transformer_h_1_mlp_c_fc_bias)
    add_117: "f32[3072]" = aten.add.Tensor(mul_209, mul_211)
    pow_46: "f32[]" = aten.pow.Scalar(0.9, add_115)
    sub_71: "f32[]" = aten.sub.Tensor(1, pow_46)
    pow_47: "f32[]" = aten.pow.Scalar(0.999, add_115)
    sub_72: "f32[]" = aten.sub.Tensor(1, pow_47)
    reciprocal_46: "f32[]" = aten.reciprocal.default(sub_71)
    mul_212: "f32[]" = aten.mul.Tensor(reciprocal_46, 0.001)
    neg_23: "f32[]" = aten.neg.default(mul_212)
    sqrt_46: "f32[]" = aten.sqrt.default(sub_72)
    sqrt_47: "f32[3072]" = aten.sqrt.default(add_117)
    mul_213: "f32[]" = aten.mul.Tensor(sqrt_46, neg_23)
    div_46: "f32[3072]" = aten.div.Tensor(sqrt_47, mul_213)
    reciprocal_47: "f32[]" = aten.reciprocal.default(neg_23)
    mul_214: "f32[]" = aten.mul.Tensor(reciprocal_47, 1e-08)
    add_118: "f32[3072]" = aten.add.Tensor(div_46, mul_214)
    mul_215: "f32[3072]" = aten.mul.Tensor(add_116, 1)
    div_47: "f32[3072]" = aten.div.Tensor(mul_215, add_118)
    add_119: "f32[3072]" = aten.add.Tensor(mul_207, div_47)
    add_120: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_mlp_c_proj_weight, 1)
    mul_216: "f32[3072, 768]" = aten.mul.Tensor(parameters_model_transformer_h_1_mlp_c_proj_weight, 0.99999)
    where_25: "f32[3072, 768]" = aten.where.self(ge, gradients_model_transformer_h_1_mlp_c_proj_weight, state_exp_avg_model_transformer_h_1_mlp_c_proj_weight)
    sub_73: "f32[3072, 768]" = aten.sub.Tensor(gradients_model_transformer_h_1_mlp_c_proj_weight, state_exp_avg_model_transformer_h_1_mlp_c_proj_weight)
    mul_217: "f32[3072, 768]" = aten.mul.Tensor(where, sub_73)
    add_121: "f32[3072, 768]" = aten.add.Tensor(mul_217, where_25)
    mul_218: "f32[3072, 768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_mlp_c_proj_weight, 0.999)
    mul_219: "f32[3072, 768]" = aten.mul.Tensor(gradients_model_transformer_h_1_mlp_c_proj_weight, 0.0010000000000000009)
    mul_220: "f32[3072, 768]" = aten.mul.Tensor(mul_219, gradients_model_transformer_h_1_mlp_c_proj_weight)
    add_122: "f32[3072, 768]" = aten.add.Tensor(mul_218, mul_220)
    pow_48: "f32[]" = aten.pow.Scalar(0.9, add_120)
    sub_74: "f32[]" = aten.sub.Tensor(1, pow_48)
    pow_49: "f32[]" = aten.pow.Scalar(0.999, add_120)
    sub_75: "f32[]" = aten.sub.Tensor(1, pow_49)
    reciprocal_48: "f32[]" = aten.reciprocal.default(sub_74)
    mul_221: "f32[]" = aten.mul.Tensor(reciprocal_48, 0.001)
    neg_24: "f32[]" = aten.neg.default(mul_221)
    sqrt_48: "f32[]" = aten.sqrt.default(sub_75)
    sqrt_49: "f32[3072, 768]" = aten.sqrt.default(add_122)
    mul_222: "f32[]" = aten.mul.Tensor(sqrt_48, neg_24)
    div_48: "f32[3072, 768]" = aten.div.Tensor(sqrt_49, mul_222)
    reciprocal_49: "f32[]" = aten.reciprocal.default(neg_24)
    mul_223: "f32[]" = aten.mul.Tensor(reciprocal_49, 1e-08)
    add_123: "f32[3072, 768]" = aten.add.Tensor(div_48, mul_223)
    mul_224: "f32[3072, 768]" = aten.mul.Tensor(add_121, 1)
    div_49: "f32[3072, 768]" = aten.div.Tensor(mul_224, add_123)
    add_124: "f32[3072, 768]" = aten.add.Tensor(mul_216, div_49)
    add_125: "f32[]" = aten.add.Tensor(state_step_model_transformer_h_1_mlp_c_proj_bias, 1)
    mul_225: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_h_1_mlp_c_proj_bias, 0.99999)
    where_26: "f32[768]" = aten.where.self(ge, gradients_model_transformer_h_1_mlp_c_proj_bias, state_exp_avg_model_transformer_h_1_mlp_c_proj_bias)
    sub_76: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_h_1_mlp_c_proj_bias, state_exp_avg_model_transformer_h_1_mlp_c_proj_bias)
    mul_226: "f32[768]" = aten.mul.Tensor(where, sub_76)
    add_126: "f32[768]" = aten.add.Tensor(mul_226, where_26)
    mul_227: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_h_1_mlp_c_proj_bias, 0.999)
    mul_228: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_h_1_mlp_c_proj_bias, 0.0010000000000000009)
    mul_229: "f32[768]" = aten.mul.Tensor(mul_228, gradients_model_transformer_h_1_mlp_c_proj_bias)
    add_127: "f32[768]" = aten.add.Tensor(mul_227, mul_229)
    pow_50: "f32[]" = aten.pow.Scalar(0.9, add_125)
    sub_77: "f32[]" = aten.sub.Tensor(1, pow_50)
    pow_51: "f32[]" = aten.pow.Scalar(0.999, add_125)
    sub_78: "f32[]" = aten.sub.Tensor(1, pow_51)
    reciprocal_50: "f32[]" = aten.reciprocal.default(sub_77)
    mul_230: "f32[]" = aten.mul.Tensor(reciprocal_50, 0.001)
    neg_25: "f32[]" = aten.neg.default(mul_230)
    sqrt_50: "f32[]" = aten.sqrt.default(sub_78)
    sqrt_51: "f32[768]" = aten.sqrt.default(add_127)
    mul_231: "f32[]" = aten.mul.Tensor(sqrt_50, neg_25)
    div_50: "f32[768]" = aten.div.Tensor(sqrt_51, mul_231)
    reciprocal_51: "f32[]" = aten.reciprocal.default(neg_25)
    mul_232: "f32[]" = aten.mul.Tensor(reciprocal_51, 1e-08)
    add_128: "f32[768]" = aten.add.Tensor(div_50, mul_232)
    mul_233: "f32[768]" = aten.mul.Tensor(add_126, 1)
    div_51: "f32[768]" = aten.div.Tensor(mul_233, add_128)
    add_129: "f32[768]" = aten.add.Tensor(mul_225, div_51)
    add_130: "f32[]" = aten.add.Tensor(state_step_model_transformer_ln_f_weight, 1)
    mul_234: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_ln_f_weight, 0.99999)
    where_27: "f32[768]" = aten.where.self(ge, gradients_model_transformer_ln_f_weight, state_exp_avg_model_transformer_ln_f_weight)
    sub_79: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_ln_f_weight, state_exp_avg_model_transformer_ln_f_weight)
    mul_235: "f32[768]" = aten.mul.Tensor(where, sub_79)
    add_131: "f32[768]" = aten.add.Tensor(mul_235, where_27)
    mul_236: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_ln_f_weight, 0.999)
    mul_237: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_ln_f_weight, 0.0010000000000000009)
    mul_238: "f32[768]" = aten.mul.Tensor(mul_237, gradients_model_transformer_ln_f_weight)
    add_132: "f32[768]" = aten.add.Tensor(mul_236, mul_238)
    pow_52: "f32[]" = aten.pow.Scalar(0.9, add_130)
    sub_80: "f32[]" = aten.sub.Tensor(1, pow_52)
    pow_53: "f32[]" = aten.pow.Scalar(0.999, add_130)
    sub_81: "f32[]" = aten.sub.Tensor(1, pow_53)
    reciprocal_52: "f32[]" = aten.reciprocal.default(sub_80)
    mul_239: "f32[]" = aten.mul.Tensor(reciprocal_52, 0.001)
    neg_26: "f32[]" = aten.neg.default(mul_239)
    sqrt_52: "f32[]" = aten.sqrt.default(sub_81)
    sqrt_53: "f32[768]" = aten.sqrt.default(add_132)
    mul_240: "f32[]" = aten.mul.Tensor(sqrt_52, neg_26)
    div_52: "f32[768]" = aten.div.Tensor(sqrt_53, mul_240)
    reciprocal_53: "f32[]" = aten.reciprocal.default(neg_26)
    mul_241: "f32[]" = aten.mul.Tensor(reciprocal_53, 1e-08)
    add_133: "f32[768]" = aten.add.Tensor(div_52, mul_241)
    mul_242: "f32[768]" = aten.mul.Tensor(add_131, 1)
    div_53: "f32[768]" = aten.div.Tensor(mul_242, add_133)
    add_134: "f32[768]" = aten.add.Tensor(mul_234, div_53)
    add_135: "f32[]" = aten.add.Tensor(state_step_model_transformer_ln_f_bias, 1)
    mul_243: "f32[768]" = aten.mul.Tensor(parameters_model_transformer_ln_f_bias, 0.99999)
    where_28: "f32[768]" = aten.where.self(ge, gradients_model_transformer_ln_f_bias, state_exp_avg_model_transformer_ln_f_bias)
    sub_82: "f32[768]" = aten.sub.Tensor(gradients_model_transformer_ln_f_bias, state_exp_avg_model_transformer_ln_f_bias)
    mul_244: "f32[768]" = aten.mul.Tensor(where, sub_82)
    add_136: "f32[768]" = aten.add.Tensor(mul_244, where_28)
    mul_245: "f32[768]" = aten.mul.Tensor(state_exp_avg_sq_model_transformer_ln_f_bias, 0.999)
    mul_246: "f32[768]" = aten.mul.Tensor(gradients_model_transformer_ln_f_bias, 0.0010000000000000009)
    mul_247: "f32[768]" = aten.mul.Tensor(mul_246, gradients_model_transformer_ln_f_bias)
    add_137: "f32[768]" = aten.add.Tensor(mul_245, mul_247)
    pow_54: "f32[]" = aten.pow.Scalar(0.9, add_135)
    sub_83: "f32[]" = aten.sub.Tensor(1, pow_54)
    pow_55: "f32[]" = aten.pow.Scalar(0.999, add_135)
    sub_84: "f32[]" = aten.sub.Tensor(1, pow_55)
    reciprocal_54: "f32[]" = aten.reciprocal.default(sub_83)
    mul_248: "f32[]" = aten.mul.Tensor(reciprocal_54, 0.001)
    neg_27: "f32[]" = aten.neg.default(mul_248)
    sqrt_54: "f32[]" = aten.sqrt.default(sub_84)
    sqrt_55: "f32[768]" = aten.sqrt.default(add_137)
    mul_249: "f32[]" = aten.mul.Tensor(sqrt_54, neg_27)
    div_54: "f32[768]" = aten.div.Tensor(sqrt_55, mul_249)
    reciprocal_55: "f32[]" = aten.reciprocal.default(neg_27)
    mul_250: "f32[]" = aten.mul.Tensor(reciprocal_55, 1e-08)
    add_138: "f32[768]" = aten.add.Tensor(div_54, mul_250)
    mul_251: "f32[768]" = aten.mul.Tensor(add_136, 1)
    div_55: "f32[768]" = aten.div.Tensor(mul_251, add_138)
    add_139: "f32[768]" = aten.add.Tensor(mul_243, div_55)
    parameters_model_transformer_wte_weight[...] = add_4
    parameters_model_transformer_wpe_weight[...] = add_9
    parameters_model_transformer_h_0_ln_1_weight[...] = add_14
    parameters_model_transformer_h_0_ln_1_bias[...] = add_19
    parameters_model_transformer_h_0_attn_c_attn_weight[...] = add_24
    parameters_model_transformer_h_0_attn_c_attn_bias[...] = add_29
    parameters_model_transformer_h_0_attn_c_proj_weight[...] = add_34
    parameters_model_transformer_h_0_attn_c_proj_bias[...] = add_39
    parameters_model_transformer_h_0_ln_2_weight[...] = add_44
    parameters_model_transformer_h_0_ln_2_bias[...] = add_49
    parameters_model_transformer_h_0_mlp_c_fc_weight[...] = add_54
    parameters_model_transformer_h_0_mlp_c_fc_bias[...] = add_59
    parameters_model_transformer_h_0_mlp_c_proj_weight[...] = add_64
    parameters_model_transformer_h_0_mlp_c_proj_bias[...] = add_69
    parameters_model_transformer_h_1_ln_1_weight[...] = add_74
    parameters_model_transformer_h_1_ln_1_bias[...] = add_79
    parameters_model_transformer_h_1_attn_c_attn_weight[...] = add_84
    parameters_model_transformer_h_1_attn_c_attn_bias[...] = add_89
    parameters_model_transformer_h_1_attn_c_proj_weight[...] = add_94
    parameters_model_transformer_h_1_attn_c_proj_bias[...] = add_99
    parameters_model_transformer_h_1_ln_2_weight[...] = add_104
    parameters_model_transformer_h_1_ln_2_bias[...] = add_109
    parameters_model_transformer_h_1_mlp_c_fc_weight[...] = add_114
    parameters_model_transformer_h_1_mlp_c_fc_bias[...] = add_119
    parameters_model_transformer_h_1_mlp_c_proj_weight[...] = add_124
    parameters_model_transformer_h_1_mlp_c_proj_bias[...] = add_129
    parameters_model_transformer_ln_f_weight[...] = add_134
    parameters_model_transformer_ln_f_bias[...] = add_139
    state_exp_avg_model_transformer_wte_weight[...] = add_1
    state_exp_avg_model_transformer_wpe_weight[...] = add_6
    state_exp_avg_model_transformer_h_0_ln_1_weight[...] = add_11
    state_exp_avg_model_transformer_h_0_ln_1_bias[...] = add_16
    state_exp_avg_model_transformer_h_0_attn_c_attn_weight[...] = add_21
    state_exp_avg_model_transformer_h_0_attn_c_attn_bias[...] = add_26
    state_exp_avg_model_transformer_h_0_attn_c_proj_weight[...] = add_31
    state_exp_avg_model_transformer_h_0_attn_c_proj_bias[...] = add_36
    state_exp_avg_model_transformer_h_0_ln_2_weight[...] = add_41
    state_exp_avg_model_transformer_h_0_ln_2_bias[...] = add_46
    state_exp_avg_model_transformer_h_0_mlp_c_fc_weight[...] = add_51
    state_exp_avg_model_transformer_h_0_mlp_c_fc_bias[...] = add_56
    state_exp_avg_model_transformer_h_0_mlp_c_proj_weight[...] = add_61
    state_exp_avg_model_transformer_h_0_mlp_c_proj_bias[...] = add_66
    state_exp_avg_model_transformer_h_1_ln_1_weight[...] = add_71
    state_exp_avg_model_transformer_h_1_ln_1_bias[...] = add_76
    state_exp_avg_model_transformer_h_1_attn_c_attn_weight[...] = add_81
    state_exp_avg_model_transformer_h_1_attn_c_attn_bias[...] = add_86
    state_exp_avg_model_transformer_h_1_attn_c_proj_weight[...] = add_91
    state_exp_avg_model_transformer_h_1_attn_c_proj_bias[...] = add_96
    state_exp_avg_model_transformer_h_1_ln_2_weight[...] = add_101
    state_exp_avg_model_transformer_h_1_ln_2_bias[...] = add_106
    state_exp_avg_model_transformer_h_1_mlp_c_fc_weight[...] = add_111
    state_exp_avg_model_transformer_h_1_mlp_c_fc_bias[...] = add_116
    state_exp_avg_model_transformer_h_1_mlp_c_proj_weight[...] = add_121
    state_exp_avg_model_transformer_h_1_mlp_c_proj_bias[...] = add_126
    state_exp_avg_model_transformer_ln_f_weight[...] = add_131
    state_exp_avg_model_transformer_ln_f_bias[...] = add_136
    state_exp_avg_sq_model_transformer_wte_weight[...] = add_2
    state_exp_avg_sq_model_transformer_wpe_weight[...] = add_7
    state_exp_avg_sq_model_transformer_h_0_ln_1_weight[...] = add_12
    state_exp_avg_sq_model_transformer_h_0_ln_1_bias[...] = add_17
    state_exp_avg_sq_model_transformer_h_0_attn_c_attn_weight[...] = add_22
    state_exp_avg_sq_model_transformer_h_0_attn_c_attn_bias[...] = add_27
    state_exp_avg_sq_model_transformer_h_0_attn_c_proj_weight[...] = add_32
    state_exp_avg_sq_model_transformer_h_0_attn_c_proj_bias[...] = add_37
    state_exp_avg_sq_model_transformer_h_0_ln_2_weight[...] = add_42
    state_exp_avg_sq_model_transformer_h_0_ln_2_bias[...] = add_47
    state_exp_avg_sq_model_transformer_h_0_mlp_c_fc_weight[...] = add_52
    state_exp_avg_sq_model_transformer_h_0_mlp_c_fc_bias[...] = add_57
    state_exp_avg_sq_model_transformer_h_0_mlp_c_proj_weight[...] = add_62
    state_exp_avg_sq_model_transformer_h_0_mlp_c_proj_bias[...] = add_67
    state_exp_avg_sq_model_transformer_h_1_ln_1_weight[...] = add_72
    state_exp_avg_sq_model_transformer_h_1_ln_1_bias[...] = add_77
    state_exp_avg_sq_model_transformer_h_1_attn_c_attn_weight[...] = add_82
    state_exp_avg_sq_model_transformer_h_1_attn_c_attn_bias[...] = add_87
    state_exp_avg_sq_model_transformer_h_1_attn_c_proj_weight[...] = add_92
    state_exp_avg_sq_model_transformer_h_1_attn_c_proj_bias[...] = add_97
    state_exp_avg_sq_model_transformer_h_1_ln_2_weight[...] = add_102
    state_exp_avg_sq_model_transformer_h_1_ln_2_bias[...] = add_107
    state_exp_avg_sq_model_transformer_h_1_mlp_c_fc_weight[...] = add_112
    state_exp_avg_sq_model_transformer_h_1_mlp_c_fc_bias[...] = add_117
    state_exp_avg_sq_model_transformer_h_1_mlp_c_proj_weight[...] = add_122
    state_exp_avg_sq_model_transformer_h_1_mlp_c_proj_bias[...] = add_127
    state_exp_avg_sq_model_transformer_ln_f_weight[...] = add_132
    state_exp_avg_sq_model_transformer_ln_f_bias[...] = add_137
    state_step_model_transformer_wte_weight[...] = add
    state_step_model_transformer_wpe_weight[...] = add_5
    state_step_model_transformer_h_0_ln_1_weight[...] = add_10
    state_step_model_transformer_h_0_ln_1_bias[...] = add_15
    state_step_model_transformer_h_0_attn_c_attn_weight[...] = add_20
    state_step_model_transformer_h_0_attn_c_attn_bias[...] = add_25
    state_step_model_transformer_h_0_attn_c_proj_weight[...] = add_30
    state_step_model_transformer_h_0_attn_c_proj_bias[...] = add_35
    state_step_model_transformer_h_0_ln_2_weight[...] = add_40
    state_step_model_transformer_h_0_ln_2_bias[...] = add_45
    state_step_model_transformer_h_0_mlp_c_fc_weight[...] = add_50
    state_step_model_transformer_h_0_mlp_c_fc_bias[...] = add_55
    state_step_model_transformer_h_0_mlp_c_proj_weight[...] = add_60
    state_step_model_transformer_h_0_mlp_c_proj_bias[...] = add_65
    state_step_model_transformer_h_1_ln_1_weight[...] = add_70
    state_step_model_transformer_h_1_ln_1_bias[...] = add_75
    state_step_model_transformer_h_1_attn_c_attn_weight[...] = add_80
    state_step_model_transformer_h_1_attn_c_attn_bias[...] = add_85
    state_step_model_transformer_h_1_attn_c_proj_weight[...] = add_90
    state_step_model_transformer_h_1_attn_c_proj_bias[...] = add_95
    state_step_model_transformer_h_1_ln_2_weight[...] = add_100
    state_step_model_transformer_h_1_ln_2_bias[...] = add_105
    state_step_model_transformer_h_1_mlp_c_fc_weight[...] = add_110
    state_step_model_transformer_h_1_mlp_c_fc_bias[...] = add_115
    state_step_model_transformer_h_1_mlp_c_proj_weight[...] = add_120
    state_step_model_transformer_h_1_mlp_c_proj_bias[...] = add_125
    state_step_model_transformer_ln_f_weight[...] = add_130
    state_step_model_transformer_ln_f_bias[...] = add_135
    return (None,)
