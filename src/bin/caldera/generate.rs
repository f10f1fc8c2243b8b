//! `caldera generate`: text from a language model.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use caldera::Result;
use caldera::formats::gguf::Gguf;
use caldera::models::{self, Sampling, Session, SessionOptions};
use caldera::tensor::ElementType;

use crate::tokenizer::Tokenizer;
use crate::{runner, values};

/// Continues a text with a language model
///
/// The text goes to standard output as it comes, the speed to standard error.
#[derive(clap::Args)]
pub struct Arguments {
    /// A GGUF file
    model: PathBuf,
    /// The text to continue
    #[arg(short, long)]
    prompt: String,
    /// Tokens to generate
    #[arg(short = 'n', long, default_value_t = 256)]
    tokens: usize,
    /// 0: always the most likely token
    #[arg(long, default_value_t = 0.8)]
    temperature: f64,
    /// Draw only from the k most likely tokens; 0: from all
    #[arg(long, default_value_t = 40)]
    top_k: i64,
    /// Draw only from the most likely tokens that together reach this probability
    #[arg(long, default_value_t = 0.95)]
    top_p: f64,
    #[arg(long, default_value_t = 0.0)]
    min_p: f64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The longest sequence; by default what the model was made for, at most 4096
    #[arg(long, value_parser = values::positive())]
    context: Option<usize>,
    /// Tokens of the prompt that one run takes
    #[arg(long, default_value_t = 64, value_parser = values::positive())]
    chunk: usize,
    /// The caches' element type: f32, f16 or bf16
    #[arg(long, default_value = "f16")]
    cache: String,
    /// The device: an index, a UUID, a kind, or "cpu"
    #[arg(long)]
    device: Option<String>,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let gguf = Gguf::open(&arguments.model)?;
    let tokenizer = Tokenizer::from_gguf(&gguf)?;
    let prompt = tokenizer.encode(&arguments.prompt)?;
    let device = runner::open(arguments.device.as_deref())?;
    eprintln!("device: {}", device.info().name);
    let options = SessionOptions {
        context: arguments.context.map_or_else(|| models::default_context(&gguf), Ok)?,
        chunk: arguments.chunk,
        cache: ElementType::from_name(&arguments.cache)?,
        sampling: Some(Sampling {
            temperature: arguments.temperature,
            top_k: arguments.top_k,
            top_p: arguments.top_p,
            min_p: arguments.min_p,
        }),
        seed: arguments.seed,
        ..SessionOptions::default()
    };
    let mut session = Session::new(&device, &gguf, &options, runner::loading())?;
    let start = Instant::now();
    let first = session.feed(&prompt, None)?;
    let prompt_time = start.elapsed().as_secs_f64();
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(arguments.prompt.as_bytes());
    let most = arguments.tokens.min(options.context - session.position());
    let start = Instant::now();
    let written = write_text(&mut out, &mut session, &tokenizer, first, most);
    // The line ends however the text did.
    let _ = writeln!(out);
    let Some(count) = written? else { return Ok(ExitCode::SUCCESS) };
    let seconds = start.elapsed().as_secs_f64();
    eprintln!(
        "prompt: {} tokens, {:.1} tokens/s; generated: {count} tokens, {:.1} tokens/s",
        prompt.len(),
        prompt.len() as f64 / prompt_time,
        count as f64 / seconds
    );
    Ok(ExitCode::SUCCESS)
}

/// Writes tokens as they come, and gives their number. None if the reader went away (a closed pipe): that ends the program quietly.
fn write_text(
    out: &mut impl Write,
    session: &mut Session,
    tokenizer: &Tokenizer,
    first: Option<i64>,
    most: usize,
) -> Result<Option<usize>> {
    let (mut text, mut count, mut token) = (tokenizer.stream(), 0, first);
    while count < most {
        let Some(now) = token.filter(|&t| !tokenizer.is_end(t)) else { break };
        if out.write_all(&text(now)?).and_then(|()| out.flush()).is_err() {
            return Ok(None);
        }
        count += 1;
        token = session.feed(&[now], None)?;
    }
    Ok(Some(count))
}
