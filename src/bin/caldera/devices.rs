//! `caldera devices`: what there is to run on.

use std::process::ExitCode;

use caldera::Result;
use caldera::runtime::{Device, DeviceInfo};

use crate::out::say;

/// Lists the devices of this machine
#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let devices = Device::list();
    if arguments.json {
        let list: Vec<_> = devices.iter().enumerate().map(|(i, d)| json(i, d)).collect();
        say!("{}", serde_json::json!({ "devices": list }));
    } else {
        devices.iter().enumerate().for_each(|(i, d)| say!("{}", text(i, d)));
    }
    Ok(ExitCode::SUCCESS)
}

fn uuid(device: &DeviceInfo) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let u = &device.uuid;
    [&u[..4], &u[4..6], &u[6..8], &u[8..10], &u[10..]].map(hex).join("-")
}

fn version(device: &DeviceInfo) -> Option<String> {
    let (major, minor, patch) = device.api_version;
    (major > 0).then(|| format!("{major}.{minor}.{patch}"))
}

fn text(index: usize, device: &DeviceInfo) -> String {
    let mut lines = vec![format!("{index}: {} ({})", device.name, device.kind.name())];
    lines.push(format!("   uuid      {}", uuid(device)));
    lines.push(format!("   driver    {}", device.driver));
    lines.extend(version(device).map(|v| format!("   vulkan    {v}")));
    if device.memory > 0 {
        lines.push(format!("   memory    {}", indicatif::BinaryBytes(device.memory)));
    }
    if !device.features.is_empty() {
        lines.push(format!("   features  {}", device.features.join(" ")));
    }
    lines.extend(device.unusable.as_ref().map(|why| format!("   unusable  {why}")));
    lines.join("\n")
}

fn json(index: usize, device: &DeviceInfo) -> serde_json::Value {
    serde_json::json!({
        "index": index,
        "name": device.name,
        "kind": device.kind.name(),
        "uuid": uuid(device),
        "driver": device.driver,
        "vulkan": version(device),
        "memory": device.memory,
        "features": device.features,
        "unusable": device.unusable,
    })
}
