//! Faults that others shipped (section E of the list): each test has the number of its row. Drivers that fail are made with `Faults`; what needs a
//! process of its own is an ignored test that another one starts.

use std::process::Command;
use std::sync::{Arc, Barrier, Mutex, Once};
use std::time::Duration;

use caldera::graph::{Dim, Graph, ValueId};
use caldera::ops::{Attribute, Attributes, build};
use caldera::runtime::{Buffer, CompileOptions, Countdown, Device, DeviceOptions, Executable, Faults, Kind, Select, Weights};
use caldera::tensor::{ElementType, TensorType};
use caldera::{Error, Result, Status, log};

static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A software device with validation layers, whose complaints are kept.
fn options() -> DeviceOptions {
    static SINK: Once = Once::new();
    SINK.call_once(|| {
        log::set_sink(Some(Box::new(|_, text| {
            if ["VUID-", "SYNC-HAZARD", "UNASSIGNED-"].iter().any(|mark| text.contains(mark))
                && let Ok(mut all) = COMPLAINTS.lock()
            {
                all.push(text.into());
            }
        })));
    });
    DeviceOptions { select: Select::Kind(Kind::Software), validation: true, ..DeviceOptions::default() }
}

fn silent() {
    let all = COMPLAINTS.lock().expect("no thread panicked with it");
    assert!(all.is_empty(), "{} complaints of the validation layers, the first: {}", all.len(), all[0]);
}

fn with_faults() -> (DeviceOptions, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    (DeviceOptions { faults: Some(faults.clone()), ..options() }, faults)
}

fn node(graph: &mut Graph, operator: &str, attributes: &[(&str, Attribute)], inputs: &[ValueId]) -> ValueId {
    let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    graph.add1(build(operator, &attributes).expect("the operator is there"), "", inputs).expect("the shapes fit")
}

fn input(graph: &mut Graph, name: &str, element: ElementType, dims: &[usize]) -> ValueId {
    let dims: Vec<Dim> = dims.iter().map(|&d| Dim::Fixed(d)).collect();
    graph.input(name, element, &dims).expect("a new name")
}

/// y = x + x, x f32 [n].
fn doubling(n: usize) -> Graph {
    let mut graph = Graph::new();
    let x = input(&mut graph, "x", ElementType::F32, &[n]);
    let y = node(&mut graph, "Add", &[], &[x, x]);
    graph.output("y", y).expect("an output");
    graph
}

fn compile(device: &Arc<Device>, graph: &Graph) -> Result<Executable> {
    Executable::compile(device, graph, &CompileOptions::default())
}

fn run1(e: &mut Executable, given: &[Option<&[u8]>]) -> Result<Vec<f32>> {
    let mut bytes = vec![0; e.program().outputs[0].ty.bytes()];
    e.run(given, &mut [(0, &mut bytes)])?;
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}

/// A small graph, from compiling to its result.
fn small_graph_runs(device: &Arc<Device>) {
    let x: [f32; 3] = [1.0, 2.0, -4.0];
    let mut e = compile(device, &doubling(3)).expect("compiles");
    assert_eq!(run1(&mut e, &[Some(bytemuck::bytes_of(&x))]).expect("runs"), [2.0, 4.0, -8.0]);
}

fn new_device_works() {
    small_graph_runs(&Device::open(&options()).expect("a new device opens"));
}

