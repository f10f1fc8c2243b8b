//! Finding and opening devices.

use std::sync::{Arc, Mutex, Weak};

use crate::log::{self, Level};
use crate::vulkan::{self, DeviceKind, Instance, Masks, PhysicalDevice, Transfer};
use crate::{Error, Result, bail, error};

/// What a device is. The numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    Discrete = 1,
    Integrated,
    Virtual,
    Other,
    /// A Vulkan driver that computes on the CPU.
    Software,
    /// The built-in CPU device, without Vulkan.
    Cpu,
}

/// A device that can be opened.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    pub kind: Kind,
    pub name: String,
    pub uuid: [u8; 16],
    pub driver: String,
    /// Bytes of device-local memory; 0 for the CPU device.
    pub memory: u64,
    /// Vulkan version of the driver (major, minor, patch); zeros for the CPU device.
    pub api_version: (u32, u32, u32),
    /// Names of optional features it has.
    pub features: Vec<&'static str>,
    /// Why it cannot be used, if it cannot.
    pub unusable: Option<String>,
}

/// Which device to open.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Select {
    /// The best GPU: discrete, then integrated, then virtual.
    #[default]
    Best,
    /// By place in `Device::list`.
    Index(usize),
    Uuid([u8; 16]),
    Kind(Kind),
}

#[derive(Clone, Debug, Default)]
pub struct DeviceOptions {
    pub select: Select,
    /// `Best` may fall to a software Vulkan driver.
    pub allow_software: bool,
    /// `Best` may fall to the CPU device.
    pub allow_cpu: bool,
    /// Validation layers; what they say goes to the log.
    pub validation: bool,
    /// Features to treat as absent, for tests.
    pub masks: Masks,
}

/// An opened device. Shared by any number of threads.
pub struct Device {
    info: DeviceInfo,
    pub(crate) backend: Backend,
}

pub(crate) enum Backend {
    Vulkan(Vulkan),
    Cpu,
}

pub(crate) struct Vulkan {
    pub device: Arc<vulkan::Device>,
    pub transfer: Transfer,
}

/// One instance serves all devices; it goes when the last does.
static INSTANCES: Mutex<[Weak<Instance>; 2]> = Mutex::new([Weak::new(), Weak::new()]);

fn instance(validation: bool) -> Result<Arc<Instance>> {
    let mut guard = INSTANCES.lock().map_err(|_| error!(Internal, "making the Vulkan instance failed before"))?;
    let slot = &mut guard[usize::from(validation)];
    if let Some(instance) = slot.upgrade() {
        return Ok(instance);
    }
    let made = Instance::new(validation.then_some(|text: &str| log::log(Level::Error, text)))?;
    *slot = Arc::downgrade(&made);
    Ok(made)
}

fn cpu_info() -> DeviceInfo {
    DeviceInfo {
        kind: Kind::Cpu,
        name: "CPU".into(),
        uuid: [0; 16],
        driver: format!("caldera {}", env!("CARGO_PKG_VERSION")),
        memory: 0,
        api_version: (0, 0, 0),
        features: Vec::new(),
        unusable: None,
    }
}

fn describe(device: &PhysicalDevice) -> DeviceInfo {
    let f = &device.features;
    let features = [
        (f.float16, "float16"),
        (f.float64, "float64"),
        (f.int64, "int64"),
        (f.int8, "int8"),
        (f.storage16, "storage16"),
        (f.storage8, "storage8"),
        (f.integer_dot_product, "integer_dot_product"),
        (f.subgroup_arithmetic, "subgroup_arithmetic"),
        (f.subgroup_size_control, "subgroup_size_control"),
        (f.cooperative_matrix, "cooperative_matrix"),
    ];
    let v = device.api_version;
    DeviceInfo {
        kind: match device.kind {
            DeviceKind::Discrete => Kind::Discrete,
            DeviceKind::Integrated => Kind::Integrated,
            DeviceKind::Virtual => Kind::Virtual,
            DeviceKind::Other => Kind::Other,
            DeviceKind::Software => Kind::Software,
        },
        name: device.name.clone(),
        uuid: device.uuid,
        driver: device.driver.clone(),
        memory: device.memory,
        api_version: ((v >> 22) & 0x7f, (v >> 12) & 0x3ff, v & 0xfff),
        features: features.into_iter().filter(|f| f.0).map(|f| f.1).collect(),
        unusable: f.missing_essential().map(|missing| format!("lacks {missing}")),
    }
}

