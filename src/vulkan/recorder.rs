//! Command buffers and the timeline they are submitted on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use super::device::Device;
use super::failed;
use super::memory::VulkanBuffer;
use super::pipeline::PipelineKey;
use crate::Result;

/// A command pool of one owner.
pub struct Recorder {
    device: Arc<Device>,
    pool: vk::CommandPool,
}

/// A recorded command buffer; it may be submitted any number of times, one after the other.
pub struct Commands {
    raw: vk::CommandBuffer,
    /// The next command buffer goes into another batch of the submit, so that a driver may take a breath between them.
    breaks: bool,
}

/// A copy within or between buffers.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub from: usize,
    pub to: usize,
    pub bytes: usize,
}

impl Recorder {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(device.queue_family())
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: the device lives as long as the Arc.
        let pool = unsafe { device.raw().create_command_pool(&info, None) }.map_err(|r| failed("a command pool", r))?;
        Ok(Self { device: device.clone(), pool })
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Records what `fill` says.
    pub fn record(&self, fill: impl FnOnce(&Recording) -> Result<()>) -> Result<Commands> {
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: the pool is of this device and used by its owner alone.
        let raw = unsafe { self.device.raw().allocate_command_buffers(&info) }.map_err(|r| failed("a command buffer", r))?[0];
        let commands = Commands { raw, breaks: false };
        match self.fill(&commands, fill) {
            Ok(()) => Ok(commands),
            Err(error) => {
                self.free(commands);
                Err(error)
            }
        }
    }

    /// As `record`, for one part of work that is too long for one batch.
    pub fn record_part(&self, fill: impl FnOnce(&Recording) -> Result<()>) -> Result<Commands> {
        Ok(Commands { breaks: true, ..self.record(fill)? })
    }

    /// Gives back a command buffer that is not in flight.
    pub fn free(&self, commands: Commands) {
        // SAFETY: it was allocated from this pool; the caller has waited for it.
        unsafe { self.device.raw().free_command_buffers(self.pool, &[commands.raw]) };
    }

    fn fill(&self, commands: &Commands, fill: impl FnOnce(&Recording) -> Result<()>) -> Result<()> {
        let device = self.device.raw();
        // SAFETY: the buffer was allocated from this pool and is not in flight.
        unsafe { device.begin_command_buffer(commands.raw, &vk::CommandBufferBeginInfo::default()) }
            .map_err(|r| failed("recording", r))?;
        fill(&Recording { device: &self.device, raw: commands.raw, layout: self.device.pipeline_layout()? })?;
        // SAFETY: as above, recording was begun.
        unsafe { device.end_command_buffer(commands.raw) }.map_err(|r| failed("recording", r))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // SAFETY: the owner waits for its work before it drops the recorder.
        unsafe { self.device.raw().destroy_command_pool(self.pool, None) };
    }
}

/// A command buffer being recorded.
pub struct Recording<'a> {
    device: &'a Device,
    raw: vk::CommandBuffer,
    layout: vk::PipelineLayout,
}