/// Most of what a program does with a device: weights, a handle that is written in place, a feed, a bound output, a twin, profiling.
fn everything(device: &Arc<Device>) -> Result<()> {
    let mut graph = Graph::new();
    let cache = input(&mut graph, "cache", ElementType::F32, &[1, 4, 2]);
    let rows = input(&mut graph, "rows", ElementType::F32, &[1, 1, 2]);
    let at = input(&mut graph, "at", ElementType::I32, &[1]);
    let state = input(&mut graph, "state", ElementType::F32, &[2]);
    let w = graph.param("w", ElementType::F32, &[2]).expect("a param");
    let new = node(&mut graph, "KvAppend", &[], &[cache, rows, at]);
    let next = node(&mut graph, "Add", &[], &[state, w]);
    let sum = node(&mut graph, "Mul", &[], &[new, next]);
    graph.output("sum", sum).expect("an output");
    graph.output("next", next).expect("an output");
    let weights = Weights::new(device);
    let options = CompileOptions { weights: Some(weights.clone()), profiling: true, ..CompileOptions::default() };
    let mut e = Executable::compile(device, &graph, &options)?;
    weights.set("w", ElementType::F32, Some(&[2]), bytemuck::cast_slice(&[1f32, 2.0]))?;
    e.bind_handle_data(0, &[0; 32])?;
    e.bind_handle_data(3, &[0; 8])?;
    e.set_handle_feed(3, 1)?;
    let kept = Buffer::new(device, TensorType::new(ElementType::F32, [1, 4, 2]))?;
    e.bind_output(0, Some(&kept))?;
    let row: &[u8] = bytemuck::cast_slice(&[3f32, 5.0]);
    for k in 1..=2i32 {
        let mut next = [0u8; 8];
        e.run(&[None, Some(row), Some(&0i32.to_le_bytes()), None], &mut [(1, &mut next)])?;
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&next), [k as f32, 2.0 * k as f32]);
    }
    let mut twin = e.twin()?;
    twin.run(&[None, Some(row), Some(&0i32.to_le_bytes()), None], &mut [])?;
    let mut bytes = [0; 8];
    kept.read(0, &mut bytes)?;
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&bytes), [6.0, 20.0]);
    twin.read_output(0, 0, &mut bytes)?;
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&bytes), [9.0, 30.0]);
    e.profile()?;
    device.trim()
}

/// Besides, buffers larger than what the allocator shares out: each has memory of its own.
fn everything_large(device: &Arc<Device>) -> Result<()> {
    let large = [0, 1].map(|_| Buffer::new(device, TensorType::new(ElementType::U8, [100 << 20])));
    large.into_iter().collect::<Result<Vec<_>>>()?;
    everything(device)
}

/// Starts the ignored test `name` of this program with these variables.
fn alone(name: &str, variables: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads", "1"]).envs(variables.iter().copied());
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn row_79_any_number_of_bytes_reaches_the_device_and_comes_back() {
    let device = Device::open(&options()).expect("a device");
    for n in [1usize, 63, 65, 4097] {
        let buffer = Buffer::new(&device, TensorType::new(ElementType::U8, [n])).expect("memory");
        let bytes: Vec<u8> = (0..n).map(|i| (i * 7 + 1) as u8).collect();
        buffer.write(0, &bytes).expect("writes");
        let mut got = vec![0; n];
        buffer.read(0, &mut got).expect("reads");
        assert_eq!(got, bytes);
        // Staged inputs and downloads too.
        let mut graph = Graph::new();
        let x = input(&mut graph, "x", ElementType::U8, &[n]);
        let y = node(&mut graph, "Reverse", &[("axes", Attribute::Ints(vec![0]))], &[x]);
        graph.output("y", y).expect("an output");
        compile(&device, &graph).expect("compiles").run(&[Some(&bytes)], &mut [(0, &mut got)]).expect("runs");
        assert!(got.iter().rev().eq(&bytes));
    }
    silent();
}

/// x [16,16], then `steps` times x = x w + b; every step an output if `all`.
fn long_chain(steps: usize, all: bool) -> Graph {
    let mut graph = Graph::new();
    let mut x = input(&mut graph, "x", ElementType::F32, &[16, 16]);
    let w = graph.param("w", ElementType::F32, &[16, 16]).expect("a param");
    let b = graph.param("b", ElementType::F32, &[16]).expect("a param");
    for i in 0..steps {
        let product = node(&mut graph, "MatMul", &[], &[x, w]);
        x = node(&mut graph, "Add", &[], &[product, b]);
        if all || i + 1 == steps {
            graph.output(&format!("y{i}"), x).expect("an output");
        }
    }
    graph
}

fn numbers(n: usize, scale: f32) -> Vec<f32> {
    (0..n).map(|i| ((i * 37 + 11) % 64) as f32 * scale - 32.0 * scale).collect()
}

fn chain(device: &Arc<Device>, steps: usize, all: bool) -> Executable {
    let mut e = compile(device, &long_chain(steps, all)).expect("compiles");
    e.set_param("w", ElementType::F32, bytemuck::cast_slice(&numbers(256, 0.005))).expect("fits");
    e.set_param("b", ElementType::F32, bytemuck::cast_slice(&numbers(16, 0.1))).expect("fits");
    e
}

#[test]
fn row_81_two_hundred_dependent_steps_equal_those_read_one_by_one() {
    let device = Device::open(&options()).expect("a device");
    let x = numbers(256, 0.1);
    let x: &[u8] = bytemuck::cast_slice(&x);
    let once = run1(&mut chain(&device, 200, false), &[Some(x)]).expect("runs");
    let mut stepwise = chain(&device, 200, true);
    stepwise.run(&[Some(x)], &mut []).expect("runs");
    let mut last = vec![0; 1024];
    for j in 0..200 {
        stepwise.read_output(j, 0, &mut last).expect("reads");
    }
    assert_eq!(once, bytemuck::pod_collect_to_vec::<u8, f32>(&last));
    assert!(once.iter().all(|v| v.is_finite()) && once.iter().any(|v| *v != 0.0));
    silent();
}

#[test]
fn row_82_four_threads_on_their_own_devices_and_on_one() {
    let x = numbers(256, 0.1);
    let x: &[u8] = bytemuck::cast_slice(&x);
    let want = run1(&mut chain(&Device::open(&options()).expect("a device"), 3, false), &[Some(x)]).expect("runs");
    let work = |device: Arc<Device>, start: &Barrier| {
        // Each pipeline is used first by four threads at once.
        start.wait();
        let mut e = chain(&device, 3, false);
        for _ in 0..50 {
            assert_eq!(run1(&mut e, &[Some(x)]).expect("runs"), want);
        }
    };
    for shared in [false, true] {
        let one = Device::open(&options()).expect("a device");
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let device = if shared { one.clone() } else { Device::open(&options()).expect("a device") };
                let start = &start;
                scope.spawn(move || work(device, start));
            }
        });
    }
    silent();
}

