//! Running programs: devices, weights, buffers, executables.

mod bindings;
mod buffer;
mod cpu;
mod device;
mod executable;
mod feed;
mod profile;
mod vulkan;
mod weights;

pub use buffer::Buffer;
pub use device::{Device, DeviceInfo, DeviceOptions, Kind, Select};
pub use executable::{CompileOptions, Executable, Stats};
pub use profile::{NodeTime, Profile};
pub use weights::Weights;

pub use crate::vulkan::{Countdown, Faults, Masks};
