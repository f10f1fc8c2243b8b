//! Matrix products by each kernel in turn, whatever the table would choose; the options; checked experts.
//!
//! `products --ignored --nocapture times` prints how long each kernel takes at the sizes of the targets, on a GPU.

use std::sync::Arc;

use caldera::graph::{Dim, Graph, ValueId};
use caldera::ops::compare::{Rule, compare};
use caldera::ops::contraction::{Algorithm, Choice, MatMul, Tile, lower_product_as};
use caldera::ops::{Attribute, Attributes, Inputs, Lowering, Operator, OperatorRef, Reference, RunNumbers, build, share};
use caldera::plan::{MatmulKernel, Options};
use caldera::runtime::{Buffer, CompileOptions, Device, DeviceOptions, Executable};
use caldera::tensor::{ElementType, Tensor, TensorType};
use caldera::{Result, Status};

/// A MatMul that is computed as `choice` says.
#[derive(Debug)]
struct Forced {
    inner: MatMul,
    choice: Choice,
}

impl Operator for Forced {
    fn name(&self) -> &'static str {
        "MatMul"
    }
    fn attributes(&self) -> Attributes {
        self.inner.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        self.inner.infer(ins)
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        self.inner.reference(at)
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let product = self.inner.product(at)?;
        lower_product_as(at, &product, &self.choice)
    }
}

fn forced(algorithm: Algorithm, swap: bool, [splits, chunk]: [usize; 2], transpose_a: bool, transpose_b: bool) -> OperatorRef {
    let choice = Choice { algorithm, swap, sorted: false, splits, chunk, why: "forced" };
    share(Forced { inner: MatMul { transpose_a, transpose_b }, choice })
}

fn device() -> Arc<Device> {
    Device::open(&DeviceOptions { allow_software: true, ..DeviceOptions::default() }).expect("a Vulkan device")
}

/// Whole numbers, so that sums are exact in f32 in any order.
fn values(element: ElementType, dims: &[usize], seed: usize) -> Tensor {
    let ty = TensorType::new(element, dims);
    let list: Vec<f64> = (0..ty.elements()).map(|i| ((i * 31 + i / 7 * 13 + seed) % 9) as f64 - 4.0).collect();
    Tensor::from_f64(ty, &list)
}

fn graph(operator: &OperatorRef, inputs: &[Tensor]) -> Graph {
    let mut graph = Graph::new();
    let ids: Vec<ValueId> = inputs
        .iter()
        .enumerate()
        .map(|(i, t)| {
            let dims: Vec<Dim> = t.dims().iter().map(|&d| Dim::Fixed(d)).collect();
            graph.input(&format!("in{i}"), t.element(), &dims).expect("a new name")
        })
        .collect();
    let out = graph.add1(operator.clone(), "", &ids).expect("the shapes fit");
    graph.output("out", out).expect("a new name");
    graph
}

fn executable(device: &Arc<Device>, operator: &OperatorRef, inputs: &[Tensor], options: Options) -> Result<Executable> {
    Executable::compile(device, &graph(operator, inputs), &CompileOptions { plan: options, ..CompileOptions::default() })
}

fn run(executable: &mut Executable, inputs: &[Tensor]) -> Result<Tensor> {
    let mut out = Tensor::zeros(executable.program().outputs[0].ty.clone());
    let given: Vec<Option<&[u8]>> = inputs.iter().map(|t| Some(t.bytes())).collect();
    executable.run(&given, &mut [(0, out.bytes_mut())])?;
    Ok(out)
}

fn reference(operator: &OperatorRef, inputs: &[Tensor]) -> Tensor {
    let refs: Vec<Option<&Tensor>> = inputs.iter().map(Some).collect();
    let types: Vec<Option<&TensorType>> = inputs.iter().map(|t| Some(t.ty())).collect();
    let outputs = operator.infer(&Inputs(&types)).expect("the shapes fit");
    let at = Reference { inputs: Inputs(&refs), outputs: &outputs, run: RunNumbers::default(), unchecked_indices: false };
    operator.reference(&at).expect("a reference").swap_remove(0)
}

fn operands(element: ElementType, [m, n, k]: [usize; 3], transpose_a: bool, transpose_b: bool) -> [Tensor; 2] {
    let a = if transpose_a { [k, m] } else { [m, k] };
    let b = if transpose_b { [n, k] } else { [k, n] };
    [values(element, &a, 1), values(element, &b, 5)]
}