#[test]
fn row_83_eight_threads_open_the_first_device() {
    alone("open_from_eight_threads", &[]);
}

#[test]
#[ignore = "started by row 83"]
fn open_from_eight_threads() {
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                small_graph_runs(&Device::open(&options()).expect("a device"));
            });
        }
    });
    silent();
}

#[test]
fn row_86_a_thousand_lives_leave_nothing_behind() {
    alone("live_a_thousand_times", &[]);
}

/// Bytes of memory in use, and open files.
#[cfg(target_os = "linux")]
fn resources() -> (usize, usize) {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    (pages * 4096, std::fs::read_dir("/proc/self/fd").expect("Linux").count())
}

#[test]
#[ignore = "started by row 86"]
#[cfg(target_os = "linux")]
fn live_a_thousand_times() {
    let plain = DeviceOptions { validation: false, ..options() };
    let device = Device::open(&plain).expect("a device");
    let mut before = Vec::new();
    for i in 0..1000 {
        small_graph_runs(&device);
        if i == 200 {
            before.push((resources(), device.memory()));
        }
    }
    let after = resources();
    assert_eq!(device.memory(), before[0].1, "device memory");
    assert!(after.0 < before[0].0.0 + (8 << 20), "executables: {} bytes, then {}", before[0].0.0, after.0);
    assert_eq!(after.1, before[0].0.1, "open files");
    // Binding buffers in turn records nothing anew.
    let mut e = compile(&device, &doubling(3)).expect("compiles");
    let buffers = [(); 2].map(|()| Buffer::new(&device, TensorType::new(ElementType::F32, [3])).expect("memory"));
    e.bind_handle(0, &buffers[0]).expect("binds");
    e.set_handle_feed(0, 0).expect("feeds");
    e.run(&[None], &mut []).expect("runs");
    let (allocations, start) = (e.stats().device_allocations, resources());
    for i in 0..20_000 {
        e.bind_handle(0, &buffers[i % 2]).expect("binds");
    }
    assert_eq!(e.stats().device_allocations, allocations);
    assert!(resources().0 < start.0 + (2 << 20), "bindings: {} bytes, then {}", start.0, resources().0);
    drop(e);
    drop(device);
    for i in 0..80 {
        small_graph_runs(&Device::open(&plain).expect("a device"));
        if i == 30 {
            before.push((resources(), (0, 0)));
        }
    }
    let after = resources();
    assert!(after.0 < before[1].0.0 + (24 << 20), "devices: {} bytes, then {}", before[1].0.0, after.0);
    assert_eq!(after.1, before[1].0.1, "open files");
}

