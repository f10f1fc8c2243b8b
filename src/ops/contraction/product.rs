//! A product of two matrices, or of a batch of them, as dispatches.

use super::activation::Activation;
use super::choose::{Algorithm, Choice, Run, Shape, choose};
use crate::kernels::{Kernel, kernel};
use crate::ops::{DispatchBuilder, Lowering, Operand, Place, Region};
use crate::tensor::{ElementType, TensorType};
use crate::{Result, ensure};

/// An operand of a product. Strides are in elements; `line` is that of A's rows or B's columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix {
    pub operand: Operand,
    pub line: usize,
    pub k: usize,
}

/// An axis of the batch, with the strides of A and B along it (0: broadcast).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchAxis {
    pub extent: usize,
    pub a: usize,
    pub b: usize,
}

/// Added to the result after the activation: dense, like y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    pub operand: Operand,
    /// f32 (f64 for f64 products) rather than the product's type.
    pub wide: bool,
}

/// y = act(alpha * sum + bias) + residual
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epilogue {
    pub alpha: f64,
    /// One value a column of y.
    pub bias: Option<Operand>,
    pub act: Activation,
    pub residual: Option<Residual>,
}

impl Default for Epilogue {
    fn default() -> Self {
        Self { alpha: 1.0, bias: None, act: Activation::None, residual: None }
    }
}

/// Row i of A is multiplied by matrix idx[i] of B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowExperts {
    pub idx: Operand,
    /// i32, u32, i64 or u64.
    pub element: ElementType,
    pub experts: usize,
    /// Elements from one matrix of B to the next.
    pub stride: usize,
}

/// y [batch.., m, n] = epilogue(A [batch.., m, k] x B [batch.., k, n]), y dense.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// The type of A, B, bias and y.
    pub element: ElementType,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Outermost first. Empty for grouped products.
    pub batch: Vec<BatchAxis>,
    pub a: Matrix,
    pub b: Matrix,
    pub y: Operand,
    /// y takes the bare sums, as f32 (f64 for f64 products), without the epilogue.
    pub wide: bool,
    pub epilogue: Epilogue,
    pub experts: Option<RowExperts>,
}

impl Product {
    /// A dense row-major A [m,k] times B: [n,k] if `transpose_b`, else [k,n].
    pub fn dense(element: ElementType, [m, n, k]: [usize; 3], a: Operand, b: Operand, transpose_b: bool, y: Operand) -> Self {
        let (b_line, b_k) = if transpose_b { (k, 1) } else { (1, n) };
        Self {
            element,
            m,
            n,
            k,
            batch: Vec::new(),
            a: Matrix { operand: a, line: k, k: 1 },
            b: Matrix { operand: b, line: b_line, k: b_k },
            y,
            wide: false,
            epilogue: Epilogue::default(),
            experts: None,
        }
    }

    fn batch_count(&self) -> usize {
        self.batch.iter().map(|axis| axis.extent).product()
    }

    /// The same product with as few batch axes as possible: those of one matrix are dropped, neighbours that both operands step
    /// through evenly become one, and an innermost axis that A's rows continue becomes more rows.
    fn simplified(mut self) -> Self {
        let mut axes: Vec<BatchAxis> = Vec::new();
        for axis in self.batch.drain(..).filter(|axis| axis.extent != 1) {
            match axes.last_mut() {
                Some(outer) if outer.a == axis.a * axis.extent && outer.b == axis.b * axis.extent => {
                    *outer = BatchAxis { extent: outer.extent * axis.extent, ..axis };
                }
                _ => axes.push(axis),
            }
        }
        while let Some(&axis) = axes.last() {
            let continues = axis.b == 0 && (self.m == 1 || axis.a == self.m * self.a.line);
            if !continues {
                break;
            }
            if self.m == 1 {
                self.a.line = axis.a;
            }
            self.m *= axis.extent;
            axes.pop();
        }
        self.batch = axes;
        self
    }