/// All devices, best first, the CPU device last. Without a Vulkan loader or driver there is only the CPU device.
fn all(instance: &Result<Arc<Instance>>) -> (Vec<(DeviceInfo, Option<PhysicalDevice>)>, Option<Error>) {
    let (mut found, problem) = match instance.as_ref().map_err(Error::clone).and_then(|i| i.devices()) {
        Ok(devices) => (devices, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    found.sort_by_key(|d| d.kind);
    // Two drivers may list one GPU: the first stays.
    let mut seen: Vec<[u8; 16]> = Vec::new();
    found.retain(|d| {
        let fresh = !seen.contains(&d.uuid);
        seen.push(d.uuid);
        fresh
    });
    let mut out: Vec<_> = found.into_iter().map(|d| (describe(&d), Some(d))).collect();
    out.push((cpu_info(), None));
    (out, problem)
}

impl Device {
    /// Every device, best first; the CPU device is the last.
    pub fn list() -> Vec<DeviceInfo> {
        all(&instance(false)).0.into_iter().map(|d| d.0).collect()
    }

    /// Opens a device. CALDERA_DEVICE (an index, a UUID or "cpu") replaces `Select::Best`; CALDERA_VALIDATION=1 turns validation on.
    pub fn open(options: &DeviceOptions) -> Result<Arc<Device>> {
        let validation = options.validation || log::flag("CALDERA_VALIDATION");
        let mut select = options.select.clone();
        if select == Select::Best
            && let Ok(text) = std::env::var("CALDERA_DEVICE")
            && !text.is_empty()
        {
            select = Select::from_text(&text)?;
        }
        if select == Select::Kind(Kind::Cpu) {
            return Ok(Arc::new(Device { info: cpu_info(), backend: Backend::Cpu }));
        }
        let instance = instance(validation);
        let (devices, problem) = all(&instance);
        let names: Vec<String> = devices.iter().enumerate().map(|(i, d)| format!("{i}: {}", d.0.name)).collect();
        let chosen = match &select {
            Select::Best => devices.iter().find(|(info, _)| allowed(info, options)),
            Select::Index(i) => devices.get(*i),
            Select::Uuid(uuid) => devices.iter().find(|d| d.0.uuid == *uuid && d.0.kind != Kind::Cpu),
            Select::Kind(kind) => devices.iter().find(|d| d.0.kind == *kind),
        };
        let Some((info, physical)) = chosen else {
            let why = problem.map_or(String::new(), |e| format!(" ({e})"));
            bail!(NoDevice, "no device fits {select:?}{why}; there are {}", names.join(", "));
        };
        let backend = match physical {
            None => Backend::Cpu,
            Some(physical) => {
                let device = vulkan::Device::open(&instance?, physical.clone(), options.masks)?;
                let transfer = Transfer::new(&device)?;
                Backend::Vulkan(Vulkan { device, transfer })
            }
        };
        log::log(Level::Info, &format!("opened device \"{}\"", info.name));
        Ok(Arc::new(Device { info: info.clone(), backend }))
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub fn is_vulkan(&self) -> bool {
        matches!(self.backend, Backend::Vulkan(_))
    }

    pub(crate) fn vulkan(&self) -> Result<&Vulkan> {
        match &self.backend {
            Backend::Vulkan(vulkan) => Ok(vulkan),
            Backend::Cpu => bail!(Internal, "the CPU device has no Vulkan"),
        }
    }

    /// Bytes in use, and bytes reserved from the driver, by Caldera. Zero for the CPU device.
    pub fn memory(&self) -> (u64, u64) {
        match &self.backend {
            Backend::Vulkan(v) => v.device.memory_in_use(),
            Backend::Cpu => (0, 0),
        }
    }

    /// Gives back memory that nothing uses.
    pub fn trim(&self) -> Result<()> {
        match &self.backend {
            Backend::Vulkan(v) => v.transfer.trim(),
            Backend::Cpu => Ok(()),
        }
    }

    /// The pipelines made so far, for `load_cache` another day. Empty for the CPU device.
    pub fn cache(&self) -> Result<Vec<u8>> {
        match &self.backend {
            Backend::Vulkan(v) => v.device.pipeline_cache(),
            Backend::Cpu => Ok(Vec::new()),
        }
    }

    /// Takes a saved cache; one of another driver or device is ignored with a log line. Only before the first compile.
    pub fn load_cache(&self, blob: &[u8]) -> Result<()> {
        if let Backend::Vulkan(v) = &self.backend
            && !v.device.load_pipeline_cache(blob)?
        {
            log::log(Level::Warning, "the pipeline cache is of another device or driver, or came too late: ignored");
        }
        Ok(())
    }
}

fn allowed(info: &DeviceInfo, options: &DeviceOptions) -> bool {
    info.unusable.is_none()
        && match info.kind {
            Kind::Software => options.allow_software,
            Kind::Cpu => options.allow_cpu,
            _ => true,
        }
}

impl Select {
    /// "cpu", "best", a number, a UUID (32 hexadecimal digits, dashes allowed), or a kind ("discrete", "software", ...).
    pub fn from_text(text: &str) -> Result<Self> {
        let kind = match text.to_ascii_lowercase().as_str() {
            "best" => return Ok(Select::Best),
            "cpu" => Some(Kind::Cpu),
            "discrete" => Some(Kind::Discrete),
            "integrated" => Some(Kind::Integrated),
            "virtual" => Some(Kind::Virtual),
            "software" => Some(Kind::Software),
            _ => None,
        };
        if let Some(kind) = kind {
            return Ok(Select::Kind(kind));
        }
        if let Ok(index) = text.parse() {
            return Ok(Select::Index(index));
        }
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let parsed: Option<Vec<u8>> = (digits.len() == 32 && digits.is_ascii())
            .then(|| (0..16).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok()).collect())
            .flatten();
        match parsed.and_then(|bytes| bytes.try_into().ok()) {
            Some(uuid) => Ok(Select::Uuid(uuid)),
            None => bail!(InvalidArgument, "\"{text}\" is no device: give an index, a UUID, a kind or \"cpu\""),
        }
    }
}
