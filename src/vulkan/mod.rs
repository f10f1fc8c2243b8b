//! Vulkan: instance, devices, memory, pipelines, recording, submission. Knows nothing of operators.

mod bfloat16;
mod caps;
mod device;
mod fault;
mod instance;
mod memory;
mod pipeline;
mod recorder;
mod transfer;

pub use caps::{DeviceKind, Features, Masks, PhysicalDevice};
pub use device::Device;
pub use fault::{Countdown, Faults};
pub use instance::Instance;
pub use memory::{MemoryKind, VulkanBuffer};
pub use pipeline::PipelineKey;
pub use recorder::{Batches, Commands, Copy, Recorder, Recording, Timeline, Timestamps};
pub use transfer::Transfer;

use ash::vk;

use crate::{Error, error};

/// A driver's result as an error.
pub(crate) fn failed(what: &str, result: vk::Result) -> Error {
    match result {
        vk::Result::ERROR_DEVICE_LOST => error!(DeviceLost, "{what}: the device was lost"),
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => error!(OutOfMemory, "{what}: out of device memory"),
        vk::Result::ERROR_OUT_OF_HOST_MEMORY => error!(OutOfMemory, "{what}: out of host memory"),
        other => error!(Internal, "{what}: {other}"),
    }
}
