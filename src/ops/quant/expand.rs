//! Packed weights expanded: whole tensors, or the rows that indices pick.

use super::matmul::expand_blocks;
use super::product::{NOWHERE, codebook, real_spec, real_variant};
use crate::kernels::kernel;
use crate::ops::contraction::index_kind;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operand, Operator, Reference, checked_index};
use crate::tensor::{BLOCK_TYPES, ElementType, Tensor, TensorType, dims_text};
use crate::{Result, attributes, bail, ensure};

attributes! {
    /// The expanded tensor of w [..,N,K]; transpose: [..,K,N].
    pub struct Dequantize { to: ElementType = ElementType::F32, transpose: bool = false }
}

attributes! {
    /// `Dequantize` for w of rank 3.
    pub struct DequantMoEWeights { to: ElementType = ElementType::F32, transpose: bool = false }
}

attributes! {
    /// Rows idx of w [N,K], expanded: dims of idx, then K. Negative indices count from the end; checked. The embedding of tokens.
    pub struct DequantGather { to: ElementType = ElementType::F32 }
}

crate::entries!(Dequantize: || cases("Dequantize"), DequantMoEWeights: || cases("DequantMoEWeights"), DequantGather: gather_cases);

fn check_types(w: &TensorType, to: ElementType) -> Result<()> {
    ensure!(w.element.is_block(), InvalidGraph, "w must be of a packed type, not {}", w.element);
    ensure!(to.is_float(), InvalidGraph, "\"to\" must be a float type, not {to}");
    Ok(())
}

fn infer(to: ElementType, transpose: bool, rank: Option<usize>, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
    ins.expect(1..=1)?;
    let w = ins.get(0)?;
    check_types(w, to)?;
    ensure!(rank.is_none_or(|r| r == w.rank()), InvalidGraph, "w must be of rank 3, not {}", dims_text(&w.dims));
    let mut out = w.with_element(to);
    if transpose {
        ensure!(w.rank() >= 2, InvalidGraph, "transposing needs rank 2 or more, w is {}", dims_text(&w.dims));
        out.dims.swap(w.rank() - 2, w.rank() - 1);
    }
    Ok(vec![out])
}

fn reference(transpose: bool, at: &Reference) -> Result<Vec<Tensor>> {
    let w = at.input(0)?;
    let mut values = expand_blocks(w);
    if let (true, [.., n, k]) = (transpose, w.dims()) {
        let plain = values.clone();
        for (i, v) in values.iter_mut().enumerate() {
            let (matrix, place) = (i / (n * k) * (n * k), i % (n * k));
            *v = plain[matrix + place % n * k + place / n];
        }
    }
    Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &values)])
}

/// What expand.comp is launched with: rows of K that come out, and rows of the matrix they come from.
struct Launch {
    rows: usize,
    n: usize,
    k: usize,
    transpose: bool,
    /// Indices and their type.
    idx: Option<(Operand, ElementType)>,
}

fn launch(at: &mut Lowering, launch: Launch) -> Result<()> {
    let Launch { rows, n, k, transpose, idx } = launch;
    let (packed, to) = (at.input_type(0).element, at.output_type(0).element);
    let eights = rows * k / 8;
    ensure!(
        eights < 1 << 32 && rows < 1 << 32 && n < 1 << 28 && k < 1 << 28 && (!transpose || rows / n * k < 1 << 32),
        Unsupported,
        "expanding {packed} [{rows},{k}], more than 2^35 elements or an extent above the limit"
    );
    let (w, y, node) = (at.input(0), at.output(0), at.node_number() as usize);
    let state = if idx.is_some() { at.run_state() } else { NOWHERE };
    let book = codebook(at, packed);
    let mut dispatch = at
        .dispatch(kernel::quant_expand(real_variant(to), packed.name())?)
        .read("w", w)
        .write("y", y)
        .read("idx", idx.map_or(NOWHERE, |i| i.0))
        .read_write("state", state)
        .uint("eights", eights)
        .uint("n", n)
        .uint("k", k)
        .uint("node", node)
        .spec("TRANSPOSE", transpose.into())
        .spec("GATHER", idx.is_some().into())
        .spec("INDEX", idx.map_or(0, |i| index_kind(i.1)));
    if let Some(book) = book {
        dispatch = dispatch.read("codebook", book);
    }
    real_spec(dispatch, to).groups(eights.div_ceil(256))
}

