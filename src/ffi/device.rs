//! Devices as C sees them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::boundary::{boundary, bytes, caldera_status, fill, fill_text, give, object, opt_text, quietly, text, wanted};
use super::error::caldera_error;
use crate::formats::replace_file;
use crate::runtime::{Device, DeviceInfo, DeviceOptions, Kind, Select};
use crate::{Result, bail, ensure, error};

/// One opened device. Shared by any number of threads. Objects made of it keep it alive: it may be freed before them.
pub struct caldera_device(pub(super) Arc<Device>);

/// How a device is attached, in the order of preference. 0 means "not given".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_device_kind {
    CALDERA_DEVICE_ANY = 0,
    CALDERA_DEVICE_DISCRETE = 1,
    CALDERA_DEVICE_INTEGRATED = 2,
    CALDERA_DEVICE_VIRTUAL = 3,
    CALDERA_DEVICE_OTHER = 4,
    /// A Vulkan driver that computes on the CPU.
    CALDERA_DEVICE_SOFTWARE = 5,
    /// The built-in CPU device, which needs no Vulkan.
    CALDERA_DEVICE_CPU = 6,
}

/// What a device is.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_device_properties {
    /// A `caldera_device_kind`.
    pub kind: u32,
    /// 1 if it can be opened, 0 if it lacks something that Caldera needs.
    pub usable: u32,
    pub uuid: [u8; 16],
    /// Zero-terminated, cut to fit.
    pub name: [c_char; 256],
    pub driver: [c_char; 256],
    /// Optional features it has, separated by spaces.
    pub features: [c_char; 256],
    /// Bytes of device-local memory; 0 for the CPU device.
    pub memory: u64,
    /// Vulkan version: major, minor, patch; zeros for the CPU device.
    pub api_version: [u32; 3],
    pub reserved: u32,
}

fn cut(text: &str) -> [c_char; 256] {
    let mut out = [0; 256];
    for (o, b) in out[..255].iter_mut().zip(text.bytes()) {
        *o = b as c_char;
    }
    out
}

impl From<&DeviceInfo> for caldera_device_properties {
    fn from(d: &DeviceInfo) -> Self {
        Self {
            kind: d.kind as u32,
            usable: d.unusable.is_none().into(),
            uuid: d.uuid,
            name: cut(&d.name),
            driver: cut(&d.driver),
            features: cut(&d.features.join(" ")),
            memory: d.memory,
            api_version: [d.api_version.0, d.api_version.1, d.api_version.2],
            reserved: 0,
        }
    }
}

/// Options of `caldera_device_open`. Start from `CALDERA_DEVICE_OPTIONS_INIT`. Zero means "not given".
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_device_options {
    /// sizeof(caldera_device_options).
    pub struct_size: u32,
    /// A `caldera_device_kind`: the best device of this kind.
    pub kind: u32,
    /// An index ("0", as in `caldera_device_list`), a UUID in hexadecimal, a kind ("discrete", "integrated", "virtual", "software", "cpu") or
    /// NULL. Excludes `kind`.
    pub select: *const c_char,
    /// 1: with nothing selected, a software Vulkan driver may be taken where there is no GPU.
    pub allow_software: u32,
    /// 1: with nothing selected, the CPU device may be taken where there is no Vulkan device.
    pub allow_cpu: u32,
    /// 1: Vulkan validation layers; what they say goes to the log. UNSUPPORTED where they are not installed.
    pub validation: u32,
    pub reserved: u32,
    /// A pipeline cache that `caldera_device_save_cache` or `caldera_device_cache` gave, or NULL. One of another driver is ignored with a log line.
    pub cache: *const c_void,
    pub cache_bytes: usize,
    /// A file that `caldera_device_save_cache` wrote, or NULL. A missing file is no error.
    pub cache_path: *const c_char,
}

/// Lists the devices, best first; the CPU device is the last. By count-then-fill.
///
/// Errors: INVALID_ARGUMENT if `count` is NULL. No driver is no error: the CPU device is always there.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_list(
    infos: *mut caldera_device_properties,
    count: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        wanted(count, "count")?;
        let all: Vec<caldera_device_properties> = Device::list().iter().map(Into::into).collect();
        fill(&all, infos, count)
    })
}

