//! What a physical device is and can do, and what of it is turned on: plain data.

use ash::vk;

use super::bfloat16;
use crate::kernels::{Caps, CoopShape};
use crate::{Result, bail};

/// How a device is attached. The order is that of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    Discrete,
    Integrated,
    Virtual,
    Other,
    /// A driver that computes on the CPU.
    Software,
}

/// Features that kernels may need; each is asked for where the driver has it and no mask hides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    pub int64: bool,
    pub float64: bool,
    pub int16: bool,
    pub float16: bool,
    pub int8: bool,
    pub storage16: bool,
    pub storage8: bool,
    pub buffer_device_address: bool,
    pub timeline_semaphore: bool,
    pub scalar_block_layout: bool,
    pub vulkan_memory_model: bool,
    pub integer_dot_product: bool,
    pub subgroup_arithmetic: bool,
    pub subgroup_shuffle: bool,
    pub subgroup_vote_ballot: bool,
    pub subgroup_size_control: bool,
    pub full_subgroups: bool,
    pub float_controls: bool,
    pub cooperative_matrix: bool,
    /// bf16 as a type of shaders, and in cooperative matrices.
    pub bfloat16: bool,
}

/// Features to hide, so that the paths of lesser devices can be tested.
pub type Masks = Features;

/// The features that can be hidden, by name.
type Flag = fn(&mut Features) -> &mut bool;
const MASKS: [(&str, Flag); 13] = [
    ("int64", |f| &mut f.int64),
    ("float64", |f| &mut f.float64),
    ("int16", |f| &mut f.int16),
    ("float16", |f| &mut f.float16),
    ("int8", |f| &mut f.int8),
    ("storage16", |f| &mut f.storage16),
    ("storage8", |f| &mut f.storage8),
    ("integer_dot_product", |f| &mut f.integer_dot_product),
    ("subgroup_arithmetic", |f| &mut f.subgroup_arithmetic),
    ("subgroup_shuffle", |f| &mut f.subgroup_shuffle),
    ("subgroup_vote_ballot", |f| &mut f.subgroup_vote_ballot),
    ("cooperative_matrix", |f| &mut f.cooperative_matrix),
    ("bfloat16", |f| &mut f.bfloat16),
];

impl Features {
    /// Features by name, separated by commas: "storage16,subgroup_arithmetic".
    pub fn from_text(text: &str) -> Result<Masks> {
        let mut masks = Masks::default();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let Some((_, flag)) = MASKS.iter().find(|row| row.0 == name) else {
                let names: Vec<&str> = MASKS.iter().map(|row| row.0).collect();
                bail!(InvalidArgument, "there is no feature \"{name}\" to hide; there are {}", names.join(", "));
            };
            *flag(&mut masks) = true;
        }
        Ok(masks)
    }

    /// Those that either names.
    pub fn with(mut self, mut more: Masks) -> Masks {
        for (_, flag) in MASKS {
            *flag(&mut self) |= *flag(&mut more);
        }
        self
    }

    /// Those of `self` that `hidden` does not name.
    pub fn without(mut self, mut hidden: Masks) -> Self {
        for (_, flag) in MASKS {
            *flag(&mut self) &= !*flag(&mut hidden);
        }
        self.bfloat16 &= !hidden.cooperative_matrix;
        self
    }

    /// What Caldera cannot run without, if it is missing.
    pub fn missing_essential(&self) -> Option<&'static str> {
        [
            (self.buffer_device_address, "bufferDeviceAddress"),
            (self.timeline_semaphore, "timelineSemaphore"),
            (self.scalar_block_layout, "scalarBlockLayout"),
        ]
        .into_iter()
        .find(|f| !f.0)
        .map(|f| f.1)
    }

    /// SPIR-V capabilities that these features allow.
    fn capabilities(&self) -> Vec<u32> {
        let subgroup = [(self.subgroup_arithmetic, 63), (self.subgroup_shuffle, 65), (self.subgroup_shuffle, 66)];
        let rows = [
            (true, 61),
            (self.subgroup_vote_ballot, 62),
            (self.subgroup_vote_ballot, 64),
            (self.float16, 9),
            (self.float64, 10),
            (self.int64, 11),
            (self.int16, 22),
            (self.int8, 39),
            (self.storage16, 4433),
            (self.storage8, 4448),
            (self.vulkan_memory_model, 5345),
            (self.buffer_device_address, 5347),
            (self.integer_dot_product, 6016),
            (self.integer_dot_product, 6017),
            (self.integer_dot_product, 6018),
            (self.integer_dot_product, 6019),
            (self.cooperative_matrix, 6022),
            (self.bfloat16, 5116),
            (self.bfloat16, 5118),
            (self.float_controls, 4466),
        ];
        rows.into_iter().chain(subgroup).filter(|r| r.0).map(|r| r.1).collect()
    }
}

