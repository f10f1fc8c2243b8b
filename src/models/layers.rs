//! What the graphs of language models are built of.

use std::sync::Arc;

use super::{ModelOptions, Sampling, attributes};
use crate::formats::gguf::Gguf;
use crate::graph::{Dim, Graph, ValueId};
use crate::ops::{Attribute, build};
use crate::tensor::{ElementType, Tensor};
use crate::{Result, ensure, error};

/// A graph in the making, and the file it is made from.
pub struct Builder<'a> {
    pub gguf: &'a Gguf,
    pub options: &'a ModelOptions,
    pub graph: Graph,
    architecture: &'static str,
}

/// How the heads of an attention layer are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    pub queries: usize,
    pub keys: usize,
    /// Elements of a head.
    pub size: usize,
}

/// Values that all layers share.
pub struct Sequence {
    pub position: ValueId,
    pub positions: ValueId,
    pub kv_len: ValueId,
}

/// Tables of the rotary embedding.
pub struct RopeTables {
    pub cos: ValueId,
    pub sin: ValueId,
    pub rotated: usize,
    /// "GptJ" or "NeoX".
    pub style: &'static str,
}

impl<'a> Builder<'a> {
    pub fn new(architecture: &'static str, gguf: &'a Gguf, options: &'a ModelOptions) -> Self {
        Self { gguf, options, graph: Graph::new(), architecture }
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// A number of the architecture's metadata that must be there.
    pub fn size(&self, key: &str) -> Result<usize> {
        self.opt_size(key)?.ok_or_else(|| error!(File, "the file has no {}", self.key(key)))
    }

    pub fn opt_size(&self, key: &str) -> Result<Option<usize>> {
        let key = self.key(key);
        let value = self.gguf.uint(&key)?;
        value.map(|v| usize::try_from(v).map_err(|_| error!(File, "{key} is {v}: too large"))).transpose()
    }

    pub fn float(&self, key: &str, default: f64) -> Result<f64> {
        Ok(self.gguf.float(&self.key(key))?.unwrap_or(default))
    }

    /// The param of this tensor of the file.
    pub fn param(&mut self, name: &str) -> Result<ValueId> {
        self.opt_param(name)?.ok_or_else(|| error!(File, "the file has no tensor \"{name}\""))
    }

    pub fn opt_param(&mut self, name: &str) -> Result<Option<ValueId>> {
        let known = self.graph.params().iter().copied().find(|&id| self.graph.value(id).name == name);
        if known.is_some() {
            return Ok(known);
        }
        let Some(tensor) = self.gguf.tensor(name) else { return Ok(None) };
        self.graph.param(name, tensor.ty.element, &tensor.ty.dims).map(Some)
    }

    /// A node of one result, named.
    pub fn node(
        &mut self,
        operator: &str,
        name: &str,
        list: &[(&str, Attribute)],
        inputs: &[Option<ValueId>],
    ) -> Result<Vec<ValueId>> {
        self.graph.add(build(operator, &attributes(list))?, name, inputs)
    }

    pub fn node1(&mut self, operator: &str, name: &str, list: &[(&str, Attribute)], inputs: &[ValueId]) -> Result<ValueId> {
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        Ok(self.node(operator, name, list, &inputs)?[0])
    }

    pub fn element(&self, id: ValueId) -> Result<ElementType> {
        Ok(self.graph.ty(id)?.element)
    }

    pub fn cast(&mut self, x: ValueId, to: ElementType, name: &str) -> Result<ValueId> {
        if self.element(x)? == to {
            return Ok(x);
        }
        self.node1("Cast", name, &[("to", Attribute::Text(to.name().into()))], &[x])
    }

    pub fn reshape(&mut self, x: ValueId, dims: &[usize], name: &str) -> Result<ValueId> {
        let dims = dims.iter().map(|&d| d as i64).collect();
        self.node1("Reshape", name, &[("dims", Attribute::Ints(dims))], &[x])
    }

    /// x @ w^T, w as the file stores it, with the bias if the file has one.
    pub fn linear(&mut self, x: ValueId, name: &str) -> Result<ValueId> {
        let w = self.param(&format!("{name}.weight"))?;
        let element = self.element(w)?;
        let y = if element.is_block() {
            self.node1("DequantMatMul", name, &[("scheme", Attribute::Text(element.name().into()))], &[x, w])?
        } else {
            let w = self.cast(w, ElementType::F32, &format!("{name}.f32"))?;
            self.node1("MatMul", name, &[("transpose_b", Attribute::Int(1))], &[x, w])?
        };
        match self.opt_param(&format!("{name}.bias"))? {
            Some(bias) => self.node1("Add", &format!("{name}.add_bias"), &[], &[y, bias]),
            None => Ok(y),
        }
    }

    /// The f32 vector of a norm.
    pub fn vector(&mut self, name: &str) -> Result<ValueId> {
        let w = self.param(&format!("{name}.weight"))?;
        self.cast(w, ElementType::F32, &format!("{name}.f32"))
    }

    pub fn rms_norm(&mut self, x: ValueId, name: &str, eps: f64) -> Result<ValueId> {
        let gamma = self.vector(name)?;
        self.node1("RmsNorm", name, &[("eps", Attribute::Float(eps))], &[x, gamma])
    }

    /// The norm of x + residual, and the sum.
    pub fn residual_norm(&mut self, x: ValueId, residual: ValueId, name: &str, eps: f64) -> Result<(ValueId, ValueId)> {
        let gamma = self.vector(name)?;
        let inputs = [Some(x), Some(residual), None, Some(gamma)];
        let out = self.node("ResidualRmsNorm", name, &[("eps", Attribute::Float(eps))], &inputs)?;
        Ok((out[0], out[1]))
    }

    /// The embeddings of the tokens.
    pub fn embed(&mut self) -> Result<ValueId> {
        let tokens = self.graph.input("tokens", ElementType::I64, &[Dim::Fixed(self.options.tokens)])?;
        let table = self.param("token_embd.weight")?;
        if self.element(table)?.is_block() {
            return self.node1("DequantGather", "token_embd", &[], &[table, tokens]);
        }
        let rows = self.node1("Gather", "token_embd", &[("axis", Attribute::Int(0))], &[table, tokens])?;
        self.cast(rows, ElementType::F32, "token_embd.f32")
    }

    /// Position input, the position of every token, and the length of the caches after this run.
    pub fn sequence(&mut self) -> Result<Sequence> {
        let tokens = self.options.tokens;
        let position = self.graph.input("position", ElementType::I32, &[Dim::Fixed(1)])?;
        let steps: Vec<i32> = (0..tokens as i32).collect();
        let steps = self.graph.constant("steps", Arc::new(Tensor::from_slice(&[tokens], &steps)))?;
        let positions = match tokens {
            1 => position,
            _ => self.node1("Add", "positions", &[], &[position, steps])?,
        };
        let count = self.graph.constant("tokens_a_run", Arc::new(Tensor::from_slice(&[1], &[tokens as i32])))?;
        let kv_len = self.node1("Add", "kv_len", &[], &[position, count])?;
        Ok(Sequence { position, positions, kv_len })
    }

    /// Tables for `rotated` elements of each head: angle = position * base^(-2i/rotated) / factor_i.
    pub fn rope_tables(&mut self, rotated: usize, base: f64, factors: Option<&[f64]>, style: &'static str) -> Result<RopeTables> {
        ensure!(rotated % 2 == 0 && rotated > 0, File, "a rotary embedding of {rotated} elements");
        let (rows, half) = (self.options.context, rotated / 2);
        let mut tables = [Vec::with_capacity(rows * half), Vec::with_capacity(rows * half)];
        for row in 0..rows {
            for i in 0..half {
                let factor = factors.map_or(1.0, |f| f[i]);
                let angle = row as f64 * base.powf(-2.0 * i as f64 / rotated as f64) / factor;
                tables[0].push(angle.cos() as f32);
                tables[1].push(angle.sin() as f32);
            }
        }
        let cos = self.graph.constant("rope.cos", Arc::new(Tensor::from_slice(&[rows, half], &tables[0])))?;
        let sin = self.graph.constant("rope.sin", Arc::new(Tensor::from_slice(&[rows, half], &tables[1])))?;
        Ok(RopeTables { cos, sin, rotated, style })
    }

    pub fn rope(&mut self, x: ValueId, heads: Heads, tables: &RopeTables, sequence: &Sequence, name: &str) -> Result<ValueId> {
        let list = [
            ("head_dim", Attribute::Int(heads.size as i64)),
            ("n_rot", Attribute::Int(tables.rotated as i64)),
            ("style", Attribute::Text(tables.style.into())),
            ("layout", Attribute::Text("BSH".into())),
        ];
        self.node1("Rope", name, &list, &[x, tables.cos, tables.sin, sequence.positions])
    }

    /// Appends rows [S, heads * size] to the layer's cache and returns all of it: [1, context, heads, size].
    pub fn cache(&mut self, name: &str, rows: ValueId, heads: usize, size: usize, sequence: &Sequence) -> Result<ValueId> {
        let (element, tokens) = (self.options.cache, self.options.tokens);
        let dims = [1, self.options.context, heads, size].map(Dim::Fixed);
        let cache = self.graph.input(name, element, &dims)?;
        let rows = self.cast(rows, element, &format!("{name}.rows"))?;
        let rows = self.reshape(rows, &[1, tokens, heads, size], &format!("{name}.reshape"))?;
        self.node1("KvAppend", &format!("{name}.append"), &[], &[cache, rows, sequence.position])
    }

    /// Causal attention of q [S, queries * size] over the caches: [S, queries * size].
    pub fn attention(
        &mut self,
        q: ValueId,
        k: ValueId,
        v: ValueId,
        heads: Heads,
        sequence: &Sequence,
        name: &str,
    ) -> Result<ValueId> {
        let tokens = self.options.tokens;
        let q = self.cast(q, self.options.cache, &format!("{name}.q"))?;
        let q = self.reshape(q, &[1, tokens, heads.queries, heads.size], &format!("{name}.q_heads"))?;
        let list = [
            ("num_heads", Attribute::Int(heads.queries as i64)),
            ("num_kv_heads", Attribute::Int(heads.keys as i64)),
            ("head_dim", Attribute::Int(heads.size as i64)),
            ("layout", Attribute::Text("BSHD".into())),
            ("mask", Attribute::Text("Causal".into())),
        ];
        let y = self.node("Attention", name, &list, &[Some(q), Some(k), Some(v), None, Some(sequence.kv_len)])?[0];
        let y = self.reshape(y, &[tokens, heads.queries * heads.size], &format!("{name}.merge"))?;
        self.cast(y, ElementType::F32, &format!("{name}.f32"))
    }

    /// The row whose logits are wanted: [1, width].
    pub fn last_row(&mut self, x: ValueId) -> Result<ValueId> {
        if self.options.tokens == 1 {
            return Ok(x);
        }
        let last = self.graph.input("last", ElementType::I32, &[Dim::Fixed(1)])?;
        self.node1("Gather", "last_row", &[("axis", Attribute::Int(0))], &[x, last])
    }

    /// Logits from the last hidden state by `output`, or by the embedding where the file has none; then the token.
    pub fn head(mut self, x: ValueId) -> Result<Graph> {
        let tied = self.gguf.tensor("output.weight").is_none();
        let logits = self.linear(x, if tied { "token_embd" } else { "output" })?;
        self.graph.output("logits", logits)?;
        if let Some(Sampling { temperature, top_k, top_p, min_p }) = self.options.sampling {
            let list = [
                ("temperature", Attribute::Float(temperature)),
                ("top_k", Attribute::Int(top_k)),
                ("top_p", Attribute::Float(top_p)),
                ("min_p", Attribute::Float(min_p)),
            ];
            let token = self.node1("Sample", "sample", &list, &[logits])?;
            self.graph.output("token", token)?;
        }
        Ok(self.graph)
    }
}
