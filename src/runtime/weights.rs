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

    /// Fills a weight. If the name is known (declared by a compile or set before) floats are converted to its type; otherwise the name
    /// takes this type.
    pub fn set(&self, name: &str, element: ElementType, dims: Option<&[usize]>, data: &[u8]) -> Result<()> {
        let known = self.map.read().map_err(|_| error!(Internal, "weights failed before"))?.get(name).cloned();
        let weight = match (known, dims) {
            (Some(weight), dims) => {
                if let Some(dims) = dims {
                    let (have, want) = (crate::tensor::dims_text(dims), &weight.ty);
                    ensure!(dims == weight.ty.dims, InvalidArgument, "param \"{name}\": got dims {have}, it is {want}");
                }
                weight
            }
            (None, Some(dims)) => self.declare(name, &TensorType::checked(element, dims)?)?,
            (None, None) => bail!(InvalidArgument, "there is no param \"{name}\""),
        };
        let given = weight.ty.with_element(element);
        let block_fits = !element.is_block() || element == weight.ty.element;
        ensure!(block_fits, InvalidArgument, "param \"{name}\": got {element}, it is {}", weight.ty);
        ensure!(
            data.len() == given.bytes(),
            InvalidArgument,
            "param \"{name}\": got {} bytes, {given} needs {}",
            data.len(),
            given.bytes()
        );
        if element == weight.ty.element {
            weight.storage.write(&self.device, 0, data)?;
        } else {
            let convertible = element.is_float() && weight.ty.element.is_float();
            ensure!(convertible, InvalidArgument, "param \"{name}\": got {element}, it is {}", weight.ty);
            let tensor = Tensor::from_f64(weight.ty.clone(), &Tensor::from_bytes(given, data)?.to_f64());
            weight.storage.write(&self.device, 0, tensor.bytes())?;
        }
        weight.filled.store(true, std::sync::atomic::Ordering::Release);
        Ok(())
    }

    /// Names and types, sorted by name.
    pub fn list(&self) -> Vec<(String, TensorType)> {
        let map = self.map.read().map(|m| m.iter().map(|(k, v)| (k.clone(), v.ty.clone())).collect::<Vec<_>>());
        let mut out = map.unwrap_or_default();
        out.sort_by(|a, b| a.0.cmp(&b.0));
        out
    }
}
