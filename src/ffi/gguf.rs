//! GGUF files as C sees them.

use std::ffi::{CString, c_char, c_void};

use super::boundary::{Exclusive, boundary, caldera_status, fill, fill_text, give, object, quietly, text, wanted};
use super::error::caldera_error;
use super::graph::{GraphObject, caldera_graph};
use super::options;
use super::weights::{caldera_progress_callback, caldera_weights};
use crate::formats::gguf::{Gguf, Value};
use crate::models::{self, ModelOptions, Sampling};
use crate::tensor::ElementType;
use crate::{bail, ensure, error};

/// An opened GGUF file (version 2 or 3, split files too): metadata and tensors, memory-mapped. Any thread may use it.
pub struct caldera_gguf {
    gguf: Gguf,
    /// Names that `caldera_gguf_tensor_info` points to.
    names: Vec<CString>,
}

impl caldera_gguf {
    fn info(&self, i: usize) -> caldera_gguf_tensor_info {
        let t = &self.gguf.tensors()[i];
        let bytes = self.gguf.bytes(t);
        let mut dims = [0; 8];
        dims.iter_mut().zip(&t.ty.dims).for_each(|(o, &d)| *o = d as i64);
        caldera_gguf_tensor_info {
            name: self.names[i].as_ptr(),
            r#type: t.ty.element as u32,
            rank: t.ty.rank() as u32,
            dims,
            data: bytes.as_ptr().cast(),
            bytes: bytes.len() as u64,
        }
    }
}

/// A tensor of a GGUF file.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_gguf_tensor_info {
    /// Lives as long as the file.
    pub name: *const c_char,
    /// A `caldera_type`.
    pub r#type: u32,
    pub rank: u32,
    /// Outermost first: a matrix is [rows, elements of a row].
    pub dims: [i64; 8],
    /// The bytes as they are in the file; they live as long as it.
    pub data: *const c_void,
    pub bytes: u64,
}

/// Options of `caldera_graph_load_gguf`. Start from `CALDERA_MODEL_OPTIONS_INIT`. Zero means "not given".
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_model_options {
    /// sizeof(caldera_model_options).
    pub struct_size: u32,
    /// Tokens a run: 1 (the default) to decode, more to process a prompt in chunks.
    pub tokens: u32,
    /// The longest sequence. 0: what the file says, at most 4096.
    pub context: u32,
    /// Element type of the caches, a `caldera_type`: f16 (the default), bf16 or f32.
    pub cache_type: u32,
    /// 1: the graph draws the next token itself, output `token` i64 [1], with the four settings below.
    pub sampling: u32,
    /// 0: the most likely token.
    pub temperature: f32,
    /// Only the k most likely; 0: no limit.
    pub top_k: u32,
    /// Only the most likely that together reach this probability; 0: no limit.
    pub top_p: f32,
    /// Only those at least this times as likely as the most likely.
    pub min_p: f32,
    /// Sequences that run together; 0: one.
    pub batch: u32,
    /// Rows of the caches beyond the context. A chunk writes its padding too: with as many spare rows as it has tokens it may end anywhere in
    /// the context.
    pub spare: u32,
    /// 1: log-probabilities of known tokens instead of logits, for perplexities.
    pub scores: u32,
}

/// Opens a GGUF file; of a split model, its first part. Free it with `caldera_gguf_free`.
///
/// Errors: FILE. No size in the file is trusted: a broken file is an error, and costs no memory.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_open(
    path: *const c_char,
    gguf: *mut *mut caldera_gguf,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let path = text(path, "path")?;
        wanted(gguf, "gguf")?;
        let opened = Gguf::open(path)?;
        let names = opened.tensors().iter().map(|t| CString::new(t.name.replace('\0', " ")).unwrap_or_default()).collect();
        give(gguf, Box::into_raw(Box::new(caldera_gguf { gguf: opened, names })));
        Ok(())
    })
}

