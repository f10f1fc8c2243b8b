//! Rotary embeddings: tables of the angles, for every way of scaling that files name.

use rayon::prelude::*;

use super::attention::Heads;
use super::builder::Builder;
use crate::graph::ValueId;
use crate::ops::Attribute;
use crate::{Result, bail, ensure};

/// How positions turn into angles: position * base^(-2i/rotated), scaled.
#[derive(Clone, Debug)]
pub struct Rotary {
    /// "GptJ": pairs (2i, 2i+1). "NeoX": pairs (i, i + rotated/2).
    pub style: &'static str,
    /// Elements of each head that are turned.
    pub rotated: usize,
    pub base: f64,
    pub scaling: Scaling,
    /// Divisors of the angles, one a pair.
    pub factors: Option<Vec<f64>>,
    /// What cos and sin are multiplied by.
    pub magnitude: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Scaling {
    None,
    /// Positions divided by a factor.
    Linear(f64),
    Yarn(Yarn),
}

/// YaRN: fast pairs keep their angles, slow ones are divided by the factor, with a ramp between (Peng et al. 2023, section 3.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Yarn {
    pub factor: f64,
    /// How much of the ramp is applied; 0: the angles are all divided.
    pub extrapolation: f64,
    /// Turns within the original context above which a pair is fast, and below which it is slow.
    pub fast: f64,
    pub slow: f64,
    /// The context that the model was first trained with.
    pub context: f64,
    /// The ramp begins and ends at whole pairs.
    pub whole: bool,
}

/// Tables of a rotary embedding in a graph.
pub struct RopeTables {
    cos: ValueId,
    sin: ValueId,
    rotated: usize,
    style: &'static str,
}

