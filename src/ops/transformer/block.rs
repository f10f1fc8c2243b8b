//! FusedAttentionBlock: the products around an attention, and the attention, as one operator.

use super::attention::{Attention, HeadLayout, MaskKind};
use super::attention_lower::{Operands, lower_attention};
use super::rope::{Rope, RopeLayout, RopeOperands, RopeStyle, lower_rope};
use crate::ops::contraction::{Epilogue, Matrix, MatrixView, Product, lower_product, multiply};
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operand, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// y = attention(rope(q), rope(k), v) @ out_w with q, k, v the parts of hidden @ qkv_w.
    pub struct FusedAttentionBlock { num_heads: usize, head_dim: usize, has_bias: bool, has_rope: bool }
}

crate::entries!(FusedAttentionBlock: cases);

// The inputs, in the order of the contract.
const HIDDEN: usize = 0;
const QKV_W: usize = 1;
const OUT_W: usize = 2;
const MASK: usize = 3;
const QKV_B: usize = 4;
const OUT_B: usize = 5;
const COS: usize = 6;
const SIN: usize = 7;

/// Sizes of a checked block.
struct Sizes {
    batch: usize,
    sequence: usize,
    /// Columns of hidden, of all heads, and of y.
    width: usize,
    inner: usize,
    out: usize,
}

impl FusedAttentionBlock {
    fn sizes(&self, ins: &Inputs<TensorType>) -> Result<Sizes> {
        let (hidden, qkv, out) = (ins.get(HIDDEN)?, ins.get(QKV_W)?, ins.get(OUT_W)?);
        ensure!(hidden.element.is_float(), InvalidGraph, "takes floats, not {}", hidden.element);
        let inner = self.num_heads * self.head_dim;
        let [batch, sequence, width] = hidden.dims[..] else {
            crate::bail!(InvalidGraph, "hidden is {hidden}, not [B,S,H]");
        };
        ensure!(qkv.dims == [width, 3 * inner], InvalidGraph, "qkv_w is {qkv}, not [{width},{}]", 3 * inner);
        ensure!(out.rank() == 2 && out.dims[0] == inner, InvalidGraph, "out_w is {out}, not [{inner},H]");
        let sizes = Sizes { batch, sequence, width, inner, out: out.dims[1] };
        let floats = [(QKV_W, "qkv_w"), (OUT_W, "out_w"), (QKV_B, "qkv_b"), (OUT_B, "out_b"), (COS, "cos"), (SIN, "sin")];
        for (i, name) in floats {
            if let Some(x) = ins.opt(i) {
                ensure!(x.element == hidden.element, InvalidGraph, "hidden is {}, {name} is {}", hidden.element, x.element);
            }
        }
        for (i, name, wanted, length) in [(QKV_B, "qkv_b", self.has_bias, 3 * inner), (OUT_B, "out_b", self.has_bias, sizes.out)] {
            ensure!(ins.opt(i).is_some() == wanted, InvalidGraph, "has_bias is {}, {name} says otherwise", self.has_bias);
            ensure!(ins.opt(i).is_none_or(|b| b.dims == [length]), InvalidGraph, "{name} is not [{length}]");
        }
        let tables = ins.opt(COS).is_some() && ins.opt(SIN).is_some();
        ensure!(tables == self.has_rope, InvalidGraph, "has_rope is {}, cos and sin say otherwise", self.has_rope);
        Ok(sizes)
    }

    fn rope(&self) -> Rope {
        Rope { head_dim: self.head_dim, n_rot: None, style: RopeStyle::NeoX, layout: RopeLayout::Bsh }
    }

    fn attention(&self) -> Attention {
        Attention {
            num_heads: self.num_heads,
            num_kv_heads: None,
            head_dim: self.head_dim,
            v_head_dim: None,
            layout: HeadLayout::Bshd,
            mask: MaskKind::Custom,
            window: None,
            scale: None,
            softcap: 0.0,
        }
    }

    /// The type of q, of k and of v.
    fn heads(&self, s: &Sizes, element: ElementType) -> TensorType {
        TensorType::new(element, [s.batch, s.sequence, self.num_heads, self.head_dim])
    }
}

