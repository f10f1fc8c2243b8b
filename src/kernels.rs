//! The compiled kernels, and what a device must offer to run them. Made by build.rs from shaders/.

mod unpack;

use std::ops::Range;

use crate::{Result, bail};

/// A compiled shader variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel(u16);

/// What a member of the push constants holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushKind {
    /// A 64-bit device address (uvec2 in the shader: low word, high word).
    Address,
    U32,
    I32,
    F32,
}

#[derive(Clone, Copy, Debug)]
pub struct PushMember {
    pub name: &'static str,
    pub offset: u32,
    pub kind: PushKind,
}

/// What the host knows of a kernel, read from its SPIR-V.
pub struct KernelInfo {
    pub name: &'static str,
    /// Where in `SPIRV` its code is (unpack.rs).
    packed: Range<usize>,
    words: usize,
    pub push: &'static [PushMember],
    /// Name and id of each specialization constant.
    pub spec: &'static [(&'static str, u32)],
    pub local_size: [u32; 3],
    /// SPIR-V capabilities: the device features it needs.
    pub capabilities: &'static [u32],
    /// The kernel that does the same without subgroup arithmetic, shuffles and storage of less than 32 bits, where this one needs any.
    plain: Option<u16>,
}

impl Kernel {
    pub fn info(self) -> &'static KernelInfo {
        &KERNELS[usize::from(self.0)]
    }

    /// A dense number, for tables indexed by kernel.
    pub fn index(self) -> usize {
        self.0.into()
    }

    pub fn all() -> impl Iterator<Item = Kernel> {
        (0..KERNELS.len() as u16).map(Kernel)
    }
}

impl KernelInfo {
    pub fn spirv(&self) -> Vec<u32> {
        unpack::unpack(&SPIRV[self.packed.clone()], self.words)
    }

    pub fn push_bytes(&self) -> usize {
        self.push.iter().map(|m| m.offset as usize + if m.kind == PushKind::Address { 8 } else { 4 }).max().unwrap_or(0)
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().name)
    }
}

fn find(family: &str, values: &[&str], table: &[(&str, u16)]) -> Result<Kernel> {
    let key = values.join(" ");
    match table.iter().find(|row| row.0 == key) {
        Some(row) => Ok(Kernel(row.1)),
        None => bail!(Unsupported, "there is no {family} kernel for {key}"),
    }
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// What a device offers to kernels: plain numbers, so that plans are made and tested without a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Caps {
    /// Lanes of a subgroup.
    pub subgroup_size: u32,
    pub max_groups: [u32; 3],
    /// Bytes of shared memory a workgroup may have.
    pub shared_bytes: u32,
    /// Invocations a workgroup may have.
    pub max_invocations: u32,
    /// SPIR-V capabilities that are enabled.
    pub capabilities: Vec<u32>,
    /// Shapes of cooperative matrices at subgroup scope.
    pub coop: Vec<CoopShape>,
    /// A driver that runs on the CPU: prefer less total work to more parallelism.
    pub software: bool,
}

/// One supported product of cooperative matrices: a [m,k] x b [k,n] + c [m,n], types by their SPIR-V component names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoopShape {
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub operand: &'static str,
    pub result: &'static str,
}

/// SPIR-V capability, its name, as the SPIR-V specification numbers them.
const CAPABILITY_NAMES: &[(u32, &str)] = &[
    (9, "shaderFloat16"),
    (10, "shaderFloat64"),
    (11, "shaderInt64"),
    (22, "shaderInt16"),
    (39, "shaderInt8"),
    (61, "subgroup basic operations"),
    (62, "subgroup vote"),
    (63, "subgroup arithmetic"),
    (64, "subgroup ballot"),
    (65, "subgroup shuffle"),
    (66, "subgroup shuffle relative"),
    (4433, "storageBuffer16BitAccess"),
    (4448, "storageBuffer8BitAccess"),
    (5116, "shaderBFloat16Type"),
    (5118, "shaderBFloat16CooperativeMatrix"),
    (5345, "vulkanMemoryModel"),
    (5347, "bufferDeviceAddress"),
    (6018, "shaderIntegerDotProduct"),
    (6019, "shaderIntegerDotProduct"),
    (6022, "cooperativeMatrix"),
    (4466, "shaderSignedZeroInfNanPreserveFloat32"),
];

/// Capabilities that every Vulkan 1.2 device has, or that need no feature.
const ALWAYS: &[u32] = &[0, 1, 50, 56];

impl Caps {
    /// The kernel itself, or its plain form where the device lacks what it needs.
    pub fn fitting(&self, kernel: Kernel) -> Kernel {
        match (self.missing(kernel), kernel.info().plain) {
            (Some(_), Some(plain)) => Kernel(plain),
            _ => kernel,
        }
    }

    /// The name of a feature that the kernel needs and the device lacks.
    pub fn missing(&self, kernel: Kernel) -> Option<&'static str> {
        let need = kernel.info().capabilities.iter().find(|c| !ALWAYS.contains(c) && !self.capabilities.contains(c))?;
        Some(CAPABILITY_NAMES.iter().find(|row| row.0 == *need).map_or("an unknown SPIR-V capability", |row| row.1))
    }
}