#[test]
fn row_88_a_tensor_of_a_terabyte_is_refused() {
    let device = Device::open(&options()).expect("a device");
    let huge = TensorType::new(ElementType::F32, [1 << 38]);
    let refused = |error: Error| assert_eq!(error.status, Status::OutOfMemory, "{}", error.message);
    refused(Buffer::new(&device, huge.clone()).map(drop).expect_err("too large"));
    let mut graph = Graph::new();
    let x = input(&mut graph, "x", ElementType::F32, &[1]);
    let wide = node(&mut graph, "Expand", &[("dims", Attribute::Ints(vec![1 << 38]))], &[x]);
    let y = node(&mut graph, "Exp", &[], &[wide]);
    graph.output("y", y).expect("an output");
    refused(compile(&device, &graph).map(drop).expect_err("an output is too large"));
    let mut graph = Graph::new();
    let w = graph.param("w", ElementType::F32, &huge.dims).expect("a param");
    let start =
        node(&mut graph, "Narrow", &[("axis", Attribute::Int(0)), ("start", Attribute::Int(0)), ("len", Attribute::Int(4))], &[w]);
    graph.output("start", start).expect("an output");
    refused(compile(&device, &graph).map(drop).expect_err("a param is too large"));
    small_graph_runs(&device);
    silent();
}

/// For n = 1, 2, ..: the n-th call of a kind fails while a device is opened and used, and with `every` all calls after it; then all must work on it.
fn each_call_fails_once(of: impl Fn(&Faults) -> &Countdown, every: bool, work: fn(&Arc<Device>) -> Result<()>) -> u64 {
    let mut failures = 0;
    for n in 1..400 {
        let (options, faults) = with_faults();
        of(&faults).set(n, every);
        let device = match Device::open(&options) {
            Ok(device) => device,
            Err(error) => {
                assert_eq!(error.status, Status::OutOfMemory, "{n}: {}", error.message);
                failures += 1;
                continue;
            }
        };
        match work(&device) {
            Err(error) => {
                assert_eq!(error.status, Status::OutOfMemory, "{n}: {}", error.message);
                failures += 1;
            }
            Ok(()) if of(&faults).has_failed() => {} // another kind of memory took its place
            Ok(()) => return failures,
        }
        of(&faults).set(0, false);
        work(&device).unwrap_or_else(|e| panic!("after failure {n}: {}", e.message));
    }
    panic!("the calls do not end");
}

#[test]
fn row_88_every_allocation_of_device_memory_may_fail() {
    each_call_fails_once(|f| &f.allocate, false, everything_large);
    let failures = each_call_fails_once(|f| &f.allocate, true, everything_large);
    assert!(failures >= 2, "{failures}");
    silent();
}

#[test]
fn row_88_every_object_may_fail() {
    let failures = each_call_fails_once(|f| &f.create, false, everything);
    assert!(failures >= 20, "{failures}");
    silent();
}

#[test]
fn row_88_memory_that_ends_for_good_leaves_what_was_made_before() {
    let (options, faults) = with_faults();
    let device = Device::open(&options).expect("a device");
    let x: [f32; 3] = [1.0, 2.0, 3.0];
    let mut e = compile(&device, &doubling(3)).expect("compiles");
    let first = run1(&mut e, &[Some(bytemuck::bytes_of(&x))]).expect("runs");
    faults.allocate.set(1, true);
    let huge = Buffer::new(&device, TensorType::new(ElementType::F32, [1 << 28])).map(drop).expect_err("no memory");
    assert_eq!(huge.status, Status::OutOfMemory);
    assert!(huge.message.contains("1073741824"), "{}", huge.message);
    assert_eq!(run1(&mut e, &[Some(bytemuck::bytes_of(&x))]).expect("runs"), first);
    faults.allocate.set(0, false);
    Buffer::new(&device, TensorType::new(ElementType::F32, [1 << 20])).expect("memory again");
    silent();
}

#[test]
fn row_89_without_a_driver_the_cpu_device_goes_on() {
    alone("no_vulkan_at_all", &[("VK_ICD_FILENAMES", "/nonexistent"), ("VK_DRIVER_FILES", "/nonexistent")]);
}

