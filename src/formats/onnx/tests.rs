//! Broken and strange models: each is an error that names what is wrong, and never a panic.

use std::collections::BTreeMap;

use prost::Message as _;

use super::proto::{self, AttributeType, DimensionValue, TypeKind};
use super::{Bindings, OnnxModel};
use crate::Status;
use crate::tensor::{ElementType, Tensor};

fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> proto::Node {
    let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
    proto::Node { op_type: op.into(), inputs: names(inputs), outputs: names(outputs), ..Default::default() }
}

fn caldera(op: &str, inputs: &[&str], outputs: &[&str]) -> proto::Node {
    proto::Node { domain: super::DOMAIN.into(), ..node(op, inputs, outputs) }
}

fn int(mut node: proto::Node, name: &str, value: i64) -> proto::Node {
    let kind = Some(AttributeType::Int as i32);
    node.attributes.push(proto::Attribute { name: name.into(), i: Some(value), kind, ..Default::default() });
    node
}

fn value(name: &str, element: i32, dims: &[i64]) -> proto::ValueInfo {
    let dims = dims.iter().map(|&n| proto::Dimension { value: Some(DimensionValue::Size(n)) }).collect();
    let kind = TypeKind::Tensor(proto::TensorType { element, shape: Some(proto::Shape { dims }) });
    proto::ValueInfo { name: name.into(), ty: Some(proto::Type { kind: Some(kind) }) }
}

/// A model of these nodes with an input x [2,3] and an output y.
fn model(nodes: Vec<proto::Node>) -> proto::Model {
    let graph =
        proto::Graph { nodes, inputs: vec![value("x", 1, &[2, 3])], outputs: vec![value("y", 1, &[2, 3])], ..Default::default() };
    let set = |domain: &str, version| proto::OperatorSet { domain: domain.into(), version };
    let opset_import = vec![set("", 21), set(super::DOMAIN, 1)];
    proto::Model { ir_version: Some(10), graph: Some(graph), opset_import, ..Default::default() }
}

fn softmax(from: &str, to: &str) -> proto::Node {
    int(caldera("Softmax", &[from], &[to]), "axis", -1)
}

fn read(model: &proto::Model) -> crate::Result<crate::graph::Graph> {
    OnnxModel::from_bytes(&model.encode_to_vec())?.graph(&Bindings::default()).map(|(graph, _)| graph)
}

fn message(model: &proto::Model) -> String {
    read(model).expect_err("it is broken").message
}

#[test]
fn a_right_model_is_read() {
    let graph = read(&model(vec![softmax("x", "y")])).expect("right");
    assert_eq!(graph.nodes().len(), 1);
    assert_eq!(graph.outputs()[0].0, "y");
}

#[test]
fn names_that_nothing_gives() {
    assert!(message(&model(vec![softmax("z", "y")])).contains("\"z\" is read, but no input"));
    let cycle = model(vec![softmax("b", "a"), softmax("a", "b"), softmax("b", "y")]);
    assert!(message(&cycle).contains("\"b\" is read"));
    assert!(message(&model(vec![])).contains("output \"y\""));
    assert!(message(&model(vec![softmax("x", "x")])).contains("\"x\" is defined twice"));
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let several = model(vec![
        caldera("NoSuch", &["x"], &["a"]),
        node("Det", &["a"], &["b"]),
        node("NeitherThis", &["x"], &["c"]),
        softmax("b", "y"),
        proto::Node { domain: "other.domain".into(), ..node("Thing", &["x"], &["d"]) },
    ]);
    let mut several = several;
    several.opset_import.push(proto::OperatorSet { domain: "other.domain".into(), version: 1 });
    let error = read(&several).expect_err("not supported");
    assert_eq!(error.status, Status::Unsupported);
    for part in ["NoSuch \"a\"", "NeitherThis \"c\"", "other.domain.Thing \"d\""] {
        assert!(error.message.contains(part), "{} lacks {part}", error.message);
    }
    assert!(!error.message.contains("Softmax"), "{}", error.message);
}

#[test]
fn operator_sets_are_checked() {
    let mut newer = model(vec![softmax("x", "y")]);
    newer.opset_import[1].version = 2;
    assert!(message(&newer).contains("version 2"));
    let mut standard = model(vec![node("Relu", &["x"], &["y"])]);
    standard.opset_import[0].version = 1000;
    assert!(message(&standard).contains("opset 1000"));
    standard.opset_import.clear();
    assert!(message(&standard).contains("does not import"));
}

#[test]
fn attributes_are_checked() {
    let unknown = int(softmax("x", "y"), "axes", 1);
    assert!(message(&model(vec![unknown])).contains("\"axes\""));
    let mut text = softmax("x", "y");
    text.attributes[0].kind = Some(AttributeType::String as i32);
    text.attributes[0].s = Some(b"\xff"[..].into());
    assert!(message(&model(vec![text])).contains("UTF-8"));
    let ignored = int(node("Identity", &["x"], &["y"]), "mode", 1);
    assert!(message(&model(vec![ignored])).contains("attribute \"mode\""));
}

