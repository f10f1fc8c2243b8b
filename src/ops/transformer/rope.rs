//! Rope: rotary position embedding.

use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operand, Operator, Place, Reference, Region, checked_index};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    /// Which elements of a head turn together.
    pub enum RopeStyle {
        /// i and i + n_rot/2.
        NeoX = "NeoX",
        /// 2i and 2i + 1.
        GptJ = "GptJ",
    }
}
attribute_enum! {
    pub enum RopeLayout { Bsh = "BSH", Bshd = "BSHD", Bhsd = "BHSD" }
}
attributes! {
    /// y1 = x1 cos - x2 sin, y2 = x2 cos + x1 sin over the pairs of the first `n_rot` elements of each head.
    pub struct Rope { head_dim: usize, n_rot: Option<usize>, style: RopeStyle, layout: RopeLayout = RopeLayout::Bsh }
}

crate::entries!(Rope: cases);

/// Sizes, and strides in elements.
struct Shape {
    batch: usize,
    sequence: usize,
    heads: usize,
    sequence_stride: usize,
    head_stride: usize,
}

impl Rope {
    fn rotated(&self) -> usize {
        self.n_rot.unwrap_or(self.head_dim)
    }

    fn shape(&self, x: &TensorType) -> Result<Shape> {
        let d = self.head_dim;
        ensure!(d > 0, InvalidGraph, "a head of 0 elements");
        let (batch, sequence, heads, bhsd) = match (self.layout, &x.dims[..]) {
            (RopeLayout::Bsh, &[s, w]) if w % d == 0 => (1, s, w / d, false),
            (RopeLayout::Bsh, &[b, s, w]) if w % d == 0 => (b, s, w / d, false),
            (RopeLayout::Bshd | RopeLayout::Bsh, &[b, s, h, e]) if e == d => (b, s, h, false),
            (RopeLayout::Bhsd, &[b, h, s, e]) if e == d => (b, s, h, true),
            _ => crate::bail!(InvalidGraph, "x {x} is not {} with heads of {d}", self.layout.text()),
        };
        let (sequence_stride, head_stride) = if bhsd { (d, sequence * d) } else { (heads * d, d) };
        Ok(Shape { batch, sequence, heads, sequence_stride, head_stride })
    }

    /// How the row of the tables is found: the kernel's ROW.
    fn row_mode(&self, shape: &Shape, rows: usize, positions: Option<&TensorType>) -> u32 {
        match positions {
            Some(p) if p.rank() == 2 => 3,
            Some(_) => 2,
            None if rows == shape.batch * shape.sequence && rows != shape.sequence => 1,
            None => 0,
        }
    }
}

impl Operator for Rope {
    fn name(&self) -> &'static str {
        "Rope"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn checked_inputs(&self) -> &'static [usize] {
        &[3]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=4)?;
        let (x, cos, sin) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
        let n = self.rotated();
        ensure!(n % 2 == 0 && n <= self.head_dim, InvalidGraph, "n_rot is {n}, a head has {}", self.head_dim);
        let shape = self.shape(x)?;
        ensure!(cos == sin && cos.element == x.element, InvalidGraph, "x is {x}, cos {cos}, sin {sin}");
        let columns = cos.rank() == 2 && (cos.dims[1] == n / 2 || cos.dims[1] == self.head_dim / 2);
        ensure!(columns, InvalidGraph, "cos {cos} has neither {} nor {} columns", n / 2, self.head_dim / 2);
        match ins.opt(3) {
            Some(p) => {
                let fits = p.dims == [shape.sequence] || p.dims == [shape.batch, shape.sequence];
                ensure!(fits, InvalidGraph, "positions {p} are not [{s}] or [{},{s}]", shape.batch, s = shape.sequence);
                ensure!(matches!(p.element, ElementType::I32 | ElementType::I64), InvalidGraph, "positions are {}", p.element);
            }
            None => {
                let rows = cos.dims[0];
                ensure!(rows >= shape.sequence, InvalidGraph, "cos has {rows} rows, the sequence {}", shape.sequence);
            }
        }
        Ok(vec![x.clone()])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, cos, sin) = (at.input(0)?, at.input(1)?, at.input(2)?);
        let (shape, half) = (self.shape(x.ty())?, self.rotated() / 2);
        let (rows, columns) = (cos.dims()[0], cos.dims()[1]);
        let mode = self.row_mode(&shape, rows, at.opt(3).map(Tensor::ty));
        let positions = at.opt(3).map(Tensor::to_i128).unwrap_or_default();
        let (xs, c, s) = (x.to_f64(), cos.to_f64(), sin.to_f64());
        let mut y = xs.clone();
        for b in 0..shape.batch {
            for t in 0..shape.sequence {
                let row = match mode {
                    0 => t,
                    1 => b * shape.sequence + t,
                    _ => {
                        let place = if mode == 2 { t } else { b * shape.sequence + t };
                        checked_index(at, positions[place], rows, false, place)?
                    }
                };
                for h in 0..shape.heads {
                    let base = b * shape.sequence * shape.heads * self.head_dim + t * shape.sequence_stride + h * shape.head_stride;
                    for i in 0..half {
                        let (u, v) = match self.style {
                            RopeStyle::NeoX => (base + i, base + i + half),
                            RopeStyle::GptJ => (base + 2 * i, base + 2 * i + 1),
                        };
                        let (cos, sin) = (c[row * columns + i], s[row * columns + i]);
                        y[u] = xs[u] * cos - xs[v] * sin;
                        y[v] = xs[v] * cos + xs[u] * sin;
                    }
                }
            }
        }
        Ok(vec![Tensor::from_f64(x.ty().clone(), &y)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let positions = at.has_input(3).then(|| (at.input(3), at.input_type(3)));
        let (x, cos) = (at.input_type(0), at.input_type(1));
        let operands = RopeOperands { x: at.input(0), cos: at.input(1), sin: at.input(2), positions, y: at.output(0) };
        lower_rope(at, self, x, cos, &operands)
    }
}