fn lower(transpose: bool, at: &mut Lowering) -> Result<()> {
    let w = at.input_type(0);
    if w.elements() == 0 {
        return Ok(());
    }
    let n = if w.rank() >= 2 { w.dims[w.rank() - 2] } else { 1 };
    launch(at, Launch { rows: w.elements() / w.last(), n, k: w.last(), transpose, idx: None })
}

macro_rules! expand_operator {
    ($name:ident, $rank:expr) => {
        impl Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> Attributes {
                self.to_attributes()
            }
            fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
                infer(self.to, self.transpose, $rank, ins)
            }
            fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
                reference(self.transpose, at)
            }
            fn lower(&self, at: &mut Lowering) -> Result<()> {
                lower(self.transpose, at)
            }
        }
    };
}
expand_operator!(Dequantize, None);
expand_operator!(DequantMoEWeights, Some(3));

impl Operator for DequantGather {
    fn name(&self) -> &'static str {
        "DequantGather"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn checked_inputs(&self) -> &'static [usize] {
        &[1]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=2)?;
        let (w, idx) = (ins.get(0)?, ins.get(1)?);
        check_types(w, self.to)?;
        let &[_, k] = &w.dims[..] else { bail!(InvalidGraph, "w must be [N,K], not {}", dims_text(&w.dims)) };
        use ElementType::{I32, I64, U32, U64};
        let index = matches!(idx.element, I32 | I64 | U32 | U64);
        ensure!(index, InvalidGraph, "idx must be i32, i64, u32 or u64, not {}", idx.element);
        Ok(vec![TensorType::checked(self.to, &[&idx.dims[..], &[k]].concat())?])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (w, idx) = (at.input(0)?, at.input(1)?.to_i128());
        let row = w.ty().with_dims([1, w.ty().last()]);
        let mut values = Vec::with_capacity(at.output_type(0).elements());
        for (i, &index) in idx.iter().enumerate() {
            let from = checked_index(at, index, w.dims()[0], true, i)? * row.bytes();
            values.extend(expand_blocks(&Tensor::from_bytes(row.clone(), &w.bytes()[from..from + row.bytes()])?));
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &values)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (w, idx) = (at.input_type(0), at.input_type(1));
        if at.output_type(0).elements() == 0 {
            return Ok(());
        }
        let indices = Some((at.input(1), idx.element));
        launch(at, Launch { rows: idx.elements(), n: w.dims[0], k: w.dims[1], transpose: false, idx: indices })
    }
}

fn cases(name: &str) -> Vec<Case> {
    use ElementType::{Bf16, F16, F32, F64, Q4K, Q6K, Q8_0};
    let case = |element: ElementType, to: ElementType, transpose: bool, dims: &[usize]| {
        let transpose = Attribute::Int(transpose.into());
        Case::new(name, &[("to", Attribute::Text(to.name().into())), ("transpose", transpose)]).input(element, dims)
    };
    let mut out = Vec::new();
    if name == "DequantMoEWeights" {
        out.push(case(Q4K, F16, false, &[3, 5, 256]));
        out.push(case(Q8_0, F32, true, &[3, 7, 64]));
        out.push(case(Q8_0, F32, true, &[2, 0, 64]));
        return out;
    }
    for (i, element) in BLOCK_TYPES.into_iter().enumerate() {
        out.push(case(element, [F32, F16, Bf16, F64][i % 4], i % 3 == 0, &[3, 256]));
    }
    for dims in [&[256][..], &[0, 256], &[5, 0], &[2, 1, 3, 512]] {
        out.push(case(Q6K, F32, false, dims));
    }
    out.push(case(Q8_0, F32, true, &[257, 32]));
    out.push(case(Q8_0, F16, false, &[65537, 32]));
    out
}

fn gather_cases() -> Vec<Case> {
    use ElementType::{F16, F32, I32, I64, Q4K, Q6K, Q8_0, U32};
    let case = |element: ElementType, to: ElementType, n: usize, k: usize, idx: ElementType, dims: &[usize]| {
        let low = if idx == U32 { 0.0 } else { -(n as f64) };
        let case = Case::new("DequantGather", &[("to", Attribute::Text(to.name().into()))]).input(element, &[n, k]);
        case.fill(idx, dims, Fill::Range(low, n as f64))
    };
    vec![
        case(Q4K, F32, 37, 512, I64, &[5]),
        case(Q6K, F32, 11, 256, I32, &[2, 3]),
        case(Q8_0, F16, 300, 32, U32, &[1031]),
        case(Q8_0, F32, 4, 64, I64, &[]),
        case(Q8_0, F32, 4, 64, I64, &[0]),
    ]
}
