//! Tensors that live on a device longer than a run: KV caches, states, zero-copy inputs and outputs.

use std::sync::{Arc, RwLock};

use super::device::{Backend, Device};
use crate::tensor::{Tensor, TensorType};
use crate::vulkan::{Copy, MemoryKind, VulkanBuffer};
use crate::{Result, bail, ensure, error};

/// Bytes on a device.
pub(crate) enum Storage {
    Vulkan(VulkanBuffer),
    Host(RwLock<Tensor>),
}

impl Storage {
    pub fn new(device: &Device, what: &str, ty: &TensorType) -> Result<Self> {
        Ok(match &device.backend {
            Backend::Vulkan(v) => Storage::Vulkan(VulkanBuffer::new(&v.device, what, ty.bytes(), MemoryKind::Device)?),
            Backend::Cpu => Storage::Host(RwLock::new(Tensor::zeros(ty.clone()))),
        })
    }

    pub fn write(&self, device: &Device, offset: usize, bytes: &[u8]) -> Result<()> {
        match self {
            Storage::Vulkan(buffer) => device.vulkan()?.transfer.write(buffer, offset, bytes),
            Storage::Host(tensor) => {
                let mut tensor = tensor.write().map_err(|_| error!(Internal, "a write to this tensor failed before"))?;
                tensor.bytes_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    pub fn read(&self, device: &Device, offset: usize, bytes: &mut [u8]) -> Result<()> {
        match self {
            Storage::Vulkan(buffer) => device.vulkan()?.transfer.read(buffer, offset, bytes),
            Storage::Host(tensor) => {
                let tensor = tensor.read().map_err(|_| error!(Internal, "a write to this tensor failed before"))?;
                bytes.copy_from_slice(&tensor.bytes()[offset..offset + bytes.len()]);
                Ok(())
            }
        }
    }
}

/// A device-resident tensor. It starts as zeros. It can be bound to several executables at once.
pub struct Buffer {
    pub(crate) device: Arc<Device>,
    ty: TensorType,
    pub(crate) storage: Storage,
}

impl Buffer {
    pub fn new(device: &Arc<Device>, ty: TensorType) -> Result<Arc<Self>> {
        ensure!(!ty.element.is_block(), InvalidArgument, "a buffer cannot be of the packed type {}", ty.element);
        let storage = Storage::new(device, "a buffer", &ty)?;
        if let Storage::Vulkan(raw) = &storage {
            device.vulkan()?.transfer.clear(raw)?;
        }
        Ok(Arc::new(Self { device: device.clone(), ty, storage }))
    }

    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    fn check(&self, offset: usize, bytes: usize) -> Result<()> {
        let size = self.ty.bytes();
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= size);
        ensure!(fits, InvalidArgument, "{bytes} bytes at {offset} are outside a buffer of {} ({size} bytes)", self.ty);
        Ok(())
    }

    /// Writes part of the buffer. No run that uses it may be in flight.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        self.storage.write(&self.device, offset, bytes)
    }

    /// Reads part of the buffer.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        self.storage.read(&self.device, offset, bytes)
    }

    /// A new buffer with the same contents.
    pub fn duplicate(&self) -> Result<Arc<Self>> {
        let storage = Storage::new(&self.device, "a buffer", &self.ty)?;
        match (&self.storage, &storage) {
            (Storage::Vulkan(from), Storage::Vulkan(to)) => {
                let copy = Copy { from: 0, to: 0, bytes: from.bytes() };
                self.device.vulkan()?.transfer.copy(from, to, copy)?;
            }
            (Storage::Host(from), Storage::Host(to)) => {
                let from = from.read().map_err(|_| error!(Internal, "a write to this tensor failed before"))?;
                *to.write().map_err(|_| error!(Internal, "a new tensor is locked"))? = from.clone();
            }
            _ => bail!(Internal, "one device has two kinds of storage"),
        }
        Ok(Arc::new(Self { device: self.device.clone(), ty: self.ty.clone(), storage }))
    }
}