/// One physical device.
#[derive(Clone, Debug)]
pub struct PhysicalDevice {
    pub(super) handle: vk::PhysicalDevice,
    pub name: String,
    pub kind: DeviceKind,
    pub uuid: [u8; 16],
    pub driver: String,
    vendor: u32,
    device: u32,
    cache_uuid: [u8; 16],
    pub api_version: u32,
    /// Bytes of the largest device-local heap.
    pub memory: u64,
    /// Largest single allocation in bytes.
    pub max_allocation: u64,
    /// Nanoseconds a timestamp tick; 0 if there are no timestamps.
    pub timestamp_period: f32,
    pub max_push_constants: u32,
    pub(super) queue_family: Option<u32>,
    pub features: Features,
    limits: Caps,
    /// Smallest and largest subgroup that a pipeline can be asked for; none where it cannot.
    subgroups: Option<[u32; 2]>,
    pub(super) extensions: Vec<&'static std::ffi::CStr>,
}

impl PhysicalDevice {
    /// What kernels see of the device with some features hidden, and subgroups of another size than the driver's own.
    pub fn caps(&self, hidden: Masks, subgroup: Option<u32>) -> Result<(Features, Caps)> {
        let features = self.features.without(hidden);
        let mut caps = self.limits.clone();
        if let Some(size) = subgroup.filter(|&size| size != caps.subgroup_size) {
            match self.subgroups {
                Some([least, most]) if size.is_power_of_two() && (least..=most).contains(&size) => caps.subgroup_size = size,
                Some([least, most]) => {
                    bail!(Unsupported, "device \"{}\" has no subgroups of {size}, only of {least} to {most}", self.name)
                }
                None => bail!(
                    Unsupported,
                    "device \"{}\" cannot be asked for subgroups of {size}: it has {}",
                    self.name,
                    caps.subgroup_size
                ),
            }
        }
        caps.capabilities = features.capabilities();
        if !features.cooperative_matrix {
            caps.coop.clear();
        }
        Ok((features, caps))
    }

    /// The size of subgroups to ask for, where it is not the driver's own.
    pub(super) fn required_subgroup(&self, caps: &Caps) -> Option<u32> {
        (caps.subgroup_size != self.limits.subgroup_size).then_some(caps.subgroup_size)
    }

    /// True if this pipeline cache was saved by this very device and driver (header of VkPipelineCacheHeaderVersionOne).
    pub fn owns_cache(&self, blob: &[u8]) -> bool {
        let word = |at: usize| blob.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        blob.len() > 32
            && word(4) == Some(1)
            && word(8) == Some(self.vendor)
            && word(12) == Some(self.device)
            && blob[16..32] == self.cache_uuid
    }

