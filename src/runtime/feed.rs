//! What happens to outputs after a run, on the device: an output becomes a handle's next value, or a row of it is written there.

use crate::Result;
use crate::ops::{COPY_BYTES_PER_GROUP, copy_kernel};
use crate::vulkan::{Commands, Device, MemoryKind, PipelineKey, Recorder, VulkanBuffer};
use std::sync::Arc;

/// A recorded copy between two places whose addresses, offsets and length are read from memory.
pub(crate) struct DeviceCopy {
    /// from offset, to offset, bytes, from address, to address: u64 each.
    block: VulkanBuffer,
    pub commands: Commands,
}

/// The shader's flag for "the address is kept at this address".
pub(crate) const INDIRECT: u64 = 1 << 63;

impl DeviceCopy {
    /// `unit` divides every offset and length it will be given, `most` bounds the length.
    pub fn new(device: &Arc<Device>, recorder: &Recorder, unit: usize, most: usize) -> Result<Self> {
        let block = VulkanBuffer::new(device, "a feed's parameters", 40, MemoryKind::Upload)?;
        let at = |i: u64| (block.address() + 8 * i) | INDIRECT;
        let push: Vec<u8> = [at(3), at(4), block.address()].iter().flat_map(|a| a.to_le_bytes()).collect();
        let key = PipelineKey { kernel: device.caps().fitting(copy_kernel(unit)?), spec: Vec::new() };
        let groups = most.div_ceil(COPY_BYTES_PER_GROUP).max(1);
        let max = device.caps().max_groups[0] as usize;
        let y = groups.div_ceil(max);
        let commands = recorder.record(|r| {
            r.kernels_to_kernels();
            r.dispatch(&key, &push, [groups.div_ceil(y) as u32, y as u32, 1])
        })?;
        Ok(Self { block, commands })
    }

    pub fn set(&mut self, from: (u64, usize), to: (u64, usize), bytes: usize) {
        let words = [from.1 as u64, to.1 as u64, bytes as u64, from.0, to.0];
        if let Some(mapped) = self.block.mapped_mut() {
            mapped[..40].copy_from_slice(bytemuck::cast_slice(&words));
        }
    }
}
