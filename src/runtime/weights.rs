//! Named parameters in device memory, shared by every executable that is compiled against them.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::buffer::Storage;
use super::device::Device;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, bail, ensure, error};

/// A set of weights. The first use of a name fixes its type.
pub struct Weights {
    device: Arc<Device>,
    map: RwLock<HashMap<String, Arc<Weight>>>,
}

pub(crate) struct Weight {
    pub ty: TensorType,
    pub storage: Storage,
    filled: std::sync::atomic::AtomicBool,
}

impl Weight {
    pub fn is_filled(&self) -> bool {
        self.filled.load(std::sync::atomic::Ordering::Acquire)
    }

    /// The type of data for it whose elements are `element`.
    fn given_as(&self, name: &str, element: ElementType) -> Result<TensorType> {
        let same = element == self.ty.element;
        let convertible = element.is_float() && self.ty.element.is_float();
        ensure!(same || convertible, InvalidArgument, "param \"{name}\": got {element}, it is {}", self.ty);
        Ok(self.ty.with_element(element))
    }

    /// Refuses data of a type that cannot be taken.
    fn check(&self, name: &str, ty: &TensorType) -> Result<()> {
        let (have, want) = (crate::tensor::dims_text(&ty.dims), &self.ty);
        ensure!(ty.dims == want.dims, InvalidArgument, "param \"{name}\": got dims {have}, it is {want}");
        self.given_as(name, ty.element).map(drop)
    }

    fn fill(&self, device: &Device, ty: &TensorType, data: &[u8]) -> Result<()> {
        if ty.element == self.ty.element {
            self.storage.write(device, 0, data)?;
        } else {
            let tensor = Tensor::from_f64(self.ty.clone(), &Tensor::from_bytes(ty.clone(), data)?.to_f64());
            self.storage.write(device, 0, tensor.bytes())?;
        }
        self.filled.store(true, std::sync::atomic::Ordering::Release);
        Ok(())
    }
}

impl Weights {
    pub fn new(device: &Arc<Device>) -> Arc<Self> {
        Arc::new(Self { device: device.clone(), map: RwLock::default() })
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The weight of this name, made (unfilled) if it is new. An error if it has another type.
    pub(crate) fn declare(&self, name: &str, ty: &TensorType) -> Result<Arc<Weight>> {
        let mut map = self.map.write().map_err(|_| error!(Internal, "weights failed before"))?;
        if let Some(weight) = map.get(name) {
            ensure!(weight.ty == *ty, InvalidArgument, "param \"{name}\": the weights hold {}, the graph declares {ty}", weight.ty);
            return Ok(weight.clone());
        }
        let storage = Storage::new(&self.device, &format!("param \"{name}\" ({ty})"), ty)?;
        let weight = Arc::new(Weight { ty: ty.clone(), storage, filled: false.into() });
        map.insert(name.into(), weight.clone());
        Ok(weight)
    }

    /// True if the weight of this name has been filled.
    pub fn is_set(&self, name: &str) -> bool {
        self.map.read().is_ok_and(|map| map.get(name).is_some_and(|w| w.is_filled()))
    }

    fn known(&self, name: &str) -> Result<Option<Arc<Weight>>> {
        Ok(self.map.read().map_err(|_| error!(Internal, "weights failed before"))?.get(name).cloned())
    }

    /// Fills a weight. If the name is known (declared by a compile or set before) floats are converted to its type; otherwise the name
    /// takes this type.
    pub fn set(&self, name: &str, element: ElementType, dims: Option<&[usize]>, data: &[u8]) -> Result<()> {
        let ty = match (self.known(name)?, dims) {
            (_, Some(dims)) => TensorType::checked(element, dims).map_err(|e| e.within(format!("param \"{name}\"")))?,
            (Some(weight), None) => weight.given_as(name, element)?,
            (None, None) => bail!(InvalidArgument, "there is no param \"{name}\""),
        };
        self.set_all(&[(name, ty, data)], |_, _| ())
    }

    /// Fills weights: all of them, or none if one does not fit or there is no memory. `progress` is told how many bytes of how many are done.
    pub fn set_all(&self, given: &[(&str, TensorType, &[u8])], mut progress: impl FnMut(u64, u64)) -> Result<()> {
        for (name, ty, data) in given {
            if let Some(weight) = self.known(name)? {
                weight.check(name, ty)?;
            }
            let (have, need) = (data.len(), ty.bytes());
            ensure!(have == need, InvalidArgument, "param \"{name}\": got {have} bytes, {ty} needs {need}");
        }
        let weights = self.declare_all(given)?;
        let total = given.iter().map(|g| g.2.len() as u64).sum();
        let mut done = 0;
        for (weight, (_, ty, data)) in weights.iter().zip(given) {
            weight.fill(&self.device, ty, data)?;
            done += data.len() as u64;
            progress(done, total);
        }
        Ok(())
    }

    /// The weights of these names. Those that are new are taken back if one cannot be made.
    fn declare_all(&self, given: &[(&str, TensorType, &[u8])]) -> Result<Vec<Arc<Weight>>> {
        let (mut weights, mut fresh) = (Vec::with_capacity(given.len()), Vec::new());
        for (name, ty, _) in given {
            let known = self.known(name)?;
            let is_new = known.is_none();
            match known.map_or_else(|| self.declare(name, ty), Ok) {
                Ok(weight) => weights.push(weight),
                Err(error) => {
                    let mut map = self.map.write().map_err(|_| error!(Internal, "weights failed before"))?;
                    fresh.iter().for_each(|name: &&str| drop(map.remove(*name)));
                    return Err(error);
                }
            }
            if is_new {
                fresh.push(*name);
            }
        }
        Ok(weights)
    }

    /// A copy of a weight that has been filled.
    pub fn read(&self, name: &str) -> Result<Option<Tensor>> {
        let Some(weight) = self.known(name)?.filter(|w| w.is_filled()) else { return Ok(None) };
        let mut tensor = Tensor::zeros(weight.ty.clone());
        weight.storage.read(&self.device, 0, tensor.bytes_mut())?;
        Ok(Some(tensor))
    }

    /// Names and types, sorted by name.
    pub fn list(&self) -> Vec<(String, TensorType)> {
        let map = self.map.read().map(|m| m.iter().map(|(k, v)| (k.clone(), v.ty.clone())).collect::<Vec<_>>());
        let mut out = map.unwrap_or_default();
        out.sort_by(|a, b| a.0.cmp(&b.0));
        out
    }
}
