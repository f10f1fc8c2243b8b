//! Embeddings of texts, many in one run.

use std::sync::Arc;

use super::{ModelOptions, graph, load_weights};
use crate::formats::gguf::Gguf;
use crate::runtime::{CompileOptions, Device, Executable, Weights};
use crate::{Result, ensure, error};

pub struct Embedder {
    executable: Executable,
    batch: usize,
    tokens: usize,
    width: usize,
}

impl Embedder {
    /// For up to `batch` texts a run, of up to `tokens` tokens each.
    pub fn new(device: &Arc<Device>, gguf: &Gguf, [batch, tokens]: [usize; 2], progress: impl FnMut(u64, u64)) -> Result<Self> {
        let options = ModelOptions { batch, tokens, context: tokens, ..ModelOptions::default() };
        let weights = Weights::new(device);
        let compile = CompileOptions { weights: Some(weights.clone()), ..CompileOptions::default() };
        let executable = Executable::compile(device, &graph(gguf, &options)?, &compile)?;
        let output = executable.output_index("embedding");
        let output = output.map_err(|_| error!(Unsupported, "this model gives no embeddings of texts"))?;
        let width = executable.program().outputs[output].ty.last();
        load_weights(&weights, gguf, progress)?;
        Ok(Self { executable, batch, tokens, width })
    }

    /// The embedding of each text, of length 1.
    pub fn embed(&mut self, texts: &[Vec<i64>]) -> Result<Vec<Vec<f32>>> {
        let mut out = Vec::with_capacity(texts.len());
        for part in texts.chunks(self.batch) {
            self.run(part, &mut out)?;
        }
        Ok(out)
    }

    fn run(&mut self, texts: &[Vec<i64>], out: &mut Vec<Vec<f32>>) -> Result<()> {
        // A row without a text is one token of padding: a mean over none would be NaN.
        let (mut ids, mut counts) = (vec![0i64; self.batch * self.tokens], vec![1i32; self.batch]);
        for (i, text) in texts.iter().enumerate() {
            let (count, most) = (text.len(), self.tokens);
            ensure!((1..=most).contains(&count), InvalidArgument, "a text of {count} tokens; there must be 1 to {most}");
            ids[i * most..][..count].copy_from_slice(text);
            counts[i] = count as i32;
        }
        let mut given: Vec<Option<&[u8]>> = vec![None; self.executable.program().inputs.len()];
        given[self.executable.input_index("tokens")?] = Some(bytemuck::cast_slice(&ids));
        given[self.executable.input_index("count")?] = Some(bytemuck::cast_slice(&counts));
        let mut rows = vec![0f32; self.batch * self.width];
        let output = self.executable.output_index("embedding")?;
        self.executable.run(&given, &mut [(output, bytemuck::cast_slice_mut(&mut rows))])?;
        out.extend(rows.chunks(self.width).take(texts.len()).map(<[f32]>::to_vec));
        Ok(())
    }
}
