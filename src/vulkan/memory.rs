//! Device memory: buffers with addresses, suballocated by gpu-allocator.

use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme};

use super::device::Device;
use super::failed;
use crate::{Result, ensure, error};

const COHERENT: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::HOST_COHERENT;

/// Who reads and writes a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// The device alone.
    Device,
    /// The host writes, the device reads.
    Upload,
    /// The device writes, the host reads.
    Download,
}

/// A VkBuffer with memory of its own or part of a larger block.
pub struct VulkanBuffer {
    pub(super) raw: vk::Buffer,
    pub(super) device: Arc<Device>,
    allocation: Option<Allocation>,
    address: u64,
    bytes: usize,
}

impl VulkanBuffer {
    /// A buffer of at least one byte. `what` names it in errors.
    pub fn new(device: &Arc<Device>, what: &str, bytes: usize, kind: MemoryKind) -> Result<Self> {
        device.check()?;
        Self::check_size(device, what, bytes)?;
        let size = bytes.max(1).next_multiple_of(16) as u64;
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST
            | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage).sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device lives as long as the Arc.
        let raw = unsafe { device.raw().create_buffer(&info, None) }.map_err(|r| failed(what, r))?;
        let mut buffer = Self { raw, device: device.clone(), allocation: None, address: 0, bytes };
        // SAFETY: `raw` was just made by this device.
        let requirements = unsafe { device.raw().get_buffer_memory_requirements(raw) };
        let location = match kind {
            MemoryKind::Device => MemoryLocation::GpuOnly,
            MemoryKind::Upload => MemoryLocation::CpuToGpu,
            MemoryKind::Download => MemoryLocation::GpuToCpu,
        };
        let allocation = device.with_allocator(|allocator| {
            allocator.allocate(&AllocationCreateDesc {
                name: what,
                requirements,
                location,
                linear: true,
                allocation_scheme: AllocationScheme::GpuAllocatorManaged,
            })
        })?;
        let allocation = allocation.map_err(|e| error!(OutOfMemory, "{what} needs {size} bytes of device memory: {e}"))?;
        // The host reads and writes mapped memory without flushing it, so what was got matters, not what was asked for.
        let coherent = allocation.mapped_ptr().is_none() || allocation.memory_properties().contains(COHERENT);
        // SAFETY: the memory of an allocation lives as long as it does.
        let (memory, offset) = (unsafe { allocation.memory() }, allocation.offset());
        buffer.allocation = Some(allocation);
        ensure!(coherent, Internal, "{what}: the device gave memory that is not coherent with the host");
        // SAFETY: the memory fits the buffer's requirements and is bound once.
        unsafe { device.raw().bind_buffer_memory(raw, memory, offset) }.map_err(|r| failed(what, r))?;
        // SAFETY: the buffer has memory and the usage flag that an address needs.
        buffer.address = unsafe { device.raw().get_buffer_device_address(&vk::BufferDeviceAddressInfo::default().buffer(raw)) };
        device.count_allocation();
        Ok(buffer)
    }

    /// Refuses what no device memory of this device can hold.
    pub fn check_size(device: &Device, what: &str, bytes: usize) -> Result<()> {
        let most = device.physical().max_allocation;
        ensure!(bytes as u64 <= most, OutOfMemory, "{what} needs {bytes} bytes, the device allocates at most {most} at once");
        Ok(())
    }

    /// The device address of its first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The mapped bytes; none for device memory. They are coherent: what one side writes the other sees without a flush.
    pub fn mapped(&self) -> Option<&[u8]> {
        self.allocation.as_ref().and_then(Allocation::mapped_slice).map(|s| &s[..self.bytes])
    }

    pub fn mapped_mut(&mut self) -> Option<&mut [u8]> {
        let bytes = self.bytes;
        self.allocation.as_mut().and_then(Allocation::mapped_slice_mut).map(|s| &mut s[..bytes])
    }
}

impl Drop for VulkanBuffer {
    fn drop(&mut self) {
        // SAFETY: owners of the buffer wait for the work that uses it before they drop it.
        unsafe { self.device.raw().destroy_buffer(self.raw, None) };
        if let Some(allocation) = self.allocation.take() {
            let _ = self.device.with_allocator(|allocator| allocator.free(allocation));
        }
    }
}
