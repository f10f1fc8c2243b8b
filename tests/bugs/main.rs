//! Faults that others shipped: a test a row of the list, `bug_NNN_..`, with the row's small input and its right result, on the Vulkan device (with
//! validation layers) and on the CPU device. A file a section of the list; section E has tests/faults.rs.

mod indexing;
mod numbers;

use std::sync::{Arc, LazyLock, Mutex};

use caldera::graph::{Dim, Graph, ValueId};
use caldera::ops::compare::{Rule, compare};
use caldera::ops::{Attribute, Attributes, Random, build};
use caldera::runtime::{Buffer, CompileOptions, Device, DeviceOptions, Executable, Kind, Select};
use caldera::tensor::{Element, ElementType, Tensor, TensorType, element_count};
use caldera::{Error, Result, log};

static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The Vulkan device and the CPU device, shared by all tests.
static DEVICES: LazyLock<[Arc<Device>; 2]> = LazyLock::new(|| {
    log::set_sink(Some(Box::new(|_, text| {
        if ["VUID-", "SYNC-HAZARD", "UNASSIGNED-"].iter().any(|mark| text.contains(mark))
            && let Ok(mut all) = COMPLAINTS.lock()
        {
            all.push(text.into());
        }
    })));
    let open = |options| Device::open(&options).expect("the device opens");
    let vulkan = DeviceOptions { allow_software: true, validation: true, ..DeviceOptions::default() };
    [open(vulkan), open(DeviceOptions { select: Select::Kind(Kind::Cpu), ..DeviceOptions::default() })]
});

fn silent() {
    let all = COMPLAINTS.lock().expect("no thread panicked with it");
    assert!(all.is_empty(), "{} complaints of the validation layers, the first: {}", all.len(), all[0]);
}

fn int(value: i64) -> Attribute {
    Attribute::Int(value)
}
fn ints(values: &[i64]) -> Attribute {
    Attribute::Ints(values.to_vec())
}
fn float(value: f64) -> Attribute {
    Attribute::Float(value)
}
fn text(value: &str) -> Attribute {
    Attribute::Text(value.into())
}

fn tensor<T: Element>(dims: &[usize], values: &[T]) -> Tensor {
    Tensor::from_slice(dims, values)
}
fn vector<T: Element>(values: &[T]) -> Tensor {
    Tensor::from_slice(&[values.len()], values)
}
/// Rounds to the type; of `bool` it tests for non-zero.
fn rounded(element: ElementType, dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_f64(TensorType::new(element, dims), values)
}
/// The same value everywhere.
fn full(element: ElementType, dims: &[usize], value: f64) -> Tensor {
    rounded(element, dims, &vec![value; element_count(dims)])
}
fn normal(element: ElementType, dims: &[usize], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    rounded(element, dims, &(0..element_count(dims)).map(|_| random.normal()).collect::<Vec<_>>())
}
fn count(dims: &[usize]) -> Tensor {
    tensor(dims, &(0..element_count(dims)).map(|i| i as f32).collect::<Vec<_>>())
}

/// A graph with its inputs' values.
#[derive(Default)]
struct Net {
    graph: Graph,
    given: Vec<Tensor>,
}

impl Net {
    fn input(&mut self, value: Tensor) -> ValueId {
        let dims: Vec<Dim> = value.dims().iter().map(|&d| Dim::Fixed(d)).collect();
        let id = self.graph.input(&format!("in{}", self.given.len()), value.element(), &dims).expect("a new name");
        self.given.push(value);
        id
    }

    fn node(&mut self, operator: &str, attributes: &[(&str, Attribute)], inputs: &[ValueId]) -> ValueId {
        let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        self.graph.add1(build(operator, &attributes).expect("the operator is there"), "", inputs).expect("the shapes fit")
    }

    fn output(&mut self, id: ValueId) {
        self.graph.output(&format!("out{}", self.graph.outputs().len()), id).expect("an output");
    }

    /// The outputs; what a kernel leaves unwritten shows.
    fn run_on(&self, device: &Arc<Device>, times: usize) -> Result<Vec<Tensor>> {
        let mut executable = Executable::compile(device, &self.graph, &CompileOptions::default())?;
        let types: Vec<TensorType> = executable.program().outputs.iter().map(|port| port.ty.clone()).collect();
        for (j, ty) in types.iter().enumerate() {
            let poisoned = Buffer::new(device, ty.clone())?;
            poisoned.write(0, &vec![0x5a; ty.bytes()])?;
            executable.bind_output(j, Some(&poisoned))?;
        }
        let given: Vec<Option<&[u8]>> = self.given.iter().map(|t| Some(t.bytes())).collect();
        let mut last = None;
        for _ in 0..times {
            let mut results: Vec<Tensor> = types.iter().cloned().map(Tensor::zeros).collect();
            let mut outputs: Vec<(usize, &mut [u8])> = results.iter_mut().map(Tensor::bytes_mut).enumerate().collect();
            executable.run(&given, &mut outputs)?;
            assert!(last.is_none_or(|before: Vec<Tensor>| before.iter().zip(&results).all(|(a, b)| a.bytes() == b.bytes())));
            last = Some(results);
        }
        silent();
        Ok(last.unwrap_or_default())
    }

