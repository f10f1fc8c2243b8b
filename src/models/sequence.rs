//! What a run is given and what it gives: tokens and where they stand, the row whose logits are wanted, logits.

use super::builder::Builder;
use crate::graph::ValueId;
use crate::ops::Attribute;
use crate::tensor::ElementType;
use crate::{Result, bail};

/// Values that all layers share.
pub struct Sequence {
    /// Where the first token of each sequence stands: i32 [B].
    pub position: ValueId,
    /// Where each token stands: i32 [B,S].
    pub positions: ValueId,
    /// Valid rows of the caches after this run, padding counted: i32 [B].
    pub kv_len: ValueId,
    /// The row of each sequence whose logits are wanted: i32 [B]. None: a run has one row.
    pub last: Option<ValueId>,
}

impl Builder<'_> {
    /// The embeddings of the tokens: f32 [B,S,width].
    pub fn embed(&mut self) -> Result<ValueId> {
        let tokens = self.input("tokens", ElementType::I64, &[self.options.batch, self.options.tokens])?;
        self.rows("token_embd", tokens)
    }

    /// Rows of a table of the file, as f32: the dims of the index, then the width.
    pub fn rows(&mut self, name: &str, index: ValueId) -> Result<ValueId> {
        let table = self.param(&format!("{name}.weight"))?;
        if self.element(table)?.is_block() {
            return self.node1("DequantGather", name, &[], &[table, index]);
        }
        let rows = self.node1("Gather", name, &[("axis", Attribute::Int(0))], &[table, index])?;
        self.cast(rows, ElementType::F32, &format!("{name}.f32"))
    }

    /// Inputs that say where the tokens stand. `always_last`: `last` is asked for even where a run has one row.
    pub fn sequence(&mut self, always_last: bool) -> Result<Sequence> {
        let (batch, tokens) = (self.options.batch, self.options.tokens);
        let position = self.input("position", ElementType::I32, &[batch])?;
        let steps: Vec<i32> = (0..tokens as i32).collect();
        let column = self.reshape(position, &[batch, 1], "position.column")?;
        let positions = match tokens {
            1 => column,
            _ => {
                let steps = self.constant("steps", &[tokens], &steps)?;
                self.node1("Add", "positions", &[], &[column, steps])?
            }
        };
        let count = self.constant("tokens_a_run", &[1], &[tokens as i32])?;
        let kv_len = self.node1("Add", "kv_len", &[], &[position, count])?;
        let last = match tokens > 1 || always_last {
            true => Some(self.input("last", ElementType::I32, &[batch])?),
            false => None,
        };
        Ok(Sequence { position, positions, kv_len, last })
    }

    /// The row of each sequence whose logits are wanted: [B,S,W] to [B,W].
    pub fn last_row(&mut self, x: ValueId, sequence: &Sequence) -> Result<ValueId> {
        let (batch, tokens) = (self.options.batch, self.options.tokens);
        let width = self.graph.ty(x)?.last();
        let rows = self.reshape(x, &[batch * tokens, width], "rows")?;
        let Some(mut index) = sequence.last.filter(|_| tokens > 1) else { return Ok(rows) };
        if batch > 1 {
            let starts: Vec<i32> = (0..batch).map(|b| (b * tokens) as i32).collect();
            let starts = self.constant("row_starts", &[batch], &starts)?;
            index = self.node1("Add", "last_row.index", &[], &[index, starts])?;
        }
        self.node1("Gather", "last_row", &[("axis", Attribute::Int(0))], &[rows, index])
    }

    /// Logits of rows [.., W] by `output`, or by the embedding where the file has none; capped where the metadata say so.
    pub fn logits(&mut self, x: ValueId) -> Result<ValueId> {
        let tied = !self.has("output.weight");
        let mut logits = self.linear(x, if tied { "token_embd" } else { "output" })?;
        let cap = self.float("final_logit_softcapping", 0.0)?;
        if cap > 0.0 {
            logits = self.scale(logits, 1.0 / cap, "logits.scale")?;
            logits = self.node1("Tanh", "logits.tanh", &[], &[logits])?;
            logits = self.scale(logits, cap, "logits.cap")?;
        }
        Ok(logits)
    }

    /// From the normed hidden state of all rows to the outputs.
    pub fn head(&mut self, x: ValueId, sequence: &Sequence) -> Result<()> {
        if self.options.scores {
            return self.scores(x);
        }
        let last = self.last_row(x, sequence)?;
        let logits = self.logits(last)?;
        self.graph.output("logits", logits)?;
        self.sample(logits)
    }

    /// Log-probabilities of the given next tokens.
    fn scores(&mut self, x: ValueId) -> Result<()> {
        let (batch, tokens) = (self.options.batch, self.options.tokens);
        if self.options.sampling.is_some() {
            bail!(InvalidArgument, "a graph gives scores of known tokens or draws one, not both");
        }
        let logits = self.logits(x)?;
        let all = self.node1("LogSoftmax", "log_probabilities", &[("axis", Attribute::Int(-1))], &[logits])?;
        let targets = self.input("targets", ElementType::I64, &[batch, tokens])?;
        let targets = self.reshape(targets, &[batch, tokens, 1], "targets.column")?;
        let scores = self.node1("GatherElements", "scores", &[("axis", Attribute::Int(-1))], &[all, targets])?;
        let scores = self.reshape(scores, &[batch, tokens], "scores.rows")?;
        self.graph.output("scores", scores)
    }
}