/// None where this device has no such kernel.
fn check(device: &Arc<Device>, operator: &OperatorRef, inputs: &[Tensor], options: Options) -> Option<()> {
    let mut executable = match executable(device, operator, inputs, options) {
        Err(e) if e.status == Status::Unsupported => return None,
        other => other.expect("it compiles"),
    };
    let got = run(&mut executable, inputs).expect("it runs");
    let want = reference(operator, inputs);
    let measure = compare(&got, &want, Rule::Rows { terms: 1 }).unwrap_or_else(|e| panic!("{operator:?}: {e}"));
    assert!(measure.passes(), "{operator:?} {:?}: error {:.2e}", inputs.iter().map(Tensor::ty).collect::<Vec<_>>(), measure.error);
    let again = run(&mut executable, inputs).expect("it runs again");
    assert!(got.bytes() == again.bytes(), "{operator:?}: two runs differ");
    Some(())
}

#[test]
fn every_tile_is_right_at_its_edges() {
    let device = device();
    let tiles =
        [Algorithm::Tiled(Tile::Small), Algorithm::Tiled(Tile::Large), Algorithm::Coop(Tile::Small), Algorithm::Coop(Tile::Medium)];
    for (i, algorithm) in tiles.into_iter().enumerate() {
        // A software driver takes seconds to compile the large kernels, for each type anew: one is enough there.
        let types = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64];
        for &element in &types[..if software(&device) { 1 } else { 4 }] {
            if element == ElementType::F64 && matches!(algorithm, Algorithm::Coop(_)) {
                continue;
            }
            // Matrix units take whole pieces of 8 along the contiguous axes: the last size has none along its rows and columns.
            let sizes = match algorithm {
                Algorithm::Coop(_) => [[264, 136, 72], [64, 264, 96], [129, 131, 40]],
                _ => [[129, 131, 67], [64, 264, 96], [257, 72, 40]],
            };
            for (j, size) in sizes.into_iter().enumerate().take(if software(&device) { 2 } else { 3 }) {
                let ends = matches!(algorithm, Algorithm::Coop(_)) && j == 2;
                let (ta, tb) = if ends { (false, true) } else { ((i + j) % 2 == 1, (i + j) % 4 > 1) };
                let parts = if j == 1 { [3, 32] } else { [1, size[2]] };
                let operator = forced(algorithm, false, parts, ta, tb);
                let found = check(&device, &operator, &operands(element, size, ta, tb), Options::default());
                assert!(found.is_some() || matches!(algorithm, Algorithm::Coop(_)), "{algorithm:?} must be there");
            }
        }
    }
}

fn software(device: &Device) -> bool {
    device.info().name.contains("llvmpipe")
}

#[test]
fn few_rows_and_columns() {
    let device = device();
    for (algorithm, swap, size, parts) in [
        (Algorithm::Rows { lines: 1 }, false, [1, 37, 8192], [2, 4096]),
        (Algorithm::Rows { lines: 2 }, false, [3, 37, 2056], [1, 2056]),
        (Algorithm::Rows { lines: 4 }, false, [8, 6, 1001], [1, 1001]),
        (Algorithm::Rows { lines: 2 }, true, [37, 2, 1024], [1, 1024]),
        (Algorithm::Columns, false, [2, 520, 200], [3, 96]),
        (Algorithm::Columns, false, [8, 33, 77], [1, 77]),
        (Algorithm::Columns, true, [300, 5, 64], [2, 32]),
    ] {
        let (ta, tb) = match (algorithm, swap) {
            (Algorithm::Columns, false) => (false, false),
            (Algorithm::Columns, true) => (true, false),
            _ => (false, true),
        };
        let operator = forced(algorithm, swap, parts, ta, tb);
        for element in [ElementType::F32, ElementType::Bf16] {
            check(&device, &operator, &operands(element, size, ta, tb), Options::default()).expect("every device has it");
        }
    }
}

#[test]
fn the_option_says_which_kernel() {
    let device = device();
    let operator = build("MatMul", &Attributes::new()).expect("it is there");
    for (matmul, names) in [
        (MatmulKernel::Scalar, &["matmul_scalar"][..]),
        (MatmulKernel::Tiled, &["matmul_tiled"]),
        (MatmulKernel::Coop, &["matmul_coop", "matmul_tiled"]),
    ] {
        let options = Options { matmul, ..Options::default() };
        for size in [[3, 40, 70], [70, 40, 90]] {
            let inputs = operands(ElementType::F16, size, false, false);
            check(&device, &operator, &inputs, options.clone()).expect("every device has it");
            let program = executable(&device, &operator, &inputs, options.clone()).expect("it compiles");
            let used: Vec<&str> = program.program().steps.iter().map(|s| s.kernel.info().name).collect();
            assert!(used.iter().any(|u| names.iter().any(|n| u.starts_with(n))), "{matmul:?}: {used:?}");
        }
    }
}

