//! Tiny models of every architecture (tests/models/make.py) against float64 passes of numpy, and what must hold for any session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use caldera::formats::gguf::{Gguf, Value, write_gguf};
use caldera::models::{ModelOptions, Session, SessionOptions, graph, load_weights};
use caldera::runtime::{CompileOptions, Device, Executable, Weights};
use caldera::tensor::ElementType;

use crate::{devices, error};

struct Model {
    name: String,
    gguf: Gguf,
    encoder: bool,
    tokens: Vec<i64>,
    cases: Vec<Case>,
}

struct Case {
    context: usize,
    length: usize,
    values: Vec<f32>,
}

fn folder() -> PathBuf {
    // A bundle has them beside the small model.
    match std::env::var_os("CALDERA_MODELS") {
        Some(folder) => Path::new(&folder).join("tiny"),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/tiny"),
    }
}

fn open(name: &str) -> Model {
    let gguf = Gguf::open(folder().join(format!("{name}.gguf"))).expect("the model opens");
    let text = std::fs::read_to_string(folder().join(format!("{name}.json"))).expect("its values are there");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let list = |v: &serde_json::Value| v.as_array().expect("a list").clone();
    let size = |v: &serde_json::Value| v.as_u64().expect("a number") as usize;
    let case = |c: &serde_json::Value| Case {
        context: size(&c["context"]),
        length: size(&c["length"]),
        values: list(&c["values"]).iter().map(|v| v.as_f64().expect("a number") as f32).collect(),
    };
    let tokens = list(&json["tokens"]).iter().map(|t| t.as_i64().expect("a token")).collect();
    let cases = list(&json["cases"]).iter().map(case).collect();
    Model { name: name.into(), gguf, encoder: json["encoder"] == true, tokens, cases }
}

fn models() -> Vec<Model> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .flatten()
        .filter_map(|e| Some(e.path().file_name()?.to_str()?.strip_suffix(".gguf")?.to_string()))
        .collect();
    names.sort();
    assert_eq!(names.len(), 22, "{names:?}");
    names.iter().map(|n| open(n)).collect()
}

fn session(device: &Arc<Device>, model: &Model, batch: usize, context: usize, chunk: usize) -> Session {
    let options = SessionOptions { batch, context, chunk, cache: ElementType::F32, ..SessionOptions::default() };
    Session::new(device, &model.gguf, &options, |_, _| {}).unwrap_or_else(|e| panic!("{}: {e}", model.name))
}

fn logits(session: &mut Session, tokens: &[i64]) -> Vec<f32> {
    let mut out = vec![0f32; session.vocabulary()];
    session.feed(tokens, Some(&mut out)).expect("runs");
    out
}

fn is_recurrent(name: &str) -> bool {
    name.contains("mamba")
}

fn what(device: &Arc<Device>, model: &Model) -> String {
    format!("{} on {}", model.name, device.info().name)
}

