//! Operators that move data, in graphs of several nodes and with indices that must be refused, on the Vulkan device and on the CPU device.

use std::sync::Arc;

use caldera::graph::{Dim, Graph, ValueId};
use caldera::ops::{Attribute, Attributes, build};
use caldera::plan::Options;
use caldera::runtime::{CompileOptions, Device, DeviceOptions, Executable, Kind, Select};
use caldera::tensor::{ElementType, Tensor};
use caldera::{Result, Status};

fn devices() -> [Arc<Device>; 2] {
    let vulkan = Device::open(&DeviceOptions { allow_software: true, ..DeviceOptions::default() }).expect("a Vulkan device");
    let cpu = Device::open(&DeviceOptions { select: Select::Kind(Kind::Cpu), ..DeviceOptions::default() }).expect("the CPU device");
    [vulkan, cpu]
}

fn ints(values: &[i64]) -> Attribute {
    Attribute::Ints(values.to_vec())
}

fn node(graph: &mut Graph, operator: &str, attributes: &[(&str, Attribute)], inputs: &[ValueId]) -> ValueId {
    let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    graph.add1(build(operator, &attributes).expect("the operator is there"), "", inputs).expect("the shapes fit")
}

fn input(graph: &mut Graph, name: &str, element: ElementType, dims: &[usize]) -> ValueId {
    let dims: Vec<Dim> = dims.iter().map(|&d| Dim::Fixed(d)).collect();
    graph.input(name, element, &dims).expect("a new name")
}

/// One node on these tensors, as inputs of a graph.
fn one(
    device: &Arc<Device>,
    operator: &str,
    attributes: &[(&str, Attribute)],
    inputs: &[&Tensor],
    unchecked: bool,
) -> Result<Vec<u8>> {
    let mut graph = Graph::new();
    let ids: Vec<ValueId> =
        inputs.iter().enumerate().map(|(i, t)| input(&mut graph, &format!("in{i}"), t.element(), t.dims())).collect();
    let y = node(&mut graph, operator, attributes, &ids);
    graph.output("y", y)?;
    let options =
        CompileOptions { plan: Options { unchecked_indices: unchecked, ..Options::default() }, ..CompileOptions::default() };
    let mut executable = Executable::compile(device, &graph, &options)?;
    let mut bytes = vec![0; executable.program().outputs[0].ty.bytes()];
    let given: Vec<Option<&[u8]>> = inputs.iter().map(|t| Some(t.bytes())).collect();
    executable.run(&given, &mut [(0, &mut bytes)])?;
    Ok(bytes)
}

#[test]
fn bad_indices_are_refused_or_clamped() {
    let data = Tensor::from_slice(&[3, 2], &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let updates = Tensor::from_slice(&[3, 1], &[7f32, 8.0, 9.0]);
    let rows = Tensor::from_slice(&[3, 2], &[1f32; 6]);
    let axis = ("axis", Attribute::Int(0));
    let add = ("reduction", Attribute::Text("Add".into()));
    for device in devices() {
        for bad in [3i64, -4, i64::MAX, i64::MIN] {
            let flat = Tensor::from_slice(&[3], &[0, bad, 1]);
            let column = Tensor::from_slice(&[3, 1], &[0, bad, 1]);
            let calls: [(&str, Vec<(&str, Attribute)>, Vec<&Tensor>); 7] = [
                ("Gather", vec![axis.clone()], vec![&data, &flat]),
                ("GatherElements", vec![axis.clone()], vec![&data, &column]),
                ("GatherND", vec![], vec![&data, &column]),
                ("ScatterElements", vec![axis.clone()], vec![&data, &column, &updates]),
                ("ScatterElements", vec![axis.clone(), add.clone()], vec![&data, &column, &updates]),
                ("ScatterND", vec![], vec![&data, &column, &rows]),
                ("ScatterAdd", vec![("rows", Attribute::Int(3))], vec![&rows, &flat]),
            ];
            for (operator, attributes, inputs) in calls {
                let error = one(&device, operator, &attributes, &inputs, false).expect_err("a bad index");
                assert_eq!(error.status, Status::IndexOutOfRange, "{operator}: {}", error.message);
                let names = error.message.contains(operator) && error.message.contains(&bad.to_string());
                assert!(names && error.message.contains("position 1"), "{}", error.message);
                one(&device, operator, &attributes, &inputs, true).expect("clamped");
            }
        }
        let clamped =
            one(&device, "Gather", &[axis.clone()], &[&data, &Tensor::from_slice(&[2], &[9i32, -9])], true).expect("clamped");
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&clamped), [4.0, 5.0, 0.0, 1.0]);
    }
}

