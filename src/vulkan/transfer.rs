//! Moving bytes between the host and device memory outside of runs: weights, handles.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::device::Device;
use super::memory::{MemoryKind, VulkanBuffer};
use super::recorder::{Batches, Copy, Recorder, Timeline};
use crate::{Result, ensure, error};

/// Bytes of the staging buffer.
const STAGING: usize = 16 << 20;

/// Copies through one staging buffer, one caller at a time.
pub struct Transfer {
    inner: Mutex<Inner>,
}

struct Inner {
    timeline: Timeline,
    recorder: Recorder,
    batches: Batches,
    upload: VulkanBuffer,
    download: Option<VulkanBuffer>,
}

impl Transfer {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Ok(Self {
            inner: Mutex::new(Inner {
                timeline: Timeline::new(device)?,
                recorder: Recorder::new(device)?,
                batches: Batches::default(),
                upload: VulkanBuffer::new(device, "the upload staging buffer", STAGING, MemoryKind::Upload)?,
                download: None,
            }),
        })
    }

    /// Frees the staging memory of downloads until the next one needs it.
    pub fn trim(&self) -> Result<()> {
        self.locked(|inner| {
            inner.download = None;
            Ok(())
        })
    }

    fn locked<R>(&self, act: impl FnOnce(&mut Inner) -> Result<R>) -> Result<R> {
        act(&mut *self.inner.lock().map_err(|_| error!(Internal, "a transfer failed before"))?)
    }

    /// Writes `bytes` at `offset`, and returns when they are there.
    pub fn write(&self, to: &VulkanBuffer, offset: usize, bytes: &[u8]) -> Result<()> {
        ensure!(offset + bytes.len() <= to.bytes(), Internal, "a write of {} bytes at {offset} into {}", bytes.len(), to.bytes());
        self.locked(|inner| {
            for (i, chunk) in bytes.chunks(STAGING).enumerate() {
                inner.upload.mapped_mut().ok_or_else(|| error!(Internal, "staging memory is not mapped"))?[..chunk.len()]
                    .copy_from_slice(chunk);
                let copy = Copy { from: 0, to: offset + i * STAGING, bytes: chunk.len() };
                let commands = inner.recorder.record(|r| {
                    r.copy(&inner.upload, to, copy);
                    r.transfers_to_kernels();
                    Ok(())
                })?;
                inner.finish(commands)?;
            }
            Ok(())
        })
    }

    /// Reads bytes at `offset`.
    pub fn read(&self, from: &VulkanBuffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        ensure!(offset + bytes.len() <= from.bytes(), Internal, "a read of {} bytes at {offset} of {}", bytes.len(), from.bytes());
        self.locked(|inner| {
            if inner.download.is_none() {
                let device = inner.recorder.device().clone();
                inner.download = Some(VulkanBuffer::new(&device, "the download staging buffer", STAGING, MemoryKind::Download)?);
            }
            for (i, chunk) in bytes.chunks_mut(STAGING).enumerate() {
                let copy = Copy { from: offset + i * STAGING, to: 0, bytes: chunk.len() };
                let staging = inner.download.as_ref().ok_or_else(|| error!(Internal, "no staging memory"))?;
                let commands = inner.recorder.record(|r| {
                    r.kernels_to_transfers();
                    r.copy(from, staging, copy);
                    r.transfers_to_host();
                    Ok(())
                })?;
                inner.finish(commands)?;
                let staging = inner.download.as_ref().and_then(VulkanBuffer::mapped);
                chunk.copy_from_slice(&staging.ok_or_else(|| error!(Internal, "staging memory is not mapped"))?[..chunk.len()]);
            }
            Ok(())
        })
    }

    /// Fills a buffer with zeros.
    pub fn clear(&self, buffer: &VulkanBuffer) -> Result<()> {
        self.locked(|inner| {
            let commands = inner.recorder.record(|r| {
                r.clear(buffer);
                r.transfers_to_kernels();
                Ok(())
            })?;
            inner.finish(commands)
        })
    }

    /// Copies bytes on the device.
    pub fn copy(&self, from: &VulkanBuffer, to: &VulkanBuffer, copy: Copy) -> Result<()> {
        self.locked(|inner| {
            let commands = inner.recorder.record(|r| {
                r.kernels_to_transfers();
                r.copy(from, to, copy);
                r.transfers_to_kernels();
                Ok(())
            })?;
            inner.finish(commands)
        })
    }
}

impl Inner {
    fn finish(&mut self, commands: super::recorder::Commands) -> Result<()> {
        if let Err(error) = self.timeline.submit([&commands].into_iter(), &mut self.batches) {
            self.recorder.free(commands);
            return Err(error);
        }
        // What may still be in flight after an error goes with the pool.
        self.timeline.wait(Duration::MAX)?;
        self.recorder.free(commands);
        Ok(())
    }
}
