//! What an executable promises from run to run, on the Vulkan device and on the CPU device.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use caldera::graph::{Dim, Graph, ValueId};
use caldera::ops::{Attribute, Attributes, build};
use caldera::runtime::{Buffer, CompileOptions, Device, DeviceOptions, Executable, Kind, Select, Weights};
use caldera::tensor::{ElementType, Tensor, TensorType};
use caldera::{Result, Status};

/// Counts the allocations of the thread that asks for it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn devices() -> Vec<Arc<Device>> {
    let vulkan = Device::open(&DeviceOptions { allow_software: true, ..DeviceOptions::default() }).expect("a Vulkan device");
    let cpu = Device::open(&DeviceOptions { select: Select::Kind(Kind::Cpu), ..DeviceOptions::default() }).expect("the CPU device");
    vec![vulkan, cpu]
}

fn node(graph: &mut Graph, operator: &str, attributes: &[(&str, Attribute)], inputs: &[ValueId]) -> ValueId {
    let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    graph.add1(build(operator, &attributes).expect("the operator is there"), "", inputs).expect("the shapes fit")
}

fn input(graph: &mut Graph, name: &str, element: ElementType, dims: &[usize]) -> ValueId {
    let dims: Vec<Dim> = dims.iter().map(|&d| Dim::Fixed(d)).collect();
    graph.input(name, element, &dims).expect("a new name")
}

fn compile(device: &Arc<Device>, graph: &Graph) -> Executable {
    Executable::compile(device, graph, &CompileOptions::default()).expect("it compiles")
}

/// x f32 [n] plus one, output "y".
fn plus_one(n: usize) -> Graph {
    let mut graph = Graph::new();
    let x = input(&mut graph, "x", ElementType::F32, &[n]);
    let one = graph.constant("one", Arc::new(Tensor::from_slice(&[], &[1f32]))).expect("a constant");
    let y = node(&mut graph, "Add", &[], &[x, one]);
    graph.output("y", y).expect("an output");
    graph
}

fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(bytes)
}

fn handle(executable: &Executable, name: &str) -> Vec<f32> {
    let buffer = executable.handle(executable.input_index(name).expect("a name")).expect("bound").clone();
    let mut bytes = vec![0; buffer.ty().bytes()];
    buffer.read(0, &mut bytes).expect("readable");
    f32s(&bytes)
}

fn run1(executable: &mut Executable, given: &[Option<&[u8]>]) -> Result<Vec<f32>> {
    let mut bytes = vec![0; executable.program().outputs[0].ty.bytes()];
    executable.run(given, &mut [(0, &mut bytes)])?;
    Ok(f32s(&bytes))
}

fn message<T>(result: Result<T>) -> (Status, String) {
    match result {
        Ok(_) => panic!("it must fail"),
        Err(error) => (error.status, error.message),
    }
}

#[test]
fn runs_with_inputs_given_each_time() {
    for device in devices() {
        let mut e = compile(&device, &plus_one(5));
        for start in [0f32, 10.0] {
            let x: Vec<f32> = (0..5).map(|i| start + i as f32).collect();
            let y = run1(&mut e, &[Some(bytemuck::cast_slice(&x))]).expect("runs");
            assert_eq!(y, x.iter().map(|v| v + 1.0).collect::<Vec<_>>());
        }
        let stats = e.stats();
        assert_eq!(stats.submits, 2);
        assert_eq!(stats.host_operators, if device.is_vulkan() { 0 } else { 1 });
    }
}