#[test]
fn an_index_into_nothing_is_refused() {
    let empty = Tensor::from_slice::<f32>(&[0, 2], &[]);
    for device in devices() {
        let error = one(&device, "Gather", &[("axis", Attribute::Int(0))], &[&empty, &Tensor::from_slice(&[1], &[0i32])], false);
        assert_eq!(error.expect_err("nothing to read").status, Status::IndexOutOfRange);
    }
}

#[test]
fn views_of_views_keep_their_order() {
    let (h, w) = (8, 8);
    let x: Vec<f32> = (0..3 * h * w).map(|i| i as f32).collect();
    for device in devices() {
        for start in [0usize, 1, 4] {
            let mut graph = Graph::new();
            let value = input(&mut graph, "x", ElementType::F32, &[1, 3, h, w]);
            let flat = node(&mut graph, "Reshape", &[("dims", ints(&[1, 3, -1]))], &[value]);
            let turned = node(&mut graph, "Transpose", &[("perm", ints(&[0, 2, 1]))], &[flat]);
            let bounds = [("starts", ints(&[start as i64])), ("ends", ints(&[i64::MAX])), ("axes", ints(&[1]))];
            let sliced = node(&mut graph, "Slice", &bounds, &[turned]);
            let gathered = node(&mut graph, "Concat", &[("axis", Attribute::Int(-1))], &[sliced, sliced]);
            graph.output("sliced", sliced).expect("an output");
            graph.output("twice", gathered).expect("an output");
            let mut executable = Executable::compile(&device, &graph, &CompileOptions::default()).expect("it compiles");
            let n = h * w - start;
            let (mut sliced, mut twice) = (vec![0f32; n * 3], vec![0f32; n * 6]);
            let outputs = &mut [(0, bytemuck::cast_slice_mut(&mut sliced)), (1, bytemuck::cast_slice_mut(&mut twice))];
            executable.run(&[Some(bytemuck::cast_slice(&x))], outputs).expect("it runs");
            for i in 0..n {
                for c in 0..6 {
                    let want = x[c % 3 * h * w + start + i];
                    assert_eq!(twice[i * 6 + c], want);
                    assert_eq!(sliced[i * 3 + c % 3], want);
                }
            }
        }
    }
}

#[test]
fn sums_at_indices_are_the_same_each_time() {
    let count = 100_000;
    let values: Vec<f32> = (0..count).map(|i| ((i * 7919) % 1000) as f32 * 1.000_1e-3).collect();
    let index: Vec<i32> = (0..count as i32).map(|i| i * 31 % 3).collect();
    let (updates, index) = (Tensor::from_slice(&[count], &values), Tensor::from_slice(&[count], &index));
    let rows = [("rows", Attribute::Int(3))];
    for device in devices() {
        let first = one(&device, "ScatterAdd", &rows, &[&updates, &index], false).expect("it runs");
        for _ in 0..3 {
            assert_eq!(one(&device, "ScatterAdd", &rows, &[&updates, &index], false).expect("it runs"), first);
        }
        let ones = Tensor::from_slice(&[count], &vec![1f32; count]);
        let counts = one(&device, "ScatterAdd", &rows, &[&ones, &index], false).expect("it runs");
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&counts), [33_334.0, 33_333.0, 33_333.0]);
    }
}
