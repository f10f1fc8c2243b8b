//! Every case of the operator table: the Vulkan device against the references.
//!
//! `cargo test --release --test operators -- [FILTER..] [--device NAME] [--mask NAMES] [--subgroup N] [--every N] [--time]` runs the cases whose title
//! holds a FILTER, with some features of the device hidden (CALDERA_MASK, CALDERA_SUBGROUP say the same), and with --every only the first of each N.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caldera::Result;
use caldera::graph::{Dim, Graph};
use caldera::ops::compare::{Rule, compare};
use caldera::ops::{Case, Inputs, Reference, RunNumbers, table};
use caldera::runtime::{Buffer, CompileOptions, Device, DeviceOptions, Executable, Masks, Select};
use caldera::tensor::{Tensor, TensorType};

fn main() -> ExitCode {
    let (mut filters, mut device, mut timed) = (Vec::new(), None, false);
    let (mut masks, mut subgroup, mut every) = (Masks::default(), None, 1usize);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--device" => device = arguments.next(),
            "--mask" => masks = Masks::from_text(&arguments.next().expect("--mask takes names")).expect("--mask names features"),
            "--subgroup" => subgroup = Some(arguments.next().and_then(|n| n.parse().ok()).expect("--subgroup takes a number")),
            "--every" => every = arguments.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0).expect("--every takes a number"),
            "--time" => timed = true,
            other if other.starts_with("--") => {}
            _ => filters.push(argument),
        }
    }
    let select = device.as_deref().map_or(Select::Best, |d| Select::from_text(d).expect("--device names a device"));
    let device = Device::open(&DeviceOptions { select, masks, subgroup, allow_software: true, ..DeviceOptions::default() })
        .expect("a Vulkan device");
    println!("device: {}, which has {}", device.info().name, device.info().features.join(", "));
    let (mut passed, mut failed, mut number) = (0, 0, 0usize);
    for entry in table() {
        let start = Instant::now();
        let cases = (entry.cases)();
        let mut spent = (Duration::ZERO, String::new());
        for case in cases {
            let title = case.title();
            if !filters.is_empty() && !filters.iter().any(|f| title.contains(f.as_str())) {
                continue;
            }
            number += 1;
            if !(number - 1).is_multiple_of(every) {
                continue;
            }
            let begun = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| check(&device, &case)));
            if begun.elapsed() > spent.0 {
                spent = (begun.elapsed(), title.clone());
            }
            match result {
                Ok(Ok(())) => passed += 1,
                Ok(Err(message)) => {
                    failed += 1;
                    println!("FAILED {title}: {message}");
                }
                Err(_) => {
                    failed += 1;
                    println!("FAILED {title}: panicked");
                }
            }
        }
        if timed && !spent.1.is_empty() {
            println!(
                "{:8.2} s {} (longest {:.2} s: {})",
                start.elapsed().as_secs_f64(),
                entry.name,
                spent.0.as_secs_f64(),
                spent.1
            );
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The case as a graph: block types are params, all else inputs.
fn graph(case: &Case, inputs: &[Option<Tensor>]) -> Result<Graph> {
    let mut graph = Graph::new();
    let mut ids = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let Some(tensor) = input else {
            ids.push(None);
            continue;
        };
        let dims: Vec<Dim> = tensor.dims().iter().map(|&d| Dim::Fixed(d)).collect();
        let name = format!("in{i}");
        ids.push(Some(match tensor.element().is_block() {
            true => graph.param(&name, tensor.element(), tensor.dims())?,
            false => graph.input(&name, tensor.element(), &dims)?,
        }));
    }
    let outputs = graph.add(case.operator.clone(), "", &ids)?;
    for (i, id) in outputs.into_iter().enumerate() {
        graph.output(&format!("out{i}"), id)?;
    }
    Ok(graph)
}

fn check(device: &Arc<Device>, case: &Case) -> std::result::Result<(), String> {
    let inputs = case.tensors(1);
    let graph = graph(case, &inputs).map_err(|e| e.message)?;
    let got = run(device, &graph, &inputs).map_err(|e| e.message)?;
    let refs: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_ref).collect();
    let types: Vec<TensorType> =
        graph.outputs().iter().map(|(_, id)| graph.ty(*id).cloned()).collect::<Result<_>>().map_err(|e| e.message)?;
    let at = Reference { inputs: Inputs(&refs), outputs: &types, run: RunNumbers::default(), unchecked_indices: false };
    let want = case.operator.reference(&at).map_err(|e| format!("reference: {}", e.message))?;
    let input_types: Vec<Option<&TensorType>> = inputs.iter().map(|t| t.as_ref().map(Tensor::ty)).collect();
    let terms = case.operator.terms(&Inputs(&input_types));
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let measure = compare(got, want, Rule::Rows { terms }).map_err(|e| format!("output {i}: {e}"))?;
        if !measure.passes() {
            return Err(format!("output {i}: error {:.2e}, above {:.2e}; {}", measure.error, measure.bound, farthest(got, want)));
        }
    }
    Ok(())
}

/// The element that is farthest from what it should be.
fn farthest(got: &Tensor, want: &Tensor) -> String {
    let (got, want) = (got.to_f64(), want.to_f64());
    // max: two NaN are no distance apart.
    let distance = |i: &usize| (got[*i] - want[*i]).abs().max(0.0);
    let worst = (0..got.len()).max_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
    format!("element {worst} of {} is {:e}, not {:e}", got.len(), got[worst], want[worst])
}

fn run(device: &Arc<Device>, graph: &Graph, inputs: &[Option<Tensor>]) -> Result<Vec<Tensor>> {
    let mut executable = Executable::compile(device, graph, &CompileOptions::default())?;
    assert_eq!(executable.stats().host_operators, 0);
    let mut given = Vec::new();
    for (i, tensor) in inputs.iter().enumerate() {
        match tensor {
            Some(tensor) if tensor.element().is_block() => {
                executable.set_param(&format!("in{i}"), tensor.element(), tensor.bytes())?
            }
            Some(tensor) => given.push(Some(tensor.bytes())),
            None => {}
        }
    }
    let types: Vec<TensorType> = executable.program().outputs.iter().map(|port| port.ty.clone()).collect();
    // What a kernel leaves unwritten must show.
    for (j, ty) in types.iter().enumerate() {
        let poisoned = Buffer::new(device, ty.clone())?;
        poisoned.write(0, &vec![0x5a; ty.bytes()])?;
        executable.bind_output(j, Some(&poisoned))?;
    }
    let mut results: Vec<Tensor> = types.into_iter().map(Tensor::zeros).collect();
    let mut outputs: Vec<(usize, &mut [u8])> = results.iter_mut().map(Tensor::bytes_mut).enumerate().collect();
    executable.run(&given, &mut outputs)?;
    Ok(results)
}
