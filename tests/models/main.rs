//! Real models against stored results of independent programs: on the Vulkan device and on the CPU device.

mod architectures;
mod gemma;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use caldera::formats::gguf::Gguf;
use caldera::models::{ModelOptions, Session, SessionOptions, graph};
use caldera::runtime::{Buffer, CompileOptions, Device, DeviceOptions, Executable, Kind, Select, Weights};
use caldera::tensor::ElementType;

/// The folder of the shipped model, or the one that a bundle brings.
fn folder() -> PathBuf {
    match std::env::var_os("CALDERA_MODELS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tiny-english"),
    }
}

fn devices() -> Vec<Arc<Device>> {
    let vulkan = Device::open(&DeviceOptions { allow_software: true, ..DeviceOptions::default() }).expect("a Vulkan device");
    let cpu = Device::open(&DeviceOptions { select: Select::Kind(Kind::Cpu), ..DeviceOptions::default() }).expect("the CPU device");
    vec![vulkan, cpu]
}

struct Expected {
    tokens: Vec<i64>,
    logits: Vec<f32>,
    greedy: Vec<i64>,
}

fn expected() -> Vec<Expected> {
    let text = std::fs::read_to_string(folder().join("expected.json")).expect("expected.json is there");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let ints = |v: &serde_json::Value| v.as_array().expect("a list").iter().map(|t| t.as_i64().expect("a number")).collect();
    let cases = json["cases"].as_array().expect("cases");
    let of = |p: &serde_json::Value| Expected {
        tokens: ints(&p["tokens"]),
        logits: p["logits"].as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number") as f32).collect(),
        greedy: ints(&p["greedy_tokens"]),
    };
    cases.iter().map(of).collect()
}

fn session(device: &Arc<Device>, gguf: &Gguf, cache: ElementType, chunk: usize) -> Session {
    let options = SessionOptions { context: 384, chunk, cache, ..SessionOptions::default() };
    Session::new(device, gguf, &options, |_, _| {}).expect("the model loads")
}

/// Largest difference over the largest expected value.
fn error(got: &[f32], want: &[f32]) -> f32 {
    let scale = want.iter().fold(0f32, |m, v| m.max(v.abs()));
    got.iter().zip(want).fold(0f32, |m, (g, w)| m.max((g - w).abs())) / scale
}

#[test]
fn the_small_model_agrees_with_an_independent_forward_pass() {
    let gguf = Gguf::open(folder().join("model.gguf")).expect("the model opens");
    for device in devices() {
        for (cache, chunk, tolerance) in [(ElementType::F32, 64, 1e-3), (ElementType::F32, 7, 1e-3), (ElementType::F16, 64, 2e-2)] {
            for want in expected() {
                // A prompt longer than a few tokens is not fed one by one: the CPU device would take long.
                let mut session = session(&device, &gguf, cache, chunk);
                let mut logits = vec![0f32; want.logits.len()];
                session.feed(&want.tokens, Some(&mut logits)).expect("runs");
                let error = error(&logits, &want.logits);
                assert!(error <= tolerance, "{} {cache} chunk {chunk}: error {error:.1e}", device.info().name);
                let mut token = argmax(&logits);
                for (i, &greedy) in want.greedy.iter().enumerate().take(8) {
                    assert_eq!(token, greedy, "{} {cache}: token {i}", device.info().name);
                    session.feed(&[token], Some(&mut logits)).expect("runs");
                    token = argmax(&logits);
                }
            }
        }
    }
}

fn argmax(logits: &[f32]) -> i64 {
    (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0) as i64
}

#[test]
fn a_decode_step_is_one_submit_with_nothing_on_the_host() {
    let gguf = Gguf::open(folder().join("model.gguf")).expect("the model opens");
    let device = &devices()[0];
    let mut session = session(device, &gguf, ElementType::F16, 16);
    session.feed(&[72, 101], None).expect("runs");
    session.feed(&[108], None).expect("runs");
    let before = session.decode_executable().stats();
    session.feed(&[108], None).expect("runs");
    let after = session.decode_executable().stats();
    assert_eq!(after.submits - before.submits, 1);
    assert_eq!(after.host_operators, 0);
    assert_eq!(after.device_allocations, before.device_allocations);
}

/// Keys past the valid rows are never read: NaN there changes nothing.
#[test]
fn the_unused_part_of_a_cache_is_not_read() {
    let gguf = Gguf::open(folder().join("model.gguf")).expect("the model opens");
    for device in devices() {
        let options = ModelOptions { context: 33, cache: ElementType::F32, ..ModelOptions::default() };
        let weights = Weights::new(&device);
        let compile = CompileOptions { weights: Some(weights.clone()), ..CompileOptions::default() };
        let mut results = Vec::new();
        for fill in [0f32, f32::NAN] {
            let mut e = Executable::compile(&device, &graph(&gguf, &options).expect("a graph"), &compile).expect("compiles");
            caldera::models::load_weights(&weights, &gguf, |_, _| {}).expect("weights");
            let ports = e.program().inputs.clone();
            for (i, port) in ports.iter().enumerate().filter(|(_, p)| p.name.starts_with("cache_")) {
                let buffer = Buffer::new(&device, port.ty.clone()).expect("memory");
                buffer.write(0, bytemuck::cast_slice(&vec![fill; port.ty.elements()])).expect("fits");
                e.bind_handle(i, &buffer).expect("binds");
            }
            let mut logits = vec![0f32; 256];
            for (at, token) in [72i64, 101].into_iter().enumerate() {
                let (tokens, position) = (e.input_index("tokens").expect("a name"), e.input_index("position").expect("a name"));
                e.begin().expect("idle");
                e.give(tokens, &token.to_le_bytes()).expect("fits");
                e.give(position, &(at as i32).to_le_bytes()).expect("fits");
                e.want(0).expect("an output");
                e.launch().expect("runs");
                e.wait(std::time::Duration::MAX).expect("ends");
                e.read_output(0, 0, bytemuck::cast_slice_mut(&mut logits)).expect("downloaded");
            }
            results.push(logits);
        }
        assert_eq!(results[0], results[1], "{}", device.info().name);
    }
}
