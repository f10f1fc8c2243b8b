//! Products with packed weights.

use rayon::prelude::*;

use super::affine::{Affine, AffineKind};
use super::product::{AffineOperands, Product, Weights, lower_product};
use crate::ops::contraction::{MatrixView, multiply};
use crate::ops::{Attribute, AttributeField, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{BLOCK_TYPES, ElementType, Tensor, TensorType, blocks, dims_text, element_count};
use crate::{Result, attributes, bail, ensure};

/// How weights are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// w [N,K] of a packed element type.
    Blocks(ElementType),
    /// q * s
    Int8Block,
    /// (q - z) * s
    Int8BlockAsym,
    /// (q - z) * s, z optional
    Int4Block,
    Fp8E4m3,
    Fp8E5m2,
    Nvfp4,
}

const AFFINE_NAMES: [(&str, Scheme); 6] = [
    ("int8_block", Scheme::Int8Block),
    ("int8_block_asym", Scheme::Int8BlockAsym),
    ("int4_block", Scheme::Int4Block),
    ("fp8_e4m3", Scheme::Fp8E4m3),
    ("fp8_e5m2", Scheme::Fp8E5m2),
    ("nvfp4", Scheme::Nvfp4),
];

impl Scheme {
    /// Kind of codes of an affine scheme, and whether a fourth input must be there (Some(true)), must not, or may (None).
    fn affine(self) -> Option<(AffineKind, Option<bool>)> {
        match self {
            Scheme::Blocks(_) => None,
            Scheme::Int8Block => Some((AffineKind::Int8, Some(false))),
            Scheme::Int8BlockAsym => Some((AffineKind::Int8, Some(true))),
            Scheme::Int4Block => Some((AffineKind::Int4, None)),
            Scheme::Fp8E4m3 => Some((AffineKind::Fp8E4m3, Some(false))),
            Scheme::Fp8E5m2 => Some((AffineKind::Fp8E5m2, Some(false))),
            Scheme::Nvfp4 => Some((AffineKind::Nvfp4, Some(true))),
        }
    }
}

impl AttributeField for Scheme {
    fn read(attribute: &Attribute) -> Option<Self> {
        let Attribute::Text(name) = attribute else { return None };
        if let Some(row) = AFFINE_NAMES.iter().find(|row| row.0 == name) {
            return Some(row.1);
        }
        ElementType::from_name(name).ok().filter(|e| e.is_block()).map(Scheme::Blocks)
    }

    fn write(&self) -> Option<Attribute> {
        let name = match self {
            Scheme::Blocks(element) => element.name(),
            other => AFFINE_NAMES.iter().find(|row| row.1 == *other)?.0,
        };
        Some(Attribute::Text(name.into()))
    }
}

attributes! {
    /// y = x @ dequant(w). Block types: w [N,K]. Affine schemes: w [K,N] with scale and zero for each `block` rows and column.
    pub struct DequantMatMul { scheme: Scheme, block: Option<usize> }
}

crate::entries!(DequantMatMul: cases);

/// K and N of packed weights [N,K], and x of K columns.
fn check_blocks(element: ElementType, block: Option<usize>, ins: &Inputs<TensorType>) -> Result<[usize; 2]> {
    let (x, w) = (ins.get(0)?, ins.get(1)?);
    ensure!(w.element == element, InvalidGraph, "w is {}, the scheme is {element}", w.element);
    ensure!((2..ins.len()).all(|i| ins.opt(i).is_none()), InvalidGraph, "{element} weights hold their scales: 2 inputs, not more");
    ensure!(block.is_none(), InvalidGraph, "block is given, {element} weights have blocks of their own");
    let &[n, k] = &w.dims[..] else { bail!(InvalidGraph, "w must be [N,K], not {}", dims_text(&w.dims)) };
    let depth = x.dims.last().copied();
    ensure!(depth == Some(k), InvalidGraph, "x {} and w {}: K must be {k}", dims_text(&x.dims), dims_text(&w.dims));
    Ok([k, n])
}