    /// The transposed product: B^T A^T.
    fn swapped(self) -> Self {
        let batch = self.batch.iter().map(|axis| BatchAxis { extent: axis.extent, a: axis.b, b: axis.a }).collect();
        Self { m: self.n, n: self.m, a: self.b, b: self.a, batch, ..self }
    }

    fn shape(&self) -> Shape {
        let small = |elements: usize| elements < 1 << 31;
        let inside = |matrix: Matrix| small(self.k.saturating_mul(matrix.k).saturating_add(8 * matrix.line));
        Shape {
            element: self.element,
            m: self.m,
            n: self.n,
            k: self.k,
            batch: self.batch_count(),
            a: run(self.a, self.k),
            b: run(self.b, self.k),
            experts: self.experts.map(|e| e.experts),
            near: small(256 * self.n.saturating_add(1)),
            a_near: inside(self.a),
            b_near: inside(self.b),
            pieces: self.pieces(),
        }
    }

    /// True if both operands can be read in pieces of 8 elements, none of which crosses an edge.
    fn pieces(&self) -> bool {
        let whole = |matrix: Matrix, lines: usize| {
            vectors(matrix, lines, self.k, 8) && if run(matrix, self.k) == Run::Inner { self.k } else { lines }.is_multiple_of(8)
        };
        let far = self.batch.iter().flat_map(|axis| [axis.a, axis.b]).chain(self.experts.map(|e| e.stride));
        whole(self.a, self.m) && whole(self.b, self.n) && far.into_iter().all(|stride| stride.is_multiple_of(8))
    }
}

fn run(matrix: Matrix, k: usize) -> Run {
    if matrix.k == 1 || k == 1 {
        Run::Inner
    } else if matrix.line == 1 {
        Run::Outer
    } else {
        Run::Strided
    }
}

/// True if whole vectors of `width` elements can be read along the contiguous axis, as far as strides say; the kernels look at
/// the addresses.
fn vectors(matrix: Matrix, lines: usize, k: usize, width: usize) -> bool {
    match run(matrix, k) {
        Run::Inner => matrix.k == 1 && (matrix.line.is_multiple_of(width) || lines == 1),
        Run::Outer => matrix.k.is_multiple_of(width),
        Run::Strided => false,
    }
}

/// A region that a kernel is told but does not touch.
const NOWHERE: Operand = Region { place: Place::Constants, offset: 0, bytes: 0 };

/// The type that products of `element` are summed in.
pub(super) fn sum_type(element: ElementType) -> ElementType {
    if element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 }
}

/// Adds the dispatches of a product.
pub fn lower_product(at: &mut Lowering, product: &Product) -> Result<()> {
    let product = product.clone().simplified();
    let (m, n, batch) = (product.m, product.n, product.batch_count());
    if m * n * batch == 0 {
        return Ok(());
    }
    ensure!(
        m.saturating_mul(n) <= u32::MAX as usize,
        Unsupported,
        "a product of [{m},{n}] results, more than 2^32, is not supported"
    );
    let choice = choose(&product.shape(), at.caps, at.options);
    lower_simple(at, product, &choice)
}

/// Adds the dispatches of a product without a batch by the kernel that is told: for tests and for timing kernels side by side.
pub fn lower_product_as(at: &mut Lowering, product: &Product, choice: &Choice) -> Result<()> {
    lower_simple(at, product.clone().simplified(), choice)
}

fn lower_simple(at: &mut Lowering, product: Product, choice: &Choice) -> Result<()> {
    let (m, n, batch) = (product.m, product.n, product.batch_count());
    let product = if choice.swap { product.swapped() } else { product };
    if choice.splits == 1 {
        return main_pass(at, &product, choice, None);
    }
    let element = sum_type(product.element);
    let parts = at.temp(choice.splits * batch * m * n * element.bytes());
    main_pass(at, &product, choice, Some(parts))?;
    second_pass(at, &product, choice, parts)
}

