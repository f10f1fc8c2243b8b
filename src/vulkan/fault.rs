//! Faults of a driver, made on purpose for tests: calls of a device that fail when they are counted down. They stand in the device's table of
//! functions, so that everything above them, gpu-allocator too, meets them as it would a driver's own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use ash::vk;
use ash::vk::Handle as _;

use crate::{Result, bail};

/// Which call of each kind fails. Counted from the opening of the device.
#[derive(Debug, Default)]
pub struct Faults {
    /// vkQueueSubmit: the device is lost then.
    pub submit: Countdown,
    /// vkWaitSemaphores and vkGetSemaphoreCounterValue: the device is lost then.
    pub wait: Countdown,
    /// vkAllocateMemory: out of device memory.
    pub allocate: Countdown,
    /// Every other call that makes an object: out of host memory.
    pub create: Countdown,
}

/// Fails the n-th call from now on, and with `every` all after it too. 0: none.
#[derive(Debug, Default)]
pub struct Countdown {
    left: AtomicU64,
    every: AtomicBool,
    failed: AtomicBool,
}

impl Countdown {
    pub fn set(&self, nth: u64, every: bool) {
        self.every.store(every, Ordering::SeqCst);
        self.failed.store(false, Ordering::SeqCst);
        self.left.store(nth, Ordering::SeqCst);
    }

    /// True if a call has failed since `set`.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    /// Counts a call; true if it must fail.
    fn hit(&self) -> bool {
        let every = self.every.load(Ordering::SeqCst);
        let count = |left| match left {
            0 => None,
            1 if every => Some(1),
            n => Some(n - 1),
        };
        let now = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count) == Ok(1);
        if now {
            self.failed.store(true, Ordering::SeqCst);
        }
        now
    }
}

impl Faults {
    /// CALDERA_FAULT: "submit=3", "allocate=1,create=7"; with a + at the end all calls from there on.
    pub fn from_text(text: &str) -> Result<Self> {
        let faults = Self::default();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let (kind, number) = part.split_once('=').unwrap_or((part, ""));
            let every = number.ends_with('+');
            let Ok(nth) = number.trim_end_matches('+').parse() else {
                bail!(InvalidArgument, "CALDERA_FAULT: \"{part}\" is not KIND=NUMBER");
            };
            let countdown = match kind {
                "submit" => &faults.submit,
                "wait" => &faults.wait,
                "allocate" => &faults.allocate,
                "create" => &faults.create,
                _ => bail!(InvalidArgument, "CALDERA_FAULT: there is no \"{kind}\"; there are submit, wait, allocate, create"),
            };
            countdown.set(nth, every);
        }
        Ok(faults)
    }
}

/// The true functions of a device with faults.
struct Hook {
    device: u64,
    queue: AtomicU64,
    faults: Arc<Faults>,
    lost: AtomicBool,
    v1_0: ash::DeviceFnV1_0,
    v1_2: ash::DeviceFnV1_2,
}

static HOOKS: RwLock<Vec<Arc<Hook>>> = RwLock::new(Vec::new());

fn find(is: impl Fn(&Hook) -> bool) -> Option<Arc<Hook>> {
    HOOKS.read().ok()?.iter().find(|h| is(h)).cloned()
}

fn of_device(device: vk::Device) -> Option<Arc<Hook>> {
    find(|h| h.device == device.as_raw())
}

/// The device with functions that fail as `faults` says. `forget` ends it.
pub fn hooked(device: &ash::Device, faults: Arc<Faults>) -> ash::Device {
    let (mut v1_0, mut v1_2) = (device.fp_v1_0().clone(), device.fp_v1_2().clone());
    let hook = Hook {
        device: device.handle().as_raw(),
        queue: AtomicU64::new(0),
        faults,
        lost: AtomicBool::new(false),
        v1_0: v1_0.clone(),
        v1_2: v1_2.clone(),
    };
    if let Ok(mut hooks) = HOOKS.write() {
        hooks.push(Arc::new(hook));
    }
    v1_0.queue_submit = queue_submit;
    v1_0.get_device_queue = get_device_queue;
    v1_2.wait_semaphores = wait_semaphores;
    v1_2.get_semaphore_counter_value = get_semaphore_counter_value;
    v1_0.allocate_memory = allocate_memory;
    v1_0.create_compute_pipelines = create_compute_pipelines;
    replace_creators(&mut v1_0);
    ash::Device::from_parts_1_3(device.handle(), v1_0, device.fp_v1_1().clone(), v1_2, device.fp_v1_3().clone())
}

/// The device is about to be destroyed.
pub fn forget(device: vk::Device) {
    if let Ok(mut hooks) = HOOKS.write() {
        hooks.retain(|h| h.device != device.as_raw());
    }
}

impl Hook {
    /// True once the device is lost, or if this call loses it.
    fn loses(&self, countdown: &Countdown) -> bool {
        if self.lost.load(Ordering::SeqCst) {
            return true;
        }
        let now = countdown.hit();
        if now {
            // What runs must not outlive what it uses: a driver that lost its device stopped it.
            // SAFETY: the queue is of this device. Nobody submits meanwhile who would not be told of the loss.
            let _ = unsafe { (self.v1_0.queue_wait_idle)(vk::Queue::from_raw(self.queue.load(Ordering::SeqCst))) };
            self.lost.store(true, Ordering::SeqCst);
        }
        now
    }
}

unsafe extern "system" fn get_device_queue(device: vk::Device, family: u32, index: u32, out: *mut vk::Queue) {
    let Some(hook) = of_device(device) else { return };
    // SAFETY: the caller's arguments go to the driver unchanged.
    unsafe {
        (hook.v1_0.get_device_queue)(device, family, index, out);
        hook.queue.store((*out).as_raw(), Ordering::SeqCst);
    }
}

unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let Some(hook) = find(|h| h.queue.load(Ordering::SeqCst) == queue.as_raw()) else { return vk::Result::ERROR_UNKNOWN };
    if hook.loses(&hook.faults.submit) {
        return vk::Result::ERROR_DEVICE_LOST;
    }
    // SAFETY: the caller's arguments go to the driver unchanged.
    unsafe { (hook.v1_0.queue_submit)(queue, count, infos, fence) }
}

unsafe extern "system" fn wait_semaphores(device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64) -> vk::Result {
    let Some(hook) = of_device(device) else { return vk::Result::ERROR_UNKNOWN };
    if hook.loses(&hook.faults.wait) {
        return vk::Result::ERROR_DEVICE_LOST;
    }
    // SAFETY: as above.
    unsafe { (hook.v1_2.wait_semaphores)(device, info, timeout) }
}

unsafe extern "system" fn get_semaphore_counter_value(device: vk::Device, semaphore: vk::Semaphore, out: *mut u64) -> vk::Result {
    let Some(hook) = of_device(device) else { return vk::Result::ERROR_UNKNOWN };
    if hook.loses(&hook.faults.wait) {
        return vk::Result::ERROR_DEVICE_LOST;
    }
    // SAFETY: as above.
    unsafe { (hook.v1_2.get_semaphore_counter_value)(device, semaphore, out) }
}

unsafe extern "system" fn allocate_memory(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::DeviceMemory,
) -> vk::Result {
    let Some(hook) = of_device(device) else { return vk::Result::ERROR_UNKNOWN };
    if hook.faults.allocate.hit() {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    // SAFETY: as above.
    unsafe { (hook.v1_0.allocate_memory)(device, info, callbacks, out) }
}

unsafe extern "system" fn create_compute_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Pipeline,
) -> vk::Result {
    let Some(hook) = of_device(device) else { return vk::Result::ERROR_UNKNOWN };
    if hook.faults.create.hit() {
        for i in 0..count as usize {
            // SAFETY: `out` holds `count` handles.
            unsafe { out.add(i).write(vk::Pipeline::null()) };
        }
        return vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    }
    // SAFETY: as above.
    unsafe { (hook.v1_0.create_compute_pipelines)(device, cache, count, infos, callbacks, out) }
}

/// Functions that make one object and may run out of memory.
macro_rules! creators {
    ($($name:ident($info:ty, $out:ty)),* $(,)?) => {
        $(unsafe extern "system" fn $name(
            device: vk::Device,
            info: *const $info,
            callbacks: *const vk::AllocationCallbacks<'_>,
            out: *mut $out,
        ) -> vk::Result {
            let Some(hook) = of_device(device) else { return vk::Result::ERROR_UNKNOWN };
            if hook.faults.create.hit() {
                return vk::Result::ERROR_OUT_OF_HOST_MEMORY;
            }
            // SAFETY: the caller's arguments go to the driver unchanged.
            unsafe { (hook.v1_0.$name)(device, info, callbacks, out) }
        })*

        fn replace_creators(table: &mut ash::DeviceFnV1_0) {
            $(table.$name = $name;)*
            table.allocate_command_buffers = allocate_command_buffers;
            table.bind_buffer_memory = bind_buffer_memory;
        }
    };
}

creators!(
    create_buffer(vk::BufferCreateInfo<'_>, vk::Buffer),
    create_command_pool(vk::CommandPoolCreateInfo<'_>, vk::CommandPool),
    create_semaphore(vk::SemaphoreCreateInfo<'_>, vk::Semaphore),
    create_query_pool(vk::QueryPoolCreateInfo<'_>, vk::QueryPool),
    create_shader_module(vk::ShaderModuleCreateInfo<'_>, vk::ShaderModule),
    create_pipeline_layout(vk::PipelineLayoutCreateInfo<'_>, vk::PipelineLayout),
    create_pipeline_cache(vk::PipelineCacheCreateInfo<'_>, vk::PipelineCache),
);

unsafe extern "system" fn allocate_command_buffers(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    out: *mut vk::CommandBuffer,
) -> vk::Result {
    let Some(hook) = of_device(device) else { return vk::Result::ERROR_UNKNOWN };
    if hook.faults.create.hit() {
        return vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    }
    // SAFETY: as above.
    unsafe { (hook.v1_0.allocate_command_buffers)(device, info, out) }
}

unsafe extern "system" fn bind_buffer_memory(
    device: vk::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    offset: vk::DeviceSize,
) -> vk::Result {
    let Some(hook) = of_device(device) else { return vk::Result::ERROR_UNKNOWN };
    if hook.faults.create.hit() {
        return vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    }
    // SAFETY: as above.
    unsafe { (hook.v1_0.bind_buffer_memory)(device, buffer, memory, offset) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_fails_or_all_from_there() {
        let faults = Faults::from_text("submit=2,allocate=2+").expect("right");
        assert_eq!([(); 4].map(|()| faults.submit.hit()), [false, true, false, false]);
        assert_eq!([(); 4].map(|()| faults.allocate.hit()), [false, true, true, true]);
        assert!(faults.submit.has_failed() && faults.allocate.has_failed() && !faults.create.hit() && !faults.create.has_failed());
        faults.allocate.set(0, false);
        assert!(!faults.allocate.hit() && !faults.allocate.has_failed());
        for wrong in ["submit", "submit=", "submit=x", "nothing=1", "submit=-1"] {
            assert!(Faults::from_text(wrong).is_err(), "{wrong}");
        }
    }
}