    fn both(&self) -> [Vec<Tensor>; 2] {
        [0, 1].map(|i| self.run_on(&DEVICES[i], 1).unwrap_or_else(|e| panic!("{}: {}", DEVICES[i].info().name, e.message)))
    }

    /// Both devices give these outputs, within the operators' tolerance for sums of so many terms.
    fn gives(&self, want: &[Tensor], terms: usize) {
        for (got, device) in self.both().iter().zip(DEVICES.iter()) {
            assert_eq!(got.len(), want.len());
            for (i, (got, want)) in got.iter().zip(want).enumerate() {
                near(&format!("{} output {i}", device.info().name), got, want, terms);
            }
        }
    }
}

fn near(what: &str, got: &Tensor, want: &Tensor, terms: usize) {
    let measure = compare(got, want, Rule::Rows { terms }).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(measure.passes(), "{what}: {measure:?}");
}

/// One operator.
struct One {
    operator: String,
    attributes: Attributes,
    inputs: Vec<Option<Tensor>>,
    terms: usize,
}

fn one(operator: &str, attributes: &[(&str, Attribute)]) -> One {
    let attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    One { operator: operator.into(), attributes, inputs: Vec::new(), terms: 1 }
}

impl One {
    fn of(mut self, input: Tensor) -> Self {
        self.inputs.push(Some(input));
        self
    }

    /// For the tolerance: a sum of so many terms.
    fn terms(mut self, terms: usize) -> Self {
        self.terms = terms;
        self
    }

    fn net(&self) -> Result<Net> {
        let mut net = Net::default();
        let mut params = Vec::new();
        for input in &self.inputs {
            params.push(input.as_ref().map(|t| match t.element().is_block() {
                true => net.graph.constant("w", Arc::new(t.clone())).expect("a constant"),
                false => net.input(t.clone()),
            }));
        }
        for id in net.graph.add(build(&self.operator, &self.attributes)?, "", &params)? {
            net.output(id);
        }
        Ok(net)
    }

    /// The outputs on both devices.
    fn both(&self) -> [Vec<Tensor>; 2] {
        self.net().unwrap_or_else(|e| panic!("{}: {}", self.operator, e.message)).both()
    }

    /// The outputs, where both devices agree; run twice, with the same bits.
    fn agree(&self) -> Vec<Tensor> {
        let net = self.net().unwrap_or_else(|e| panic!("{}: {}", self.operator, e.message));
        let [vulkan, cpu] =
            [0, 1].map(|i| net.run_on(&DEVICES[i], 2).unwrap_or_else(|e| panic!("{}: {}", self.operator, e.message)));
        for (i, (got, want)) in vulkan.iter().zip(&cpu).enumerate() {
            near(&format!("{} output {i}", self.operator), got, want, self.terms);
        }
        cpu
    }

    fn gives(&self, want: Tensor) {
        self.net().unwrap_or_else(|e| panic!("{}: {}", self.operator, e.message)).gives(&[want], self.terms);
    }

    /// Elementwise: each value within its own tolerance.
    fn gives_each(&self, want: &[f64]) {
        for (outputs, device) in self.both().iter().zip(DEVICES.iter()) {
            let column = |t: &Tensor| t.clone().reshaped(&[want.len(), 1]);
            let want = rounded(outputs[0].element(), &[want.len(), 1], want);
            near(&format!("{} on {}", self.operator, device.info().name), &column(&outputs[0]), &want, self.terms);
        }
    }

    /// The error that is the same at build, or on both devices when it is compiled or run.
    fn refused(&self) -> Error {
        let net = match self.net() {
            Ok(net) => net,
            Err(error) => return error,
        };
        let [vulkan, cpu] = [0, 1].map(|i| match net.run_on(&DEVICES[i], 1) {
            Ok(_) => panic!("{} must be refused", self.operator),
            Err(error) => error,
        });
        assert_eq!(vulkan.status, cpu.status, "{} | {}", vulkan.message, cpu.message);
        vulkan
    }
}