impl DequantMatMul {
    /// K and N.
    fn sizes(&self, ins: &Inputs<TensorType>) -> Result<[usize; 2]> {
        match (self.scheme, self.affine(ins)?) {
            (Scheme::Blocks(element), _) => check_blocks(element, self.block, ins),
            (_, Some(affine)) => Ok([affine.k, affine.n]),
            (_, None) => bail!(Internal, "a scheme without numbers is neither blocks nor affine"),
        }
    }

    fn affine(&self, ins: &Inputs<TensorType>) -> Result<Option<Affine>> {
        self.scheme.affine().map(|(kind, zero)| Affine::check(kind, self.block, zero, ins)).transpose()
    }
}

/// Packed weights as f64, row-major.
pub fn expand_blocks(w: &Tensor) -> Vec<f64> {
    let mut values = vec![0.0; w.ty().elements()];
    blocks::dequantize(w.element(), w.bytes(), &mut values);
    values.into_iter().map(f64::from).collect()
}

/// Up to this many rows of x, rows of w are expanded one by one instead of all at once.
const FEW: usize = 16;

/// y [m,n] = x [m,k] times packed rows w [n,k], each expanded when its turn comes.
fn multiply_rows(x: &[f64], w: &Tensor, [m, n, k]: [usize; 3]) -> Vec<f64> {
    let bytes = w.ty().with_dims([1, k]).bytes();
    let column = |j: usize| {
        let mut row = vec![0.0; k];
        blocks::dequantize(w.element(), &w.bytes()[j * bytes..(j + 1) * bytes], &mut row);
        let dot = |x: &[f64]| x.iter().zip(&row).map(|(&x, &w)| x * f64::from(w)).sum();
        (0..m).map(|i| dot(&x[i * k..(i + 1) * k])).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..n).into_par_iter().map(column).collect();
    (0..m * n).map(|i| columns[i % n][i / n]).collect()
}

impl Operator for DequantMatMul {
    fn name(&self) -> &'static str {
        "DequantMatMul"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=4)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float(), InvalidGraph, "x must be of a float type, not {}", x.element);
        let [_, n] = self.sizes(ins)?;
        let mut dims = x.dims.clone();
        dims.pop();
        dims.push(n);
        Ok(vec![x.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, w) = (at.input(0)?, at.input(1)?);
        let types: Vec<Option<&TensorType>> = (0..at.inputs.len()).map(|i| at.opt(i).map(Tensor::ty)).collect();
        let ins = Inputs(&types);
        let [k, n] = self.sizes(&ins)?;
        let m = element_count(&x.dims()[..x.dims().len() - 1]);
        if w.element().is_block() && m <= FEW {
            let y = multiply_rows(&x.to_f64(), w, [m, n, k]);
            return Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)]);
        }
        let (values, row, col) = match self.affine(&ins)? {
            None => (expand_blocks(w), 1, k),
            Some(affine) => (affine.expand(w, at.input(2)?, at.opt(3)), n, 1),
        };
        let mut y = vec![0.0; m * n];
        let x = x.to_f64();
        let a = MatrixView { values: &x, start: 0, row: k, col: 1 };
        multiply(m, n, k, a, MatrixView { values: &values, start: 0, row, col }, &mut y);
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let types: Vec<Option<&TensorType>> = (0..at.input_count()).map(|i| at.has_input(i).then(|| at.input_type(i))).collect();
        let ins = Inputs(&types);
        let [k, n] = self.sizes(&ins)?;
        let x = at.input_type(0);
        let weights = match (self.scheme, self.affine(&ins)?) {
            (_, Some(affine)) => {
                let zero = at.has_input(3).then(|| at.input(3));
                Weights::Affine(affine, AffineOperands { w: at.input(1), scale: at.input(2), zero })
            }
            _ => Weights::Blocks { element: at.input_type(1).element, w: at.input(1) },
        };
        let m = element_count(&x.dims[..x.rank() - 1]);
        let product = Product { element: x.element, m, n, k, x: at.input(0), y: at.output(0), weights, experts: None };
        lower_product(at, &product)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).map_or(1, TensorType::last)
    }
}

fn packed_case(element: ElementType, x: ElementType, dims: &[usize], n: usize) -> Case {
    let k = dims.last().copied().unwrap_or(1);
    let case = Case::new("DequantMatMul", &[("scheme", Attribute::Text(element.name().into()))]);
    case.input(x, dims).input(element, &[n, k])
}

