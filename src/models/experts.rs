//! Mixtures of experts: each row chooses its experts on the device.

use super::builder::Builder;
use crate::Result;
use crate::graph::ValueId;
use crate::ops::Attribute;
use crate::tensor::ElementType;

/// How the results of the chosen experts are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighing {
    /// The softmax over all experts.
    All,
    /// The same, divided by the sum of the chosen ones.
    AllRenormalized,
    /// The softmax over the chosen ones.
    Chosen,
}

/// The product of an expert's gate and up projections.
pub type Gate<'g> = &'g dyn Fn(&mut Builder, &str, ValueId, ValueId) -> Result<ValueId>;

/// silu(gate) * up
pub fn swiglu(b: &mut Builder, name: &str, gate: ValueId, up: ValueId) -> Result<ValueId> {
    b.node1("SwiGlu", name, &[], &[gate, up])
}

impl Builder<'_> {
    /// The `ffn_*_exps` of a block for x [B,S,W]: `expert_used_count` experts a row, chosen by `ffn_gate_inp`.
    pub fn experts(&mut self, x: ValueId, block: &str, weighing: Weighing, gate: Gate) -> Result<ValueId> {
        let dims = self.dims(x)?;
        let (rows, width) = (self.options.batch * self.options.tokens, dims[dims.len() - 1]);
        let used = self.size("expert_used_count")?;
        let flat = self.reshape(x, &[rows, width], &format!("{block}.moe_rows"))?;
        let (weights, index) = self.route(flat, block, used, weighing)?;
        // Each row once for each of its experts.
        let each = self.reshape(flat, &[rows, 1, width], &format!("{block}.moe_each"))?;
        let dims = [rows, used, width].map(|d| d as i64).to_vec();
        let each = self.node1("Expand", &format!("{block}.moe_expand"), &[("dims", Attribute::Ints(dims))], &[each])?;
        let each = self.reshape(each, &[rows * used, width], &format!("{block}.moe_inputs"))?;
        let gated = self.expert_linear(each, index, &format!("{block}.ffn_gate_exps"))?;
        let up = self.expert_linear(each, index, &format!("{block}.ffn_up_exps"))?;
        let y = gate(self, &format!("{block}.moe_swiglu"), gated, up)?;
        let y = self.expert_linear(y, index, &format!("{block}.ffn_down_exps"))?;
        // The weighed sum over a row's experts is a product [1, used] x [used, width].
        let y = self.reshape(y, &[rows, used, width], &format!("{block}.moe_results"))?;
        let weights = self.reshape(weights, &[rows, 1, used], &format!("{block}.moe_weights"))?;
        let y = self.node1("MatMul", &format!("{block}.moe_sum"), &[], &[weights, y])?;
        self.reshape(y, &[self.options.batch, self.options.tokens, width], &format!("{block}.moe"))
    }

    /// Weights [rows, used] and flat indices [rows * used] of the chosen experts.
    fn route(&mut self, x: ValueId, block: &str, used: usize, weighing: Weighing) -> Result<(ValueId, ValueId)> {
        let axis = [("axis", Attribute::Int(-1))];
        let mut scores = self.linear(x, &format!("{block}.ffn_gate_inp"))?;
        if weighing != Weighing::Chosen {
            scores = self.node1("Softmax", &format!("{block}.router"), &axis, &[scores])?;
        }
        let list = [("k", Attribute::Int(used as i64)), ("axis", Attribute::Int(-1))];
        let top = self.node("TopK", &format!("{block}.chosen"), &list, &[Some(scores)])?;
        let weights = match weighing {
            Weighing::All => top[0],
            Weighing::AllRenormalized => {
                let sum = [
                    ("kind", Attribute::Text("Sum".into())),
                    ("axes", Attribute::Ints(vec![-1])),
                    ("keep_dims", Attribute::Int(1)),
                ];
                let total = self.node1("Reduce", &format!("{block}.chosen_sum"), &sum, &[top[0]])?;
                self.node1("Div", &format!("{block}.chosen_weights"), &[], &[top[0], total])?
            }
            Weighing::Chosen => self.node1("Softmax", &format!("{block}.chosen_weights"), &axis, &[top[0]])?,
        };
        let count = self.graph.ty(top[1])?.elements();
        Ok((weights, self.reshape(top[1], &[count], &format!("{block}.chosen_flat"))?))
    }

    /// Row i of x [M,K] times matrix index[i] of [E,N,K], plus row index[i] of the bias [E,N] if the file has one.
    fn expert_linear(&mut self, x: ValueId, index: ValueId, name: &str) -> Result<ValueId> {
        let w = self.param(&format!("{name}.weight"))?;
        let y = if self.element(w)?.is_block() {
            self.node1("DequantGroupedMatMul", name, &[], &[x, w, index])?
        } else {
            let w = self.cast(w, ElementType::F32, &format!("{name}.f32"))?;
            self.node1("GroupedMatMul", name, &[("transpose_b", Attribute::Int(1))], &[x, w, index])?
        };
        let Some(bias) = self.opt_vector(&format!("{name}.bias"))? else { return Ok(y) };
        let bias = self.node1("Gather", &format!("{name}.bias_rows"), &[("axis", Attribute::Int(0))], &[bias, index])?;
        self.node1("Add", &format!("{name}.add_bias"), &[], &[y, bias])
    }
}