impl Recording<'_> {
    pub fn dispatch(&self, key: &PipelineKey, push: &[u8], groups: [u32; 3]) -> Result<()> {
        let pipeline = self.device.pipeline(key)?;
        let device = self.device.raw();
        // SAFETY: pipeline and layout are of this device; `push` is within the layout's range; the plan keeps groups within limits.
        unsafe {
            device.cmd_bind_pipeline(self.raw, vk::PipelineBindPoint::COMPUTE, pipeline);
            device.cmd_push_constants(self.raw, self.layout, vk::ShaderStageFlags::COMPUTE, 0, push);
            device.cmd_dispatch(self.raw, groups[0], groups[1], groups[2]);
        }
        Ok(())
    }

    fn barrier(&self, from: vk::PipelineStageFlags, wrote: vk::AccessFlags, to: vk::PipelineStageFlags, reads: vk::AccessFlags) {
        let barriers = [vk::MemoryBarrier::default().src_access_mask(wrote).dst_access_mask(reads)];
        // SAFETY: a global memory barrier names no object.
        unsafe { self.device.raw().cmd_pipeline_barrier(self.raw, from, to, vk::DependencyFlags::empty(), &barriers, &[], &[]) };
    }

    /// Kernels after it see what kernels before it wrote, and do not overwrite what those read.
    pub fn kernels_to_kernels(&self) {
        use vk::{AccessFlags as A, PipelineStageFlags as S};
        self.barrier(S::COMPUTE_SHADER, A::SHADER_WRITE, S::COMPUTE_SHADER, A::SHADER_READ | A::SHADER_WRITE);
    }

    pub fn transfers_to_kernels(&self) {
        use vk::{AccessFlags as A, PipelineStageFlags as S};
        self.barrier(S::TRANSFER, A::TRANSFER_WRITE, S::COMPUTE_SHADER, A::SHADER_READ | A::SHADER_WRITE);
    }

    pub fn kernels_to_transfers(&self) {
        use vk::{AccessFlags as A, PipelineStageFlags as S};
        self.barrier(S::COMPUTE_SHADER, A::SHADER_WRITE, S::TRANSFER, A::TRANSFER_READ | A::TRANSFER_WRITE);
    }

    pub fn transfers_to_host(&self) {
        use vk::{AccessFlags as A, PipelineStageFlags as S};
        self.barrier(S::TRANSFER, A::TRANSFER_WRITE, S::HOST, A::HOST_READ);
    }

    pub fn kernels_to_host(&self) {
        use vk::{AccessFlags as A, PipelineStageFlags as S};
        self.barrier(S::COMPUTE_SHADER, A::SHADER_WRITE, S::HOST, A::HOST_READ);
    }

    pub fn transfers_to_transfers(&self) {
        use vk::{AccessFlags as A, PipelineStageFlags as S};
        self.barrier(S::TRANSFER, A::TRANSFER_WRITE, S::TRANSFER, A::TRANSFER_READ | A::TRANSFER_WRITE);
    }

    pub fn copy(&self, from: &VulkanBuffer, to: &VulkanBuffer, copy: Copy) {
        if copy.bytes == 0 {
            return;
        }
        let region = vk::BufferCopy { src_offset: copy.from as u64, dst_offset: copy.to as u64, size: copy.bytes as u64 };
        // SAFETY: both buffers are of this device; callers keep the ranges within them.
        unsafe { self.device.raw().cmd_copy_buffer(self.raw, from.raw, to.raw, &[region]) };
    }

    /// Fills a buffer with zeros.
    pub fn clear(&self, buffer: &VulkanBuffer) {
        // SAFETY: the buffer is of this device; its size is a multiple of 4.
        unsafe { self.device.raw().cmd_fill_buffer(self.raw, buffer.raw, 0, vk::WHOLE_SIZE, 0) };
    }

    pub fn reset_timestamps(&self, timestamps: &Timestamps) {
        // SAFETY: the pool is of this device.
        unsafe { self.device.raw().cmd_reset_query_pool(self.raw, timestamps.pool, 0, timestamps.count) };
    }

    /// Writes timestamp `index` once all before it is done.
    pub fn timestamp(&self, timestamps: &Timestamps, index: u32) {
        let stage = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
        // SAFETY: the pool is of this device and holds `index`.
        unsafe { self.device.raw().cmd_write_timestamp(self.raw, stage, timestamps.pool, index) };
    }
}

/// GPU timestamps.
pub struct Timestamps {
    device: Arc<Device>,
    pool: vk::QueryPool,
    count: u32,
}

impl Timestamps {
    pub fn new(device: &Arc<Device>, count: u32) -> Result<Self> {
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(count);
        // SAFETY: the device lives as long as the Arc.
        let pool = unsafe { device.raw().create_query_pool(&info, None) }.map_err(|r| failed("a timestamp pool", r))?;
        Ok(Self { device: device.clone(), pool, count })
    }

