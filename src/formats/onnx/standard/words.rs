//! Counts of words, which here are numbers.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, size, text};
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, TensorType, list_text};
use crate::{Result, bail, ensure, error};

pub const ROWS: &[(&str, Convert)] = &[("TfIdfVectorizer", vectorize)];

/// Runs of words of one length, and where each is counted.
struct Grams<'a> {
    length: usize,
    /// One after the other.
    words: &'a [i64],
    columns: &'a [i64],
}

/// x [words] or [batch, words]: how often each of the listed runs of words is in it, words apart by up to `max_skip_count` others.
fn vectorize(cx: &mut Context) -> Result<Vec<Operand>> {
    ensure!(cx.attributes.find("pool_strings").is_none(), Unsupported, "strings");
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let words = matches!(ty.rank(), 1 | 2) && matches!(ty.element, ElementType::I32 | ElementType::I64);
    ensure!(words, InvalidGraph, "takes integers [words] or [batch, words], not {ty}");
    // The pool's words are 64 bits wide: none of them may wrap to one of x.
    let x = cx.cast(&x, ElementType::I64)?;
    let x = cx.reshape(&x, &[if ty.rank() == 2 { ty.dims[0] } else { 1 }, ty.last()])?;
    let list = |name: &str| Ok::<_, crate::Error>(cx.attributes.ints(name)?.unwrap_or(&[]));
    let (counts, columns, pool) = (list("ngram_counts")?, list("ngram_indexes")?, list("pool_int64s")?);
    let number = |name: &str| -> Result<usize> {
        let value = cx.attributes.int(name)?.ok_or_else(|| error!(InvalidGraph, "{name} is missing"))?;
        usize::try_from(value).map_err(|_| error!(InvalidGraph, "{name} is {value}"))
    };
    let (shortest, longest, skips) = (number("min_gram_length")?, number("max_gram_length")?, number("max_skip_count")?);
    let mode = cx.attributes.text("mode")?.unwrap_or("");
    let weights = cx.attributes.floats("weights")?;
    let negative = columns.iter().any(|&c| c < 0);
    ensure!(!negative && !columns.is_empty(), InvalidGraph, "ngram_indexes {columns}", columns = list_text(&columns));
    let width = columns.iter().fold(0, |w, &c| w.max(c)) as usize + 1;
    let batch = cx.ty(&x)?.dims[0];
    let mut y = full(ElementType::F32, &[batch, width], 0.0);
    for grams in grams(counts, columns, pool)?.iter().filter(|g| (shortest..=longest).contains(&g.length)) {
        // Single words have nothing between them.
        for apart in 1..=if grams.length == 1 { 1 } else { skips + 1 } {
            y = add_counts(cx, y, &x, grams, apart)?;
        }
    }
    if mode == "IDF" {
        let there = cx.with_scalar("Gt", &y, 0.0)?;
        y = cx.cast(&there, ElementType::F32)?;
    }
    ensure!(matches!(mode, "TF" | "IDF" | "TFIDF"), InvalidGraph, "mode is \"{mode}\"");
    if let Some(weights) = weights.filter(|_| mode != "TF") {
        ensure!(weights.len() == width, InvalidGraph, "{} weights for {width} columns", weights.len());
        let weights = Operand::constant(Tensor::from_f64(TensorType::new(ElementType::F32, [1, width]), &weights));
        y = cx.binary("Mul", &y, &weights)?;
    }
    Ok(vec![if ty.rank() == 2 { y } else { cx.reshape(&y, &[width])? }])
}

/// `counts` says where in the pool the runs of one word start, of two, and so on.
fn grams<'a>(counts: &[i64], columns: &'a [i64], pool: &'a [i64]) -> Result<Vec<Grams<'a>>> {
    let mut out = Vec::new();
    let mut first = 0;
    for (i, &start) in counts.iter().enumerate() {
        let end = counts.get(i + 1).copied().unwrap_or(pool.len() as i64);
        let words = usize::try_from(start).ok().zip(usize::try_from(end).ok()).and_then(|(s, e)| pool.get(s..e));
        let Some(words) = words else {
            bail!(InvalidGraph, "ngram_counts {counts} for a pool of {} words", pool.len(), counts = list_text(&counts))
        };
        let (length, number) = (i + 1, words.len() / (i + 1));
        let Some(columns) = columns.get(first..first + number) else {
            bail!(InvalidGraph, "{} ngram_indexes for more runs of words", columns.len())
        };
        first += number;
        out.push(Grams { length, words: &words[..number * length], columns });
    }
    Ok(out)
}

fn add_counts(cx: &mut Context, y: Operand, x: &Operand, grams: &Grams, apart: usize) -> Result<Operand> {
    let ty = cx.ty(x)?;
    let number = grams.columns.len();
    let places = ty.last().saturating_sub((grams.length - 1) * apart);
    if places == 0 || number == 0 {
        return Ok(y);
    }
    let mut all = None;
    for i in 0..grams.length {
        let words: Vec<i64> = (0..number).map(|g| grams.words[g * grams.length + i]).collect();
        let words = Operand::constant(Tensor::from_slice(&[1, 1, number], &words));
        let there = cx.narrow(x, 1, i * apart, places)?;
        let there = cx.reshape(&there, &[ty.dims[0], places, 1])?;
        let same = cx.binary("Eq", &there, &words)?;
        all = Some(match all {
            Some(all) => cx.binary("And", &all, &same)?,
            None => same,
        });
    }
    let Some(all) = all else { return Ok(y) };
    let all = cx.cast(&all, ElementType::F32)?;
    let counts = cx.reduce("Sum", &all, &[1], false)?;
    let columns = Operand::constant(Tensor::from_slice(&[1, number], grams.columns));
    let columns = cx.expand(&columns, &[ty.dims[0], number])?;
    cx.emit1("ScatterElements", vec![("axis", size(1)), ("reduction", text("Add"))], &[y, columns, counts])
}
