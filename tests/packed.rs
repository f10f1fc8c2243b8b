//! Products with packed weights where scales are at the ends of f16's range, by each kernel; checked experts.

use std::sync::{Arc, Mutex};

use caldera::graph::{Dim, Graph};
use caldera::ops::compare::{Rule, compare};
use caldera::ops::{Attribute, Case, Fill, Inputs, Reference, RunNumbers};
use caldera::plan::{MatmulKernel, Options};
use caldera::runtime::{CompileOptions, Device, DeviceOptions, Executable};
use caldera::tensor::{ElementType, Tensor, TensorType};
use caldera::{Result, Status};

fn device() -> Arc<Device> {
    static DEVICE: Mutex<Option<Arc<Device>>> = Mutex::new(None);
    let mut device = DEVICE.lock().expect("no test panics while it opens the device");
    let open = || Device::open(&DeviceOptions { allow_software: true, ..DeviceOptions::default() }).expect("a Vulkan device");
    device.get_or_insert_with(open).clone()
}

/// Runs the case's operator on the device: packed inputs are params.
fn run(case: &Case, inputs: &[Tensor], matmul: MatmulKernel) -> Result<Tensor> {
    let mut graph = Graph::new();
    let mut ids = Vec::new();
    for (i, tensor) in inputs.iter().enumerate() {
        let dims: Vec<Dim> = tensor.dims().iter().map(|&d| Dim::Fixed(d)).collect();
        ids.push(match tensor.element().is_block() {
            true => graph.param(&format!("in{i}"), tensor.element(), tensor.dims())?,
            false => graph.input(&format!("in{i}"), tensor.element(), &dims)?,
        });
    }
    let out = graph.add1(case.operator.clone(), "product", &ids)?;
    graph.output("out", out)?;
    let plan = Options { matmul, ..Options::default() };
    let mut executable = Executable::compile(&device(), &graph, &CompileOptions { plan, ..CompileOptions::default() })?;
    let mut given = Vec::new();
    for (i, tensor) in inputs.iter().enumerate() {
        match tensor.element().is_block() {
            true => executable.set_param(&format!("in{i}"), tensor.element(), tensor.bytes())?,
            false => given.push(Some(tensor.bytes())),
        }
    }
    let mut out = Tensor::zeros(executable.program().outputs[0].ty.clone());
    executable.run(&given, &mut [(0, out.bytes_mut())])?;
    Ok(out)
}

fn want(case: &Case, inputs: &[Tensor]) -> Result<Tensor> {
    let types: Vec<Option<&TensorType>> = inputs.iter().map(|t| Some(t.ty())).collect();
    let outputs = case.operator.infer(&Inputs(&types))?;
    let refs: Vec<Option<&Tensor>> = inputs.iter().map(Some).collect();
    let at = Reference { inputs: Inputs(&refs), outputs: &outputs, run: RunNumbers::default(), unchecked_indices: false };
    Ok(case.operator.reference(&at)?.remove(0))
}

/// Compares the device with the reference, by vectors and by tiles.
fn check(case: &Case, inputs: &[Tensor], what: &str) {
    let want = want(case, inputs).expect("the reference");
    let terms = inputs[0].ty().last();
    for matmul in [MatmulKernel::Scalar, MatmulKernel::Tiled] {
        let got = run(case, inputs, matmul).expect("the device");
        let measure = compare(&got, &want, Rule::Rows { terms }).unwrap_or_else(|e| panic!("{what} {matmul:?}: {e}"));
        assert!(measure.passes(), "{what} {matmul:?}: error {:.2e}, above {:.2e}", measure.error, measure.bound);
    }
}

/// Bytes of f16 scales in a block.
fn scale_offsets(element: ElementType) -> &'static [usize] {
    use ElementType::*;
    match element {
        Q4_1 | Q5_1 | Q4K | Q5K => &[0, 2],
        Q2K => &[80, 82],
        Q3K => &[108],
        Q6K => &[208],
        _ => &[0],
    }
}