    pub(super) fn query(entry: &ash::Entry, instance: &ash::Instance, handle: vk::PhysicalDevice) -> Self {
        let extensions = device_extensions(instance, handle);
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut id = vk::PhysicalDeviceIDProperties::default();
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut maintenance = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut controls = vk::PhysicalDeviceFloatControlsProperties::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut driver)
            .push_next(&mut id)
            .push_next(&mut subgroup)
            .push_next(&mut maintenance)
            .push_next(&mut controls)
            .push_next(&mut sizes);
        // SAFETY: the handle is of this instance; the chain is made of structs of Vulkan 1.2, which `missing` versions ignore.
        unsafe { instance.get_physical_device_properties2(handle, &mut properties) };
        let base = properties.properties;
        let limits = base.limits;
        let features = query_features(instance, handle, base.api_version, &extensions, &subgroup, &controls);
        // SAFETY: the handle is of this instance.
        let memory = unsafe { instance.get_physical_device_memory_properties(handle) };
        let heaps = memory.memory_heaps_as_slice().iter().filter(|h| h.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
        // SAFETY: the handle is of this instance.
        let families = unsafe { instance.get_physical_device_queue_family_properties(handle) };
        let kind = match base.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => DeviceKind::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::Virtual,
            vk::PhysicalDeviceType::CPU => DeviceKind::Software,
            _ => DeviceKind::Other,
        };
        let text = |s: std::result::Result<&std::ffi::CStr, std::ffi::FromBytesUntilNulError>| {
            s.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let queue_family = pick_queue_family(&families);
        Self {
            handle,
            name: text(base.device_name_as_c_str()),
            kind,
            uuid: id.device_uuid,
            driver: format!("{} {}", text(driver.driver_name_as_c_str()), text(driver.driver_info_as_c_str())),
            vendor: base.vendor_id,
            device: base.device_id,
            cache_uuid: base.pipeline_cache_uuid,
            api_version: base.api_version,
            memory: heaps.map(|h| h.size).max().unwrap_or(0),
            max_allocation: maintenance.max_memory_allocation_size,
            timestamp_period: queue_family
                .filter(|&f| families[f as usize].timestamp_valid_bits > 0)
                .map_or(0.0, |_| limits.timestamp_period),
            max_push_constants: limits.max_push_constants_size,
            queue_family,
            features,
            subgroups: (features.subgroup_size_control
                && sizes.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE))
            .then_some([sizes.min_subgroup_size, sizes.max_subgroup_size]),
            limits: Caps {
                subgroup_size: subgroup.subgroup_size,
                max_groups: limits.max_compute_work_group_count,
                shared_bytes: limits.max_compute_shared_memory_size,
                max_invocations: limits.max_compute_work_group_invocations,
                capabilities: Vec::new(),
                coop: if features.cooperative_matrix { coop_shapes(entry, instance, handle) } else { Vec::new() },
                software: kind == DeviceKind::Software,
            },
            extensions,
        }
    }
}

/// A family that computes but does not draw is best: its work does not wait for a desktop's.
fn pick_queue_family(families: &[vk::QueueFamilyProperties]) -> Option<u32> {
    let computes =
        |f: &&(usize, &vk::QueueFamilyProperties)| f.1.queue_flags.contains(vk::QueueFlags::COMPUTE) && f.1.queue_count > 0;
    let all: Vec<_> = families.iter().enumerate().collect();
    let only = all.iter().filter(computes).find(|f| !f.1.queue_flags.contains(vk::QueueFlags::GRAPHICS));
    only.or_else(|| all.iter().find(computes)).map(|f| f.0 as u32)
}

/// The extensions Caldera uses that this device has.
fn device_extensions(instance: &ash::Instance, handle: vk::PhysicalDevice) -> Vec<&'static std::ffi::CStr> {
    // SAFETY: the handle is of this instance.
    let found = unsafe { instance.enumerate_device_extension_properties(handle) }.unwrap_or_default();
    let known = [
        ash::khr::cooperative_matrix::NAME,
        ash::khr::shader_integer_dot_product::NAME,
        ash::ext::subgroup_size_control::NAME,
        bfloat16::NAME,
    ];
    known.into_iter().filter(|name| found.iter().any(|e| e.extension_name_as_c_str() == Ok(name))).collect()
}