#[test]
fn an_expert_that_does_not_exist_is_an_error() {
    let device = device();
    let operator =
        build("GroupedMatMul", &Attributes::from([("transpose_b".to_string(), Attribute::Int(0))])).expect("it is there");
    // Few rows go one by one, many are sorted first.
    for (rows, experts, bad) in [(5, 3, -1i64), (5, 3, 3), (5, 0, 0), (40, 3, 1 << 40), (40, 3, -7), (40, 0, 2)] {
        let mut idx = vec![0i64; rows];
        idx[rows - 2] = bad;
        let inputs = [
            values(ElementType::F32, &[rows, 4], 1),
            values(ElementType::F32, &[experts, 4, 6], 2),
            Tensor::from_slice(&[rows], &idx),
        ];
        let mut executable = executable(&device, &operator, &inputs, Options::default()).expect("it compiles");
        let error = run(&mut executable, &inputs).expect_err("an index is out of range");
        assert_eq!(error.status, Status::IndexOutOfRange, "{}", error.message);
        if experts > 0 {
            assert!(error.message.contains(&bad.to_string()), "{}", error.message);
        }
    }
}

/// Microseconds of a run on the GPU, the median of several, operands in device memory.
fn microseconds(device: &Arc<Device>, operator: &OperatorRef, inputs: &[TensorType]) -> Option<f64> {
    let tensors: Vec<Tensor> = inputs.iter().cloned().map(Tensor::zeros).collect();
    let options = CompileOptions { profiling: true, ..CompileOptions::default() };
    let mut executable = Executable::compile(device, &graph(operator, &tensors), &options).ok()?;
    for (i, ty) in inputs.iter().enumerate() {
        let buffer = Buffer::new(device, ty.clone()).ok()?;
        let bits: Vec<u16> = (0..ty.bytes() / 2).map(|i| (i * 2654435761 >> 16) as u16 & 0xbfff | 0x3000).collect();
        buffer.write(0, bytemuck::cast_slice(&bits)).ok()?;
        executable.bind_handle(i, &buffer).ok()?;
    }
    let mut times: Vec<f64> = (0..15)
        .filter_map(|_| {
            executable.run(&[], &mut []).ok()?;
            let profile = executable.profile().ok()?;
            let end = profile.times.iter().map(|t| t.start + t.nanoseconds).fold(0.0, f64::max);
            Some((end - profile.times.first()?.start) / 1e3)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

#[test]
#[ignore = "for a GPU: prints times"]
fn times() {
    let device = device();
    println!("{}", device.info().name);
    let whole = |k| [1, k];
    let tiles = |e: ElementType| -> Vec<Algorithm> {
        let tiled = [Tile::Large, Tile::Small].map(Algorithm::Tiled);
        let coop = [Tile::Small, Tile::Medium].map(Algorithm::Coop);
        if e == ElementType::F32 { [&tiled[..], &coop[..]].concat() } else { coop.to_vec() }
    };
    for element in [ElementType::F16, ElementType::Bf16, ElementType::F32] {
        for size in [[512, 4096, 4096], [4096, 4096, 4096], [8192, 8192, 8192]] {
            for (ta, tb) in [(false, true), (false, false), (true, false)] {
                if tb != (size[0] != 8192) && size[0] != 4096 {
                    continue;
                }
                for algorithm in tiles(element) {
                    let [m, n, k] = size;
                    let inputs = operand_types(element, size, ta, tb);
                    let Some(us) = microseconds(&device, &forced(algorithm, false, whole(k), ta, tb), &inputs) else { continue };
                    let speed = 2.0 * (m * n * k) as f64 / us / 1e6;
                    println!("{element} {m}x{n}x{k} ta={ta} tb={tb} {algorithm:?}: {us:.1} us, {speed:.1} TFLOP/s");
                }
            }
        }
    }
    for element in [ElementType::F16, ElementType::F32] {
        for (m, n, k) in [(1, 14336, 4096), (1, 4096, 14336), (4, 14336, 4096), (8, 14336, 4096), (1, 4096, 4096)] {
            for tb in [true, false] {
                let algorithms = match tb {
                    true => vec![1, 2, 4].into_iter().map(|lines| Algorithm::Rows { lines }).collect(),
                    false => vec![Algorithm::Columns],
                };
                for algorithm in algorithms {
                    for splits in [1, 2, 4, 8, 16] {
                        let inputs = operand_types(element, [m, n, k], false, tb);
                        let operator = forced(algorithm, false, [splits, k / splits], false, tb);
                        let Some(us) = microseconds(&device, &operator, &inputs) else { continue };
                        let speed = (n * k * element.bytes()) as f64 / us / 1e3;
                        println!("{element} {m}x{n}x{k} tb={tb} {algorithm:?} splits {splits}: {us:.1} us, {speed:.0} GB/s");
                    }
                }
            }
        }
    }
}

fn operand_types(element: ElementType, [m, n, k]: [usize; 3], transpose_a: bool, transpose_b: bool) -> Vec<TensorType> {
    let a = if transpose_a { [k, m] } else { [m, k] };
    let b = if transpose_b { [n, k] } else { [k, n] };
    vec![TensorType::new(element, a), TensorType::new(element, b)]
}
