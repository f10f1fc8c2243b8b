//! A conversation: an executable for prompts and one for single tokens, over the same weights and caches.

use std::sync::Arc;

use super::{ModelOptions, Sampling, graph, load_weights};
use crate::formats::gguf::Gguf;
use crate::runtime::{Buffer, CompileOptions, Device, Executable, Weights};
use crate::tensor::ElementType;
use crate::{Result, ensure};

/// How a session is made.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Rows of the caches: the longest sequence.
    pub context: usize,
    /// Tokens of a prompt that one run takes.
    pub chunk: usize,
    pub cache: ElementType,
    pub sampling: Option<Sampling>,
    pub seed: u64,
}

pub struct Session {
    prompt: Executable,
    decode: Executable,
    chunk: usize,
    context: usize,
    /// Tokens in the caches.
    position: usize,
}

impl Session {
    pub fn new(device: &Arc<Device>, gguf: &Gguf, options: &SessionOptions, progress: impl FnMut(u64, u64)) -> Result<Self> {
        let weights = Weights::new(device);
        let make = |tokens: usize| {
            let model = ModelOptions { tokens, context: options.context, cache: options.cache, sampling: options.sampling };
            let compile = CompileOptions { weights: Some(weights.clone()), seed: options.seed, ..CompileOptions::default() };
            Executable::compile(device, &graph(gguf, &model)?, &compile)
        };
        let chunk = options.chunk.clamp(1, options.context);
        let (mut prompt, mut decode) = (make(chunk)?, make(1)?);
        load_weights(&weights, gguf, progress)?;
        let caches: Vec<_> = decode.program().inputs.iter().filter(|p| p.name.starts_with("cache_")).cloned().collect();
        for port in caches {
            let buffer = Buffer::new(device, port.ty.clone())?;
            for executable in [&mut prompt, &mut decode] {
                let input = executable.input_index(&port.name)?;
                executable.bind_handle(input, &buffer)?;
            }
        }
        Ok(Self { prompt, decode, chunk, context: options.context, position: 0 })
    }

    /// Tokens seen so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Forgets all but the first tokens.
    pub fn rewind(&mut self, position: usize) {
        self.position = self.position.min(position);
    }

    pub fn decode_executable(&self) -> &Executable {
        &self.decode
    }

    /// Takes tokens in; afterwards `logits` and `token` are those of the last of them.
    pub fn feed(&mut self, tokens: &[i64], logits: Option<&mut [f32]>) -> Result<Option<i64>> {
        ensure!(!tokens.is_empty(), InvalidArgument, "no tokens");
        let free = self.context - self.position;
        ensure!(
            tokens.len() <= free,
            InvalidArgument,
            "{} tokens do not fit: {} of {} are used",
            tokens.len(),
            self.position,
            self.context
        );
        let mut left = tokens;
        let (mut logits, mut token) = (logits, None);
        while !left.is_empty() {
            // A padded chunk writes all its rows, so it must fit into the caches whole.
            let whole = left.len() > 1 && self.chunk > 1 && self.position + self.chunk <= self.context;
            let count = if whole { left.len().min(self.chunk) } else { 1 };
            let (now, rest) = left.split_at(count);
            let wanted = if rest.is_empty() { logits.take() } else { None };
            token = self.run(now, whole, wanted)?;
            self.position += count;
            left = rest;
        }
        Ok(token)
    }

    fn run(&mut self, tokens: &[i64], as_prompt: bool, logits: Option<&mut [f32]>) -> Result<Option<i64>> {
        let executable = if as_prompt { &mut self.prompt } else { &mut self.decode };
        let mut padded = vec![0i64; if as_prompt { self.chunk } else { 1 }];
        padded[..tokens.len()].copy_from_slice(tokens);
        executable.begin()?;
        executable.give(executable.input_index("tokens")?, bytemuck::cast_slice(&padded))?;
        executable.give(executable.input_index("position")?, &(self.position as i32).to_le_bytes())?;
        if as_prompt {
            executable.give(executable.input_index("last")?, &(tokens.len() as i32 - 1).to_le_bytes())?;
        }
        let (row, drawn) = (executable.output_index("logits")?, executable.output_index("token").ok());
        if logits.is_some() {
            executable.want(row)?;
        }
        if let Some(drawn) = drawn {
            executable.want(drawn)?;
        }
        executable.launch()?;
        executable.wait(std::time::Duration::MAX)?;
        if let Some(logits) = logits {
            executable.output(row, bytemuck::cast_slice_mut(logits))?;
        }
        let mut token = 0i64;
        match drawn {
            Some(drawn) => executable.output(drawn, bytemuck::bytes_of_mut(&mut token)).map(|()| Some(token)),
            None => Ok(None),
        }
    }
}
