//! One VkDevice: queue, allocator, pipelines. Shared by any number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};

use super::bfloat16;
use super::caps::{Features, Masks, PhysicalDevice};
use super::failed;
use super::fault::{self, Faults};
use super::instance::{Instance, alone};
use super::pipeline::Pipelines;
use crate::kernels::Caps;
use crate::{Error, Result, Status, bail, error};

pub struct Device {
    raw: ash::Device,
    physical: PhysicalDevice,
    features: Features,
    caps: Caps,
    queue: Mutex<vk::Queue>,
    allocator: Mutex<Option<Allocator>>,
    pub(super) pipelines: Pipelines,
    lost: AtomicBool,
    /// Driver allocations so far, for the test that a steady run makes none.
    allocations: AtomicU64,
    _instance: Arc<Instance>,
}

impl Device {
    /// Opens a device. `hidden` features are treated as absent; `subgroup` is the size of subgroups, if not the driver's own; `faults` makes
    /// calls of it fail.
    pub fn open(
        instance: &Arc<Instance>,
        physical: PhysicalDevice,
        hidden: Masks,
        subgroup: Option<u32>,
        faults: Option<Arc<Faults>>,
    ) -> Result<Arc<Self>> {
        let (features, caps) = physical.caps(hidden, subgroup)?;
        if let Some(missing) = features.missing_essential() {
            bail!(Unsupported, "device \"{}\" lacks {missing}", physical.name);
        }
        let Some(family) = physical.queue_family else { bail!(Unsupported, "device \"{}\" has no compute queue", physical.name) };
        let _alone = alone();
        let raw = create(instance, &physical, &features, family)?;
        let raw = match faults {
            Some(faults) => fault::hooked(&raw, faults),
            None => raw,
        };
        // SAFETY: the device was made with one queue of this family.
        let queue = unsafe { raw.get_device_queue(family, 0) };
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: instance.raw.clone(),
            device: raw.clone(),
            physical_device: physical.handle,
            debug_settings: Default::default(),
            buffer_device_address: true,
            allocation_sizes: Default::default(),
        });
        let allocator = match allocator {
            Ok(allocator) => allocator,
            Err(e) => {
                fault::forget(raw.handle());
                // SAFETY: nothing was made of the device yet.
                unsafe { raw.destroy_device(None) };
                return Err(error!(Internal, "the memory allocator did not start: {e}"));
            }
        };
        let pipelines = Pipelines::new(features.full_subgroups, physical.required_subgroup(&caps));
        Ok(Arc::new(Self {
            raw,
            physical,
            features,
            caps,
            queue: Mutex::new(queue),
            allocator: Mutex::new(Some(allocator)),
            pipelines,
            lost: AtomicBool::new(false),
            allocations: AtomicU64::new(0),
            _instance: instance.clone(),
        }))
    }

    pub(super) fn raw(&self) -> &ash::Device {
        &self.raw
    }

    pub fn physical(&self) -> &PhysicalDevice {
        &self.physical
    }

    pub fn features(&self) -> &Features {
        &self.features
    }

    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    pub(super) fn queue_family(&self) -> u32 {
        self.physical.queue_family.unwrap_or(0)
    }

    pub fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }

    pub(super) fn count_allocation(&self) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }

    /// An error once the device was lost.
    pub fn check(&self) -> Result<()> {
        if self.lost.load(Ordering::Acquire) {
            bail!(DeviceLost, "device \"{}\" was lost", self.physical.name)
        }
        Ok(())
    }

    /// Remembers a loss.
    pub(super) fn noted(&self, error: Error) -> Error {
        if error.status == Status::DeviceLost {
            self.lost.store(true, Ordering::Release);
        }
        error
    }

    pub(super) fn with_allocator<R>(&self, act: impl FnOnce(&mut Allocator) -> R) -> Result<R> {
        let mut guard = self.allocator.lock().map_err(|_| error!(Internal, "the memory allocator failed before"))?;
        Ok(act(guard.as_mut().ok_or_else(|| error!(Internal, "the device is closing"))?))
    }

    /// Submits; the queue is locked for the call alone.
    pub(super) fn submit(&self, batches: &[vk::SubmitInfo]) -> Result<()> {
        self.check()?;
        let queue = self.queue.lock().map_err(|_| error!(Internal, "a submit failed before"))?;
        // SAFETY: the queue is locked; the command buffers are recorded and not in flight (their owners see to it).
        unsafe { self.raw.queue_submit(*queue, batches, vk::Fence::null()) }.map_err(|r| self.noted(failed("vkQueueSubmit", r)))
    }

    /// Bytes of device memory in use and reserved by Caldera.
    pub fn memory_in_use(&self) -> (u64, u64) {
        self.with_allocator(|a| {
            let report = a.generate_report();
            (report.total_allocated_bytes, report.total_capacity_bytes)
        })
        .unwrap_or((0, 0))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _alone = alone();
        // SAFETY: everything made of the device holds an Arc of it, so only what the device itself owns is left.
        unsafe {
            let _ = self.raw.device_wait_idle();
            self.pipelines.destroy(&self.raw);
            if let Ok(mut allocator) = self.allocator.lock() {
                allocator.take();
            }
            fault::forget(self.raw.handle());
            self.raw.destroy_device(None);
        }
    }
}