#[test]
fn initializers_are_checked_when_they_are_read() {
    let mut bad = model(vec![softmax("w", "y")]);
    let graph = bad.graph.as_mut().expect("there");
    let tensor = |dims: &[i64]| proto::Tensor { name: "w".into(), data_type: 1, dims: dims.to_vec(), ..Default::default() };
    graph.initializers = vec![proto::Tensor { raw_data: Some(vec![0; 11].into()), ..tensor(&[3]) }];
    assert!(message(&bad).contains("tensor \"w\": got 11 bytes"));
    for dims in [&[-3][..], &[1 << 40, 1 << 40], &[i64::MAX]] {
        bad.graph.as_mut().expect("there").initializers = vec![tensor(dims)];
        assert!(message(&bad).contains("tensor \"w\""), "{dims:?}");
    }
    let entry = |key: &str, value: &str| proto::Entry { key: key.into(), value: value.into() };
    let external = vec![entry("location", "data"), entry("offset", "0")];
    bad.graph.as_mut().expect("there").initializers =
        vec![proto::Tensor { external_data: external, data_location: 1, ..tensor(&[3]) }];
    assert!(message(&bad).contains("without a folder"));
}

#[test]
fn inputs_are_checked() {
    let mut bad = model(vec![softmax("x", "y")]);
    bad.graph.as_mut().expect("there").inputs = vec![value("x", 1, &[-1, 3])];
    assert!(message(&bad).contains("dimension 0 is -1"));
    bad.graph.as_mut().expect("there").inputs = vec![value("x", 8, &[3])];
    assert!(message(&bad).contains("string"));
    bad.graph.as_mut().expect("there").inputs = vec![proto::ValueInfo { name: "x".into(), ty: None }];
    assert!(message(&bad).contains("has no type"));
}

#[test]
fn symbols_are_bound_by_values() {
    let mut symbolic = model(vec![softmax("x", "y")]);
    let symbol = proto::Dimension { value: Some(DimensionValue::Symbol("n".into())) };
    let shape = Some(proto::Shape { dims: vec![symbol.clone(), symbol] });
    let kind = Some(TypeKind::Tensor(proto::TensorType { element: 1, shape }));
    symbolic.graph.as_mut().expect("there").inputs[0].ty = Some(proto::Type { kind });
    let model = OnnxModel::from_bytes(&symbolic.encode_to_vec()).expect("parses");
    assert_eq!(model.symbols().expect("types"), ["n"]);
    let run = |dims: &[usize]| {
        let tensor = Tensor::zeros(crate::tensor::TensorType::new(ElementType::F32, dims));
        model.graph_for(&BTreeMap::from([("x".to_string(), tensor)])).map(|l| l.graph)
    };
    let graph = run(&[4, 4]).expect("one size");
    assert_eq!(graph.ty(graph.outputs()[0].1).expect("known").dims, [4, 4]);
    assert!(run(&[4, 5]).expect_err("two sizes").message.contains("dimension 1 must be 4"));
    assert!(run(&[4]).is_err());
    let unbound = model.graph(&Bindings::default()).expect("symbolic").0;
    assert_eq!(unbound.unbound(), ["n"]);
    let wrong = Bindings { dims: BTreeMap::from([("m".to_string(), 1)]), ..Bindings::default() };
    assert!(model.graph(&wrong).is_err());
}

#[test]
fn functions_are_read_in_place() {
    let mut with_function = model(vec![proto::Node { domain: "mine".into(), ..int(node("Twice", &["x"], &["y"]), "along", 0) }]);
    let mut inner = caldera("Softmax", &["a"], &["b"]);
    let reference = proto::Attribute {
        name: "axis".into(),
        ref_attr_name: "along".into(),
        kind: Some(AttributeType::Int as i32),
        ..Default::default()
    };
    inner.attributes.push(reference);
    let set = |domain: &str, version| proto::OperatorSet { domain: domain.into(), version };
    with_function.functions.push(proto::Function {
        name: "Twice".into(),
        domain: "mine".into(),
        inputs: vec!["a".into()],
        outputs: vec!["c".into()],
        attributes: vec!["along".into()],
        nodes: vec![inner, softmax("b", "c")],
        opset_import: vec![set(super::DOMAIN, 1)],
        ..Default::default()
    });
    let graph = read(&with_function).expect("right");
    assert_eq!(graph.nodes().len(), 2);
    // A function that calls itself never ends.
    let call = proto::Node { domain: "mine".into(), ..node("Twice", &["a"], &["c"]) };
    with_function.functions[0].nodes = vec![call];
    with_function.functions[0].opset_import.push(set("mine", 1));
    assert!(message(&with_function).contains("within each other"));
    // It sees nothing of its caller.
    with_function.functions[0].nodes = vec![softmax("x", "c")];
    assert!(message(&with_function).contains("\"x\" is read"));
}

#[test]
fn a_model_cut_or_changed_anywhere_is_no_panic() {
    let mut whole = model(vec![softmax("x", "a"), softmax("w", "b"), softmax("a", "y")]);
    let weights =
        proto::Tensor { name: "w".into(), data_type: 1, dims: vec![3], raw_data: Some(vec![0; 12].into()), ..Default::default() };
    whole.graph.as_mut().expect("there").initializers = vec![weights];
    let bytes = whole.encode_to_vec();
    let try_read = |bytes: &[u8]| OnnxModel::from_bytes(bytes).and_then(|m| m.graph(&Bindings::default()));
    for length in 0..bytes.len() {
        let _ = try_read(&bytes[..length]);
    }
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bad = bytes.clone();
            bad[at] = value;
            let _ = try_read(&bad);
        }
    }
}
