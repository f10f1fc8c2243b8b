//! Conversations: an executable for prompts and one for single tokens, over the same weights and caches.

use std::sync::Arc;

use super::{ModelOptions, Sampling, graph, load_weights};
use crate::formats::gguf::Gguf;
use crate::runtime::{Buffer, CompileOptions, Device, Executable, Weights};
use crate::tensor::ElementType;
use crate::{Result, ensure, error};

/// How a session is made.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Sequences that run together.
    pub batch: usize,
    /// The longest sequence.
    pub context: usize,
    /// Tokens of a prompt that one run takes.
    pub chunk: usize,
    pub cache: ElementType,
    pub sampling: Option<Sampling>,
    pub seed: u64,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { batch: 1, context: 4096, chunk: 64, cache: ElementType::F16, sampling: None, seed: 0 }
    }
}

/// Binds one buffer for each cache to all of these executables. Returns those that are states of recurrent layers.
pub(super) fn bind_caches(device: &Arc<Device>, executables: &mut [&mut Executable]) -> Result<Vec<Arc<Buffer>>> {
    let mut states = Vec::new();
    let caches: Vec<_> = executables[0].program().inputs.iter().filter(|p| p.name.starts_with("cache_")).cloned().collect();
    for port in caches {
        let (buffer, next) = (Buffer::new(device, port.ty.clone())?, format!("{}.next", port.name));
        for executable in executables.iter_mut() {
            let input = executable.input_index(&port.name)?;
            executable.bind_handle(input, &buffer)?;
            if let Ok(output) = executable.output_index(&next) {
                executable.set_handle_feed(input, output)?;
            }
        }
        if executables[0].output_index(&next).is_ok() {
            states.push(buffer);
        }
    }
    Ok(states)
}

pub struct Session {
    prompt: Executable,
    decode: Executable,
    chunk: usize,
    context: usize,
    /// Tokens of each sequence that the caches hold.
    positions: Vec<usize>,
    /// States that cannot go back to an earlier token.
    states: Vec<Arc<Buffer>>,
    run: Run,
}

/// What one run is given, kept so that a step allocates nothing.
struct Run {
    tokens: Vec<i64>,
    positions: Vec<i32>,
    last: Vec<i32>,
    /// Tokens that each sequence takes in this run.
    counts: Vec<usize>,
    drawn: Vec<i64>,
    logits: Vec<f32>,
}

impl Session {
    pub fn new(device: &Arc<Device>, gguf: &Gguf, options: &SessionOptions, progress: impl FnMut(u64, u64)) -> Result<Self> {
        let (batch, chunk) = (options.batch, options.chunk.clamp(1, options.context.max(1)));
        let weights = Weights::new(device);
        let make = |tokens: usize| {
            let SessionOptions { context, cache, sampling, .. } = *options;
            // An idle sequence that is full takes a chunk of padding too.
            let model = ModelOptions { batch, tokens, context, spare: chunk, cache, sampling, ..ModelOptions::default() };
            let compile = CompileOptions { weights: Some(weights.clone()), seed: options.seed, ..CompileOptions::default() };
            Executable::compile(device, &graph(gguf, &model)?, &compile)
        };
        let (mut prompt, mut decode) = (make(chunk)?, make(1)?);
        let Ok(logits) = decode.output_index("logits") else {
            return Err(error!(Unsupported, "this model makes no text: it is an encoder"));
        };
        load_weights(&weights, gguf, progress)?;
        let states = bind_caches(device, &mut [&mut prompt, &mut decode])?;
        let run = Run {
            tokens: vec![0; batch * chunk],
            positions: vec![0; batch],
            last: vec![0; batch],
            counts: vec![0; batch],
            drawn: vec![0; batch],
            logits: vec![0.0; decode.program().outputs[logits].ty.elements()],
        };
        Ok(Self { prompt, decode, chunk, context: options.context, positions: vec![0; batch], states, run })
    }

    /// Tokens that the first sequence has seen.
    pub fn position(&self) -> usize {
        self.positions[0]
    }

    /// Tokens that each sequence has seen.
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Elements of a row of logits.
    pub fn vocabulary(&self) -> usize {
        self.run.logits.len() / self.positions.len()
    }

    /// Forgets all but the first tokens of every sequence. The states of recurrent models cannot go back, but to the start.
    pub fn rewind(&mut self, position: usize) -> Result<()> {
        let back = self.positions.iter().any(|&p| p > position);
        ensure!(
            !back || position == 0 || self.states.is_empty(),
            Unsupported,
            "a recurrent model cannot go back to token {position}"
        );
        if back {
            let empty = |buffer: &Arc<Buffer>| buffer.write(0, &vec![0; buffer.ty().bytes()]);
            self.states.iter().try_for_each(empty)?;
        }
        self.positions.iter_mut().for_each(|p| *p = position.min(*p));
        Ok(())
    }