/// What a rotary embedding reads and writes.
pub struct RopeOperands<'a> {
    pub x: Operand,
    pub cos: Operand,
    pub sin: Operand,
    pub positions: Option<(Operand, &'a TensorType)>,
    pub y: Operand,
}

/// Adds the dispatch of a rotary embedding of x with tables of type `cos`, all checked.
pub fn lower_rope(at: &mut Lowering, op: &Rope, x: &TensorType, cos: &TensorType, operands: &RopeOperands) -> Result<()> {
    let (shape, half, columns) = (op.shape(x)?, op.rotated() / 2, cos.dims[1]);
    let quads =
        x.element != ElementType::F64 && op.head_dim.is_multiple_of(8) && half.is_multiple_of(4) && columns.is_multiple_of(4);
    let units = if quads { op.head_dim / 8 } else { op.head_dim.div_ceil(2) };
    let total = shape.batch * shape.sequence * shape.heads * units;
    let positions = operands.positions;
    let (state, node) = (at.run_state(), at.node_number());
    at.dispatch(kernel::rope(x.element.name())?)
        .read("x", operands.x)
        .read("cos_table", operands.cos)
        .read("sin_table", operands.sin)
        .read("positions", positions.map_or(Region { place: Place::Constants, offset: 0, bytes: 0 }, |p| p.0))
        .write("y", operands.y)
        .read("state", state)
        .uint("total", total)
        .uint("sequence", shape.sequence)
        .uint("heads", shape.heads)
        .uint("size", op.head_dim)
        .uint("half_rot", half)
        .uint("rows", cos.dims[0])
        .uint("columns", columns)
        .uint("node", node as usize)
        .spec("NEOX", (op.style == RopeStyle::NeoX).into())
        .spec("ROW", op.row_mode(&shape, cos.dims[0], positions.map(|p| p.1)))
        .spec("WIDE_POSITIONS", positions.is_some_and(|p| p.1.element == ElementType::I64).into())
        .spec("HEADS_FIRST", (op.layout == RopeLayout::Bhsd).into())
        .spec("QUADS", quads.into())
        .threads(total)
}

fn cases() -> Vec<Case> {
    use ElementType::*;
    let mut out = Vec::new();
    for element in [F32, F16, Bf16, F64] {
        for style in ["NeoX", "GptJ"] {
            let list = |d: i64, n: i64, layout: &str| {
                let text = |s: &str| Attribute::Text(s.into());
                let all = [
                    ("head_dim", Attribute::Int(d)),
                    ("n_rot", Attribute::Int(n)),
                    ("style", text(style)),
                    ("layout", text(layout)),
                ];
                Case::new("Rope", &all)
            };
            let tables = |case: Case, rows: usize, half: usize| case.input(element, &[rows, half]).input(element, &[rows, half]);
            out.push(tables(list(8, 8, "BSH").input(element, &[2, 5, 24]), 5, 4));
            out.push(tables(list(10, 6, "BHSD").input(element, &[2, 3, 7, 10]), 14, 3));
            out.push(tables(list(7, 4, "BSHD").input(element, &[1, 3, 2, 7]), 9, 2).fill(
                I32,
                &[3],
                Fill::Values(vec![8.0, 0.0, 3.0]),
            ));
            out.push(tables(list(24, 16, "BHSD").input(element, &[2, 2, 3, 24]), 3, 12));
            out.push(tables(list(8, 8, "BSH").input(element, &[2, 2, 16]), 9, 4).fill(I64, &[2, 2], Fill::Range(0.0, 9.0)));
        }
    }
    let all = [("head_dim", Attribute::Int(2)), ("style", Attribute::Text("NeoX".into()))];
    out.push(Case::new("Rope", &all).input(F32, &[81920, 2]).input(F32, &[81920, 1]).input(F32, &[81920, 1]));
    out
}
