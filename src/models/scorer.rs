//! How likely a model finds a text.

use std::sync::Arc;

use super::session::bind_caches;
use super::{ModelOptions, graph, load_weights};
use crate::formats::gguf::Gguf;
use crate::runtime::{Buffer, CompileOptions, Device, Executable, Weights};
use crate::tensor::ElementType;
use crate::{Result, ensure, error};

pub struct Scorer {
    executable: Executable,
    states: Vec<Arc<Buffer>>,
    chunk: usize,
    context: usize,
}

impl Scorer {
    /// For texts of up to `context` tokens, `chunk` of them a run.
    pub fn new(
        device: &Arc<Device>,
        gguf: &Gguf,
        [context, chunk]: [usize; 2],
        cache: ElementType,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let chunk = chunk.clamp(1, context.max(1));
        let options = ModelOptions { tokens: chunk, context, spare: chunk, cache, scores: true, ..ModelOptions::default() };
        let weights = Weights::new(device);
        let compile = CompileOptions { weights: Some(weights.clone()), ..CompileOptions::default() };
        let mut executable = Executable::compile(device, &graph(gguf, &options)?, &compile)?;
        load_weights(&weights, gguf, progress)?;
        let states = bind_caches(device, &mut [&mut executable])?;
        Ok(Self { executable, states, chunk, context })
    }

    /// The logarithm of the probability of every token but the first, each given those before it.
    pub fn score(&mut self, tokens: &[i64]) -> Result<Vec<f32>> {
        let (count, most) = (tokens.len(), self.context + 1);
        ensure!((2..=most).contains(&count), InvalidArgument, "a text of {count} tokens; there must be 2 to {most}");
        self.states.iter().try_for_each(|s| s.write(0, &vec![0; s.ty().bytes()]))?;
        let mut out = Vec::with_capacity(count - 1);
        let mut rows = vec![0f32; self.chunk];
        let index = |e: &Executable, name: &str| e.input_index(name);
        for start in (0..count - 1).step_by(self.chunk) {
            let length = self.chunk.min(count - 1 - start);
            let padded = |from: usize| {
                let mut row = vec![0i64; self.chunk];
                row[..length].copy_from_slice(&tokens[from..from + length]);
                row
            };
            let (ids, targets) = (padded(start), padded(start + 1));
            let e = &mut self.executable;
            e.begin()?;
            e.give(index(e, "tokens")?, bytemuck::cast_slice(&ids))?;
            e.give(index(e, "targets")?, bytemuck::cast_slice(&targets))?;
            e.give(index(e, "position")?, &(start as i32).to_le_bytes())?;
            if let Ok(last) = index(e, "last") {
                e.give(last, &(length as i32 - 1).to_le_bytes())?;
            }
            let scores = e.output_index("scores").map_err(|_| error!(Internal, "a graph of scores has none"))?;
            e.want(scores)?;
            e.launch()?;
            e.wait(std::time::Duration::MAX)?;
            e.read_output(scores, 0, bytemuck::cast_slice_mut(&mut rows))?;
            out.extend_from_slice(&rows[..length]);
        }
        Ok(out)
    }
}
