//! Pipelines: made when first needed, kept by kernel and specialization, through a VkPipelineCache that can be saved.

use std::collections::HashMap;
use std::sync::{Mutex, RwLock};

use ash::vk;

use super::device::Device;
use super::failed;
use crate::kernels::Kernel;
use crate::{Result, bail, error};

/// Every pipeline has one layout: this many bytes of push constants and no descriptors.
pub const PUSH_BYTES: u32 = 128;

/// What a pipeline is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PipelineKey {
    pub kernel: Kernel,
    /// Specialization constants: id and value.
    pub spec: Vec<(u32, u32)>,
}

pub struct Pipelines {
    map: RwLock<HashMap<PipelineKey, vk::Pipeline>>,
    shared: Mutex<Option<Shared>>,
    full_subgroups: bool,
    /// The size of subgroups, where it is not the driver's own.
    subgroup: Option<u32>,
}

#[derive(Clone, Copy)]
struct Shared {
    layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
}

impl Pipelines {
    pub fn new(full_subgroups: bool, subgroup: Option<u32>) -> Self {
        Self { map: RwLock::default(), shared: Mutex::new(None), full_subgroups, subgroup }
    }

    fn shared(&self, device: &ash::Device, blob: &[u8]) -> Result<Shared> {
        let mut guard = self.shared.lock().map_err(|_| error!(Internal, "pipelines failed before"))?;
        if let Some(shared) = *guard {
            return Ok(shared);
        }
        let ranges = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(PUSH_BYTES)];
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
        // SAFETY: the device lives.
        let layout = unsafe { device.create_pipeline_layout(&info, None) }.map_err(|r| failed("a pipeline layout", r))?;
        let info = vk::PipelineCacheCreateInfo::default().initial_data(blob);
        // SAFETY: the driver checks the header of the blob; `load` has checked it before.
        match unsafe { device.create_pipeline_cache(&info, None) } {
            Ok(cache) => Ok(*guard.insert(Shared { layout, cache })),
            Err(r) => {
                // SAFETY: nobody has seen the layout.
                unsafe { device.destroy_pipeline_layout(layout, None) };
                Err(failed("a pipeline cache", r))
            }
        }
    }

    /// # Safety
    /// No pipeline is in use.
    pub unsafe fn destroy(&self, device: &ash::Device) {
        let pipelines = self.map.write().map(|mut m| std::mem::take(&mut *m)).unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe {
            for pipeline in pipelines.into_values() {
                device.destroy_pipeline(pipeline, None);
            }
            if let Ok(mut guard) = self.shared.lock()
                && let Some(shared) = guard.take()
            {
                device.destroy_pipeline_cache(shared.cache, None);
                device.destroy_pipeline_layout(shared.layout, None);
            }
        }
    }
}

impl Device {
    pub(super) fn pipeline_layout(&self) -> Result<vk::PipelineLayout> {
        Ok(self.pipelines.shared(self.raw(), &[])?.layout)
    }

    /// The pipeline of this key, made now if nobody made it before.
    pub(super) fn pipeline(&self, key: &PipelineKey) -> Result<vk::Pipeline> {
        let map = &self.pipelines.map;
        if let Some(&pipeline) = map.read().map_err(|_| error!(Internal, "pipelines failed before"))?.get(key) {
            return Ok(pipeline);
        }
        let made = self.make_pipeline(key)?;
        let mut map = map.write().map_err(|_| error!(Internal, "pipelines failed before"))?;
        // Two threads may have made the same one: the first stays.
        let kept = *map.entry(key.clone()).or_insert(made);
        if kept != made {
            // SAFETY: nobody has seen this one.
            unsafe { self.raw().destroy_pipeline(made, None) };
        }
        Ok(kept)
    }

    /// Makes pipelines ahead of their first use, on several threads.
    pub fn warm_up(&self, keys: &[PipelineKey]) -> Result<()> {
        use rayon::prelude::*;
        keys.par_iter().try_for_each(|key| self.pipeline(key).map(drop))
    }

    fn make_pipeline(&self, key: &PipelineKey) -> Result<vk::Pipeline> {
        let info = key.kernel.info();
        if let Some(missing) = self.caps().missing(key.kernel) {
            bail!(Internal, "kernel {} needs {missing}, which is not enabled on device \"{}\"", info.name, self.physical().name);
        }
        let shared = self.pipelines.shared(self.raw(), &[])?;
        let code = info.spirv();
        // SAFETY: build.rs compiled and checked the SPIR-V; its capabilities are among those enabled, as seen above.
        let module = unsafe { self.raw().create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&code), None) }
            .map_err(|r| failed(info.name, r))?;
        let entries: Vec<_> = key
            .spec
            .iter()
            .enumerate()
            .map(|(i, &(id, _))| vk::SpecializationMapEntry { constant_id: id, offset: 4 * i as u32, size: 4 })
            .collect();
        let data: Vec<u8> = key.spec.iter().flat_map(|&(_, value)| value.to_le_bytes()).collect();
        let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
            .required_subgroup_size(self.pipelines.subgroup.unwrap_or_default());
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main")
            .specialization_info(&specialization);
        if self.pipelines.full_subgroups && info.local_size[0] % self.caps().subgroup_size == 0 {
            stage = stage.flags(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS);
        }
        if self.pipelines.subgroup.is_some() {
            stage = stage.push_next(&mut size);
        }
        let create = vk::ComputePipelineCreateInfo::default().stage(stage).layout(shared.layout);
        // SAFETY: stage, layout and cache are of this device; a VkPipelineCache may be used by several threads at once.
        let made = unsafe { self.raw().create_compute_pipelines(shared.cache, &[create], None) };
        // SAFETY: a module is not needed once its pipelines are made.
        unsafe { self.raw().destroy_shader_module(module, None) };
        match made {
            Ok(pipelines) => Ok(pipelines[0]),
            Err((_, r)) => Err(self.noted(failed(&format!("the pipeline of kernel {}", info.name), r))),
        }
    }

    /// How many pipelines were made.
    pub fn pipeline_count(&self) -> usize {
        self.pipelines.map.read().map_or(0, |m| m.len())
    }

    /// The driver's pipeline cache, to be given to `load_pipeline_cache` another day.
    pub fn pipeline_cache(&self) -> Result<Vec<u8>> {
        let shared = self.pipelines.shared(self.raw(), &[])?;
        // SAFETY: the cache is of this device.
        unsafe { self.raw().get_pipeline_cache_data(shared.cache) }.map_err(|r| failed("reading the pipeline cache", r))
    }

    /// Takes a saved cache. False if it is of another driver or device: it is then ignored. Only before the first pipeline.
    pub fn load_pipeline_cache(&self, blob: &[u8]) -> Result<bool> {
        if !self.physical().owns_cache(blob) {
            return Ok(false);
        }
        let fresh = self.pipelines.shared.lock().map_err(|_| error!(Internal, "pipelines failed before"))?.is_none();
        if fresh {
            self.pipelines.shared(self.raw(), blob)?;
        }
        Ok(fresh)
    }
}
