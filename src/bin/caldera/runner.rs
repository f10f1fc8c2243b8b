//! Compiles and runs a graph once.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;

use caldera::graph::Graph;
use caldera::runtime::{CompileOptions, Device, DeviceOptions, Executable, Select};
use caldera::tensor::Tensor;
use caldera::{Result, error};

/// The device of this name: an index, a UUID, a kind or "cpu"; without one, what CALDERA_DEVICE names, or the best there is.
pub fn open(device: Option<&str>) -> Result<Arc<Device>> {
    let select = device.map_or(Ok(Select::Best), Select::from_text)?;
    Device::open(&DeviceOptions { select, allow_software: true, allow_cpu: true, ..DeviceOptions::default() })
}

/// A graph with its weights set.
pub fn compile(device: &Arc<Device>, graph: &Graph, params: &[(String, Tensor)], options: &CompileOptions) -> Result<Executable> {
    let mut executable = Executable::compile(device, graph, options)?;
    for (name, tensor) in params {
        executable.set_param(name, tensor.element(), tensor.bytes())?;
    }
    Ok(executable)
}

/// One run: the outputs, in the graph's order.
pub fn run(executable: &mut Executable, inputs: &BTreeMap<String, Tensor>) -> Result<Vec<Tensor>> {
    let ports = &executable.program().inputs;
    let given = ports.iter().map(|port| {
        let tensor = inputs.get(&port.name).ok_or_else(|| error!(InvalidArgument, "input \"{}\" is not given", port.name))?;
        let typed = tensor.clone().with_type(port.ty.clone()).map_err(|e| e.within(format!("input \"{}\"", port.name)))?;
        Ok(typed)
    });
    let given = given.collect::<Result<Vec<Tensor>>>()?;
    let bytes: Vec<Option<&[u8]>> = given.iter().map(|t| Some(t.bytes())).collect();
    let mut results: Vec<Tensor> = executable.program().outputs.iter().map(|port| Tensor::zeros(port.ty.clone())).collect();
    let mut outputs: Vec<(usize, &mut [u8])> = results.iter_mut().map(Tensor::bytes_mut).enumerate().collect();
    executable.run(&bytes, &mut outputs)?;
    Ok(results)
}

/// A bar for the loading of weights, where standard error is a terminal.
pub fn loading() -> impl FnMut(u64, u64) {
    let bar = match std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(0).with_style(
            indicatif::ProgressStyle::with_template("loading {bar:30} {bytes}/{total_bytes} {bytes_per_sec}")
                .expect("the template is right"),
        ),
        false => indicatif::ProgressBar::hidden(),
    };
    move |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        if done == total {
            bar.finish_and_clear();
        }
    }
}
