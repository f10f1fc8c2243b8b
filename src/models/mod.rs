//! Language models: from the metadata of a GGUF file to a graph. One architecture, one file.
//!
//! Every graph has the same ports, whatever the architecture:
//! - input `tokens` i64 [S]: the tokens of this run; `position` i32 [1]: where the first of them stands in the sequence (as many are in the caches);
//!   with S > 1 also `last` i32 [1]: the row of which the logits are wanted, so that a chunk need not be full;
//! - inputs `cache_k.L` and `cache_v.L` [1, context, kv heads, head size] for each layer L: bind a buffer to each. A run writes its rows in place;
//! - output `logits` f32 [1, vocabulary], and with sampling `token` i64 [1].
//!
//! Params have the names of the file's tensors, so that graphs made from one file share one set of weights.

mod layers;
mod llama;
mod session;

pub use session::{Session, SessionOptions};

use std::sync::Arc;

use crate::formats::gguf::Gguf;
use crate::graph::Graph;
use crate::ops::{Attribute, Attributes};
use crate::runtime::Weights;
use crate::tensor::ElementType;
use crate::{Result, bail, ensure, error};

/// How the graph of a language model is to be made.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// Tokens a run: 1 to decode, more to process a prompt.
    pub tokens: usize,
    /// Rows of the caches.
    pub context: usize,
    /// Element type of the caches.
    pub cache: ElementType,
    /// Adds the output `token`.
    pub sampling: Option<Sampling>,
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

/// An architecture: the value of `general.architecture`, and what makes its graph.
struct Architecture {
    name: &'static str,
    build: fn(&Gguf, &ModelOptions) -> Result<Graph>,
}

const ARCHITECTURES: &[Architecture] = &[Architecture { name: "llama", build: llama::build }];

/// The graph of the model in the file.
pub fn graph(gguf: &Gguf, options: &ModelOptions) -> Result<Graph> {
    let name = gguf.text("general.architecture")?.ok_or_else(|| error!(File, "the file has no general.architecture"))?;
    ensure!(options.tokens > 0, InvalidArgument, "a run of 0 tokens");
    ensure!(
        options.tokens <= options.context,
        InvalidArgument,
        "a run of {} tokens does not fit into a context of {}",
        options.tokens,
        options.context
    );
    match ARCHITECTURES.iter().find(|a| a.name == name) {
        Some(architecture) => (architecture.build)(gguf, options).map_err(|e| e.within(format!("architecture {name}"))),
        None => {
            let known: Vec<&str> = ARCHITECTURES.iter().map(|a| a.name).collect();
            bail!(Unsupported, "architecture \"{name}\" is not known; known are: {}", known.join(", "))
        }
    }
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