#[test]
fn a_handle_fed_by_an_output_carries_state() {
    for device in devices() {
        let mut e = compile(&device, &plus_one(4));
        e.bind_handle_data(0, bytemuck::cast_slice(&[0f32, 10.0, 20.0, 30.0])).expect("binds");
        e.set_handle_feed(0, 0).expect("feeds");
        for _ in 0..3 {
            e.run(&[None], &mut []).expect("runs");
        }
        assert_eq!(handle(&e, "x"), [3.0, 13.0, 23.0, 33.0]);
        // A twin goes its own way.
        let mut twin = e.twin().expect("clones");
        twin.run(&[None], &mut []).expect("runs");
        assert_eq!(handle(&twin, "x"), [4.0, 14.0, 24.0, 34.0]);
        assert_eq!(handle(&e, "x"), [3.0, 13.0, 23.0, 33.0]);
        // Another buffer takes its place; the feed goes there from now on.
        let buffer = Buffer::new(&device, TensorType::new(ElementType::F32, [4])).expect("memory");
        e.bind_handle(0, &buffer).expect("binds");
        e.run(&[None], &mut []).expect("runs");
        assert_eq!(handle(&e, "x"), [1.0; 4]);
        assert!(message(e.unbind_handle(0)).1.contains("fed"));
    }
}

