//! The program `caldera`, run as people run it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use caldera::formats::npy::{read_npy, write_npy};
use caldera::formats::onnx::{write_model, write_tensor};
use caldera::graph::{Dim, Graph};
use caldera::ops::{Attribute, Attributes, build};
use caldera::tensor::{ElementType, Tensor};

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("caldera-program-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn caldera(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caldera"));
    command.args(arguments.iter().map(|a| a.as_ref())).env("CALDERA_DEVICE", "cpu");
    command.output().expect("the program runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn problem(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// y = softmax(x), x [n,3].
fn softmax_model(path: &Path) {
    let mut graph = Graph::new();
    let x = graph.input("x", ElementType::F32, &[Dim::Symbol("n".into()), Dim::Fixed(3)]).expect("an input");
    let attributes = Attributes::from([("axis".to_string(), Attribute::Int(-1))]);
    let y = graph.add1(build("Softmax", &attributes).expect("an operator"), "node", &[x]).expect("a node");
    graph.output("y", y).expect("an output");
    std::fs::write(path, write_model(&graph, &BTreeMap::new()).expect("writes")).expect("a file");
}

fn even() -> Tensor {
    Tensor::from_slice(&[2, 3], &[1.0f32 / 3.0; 6])
}

/// A test case with these inputs and outputs.
fn case(folder: &Path, inputs: &[Tensor], outputs: &[Tensor]) {
    let data = folder.join("test_data_set_0");
    std::fs::create_dir_all(&data).expect("a folder");
    softmax_model(&folder.join("model.onnx"));
    for (kind, tensors) in [("input", inputs), ("output", outputs)] {
        for (k, tensor) in tensors.iter().enumerate() {
            std::fs::write(data.join(format!("{kind}_{k}.pb")), write_tensor("", tensor)).expect("a file");
        }
    }
}

#[test]
fn devices_are_listed() {
    let listed = caldera(&[&"devices"]);
    assert!(listed.status.success() && text(&listed).contains("CPU (cpu)"), "{}", text(&listed));
    let json: serde_json::Value = serde_json::from_str(&text(&caldera(&[&"devices", &"--json"]))).expect("JSON");
    assert!(json["devices"].as_array().is_some_and(|list| list.iter().any(|d| d["kind"] == "cpu")));
}

#[test]
fn a_model_is_run_from_files_to_files() {
    let folder = Folder::new("run");
    let (model, x, y) = (folder.path("m.onnx"), folder.path("x.npy"), folder.path("y.npy"));
    softmax_model(&model);
    write_npy(&x, &Tensor::from_slice(&[2, 3], &[5f32; 6])).expect("writes");
    let (input, output) = (format!("x={}", x.display()), format!("y={}", y.display()));
    let run = caldera(&[&"run", &model, &"--input", &input, &"--output", &output, &"--repeat", &"3"]);
    assert!(run.status.success(), "{}", problem(&run));
    assert!(text(&run).contains("3 runs"), "{}", text(&run));
    assert_eq!(read_npy(&y).expect("written"), even());

    let words = caldera(&[&"run", &model, &"--input", &input]);
    assert!(text(&words).starts_with("y: f32 [2,3] min 0.33333"), "{}", text(&words));
    let missing = caldera(&[&"run", &model]);
    assert!(!missing.status.success() && problem(&missing).contains("not given: x"), "{}", problem(&missing));
    let unknown = caldera(&[&"run", &model, &"--input", &input, &"--output", &"z=z.npy"]);
    assert!(!unknown.status.success() && problem(&unknown).contains("no output \"z\"; it has: y"), "{}", problem(&unknown));
    let nope = format!("nope={}", x.display());
    let extra = caldera(&[&"run", &model, &"--input", &nope]);
    assert!(!extra.status.success() && problem(&extra).contains("no input \"nope\"; it has: x"), "{}", problem(&extra));
    let twice = caldera(&[&"run", &model, &"--input", &input, &"--input", &input]);
    assert!(!twice.status.success() && problem(&twice).contains("given twice"), "{}", problem(&twice));
}

#[test]
fn verify_counts_and_its_exit_code_tells() {
    let folder = Folder::new("verify");
    let x = Tensor::from_slice(&[2, 3], &[5f32; 6]);
    let [right, wrong, must_fail, fails, nothing] = ["right", "wrong", "must_fail", "fails", "nothing"].map(|n| folder.path(n));
    case(&right, std::slice::from_ref(&x), &[even()]);
    case(&wrong, std::slice::from_ref(&x), &[Tensor::from_slice(&[2, 3], &[0.5f32, 0.25, 0.25, 0.5, 0.25, 0.25])]);
    // Without outputs it must fail: one does (its input has too few columns), one does not.
    case(&must_fail, &[Tensor::from_slice(&[2, 2], &[0f32; 4])], &[]);
    case(&fails, std::slice::from_ref(&x), &[]);
    std::fs::create_dir_all(&nothing).expect("a folder");

    let good = caldera(&[&"verify", &right, &must_fail]);
    assert!(good.status.success() && text(&good).ends_with("2 passed, 0 failed, 0 skipped\n"), "{}", text(&good));
    let all = caldera(&[&"verify", &"--device", &"cpu", &right, &wrong, &must_fail, &fails, &nothing]);
    assert_eq!(all.status.code(), Some(1));
    assert!(text(&all).ends_with("2 passed, 2 failed, 1 skipped\n"), "{}", text(&all));
    assert!(text(&all).contains("it must fail, and did not"), "{}", text(&all));
    let mistyped = caldera(&[&"verify", &nothing]);
    assert_eq!(mistyped.status.code(), Some(1));
    assert!(problem(&mistyped).contains("1 of 1 folders hold no test case"), "{}", problem(&mistyped));
    let loose = caldera(&[&"verify", &"--scale-tolerance", &"0.5", &wrong]);
    assert!(loose.status.success(), "{}", text(&loose));
    let json: serde_json::Value = serde_json::from_str(&text(&caldera(&[&"verify", &"--json", &right, &wrong]))).expect("JSON");
    assert_eq!((json["passed"].as_u64(), json["failed"].as_u64()), (Some(1), Some(1)));
}

/// Arguments that cannot mean anything are refused, with what is wrong.
#[test]
fn arguments_are_checked() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tiny-english/model.gguf");
    let list: &[(&[&str], i32, &str)] = &[
        (&["generate", model, "-p", "a", "--chunk", "0"], 2, "'0' for '--chunk <CHUNK>'"),
        (&["generate", model, "-p", "a", "--context", "0"], 2, "'0' for '--context <CONTEXT>'"),
        (&["perplexity", model, "text", "--window", "0"], 2, "'0' for '--window <WINDOW>'"),
        (&["embed", model, "text", "--batch", "0"], 2, "'0' for '--batch <BATCH>'"),
        (&["bench", "--runs", "0"], 2, "'0' for '--runs <RUNS>'"),
        (&["bench", "zzzz"], 1, "no row holds \"zzzz\""),
    ];
    for (arguments, code, says) in list {
        let arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = arguments.iter().map(|a| a as _).collect();
        let done = caldera(&arguments);
        assert_eq!(done.status.code(), Some(*code), "{}", problem(&done));
        assert!(problem(&done).contains(says) && text(&done).is_empty(), "{}", problem(&done));
    }
}

#[test]
fn files_are_inspected() {
    let folder = Folder::new("inspect");
    let model = folder.path("m.onnx");
    softmax_model(&model);
    let shown = text(&caldera(&[&"inspect", &model, &"--dim", &"n=4"]));
    for part in ["input          x f32 [n,3]", "output         y", "1  caldera.Softmax", "plan: 1 nodes"] {
        assert!(shown.contains(part), "{shown}");
    }
    let unknown = caldera(&[&"inspect", &model, &"--dim", &"m=4"]);
    assert!(text(&unknown).contains("no symbolic dimension \"m\"; it has: n"), "{}", text(&unknown));
    assert!(text(&caldera(&[&"inspect", &model, &"--dot"])).starts_with("digraph"));
    assert!(text(&caldera(&[&"inspect", &model])).contains("no plan: these dimensions are not bound: n"));
    let json: serde_json::Value = serde_json::from_str(&text(&caldera(&[&"inspect", &model, &"--json"]))).expect("JSON");
    assert_eq!(json["operators"]["caldera.Softmax"], 1);
    let absent = caldera(&[&"inspect", &folder.path("absent.gguf")]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(problem(&absent).contains("absent.gguf"), "{}", problem(&absent));
}
