//! Recurrent operators from run to run: a state kept in one buffer, the same bits again, and what they say of wrong inputs.

use std::sync::Arc;

use caldera::graph::{Dim, Graph};
use caldera::ops::compare::{Rule, compare};
use caldera::ops::{Attribute, Attributes, Case, Fill, build};
use caldera::runtime::{Buffer, CompileOptions, Device, DeviceOptions, Executable, Kind, Select};
use caldera::tensor::{ElementType, Tensor, TensorType};

const F32: ElementType = ElementType::F32;

/// An operator with its inputs in order.
struct Node {
    operator: &'static str,
    attributes: Vec<(&'static str, Attribute)>,
    inputs: Vec<Tensor>,
    /// Inputs that go along the steps, which are their second axis.
    cut: Vec<usize>,
    /// Input and output of each state.
    states: Vec<(usize, usize)>,
}

fn tensor(dims: &[usize], low: f64, high: f64, seed: u64) -> Tensor {
    Case::part(TensorType::new(F32, dims), Fill::Range(low, high), seed)
}

fn devices() -> Vec<Arc<Device>> {
    let vulkan = Device::open(&DeviceOptions { allow_software: true, ..DeviceOptions::default() }).expect("a Vulkan device");
    let cpu = Device::open(&DeviceOptions { select: Select::Kind(Kind::Cpu), ..DeviceOptions::default() }).expect("the CPU device");
    vec![vulkan, cpu]
}

/// Lstm, Gru in both modes and Rnn of `hidden` units, with a batch of 4 and 6 steps.
fn networks(hidden: usize) -> Vec<Node> {
    let list = [
        ("Lstm", None, 4usize),
        ("Gru", Some(("linear_before_reset", Attribute::Int(0))), 3),
        ("Gru", Some(("linear_before_reset", Attribute::Int(1))), 3),
        ("Rnn", Some(("act", Attribute::Text("Relu".into()))), 1),
    ];
    let node = |(operator, extra, gates): (&'static str, Option<(&'static str, Attribute)>, usize)| {
        let mut attributes = vec![("hidden", Attribute::Int(hidden as i64))];
        attributes.extend(extra);
        let size = 1.0 / (hidden as f64).sqrt();
        let weights = |dims: &[usize], seed| tensor(dims, -size, size, seed);
        let mut inputs = vec![
            tensor(&[4, 6, 5], -1.0, 1.0, 1),
            weights(&[gates * hidden, 5], 2),
            weights(&[gates * hidden, hidden], 3),
            weights(&[gates * hidden], 4),
        ];
        if gates == 3 {
            inputs.push(weights(&[3 * hidden], 5));
        }
        let first = inputs.len();
        let count = if gates == 4 { 2 } else { 1 };
        inputs.extend((0..count).map(|i| tensor(&[1, 4, hidden], -1.0, 1.0, 6 + i)));
        Node { operator, attributes, inputs, cut: vec![0], states: (0..count as usize).map(|i| (first + i, 1 + i)).collect() }
    };
    list.into_iter().map(node).collect()
}

fn scans() -> Vec<Node> {
    let node = |operator, inputs: Vec<Tensor>, cut: &[usize], state| Node {
        operator,
        attributes: Vec::new(),
        inputs,
        cut: cut.to_vec(),
        states: vec![(state, 1)],
    };
    let any = |dims: &[usize], seed| tensor(dims, -1.0, 1.0, seed);
    vec![
        node(
            "SelectiveScan",
            vec![
                any(&[2, 6, 7], 1),
                tensor(&[2, 6, 7], 0.0, 1.0, 2),
                tensor(&[7, 5], -2.0, 0.0, 3),
                any(&[2, 6, 5], 4),
                any(&[2, 6, 5], 5),
                any(&[7], 6),
                any(&[2, 7, 5], 7),
            ],
            &[0, 1, 3, 4],
            6,
        ),
        node(
            "Mamba2",
            vec![
                any(&[2, 6, 4, 9], 1),
                tensor(&[2, 6, 4], 0.0, 1.0, 2),
                tensor(&[4], -2.0, 0.0, 3),
                tensor(&[2, 6, 2, 6], 0.0, 1.0, 4),
                tensor(&[2, 6, 2, 6], 0.0, 1.0, 5),
                any(&[2, 4, 9, 6], 6),
            ],
            &[0, 1, 3, 4],
            5,
        ),
        node(
            "GatedDeltaNet",
            vec![
                any(&[2, 6, 3, 12], 1),
                tensor(&[2, 6, 3, 12], -0.3, 0.3, 2),
                any(&[2, 6, 3, 7], 3),
                tensor(&[2, 6, 3], -1.0, 0.0, 4),
                tensor(&[2, 6, 3], 0.0, 1.0, 5),
                any(&[2, 3, 12, 7], 6),
            ],
            &[0, 1, 2, 3, 4],
            5,
        ),
        node("CausalConv1d", vec![any(&[2, 6, 9], 1), any(&[9, 6], 2), any(&[9], 3), any(&[2, 9, 5], 4)], &[0], 3),
    ]
}

