//! What state-space models share: states that go from run to run, and the rows of a run that count.

use super::builder::Builder;
use super::sequence::Sequence;
use crate::graph::ValueId;
use crate::ops::Attribute;
use crate::tensor::ElementType;
use crate::{Result, ensure};

/// Which rows of a run count. Padding must leave the states as they are.
pub struct Rows {
    pub sequence: Sequence,
    /// 1 for a row that counts, 0 for padding: f32 [B,S,1]. None: all count.
    valid: Option<ValueId>,
    /// Rows that count: i32 [B,1].
    count: Option<ValueId>,
}

impl Builder<'_> {
    pub fn counted_rows(&mut self) -> Result<Rows> {
        let (batch, tokens) = (self.options.batch, self.options.tokens);
        let sequence = self.sequence(batch > 1)?;
        let Some(last) = sequence.last else { return Ok(Rows { sequence, valid: None, count: None }) };
        let last = self.reshape(last, &[batch, 1], "last.column")?;
        let steps: Vec<i32> = (0..tokens as i32).collect();
        let steps = self.constant("rows.steps", &[tokens], &steps)?;
        let valid = self.node1("Le", "rows.valid", &[], &[steps, last])?;
        let valid = self.cast(valid, ElementType::F32, "rows.valid.f32")?;
        let valid = self.reshape(valid, &[batch, tokens, 1], "rows.valid.column")?;
        let one = self.constant("rows.one", &[1], &[1i32])?;
        let count = self.node1("Add", "rows.count", &[], &[last, one])?;
        Ok(Rows { sequence, valid: Some(valid), count: Some(count) })
    }

    /// A state: an input, bound to a buffer, and the output that becomes its next value.
    fn state(&mut self, name: &str, dims: &[usize]) -> Result<ValueId> {
        self.input(name, ElementType::F32, dims)
    }

    fn next_state(&mut self, name: &str, next: ValueId) -> Result<()> {
        self.graph.output(&format!("{name}.next"), next)
    }

    /// softplus(dt), 0 for padding: then a scan keeps its state.
    pub fn time_step(&mut self, dt: ValueId, rows: &Rows, block: &str) -> Result<ValueId> {
        let dt = self.node1("Softplus", &format!("{block}.dt"), &[], &[dt])?;
        match rows.valid {
            Some(valid) => self.node1("Mul", &format!("{block}.dt_valid"), &[], &[dt, valid]),
            None => Ok(dt),
        }
    }

    /// silu of the convolution of x [B,S,C] with the steps before.
    pub fn causal_conv(&mut self, x: ValueId, layer: usize, kernel: usize, rows: &Rows) -> Result<ValueId> {
        let (name, state_name) = (format!("blk.{layer}.ssm_conv1d"), format!("cache_conv.{layer}"));
        let channels = self.graph.ty(x)?.last();
        let (batch, w) = (self.options.batch, self.vector(&format!("{name}.weight"))?);
        let bias = self.opt_vector(&format!("{name}.bias"))?;
        ensure!(kernel > 0, File, "ssm.conv_kernel is 0");
        let state = self.state(&state_name, &[batch, channels, kernel - 1])?;
        let act = [("act", Attribute::Text("Silu".into()))];
        let out = self.node("CausalConv1d", &name, &act, &[Some(x), Some(w), bias, Some(state)])?;
        let next = match rows.count {
            None => out[1],
            Some(count) => self.last_inputs(state, x, kernel - 1, count, &state_name)?,
        };
        self.next_state(&state_name, next)?;
        Ok(out[0])
    }

    /// The last `before` rows that count, of the state [B,C,before] and then x [B,S,C]: [B,C,before].
    fn last_inputs(&mut self, state: ValueId, x: ValueId, before: usize, count: ValueId, name: &str) -> Result<ValueId> {
        let turn = [("perm", Attribute::Ints(vec![0, 2, 1]))];
        let old = self.node1("Transpose", &format!("{name}.rows"), &turn, &[state])?;
        let all = self.node1("Concat", &format!("{name}.all"), &[("axis", Attribute::Int(1))], &[old, x])?;
        let steps: Vec<i32> = (0..before as i32).collect();
        let steps = self.constant(&format!("{name}.steps"), &[before], &steps)?;
        let index = self.node1("Add", &format!("{name}.index"), &[], &[count, steps])?;
        let index = self.reshape(index, &[self.options.batch, before, 1], &format!("{name}.index_column"))?;
        let picked = self.node1("GatherND", &format!("{name}.last"), &[("batch_dims", Attribute::Int(1))], &[all, index])?;
        self.node1("Transpose", &format!("{name}.turned"), &turn, &[picked])
    }

    /// A scan with a state `cache_ssm.L` of these dims, its last input.
    pub fn scan(&mut self, operator: &str, layer: usize, inputs: &[ValueId], state: &[usize]) -> Result<ValueId> {
        let name = format!("cache_ssm.{layer}");
        let state = self.state(&name, state)?;
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().chain([state]).map(Some).collect();
        let out = self.node(operator, &format!("blk.{layer}.scan"), &[], &inputs)?;
        self.next_state(&name, out[1])?;
        Ok(out[0])
    }

    /// The RMS norm of the last axis without weights.
    pub fn bare_norm(&mut self, x: ValueId, name: &str) -> Result<ValueId> {
        let (width, eps) = (self.graph.ty(x)?.last(), self.eps()?);
        let ones = self.constant(&format!("{name}.ones"), &[width], &vec![1f32; width])?;
        self.node1("RmsNorm", name, &[("eps", Attribute::Float(eps))], &[x, ones])
    }
}
