//! Language models: from the metadata of a GGUF file to a graph. One architecture, one file.
//!
//! Every decoder has the same ports, whatever the architecture; B is the batch, S the tokens of a run:
//! - input `tokens` i64 [B,S]: the tokens of this run; `position` i32 [B]: where the first of them stands in its sequence (as many are in the caches);
//!   with S > 1 also `last` i32 [B]: the row of which the logits are wanted, so that a chunk need not be full: the rows after it are padding;
//! - inputs `cache_*` for each layer: bind a buffer to each. Keys and values (`cache_k.L`, `cache_v.L`: [B, rows, kv heads, head size]) are written in
//!   place; padding is written too, so position + S must not pass the rows. States of recurrent layers (`cache_conv.L`, `cache_ssm.L`) start as zeros and
//!   have an output of their name with `.next` after it: feed it back. With B > 1 a recurrent model has `last` also where S is 1; -1: nothing counts;
//! - output `logits` f32 [B, vocabulary], and with sampling `token` i64 [B]; with `scores` instead of both: input `targets` i64 [B,S] and output
//!   `scores` f32 [B,S], the log-probabilities of these as the next tokens.
//!
//! Encoders have inputs `tokens` i64 [B,S] and `count` i32 [B] (tokens of each text, the rest is padding) and outputs `states` f32 [B,S,width] and
//! `embedding` f32 [B,width], pooled as the file says and of length 1.
//!
//! Params have the names of the file's tensors, so that graphs made from one file share one set of weights.

mod attention;
mod builder;
mod embedder;
mod encoder;
mod experts;
mod recurrent;
mod rope;
mod sampling;
mod scorer;
mod sequence;
mod session;

mod bert;
mod gemma;
mod gemma2;
mod gemma3;
mod gpt_oss;
mod llama;
mod mamba;
mod mamba2;
mod nomic_bert;
mod olmo2;
mod phi3;
mod qwen;

pub use embedder::Embedder;
pub use scorer::Scorer;
pub use session::{Session, SessionOptions};

use std::sync::Arc;

use crate::formats::gguf::Gguf;
use crate::graph::Graph;
use crate::ops::{Attribute, Attributes};
use crate::runtime::Weights;
use crate::tensor::ElementType;
use crate::{Result, bail, ensure, error};
use builder::Builder;

/// How the graph of a language model is to be made.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// Sequences that run together.
    pub batch: usize,
    /// Tokens a run, of each sequence: 1 to decode, more to process a prompt.
    pub tokens: usize,
    /// The longest sequence.
    pub context: usize,
    /// Rows of the caches beyond the context, for the padding of a chunk that ends near it.
    pub spare: usize,
    /// Element type of the caches.
    pub cache: ElementType,
    /// Adds the output `token`.
    pub sampling: Option<Sampling>,
    /// Log-probabilities of given tokens instead of logits.
    pub scores: bool,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { batch: 1, tokens: 1, context: 4096, spare: 0, cache: ElementType::F16, sampling: None, scores: false }
    }
}

impl ModelOptions {
    /// Rows of the caches.
    pub fn rows(&self) -> usize {
        self.context + self.spare
    }

    fn check(&self) -> Result<()> {
        let Self { batch, tokens, context, cache, .. } = *self;
        ensure!(tokens > 0 && batch > 0, InvalidArgument, "a run of {batch} sequences with {tokens} tokens each");
        ensure!(tokens <= self.rows(), InvalidArgument, "a run of {tokens} tokens does not fit into a context of {context}");
        let most = self.rows().checked_mul(batch).filter(|&n| i32::try_from(n).is_ok());
        ensure!(most.is_some(), InvalidArgument, "{batch} sequences of {} rows are above 2^31", self.rows());
        let fits = matches!(cache, ElementType::F32 | ElementType::F16 | ElementType::Bf16);
        ensure!(fits, Unsupported, "caches of {cache}: f32, f16 and bf16 can be attended to");
        Ok(())
    }
}

/// How the next token is drawn (operator Sample).
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// 0: the most likely token.
    pub temperature: f64,
    /// 0: no limit.
    pub top_k: i64,
    pub top_p: f64,
    pub min_p: f64,
}

/// An architecture: the value of `general.architecture`, and what adds its layers and outputs to a graph.
struct Architecture {
    name: &'static str,
    build: fn(&mut Builder) -> Result<()>,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture { name: "llama", build: llama::build },
    Architecture { name: "qwen2", build: qwen::qwen2 },
    Architecture { name: "qwen2moe", build: qwen::qwen2moe },
    Architecture { name: "qwen3", build: qwen::qwen3 },
    Architecture { name: "qwen3moe", build: qwen::qwen3moe },
    Architecture { name: "gemma", build: gemma::build },
    Architecture { name: "gemma2", build: gemma2::build },
    Architecture { name: "gemma3", build: gemma3::build },
    Architecture { name: "phi3", build: phi3::build },
    Architecture { name: "olmo2", build: olmo2::build },
    Architecture { name: "gpt-oss", build: gpt_oss::build },
    Architecture { name: "mamba", build: mamba::build },
    Architecture { name: "mamba2", build: mamba2::build },
    Architecture { name: "bert", build: bert::build },
    Architecture { name: "nomic-bert", build: nomic_bert::build },
];

/// The graph of the model in the file.
pub fn graph(gguf: &Gguf, options: &ModelOptions) -> Result<Graph> {
    let name = gguf.text("general.architecture")?.ok_or_else(|| error!(File, "the file has no general.architecture"))?;
    options.check()?;
    let Some(architecture) = ARCHITECTURES.iter().find(|a| a.name == name) else {
        let known: Vec<&str> = ARCHITECTURES.iter().map(|a| a.name).collect();
        bail!(Unsupported, "architecture \"{name}\" is not known; known are: {}", known.join(", "))
    };
    let mut builder = Builder::new(architecture.name, gguf, options);
    let built = (architecture.build)(&mut builder).and_then(|()| builder.finish());
    built.map_err(|e| e.within(format!("architecture {name}")))
}

/// Rows of the caches where nobody says: what the file was made for, at most 4096.
pub fn default_context(gguf: &Gguf) -> Result<usize> {
    let name = gguf.text("general.architecture")?.unwrap_or_default();
    let length = gguf.uint(&format!("{name}.context_length"))?.unwrap_or(4096);
    Ok(length.clamp(1, 4096) as usize)
}

/// Sets every tensor of the file as a weight under its name. `progress` is told how many bytes of how many are done.
pub fn load_weights(weights: &Arc<Weights>, gguf: &Gguf, progress: impl FnMut(u64, u64)) -> Result<()> {
    let all: Vec<_> = gguf.tensors().iter().map(|t| (t.name.as_str(), t.ty.clone(), gguf.bytes(t))).collect();
    weights.set_all(&all, progress)
}

fn attributes(list: &[(&str, Attribute)]) -> Attributes {
    list.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}
