//! `caldera run`: one model, inputs from files, outputs to files.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use caldera::formats::onnx::{Loaded, OnnxModel};
use caldera::runtime::CompileOptions;
use caldera::tensor::Tensor;

use caldera::{Result, ensure, error, listed};

use crate::out::say;
use crate::{runner, values};

/// Runs a model
///
/// Sizes of symbolic dimensions follow from the inputs. An input on which shapes or branches depend is bound to its value.
#[derive(clap::Args)]
pub struct Arguments {
    /// An ONNX file
    model: PathBuf,
    /// A value: name=file.npy or name=file.pb, or a .npz or .safetensors file with values by name
    #[arg(long, short, value_name = "NAME=FILE")]
    input: Vec<String>,
    /// Where to write an output: name=file.npy or name=file.pb; without any, all outputs are summed up in words
    #[arg(long, short, value_name = "NAME=FILE")]
    output: Vec<String>,
    /// The device: an index, a UUID, a kind, or "cpu"
    #[arg(long)]
    device: Option<String>,
    /// Run so often, and tell how long it takes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    repeat: u64,
    /// Print the time of each kernel, by the device's clock
    #[arg(long)]
    profile: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let targets = values::targets(&arguments.output)?;
    let mut inputs = values::read(&arguments.input)?;
    let model = OnnxModel::open(&arguments.model)?;
    for name in inputs.keys() {
        model.input_type(name)?;
    }
    let missing: Vec<&str> = model.input_names().into_iter().filter(|n| !inputs.contains_key(*n)).collect();
    ensure!(missing.is_empty(), InvalidArgument, "these inputs are not given: {}", missing.join(", "));
    let Loaded { graph, params, bound } = model.graph_for(&inputs)?;
    inputs.retain(|name, _| !bound.contains(name));
    for (name, _) in &targets {
        let known: Vec<&str> = graph.outputs().iter().map(|(name, _)| name.as_str()).collect();
        ensure!(known.contains(&name.as_str()), InvalidArgument, "the model has no output \"{name}\"; it has: {}", listed(&known));
    }
    let device = runner::open(arguments.device.as_deref())?;
    let start = Instant::now();
    let options = CompileOptions { profiling: arguments.profile, ..CompileOptions::default() };
    let mut executable = runner::compile(&device, &graph, &params, &options)?;
    let compile = start.elapsed();
    let mut results = Vec::new();
    let mut times = Vec::new();
    for _ in 0..arguments.repeat {
        let start = Instant::now();
        results = runner::run(&mut executable, &inputs)?;
        times.push(start.elapsed());
    }
    times.sort();
    let named: Vec<(&str, &Tensor)> = graph.outputs().iter().map(|(name, _)| name.as_str()).zip(&results).collect();
    for (name, path) in &targets {
        let (_, tensor) = named.iter().find(|(n, _)| n == name).ok_or_else(|| error!(Internal, "output \"{name}\" is lost"))?;
        values::write(name, path, tensor)?;
    }
    let report = Report { device: &device.info().name, compile, times: &times, outputs: &named };
    if arguments.json {
        say!("{}", report.json());
    } else {
        report.print(targets.is_empty(), arguments.repeat > 1);
    }
    if arguments.profile {
        eprint!("{}", executable.profile()?.to_text());
    }
    Ok(ExitCode::SUCCESS)
}

struct Report<'a> {
    device: &'a str,
    compile: Duration,
    /// Sorted.
    times: &'a [Duration],
    outputs: &'a [(&'a str, &'a Tensor)],
}

impl Report<'_> {
    fn median(&self) -> Duration {
        self.times[self.times.len() / 2]
    }

    fn print(&self, outputs: bool, times: bool) {
        if outputs {
            self.outputs.iter().for_each(|(name, tensor)| say!("{name}: {}", values::summary(tensor)));
        }
        if times {
            let ms = |t: Duration| t.as_secs_f64() * 1e3;
            say!("compile {:.1} ms, {} runs on {}:", ms(self.compile), self.times.len(), self.device);
            say!("median {:.3} ms, fastest {:.3} ms", ms(self.median()), ms(self.times[0]));
        }
    }

    fn json(&self) -> serde_json::Value {
        let output = |(name, tensor): &(&str, &Tensor)| serde_json::json!({"name": name, "type": tensor.element().name(), "dims": tensor.dims()});
        serde_json::json!({
            "device": self.device,
            "compile_seconds": self.compile.as_secs_f64(),
            "runs": self.times.len(),
            "median_seconds": self.median().as_secs_f64(),
            "fastest_seconds": self.times[0].as_secs_f64(),
            "outputs": self.outputs.iter().map(output).collect::<Vec<_>>(),
        })
    }
}