/// What `Push` of shaders/contraction/product.glsl and its specialization constants hold.
struct Launch<'p> {
    kernel: Kernel,
    product: &'p Product,
    choice: &'p Choice,
    a: Operand,
    y: Operand,
    wide: bool,
    m: usize,
    batch: usize,
    table: Vec<u32>,
    grouping: u32,
    idx: Operand,
    groups: usize,
    /// Specialization constants that only some kernels have.
    sizes: Vec<(&'static str, usize)>,
}

impl Launch<'_> {
    fn emit(self, at: &mut Lowering) -> Result<()> {
        let (product, choice, epilogue) = (self.product, self.choice, self.epilogue());
        let table = if self.table.is_empty() { NOWHERE } else { at.constants(&self.table) };
        let (state, node) = (at.run_state(), at.node_number() as usize);
        let dispatch = at
            .dispatch(self.kernel)
            .read("a", self.a)
            .read("b", product.b.operand)
            .write("y", self.y)
            .read("bias", epilogue.bias.unwrap_or(NOWHERE))
            .read("residual", epilogue.residual.map_or(NOWHERE, |r| r.operand))
            .read("table", table)
            .read("idx", self.idx)
            .read_write("state", if self.grouping == 1 { state } else { NOWHERE })
            .uint("m", self.m)
            .uint("n", product.n)
            .uint("k", product.k)
            .uint("batch", self.batch)
            .uint("a_row", product.a.line)
            .uint("a_k", product.a.k)
            .uint("b_k", product.b.k)
            .uint("b_n", product.b.line)
            .uint("y_row", if choice.swap { product.m } else { product.n })
            .uint("splits", choice.splits)
            .uint("chunk", choice.chunk)
            .uint("batch_axes", self.table.len() / 3)
            .uint("node", node)
            .uint("experts", product.experts.map_or(0, |e| e.experts))
            .float("alpha", epilogue.alpha);
        self.specialize(dispatch, &epilogue).groups(self.groups)
    }

    /// What is done to the sums here: nothing while they are kept as they are.
    fn epilogue(&self) -> Epilogue {
        if self.wide { Epilogue::default() } else { self.product.epilogue }
    }

    fn specialize<'s>(&self, dispatch: DispatchBuilder<'s>, epilogue: &Epilogue) -> DispatchBuilder<'s> {
        let (a, b, k, width) = (self.product.a, self.product.b, self.product.k, self.vector_width());
        let runs = match self.choice.algorithm {
            // A kernel of its own for each.
            Algorithm::Coop(_) => dispatch,
            _ => dispatch.spec("A_UNIT_K", (run(a, k) != Run::Outer).into()).spec("B_UNIT_K", (run(b, k) != Run::Outer).into()),
        };
        let dispatch = runs
            .spec("ACT", epilogue.act as u32)
            .spec("BIAS", epilogue.bias.is_some().into())
            .spec("RESIDUAL", epilogue.residual.map_or(0, |r| 1 + u32::from(r.wide)))
            .spec("WIDE", self.wide.into())
            .spec("SWAP", self.choice.swap.into())
            .spec("GROUPING", self.grouping)
            .spec("A_VEC", vectors(a, self.product.m, k, width).into())
            .spec("B_VEC", vectors(b, self.product.n, k, width).into())
            .spec("INDEX", self.product.experts.map_or(0, |e| index_kind(e.element)));
        self.sizes.iter().fold(dispatch, |d, &(name, value)| d.spec(name, value as u32))
    }

    fn vector_width(&self) -> usize {
        match self.choice.algorithm {
            Algorithm::Tiled(_) => 4,
            Algorithm::Coop(_) => 8,
            _ => 16 / self.product.element.bytes(),
        }
    }
}