fn product(element: ElementType, m: usize, k: usize) -> (Case, Vec<Tensor>) {
    let case = Case::new("DequantMatMul", &[("scheme", Attribute::Text(element.name().into()))])
        .input(ElementType::F32, &[m, k])
        .input(element, &[16, k]);
    let inputs = case.tensors(7).into_iter().flatten().collect();
    (case, inputs)
}

/// f16: zero, smallest and a middle subnormal, largest, infinity, NaN.
const SCALES: [u16; 6] = [0x0000, 0x0001, 0x0200, 0x7bff, 0x7c00, 0x7e00];

/// One block of every third row gets the scale; the rows between must not notice.
#[test]
fn scales_at_the_ends_of_their_range() {
    use ElementType::*;
    for element in [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K, Iq4Nl] {
        for scale in SCALES {
            let (case, mut inputs) = product(element, 5, 768);
            let size = element.block_bytes();
            let row = inputs[1].bytes().len() / 16;
            for r in (1..16).step_by(3) {
                let block = r * row + row / size / 2 * size;
                for at in scale_offsets(element) {
                    inputs[1].bytes_mut()[block + at..][..2].copy_from_slice(&scale.to_le_bytes());
                }
            }
            check(&case, &inputs, &format!("{element} with a scale of {scale:#06x}"));
        }
    }
}

#[test]
fn infinite_and_nan_activations_reach_their_own_rows_only() {
    for element in [ElementType::Q4K, ElementType::Q6K, ElementType::Q8_0] {
        let (case, mut inputs) = product(element, 4, 512);
        let x = inputs[0].as_slice_mut::<f32>();
        (x[3], x[512 + 300], x[2 * 512]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
        check(&case, &inputs, element.name());
    }
}

#[test]
fn any_number_of_rows() {
    use ElementType::*;
    for (i, element) in [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4K, Q5K, Q6K].into_iter().enumerate() {
        for m in (1 + i % 3..=17).step_by(3) {
            for k in [256, 768] {
                let (case, inputs) = product(element, m, k);
                check(&case, &inputs, &format!("{element} m {m} k {k}"));
            }
        }
    }
}

#[test]
fn partial_sums_above_the_range_of_f16() {
    let case = Case::new("DequantMatMul", &[("scheme", Attribute::Text("q8_0".into()))])
        .fill(ElementType::F32, &[1, 4096], Fill::Values(vec![17.0]))
        .input(ElementType::Q8_0, &[4, 4096]);
    let mut inputs: Vec<Tensor> = case.tensors(1).into_iter().flatten().collect();
    for block in inputs[1].bytes_mut().chunks_exact_mut(34) {
        block.fill(1);
        block[..2].copy_from_slice(&0x3c00u16.to_le_bytes());
    }
    for matmul in [MatmulKernel::Auto, MatmulKernel::Tiled] {
        assert_eq!(run(&case, &inputs, matmul).expect("the device").to_f64(), [69632.0; 4]);
    }
}

#[test]
fn an_expert_that_does_not_exist_is_an_error() {
    let case = |m: usize, last: f64| {
        let mut idx = vec![1.0; m];
        idx[m - 1] = last;
        Case::new("DequantGroupedMatMul", &[]).input(ElementType::F32, &[m, 256]).input(ElementType::Q4K, &[3, 5, 256]).fill(
            ElementType::I64,
            &[m],
            Fill::Values(idx),
        )
    };
    for (m, last) in [(2, 3.0), (2, -1.0), (40, 7.0)] {
        let case = case(m, last);
        let inputs: Vec<Tensor> = case.tensors(1).into_iter().flatten().collect();
        let error = run(&case, &inputs, MatmulKernel::Auto).expect_err("the index is out of range");
        assert_eq!(error.status, Status::IndexOutOfRange);
        let says = [format!("{}", m - 1), format!("{last}"), "product".into()];
        assert!(says.iter().all(|part| error.message.contains(part)), "{}", error.message);
    }
}