fn create(instance: &Instance, physical: &PhysicalDevice, f: &Features, family: u32) -> Result<ash::Device> {
    let flag = |b: bool| if b { vk::TRUE } else { vk::FALSE };
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
    let base = vk::PhysicalDeviceFeatures {
        shader_int64: flag(f.int64),
        shader_float64: flag(f.float64),
        shader_int16: flag(f.int16),
        ..Default::default()
    };
    let mut v11 = vk::PhysicalDeviceVulkan11Features { storage_buffer16_bit_access: flag(f.storage16), ..Default::default() };
    let mut v12 = vk::PhysicalDeviceVulkan12Features {
        shader_float16: flag(f.float16),
        shader_int8: flag(f.int8),
        storage_buffer8_bit_access: flag(f.storage8),
        buffer_device_address: vk::TRUE,
        timeline_semaphore: vk::TRUE,
        scalar_block_layout: vk::TRUE,
        vulkan_memory_model: flag(f.vulkan_memory_model),
        vulkan_memory_model_device_scope: flag(f.vulkan_memory_model),
        ..Default::default()
    };
    let mut coop = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default().cooperative_matrix(true);
    let mut dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default().shader_integer_dot_product(true);
    let mut size = vk::PhysicalDeviceSubgroupSizeControlFeatures::default()
        .subgroup_size_control(f.subgroup_size_control)
        .compute_full_subgroups(f.full_subgroups);
    let mut bf16 = bfloat16::Features::matrices();
    let wanted = |name: &std::ffi::CStr| match name {
        _ if name == ash::khr::cooperative_matrix::NAME => f.cooperative_matrix,
        _ if name == bfloat16::NAME => f.bfloat16,
        _ if name == ash::khr::shader_integer_dot_product::NAME && !f.integer_dot_product => false,
        _ => physical.api_version < vk::API_VERSION_1_3,
    };
    let extensions: Vec<_> = physical.extensions.iter().filter(|name| wanted(name)).map(|name| name.as_ptr()).collect();
    let mut info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .enabled_features(&base)
        .push_next(&mut v11)
        .push_next(&mut v12);
    if f.cooperative_matrix {
        info = info.push_next(&mut coop);
    }
    if f.bfloat16 {
        info = info.push_next(&mut bf16);
    }
    if f.integer_dot_product {
        info = info.push_next(&mut dot);
    }
    if f.subgroup_size_control || f.full_subgroups {
        info = info.push_next(&mut size);
    }
    // SAFETY: the features and extensions are among those that the device reported.
    unsafe { instance.raw.create_device(physical.handle, &info, None) }.map_err(|r| failed("vkCreateDevice", r))
}