fn main_kernel(choice: &Choice, product: &Product) -> Result<Kernel> {
    let name = product.element.name();
    let outer = |matrix| run(matrix, product.k) == Run::Outer;
    match choice.algorithm {
        Algorithm::Scalar => kernel::matmul_scalar(name),
        Algorithm::Rows { .. } => kernel::matvec_rows(name),
        Algorithm::Columns => kernel::matvec_columns(name),
        Algorithm::Tiled(tile) => kernel::matmul_tiled(name, tile.name()),
        Algorithm::Coop(tile) => {
            let (a, b) = (if outer(product.a) { "m" } else { "k" }, if outer(product.b) { "n" } else { "k" });
            kernel::matmul_coop(a, b, name, tile.name())
        }
    }
}

/// The products; parts of k as bare sums into `parts` if they are added later.
fn main_pass(at: &mut Lowering, product: &Product, choice: &Choice, parts: Option<Operand>) -> Result<()> {
    let kernel = main_kernel(choice, product)?;
    let [tile_rows, tile_cols] = choice.algorithm.tile(product.element);
    let mut table: Vec<u32> = Vec::new();
    for axis in product.batch.iter().rev() {
        table.extend([word(axis.extent)?, word(axis.a)?, word(axis.b)?]);
    }
    let (mut m, mut batch, mut grouping, mut idx) = (product.m, product.batch_count(), 0, NOWHERE);
    let mut tiles = m.div_ceil(tile_rows) * product.n.div_ceil(tile_cols);
    if let Some(experts) = product.experts {
        table = vec![word(m)?, word(product.a.line)?, word(experts.stride)?];
        if choice.sorted {
            let row_tiles = m.div_ceil(tile_rows) + experts.experts.min(m);
            tiles = row_tiles * product.n.div_ceil(tile_cols);
            (grouping, idx) = (2, sort_rows(at, m, experts, tile_rows, row_tiles)?);
        } else {
            (m, batch, grouping, idx) = (1, m, 1, experts.idx);
            tiles = product.n.div_ceil(tile_cols);
        }
    }
    let groups = match choice.algorithm {
        Algorithm::Scalar => (m * product.n * batch).div_ceil(256),
        _ => tiles * batch * choice.splits,
    };
    ensure!(
        groups < 1 << 32 && (choice.algorithm != Algorithm::Scalar || m * product.n * batch < 1 << 32),
        Unsupported,
        "a product of {batch} matrices [{m},{}] needs more than 2^32 workgroups or invocations",
        product.n
    );
    let sizes = match choice.algorithm {
        Algorithm::Rows { lines } => vec![("M", m), ("LINES", lines)],
        Algorithm::Columns => vec![("M", m)],
        _ => Vec::new(),
    };
    let (a, y, wide) = (product.a.operand, parts.unwrap_or(product.y), parts.is_some() || product.wide);
    Launch { kernel, product, choice, a, y, wide, m, batch, table, grouping, idx, groups, sizes }.emit(at)
}

/// Adds the parts of k in their order and applies the epilogue.
fn second_pass(at: &mut Lowering, product: &Product, choice: &Choice, parts: Operand) -> Result<()> {
    let kernel = kernel::matmul_sum(product.element.name())?;
    let (m, batch) = if product.experts.is_some() { (1, product.m) } else { (product.m, product.batch_count()) };
    let rows = if choice.swap { product.n } else { m };
    let count = batch * m * product.n;
    // The parts are laid out like y, so there is nothing left to exchange.
    let (choice, columns) = (Choice { swap: false, ..choice.clone() }, count / (batch * rows));
    let laid_out = Product { m: rows, n: columns, ..product.clone() };
    Launch {
        kernel,
        product: &laid_out,
        choice: &choice,
        a: parts,
        y: product.y,
        wide: product.wide,
        m: rows,
        batch,
        table: Vec::new(),
        grouping: 0,
        idx: NOWHERE,
        groups: count.div_ceil(256),
        sizes: Vec::new(),
    }
    .emit(at)
}

fn word(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| crate::error!(Unsupported, "a stride of {value} elements between matrices is above 2^32"))
}

