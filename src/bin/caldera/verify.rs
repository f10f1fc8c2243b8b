//! `caldera verify`: runs models on given inputs and compares with given outputs.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use caldera::formats::onnx::{Loaded, OnnxModel, read_tensor};
use caldera::graph::Graph;
use caldera::ops::Inputs;
use caldera::ops::compare::{Measure, Rule, compare};
use caldera::runtime::{CompileOptions, Device};
use caldera::tensor::{Tensor, TensorType};
use caldera::{Result, bail, ensure, error};
use indicatif::ProgressBar;

use crate::out::say;
use crate::runner;

/// Runs models on test data and compares the outputs
///
/// A folder holds model.onnx and data sets test_data_set_N with input_K.pb and output_K.pb, as in the ONNX backend tests. A data set
/// without output files must fail to load or to run, with an error.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of test cases
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    /// The device: an index, a UUID, or "cpu"
    #[arg(long)]
    device: Option<String>,
    /// For whole models: the largest error, over the largest value of the output, that passes
    #[arg(long, value_name = "T")]
    scale_tolerance: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How a case went.
enum Outcome {
    Passed(Measure),
    Failed(String),
    Skipped(String),
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let device = runner::open(arguments.device.as_deref())?;
    // What a panic says goes into the line of its case.
    std::panic::set_hook(Box::new(|_| {}));
    let bar = progress(arguments);
    let mut results = Vec::new();
    for folder in &arguments.cases {
        let name = case_name(folder);
        bar.set_message(name.clone());
        let outcome = verify(folder, &device, arguments);
        if !arguments.json {
            bar.suspend(|| say!("{}", line(&name, &outcome)));
        }
        results.push((name, outcome));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let count = |kind: fn(&Outcome) -> bool| results.iter().filter(|r| kind(&r.1)).count();
    let passed = count(|o| matches!(o, Outcome::Passed(_)));
    let failed = count(|o| matches!(o, Outcome::Failed(_)));
    let skipped = count(|o| matches!(o, Outcome::Skipped(_)));
    if arguments.json {
        say!("{}", json(&results, [passed, failed, skipped]));
    } else {
        say!("{passed} passed, {failed} failed, {skipped} skipped");
    }
    if skipped > 0 {
        eprintln!("caldera: {skipped} of {} folders hold no test case: no model.onnx, or no test_data_set_N", results.len());
    }
    Ok(if failed + skipped == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn progress(arguments: &Arguments) -> ProgressBar {
    if std::io::stderr().is_terminal() && !arguments.json {
        let style = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("the template is right");
        ProgressBar::new(arguments.cases.len() as u64).with_style(style)
    } else {
        ProgressBar::hidden()
    }
}

/// The last two parts of a path: "Softmax/basic".
fn case_name(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let parts: Vec<_> = folder.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

fn line(name: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed(m) => format!("passed   {name}: error {:.1e} of {:.1e}", m.error, m.bound),
        Outcome::Failed(why) => format!("FAILED   {name}: {why}"),
        Outcome::Skipped(why) => format!("skipped  {name}: {why}"),
    }
}

fn json(results: &[(String, Outcome)], [passed, failed, skipped]: [usize; 3]) -> serde_json::Value {
    let case = |(name, outcome): &(String, Outcome)| match outcome {
        Outcome::Passed(m) => serde_json::json!({"case": name, "status": "passed", "error": m.error, "bound": m.bound}),
        Outcome::Failed(why) => serde_json::json!({"case": name, "status": "failed", "message": why}),
        Outcome::Skipped(why) => serde_json::json!({"case": name, "status": "skipped", "message": why}),
    };
    let cases: Vec<_> = results.iter().map(case).collect();
    serde_json::json!({"cases": cases, "passed": passed, "failed": failed, "skipped": skipped})
}

fn verify(folder: &Path, device: &Arc<Device>, arguments: &Arguments) -> Outcome {
    let model = folder.join("model.onnx");
    if !model.is_file() {
        return Outcome::Skipped(format!("{} is not there", model.display()));
    }
    let sets = data_sets(folder);
    if sets.is_empty() {
        return Outcome::Skipped("there is no data set".into());
    }
    let mut worst = Measure::default();
    for set in &sets {
        // A panic is a fault of ours: it fails this case, and the others still run.
        let result = catch_unwind(AssertUnwindSafe(|| data_set(&model, set, device, arguments.scale_tolerance)));
        let name = case_name(set);
        match result {
            Ok(Ok(measure)) => worst = worst.worse(measure),
            Ok(Err(e)) => return Outcome::Failed(format!("{}: {e}", name.rsplit('/').next().unwrap_or(&name))),
            Err(panic) => {
                let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                return Outcome::Failed(format!("{}: panicked: {}", name.rsplit('/').next().unwrap_or(&name), words.unwrap_or("")));
            }
        }
    }
    Outcome::Passed(worst)
}

/// The folders test_data_set_N, by number.
fn data_sets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix("test_data_set_")?.parse::<u64>().ok();
    let mut sets: Vec<(u64, PathBuf)> = entries.filter_map(|e| Some((number(&e.path())?, e.path()))).collect();
    sets.sort();
    sets.into_iter().map(|(_, path)| path).collect()
}

fn data_set(model: &Path, set: &Path, device: &Arc<Device>, scale_tolerance: Option<f64>) -> Result<Measure> {
    let want = tensors(set, "output")?;
    let result = run(model, set, device);
    if want.is_empty() {
        return match result {
            Err(_) => Ok(Measure::default()),
            Ok(_) => bail!(InvalidArgument, "it must fail, and did not"),
        };
    }
    let (names, got, terms) = result?;
    ensure!(got.len() >= want.len(), InvalidArgument, "there are {} outputs, {} are expected", got.len(), want.len());
    let rule = scale_tolerance.map_or(Rule::Rows { terms }, Rule::Scale);
    let mut worst = Measure::default();
    for ((got, want), name) in got.iter().zip(&want).zip(&names) {
        let measure = compare(got, want, rule).map_err(|e| error!(InvalidArgument, "output \"{name}\" {e}"))?;
        ensure!(
            measure.passes(),
            InvalidArgument,
            "output \"{name}\" {}: error {:.1e}, above {:.1e}",
            got.ty(),
            measure.error,
            measure.bound
        );
        worst = worst.worse(measure);
    }
    Ok(worst)
}

/// Names and values of the outputs, and the terms of the largest sum in the graph.
fn run(model: &Path, set: &Path, device: &Arc<Device>) -> Result<(Vec<String>, Vec<Tensor>, usize)> {
    let model = OnnxModel::open(model)?;
    let values = tensors(set, "input")?;
    let free = model.input_names();
    let names = if values.len() > free.len() { model.all_input_names() } else { free };
    ensure!(
        values.len() <= names.len(),
        InvalidArgument,
        "there are {} input files, the model has {} inputs",
        values.len(),
        names.len()
    );
    let mut inputs: BTreeMap<String, Tensor> = names.into_iter().map(str::to_string).zip(values).collect();
    let Loaded { graph, params, bound } = model.graph_for(&inputs)?;
    inputs.retain(|name, _| !bound.contains(name));
    let names = graph.outputs().iter().map(|(name, _)| name.clone()).collect();
    let terms = largest_sum(&graph);
    let mut executable = runner::compile(device, &graph, &params, &CompileOptions::default())?;
    Ok((names, runner::run(&mut executable, &inputs)?, terms))
}

fn largest_sum(graph: &Graph) -> usize {
    let terms = |node: &caldera::graph::Node| {
        let types: Vec<Option<&TensorType>> = node.inputs.iter().map(|id| id.and_then(|id| graph.ty(id).ok())).collect();
        node.operator.terms(&Inputs(&types))
    };
    graph.nodes().iter().map(terms).max().unwrap_or(1)
}

/// The files NAME_0.pb, NAME_1.pb and so on.
fn tensors(set: &Path, name: &str) -> Result<Vec<Tensor>> {
    let mut out = Vec::new();
    loop {
        let path = set.join(format!("{name}_{}.pb", out.len()));
        if !path.is_file() {
            return Ok(out);
        }
        let bytes = std::fs::read(&path).map_err(|e| error!(File, "{}: {e}", path.display()))?;
        out.push(read_tensor(&bytes).map_err(|e| e.within(format!("{name}_{}.pb", out.len())))?.1);
    }
}