fn query_features(
    instance: &ash::Instance,
    handle: vk::PhysicalDevice,
    version: u32,
    extensions: &[&std::ffi::CStr],
    subgroup: &vk::PhysicalDeviceSubgroupProperties,
    controls: &vk::PhysicalDeviceFloatControlsProperties,
) -> Features {
    let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut coop = vk::PhysicalDeviceCooperativeMatrixFeaturesKHR::default();
    let mut dot = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default();
    let mut size = vk::PhysicalDeviceSubgroupSizeControlFeatures::default();
    let mut bf16 = bfloat16::Features::default();
    if version < vk::API_VERSION_1_2 {
        return Features::default();
    }
    let has = |name| extensions.contains(&name);
    let has_dot = version >= vk::API_VERSION_1_3 || has(ash::khr::shader_integer_dot_product::NAME);
    let has_size = version >= vk::API_VERSION_1_3 || has(ash::ext::subgroup_size_control::NAME);
    let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut v11).push_next(&mut v12);
    if has(ash::khr::cooperative_matrix::NAME) {
        all = all.push_next(&mut coop);
    }
    if has(bfloat16::NAME) {
        all = all.push_next(&mut bf16);
    }
    if has_dot {
        all = all.push_next(&mut dot);
    }
    if has_size {
        all = all.push_next(&mut size);
    }
    // SAFETY: the handle is of this instance; each struct in the chain belongs to a version or extension the device has.
    unsafe { instance.get_physical_device_features2(handle, &mut all) };
    let base = all.features;
    let ops = |f| subgroup.supported_operations.contains(f) && subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
    Features {
        int64: base.shader_int64 == 1,
        float64: base.shader_float64 == 1,
        int16: base.shader_int16 == 1,
        float16: v12.shader_float16 == 1,
        int8: v12.shader_int8 == 1,
        storage16: v11.storage_buffer16_bit_access == 1,
        storage8: v12.storage_buffer8_bit_access == 1,
        buffer_device_address: v12.buffer_device_address == 1,
        timeline_semaphore: v12.timeline_semaphore == 1,
        scalar_block_layout: v12.scalar_block_layout == 1,
        vulkan_memory_model: v12.vulkan_memory_model == 1 && v12.vulkan_memory_model_device_scope == 1,
        integer_dot_product: dot.shader_integer_dot_product == 1,
        subgroup_arithmetic: ops(vk::SubgroupFeatureFlags::ARITHMETIC),
        subgroup_shuffle: ops(vk::SubgroupFeatureFlags::SHUFFLE | vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE),
        subgroup_vote_ballot: ops(vk::SubgroupFeatureFlags::VOTE | vk::SubgroupFeatureFlags::BALLOT),
        subgroup_size_control: size.subgroup_size_control == 1,
        full_subgroups: size.compute_full_subgroups == 1,
        float_controls: controls.shader_signed_zero_inf_nan_preserve_float32 == 1,
        cooperative_matrix: coop.cooperative_matrix == 1,
        bfloat16: bf16.all() && coop.cooperative_matrix == 1,
    }
}

fn coop_shapes(entry: &ash::Entry, instance: &ash::Instance, handle: vk::PhysicalDevice) -> Vec<CoopShape> {
    let functions = ash::khr::cooperative_matrix::Instance::new(entry, instance);
    // SAFETY: the handle is of this instance.
    let rows = unsafe { functions.get_physical_device_cooperative_matrix_properties(handle) }.unwrap_or_default();
    let name = |t: vk::ComponentTypeKHR| match t.as_raw() {
        0 => Some("f16"),
        1 => Some("f32"),
        3 => Some("i8"),
        5 => Some("i32"),
        7 => Some("u8"),
        bfloat16::COMPONENT_TYPE => Some("bf16"),
        _ => None,
    };
    rows.iter()
        .filter(|r| r.scope == vk::ScopeKHR::SUBGROUP && r.a_type == r.b_type && r.c_type == r.result_type)
        .filter_map(|r| {
            Some(CoopShape { m: r.m_size, n: r.n_size, k: r.k_size, operand: name(r.a_type)?, result: name(r.c_type)? })
        })
        .collect()
}
