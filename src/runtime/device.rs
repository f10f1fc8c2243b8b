//! Finding and opening devices.

use std::sync::{Arc, Mutex, Weak};

use crate::log::{self, Level};
use crate::vulkan::{self, DeviceKind, Faults, Features, Instance, Masks, PhysicalDevice, Transfer};
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

impl Kind {
    const ALL: [Self; 6] = [Self::Discrete, Self::Integrated, Self::Virtual, Self::Other, Self::Software, Self::Cpu];

    /// As `Select::from_text` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Other => "other",
            Self::Software => "software",
            Self::Cpu => "cpu",
        }
    }
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
    /// Features to treat as absent, for tests. CALDERA_MASK (names, separated by commas) adds to them.
    pub masks: Masks,
    /// The size of subgroups, where the driver can be asked for another than its own, for tests. CALDERA_SUBGROUP says the same.
    pub subgroup: Option<u32>,
    /// Calls of the driver that fail, for tests. CALDERA_FAULT says the same.
    pub faults: Option<Arc<Faults>>,
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

/// What `DeviceInfo` says of features.
fn feature_names(f: &Features) -> Vec<&'static str> {
    let known = [
        (f.float16, "float16"),
        (f.float64, "float64"),
        (f.int64, "int64"),
        (f.int8, "int8"),
        (f.storage16, "storage16"),
        (f.storage8, "storage8"),
        (f.integer_dot_product, "integer_dot_product"),
        (f.subgroup_arithmetic, "subgroup_arithmetic"),
        (f.subgroup_shuffle, "subgroup_shuffle"),
        (f.subgroup_size_control, "subgroup_size_control"),
        (f.cooperative_matrix, "cooperative_matrix"),
    ];
    known.into_iter().filter(|f| f.0).map(|f| f.1).collect()
}

fn describe(device: &PhysicalDevice) -> DeviceInfo {
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
        features: feature_names(&device.features),
        unusable: device.features.missing_essential().map(|missing| format!("lacks {missing}")),
    }
}

