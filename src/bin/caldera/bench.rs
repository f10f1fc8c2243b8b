//! `caldera bench`: what the operators reach on this device, beside the ceilings it measures first.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use caldera::graph::{Dim, Graph};
use caldera::ops::{Attribute, Case, Copy, Fill, share};
use caldera::plan::{Options, Precision};
use caldera::runtime::{Buffer, CompileOptions, Device, Executable};
use caldera::tensor::{ElementType, TensorType, list_text};
use caldera::{Result, error};

use crate::{runner, values};

/// Times operators on the device: medians of GPU timestamps over runs that find nothing in the caches
#[derive(clap::Args)]
pub struct Arguments {
    /// Only rows whose name holds this
    filter: Option<String>,
    /// The device: an index, a UUID or a kind
    #[arg(long)]
    device: Option<String>,
    /// Runs of each row
    #[arg(long, default_value_t = 20, value_parser = values::positive())]
    runs: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The JSON of an earlier run, to compare with
    #[arg(long)]
    compare: Option<PathBuf>,
}

/// One line of the table.
struct Row {
    name: String,
    case: Case,
    precision: Precision,
    /// Bytes that must be moved at least, and operations that must be done.
    bytes: f64,
    operations: f64,
}

/// Bytes that the inputs of all rotated copies of a row have together at least: several times a large cache.
const COLD: usize = 256 << 20;

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let mut rows = rows();
    if let Some(filter) = &arguments.filter {
        rows.retain(|row| row.name.contains(filter.as_str()));
        if rows.is_empty() {
            eprintln!("caldera: the name of no row holds \"{filter}\"");
            return Ok(ExitCode::FAILURE);
        }
    }
    let device = runner::open(arguments.device.as_deref())?;
    if !device.is_vulkan() {
        return Err(error!(Unsupported, "the CPU device has no GPU timestamps"));
    }
    let before = match &arguments.compare {
        Some(path) => Some(read_json(path)?),
        None => None,
    };
    let mut lines = Vec::new();
    if !arguments.json {
        println!("{} ({})", device.info().name, device.info().driver);
        println!("{:<44} {:>12} {:>10} {:>10} {:>8}", "", "us", "GB/s", "TFLOP/s", "change");
    }
    for row in rows {
        let time = match time(&device, &row, arguments.runs) {
            Ok(time) => time,
            Err(e) => {
                println!("{:<44} {e}", row.name);
                continue;
            }
        };
        let (gbs, tflops) = (row.bytes / time / 1e3, row.operations / time / 1e6);
        let earlier = before.as_ref().and_then(|b| b["rows"].as_array()?.iter().find(|r| r["name"] == row.name)?["us"].as_f64());
        let change = earlier.map_or(String::new(), |e| format!("{:+.1}%", 100.0 * (time / e - 1.0)));
        if !arguments.json {
            println!("{:<44} {time:>12.2} {gbs:>10.0} {tflops:>10.2} {change:>8}", row.name);
        }
        lines.push(serde_json::json!({"name": row.name, "us": time, "gb_per_s": gbs, "tflop_per_s": tflops}));
    }
    if arguments.json {
        println!("{}", serde_json::json!({"device": device.info().name, "driver": device.info().driver, "rows": lines}));
    }
    Ok(ExitCode::SUCCESS)
}

