//! Tensors from and to files, as the command line names them.

use std::collections::BTreeMap;
use std::path::Path;

use caldera::formats::npy::{read_npy, read_npz, write_npy};
use caldera::formats::onnx::{read_tensor, write_tensor};
use caldera::formats::safetensors::SafetensorsFile;
use caldera::tensor::Tensor;
use caldera::{Result, bail, ensure, error};

/// Values of inputs from arguments "x=x.npy", "x=x.pb", or "all.npz" and "all.safetensors" for all names in the file.
pub fn read(arguments: &[String]) -> Result<BTreeMap<String, Tensor>> {
    let mut values = BTreeMap::new();
    for argument in arguments {
        let read = match argument.split_once('=') {
            Some((name, path)) => vec![(name.to_string(), read_one(path)?)],
            None => read_all(argument)?,
        };
        for (name, tensor) in read {
            ensure!(!values.contains_key(&name), InvalidArgument, "input \"{name}\" is given twice");
            values.insert(name, tensor);
        }
    }
    Ok(values)
}

fn extension(path: &str) -> &str {
    Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or("")
}

fn read_one(path: &str) -> Result<Tensor> {
    match extension(path) {
        "npy" => read_npy(path),
        "pb" => {
            let bytes = std::fs::read(path).map_err(|e| error!(File, "{path}: {e}"))?;
            read_tensor(&bytes).map(|(_, tensor)| tensor).map_err(|e| e.within(path))
        }
        _ => bail!(InvalidArgument, "{path}: a tensor is read from .npy or .pb"),
    }
}

fn read_all(path: &str) -> Result<Vec<(String, Tensor)>> {
    match extension(path) {
        "npz" => read_npz(path),
        "safetensors" => {
            let file = SafetensorsFile::open(path)?;
            file.names().into_iter().map(|name| file.read(&name).map(|tensor| (name, tensor))).collect()
        }
        _ => bail!(InvalidArgument, "\"{path}\": give name=file.npy, name=file.pb, or a .npz or .safetensors file"),
    }
}

/// Names and files of outputs from arguments "y=y.npy".
pub fn targets(arguments: &[String]) -> Result<Vec<(String, String)>> {
    let target = |argument: &String| match argument.split_once('=') {
        Some((name, path)) if matches!(extension(path), "npy" | "pb") => Ok((name.to_string(), path.to_string())),
        _ => Err(error!(InvalidArgument, "\"{argument}\": give name=file.npy or name=file.pb")),
    };
    arguments.iter().map(target).collect()
}

pub fn write(name: &str, path: &str, tensor: &Tensor) -> Result<()> {
    match extension(path) {
        "pb" => std::fs::write(path, write_tensor(name, tensor)).map_err(|e| error!(File, "{path}: {e}")),
        _ => write_npy(path, tensor),
    }
}

/// Reads a number of at least 1.
pub fn positive() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..)
}

/// Sizes of symbolic dimensions from arguments "batch=4".
pub fn dims(arguments: &[String]) -> Result<BTreeMap<String, usize>> {
    let dim = |argument: &String| {
        let pair = argument.split_once('=').and_then(|(name, size)| Some((name.to_string(), size.parse().ok()?)));
        pair.ok_or_else(|| error!(InvalidArgument, "\"{argument}\": give name=size"))
    };
    arguments.iter().map(dim).collect()
}

/// "f32 [2,3] min -1 max 2.5 mean 0.25", for people.
pub fn summary(tensor: &Tensor) -> String {
    let ty = tensor.ty();
    if ty.elements() == 0 || ty.element.is_block() || ty.element == caldera::tensor::ElementType::C64 {
        return ty.to_string();
    }
    let values = tensor.to_f64();
    if let [one] = values.as_slice() {
        return format!("{ty} {one}");
    }
    let (min, max) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    let nan = values.iter().filter(|v| v.is_nan()).count();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let nan = if nan > 0 { format!(" NaN {nan}") } else { String::new() };
    format!("{ty} min {min} max {max} mean {mean}{nan}")
}