/// Frees the file. Graphs and weights made of it live on. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_free(gguf: *mut caldera_gguf) {
    quietly(|| {
        if !gguf.is_null() {
            // SAFETY: the caller gives back what Caldera made, once.
            drop(unsafe { Box::from_raw(gguf) });
        }
    });
}

/// A text of the metadata, by count-then-fill in bytes. Errors: INVALID_ARGUMENT if there is no such key, or if it is no text.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_metadata_text(
    gguf: *const caldera_gguf,
    key: *const c_char,
    out: *mut c_char,
    size: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (gguf, key) = (object(gguf, "gguf")?, text(key, "key")?);
        let value = gguf.gguf.text(key)?.ok_or_else(|| error!(InvalidArgument, "the file has no \"{key}\""))?;
        fill_text(value, out, size)
    })
}

/// A number of the metadata: integers, floats and bools. Errors: INVALID_ARGUMENT if there is no such key, or if it is no number.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_metadata_number(
    gguf: *const caldera_gguf,
    key: *const c_char,
    value: *mut f64,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (gguf, key) = (object(gguf, "gguf")?, text(key, "key")?);
        wanted(value, "value")?;
        let found = gguf.gguf.value(key).ok_or_else(|| error!(InvalidArgument, "the file has no \"{key}\""))?;
        let number = match found {
            Value::Uint(v) => *v as f64,
            Value::Int(v) => *v as f64,
            Value::Float(v) => *v,
            Value::Bool(v) => f64::from(u8::from(*v)),
            _ => bail!(InvalidArgument, "\"{key}\" is no number"),
        };
        give(value, number);
        Ok(())
    })
}

/// Any value of the metadata as text, by count-then-fill in bytes: a text as it is, numbers in decimal, bools as true and false, a list in brackets
/// with its texts in quotes. Errors: INVALID_ARGUMENT if there is no such key.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_metadata(
    gguf: *const caldera_gguf,
    key: *const c_char,
    out: *mut c_char,
    size: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (gguf, key) = (object(gguf, "gguf")?, text(key, "key")?);
        let value = gguf.gguf.value(key).ok_or_else(|| error!(InvalidArgument, "the file has no \"{key}\""))?;
        match value {
            Value::Text(text) => fill_text(text, out, size),
            other => fill_text(&json(other).to_string(), out, size),
        }
    })
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Uint(v) => (*v).into(),
        Value::Int(v) => (*v).into(),
        Value::Float(v) => (*v).into(),
        Value::Bool(v) => (*v).into(),
        Value::Text(v) => v.as_str().into(),
        Value::Array(list) => list.values().map(|v| json(&v)).collect(),
    }
}

/// The key at place `index` of the metadata, in the order of the file, by count-then-fill in bytes. `*keys` is set to how many there are; it may be
/// NULL. Errors: INVALID_ARGUMENT if there are not so many.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_metadata_key(
    gguf: *const caldera_gguf,
    index: usize,
    out: *mut c_char,
    size: *mut usize,
    keys: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let metadata = object(gguf, "gguf")?.gguf.metadata();
        let Some((key, _)) = metadata.get(index) else {
            bail!(InvalidArgument, "the file has {} keys, there is none at {index}", metadata.len())
        };
        fill_text(key, out, size)?;
        give(keys, metadata.len());
        Ok(())
    })
}

/// The tensor of this name. Its name and data live as long as the file. Errors: INVALID_ARGUMENT if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_tensor(
    gguf: *const caldera_gguf,
    name: *const c_char,
    info: *mut caldera_gguf_tensor_info,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (gguf, name) = (object(gguf, "gguf")?, text(name, "name")?);
        wanted(info, "info")?;
        let found = gguf.gguf.tensors().iter().position(|t| t.name == name);
        give(info, gguf.info(found.ok_or_else(|| error!(InvalidArgument, "the file has no tensor \"{name}\""))?));
        Ok(())
    })
}

