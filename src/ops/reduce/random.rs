//! RngUniform and RngNormal: Philox4x32-10.

use crate::kernels::kernel;
use crate::ops::{
    Attribute, AttributeField, AttributeReader, Attributes, Case, Entry, Inputs, Lowering, Operator, OperatorRef, Reference,
    RunNumbers, share,
};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, ensure, error};

/// Uniform numbers in low..high, or normal ones of a mean and deviation, of a shape given or taken from an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    pub normal: bool,
    /// low and high, or mean and deviation.
    pub a: f64,
    pub b: f64,
    pub dims: Option<Vec<i64>>,
    /// Which stream of the seed.
    pub key: u32,
    pub element: Option<ElementType>,
}

pub const ENTRIES: &[Entry] = &[
    Entry { name: "RngNormal", build: |name, a| Ok(share(Random::read(true, name, a)?)), cases: || cases("RngNormal") },
    Entry { name: "RngUniform", build: |name, a| Ok(share(Random::read(false, name, a)?)), cases: || cases("RngUniform") },
];

/// Four words of Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, 2011).
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let (p0, p1) = (0xD251_1F53u64 * u64::from(counter[0]), 0xCD9E_8D57u64 * u64::from(counter[2]));
        counter = [(p1 >> 32) as u32 ^ counter[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ counter[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// The words for elements 4 * block.. of a stream in a run.
pub fn words(run: RunNumbers, block: u32, key: u32) -> [u32; 4] {
    philox([block, key, run.run, 0], [run.seed as u32, (run.seed >> 32) as u32])
}

/// The stream of a step of a loop: every step draws numbers of its own, the first those of the key itself.
pub fn step_key(key: u32, step: u32) -> u32 {
    key.wrapping_add(step.wrapping_mul(0x9E37_79B9))
}

/// The upper 24 bits as a number in 0..1.
pub fn unit(word: u32) -> f64 {
    f64::from(word >> 8) / 16_777_216.0
}

impl Random {
    fn names(normal: bool) -> [&'static str; 2] {
        if normal { ["mean", "std"] } else { ["low", "high"] }
    }

    fn read(normal: bool, operator: &str, attributes: &Attributes) -> Result<Self> {
        let mut reader = AttributeReader::new(operator, attributes);
        let [a, b] = Self::names(normal);
        let out = Self {
            normal,
            a: reader.field(a, Some(0.0))?,
            b: reader.field(b, Some(1.0))?,
            dims: reader.field("dims", None)?,
            key: {
                let key: i64 = reader.field("key", Some(0))?;
                u32::try_from(key).map_err(|_| error!(InvalidGraph, "{operator}: key {key} is no u32"))?
            },
            element: reader.field("type", None)?,
        };
        reader.finish()?;
        Ok(out)
    }

    fn values(&self, run: RunNumbers, block: u32) -> [f64; 4] {
        let w = words(run, block, self.key);
        if !self.normal {
            return w.map(|w| self.a + unit(w) * (self.b - self.a));
        }
        let pair = |one: u32, two: u32| {
            let u = (f64::from(one >> 8) + 1.0) / 16_777_216.0;
            let (r, angle) = ((-2.0 * u.ln()).sqrt(), std::f64::consts::TAU * unit(two));
            [self.a + self.b * r * angle.cos(), self.a + self.b * r * angle.sin()]
        };
        let ([a, b], [c, d]) = (pair(w[0], w[1]), pair(w[2], w[3]));
        [a, b, c, d]
    }
}

impl Operator for Random {
    fn name(&self) -> &'static str {
        if self.normal { "RngNormal" } else { "RngUniform" }
    }
    fn attributes(&self) -> Attributes {
        let [a, b] = Self::names(self.normal);
        let mut out = Attributes::from([(a.to_string(), Attribute::Float(self.a)), (b.to_string(), Attribute::Float(self.b))]);
        out.insert("key".into(), Attribute::Int(self.key.into()));
        for (name, value) in [("dims", self.dims.write()), ("type", self.element.write())] {
            if let Some(value) = value {
                out.insert(name.into(), value);
            }
        }
        out
    }
    fn at_step(&self, step: u32) -> Option<OperatorRef> {
        Some(share(Self { key: step_key(self.key, step), ..self.clone() }))
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(0..=1)?;
        let like = ins.opt(0);
        let element = self.element.or(like.map(|l| l.element).filter(|e| e.is_float())).unwrap_or(ElementType::F32);
        ensure!(element.is_float(), InvalidGraph, "makes floats, not {element}");
        let dims = match (&self.dims, like) {
            (Some(dims), None) => {
                let size = |&d: &i64| usize::try_from(d).map_err(|_| error!(InvalidGraph, "a dimension of {d}"));
                dims.iter().map(size).collect::<Result<Vec<_>>>()?
            }
            (None, Some(like)) => like.dims.clone(),
            (Some(_), Some(_)) => crate::bail!(InvalidGraph, "dims and an input are both given"),
            (None, None) => crate::bail!(InvalidGraph, "neither dims nor an input is given"),
        };
        Ok(vec![TensorType::new(element, dims)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let ty = at.output_type(0).clone();
        let mut values: Vec<f64> = (0..ty.elements().div_ceil(4)).flat_map(|block| self.values(at.run, block as u32)).collect();
        values.truncate(ty.elements());
        Ok(vec![Tensor::from_f64(ty, &values)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (ty, y, state) = (at.output_type(0), at.output(0), at.run_state());
        ensure!(ty.elements() < 1 << 31, Unsupported, "{} random numbers are above 2^31", ty.elements());
        at.dispatch(kernel::random(ty.element.name())?)
            .write("y", y)
            .read("state", state)
            .uint("count", ty.elements())
            .uint("key", self.key as usize)
            .float("a", self.a)
            .float("b", self.b)
            .spec("NORMAL", self.normal.into())
            .threads(ty.elements().div_ceil(4))
    }
    fn is_pure(&self) -> bool {
        false
    }
}

fn cases(name: &str) -> Vec<Case> {
    let mut out = Vec::new();
    for element in ["f32", "f16", "bf16", "f64"] {
        for dims in [vec![0], vec![1], vec![5, 29], vec![65537, 3]] {
            let list = [("dims", Attribute::Ints(dims)), ("key", Attribute::Int(7)), ("type", Attribute::Text(element.into()))];
            out.push(Case::new(name, &list));
        }
    }
    out.push(Case::new(name, &[]).input(ElementType::F16, &[3, 5]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the paper's own test vectors (kat_vectors, philox4x32-10).
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }
}