fn compile(device: &Arc<Device>, node: &Node, inputs: &[Tensor]) -> Executable {
    let attributes: Attributes = node.attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    let mut graph = Graph::new();
    let ids: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(i, t)| {
            let dims: Vec<Dim> = t.dims().iter().map(|&d| Dim::Fixed(d)).collect();
            Some(graph.input(&format!("in{i}"), t.element(), &dims).expect("a new name"))
        })
        .collect();
    let outputs = graph.add(build(node.operator, &attributes).expect("it is there"), "", &ids).expect("the shapes fit");
    for (i, id) in outputs.into_iter().enumerate() {
        graph.output(&format!("out{i}"), id).expect("a new name");
    }
    Executable::compile(device, &graph, &CompileOptions::default()).expect("it compiles")
}

/// All outputs; inputs that are None have a handle.
fn run(executable: &mut Executable, inputs: &[Option<&Tensor>]) -> Vec<Tensor> {
    let mut out: Vec<Tensor> = executable.program().outputs.iter().map(|port| Tensor::zeros(port.ty.clone())).collect();
    let given: Vec<Option<&[u8]>> = inputs.iter().map(|t| t.map(Tensor::bytes)).collect();
    let mut wanted: Vec<(usize, &mut [u8])> = out.iter_mut().map(Tensor::bytes_mut).enumerate().collect();
    executable.run(&given, &mut wanted).expect("it runs");
    out
}

/// `count` steps from `start` on, of a tensor [batch, steps, ..].
fn part(x: &Tensor, start: usize, count: usize) -> Tensor {
    let mut dims = x.dims().to_vec();
    let row = x.bytes().len() / (dims[0] * dims[1]);
    let bytes: Vec<u8> =
        x.bytes().chunks(dims[1] * row).flat_map(|item| &item[start * row..(start + count) * row]).copied().collect();
    dims[1] = count;
    Tensor::from_bytes(TensorType::new(x.element(), dims), &bytes).expect("as many bytes as elements")
}

fn expect_near(got: &Tensor, want: &Tensor, what: &str) {
    let measure = compare(got, want, Rule::Rows { terms: 1 }).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(measure.passes(), "{what}: {measure:?}");
}

/// Six steps at once, and in two runs of three with each state in one buffer, which the run reads and writes.
fn carried(device: &Arc<Device>, node: &Node) {
    let all: Vec<Option<&Tensor>> = node.inputs.iter().map(Some).collect();
    let whole = run(&mut compile(device, node, &node.inputs), &all);
    let cut = |start: usize| -> Vec<Tensor> {
        let one = |(i, t): (usize, &Tensor)| if node.cut.contains(&i) { part(t, start, 3) } else { t.clone() };
        node.inputs.iter().enumerate().map(one).collect()
    };
    let halves = [cut(0), cut(3)];
    let mut executable = compile(device, node, &halves[0]);
    let mut buffers = Vec::new();
    for &(input, output) in &node.states {
        let buffer = Buffer::new(device, node.inputs[input].ty().clone()).expect("a buffer");
        buffer.write(0, node.inputs[input].bytes()).expect("it fits");
        executable.bind_handle(input, &buffer).expect("the type fits");
        executable.bind_output(output, Some(&buffer)).expect("the type fits");
        buffers.push(buffer);
    }
    for (i, half) in halves.iter().enumerate() {
        let state = |i: usize| node.states.iter().any(|s| s.0 == i);
        let given: Vec<Option<&Tensor>> = half.iter().enumerate().map(|(i, t)| (!state(i)).then_some(t)).collect();
        let y = run(&mut executable, &given).swap_remove(0);
        expect_near(&y, &part(&whole[0], 3 * i, 3), &format!("{} {:?}, half {i}", node.operator, node.attributes));
    }
    for (buffer, &(_, output)) in buffers.iter().zip(&node.states) {
        let mut last = Tensor::zeros(buffer.ty().clone());
        buffer.read(0, last.bytes_mut()).expect("it is readable");
        expect_near(&last, &whole[output], &format!("{} {:?}, state {output}", node.operator, node.attributes));
    }
}

