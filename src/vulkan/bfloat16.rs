//! VK_KHR_shader_bfloat16, which ash does not know yet. Names and numbers are those of vulkan_core.h.

use std::ffi::{CStr, c_void};

use ash::vk;

pub const NAME: &CStr = c"VK_KHR_shader_bfloat16";

/// VK_COMPONENT_TYPE_BFLOAT16_KHR
pub const COMPONENT_TYPE: i32 = 1000141000;

/// VkPhysicalDeviceShaderBfloat16FeaturesKHR
#[repr(C)]
pub struct Features {
    s_type: vk::StructureType,
    next: *mut c_void,
    pub shader_bfloat16_type: vk::Bool32,
    pub shader_bfloat16_dot_product: vk::Bool32,
    pub shader_bfloat16_cooperative_matrix: vk::Bool32,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            s_type: vk::StructureType::from_raw(1000141000),
            next: std::ptr::null_mut(),
            shader_bfloat16_type: 0,
            shader_bfloat16_dot_product: 0,
            shader_bfloat16_cooperative_matrix: 0,
        }
    }
}

impl Features {
    /// The type, and matrices of it.
    pub fn matrices() -> Self {
        Self { shader_bfloat16_type: 1, shader_bfloat16_cooperative_matrix: 1, ..Self::default() }
    }

    /// True if the device has what `matrices` asks for.
    pub fn all(&self) -> bool {
        self.shader_bfloat16_type == 1 && self.shader_bfloat16_cooperative_matrix == 1
    }
}

// SAFETY: the struct has the layout of the C one, which may stand in the chains of these two.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Features {}
// SAFETY: as above.
unsafe impl vk::ExtendsDeviceCreateInfo for Features {}