fn read_json(path: &PathBuf) -> Result<serde_json::Value> {
    let text = std::fs::read_to_string(path).map_err(|e| error!(File, "{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| error!(File, "{}: {e}", path.display()))
}

/// Random data: a block of up to 4 MiB, repeated.
fn data(ty: &TensorType, fill: &Fill, seed: u64) -> Vec<u8> {
    let row = ty.element.block_elements();
    let unit = ((4 << 20) / ty.element.block_bytes()).max(1) * row;
    let part = Case::part(TensorType::new(ty.element, [unit.min(ty.elements().max(row))]), fill.clone(), seed);
    part.bytes().iter().copied().cycle().take(ty.bytes()).collect()
}

/// An executable with inputs of its own, so that several take turns and none finds its data in a cache.
fn prepare(device: &Arc<Device>, row: &Row, seed: u64) -> Result<Executable> {
    let mut graph = Graph::new();
    let mut ids = Vec::new();
    for (i, input) in row.case.inputs.iter().enumerate() {
        ids.push(match input {
            None => None,
            Some((ty, _)) if ty.element.is_block() => Some(graph.param(&format!("in{i}"), ty.element, &ty.dims)?),
            Some((ty, _)) => {
                let dims: Vec<Dim> = ty.dims.iter().map(|&d| Dim::Fixed(d)).collect();
                Some(graph.input(&format!("in{i}"), ty.element, &dims)?)
            }
        });
    }
    let outputs = graph.add(row.case.operator.clone(), "", &ids)?;
    for (i, id) in outputs.into_iter().enumerate() {
        graph.output(&format!("out{i}"), id)?;
    }
    let plan = Options { precision: row.precision, ..Options::default() };
    let options = CompileOptions { plan, profiling: true, ..CompileOptions::default() };
    let mut executable = Executable::compile(device, &graph, &options)?;
    for (i, input) in row.case.inputs.iter().enumerate() {
        let Some((ty, fill)) = input else { continue };
        let name = format!("in{i}");
        let bytes = data(ty, fill, seed + i as u64);
        if ty.element.is_block() {
            executable.set_param(&name, ty.element, &bytes)?;
        } else {
            let buffer = Buffer::new(device, ty.clone())?;
            buffer.write(0, &bytes)?;
            let input = executable.input_index(&name)?;
            executable.bind_handle(input, &buffer)?;
        }
    }
    Ok(executable)
}

/// Median microseconds of GPU time.
fn time(device: &Arc<Device>, row: &Row, runs: usize) -> Result<f64> {
    let bytes: usize = row.case.inputs.iter().flatten().map(|(ty, _)| ty.bytes()).sum();
    let copies = COLD.div_ceil(bytes.max(1)).clamp(1, 8);
    let mut all = (0..copies as u64).map(|i| prepare(device, row, 17 * i)).collect::<Result<Vec<_>>>()?;
    let mut times = Vec::new();
    for i in 0..runs + copies {
        let executable = &mut all[i % copies];
        let nothing: Vec<Option<&[u8]>> = vec![None; executable.program().inputs.len()];
        executable.run(&nothing, &mut [])?;
        if i >= copies {
            let profile = executable.profile()?;
            let first = profile.times.first().map_or(0.0, |t| t.start);
            times.push((profile.times.iter().map(|t| t.start + t.nanoseconds).fold(0.0, f64::max) - first) / 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// The rows of the table: sizes of real models.
fn rows() -> Vec<Row> {
    use ElementType::*;
    let mut out = Vec::new();
    let mut add = |name: &str, case: Case, precision, bytes: f64, operations: f64| {
        out.push(Row { name: name.into(), case, precision, bytes, operations });
    };
    let exact = Precision::Exact;
    let copy = Case { operator: share(Copy), inputs: Vec::new() }.input(F32, &[1 << 28]);
    add("copy 1 GiB", copy, exact, 2.0 * (1u64 << 30) as f64, 0.0);
    let int = Attribute::Int;
    let t_b = [("transpose_b", int(1))];

    for (m, n, k) in [(4096, 4096, 4096), (8192, 8192, 8192), (512, 4096, 4096)] {
        let (flops, bytes) = (2.0 * (m * n * k) as f64, (m * k + n * k + m * n) as f64);
        for (element, precision, label) in
            [(F32, exact, "f32"), (F32, Precision::Fast, "f32 fast"), (F16, exact, "f16"), (Bf16, exact, "bf16")]
        {
            let case = Case::new("MatMul", &t_b).input(element, &[m, k]).input(element, &[n, k]);
            add(&format!("matmul {label} {m}x{n}x{k}"), case, precision, bytes * element.bytes() as f64, flops);
        }
        for w in [Q4K, Q8_0] {
            let scheme = [("scheme", Attribute::Text(w.name().into()))];
            let case = Case::new("DequantMatMul", &scheme).input(F32, &[m, k]).input(w, &[n, k]);
            add(&format!("matmul {w} {m}x{n}x{k}"), case.clone(), exact, bytes, flops);
            add(&format!("matmul {w} fast {m}x{n}x{k}"), case, Precision::Fast, bytes, flops);
        }
    }
    for (w, n, k) in [(Q4K, 14336, 4096), (Q4K, 4096, 14336), (Q6K, 4096, 14336), (Q8_0, 14336, 4096), (Q4_0, 14336, 4096)] {
        let ty = TensorType::new(w, [n, k]);
        let scheme = [("scheme", Attribute::Text(w.name().into()))];
        for m in [1, 4] {
            let case = Case::new("DequantMatMul", &scheme).input(F32, &[m, k]).input(w, &[n, k]);
            add(&format!("matvec {w} [{n},{k}] x {m}"), case, exact, ty.bytes() as f64, 2.0 * (m * n * k) as f64);
        }
    }
    let case = Case::new("MatMul", &t_b).input(F16, &[1, 4096]).input(F16, &[14336, 4096]);
    add("matvec f16 [14336,4096] x 1", case, exact, 2.0 * (14336 * 4096) as f64, 2.0 * (14336 * 4096) as f64);
    rows_of_norms(&mut add);
    rows_of_lines(&mut add);
    rows_of_attention(&mut add);
    rows_of_movement(&mut add);
    rows_of_pictures(&mut add);
    rows_of_recurrence(&mut add);
    out
}

fn rows_of_norms(add: &mut impl FnMut(&str, Case, Precision, f64, f64)) {
    use ElementType::*;
    let (rows, width) = (8192usize, 4096usize);
    let bytes = 8.0 * (rows * width) as f64;
    let exact = Precision::Exact;
    let eps = [("eps", Attribute::Float(1e-5))];
    add("rms_norm f32 8192x4096", Case::new("RmsNorm", &eps).input(F32, &[rows, width]).input(F32, &[width]), exact, bytes, 0.0);
    let norm = Case::new("LayerNorm", &eps).input(F32, &[rows, width]).input(F32, &[width]).input(F32, &[width]);
    add("layer_norm f32 8192x4096", norm, exact, bytes, 0.0);
    let axis = [("axis", Attribute::Int(-1))];
    add("softmax f32 4096x32000", Case::new("Softmax", &axis).input(F32, &[4096, 32000]), exact, 8.0 * 4096.0 * 32000.0, 0.0);
    add("softmax f16 4096x32000", Case::new("Softmax", &axis).input(F16, &[4096, 32000]), exact, 4.0 * 4096.0 * 32000.0, 0.0);
    let sum = [("kind", Attribute::Text("Sum".into())), ("axes", Attribute::Ints(vec![0]))];
    add(
        "sum over axis 0, f32 4096x32000",
        Case::new("Reduce", &sum).input(F32, &[4096, 32000]),
        exact,
        4.0 * 4096.0 * 32000.0,
        0.0,
    );
    let all = [("kind", Attribute::Text("Sum".into()))];
    add("sum of all, f32 4096x32000", Case::new("Reduce", &all).input(F32, &[4096, 32000]), exact, 4.0 * 4096.0 * 32000.0, 0.0);
    let perm = [("perm", Attribute::Ints(vec![1, 0]))];
    add("transpose f32 8192x4096", Case::new("Transpose", &perm).input(F32, &[rows, width]), exact, bytes, 0.0);
    add("gelu f32 8192x4096", Case::new("Gelu", &[]).input(F32, &[rows, width]), exact, bytes, 0.0);
    let binary = Case::new("Add", &[]).input(F32, &[rows, width]).input(F32, &[rows, width]);
    add("add f32 8192x4096", binary, exact, 1.5 * bytes, 0.0);
    add("argmax f32 1x128256", Case::new("ArgMax", &axis).input(F32, &[1, 128256]), exact, 4.0 * 128256.0, 0.0);
}

/// Operators along lines, over other shapes: bytes are those read and written once.
fn rows_of_lines(add: &mut impl FnMut(&str, Case, Precision, f64, f64)) {
    use ElementType::*;
    let (int, text, ints) = (Attribute::Int, |t: &str| Attribute::Text(t.into()), |v: &[i64]| Attribute::Ints(v.to_vec()));
    // How often the first input is moved: 1 where the result is small, 2 where it is as large.
    let mut row = |name: &str, case: Case, times: f64| {
        let ty = case.inputs[0].as_ref().map(|(ty, _)| ty.clone()).expect("a row has an input");
        let shape: Vec<String> = ty.dims.iter().map(usize::to_string).collect();
        let name = format!("{name} {} {}", ty.element.name(), shape.join("x"));
        add(&name, case, Precision::Exact, times * ty.bytes() as f64, 0.0);
    };
    let eps = ("eps", Attribute::Float(1e-5));
    let norm = |name: &str, list: &[(&str, Attribute)], element: ElementType, dims: &[usize], width: usize| {
        Case::new(name, list).input(element, dims).input(element, &[width]).input(element, &[width])
    };
    row("layer_norm", norm("LayerNorm", &[eps.clone()], F16, &[8192, 4096], 4096), 2.0);
    row("layer_norm", norm("LayerNorm", &[eps.clone()], F32, &[262_144, 128], 128), 2.0);
    row("group_norm", norm("GroupNorm", &[("groups", int(32)), eps.clone()], F16, &[8, 512, 128, 128], 512), 2.0);
    row("layer_norm2d", norm("LayerNorm2d", &[eps.clone()], F32, &[16, 192, 112, 112], 192), 2.0);
    let batch = norm("BatchNorm", &[eps], F32, &[32, 256, 64, 64], 256).input(F32, &[256]);
    row("batch_norm", batch.fill(F32, &[256], Fill::Range(0.5, 2.0)), 2.0);

    let over = |name: &str, axis: i64| Case::new(name, &[("axis", int(axis))]);
    row("softmax over axis 1,", over("Softmax", 1).input(F32, &[1, 128_256]), 2.0);
    row("softmax over axis 1,", over("Softmax", 1).input(F32, &[262_144, 128]), 2.0);
    row("softmax over axis 1,", over("Softmax", 1).input(F32, &[8192, 4096]), 2.0);
    row("softmax over axis 1,", over("Softmax", 1).input(F32, &[64, 512, 1024]), 2.0);
    row("softmax over axis 1,", over("Softmax", 1).input(F16, &[64, 512, 1024]), 2.0);
    for (kind, element, dims, axes) in [
        ("Sum", F32, &[32768, 4096][..], &[1][..]),
        ("Sum", F32, &[8_388_608, 16], &[1]),
        ("Sum", F32, &[16_777_216, 8], &[0]),
        ("Max", F16, &[4096, 32000], &[0]),
        ("Mean", F16, &[256, 512, 32, 32], &[2, 3]),
        ("Sum", F32, &[32, 256, 112, 112], &[0, 2, 3]),
        ("LogSumExp", F32, &[4096, 32000], &[1]),
    ] {
        let case = Case::new("Reduce", &[("kind", text(kind)), ("axes", ints(axes))]).input(element, dims);
        row(&format!("{} over {axes},", kind.to_lowercase(), axes = list_text(&axes)), case, 1.0);
    }
    for axis in [1, 0] {
        row(&format!("argmax over axis {axis},"), over("ArgMax", axis).input(F32, &[4096, 32000]), 1.0);
        row(&format!("cumsum over axis {axis},"), over("Cumsum", axis).input(F32, &[4096, 32000]), 2.0);
    }
    row("cumsum", over("Cumsum", 0).input(F32, &[1 << 27]), 2.0);
    for (k, dims) in [(50, [1, 128_256]), (8, [65536, 256]), (1000, [64, 100_000]), (32000, [64, 32000])] {
        row(&format!("topk {k} of"), Case::new("TopK", &[("k", int(k))]).input(F32, &dims), 1.0);
    }
    for (name, list) in [
        ("sample", vec![]),
        ("sample top_k 40 top_p 0.9", vec![("top_k", int(40)), ("top_p", Attribute::Float(0.9))]),
        ("sample top_p 0.9", vec![("top_p", Attribute::Float(0.9))]),
    ] {
        row(name, Case::new("Sample", &list).input(F32, &[1, 128_256]), 1.0);
    }
    let normal = [("mean", Attribute::Float(0.0)), ("std", Attribute::Float(1.0))];
    row("rng_normal like", Case::new("RngNormal", &normal).input(F32, &[1 << 26]), 1.0);
}

fn rows_of_attention(add: &mut impl FnMut(&str, Case, Precision, f64, f64)) {
    use ElementType::*;
    let (heads, kv, d) = (32usize, 8usize, 128usize);
    let list = [
        ("num_heads", Attribute::Int(heads as i64)),
        ("num_kv_heads", Attribute::Int(kv as i64)),
        ("head_dim", Attribute::Int(d as i64)),
        ("layout", Attribute::Text("BSHD".into())),
        ("mask", Attribute::Text("Causal".into())),
    ];
    for n in [4096usize, 32768] {
        let bytes = 2.0 * (2 * n * kv * d) as f64;
        let case =
            Case::new("Attention", &list).input(F16, &[1, 1, heads, d]).input(F16, &[1, n, kv, d]).input(F16, &[1, n, kv, d]);
        add(&format!("attention f16 decode, kv {n}"), case, Precision::Exact, bytes, 4.0 * (n * heads * d) as f64);
    }
    let n = 4096usize;
    let case = Case::new("Attention", &list).input(F16, &[1, n, heads, d]).input(F16, &[1, n, kv, d]).input(F16, &[1, n, kv, d]);
    add("attention f16 causal 4096x4096", case, Precision::Exact, 0.0, 2.0 * (n * n * heads * d) as f64);
}

fn rows_of_movement(add: &mut impl FnMut(&str, Case, Precision, f64, f64)) {
    use ElementType::*;
    let exact = Precision::Exact;
    let ints = |name: &'static str, v: &[i64]| (name, Attribute::Ints(v.to_vec()));
    let axis = [("axis", Attribute::Int(1))];
    let mib = (1u64 << 20) as f64;
    let heads = Case::new("Transpose", &[ints("perm", &[0, 2, 1, 3])]).input(F16, &[8, 2048, 32, 128]);
    add("transpose f16 8x2048x32x128, axes 1 and 2", heads, exact, 256.0 * mib, 0.0);
    add(
        "transpose f16 8192x8192",
        Case::new("Transpose", &[ints("perm", &[1, 0])]).input(F16, &[8192, 8192]),
        exact,
        256.0 * mib,
        0.0,
    );
    let pixels = Case::new("Transpose", &[ints("perm", &[0, 2, 3, 1])]).input(F16, &[8, 256, 128, 128]);
    add("transpose f16 channels last, 8x256x128x128", pixels, exact, 128.0 * mib, 0.0);
    let concat = Case::new("Concat", &axis).input(F32, &[8192, 2048]).input(F32, &[8192, 2048]);
    add("concat f32 8192x(2048+2048)", concat, exact, 256.0 * mib, 0.0);
    let bounds = [ints("starts", &[1]), ints("ends", &[4095]), ints("axes", &[1])];
    add("slice f32 8192x4096, columns 1..4095", Case::new("Slice", &bounds).input(F32, &[8192, 4096]), exact, 256.0 * mib, 0.0);
    let rows = Case::new("Gather", &[("axis", Attribute::Int(0))]).input(F16, &[128256, 4096]);
    let rows = rows.fill(I32, &[8192], Fill::Range(0.0, 128256.0));
    add("gather f16, 8192 rows of 4096", rows, exact, 128.0 * mib, 0.0);
    let scatter = Case::new("ScatterAdd", &[("rows", Attribute::Int(8192))]).input(F32, &[16384, 1024]);
    let scatter = scatter.fill(I32, &[16384], Fill::Range(0.0, 8192.0));
    add("scatter_add f32, 16384 rows of 1024 to 8192", scatter, exact, 96.0 * mib, 0.0);
}

fn rows_of_pictures(add: &mut impl FnMut(&str, Case, Precision, f64, f64)) {
    use ElementType::*;
    let exact = Precision::Exact;
    let square = |stride: i64, pad: i64, groups: i64| {
        let ints = |v: i64| Attribute::Ints(vec![v; 2]);
        [
            ("stride", ints(stride)),
            ("pad_begin", ints(pad)),
            ("pad_end", ints(pad)),
            ("dilation", ints(1)),
            ("groups", Attribute::Int(groups)),
        ]
    };
    let mut conv = |name: &str, element: ElementType, x: [usize; 4], w: [usize; 4], stride: usize, groups: usize| {
        let case =
            Case::new("Conv", &square(stride as i64, (w[2] / 2) as i64, groups as i64)).input(element, &x).input(element, &w);
        let outputs = x[0] * w[0] * x[2] / stride * x[3] / stride;
        let bytes = x.iter().product::<usize>() + w.iter().product::<usize>() + outputs;
        let operations = 2.0 * (outputs * w[1] * w[2] * w[3]) as f64;
        add(&format!("conv {} {name}", element.name()), case, exact, (bytes * element.bytes()) as f64, operations);
    };
    for element in [F16, F32] {
        conv("3x3, 8x256x56x56 to 256", element, [8, 256, 56, 56], [256, 256, 3, 3], 1, 1);
    }
    for element in [F16, F32] {
        conv("3x3, 1x512x7x7 to 512", element, [1, 512, 7, 7], [512, 512, 3, 3], 1, 1);
        conv("1x1, 8x256x56x56 to 64", element, [8, 256, 56, 56], [64, 256, 1, 1], 1, 1);
        conv("7x7, 8x3x224x224 to 64, stride 2", element, [8, 3, 224, 224], [64, 3, 7, 7], 2, 1);
        conv("depthwise 3x3, 8x256x56x56", element, [8, 256, 56, 56], [256, 1, 3, 3], 1, 256);
        conv("3x3, 1x128x512x512 to 3", element, [1, 128, 512, 512], [3, 128, 3, 3], 1, 1);
    }
    let fft = Case::new("Fft", &[]).input(C64, &[256, 4096]);
    add("fft c64 256x4096", fft, exact, 16.0 * (256 * 4096) as f64, 0.0);
    let long = Case::new("Fft", &[]).input(C64, &[16, 1 << 18]);
    add("fft c64 16x262144", long, exact, 16.0 * (16 << 18) as f64, 0.0);
    add("fft c64 4096x400", Case::new("Fft", &[]).input(C64, &[4096, 400]), exact, 16.0 * (4096 * 400) as f64, 0.0);
    let kernel = |n: i64| Attribute::Ints(vec![n; 2]);
    let pool = [
        ("kind", Attribute::Text("Max".into())),
        ("kernel", kernel(3)),
        ("stride", kernel(2)),
        ("pad_begin", kernel(1)),
        ("pad_end", kernel(1)),
        ("dilation", kernel(1)),
    ];
    let pool = Case::new("Pool", &pool).input(F32, &[8, 64, 112, 112]);
    add("max pool f32 3x3, 8x64x112x112", pool, exact, 5.0 * (8 * 64 * 112 * 112) as f64, 0.0);
    let resize = [("mode", Attribute::Text("Linear".into())), ("scales", Attribute::Floats(vec![1.0, 1.0, 2.0, 2.0]))];
    let resize = Case::new("Resize", &resize).input(F32, &[8, 64, 128, 128]);
    add("resize f32 linear, 8x64x128x128 to twice", resize, exact, 20.0 * (8 * 64 * 128 * 128) as f64, 0.0);
}

fn rows_of_recurrence(add: &mut impl FnMut(&str, Case, Precision, f64, f64)) {
    use ElementType::*;
    let exact = Precision::Exact;
    let networks = [("Lstm", 4usize), ("Gru", 3)];
    for ((name, gates), [batch, steps, hidden]) in networks.into_iter().flat_map(|network| {
        [[1, 256, 512], [1, 256, 128], [1, 256, 160], [32, 256, 512], [64, 256, 128]].map(|sizes| (network, sizes))
    }) {
        let attributes = [("hidden", Attribute::Int(hidden as i64))];
        let weights = Fill::Range(-0.05, 0.05);
        let mut case = Case::new(name, &attributes)
            .input(F32, &[batch, steps, hidden])
            .fill(F32, &[gates * hidden, hidden], weights.clone())
            .fill(F32, &[gates * hidden, hidden], weights.clone());
        for _ in 0..if gates == 3 { 2 } else { 1 } {
            case = case.fill(F32, &[gates * hidden], weights.clone());
        }
        let operations = 4.0 * (batch * steps * gates * hidden * hidden) as f64;
        add(&format!("{} f32 {batch}x{steps}x{hidden}", name.to_lowercase()), case, exact, 0.0, operations);
    }
    let (steps, hidden, n) = (2048usize, 4096usize, 16usize);
    let scan = Case::new("SelectiveScan", &[])
        .input(F32, &[1, steps, hidden])
        .fill(F32, &[1, steps, hidden], Fill::Range(0.0, 0.1))
        .fill(F32, &[hidden, n], Fill::Range(-1.0, 0.0))
        .input(F32, &[1, steps, n])
        .input(F32, &[1, steps, n]);
    add("selective_scan f32 1x2048x4096, n 16", scan, exact, 12.0 * (steps * hidden) as f64, 5.0 * (steps * hidden * n) as f64);
    let (heads, size, n) = (80usize, 64usize, 128usize);
    let mamba = Case::new("Mamba2", &[])
        .input(F32, &[1, steps, heads, size])
        .fill(F32, &[1, steps, heads], Fill::Range(0.0, 0.1))
        .fill(F32, &[heads], Fill::Range(-1.0, 0.0))
        .input(F32, &[1, steps, 1, n])
        .input(F32, &[1, steps, 1, n]);
    let operations = 5.0 * (steps * heads * size * n) as f64;
    add("mamba2 f32 1x2048x80x64, n 128", mamba, exact, 8.0 * (steps * heads * size) as f64, operations);
    let (heads, n) = (32usize, 128usize);
    for steps in [1usize, 2048] {
        let delta = Case::new("GatedDeltaNet", &[])
            .input(F32, &[1, steps, heads, n])
            .fill(F32, &[1, steps, heads, n], Fill::Range(-0.1, 0.1))
            .input(F32, &[1, steps, heads, n])
            .fill(F32, &[1, steps, heads], Fill::Range(-0.1, 0.0))
            .fill(F32, &[1, steps, heads], Fill::Range(0.0, 1.0))
            .input(F32, &[1, heads, n, n]);
        let bytes = 4.0 * (4 * steps * heads * n + 2 * heads * n * n) as f64;
        let operations = 7.0 * (steps * heads * n * n) as f64;
        add(&format!("gated_delta_net f32 1x{steps}x32x128"), delta, exact, bytes, operations);
    }
    for element in [F32, F16] {
        let conv = Case::new("CausalConv1d", &[("act", Attribute::Text("Silu".into()))])
            .input(element, &[1, 8192, 8192])
            .input(element, &[8192, 4])
            .input(element, &[8192]);
        let bytes = (2 * element.bytes() * 8192 * 8192) as f64;
        add(&format!("causal_conv1d {} 1x8192x8192, k 4", element.name()), conv, exact, bytes, 8.0 * 8192.0 * 8192.0);
    }
}