#[test]
fn a_state_in_one_buffer_is_carried_from_run_to_run() {
    for device in devices() {
        // One network in one workgroup, one in a dispatch a step.
        for node in networks(3).iter().chain(&networks(260)).chain(&scans()) {
            carried(&device, node);
        }
    }
}

#[test]
fn a_run_leaves_nothing_behind_for_the_next() {
    let device = &devices()[0];
    for node in networks(3).iter().chain(&networks(260)).chain(&scans()) {
        let mut executable = compile(device, node, &node.inputs);
        let all: Vec<Option<&Tensor>> = node.inputs.iter().map(Some).collect();
        let first = run(&mut executable, &all);
        let second = run(&mut executable, &all);
        for (a, b) in first.iter().zip(&second) {
            assert_eq!(a.bytes(), b.bytes(), "{} {:?}", node.operator, node.attributes);
        }
    }
}

#[test]
fn wrong_inputs_are_named() {
    let text = |operator: &str, attributes: &[(&str, Attribute)], dims: &[&[usize]]| {
        let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        let mut graph = Graph::new();
        let ids: Vec<_> = dims
            .iter()
            .enumerate()
            .map(|(i, dims)| {
                let dims: Vec<Dim> = dims.iter().map(|&d| Dim::Fixed(d)).collect();
                Some(graph.input(&format!("in{i}"), F32, &dims).expect("a new name"))
            })
            .collect();
        let made = build(operator, &attributes).and_then(|op| graph.add(op, "", &ids));
        made.expect_err("the shapes do not fit").message
    };
    let hidden = [("hidden", Attribute::Int(4))];
    let message = text("Lstm", &hidden, &[&[2, 3, 5], &[16, 5], &[12, 4], &[16]]);
    assert!(message.contains("w_hh is f32 [12,4]") && message.contains("64 elements"), "{message}");
    let message = text("Gru", &hidden, &[&[2, 3, 5], &[12, 5], &[12, 4], &[12], &[11]]);
    assert!(message.contains("b_hh is f32 [11]"), "{message}");
    let message = text("Rnn", &hidden, &[&[2, 3, 5], &[4, 5], &[4, 4], &[4], &[2, 1, 4]]);
    assert!(message.contains("h0 is f32 [2,1,4]"), "{message}");
    let message = text("SelectiveScan", &[], &[&[2, 3, 5], &[2, 3, 5], &[5, 7], &[2, 3, 7], &[2, 3, 6]]);
    assert!(message.contains("c is f32 [2,3,6]"), "{message}");
    let message = text("Mamba2", &[], &[&[2, 3, 4, 5], &[2, 3, 4], &[4], &[2, 3, 3, 6], &[2, 3, 3, 6]]);
    assert!(message.contains("4 heads cannot share 3 groups"), "{message}");
    let message = text("GatedDeltaNet", &[], &[&[1, 2, 3, 4], &[1, 2, 3, 4], &[1, 2, 3, 5], &[1, 2, 4], &[1, 2, 3]]);
    assert!(message.contains("g is f32 [1,2,4]"), "{message}");
    let message = text("CausalConv1d", &[], &[&[1, 2, 3], &[3, 4], &[2]]);
    assert!(message.contains("bias is f32 [2]"), "{message}");
}
