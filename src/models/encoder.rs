//! What encoders for embeddings share: inputs, attention over all tokens, pooling.

use super::attention::Heads;
use super::builder::Builder;
use super::rope::RopeTables;
use crate::graph::ValueId;
use crate::ops::Attribute;
use crate::tensor::ElementType;
use crate::{Result, bail, ensure};

/// Values that all layers share.
pub struct Texts {
    /// Tokens of each text: i32 [B].
    count: ValueId,
    /// Where each token stands: i32 [S].
    pub positions: ValueId,
}

impl Builder<'_> {
    /// Inputs `tokens` and `count`; the normed sum of the embeddings of tokens, of the first token type and, where the file has them, of
    /// positions: [B,S,W].
    pub fn texts(&mut self) -> Result<(ValueId, Texts)> {
        let (batch, tokens) = (self.options.batch, self.options.tokens);
        let mut h = self.embed()?;
        let count = self.input("count", ElementType::I32, &[batch])?;
        let steps: Vec<i32> = (0..tokens as i32).collect();
        let positions = self.constant("positions", &[tokens], &steps)?;
        if self.has("token_types.weight") {
            let first = self.constant("token_type", &[1], &[0i32])?;
            let row = self.rows("token_types", first)?;
            h = self.node1("Add", "embedding.type", &[], &[h, row])?;
        }
        if self.has("position_embd.weight") {
            let rows = self.rows("position_embd", positions)?;
            h = self.node1("Add", "embedding.position", &[], &[h, rows])?;
        }
        Ok((self.layer_norm(h, None, "token_embd_norm")?, Texts { count, positions }))
    }

    /// The norm of x, or of x + residual.
    pub fn layer_norm(&mut self, x: ValueId, residual: Option<ValueId>, name: &str) -> Result<ValueId> {
        let (gamma, beta) = (self.vector(&format!("{name}.weight"))?, self.vector(&format!("{name}.bias"))?);
        let eps = [("eps", Attribute::Float(self.float("attention.layer_norm_epsilon", 1e-12)?))];
        match residual {
            None => self.node1("LayerNorm", name, &eps, &[x, gamma, beta]),
            Some(_) => Ok(self.node("ResidualLayerNorm", name, &eps, &[Some(x), residual, None, Some(gamma), Some(beta)])?[0]),
        }
    }

    /// Attention of every token to all tokens of its text, and the norm after it.
    pub fn text_attention(
        &mut self,
        x: ValueId,
        block: &str,
        h: Heads,
        texts: &Texts,
        rope: Option<&RopeTables>,
    ) -> Result<ValueId> {
        let (batch, tokens, int) = (self.options.batch, self.options.tokens, |v: usize| Attribute::Int(v as i64));
        let [mut q, mut k, v] = self.qkv(x, block, h)?;
        if let Some(rope) = rope {
            q = self.rope(q, h, rope, texts.positions, &format!("{block}.rope_q"))?;
            k = self.rope(k, h, rope, texts.positions, &format!("{block}.rope_k"))?;
        }
        let list = [
            ("num_heads", int(h.queries)),
            ("num_kv_heads", int(h.keys)),
            ("head_dim", int(h.size)),
            ("v_head_dim", int(h.value_size)),
            ("layout", Attribute::Text("BSHD".into())),
            ("mask", Attribute::Text("None".into())),
        ];
        let q = self.reshape(q, &[batch, tokens, h.queries, h.size], &format!("{block}.q"))?;
        let k = self.reshape(k, &[batch, tokens, h.keys, h.size], &format!("{block}.k"))?;
        let v = self.reshape(v, &[batch, tokens, h.keys, h.value_size], &format!("{block}.v"))?;
        let inputs = [Some(q), Some(k), Some(v), None, Some(texts.count)];
        let y = self.node("Attention", &format!("{block}.attention"), &list, &inputs)?[0];
        let y = self.reshape(y, &[batch, tokens, h.queries * h.value_size], &format!("{block}.merge"))?;
        let y = self.linear(y, &format!("{block}.attn_output"))?;
        self.layer_norm(y, Some(x), &format!("{block}.attn_output_norm"))
    }

    /// Outputs `states` [B,S,W] and, of the kind that the metadata name, `embedding` [B,W] of length 1.
    pub fn pool(&mut self, x: ValueId, texts: &Texts) -> Result<()> {
        self.graph.output("states", x)?;
        let (batch, tokens) = (self.options.batch, self.options.tokens);
        let width = self.graph.ty(x)?.last();
        let weights = match self.opt_size("pooling_type")?.unwrap_or(1) {
            0 => return Ok(()),
            1 => self.mean_weights(texts)?,
            kind @ (2 | 3) => self.row_weights(texts, kind == 3)?,
            other => {
                bail!(Unsupported, "pooling type {other} is not known; known are: 0 none, 1 mean, 2 first token, 3 last token")
            }
        };
        let weights = self.reshape(weights, &[batch, 1, tokens], "pool.weights")?;
        let y = self.node1("MatMul", "pool", &[], &[weights, x])?;
        let y = self.reshape(y, &[batch, width], "pool.rows")?;
        let y = self.node1("L2Norm", "embedding", &[("axis", Attribute::Int(-1)), ("eps", Attribute::Float(1e-12))], &[y])?;
        self.graph.output("embedding", y)
    }

    /// 1 / count for the tokens of each text: f32 [B,S].
    fn mean_weights(&mut self, texts: &Texts) -> Result<ValueId> {
        let column = self.reshape(texts.count, &[self.options.batch, 1], "count.column")?;
        let inside = self.node1("Lt", "pool.inside", &[], &[texts.positions, column])?;
        let inside = self.cast(inside, ElementType::F32, "pool.inside.f32")?;
        let count = self.cast(column, ElementType::F32, "count.f32")?;
        self.node1("Div", "pool.mean", &[], &[inside, count])
    }

    /// 1 for the first or last token of each text: f32 [B,S].
    fn row_weights(&mut self, texts: &Texts, last: bool) -> Result<ValueId> {
        let (batch, from) = (self.options.batch, i32::from(last));
        let one = self.constant("pool.offset", &[1], &[from])?;
        let row = match last {
            true => self.node1("Sub", "pool.last", &[], &[texts.count, one])?,
            false => self.constant("pool.first", &[batch], &vec![0i32; batch])?,
        };
        let row = self.reshape(row, &[batch, 1], "pool.row")?;
        let hit = self.node1("Eq", "pool.hit", &[], &[texts.positions, row])?;
        self.cast(hit, ElementType::F32, "pool.hit.f32")
    }

    /// An encoder takes whole texts: no longer ones than it knows positions for.
    pub fn check_text_length(&mut self) -> Result<()> {
        let (tokens, most) = (self.options.tokens, self.size("context_length")?);
        ensure!(tokens <= most, InvalidArgument, "texts of {tokens} tokens, the model takes {most}");
        ensure!(self.options.sampling.is_none() && !self.options.scores, InvalidArgument, "an encoder has no logits");
        Ok(())
    }
}