/// Opens a device. `options` may be NULL: the best GPU, no software driver, no CPU device.
///
/// The environment variable CALDERA_DEVICE (an index, a UUID, a kind or "cpu") replaces "nothing selected".
/// Free it with `caldera_device_free`. Errors: NO_DEVICE (no loader, no driver, nothing fits), UNSUPPORTED (a device without buffer device
/// addresses, timeline semaphores or scalar block layout; validation layers not installed), FILE (`cache_path` is there and cannot be read),
/// INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_open(
    options: *const caldera_device_options,
    device: *mut *mut caldera_device,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        wanted(device, "device")?;
        let Some(given) = super::options::options(options, "options")? else {
            let opened = Device::open(&DeviceOptions::default())?;
            give(device, Box::into_raw(Box::new(caldera_device(opened))));
            return Ok(());
        };
        ensure!(given.reserved == 0, InvalidArgument, "options: reserved is {}, it must be 0", given.reserved);
        let select = match (given.kind, opt_text(given.select, "select")?) {
            (0, None) => Select::Best,
            (0, Some(text)) => Select::from_text(text)?,
            (kind, None) => Select::Kind(kind_of(kind)?),
            (_, Some(_)) => bail!(InvalidArgument, "kind and select are both given"),
        };
        let opened = Device::open(&DeviceOptions {
            select,
            allow_software: given.allow_software != 0,
            allow_cpu: given.allow_cpu != 0,
            validation: given.validation != 0,
            ..DeviceOptions::default()
        })?;
        let blob = bytes(given.cache, given.cache_bytes, "cache")?;
        if !blob.is_empty() {
            opened.load_cache(blob)?;
        } else if let Some(path) = opt_text(given.cache_path, "cache_path")? {
            match std::fs::read(path) {
                Ok(blob) => opened.load_cache(&blob)?,
                Err(problem) => ensure!(problem.kind() == std::io::ErrorKind::NotFound, File, "{path}: {problem}"),
            }
        }
        give(device, Box::into_raw(Box::new(caldera_device(opened))));
        Ok(())
    })
}

fn kind_of(kind: u32) -> Result<Kind> {
    let all = [Kind::Discrete, Kind::Integrated, Kind::Virtual, Kind::Other, Kind::Software, Kind::Cpu];
    all.into_iter().find(|&k| k as u32 == kind).ok_or_else(|| error!(InvalidArgument, "there is no device kind {kind}"))
}

/// What an opened device is.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_info(
    device: *const caldera_device,
    info: *mut caldera_device_properties,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let device = object(device, "device")?;
        wanted(info, "info")?;
        give(info, device.0.info().into());
        Ok(())
    })
}

/// Bytes of device memory that Caldera uses, and that it has reserved from the driver. Zeros for the CPU device. Either may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_memory(
    device: *const caldera_device,
    used: *mut u64,
    reserved: *mut u64,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let device = object(device, "device")?;
        device.0.check()?;
        let memory = device.0.memory();
        give(used, memory.0);
        give(reserved, memory.1);
        Ok(())
    })
}

/// Gives reserved memory that nothing uses back to the driver.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_trim(device: *const caldera_device, error: *mut *mut caldera_error) -> caldera_status {
    boundary(error, || object(device, "device")?.0.trim())
}

/// The pipelines made so far as a blob, by count-then-fill in bytes. Only this device and driver will take it.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_cache(
    device: *const caldera_device,
    data: *mut c_void,
    size: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || fill(&object(device, "device")?.0.cache()?, data.cast::<u8>(), size))
}

/// Writes the pipelines made so far to a file, for `cache_path` another day. The file is replaced as a whole or not at all.
///
/// Errors: FILE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_save_cache(
    device: *const caldera_device,
    path: *const c_char,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let blob = object(device, "device")?.0.cache()?;
        let path = text(path, "path")?;
        replace_file(path.as_ref(), &blob).map_err(|e| error!(File, "{path}: {e}"))
    })
}

/// A line of text about a device: name, kind, driver, memory. By count-then-fill in bytes, with the zero at the end.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_describe(
    device: *const caldera_device,
    out: *mut c_char,
    size: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let info = object(device, "device")?.0.info();
        let line = format!("{} ({}), {}, {} MiB", info.name, info.kind.name(), info.driver, info.memory >> 20);
        fill_text(&line, out, size)
    })
}

/// Frees the handle. The device itself closes when the last object made of it is freed. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_device_free(device: *mut caldera_device) {
    quietly(|| {
        if !device.is_null() {
            // SAFETY: the caller gives back what `caldera_device_open` made, once.
            drop(unsafe { Box::from_raw(device) });
        }
    });
}