#[test]
fn every_decoder_agrees_with_float64() {
    let mut problems = Vec::new();
    for model in models().iter().filter(|m| !m.encoder) {
        for device in devices() {
            let mut contexts: Vec<usize> = model.cases.iter().map(|c| c.context).collect();
            contexts.dedup();
            for context in contexts {
                let mut session = session(&device, model, 1, context, 16);
                for case in model.cases.iter().filter(|c| c.context == context) {
                    session.rewind(0).expect("to the start");
                    let got = logits(&mut session, &model.tokens[..case.length]);
                    let error = error(&got, &case.values);
                    if error.is_nan() || error > 2e-3 {
                        problems.push(format!("{}, context {context}, {} tokens: {error:.1e}", what(&device, model), case.length));
                    }
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_encoder_agrees_with_float64() {
    for model in models().iter().filter(|m| m.encoder) {
        for device in devices() {
            // All texts in one padded batch.
            let (batch, tokens) = (model.cases.len(), model.tokens.len());
            let options = ModelOptions { batch, tokens, context: tokens, ..ModelOptions::default() };
            let weights = Weights::new(&device);
            let compile = CompileOptions { weights: Some(weights.clone()), ..CompileOptions::default() };
            let graph = graph(&model.gguf, &options).expect("a graph");
            let mut e = Executable::compile(&device, &graph, &compile).expect("compiles");
            load_weights(&weights, &model.gguf, |_, _| {}).expect("weights");
            let mut ids = vec![0i64; batch * tokens];
            for (case, row) in model.cases.iter().zip(ids.chunks_mut(tokens)) {
                row[..case.length].copy_from_slice(&model.tokens[..case.length]);
            }
            let counts: Vec<i32> = model.cases.iter().map(|c| c.length as i32).collect();
            let mut given: Vec<Option<&[u8]>> = vec![None; 2];
            given[e.input_index("tokens").expect("a name")] = Some(bytemuck::cast_slice(&ids));
            given[e.input_index("count").expect("a name")] = Some(bytemuck::cast_slice(&counts));
            let width = model.cases[0].values.len();
            let mut out = vec![0f32; batch * width];
            let index = e.output_index("embedding").expect("a name");
            e.run(&given, &mut [(index, bytemuck::cast_slice_mut(&mut out))]).expect("runs");
            for (case, row) in model.cases.iter().zip(out.chunks(width)) {
                let error = error(row, &case.values);
                assert!(error <= 2e-3, "{}, {} tokens: {error:.1e}", what(&device, model), case.length);
            }
        }
    }
}

/// Chunks of any size, the last one partial, and a context that ends inside a chunk.
#[test]
fn chunks_do_not_change_the_result() {
    for name in ["llama", "gemma3", "qwen3moe", "gpt-oss", "mamba", "mamba2"] {
        let model = open(name);
        let case = model.cases.last().expect("cases");
        for device in devices() {
            let mut first: Option<Vec<f32>> = None;
            for chunk in [1, 7, 48, 64] {
                let context = if chunk == 7 { 48 } else { 64 };
                let mut session = session(&device, &model, 1, context, chunk);
                let got = logits(&mut session, &model.tokens);
                let want = first.get_or_insert_with(|| got.clone());
                let change = error(&got, want);
                assert!(change <= 1e-4, "{}, chunk {chunk}: {change:.1e}", what(&device, &model));
                assert!(error(&got, &case.values) <= 2e-3, "{}, chunk {chunk}", what(&device, &model));
                let runs = if chunk == 1 { 0 } else { 48usize.div_ceil(chunk) as u64 };
                assert_eq!(session.prompt_executable().stats().submits, runs, "{}, chunk {chunk}", what(&device, &model));
            }
        }
    }
}

#[test]
fn a_rewound_or_forked_session_goes_on_as_before() {
    for name in ["llama", "gemma3", "mamba"] {
        let model = open(name);
        for device in devices() {
            let mut session = session(&device, &model, 1, 64, 16);
            let want = logits(&mut session, &model.tokens);
            if is_recurrent(name) {
                assert!(session.rewind(20).expect_err("no way back").message.contains("cannot go back to token 20"));
                session.rewind(0).expect("to the start");
                logits(&mut session, &model.tokens[..20]);
            } else {
                session.rewind(20).expect("caches can be rewound");
            }
            assert_eq!(session.position(), 20);
            let mut fork = session.fork().expect("memory");
            // What the first one does next must not reach the other.
            logits(&mut session, &model.tokens[..9]);
            for _ in 0..2 {
                let again = logits(&mut fork, &model.tokens[20..]);
                let change = error(&again, &want);
                assert!(change <= 1e-4, "{}: {change:.1e}", what(&device, &model));
                fork.rewind(0).expect("to the start");
                logits(&mut fork, &model.tokens[..20]);
            }
        }
    }
}

/// Four sequences of different lengths together, and one token more for some of them.
#[test]
fn a_batch_equals_single_runs() {
    let lengths = [1, 7, 20, 48];
    for name in ["llama", "gemma3", "qwen2moe", "mamba2"] {
        let model = open(name);
        for device in devices() {
            let mut single = session(&device, &model, 1, 64, 16);
            let mut alone = |tokens: &[i64]| {
                single.rewind(0).expect("to the start");
                logits(&mut single, tokens)
            };
            let mut batch = session(&device, &model, 4, 64, 16);
            let width = batch.vocabulary();
            let mut rows = vec![0f32; 4 * width];
            let texts = lengths.map(|n| &model.tokens[..n]);
            batch.feed_batch(&texts, Some(&mut rows), |_, _| {}).expect("runs");
            for (text, row) in texts.iter().zip(rows.chunks(width)) {
                let change = error(row, &alone(text));
                assert!(change <= 1e-4, "{}, {} tokens: {change:.1e}", what(&device, &model), text.len());
            }
            // Single tokens, with idle sequences.
            let next: [&[i64]; 4] = [&[5], &[], &[9], &[]];
            batch.feed_batch(&next, Some(&mut rows), |_, _| {}).expect("runs");
            batch.feed_batch(&[&[], &[3], &[], &[]], Some(&mut rows), |_, _| {}).expect("runs");
            assert_eq!(batch.positions(), [2, 8, 21, 48]);
            for (b, more) in [(0, 5), (1, 3), (2, 9)] {
                let text = [texts[b], &[more]].concat();
                let change = error(&rows[b * width..(b + 1) * width], &alone(&text));
                assert!(change <= 1e-4, "{}, {} tokens: {change:.1e}", what(&device, &model), text.len());
            }
        }
    }
}

/// The file with other metadata, without some tensors, or with one more.
fn changed(model: &Model, key: &str, value: Option<Value>, without: &str, more: Option<&str>) -> Gguf {
    let mut metadata: Vec<(&str, Value)> =
        model.gguf.metadata().iter().filter(|(k, _)| k != key).map(|(k, v)| (k.as_str(), v.clone())).collect();
    metadata.extend(value.map(|v| (key, v)));
    let kept: Vec<_> = model.gguf.tensors().iter().filter(|t| t.name != without).collect();
    let mut tensors: Vec<_> = kept.iter().map(|t| (t.name.clone(), t.ty.clone())).collect();
    let mut data: Vec<Vec<u8>> = kept.iter().map(|t| model.gguf.bytes(t).to_vec()).collect();
    if let Some(name) = more {
        tensors.push((name.into(), tensors[0].1.clone()));
        data.push(data[0].clone());
    }
    let mut bytes = Vec::new();
    write_gguf(&mut bytes, &metadata, &tensors, |k| Ok(data[k].clone())).expect("memory");
    Gguf::from_bytes(&bytes).expect("it is a GGUF file")
}

#[test]
fn what_is_not_known_is_named() {
    let model = open("qwen3");
    let fails = |gguf: &Gguf| graph(gguf, &ModelOptions::default()).expect_err("it is wrong").message;
    let text = |t: &str| Some(Value::Text(t.into()));
    let message = fails(&changed(&model, "general.architecture", text("falcon"), "", None));
    assert!(message.contains("\"falcon\"") && message.contains("nomic-bert"), "{message}");
    let message = fails(&changed(&model, "qwen3.rope.scaling.type", text("spiral"), "", None));
    assert!(message.contains("\"spiral\"") && message.contains("yarn"), "{message}");
    let message = fails(&changed(&model, "", None, "blk.1.attn_k_norm.weight", None));
    assert!(message.contains("\"blk.1.attn_k_norm.weight\"") && message.contains("blk.1.attn_q_norm.weight"), "{message}");
    let message = fails(&changed(&model, "", None, "", Some("blk.0.attn_gate.weight")));
    assert!(message.contains("\"blk.0.attn_gate.weight\"") && message.contains("blk.N.ffn_up.weight"), "{message}");
}