impl Operator for FusedAttentionBlock {
    fn name(&self) -> &'static str {
        "FusedAttentionBlock"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(4..=8)?;
        let s = self.sizes(ins)?;
        let hidden = ins.get(HIDDEN)?;
        let heads = self.heads(&s, hidden.element);
        self.attention().infer(&Inputs(&[Some(&heads), Some(&heads), Some(&heads), Some(ins.get(MASK)?)]))?;
        if self.has_rope {
            let x = TensorType::new(hidden.element, [s.batch, s.sequence, s.inner]);
            self.rope().infer(&Inputs(&[Some(&x), Some(ins.get(COS)?), Some(ins.get(SIN)?)]))?;
        }
        Ok(vec![hidden.with_dims([s.batch, s.sequence, s.out])])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let types: Vec<Option<&TensorType>> = (0..at.inputs.len()).map(|i| at.opt(i).map(Tensor::ty)).collect();
        let s = self.sizes(&Inputs(&types))?;
        let wide = |t: &Tensor| Tensor::from_f64(TensorType::new(ElementType::F64, t.dims()), &t.to_f64());
        let rows = s.batch * s.sequence;
        let packed = linear([rows, 3 * s.inner, s.width], &at.input(HIDDEN)?.to_f64(), at.input(QKV_W)?, at.opt(QKV_B));
        let heads = self.heads(&s, ElementType::F64);
        let part = |i: usize| -> Result<Tensor> {
            let values: Vec<f64> = packed.chunks(3 * s.inner).flat_map(|row| &row[i * s.inner..][..s.inner]).copied().collect();
            let x = Tensor::from_f64(heads.clone(), &values);
            if !self.has_rope || i == 2 {
                return Ok(x);
            }
            let (cos, sin) = (wide(at.input(COS)?), wide(at.input(SIN)?));
            let inputs = [Some(&x), Some(&cos), Some(&sin)];
            let turned = self.rope().reference(&inner(at, &inputs, std::slice::from_ref(&heads)))?;
            Ok(turned.into_iter().next().unwrap_or(x))
        };
        let (q, k, v) = (part(0)?, part(1)?, part(2)?);
        let mask = at.input(MASK)?;
        let mask = if mask.element().is_float() { wide(mask) } else { mask.clone() };
        let inputs = [Some(&q), Some(&k), Some(&v), Some(&mask)];
        let mixed = self.attention().reference(&inner(at, &inputs, std::slice::from_ref(&heads)))?;
        let y = linear([rows, s.out, s.inner], &mixed[0].to_f64(), at.input(OUT_W)?, at.opt(OUT_B));
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let types: Vec<Option<&TensorType>> = (0..at.input_count()).map(|i| at.has_input(i).then(|| at.input_type(i))).collect();
        let ins = Inputs(&types);
        let (s, element) = (self.sizes(&ins)?, at.input_type(HIDDEN).element);
        let (rows, bytes) = (s.batch * s.sequence, element.bytes());
        let heads = self.heads(&s, element);
        let mut parts: Vec<Operand> = Vec::new();
        for i in 0..3 {
            // Columns i*inner.. of qkv_w, so that q, k and v come out dense.
            let w = at.input(QKV_W);
            let columns = w.part(i * s.inner * bytes, w.bytes - i * s.inner * bytes);
            let y = at.temp(rows * s.inner * bytes);
            let mut product = Product::dense(element, [rows, s.inner, s.width], at.input(HIDDEN), columns, false, y);
            product.b = Matrix { operand: columns, line: 1, k: 3 * s.inner };
            if self.has_bias {
                let bias = at.input(QKV_B).part(i * s.inner * bytes, s.inner * bytes);
                product.epilogue = Epilogue { bias: Some(bias), ..Epilogue::default() };
            }
            lower_product(at, &product)?;
            parts.push(y);
        }
        if self.has_rope {
            let (cos, sin) = (at.input(COS), at.input(SIN));
            for part in &mut parts[..2] {
                let y = at.temp(rows * s.inner * bytes);
                let operands = RopeOperands { x: *part, cos, sin, positions: None, y };
                lower_rope(at, &self.rope(), &heads, at.input_type(COS), &operands)?;
                *part = y;
            }
        }
        let op = self.attention();
        let mixed = at.temp(rows * s.inner * bytes);
        let mask = Some((at.input(MASK), at.input_type(MASK)));
        let sizes = op.sizes(&Inputs(&[Some(&heads), Some(&heads), Some(&heads)]))?;
        let operands = Operands { element, q: parts[0], k: parts[1], v: parts[2], mask, kv_len: None, sinks: None, y: mixed };
        lower_attention(at, &op, &sizes, &operands)?;
        let mut product = Product::dense(element, [rows, s.out, s.inner], mixed, at.input(OUT_W), false, at.output(0));
        if self.has_bias {
            product.epilogue = Epilogue { bias: Some(at.input(OUT_B)), ..Epilogue::default() };
        }
        lower_product(at, &product)
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        self.sizes(ins).map_or(1, |s| s.width.max(s.inner).max(s.sequence))
    }
}

/// What the references of the operators inside are given.
fn inner<'a>(at: &Reference, inputs: &'a [Option<&'a Tensor>], outputs: &'a [TensorType]) -> Reference<'a> {
    Reference { inputs: Inputs(inputs), outputs, run: at.run, unchecked_indices: at.unchecked_indices }
}

/// x [m,k] @ w [k,n] (+ bias) in f64.
fn linear([m, n, k]: [usize; 3], x: &[f64], w: &Tensor, bias: Option<&Tensor>) -> Vec<f64> {
    let (w, bias) = (w.to_f64(), bias.map(Tensor::to_f64));
    let mut y = vec![0.0; m * n];
    let (a, b) = (MatrixView { values: x, start: 0, row: k, col: 1 }, MatrixView { values: &w, start: 0, row: n, col: 1 });
    multiply(m, n, k, a, b, &mut y);
    if let Some(bias) = bias {
        y.iter_mut().enumerate().for_each(|(i, v)| *v += bias[i % n]);
    }
    y
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let case = |element: ElementType, [b, s, h]: [usize; 3], [heads, d]: [usize; 2], bias: bool, rope: bool| {
        let list = [
            ("num_heads", Attribute::Int(heads as i64)),
            ("head_dim", Attribute::Int(d as i64)),
            ("has_bias", Attribute::Int(bias.into())),
            ("has_rope", Attribute::Int(rope.into())),
        ];
        let inner = heads * d;
        let mut case = Case::new("FusedAttentionBlock", &list)
            .input(element, &[b, s, h])
            .input(element, &[h, 3 * inner])
            .input(element, &[inner, h])
            .input(ElementType::Bool, &[b, s]);
        case = match bias {
            true => case.input(element, &[3 * inner]).input(element, &[h]),
            false => case.none().none(),
        };
        if rope { case.input(element, &[s, d / 2]).input(element, &[s, d / 2]) } else { case }
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        out.push(case(element, [2, 5, 12], [2, 8], true, true));
        out.push(case(element, [1, 7, 10], [3, 4], false, false));
    }
    out.push(case(ElementType::F32, [0, 5, 12], [1, 8], true, false));
    out
}
