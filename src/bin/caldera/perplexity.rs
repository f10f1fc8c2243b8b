//! `caldera perplexity`: how well a language model foretells a text.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use caldera::formats::gguf::Gguf;
use caldera::models::Scorer;
use caldera::tensor::ElementType;
use caldera::{Result, ensure, error};

use crate::out::say;
use crate::tokenizer::Tokenizer;
use crate::{runner, values};

/// Measures how well a language model foretells a text
///
/// The text is cut into windows that do not overlap. The first token of each window is given, every other one is foretold from those before
/// it in the window.
#[derive(clap::Args)]
pub struct Arguments {
    /// A GGUF file
    model: PathBuf,
    /// A text file
    text: PathBuf,
    /// Tokens of a window
    #[arg(long, default_value_t = 512, value_parser = values::positive())]
    window: usize,
    /// Windows at most; 0: all
    #[arg(long, default_value_t = 0)]
    windows: usize,
    /// Tokens that one run takes
    #[arg(long, default_value_t = 64, value_parser = values::positive())]
    chunk: usize,
    /// The caches' element type: f32, f16 or bf16
    #[arg(long, default_value = "f16")]
    cache: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The device: an index, a UUID, a kind, or "cpu"
    #[arg(long)]
    device: Option<String>,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let gguf = Gguf::open(&arguments.model)?;
    let tokenizer = Tokenizer::from_gguf(&gguf)?;
    let path = &arguments.text;
    let text = std::fs::read_to_string(path).map_err(|e| error!(File, "{}: {e}", path.display()))?;
    let mut tokens = tokenizer.encode(&text)?;
    // Each window gets a start of its own.
    let start = tokenizer.start().filter(|s| tokens.first() == Some(s));
    if start.is_some() {
        tokens.remove(0);
    }
    let room = arguments.window.saturating_sub(start.iter().count());
    ensure!(room >= 2, InvalidArgument, "a window of {} tokens foretells nothing", arguments.window);
    let most = if arguments.windows == 0 { usize::MAX } else { arguments.windows };
    let device = runner::open(arguments.device.as_deref())?;
    let cache = ElementType::from_name(&arguments.cache)?;
    let mut scorer = Scorer::new(&device, &gguf, [arguments.window, arguments.chunk], cache, runner::loading())?;
    let (began, mut scores) = (Instant::now(), Vec::new());
    for window in tokens.chunks(room).take(most) {
        let given: Vec<i64> = start.into_iter().chain(window.iter().copied()).collect();
        if given.len() >= 2 {
            scores.extend(scorer.score(&given)?.into_iter().map(f64::from));
        }
    }
    ensure!(!scores.is_empty(), InvalidArgument, "{}: the text is too short", path.display());
    report(&scores, began.elapsed().as_secs_f64(), arguments.json);
    Ok(ExitCode::SUCCESS)
}

fn report(scores: &[f64], seconds: f64, json: bool) {
    let n = scores.len() as f64;
    let mean = -scores.iter().sum::<f64>() / n;
    let spread = (scores.iter().map(|s| (s + mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0) / n).sqrt();
    let (perplexity, bits) = (mean.exp(), mean / std::f64::consts::LN_2);
    if json {
        say!(
            "{}",
            serde_json::json!({"tokens": scores.len(), "perplexity": perplexity, "bits_per_token": bits, "tokens_per_s": n / seconds})
        );
    } else {
        say!(
            "perplexity {perplexity:.4} +- {:.4}, {bits:.4} bits a token, {} tokens, {:.1} tokens/s",
            perplexity * spread,
            scores.len(),
            n / seconds
        );
    }
}
