//! `caldera embed`: embeddings of texts.

use std::path::PathBuf;
use std::process::ExitCode;

use caldera::formats::gguf::Gguf;
use caldera::models::Embedder;
use caldera::{Result, ensure, error};

use crate::out::say;
use crate::tokenizer::Tokenizer;
use crate::{runner, values};

/// Prints the embedding of each text, of length 1
///
/// One text, one line: a JSON list of numbers.
#[derive(clap::Args)]
pub struct Arguments {
    /// A GGUF file of an encoder (bert, nomic-bert)
    model: PathBuf,
    /// Texts; none: the lines of standard input
    texts: Vec<String>,
    /// Texts a run
    #[arg(long, default_value_t = 8, value_parser = values::positive())]
    batch: usize,
    /// Print the cosines of all pairs instead
    #[arg(long)]
    cosines: bool,
    /// The device: an index, a UUID, a kind, or "cpu"
    #[arg(long)]
    device: Option<String>,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let gguf = Gguf::open(&arguments.model)?;
    let tokenizer = Tokenizer::from_gguf(&gguf)?;
    let texts = match arguments.texts.is_empty() {
        true => std::io::stdin().lines().collect::<std::io::Result<_>>().map_err(|e| error!(File, "standard input: {e}"))?,
        false => arguments.texts.clone(),
    };
    ensure!(!texts.is_empty(), InvalidArgument, "there is no text");
    let tokens = texts.iter().map(|t| tokenizer.encode(t)).collect::<Result<Vec<_>>>()?;
    let longest = tokens.iter().map(Vec::len).max().unwrap_or(1);
    let device = runner::open(arguments.device.as_deref())?;
    let sizes = [arguments.batch.clamp(1, tokens.len()), longest.max(1)];
    let rows = Embedder::new(&device, &gguf, sizes, runner::loading())?.embed(&tokens)?;
    for row in &rows {
        if arguments.cosines {
            let line: Vec<String> = rows.iter().map(|other| format!("{:7.4}", dot(row, other))).collect();
            say!("{}", line.join(" "));
        } else {
            say!("{}", serde_json::json!(row));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