#[test]
#[cfg(target_os = "linux")]
fn row_89_without_a_loader_the_cpu_device_goes_on() {
    let folder = std::env::temp_dir().join(format!("caldera-no-loader-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["libvulkan.so.1", "libvulkan.so"] {
        std::fs::write(folder.join(name), "").expect("a file that is no library");
    }
    alone("no_vulkan_at_all", &[("LD_LIBRARY_PATH", folder.to_str().expect("text"))]);
    std::fs::remove_dir_all(&folder).expect("it was made");
}

#[test]
#[ignore = "started by row 89"]
fn no_vulkan_at_all() {
    let list = Device::list();
    assert_eq!(list.iter().map(|d| d.kind).collect::<Vec<_>>(), [Kind::Cpu]);
    let error = Device::open(&DeviceOptions { allow_software: true, ..DeviceOptions::default() }).map(drop).expect_err("no device");
    assert_eq!(error.status, Status::NoDevice);
    assert!(error.message.to_lowercase().contains("vulkan"), "{}", error.message);
    small_graph_runs(&Device::open(&DeviceOptions { allow_cpu: true, ..DeviceOptions::default() }).expect("the CPU device"));
}

/// After the loss every call says so, what was made can be dropped, and a new device works.
fn lost(device: &Arc<Device>, executable: Option<Executable>) {
    let lost = |result: Result<()>, what: &str| match result {
        Err(error) => assert_eq!(error.status, Status::DeviceLost, "{what}: {}", error.message),
        Ok(()) => panic!("{what} worked on a lost device"),
    };
    lost(compile(device, &doubling(3)).map(drop), "compile");
    lost(Buffer::new(device, TensorType::new(ElementType::F32, [3])).map(drop), "a buffer");
    lost(Weights::new(device).set("w", ElementType::F32, Some(&[1]), &[0; 4]), "a weight");
    lost(device.trim(), "trim");
    lost(device.cache().map(drop), "cache");
    lost(device.check(), "check");
    if let Some(mut e) = executable {
        lost(run1(&mut e, &[Some(&[0; 12])]).map(drop), "a run");
        lost(e.warm_up(), "warming up");
        lost(e.wait(Duration::MAX).map(drop), "a wait");
        lost(e.poll().map(drop), "a poll");
        lost(e.bind_handle_data(0, &[0; 12]), "a handle");
        lost(e.read_output(0, 0, &mut [0; 12]), "an output");
        lost(e.set_rng(1, 2), "a seed");
        lost(e.set_active_extent(1, 2), "an extent");
        lost(e.twin().map(drop), "a twin");
    }
}

#[test]
fn row_92_a_device_lost_at_any_submit_stays_lost_and_a_new_one_opens() {
    for n in 1..100 {
        let (options, faults) = with_faults();
        faults.submit.set(n, false);
        let device = Device::open(&options).expect("nothing is submitted yet");
        let e = compile(&device, &doubling(3)).expect("nothing is submitted yet");
        match everything(&device) {
            Err(error) => assert_eq!(error.status, Status::DeviceLost, "{n}: {}", error.message),
            Ok(()) => {
                assert!(n > 8, "only {n} submits");
                silent();
                return new_device_works();
            }
        }
        lost(&device, Some(e));
    }
    panic!("the submits do not end");
}

#[test]
fn row_92_a_device_lost_during_a_wait_stays_lost() {
    for n in [1, 2, 3, 5, 8] {
        let (options, faults) = with_faults();
        faults.wait.set(n, false);
        let device = Device::open(&options).expect("a device");
        let e = compile(&device, &doubling(3)).expect("compiles");
        let error = everything(&device).expect_err("the device is lost");
        assert_eq!(error.status, Status::DeviceLost, "{n}: {}", error.message);
        lost(&device, Some(e));
    }
    new_device_works();
    silent();
}

#[test]
fn row_92_ten_thousand_products_in_one_run() {
    let device = Device::open(&options()).expect("a device");
    let x = numbers(256, 0.1);
    let mut e = chain(&device, 10_000, false);
    assert_eq!(e.stats().dispatches, 20_000);
    let y = run1(&mut e, &[Some(bytemuck::cast_slice(&x))]).expect("runs");
    // The chain has a fixed point, reached long before.
    let settled = run1(&mut chain(&device, 400, false), &[Some(bytemuck::cast_slice(&x))]).expect("runs");
    for (a, b) in y.iter().zip(&settled) {
        assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{a} {b}");
    }
    assert_eq!(e.stats().submits, 1);
    silent();
}

#[test]
fn faults_come_from_the_environment_too() {
    alone("fault_from_the_environment", &[("CALDERA_FAULT", "submit=1")]);
}

#[test]
#[ignore = "started by the test above it"]
fn fault_from_the_environment() {
    let device = Device::open(&options()).expect("a device");
    let error = Buffer::new(&device, TensorType::new(ElementType::F32, [3])).map(drop).expect_err("the first submit fails");
    assert_eq!(error.status, Status::DeviceLost);
    lost(&device, None);
}