    /// A conversation that goes on independently: it shares the weights and has copies of the caches.
    pub fn fork(&self) -> Result<Self> {
        let (mut prompt, decode) = (self.prompt.twin()?, self.decode.twin()?);
        let mut states = Vec::new();
        for (input, port) in decode.program().inputs.iter().enumerate() {
            let Some(buffer) = decode.handle(input) else { continue };
            let place = prompt.input_index(&port.name)?;
            prompt.bind_handle(place, buffer)?;
            if decode.output_index(&format!("{}.next", port.name)).is_ok() {
                states.push(buffer.clone());
            }
        }
        let run = Run {
            tokens: self.run.tokens.clone(),
            positions: self.run.positions.clone(),
            last: self.run.last.clone(),
            counts: self.run.counts.clone(),
            drawn: self.run.drawn.clone(),
            logits: self.run.logits.clone(),
        };
        Ok(Self { prompt, decode, chunk: self.chunk, context: self.context, positions: self.positions.clone(), states, run })
    }

    pub fn prompt_executable(&self) -> &Executable {
        &self.prompt
    }

    pub fn decode_executable(&self) -> &Executable {
        &self.decode
    }

    /// Takes tokens of one sequence in; gives the logits after the last of them, and the token drawn from them.
    pub fn feed(&mut self, tokens: &[i64], logits: Option<&mut [f32]>) -> Result<Option<i64>> {
        ensure!(self.positions.len() == 1, InvalidArgument, "the session has {} sequences", self.positions.len());
        ensure!(!tokens.is_empty(), InvalidArgument, "no tokens");
        let mut token = None;
        self.feed_batch(&[tokens], logits, |_, drawn| token = Some(drawn))?;
        Ok(token)
    }

    /// Takes tokens of each sequence in, of some perhaps none. Row b of `logits` [B, vocabulary] becomes what follows the last token of
    /// sequence b, if that got any; `drawn` is called with each sequence that got any and the token drawn for it.
    pub fn feed_batch(
        &mut self,
        tokens: &[&[i64]],
        mut logits: Option<&mut [f32]>,
        mut drawn: impl FnMut(usize, i64),
    ) -> Result<()> {
        self.check(tokens, logits.as_deref())?;
        let width = self.vocabulary();
        let mut done = 0;
        loop {
            let longest = tokens.iter().map(|t| t.len().saturating_sub(done)).max().unwrap_or(0);
            if longest == 0 {
                return Ok(());
            }
            let as_prompt = longest > 1 && self.chunk > 1;
            let step = if as_prompt { self.chunk } else { 1 };
            let mut ends = false;
            for (b, tokens) in tokens.iter().enumerate() {
                let left = &tokens[done.min(tokens.len())..];
                let count = left.len().min(step);
                ends |= count > 0 && count == left.len();
                let row = &mut self.run.tokens[b * step..(b + 1) * step];
                row.fill(0);
                row[..count].copy_from_slice(&left[..count]);
                self.run.positions[b] = self.positions[b] as i32;
                self.run.last[b] = count as i32 - 1;
                self.run.counts[b] = count;
            }
            let has_token = self.launch(as_prompt, step, ends && logits.is_some())?;
            for (b, tokens) in tokens.iter().enumerate() {
                self.positions[b] += self.run.counts[b];
                if self.run.counts[b] == 0 || done + self.run.counts[b] < tokens.len() {
                    continue;
                }
                if let Some(logits) = &mut logits {
                    logits[b * width..(b + 1) * width].copy_from_slice(&self.run.logits[b * width..(b + 1) * width]);
                }
                if has_token {
                    drawn(b, self.run.drawn[b]);
                }
            }
            done += step;
        }
    }

    fn check(&self, tokens: &[&[i64]], logits: Option<&[f32]>) -> Result<()> {
        let batch = self.positions.len();
        ensure!(tokens.len() == batch, InvalidArgument, "tokens for {} sequences, the session has {batch}", tokens.len());
        for (b, (tokens, &position)) in tokens.iter().zip(&self.positions).enumerate() {
            let count = tokens.len();
            ensure!(
                count <= self.context - position,
                InvalidArgument,
                "sequence {b}: {count} tokens do not fit: {position} of {} are used",
                self.context
            );
        }
        if let Some(logits) = logits {
            let (have, need) = (logits.len(), self.run.logits.len());
            ensure!(have == need, InvalidArgument, "room for {have} logits, there are {need}");
        }
        Ok(())
    }

    /// One run of what `self.run` holds; true if tokens were drawn.
    fn launch(&mut self, as_prompt: bool, step: usize, with_logits: bool) -> Result<bool> {
        let (executable, run) = (if as_prompt { &mut self.prompt } else { &mut self.decode }, &mut self.run);
        let batch = run.positions.len();
        executable.begin()?;
        executable.give(executable.input_index("tokens")?, bytemuck::cast_slice(&run.tokens[..batch * step]))?;
        executable.give(executable.input_index("position")?, bytemuck::cast_slice(&run.positions))?;
        if let Ok(last) = executable.input_index("last") {
            executable.give(last, bytemuck::cast_slice(&run.last))?;
        }
        let (row, token) = (executable.output_index("logits")?, executable.output_index("token").ok());
        if with_logits {
            executable.want(row)?;
        }
        if let Some(token) = token {
            executable.want(token)?;
        }
        executable.launch()?;
        executable.wait(std::time::Duration::MAX)?;
        if with_logits {
            executable.read_output(row, 0, bytemuck::cast_slice_mut(&mut run.logits))?;
        }
        if let Some(token) = token {
            executable.read_output(token, 0, bytemuck::cast_slice_mut(&mut run.drawn))?;
        }
        Ok(token.is_some())
    }
}
