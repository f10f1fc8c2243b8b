//! Gemma 3 270M against float64 values. It runs where CALDERA_GEMMA names the folder that shared/models/fetch.py makes: the weights have
//! terms of their own and are never shipped. CALDERA_GEMMA_DEVICE=cpu or vulkan, CALDERA_GEMMA_PROMPT=short: only those.

use std::path::PathBuf;
use std::time::Instant;

use caldera::formats::gguf::Gguf;
use caldera::models::{Session, SessionOptions};
use caldera::tensor::ElementType;

use crate::{argmax, devices};

struct Prompt {
    name: String,
    ids: Vec<i64>,
    top: Vec<(usize, f64)>,
    log_sum: f64,
    greedy: Vec<i64>,
}

fn prompts(folder: &PathBuf) -> Vec<Prompt> {
    let text = std::fs::read_to_string(folder.join("expected.json")).expect("expected.json is there");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let ints = |v: &serde_json::Value| v.as_array().expect("a list").iter().map(|t| t.as_i64().expect("a number")).collect();
    let pair = |v: &serde_json::Value| (v[0].as_u64().expect("a token") as usize, v[1].as_f64().expect("a logit"));
    let of = |p: &serde_json::Value| Prompt {
        name: p["name"].as_str().expect("a name").into(),
        ids: ints(&p["ids"]),
        top: p["top"].as_array().expect("a list").iter().map(pair).collect(),
        log_sum: p["logsumexp"].as_f64().expect("a number"),
        greedy: ints(&p["greedy"]),
    };
    json["prompts"].as_array().expect("prompts").iter().map(of).collect()
}

fn log_sum(logits: &[f32]) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max) as f64;
    most + logits.iter().map(|&v| (f64::from(v) - most).exp()).sum::<f64>().ln()
}

fn check(session: &mut Session, want: &Prompt, tolerance: f64, what: &str) {
    let mut logits = vec![0f32; session.vocabulary()];
    let start = Instant::now();
    session.rewind(0).expect("caches can be rewound");
    session.feed(&want.ids, Some(&mut logits)).expect("runs");
    let (prompt_time, scale) = (start.elapsed().as_secs_f64(), want.top[0].1.abs());
    let worst = want.top.iter().map(|&(id, v)| (f64::from(logits[id]) - v).abs()).fold(0.0, f64::max);
    let error = worst.max((log_sum(&logits) - want.log_sum).abs()) / scale;
    assert!(error <= tolerance, "{what} {}: error {error:.1e}", want.name);
    let start = Instant::now();
    let mut text = vec![argmax(&logits)];
    while text.len() < want.greedy.len() {
        session.feed(&text[text.len() - 1..], Some(&mut logits)).expect("runs");
        text.push(argmax(&logits));
    }
    assert_eq!(text, want.greedy, "{what} {}", want.name);
    eprintln!("{what} {}: error {error:.1e}, prompt {prompt_time:.1} s, then {:.1} s", want.name, start.elapsed().as_secs_f64());
}

#[test]
fn gemma_agrees_with_float64() {
    let Some(folder) = std::env::var_os("CALDERA_GEMMA").map(PathBuf::from) else {
        eprintln!("skipped: CALDERA_GEMMA names no folder");
        return;
    };
    let only = |name: &str, value: &str| std::env::var(name).map_or(true, |wanted| wanted == value);
    let gguf = Gguf::open(folder.join("model.gguf")).expect("the model opens");
    for (device, kind) in devices().into_iter().zip(["vulkan", "cpu"]) {
        if !only("CALDERA_GEMMA_DEVICE", kind) {
            continue;
        }
        for (cache, tolerance) in [(ElementType::F32, 2e-3), (ElementType::F16, 2e-2)] {
            let options = SessionOptions { context: 700, cache, ..SessionOptions::default() };
            let mut session = Session::new(&device, &gguf, &options, |_, _| {}).expect("the model loads");
            for want in prompts(&folder).iter().filter(|p| only("CALDERA_GEMMA_PROMPT", &p.name)) {
                check(&mut session, want, tolerance, &format!("{kind} {cache}"));
            }
        }
    }
}