#[test]
fn with_an_active_extent_a_feed_carries_the_valid_rows() {
    for device in devices() {
        // upper = 3: outputs have 4 rows of 2.
        let mut e = compile(&device, &plus_one(8));
        e.bind_handle_data(0, bytemuck::cast_slice(&[0f32; 8])).expect("binds");
        e.set_handle_feed(0, 0).expect("feeds");
        e.set_active_extent(2, 3).expect("an extent");
        e.run(&[None], &mut []).expect("runs");
        assert_eq!(handle(&e, "x"), [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        e.set_active_extent(3, 3).expect("an extent");
        e.run(&[None], &mut []).expect("runs");
        assert_eq!(handle(&e, "x"), [2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0]);
        assert!(e.set_active_extent(5, 3).is_err());
    }
}

#[test]
fn rows_are_fed_on_the_device() {
    for device in devices() {
        let mut graph = Graph::new();
        let x = input(&mut graph, "x", ElementType::F32, &[3, 2]);
        let cache = input(&mut graph, "cache", ElementType::F32, &[5, 2]);
        let y = node(&mut graph, "Concat", &[("axis", Attribute::Int(0))], &[cache, x]);
        graph.output("y", y).expect("an output");
        let mut e = compile(&device, &graph);
        e.bind_handle_data(1, bytemuck::cast_slice(&[0f32; 10])).expect("binds");
        e.register_row_feed(1, 0).expect("registers");
        assert!(e.feed_row(0, 0, 2).is_err(), "before the first run");
        let x = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        e.run(&[Some(bytemuck::cast_slice(&x)), None], &mut []).expect("runs");
        e.feed_row(6, 1, 2).expect("row 6 of y is row 1 of x");
        assert_eq!(handle(&e, "cache"), [0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        for (from, to) in [(8, 0), (0, 5), (usize::MAX, 0)] {
            assert_eq!(message(e.feed_row(from, to, 2)).0, Status::InvalidArgument, "{from} {to}");
        }
    }
}

#[test]
fn weights_are_shared_and_converted() {
    for device in devices() {
        let weights = Weights::new(&device);
        let graph = |scale: &str| {
            let mut graph = Graph::new();
            let x = input(&mut graph, "x", ElementType::F32, &[3]);
            let w = graph.param("w", ElementType::F32, &[3]).expect("a param");
            let y = node(&mut graph, scale, &[], &[x, w]);
            graph.output("y", y).expect("an output");
            graph
        };
        let options = CompileOptions { weights: Some(weights.clone()), ..CompileOptions::default() };
        let mut add = Executable::compile(&device, &graph("Add"), &options).expect("compiles");
        let mut mul = Executable::compile(&device, &graph("Mul"), &options).expect("compiles");
        let x: &[u8] = bytemuck::cast_slice(&[1f32, 2.0, 3.0]);
        assert!(message(run1(&mut add, &[Some(x)])).1.contains("\"w\"") || !device.is_vulkan());
        let half: Vec<half::f16> = [0.5f32, 1.5, -2.0].iter().map(|&v| half::f16::from_f32(v)).collect();
        add.set_param("w", ElementType::F16, bytemuck::cast_slice(&half)).expect("converted");
        assert_eq!(run1(&mut add, &[Some(x)]).expect("runs"), [1.5, 3.5, 1.0]);
        assert_eq!(run1(&mut mul, &[Some(x)]).expect("runs"), [0.5, 3.0, -6.0]);
        mul.set_param("w", ElementType::F32, bytemuck::cast_slice(&[1f32; 3])).expect("set again");
        assert_eq!(run1(&mut add, &[Some(x)]).expect("runs"), [2.0, 3.0, 4.0]);
        let (status, text) = message(add.set_param("w", ElementType::F32, &[0; 8]));
        assert_eq!(status, Status::InvalidArgument);
        assert!(
            text.contains("\"w\"") && text.contains("got 8 bytes") && text.contains("needs 12") && text.contains("Add"),
            "{text}"
        );
        assert!(add.set_param("v", ElementType::F32, &[0; 12]).is_err());
        assert!(add.set_param("w", ElementType::I32, &[0; 12]).is_err());
        let mut other = Graph::new();
        let w = other.param("w", ElementType::F32, &[4]).expect("a param");
        other.output("w", w).expect("an output");
        assert!(message(Executable::compile(&device, &other, &options)).1.contains("\"w\""));
    }
}

#[test]
fn one_buffer_serves_two_executables() {
    for device in devices() {
        let (mut a, mut b) = (compile(&device, &plus_one(2)), compile(&device, &plus_one(2)));
        let shared = Buffer::new(&device, TensorType::new(ElementType::F32, [2])).expect("memory");
        for e in [&mut a, &mut b] {
            e.bind_handle(0, &shared).expect("binds");
            e.set_handle_feed(0, 0).expect("feeds");
        }
        a.run(&[None], &mut []).expect("runs");
        assert_eq!(run1(&mut b, &[None]).expect("runs"), [2.0, 2.0]);
        assert_eq!(handle(&a, "x"), [2.0, 2.0]);
        let wrong = Buffer::new(&device, TensorType::new(ElementType::F32, [3])).expect("memory");
        assert!(message(a.bind_handle(0, &wrong)).1.contains("[3]"));
    }
}

#[test]
fn an_output_can_live_in_a_buffer_also_in_the_input_s_own() {
    for device in devices() {
        let mut e = compile(&device, &plus_one(3));
        let (x, y) = (
            Buffer::new(&device, TensorType::new(ElementType::F32, [3])),
            Buffer::new(&device, TensorType::new(ElementType::F32, [3])),
        );
        let (x, y) = (x.expect("memory"), y.expect("memory"));
        e.bind_handle(0, &x).expect("binds");
        e.bind_output(0, Some(&y)).expect("binds");
        e.run(&[None], &mut []).expect("runs");
        let mut bytes = [0; 12];
        y.read(0, &mut bytes).expect("readable");
        assert_eq!(f32s(&bytes), [1.0; 3]);
        e.bind_output(0, Some(&x)).expect("binds");
        e.run(&[None], &mut []).expect("runs");
        assert_eq!(run1(&mut e, &[None]).expect("runs"), [2.0; 3]);
        assert_eq!(handle(&e, "x"), [2.0; 3]);
        e.bind_output(0, None).expect("unbinds");
        assert_eq!(run1(&mut e, &[None]).expect("runs"), [3.0; 3]);
        assert_eq!(handle(&e, "x"), [2.0; 3]);
    }
}

#[test]
fn wrong_calls_are_refused_and_change_nothing() {
    for device in devices() {
        let mut e = compile(&device, &plus_one(2));
        let x: &[u8] = bytemuck::cast_slice(&[1f32, 2.0]);
        assert!(message(e.run(&[None], &mut [])).1.contains("\"x\""));
        assert!(message(e.run(&[Some(&x[..4])], &mut [])).1.contains("got 4 bytes"));
        assert!(message(e.run(&[Some(x)], &mut [(0, &mut [0; 4])])).1.contains("needs 8"));
        assert!(message(e.input_index("z")).1.contains("there are: x"));
        assert!(message(e.read_output(0, 0, &mut [0; 8])).1.contains("no run"));
        assert!(e.set_handle_feed(0, 0).is_err());
        e.begin().expect("idle");
        e.give(0, x).expect("fits");
        assert!(message(e.give(0, x)).1.contains("twice"));
        e.launch().expect("runs");
        assert_eq!(message(e.begin()).0, Status::Busy);
        assert_eq!(message(e.bind_handle_data(0, x)).0, Status::Busy);
        assert!(e.wait(Duration::MAX).expect("ends"));
        assert!(e.poll().expect("over"));
        let mut y = [0; 4];
        e.read_output(0, 4, &mut y).expect("the second element");
        assert_eq!(f32s(&y), [3.0]);
        e.bind_handle_data(0, x).expect("binds");
        assert!(message(e.run(&[Some(x)], &mut [])).1.contains("bound"));
        assert!(Executable::compile(&device, &Graph::new(), &CompileOptions::default()).is_err());
    }
}

#[test]
fn symbolic_dimensions_are_bound_before_compile() {
    for device in devices() {
        let mut graph = Graph::new();
        let x = graph.input("x", ElementType::F32, &[Dim::Symbol("n".into()), Dim::Fixed(2)]).expect("an input");
        let y = node(&mut graph, "Softmax", &[("axis", Attribute::Int(-1))], &[x]);
        graph.output("y", y).expect("an output");
        assert!(message(Executable::compile(&device, &graph, &CompileOptions::default())).1.contains('n'));
        for n in [3, 1] {
            graph.bind_dim("n", n).expect("a symbol");
            let y = run1(&mut compile(&device, &graph), &[Some(&vec![0; 8 * n])]).expect("runs");
            assert_eq!(y, vec![0.5; 2 * n]);
        }
        assert!(graph.bind_dim("m", 1).is_err());
    }
}

/// cache [1,4,2], rows [1,1,2] at a position; output "sum" = appended cache + 0, and "old" if asked.
fn append(keep_old: bool) -> Graph {
    let mut graph = Graph::new();
    let cache = input(&mut graph, "cache", ElementType::F32, &[1, 4, 2]);
    let rows = input(&mut graph, "rows", ElementType::F32, &[1, 1, 2]);
    let at = input(&mut graph, "at", ElementType::I32, &[1]);
    let new = node(&mut graph, "KvAppend", &[], &[cache, rows, at]);
    let one = graph.constant("one", Arc::new(Tensor::from_slice(&[], &[1f32]))).expect("a constant");
    let sum = node(&mut graph, "Mul", &[], &[new, one]);
    graph.output("sum", sum).expect("an output");
    if keep_old {
        let old = node(&mut graph, "Mul", &[], &[cache, one]);
        graph.output("old", old).expect("an output");
    }
    graph
}

#[test]
fn kv_append_writes_the_handle_in_place() {
    for device in devices() {
        let mut e = compile(&device, &append(true));
        e.bind_handle_data(0, bytemuck::cast_slice(&[0f32; 8])).expect("binds");
        let (mut sum, mut old) = ([0u8; 32], [0u8; 32]);
        for at in [0i32, 2] {
            let row = [at as f32 + 1.0, 7.0];
            let given = [None, Some(bytemuck::cast_slice(&row)), Some(bytemuck::bytes_of(&at))];
            e.run(&given, &mut [(0, &mut sum), (1, &mut old)]).expect("runs");
        }
        assert_eq!(f32s(&sum), [1.0, 7.0, 0.0, 0.0, 3.0, 7.0, 0.0, 0.0]);
        assert_eq!(f32s(&old), [1.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "who reads the old value gets the old value");
        assert_eq!(handle(&e, "cache"), f32s(&sum));
        let given = [None, Some(&[0u8; 8][..]), Some(&[4u8, 0, 0, 0][..])];
        let (status, text) = message(e.run(&given, &mut []));
        assert_eq!(status, Status::IndexOutOfRange);
        assert!(text.contains("KvAppend") && text.contains('4'), "{text}");
        // The executable goes on.
        let given = [None, Some(&[0u8; 8][..]), Some(&[3u8, 0, 0, 0][..])];
        e.run(&given, &mut []).expect("runs");
    }
}

#[test]
fn a_bad_index_is_an_error_with_operator_position_and_value() {
    for device in devices() {
        let mut graph = Graph::new();
        let data = input(&mut graph, "data", ElementType::F32, &[3, 2]);
        let index = input(&mut graph, "index", ElementType::I64, &[2]);
        let y = node(&mut graph, "Gather", &[("axis", Attribute::Int(0))], &[data, index]);
        graph.output("y", y).expect("an output");
        let data: &[u8] = bytemuck::cast_slice(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let mut e = compile(&device, &graph);
        let y = run1(&mut e, &[Some(data), Some(bytemuck::cast_slice(&[-1i64, -3]))]).expect("runs");
        assert_eq!(y, [4.0, 5.0, 0.0, 1.0]);
        for bad in [3i64, -4, 1 << 40] {
            let (status, text) = message(run1(&mut e, &[Some(data), Some(bytemuck::cast_slice(&[0, bad]))]));
            assert_eq!(status, Status::IndexOutOfRange);
            assert!(text.contains("Gather") && text.contains(&bad.to_string()) && text.contains("position 1"), "{text}");
        }
        let mut options = CompileOptions::default();
        options.plan.unchecked_indices = true;
        let mut e = Executable::compile(&device, &graph, &options).expect("compiles");
        let y = run1(&mut e, &[Some(data), Some(bytemuck::cast_slice(&[7i64, 0]))]).expect("clamped");
        assert_eq!(y, [4.0, 5.0, 0.0, 1.0]);
    }
}

#[test]
fn random_numbers_follow_the_seed_and_the_run() {
    let mut all = Vec::new();
    for device in devices() {
        let mut graph = Graph::new();
        let list = [("mean", Attribute::Float(0.0)), ("std", Attribute::Float(1.0)), ("dims", Attribute::Ints(vec![5]))];
        let y = node(&mut graph, "RngNormal", &list, &[]);
        graph.output("y", y).expect("an output");
        let mut e = compile(&device, &graph);
        let (first, second) = (run1(&mut e, &[]).expect("runs"), run1(&mut e, &[]).expect("runs"));
        assert_ne!(first, second);
        e.set_rng(0, 0).expect("seeds");
        assert_eq!(run1(&mut e, &[]).expect("runs"), first);
        e.set_rng(9, 0).expect("seeds");
        assert_ne!(run1(&mut e, &[]).expect("runs"), first);
        all.push(first);
    }
    assert!(all[0].iter().zip(&all[1]).all(|(a, b)| (a - b).abs() < 1e-5), "{all:?}");
}

#[test]
fn a_steady_run_allocates_nothing() {
    let device = &devices()[0];
    let mut e = compile(device, &append(false));
    e.bind_handle_data(0, bytemuck::cast_slice(&[0f32; 8])).expect("binds");
    let (rows, at) = ([0u8; 8], [0u8; 4]);
    let mut sum = [0u8; 32];
    for _ in 0..3 {
        e.run(&[None, Some(&rows), Some(&at)], &mut [(0, &mut sum)]).expect("runs");
    }
    let (host, on_device, submits) = (ALLOCATIONS.get(), e.stats().device_allocations, e.stats().submits);
    for _ in 0..10 {
        e.begin().expect("idle");
        e.give(1, &rows).expect("fits");
        e.give(2, &at).expect("fits");
        e.want(0).expect("an output");
        e.launch().expect("runs");
        e.wait(Duration::MAX).expect("ends");
        e.read_output(0, 0, &mut sum).expect("downloaded");
    }
    let after = e.stats();
    assert_eq!(ALLOCATIONS.get() - host, 0, "host allocations");
    assert_eq!(after.device_allocations, on_device, "device allocations");
    assert_eq!(after.submits - submits, 10, "one submit a run");
}