/// How shaders/contraction read idx: `INDEX`.
pub fn index_kind(element: ElementType) -> u32 {
    match element {
        ElementType::I32 => 0,
        ElementType::U32 => 1,
        _ => 2,
    }
}

/// Sorts the rows by expert and cuts them into tiles; the layout is told in shaders/contraction/group_rows.comp.
pub fn sort_rows(at: &mut Lowering, m: usize, experts: RowExperts, tile_rows: usize, tiles: usize) -> Result<Operand> {
    let groups = at.temp(4 * (2 * (experts.experts + tiles) + m));
    let (state, node) = (at.run_state(), at.node_number() as usize);
    at.dispatch(kernel::group_rows()?)
        .read("idx", experts.idx)
        .write("groups", groups)
        .read_write("state", state)
        .uint("m", m)
        .uint("experts", experts.experts)
        .uint("tiles", tiles)
        .uint("node", node)
        .spec("INDEX", index_kind(experts.element))
        .groups(experts.experts)?;
    at.dispatch(kernel::group_tiles()?)
        .read_write("groups", groups)
        .uint("experts", experts.experts)
        .uint("tiles", tiles)
        .uint("tile_rows", tile_rows)
        .groups(1)?;
    Ok(groups)
}

/// Copies a strided tensor (extents and strides in elements, outermost first) into a dense temporary, `wide` as the sum type.
pub(super) fn pack(at: &mut Lowering, element: ElementType, x: Operand, axes: &[(usize, usize)], wide: bool) -> Result<Operand> {
    let count: usize = axes.iter().map(|axis| axis.0).product();
    let to = if wide { sum_type(element) } else { element };
    let y = at.temp(TensorType::new(to, [count]).bytes());
    let mut words = Vec::new();
    for &(extent, stride) in axes.iter().rev() {
        words.extend([word(extent)?, word(stride)?]);
    }
    let axes_at = if words.is_empty() { NOWHERE } else { at.constants(&words) };
    at.dispatch(kernel::contraction_pack(element.name())?)
        .read("x", x)
        .write("y", y)
        .read("axes", axes_at)
        .uint("count", count)
        .uint("rank", axes.len())
        .spec("WIDE", wide.into())
        .groups(count.div_ceil(256))?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(m: usize, batch: &[BatchAxis]) -> Product {
        let mut p = Product::dense(ElementType::F32, [m, 5, 7], NOWHERE, NOWHERE, true, NOWHERE);
        p.batch = batch.to_vec();
        p
    }

    #[test]
    fn a_batch_over_one_matrix_is_more_rows() {
        let axis = |extent, a, b| BatchAxis { extent, a, b };
        let p = product(3, &[axis(4, 42, 0), axis(2, 21, 0)]).simplified();
        assert_eq!((p.m, p.batch.len()), (24, 0));
        let p = product(1, &[axis(6, 7, 0)]).simplified();
        assert_eq!((p.m, p.a.line), (6, 7));
        let p = product(3, &[axis(4, 21, 35)]).simplified();
        assert_eq!((p.m, p.batch), (3, vec![axis(4, 21, 35)]));
        let p = product(3, &[axis(2, 0, 70), axis(1, 9, 9), axis(2, 21, 35)]).simplified();
        assert_eq!(p.batch, vec![axis(2, 0, 70), axis(2, 21, 35)]);
        let p = product(3, &[axis(4, 0, 0)]).simplified();
        assert_eq!((p.m, p.batch.len()), (3, 1));
    }

    #[test]
    fn runs_follow_strides() {
        let matrix = |line, k| Matrix { operand: NOWHERE, line, k };
        assert_eq!(run(matrix(8, 1), 8), Run::Inner);
        assert_eq!(run(matrix(1, 8), 8), Run::Outer);
        assert_eq!(run(matrix(2, 16), 8), Run::Strided);
        assert!(vectors(matrix(8, 1), 3, 8, 4) && !vectors(matrix(9, 1), 3, 9, 4) && vectors(matrix(9, 1), 1, 9, 4));
    }
}