    /// The timestamps in nanoseconds, once the work is done.
    pub fn read(&self) -> Result<Vec<f64>> {
        let mut ticks = vec![0u64; self.count as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the pool is of this device, the work that writes it has been submitted.
        unsafe { self.device.raw().get_query_pool_results(self.pool, 0, &mut ticks, flags) }
            .map_err(|r| self.device.noted(failed("timestamps", r)))?;
        let period = f64::from(self.device.physical().timestamp_period);
        Ok(ticks.into_iter().map(|t| t as f64 * period).collect())
    }
}

impl Drop for Timestamps {
    fn drop(&mut self) {
        // SAFETY: the owner waits for its work before it drops the pool.
        unsafe { self.device.raw().destroy_query_pool(self.pool, None) };
    }
}

/// The batches of a submit, reused so that a steady run allocates nothing.
#[derive(Default)]
pub struct Batches {
    raw: Vec<vk::CommandBuffer>,
    /// Where each batch but the last ends.
    breaks: Vec<usize>,
    infos: Vec<vk::SubmitInfo<'static>>,
}

// SAFETY: the pointers in `infos` are set and used within one `Timeline::submit`, where the whole is borrowed.
unsafe impl Send for Batches {}
// SAFETY: as above.
unsafe impl Sync for Batches {}

impl Batches {
    fn fill<'a>(&mut self, commands: impl Iterator<Item = &'a Commands>) {
        self.raw.clear();
        self.breaks.clear();
        self.infos.clear();
        for c in commands {
            self.raw.push(c.raw);
            if c.breaks {
                self.breaks.push(self.raw.len());
            }
        }
        let mut start = 0;
        for &end in self.breaks.iter().chain([&self.raw.len()]) {
            let part = &self.raw[start..end];
            let (command_buffer_count, p_command_buffers) = (part.len() as u32, part.as_ptr());
            self.infos.push(vk::SubmitInfo { command_buffer_count, p_command_buffers, ..Default::default() });
            start = end;
        }
    }
}

/// A timeline semaphore: every submit raises it by one.
pub struct Timeline {
    device: Arc<Device>,
    semaphore: vk::Semaphore,
    submitted: u64,
}

/// A wait looks at the counter for this long before it blocks: waking a blocked thread costs more than a short run takes.
const SPIN: Duration = Duration::from_micros(200);

impl Timeline {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device lives as long as the Arc.
        let semaphore = unsafe { device.raw().create_semaphore(&info, None) }.map_err(|r| failed("a semaphore", r))?;
        Ok(Self { device: device.clone(), semaphore, submitted: 0 })
    }

    /// Submits command buffers in order, in one submit.
    pub fn submit<'a>(&mut self, commands: impl Iterator<Item = &'a Commands>, scratch: &mut Batches) -> Result<()> {
        scratch.fill(commands);
        let values = [self.submitted + 1];
        let semaphores = [self.semaphore];
        let timeline = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
        if let Some(last) = scratch.infos.last_mut() {
            last.p_next = (&raw const timeline).cast();
            last.signal_semaphore_count = 1;
            last.p_signal_semaphores = semaphores.as_ptr();
        }
        self.device.submit(&scratch.infos)?;
        self.submitted += 1;
        Ok(())
    }

    /// True once all that was submitted is done.
    pub fn is_done(&self) -> Result<bool> {
        self.device.check()?;
        // SAFETY: the semaphore is of this device.
        let value = unsafe { self.device.raw().get_semaphore_counter_value(self.semaphore) };
        Ok(value.map_err(|r| self.device.noted(failed("a semaphore's value", r)))? >= self.submitted)
    }

    /// Waits for all that was submitted. False if the time ran out.
    pub fn wait(&self, timeout: Duration) -> Result<bool> {
        let start = Instant::now();
        loop {
            if self.is_done()? {
                return Ok(true);
            }
            let gone = start.elapsed();
            if gone >= timeout {
                return Ok(false);
            }
            if gone < SPIN && !self.device.caps().software {
                std::hint::spin_loop();
                continue;
            }
            let (semaphores, values) = ([self.semaphore], [self.submitted]);
            let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
            let left = u64::try_from((timeout - gone).as_nanos()).unwrap_or(u64::MAX);
            // SAFETY: the semaphore is of this device.
            match unsafe { self.device.raw().wait_semaphores(&info, left) } {
                Ok(()) => return Ok(true),
                Err(vk::Result::TIMEOUT) => return Ok(false),
                Err(r) => return Err(self.device.noted(failed("waiting for the device", r))),
            }
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // The work must be over before its semaphore, or anything it uses, goes away. An error here means the device is lost.
        let _ = self.wait(Duration::MAX);
        // SAFETY: nothing waits for or signals it any more.
        unsafe { self.device.raw().destroy_semaphore(self.semaphore, None) };
    }
}
