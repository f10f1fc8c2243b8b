//! Inputs to test, document and time an operator with.

use half::f16;

use super::{Attribute, Attributes, OperatorRef, entry};
use crate::tensor::{ElementType, Tensor, TensorType};

/// What to fill an input with. The values follow from the seed alone.
#[derive(Clone, Debug)]
pub enum Fill {
    /// Floats: normal, mean 0, deviation 1. Integers: the whole range of the type. Bool: half true. Blocks: random, with sane scales.
    Any,
    /// Uniform in low..high (integers: low..high without high).
    Range(f64, f64),
    /// These values, repeated.
    Values(Vec<f64>),
}

/// One operator with inputs of these types.
#[derive(Clone, Debug)]
pub struct Case {
    pub operator: OperatorRef,
    pub inputs: Vec<Option<(TensorType, Fill)>>,
}

impl Case {
    /// A case of the operator with these attributes; panics if they are wrong: cases are literals.
    pub fn new(name: &str, attributes: &[(&str, Attribute)]) -> Self {
        let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        let operator =
            (entry(name).expect("the case names an operator").build)(name, &attributes).expect("the case's attributes are right");
        Self { operator, inputs: Vec::new() }
    }

    pub fn input(self, element: ElementType, dims: &[usize]) -> Self {
        self.fill(element, dims, Fill::Any)
    }

    pub fn fill(mut self, element: ElementType, dims: &[usize], fill: Fill) -> Self {
        self.inputs.push(Some((TensorType::new(element, dims), fill)));
        self
    }

    /// An absent optional input.
    pub fn none(mut self) -> Self {
        self.inputs.push(None);
        self
    }

    /// A tensor filled as an input of a case is.
    pub fn part(ty: TensorType, fill: Fill, seed: u64) -> Tensor {
        filled(&ty, &fill, &mut Random::new(seed))
    }

    /// "Softmax{axis: -1} f32 [2,3]".
    pub fn title(&self) -> String {
        let types: Vec<String> = self.inputs.iter().map(|i| i.as_ref().map_or("-".into(), |(ty, _)| ty.to_string())).collect();
        format!("{:?} {}", self.operator, types.join(", "))
    }

    /// The inputs filled.
    pub fn tensors(&self, seed: u64) -> Vec<Option<Tensor>> {
        let mut random = Random::new(seed);
        self.inputs.iter().map(|i| i.as_ref().map(|(ty, fill)| filled(ty, fill, &mut random))).collect()
    }
}

/// A small generator (SplitMix64, Steele et al. 2014): tests need no more.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal, mean 0, deviation 1 (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

fn filled(ty: &TensorType, fill: &Fill, random: &mut Random) -> Tensor {
    let count = ty.elements();
    if ty.element.is_block() {
        return random_blocks(ty, random);
    }
    if ty.element == ElementType::C64 {
        let values: Vec<f32> = (0..2 * count).map(|_| random.normal() as f32).collect();
        return Tensor::from_bytes(ty.clone(), bytemuck::cast_slice(&values)).expect("two f32 an element");
    }
    match fill {
        Fill::Any if ty.element.is_float() => {
            Tensor::from_f64(ty.clone(), &(0..count).map(|_| random.normal()).collect::<Vec<_>>())
        }
        Fill::Any if ty.element == ElementType::Bool => {
            Tensor::from_i128(ty.clone(), &(0..count).map(|_| i128::from(random.next() & 1)).collect::<Vec<_>>())
        }
        Fill::Any => Tensor::from_i128(ty.clone(), &(0..count).map(|_| i128::from(random.next())).collect::<Vec<_>>()),
        Fill::Range(low, high) if ty.element.is_float() => {
            Tensor::from_f64(ty.clone(), &(0..count).map(|_| low + random.unit() * (high - low)).collect::<Vec<_>>())
        }
        Fill::Range(low, high) => Tensor::from_i128(
            ty.clone(),
            &(0..count).map(|_| (low + random.unit() * (high - low)).floor() as i128).collect::<Vec<_>>(),
        ),
        Fill::Values(values) => Tensor::from_f64(ty.clone(), &(0..count).map(|i| values[i % values.len()]).collect::<Vec<_>>()),
    }
}

/// Random bytes with the blocks' f16 scales made small and finite, so that products stay within f32.
fn random_blocks(ty: &TensorType, random: &mut Random) -> Tensor {
    let mut tensor = Tensor::zeros(ty.clone());
    tensor.bytes_mut().iter_mut().for_each(|b| *b = random.next() as u8);
    let scale = |random: &mut Random| f16::from_f64(0.01 + 0.02 * random.unit()).to_le_bytes();
    use ElementType::*;
    let (f16_at, f32_at): (&[usize], Option<usize>) = match ty.element {
        Q4_0 | Q5_0 | Q8_0 | Iq4Nl | Iq4Xs | Iq2Xxs | Iq2Xs | Iq2S | Iq3Xxs | Iq3S | Iq1S => (&[0], None),
        Q4_1 | Q5_1 | Q4K | Q5K => (&[0, 2], None),
        Q2K => (&[80, 82], None),
        Q3K => (&[108], None),
        Q6K => (&[208], None),
        Tq1_0 => (&[52], None),
        Tq2_0 => (&[64], None),
        Q8K => (&[], Some(0)),
        _ => (&[], None),
    };
    let element = ty.element;
    for block in tensor.bytes_mut().chunks_exact_mut(element.block_bytes()) {
        for &at in f16_at {
            block[at..at + 2].copy_from_slice(&scale(random));
        }
        if let Some(at) = f32_at {
            block[at..at + 4].copy_from_slice(&(0.01f32 + 0.02 * random.unit() as f32).to_le_bytes());
        }
        match element {
            // The f16 scale of iq1_m lies in the top 4 bits of its four 16-bit scale words.
            Iq1M => {
                let bits = u16::from_le_bytes(scale(random));
                for word in 0..4 {
                    block[48 + 2 * word + 1] = (block[48 + 2 * word + 1] & 0x0f) | ((bits >> (4 * word)) as u8 & 0x0f) << 4;
                }
            }
            Mxfp4 => block[0] = 120 + (block[0] & 7),
            _ => {}
        }
    }
    tensor
}
