//! The Vulkan loader and instance.

use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;

use super::caps::PhysicalDevice;
use super::failed;
use crate::{Result, bail, error};

/// Called with what the validation layers say.
pub type ValidationSink = fn(&str);

/// Held while an instance or a device is made or destroyed, and while devices are listed: these calls enter the driver through state that all
/// threads share. When several threads made and destroyed devices at once, a driver seen (NVIDIA 580) waited for itself for ever.
static LIFE: Mutex<()> = Mutex::new(());

/// A panic under this lock leaves nothing half done that it guards.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    LIFE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One VkInstance. Loaded at run time: a machine without a Vulkan loader gets an error, not a failed start.
pub struct Instance {
    pub(super) raw: ash::Instance,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    entry: ash::Entry,
}

const VALIDATION: &CStr = c"VK_LAYER_KHRONOS_validation";

impl Instance {
    /// Opens the loader. With a `sink` the validation layers are on (core, synchronization, best practices where the layer knows them).
    pub fn new(sink: Option<ValidationSink>) -> Result<Arc<Self>> {
        let _alone = alone();
        // SAFETY: loading the system's Vulkan loader runs its initialisers; they are trusted as those of any system library.
        let entry = unsafe { ash::Entry::load() }.map_err(|e| error!(NoDevice, "no Vulkan loader: {e}"))?;
        // SAFETY: the entry points were just loaded.
        let version = unsafe { entry.try_enumerate_instance_version() }.ok().flatten().unwrap_or(vk::API_VERSION_1_0);
        if version < vk::API_VERSION_1_2 {
            bail!(NoDevice, "the Vulkan loader is older than version 1.2");
        }
        let application =
            vk::ApplicationInfo::default().application_name(c"caldera").engine_name(c"caldera").api_version(vk::API_VERSION_1_3);
        let (layers, extensions, enabled) = Self::layers(&entry, sink.is_some())?;
        let mut validation = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enabled);
        let mut info = vk::InstanceCreateInfo::default()
            .application_info(&application)
            .enabled_layer_names(&layers)
            .enabled_extension_names(&extensions);
        if !enabled.is_empty() {
            info = info.push_next(&mut validation);
        }
        // SAFETY: `info` and all it points to live through the call.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(|r| match r {
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => error!(NoDevice, "no Vulkan driver is installed"),
            other => failed("vkCreateInstance", other),
        })?;
        let messenger = match sink {
            Some(sink) => Some(Self::messenger(&entry, &raw, sink)?),
            None => None,
        };
        Ok(Arc::new(Self { raw, messenger, entry }))
    }

    #[allow(clippy::type_complexity)]
    fn layers(entry: &ash::Entry, validate: bool) -> Result<(Vec<*const i8>, Vec<*const i8>, Vec<vk::ValidationFeatureEnableEXT>)> {
        if !validate {
            return Ok((Vec::new(), Vec::new(), Vec::new()));
        }
        // SAFETY: the entry points are loaded.
        let found = unsafe { entry.enumerate_instance_layer_properties() }.map_err(|r| failed("enumerating layers", r))?;
        if !found.iter().any(|l| l.layer_name_as_c_str() == Ok(VALIDATION)) {
            bail!(Unsupported, "validation was asked for, but the layer {} is not installed", VALIDATION.to_string_lossy());
        }
        let extensions = vec![ash::ext::debug_utils::NAME.as_ptr(), ash::ext::validation_features::NAME.as_ptr()];
        Ok((vec![VALIDATION.as_ptr()], extensions, vec![vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION]))
    }

    fn messenger(
        entry: &ash::Entry,
        raw: &ash::Instance,
        sink: ValidationSink,
    ) -> Result<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)> {
        let utils = ash::ext::debug_utils::Instance::new(entry, raw);
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING)
            .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE)
            .pfn_user_callback(Some(on_message))
            .user_data(sink as *mut c_void);
        // SAFETY: the instance lives; the callback and its data are static.
        let messenger = unsafe { utils.create_debug_utils_messenger(&info, None) }.map_err(|r| failed("the debug messenger", r))?;
        Ok((utils, messenger))
    }

    /// Every physical device, as the drivers list them.
    pub fn devices(&self) -> Result<Vec<PhysicalDevice>> {
        let _alone = alone();
        // SAFETY: the instance lives as long as `self`.
        let handles = unsafe { self.raw.enumerate_physical_devices() }.map_err(|r| match r {
            vk::Result::ERROR_INITIALIZATION_FAILED => error!(NoDevice, "no Vulkan driver could be started"),
            other => failed("vkEnumeratePhysicalDevices", other),
        })?;
        Ok(handles.into_iter().map(|h| PhysicalDevice::query(&self.entry, &self.raw, h)).collect())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _alone = alone();
        // SAFETY: devices hold an Arc of the instance, so none is left; the messenger goes first.
        unsafe {
            if let Some((utils, messenger)) = &self.messenger {
                utils.destroy_debug_utils_messenger(*messenger, None);
            }
            self.raw.destroy_instance(None);
        }
    }
}

/// # Safety
/// Called by the loader with valid data and the `ValidationSink` given at creation.
unsafe extern "system" fn on_message(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: `user` is the function pointer put there by `messenger`, `data` is valid during the call.
    let (sink, text) = unsafe {
        let sink: ValidationSink = std::mem::transmute(user);
        (sink, (*data).message_as_c_str().map(|s| s.to_string_lossy().into_owned()))
    };
    sink(&text.unwrap_or_default());
    vk::FALSE
}