impl Yarn {
    /// The share of each pair's own angle that is kept.
    fn kept(&self, pairs: usize, base: f64) -> Vec<f64> {
        let turns = |turns: f64| pairs as f64 * (self.context / (turns * std::f64::consts::TAU)).ln() / base.ln();
        let (mut low, mut high) = (turns(self.fast), turns(self.slow));
        if self.whole {
            (low, high) = (low.floor(), high.ceil());
        }
        let (low, high) = (low.max(0.0), high.min(2.0 * pairs as f64 - 1.0));
        let ramp = |i: usize| ((i as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
        (0..pairs).map(|i| (1.0 - ramp(i)) * self.extrapolation).collect()
    }

    /// The factor of cos and sin that keeps the entropy of attention.
    pub fn magnitude(&self) -> f64 {
        if self.extrapolation == 0.0 { 1.0 } else { 1.0 + 0.1 * self.factor.ln() }
    }
}

impl Rotary {
    /// The angle of each pair at position 1.
    fn frequencies(&self) -> Vec<f64> {
        let pairs = self.rotated / 2;
        let own = (0..pairs).map(|i| {
            let divisor = self.factors.as_ref().map_or(1.0, |f| f[i]);
            self.base.powf(-2.0 * i as f64 / self.rotated as f64) / divisor
        });
        match &self.scaling {
            Scaling::None => own.collect(),
            Scaling::Linear(factor) => own.map(|w| w / factor).collect(),
            Scaling::Yarn(yarn) => {
                let kept = yarn.kept(pairs, self.base);
                own.zip(kept).map(|(w, kept)| w / yarn.factor * (1.0 - kept) + w * kept).collect()
            }
        }
    }
}

impl Builder<'_> {
    /// The rotary embedding that the metadata describe, for heads of this size; factors where the file has the tensor `rope_freqs`.
    pub fn rotary(&mut self, heads: Heads, style: &'static str) -> Result<Rotary> {
        let rotated = self.opt_size("rope.dimension_count")?.unwrap_or(heads.size);
        let base = self.float("rope.freq_base", 1e4)?;
        let scaling = self.scaling()?;
        let mut magnitude = self.float("rope.scaling.attn_factor", 1.0)?;
        if let Scaling::Yarn(yarn) = &scaling {
            magnitude *= yarn.magnitude() * self.float("rope.scaling.yarn_attn_factor", 1.0)?;
        }
        let factors = self.values("rope_freqs.weight")?;
        Ok(Rotary { style, rotated, base, scaling, factors, magnitude })
    }

    fn scaling(&self) -> Result<Scaling> {
        let factor = match self.opt_float("rope.scaling.factor")? {
            Some(factor) => factor,
            None => self.float("rope.scale_linear", 1.0)?,
        };
        ensure!(factor > 0.0 && factor.is_finite(), File, "rope.scaling.factor is {factor}");
        match self.text("rope.scaling.type")? {
            Some("none") => Ok(Scaling::None),
            // The factors of these come as a tensor.
            Some("longrope" | "llama3") => Ok(Scaling::None),
            None | Some("linear") if factor == 1.0 => Ok(Scaling::None),
            None | Some("linear") => Ok(Scaling::Linear(factor)),
            Some("yarn") => Ok(Scaling::Yarn(Yarn {
                factor,
                extrapolation: self.float("rope.scaling.yarn_ext_factor", 1.0)?,
                fast: self.float("rope.scaling.yarn_beta_fast", 32.0)?,
                slow: self.float("rope.scaling.yarn_beta_slow", 1.0)?,
                context: self.original_context()? as f64,
                whole: true,
            })),
            Some(other) => {
                bail!(Unsupported, "rope scaling \"{other}\" is not known; known are: none, linear, llama3, longrope, yarn")
            }
        }
    }

    /// The context that the model was first trained with, before its angles were scaled.
    pub fn original_context(&self) -> Result<usize> {
        match self.opt_size("rope.scaling.original_context_length")? {
            Some(context) => Ok(context),
            None => self.size("context_length"),
        }
    }

    /// Tables for every row of the caches.
    pub fn rope_tables(&mut self, name: &str, rotary: &Rotary) -> Result<RopeTables> {
        let Rotary { rotated, style, magnitude, .. } = *rotary;
        ensure!(rotated % 2 == 0 && rotated > 0, File, "a rotary embedding of {rotated} elements");
        let (rows, half) = (self.options.rows(), rotated / 2);
        if let Some(factors) = &rotary.factors {
            ensure!(factors.len() == half, File, "{} rotary factors for {half} pairs", factors.len());
        }
        let frequencies = rotary.frequencies();
        let mut tables = [vec![0f32; rows * half], vec![0f32; rows * half]];
        let [cos, sin] = &mut tables;
        cos.par_chunks_mut(half).zip(sin.par_chunks_mut(half)).enumerate().for_each(|(row, (cos, sin))| {
            for (i, w) in frequencies.iter().enumerate() {
                let angle = row as f64 * w;
                cos[i] = (angle.cos() * magnitude) as f32;
                sin[i] = (angle.sin() * magnitude) as f32;
            }
        });
        let cos = self.constant(&format!("{name}.cos"), &[rows, half], &tables[0])?;
        let sin = self.constant(&format!("{name}.sin"), &[rows, half], &tables[1])?;
        Ok(RopeTables { cos, sin, rotated, style })
    }

    /// Turns the heads of x, [B,S,heads*size] or [B,S,heads,size].
    pub fn rope(&mut self, x: ValueId, heads: Heads, tables: &RopeTables, positions: ValueId, name: &str) -> Result<ValueId> {
        let list = [
            ("head_dim", Attribute::Int(heads.size as i64)),
            ("n_rot", Attribute::Int(tables.rotated as i64)),
            ("style", Attribute::Text(tables.style.into())),
            ("layout", Attribute::Text("BSH".into())),
        ];
        self.node1("Rope", name, &list, &[x, tables.cos, tables.sin, positions])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotary(scaling: Scaling) -> Rotary {
        Rotary { style: "NeoX", rotated: 64, base: 150_000.0, scaling, factors: None, magnitude: 1.0 }
    }

    #[test]
    fn yarn_keeps_fast_pairs_and_divides_slow_ones() {
        let yarn = Yarn { factor: 32.0, extrapolation: 1.0, fast: 32.0, slow: 1.0, context: 4096.0, whole: true };
        let (own, scaled) = (rotary(Scaling::None).frequencies(), rotary(Scaling::Yarn(yarn.clone())).frequencies());
        // The ramp goes from pair 8 to pair 18: 32 * ln(4096 / (32 * 2 pi)) / ln(150000) = 8.09, with 1 turn 17.4.
        for i in [0, 7, 8] {
            assert!((scaled[i] / own[i] - 1.0).abs() < 1e-12, "pair {i}");
        }
        for i in [18, 25, 31] {
            assert!((scaled[i] / own[i] * 32.0 - 1.0).abs() < 1e-12, "pair {i}");
        }
        let middle = scaled[13] / own[13];
        assert!((middle - (0.5 / 32.0 + 0.5)).abs() < 1e-12, "{middle}");
        assert!((yarn.magnitude() - 1.346_573_590_279_972_6).abs() < 1e-12);
    }

    #[test]
    fn linear_scaling_divides_positions() {
        let (own, scaled) = (rotary(Scaling::None).frequencies(), rotary(Scaling::Linear(8.0)).frequencies());
        assert!(own.iter().zip(&scaled).all(|(a, b)| (a / 8.0 - b).abs() < 1e-15));
    }
}