/// All devices, best first, the CPU device last. Without a Vulkan loader or driver there is only the CPU device.
fn all(instance: &Result<Arc<Instance>>) -> (Vec<(DeviceInfo, Option<PhysicalDevice>)>, Option<Error>) {
    let (found, problem) = match instance.as_ref().map_err(Error::clone).and_then(|i| i.devices()) {
        Ok(devices) => (devices, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    (sorted(found.into_iter().map(|d| (describe(&d), Some(d))).collect()), problem)
}

/// Best first, each once, the CPU device last.
fn sorted<P>(mut found: Vec<(DeviceInfo, Option<P>)>) -> Vec<(DeviceInfo, Option<P>)> {
    found.sort_by_key(|d| d.0.kind);
    // Two drivers may list one GPU: the first stays.
    let mut seen: Vec<[u8; 16]> = Vec::new();
    found.retain(|d| {
        let fresh = !seen.contains(&d.0.uuid);
        seen.push(d.0.uuid);
        fresh
    });
    found.push((cpu_info(), None));
    found
}

/// The device that the options name, by its place in the list.
fn choose<'d>(devices: impl Iterator<Item = &'d DeviceInfo> + Clone, select: &Select, options: &DeviceOptions) -> Option<usize> {
    let mut numbered = devices.enumerate();
    let found = match select {
        Select::Best => numbered.find(|(_, info)| allowed(info, options)),
        Select::Index(i) => numbered.nth(*i),
        Select::Uuid(uuid) => numbered.find(|(_, d)| d.uuid == *uuid && d.kind != Kind::Cpu),
        Select::Kind(kind) => numbered.find(|(_, d)| d.kind == *kind),
    };
    found.map(|(i, _)| i)
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
        let chosen = choose(devices.iter().map(|d| &d.0), &select, options).map(|i| &devices[i]);
        let Some((info, physical)) = chosen else {
            let why = problem.map_or(String::new(), |e| format!(" ({e})"));
            bail!(NoDevice, "no device fits {select}{why}; there are {}", names.join(", "));
        };
        let mut info = info.clone();
        let backend = match physical {
            None => Backend::Cpu,
            Some(physical) => {
                let device =
                    vulkan::Device::open(&instance?, physical.clone(), masks(options)?, subgroup(options)?, faults(options)?)?;
                let transfer = Transfer::new(&device)?;
                info.features = feature_names(device.features());
                Backend::Vulkan(Vulkan { device, transfer })
            }
        };
        log::log(Level::Info, &format!("opened device \"{}\"", info.name));
        Ok(Arc::new(Device { info, backend }))
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub fn is_vulkan(&self) -> bool {
        matches!(self.backend, Backend::Vulkan(_))
    }

    /// An error once the device was lost.
    pub fn check(&self) -> Result<()> {
        match &self.backend {
            Backend::Vulkan(v) => v.device.check(),
            Backend::Cpu => Ok(()),
        }
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
        self.check()?;
        match &self.backend {
            Backend::Vulkan(v) => v.transfer.trim(),
            Backend::Cpu => Ok(()),
        }
    }

    /// The pipelines made so far, for `load_cache` another day. Empty for the CPU device.
    pub fn cache(&self) -> Result<Vec<u8>> {
        self.check()?;
        match &self.backend {
            Backend::Vulkan(v) => v.device.pipeline_cache(),
            Backend::Cpu => Ok(Vec::new()),
        }
    }

    /// Takes a saved cache; one of another driver or device is ignored with a log line. Only before the first compile.
    pub fn load_cache(&self, blob: &[u8]) -> Result<()> {
        self.check()?;
        if let Backend::Vulkan(v) = &self.backend
            && !v.device.load_pipeline_cache(blob)?
        {
            log::log(Level::Warning, "the pipeline cache is of another device or driver, or came too late: ignored");
        }
        Ok(())
    }
}

fn masks(options: &DeviceOptions) -> Result<Masks> {
    let named = std::env::var("CALDERA_MASK").map_or(Ok(Masks::default()), |text| Masks::from_text(&text))?;
    Ok(options.masks.with(named))
}

fn subgroup(options: &DeviceOptions) -> Result<Option<u32>> {
    match (options.subgroup, std::env::var("CALDERA_SUBGROUP")) {
        (None, Ok(text)) if !text.is_empty() => match text.parse() {
            Ok(size) => Ok(Some(size)),
            Err(_) => bail!(InvalidArgument, "CALDERA_SUBGROUP: \"{text}\" is no number"),
        },
        (given, _) => Ok(given),
    }
}

fn faults(options: &DeviceOptions) -> Result<Option<Arc<Faults>>> {
    match (&options.faults, std::env::var("CALDERA_FAULT")) {
        (None, Ok(text)) if !text.is_empty() => Ok(Some(Arc::new(Faults::from_text(&text)?))),
        (given, _) => Ok(given.clone()),
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

impl std::fmt::Display for Select {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Best => f.write_str("(a GPU, unless a software driver or the CPU device is allowed)"),
            Self::Index(i) => write!(f, "index {i}"),
            Self::Uuid(uuid) => write!(f, "UUID {}", uuid.map(|b| format!("{b:02x}")).concat()),
            Self::Kind(kind) => write!(f, "kind \"{}\"", kind.name()),
        }
    }
}

impl Select {
    /// "cpu", "best", a number, a UUID (32 hexadecimal digits, dashes allowed), or a kind ("discrete", "software", ...).
    pub fn from_text(text: &str) -> Result<Self> {
        let lower = text.to_ascii_lowercase();
        if lower == "best" {
            return Ok(Select::Best);
        }
        if let Some(kind) = Kind::ALL.into_iter().find(|k| k.name() == lower) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn info(kind: Kind, uuid: u8, name: &str) -> (DeviceInfo, Option<()>) {
        (DeviceInfo { kind, name: name.into(), uuid: [uuid; 16], ..cpu_info() }, Some(()))
    }

    fn pick(list: &[(DeviceInfo, Option<()>)], select: Select, software: bool, cpu: bool) -> Option<&str> {
        let options = DeviceOptions { allow_software: software, allow_cpu: cpu, ..DeviceOptions::default() };
        choose(list.iter().map(|d| &d.0), &select, &options).map(|i| list[i].0.name.as_str())
    }

    /// Row 90 of the faults: a software driver taken though a GPU is there, one GPU listed twice, a bad index.
    #[test]
    fn row_90_the_best_gpu_is_chosen_and_listed_once() {
        let list = sorted(vec![
            info(Kind::Software, 1, "software"),
            info(Kind::Integrated, 2, "integrated"),
            info(Kind::Discrete, 3, "first driver"),
            info(Kind::Discrete, 3, "second driver"),
        ]);
        let names: Vec<&str> = list.iter().map(|d| d.0.name.as_str()).collect();
        assert_eq!(names, ["first driver", "integrated", "software", "CPU"]);
        assert_eq!(pick(&list, Select::Best, true, true), Some("first driver"));
        assert_eq!(pick(&list, Select::Index(2), false, false), Some("software"));
        assert_eq!(pick(&list, Select::Index(4), true, true), None);
        assert_eq!(pick(&list, Select::Uuid([2; 16]), false, false), Some("integrated"));
        assert_eq!(pick(&list, Select::Uuid([9; 16]), true, true), None);
        assert_eq!(pick(&list, Select::Kind(Kind::Software), false, false), Some("software"));
        let poor = sorted(vec![info(Kind::Software, 1, "software")]);
        assert_eq!(pick(&poor, Select::Best, false, false), None);
        assert_eq!(pick(&poor, Select::Best, true, true), Some("software"));
        assert_eq!(pick(&poor, Select::Best, false, true), Some("CPU"));
        let mut broken = sorted(vec![info(Kind::Discrete, 1, "old"), info(Kind::Virtual, 2, "virtual")]);
        broken[0].0.unusable = Some("lacks timelineSemaphore".into());
        assert_eq!(pick(&broken, Select::Best, false, false), Some("virtual"));
    }
}