/// The tensors, by count-then-fill. Names and data live as long as the file.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gguf_tensors(
    gguf: *const caldera_gguf,
    infos: *mut caldera_gguf_tensor_info,
    count: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let gguf = object(gguf, "gguf")?;
        let all: Vec<caldera_gguf_tensor_info> = (0..gguf.names.len()).map(|i| gguf.info(i)).collect();
        fill(&all, infos, count)
    })
}

/// Makes the graph of the language model in the file.
///
/// Inputs, with B the batch and S the tokens of a run: `tokens` i64 [B,S], `position` i32 [B] (where the first token of each sequence stands),
/// with S above 1 also `last` i32 [B] (the row, 0 .. S - 1, whose logits are wanted: rows after it are padding), and for each layer L `cache_k.L` and
/// `cache_v.L` [B, context + spare, kv heads, head size]: bind a buffer to each. A run writes its rows of the caches in place. Recurrent layers have
/// `cache_conv.L` and `cache_ssm.L`, zeros at the start, and outputs `cache_conv.L.next` and `cache_ssm.L.next`: set handle feeds; with B above 1 they
/// have `last` also where S is 1 (-1: nothing counts).
/// A token of -1 is the last one of the vocabulary, as `caldera_gather` counts, and so on; one outside of it fails the run with INDEX_OUT_OF_RANGE.
/// Outputs: `logits` f32 [B, vocabulary] and, with sampling, `token` i64 [B]; with scores: input `targets` i64 [B,S] and output `scores` f32 [B,S].
/// Encoders (bert) have inputs `tokens` i64 [B,S] and `count` i32 [B], outputs `states` f32 [B,S,width] and `embedding` f32 [B,width].
/// Params have the names of the file's tensors: graphs of one file share one `caldera_weights`.
/// Errors: UNSUPPORTED (an architecture that is not known, naming it), FILE (metadata or tensors are missing), INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_load_gguf(
    gguf: *const caldera_gguf,
    options: *const caldera_model_options,
    graph: *mut *mut caldera_graph,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let file = object(gguf, "gguf")?;
        wanted(graph, "graph")?;
        let given = options::options(options, "options")?;
        let made = models::graph(&file.gguf, &model_options(&file.gguf, given)?)?;
        give(graph, Box::into_raw(Box::new(caldera_graph(Exclusive::new(GraphObject::new(made, Vec::new()))))));
        Ok(())
    })
}

fn model_options(gguf: &Gguf, given: Option<caldera_model_options>) -> crate::Result<ModelOptions> {
    let mut out = ModelOptions { context: models::default_context(gguf)?, ..ModelOptions::default() };
    let Some(o) = given else { return Ok(out) };
    if o.tokens > 0 {
        out.tokens = o.tokens as usize;
    }
    if o.context > 0 {
        out.context = o.context as usize;
    }
    if o.cache_type > 0 {
        out.cache = ElementType::from_number(o.cache_type)?;
        ensure!(out.cache.is_float() && out.cache != ElementType::F64, InvalidArgument, "a cache of {}", out.cache);
    }
    if o.batch > 0 {
        out.batch = o.batch as usize;
    }
    out.spare = o.spare as usize;
    out.scores = o.scores != 0;
    if o.sampling != 0 {
        let top_p = if o.top_p == 0.0 { 1.0 } else { o.top_p };
        out.sampling =
            Some(Sampling { temperature: o.temperature.into(), top_k: o.top_k.into(), top_p: top_p.into(), min_p: o.min_p.into() });
    }
    Ok(out)
}

/// Sets every tensor of the file as a weight under its name, packed as it is in the file. All are set, or none. `progress` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_weights_load_gguf(
    weights: *const caldera_weights,
    gguf: *const caldera_gguf,
    progress: caldera_progress_callback,
    user: *mut c_void,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (weights, gguf) = (object(weights, "weights")?, object(gguf, "gguf")?);
        models::load_weights(&weights.0, &gguf.gguf, |done, total| {
            if let Some(progress) = progress {
                progress(done, total, user);
            }
        })
    })
}