fn affine_case(scheme: &str, block: Option<usize>, x: ElementType, [m, k, n]: [usize; 3], zero: bool) -> Case {
    let mut given = vec![("scheme", Attribute::Text(scheme.into()))];
    if let Some(block) = block {
        given.push(("block", Attribute::Int(block as i64)));
    }
    let case = Case::new("DequantMatMul", &given).input(x, &[m, k]);
    let blocks = k.div_ceil(block.unwrap_or(16));
    let codes = Fill::Range(0.0, 126.0);
    match scheme {
        "nvfp4" => {
            case.input(ElementType::U8, &[k, n / 2]).fill(ElementType::U8, &[blocks, n], codes).input(ElementType::F32, &[1])
        }
        "fp8_e4m3" => case.fill(ElementType::U8, &[k, n], codes).input(x, &[n]),
        "fp8_e5m2" => case.fill(ElementType::U8, &[k, n], Fill::Range(0.0, 120.0)).input(x, &[n]),
        _ => {
            let (element, stored) = if scheme == "int4_block" { (ElementType::U8, n / 2) } else { (ElementType::I8, n) };
            let case = case.input(element, &[k, stored]).input(x, &[blocks, n]);
            if zero { case.fill(x, &[blocks, n], Fill::Range(-8.0, 8.0)) } else { case }
        }
    }
}

fn cases() -> Vec<Case> {
    use ElementType::{Bf16, F16, F32, F64};
    let mut out = Vec::new();
    for (i, element) in BLOCK_TYPES.into_iter().enumerate() {
        out.push(packed_case(element, F32, &[1, 768], 7));
        match i % 6 {
            0 => out.push(packed_case(element, F32, &[33, 256], 67)),
            1 => out.push(packed_case(element, F16, &[2, 256], 5)),
            3 => out.push(packed_case(element, Bf16, &[17, 256], 5)),
            5 => out.push(packed_case(element, F64, &[3, 256], 5)),
            _ => {}
        }
    }
    use ElementType::{Iq2Xs, Q4_0, Q4K, Q6K, Q8_0};
    for (i, m) in [2, 3, 4, 7, 8, 9, 17, 129].into_iter().enumerate() {
        out.push(packed_case(if m == 3 { Q8_0 } else { Q4K }, F32, &[m, 512], [13, 67, 41][i % 3]));
    }
    for element in [Q4K, Q6K, Q8_0, Iq2Xs] {
        out.push(packed_case(element, F32, &[1, 4096], 41));
    }
    for element in [Q4_0, Q8_0] {
        out.push(packed_case(element, F32, &[1, 32], 3));
        out.push(packed_case(element, F16, &[19, 96], 131));
    }
    out.push(packed_case(Q4K, F32, &[1, 256], 1));
    for dims in [&[0, 256][..], &[256], &[2, 0, 256], &[2, 3, 256], &[4, 0]] {
        out.push(packed_case(Q4K, F32, dims, 11));
        out.push(packed_case(Q4K, F32, dims, 0));
    }
    out.push(packed_case(Q8_0, F32, &[1, 32], 65537));
    // Every type of x once.
    for (x, [m, k, n]) in [(F32, [1, 64, 10]), (F32, [33, 70, 66]), (F16, [0, 8, 4]), (F64, [2, 300, 130])] {
        out.push(affine_case("int8_block", Some(32), x, [m, k, n + 1], false));
        out.push(affine_case("int4_block", Some(7), x, [m, k, n], m == 1));
        out.push(affine_case("fp8_e4m3", None, x, [m, k, n + 1], false));
        out.push(affine_case("nvfp4", None, x, [m, k, n], true));
    }
    out.push(affine_case("fp8_e5m2", None, F32, [9, 37, 15], false));
    out.push(affine_case("fp8_e5m2", None, F32, [3, 0, 6], false));
    out.push(affine_case("int8_block_asym", Some(32), F16, [5, 37, 15], true));
    out.push(affine_case("int8_block_asym", Some(16), F32, [9, 1, 3], true));
    out.push(affine_case("int4_block", Some(32), Bf16, [40, 64, 6], true));
    out
}
