//! Products with packed weights as dispatches.

use super::affine::{Affine, AffineKind};
use super::choose::{Algorithm, MAX_VECTORS, Shape, choose};
use crate::kernels::{Kernel, kernel};
use crate::ops::contraction::{RowExperts, index_kind, sort_rows};
use crate::ops::{DispatchBuilder, Lowering, Operand, Place, Region};
use crate::tensor::{ElementType, blocks};
use crate::{Result, ensure};

/// A region that a kernel is told but does not touch.
pub const NOWHERE: Operand = Region { place: Place::Constants, offset: 0, bytes: 0 };

/// The variant of the kernels for this type of x and y.
pub fn real_variant(element: ElementType) -> &'static str {
    match element {
        ElementType::F32 => "f32",
        ElementType::F64 => "f64",
        _ => "half",
    }
}

/// Tells a kernel of the variant `half` which of the two types it is.
pub fn real_spec(dispatch: DispatchBuilder, element: ElementType) -> DispatchBuilder {
    match element {
        ElementType::F16 => dispatch.spec("BF16", 0),
        ElementType::Bf16 => dispatch.spec("BF16", 1),
        _ => dispatch,
    }
}

/// Reads the codebook of a packed type, if it has one.
pub fn codebook(at: &mut Lowering, element: ElementType) -> Option<Operand> {
    blocks::codebook_words(element).map(|words| at.constants(&words))
}

/// Weights in memory.
#[derive(Clone, Copy, Debug)]
pub enum Weights {
    /// w [n,k] or [experts,n,k] of a packed type.
    Blocks {
        element: ElementType,
        w: Operand,
    },
    Affine(Affine, AffineOperands),
}

/// The inputs of an affine scheme; for nvfp4 `zero` is the global scale.
#[derive(Clone, Copy, Debug)]
pub struct AffineOperands {
    pub w: Operand,
    pub scale: Operand,
    pub zero: Option<Operand>,
}

/// y [m,n] = x [m,k] times weights.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// The type of x and y.
    pub element: ElementType,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub x: Operand,
    pub y: Operand,
    pub weights: Weights,
    /// Row i is multiplied by the matrix of expert idx[i].
    pub experts: Option<RowExperts>,
}

/// Weights that an invocation of product_rows.comp takes at once: PIECE of shaders/quant/decode.glsl.
fn piece(element: ElementType) -> usize {
    use ElementType::*;
    match element {
        Q4_0 | Q4_1 | Q5_0 | Q5_1 | Iq4Nl | Mxfp4 | Q8_0 | Q8K => 16,
        Q2K | Q3K | Q4K | Q5K | Q6K | Tq2_0 | Iq4Xs => 32,
        _ => 8,
    }
}

/// Adds the dispatches of a product.
pub fn lower_product(at: &mut Lowering, product: &Product) -> Result<()> {
    let Product { m, n, k, .. } = *product;
    if m * n == 0 {
        return Ok(());
    }
    let experts = product.experts.map(|e| e.experts);
    ensure!(n < 1 << 28 && k < 1 << 28, Unsupported, "a product with packed weights of [{n},{k}], an extent above 2^28");
    ensure!(
        m < 1 << 31 && n.saturating_mul(experts.unwrap_or(1)) < 1 << 32,
        Unsupported,
        "a product of {m} rows with {} matrices of {n} rows, more than 2^32, is not supported",
        experts.unwrap_or(1)
    );
    let coop = coop_kernel(product, false).ok();
    let shape = Shape { element: product.element, m, n, experts };
    match (choose(&shape, at.caps, at.options, coop), &product.weights) {
        (Algorithm::Vectors, Weights::Blocks { element, w }) => rows(at, product, *element, *w),
        (Algorithm::Vectors, Weights::Affine(affine, operands)) => columns(at, product, *affine, *operands),
        (algorithm, _) => tiles(at, product, algorithm),
    }
}

/// Rows of x that a workgroup takes at once: `m`, rounded up to a power of two.
fn vectors(product: &Product, most: usize) -> usize {
    let most = if product.element == ElementType::F64 { 2 } else { most };
    if product.experts.is_some() { 1 } else { product.m.next_power_of_two().min(most) }
}

/// Launches product_rows.comp.
fn rows(at: &mut Lowering, product: &Product, packed: ElementType, w: Operand) -> Result<()> {
    let Product { element, m, n, k, .. } = *product;
    // Rows of x that a workgroup takes at once, and rows of w: those of the kernel.
    let one = kernel::quant_rows("1", real_variant(element), packed.name())?;
    // The plain form, for devices that lack what the kernel needs, is there for single rows alone.
    let single = m == 1 || product.experts.is_some() || at.caps.missing(one).is_some();
    let (cols, kernel) = if single { (1, one) } else { (4, kernel::quant_rows("4", real_variant(element), packed.name())?) };
    let rows = if element == ElementType::F64 { 1 } else { 2 };
    // An invocation takes several pieces of a row, so that adding up costs little beside them.
    let lanes = (k / piece(packed) / 4).next_power_of_two().clamp(at.caps.subgroup_size.min(128) as usize, 128);
    let groups = n.div_ceil(rows * (128 / lanes)) * m.div_ceil(cols);
    ensure!(groups < 1 << 32, Unsupported, "a product of [{m},{n}] needs {groups} workgroups, above 2^32");
    let (idx, kind) = product.experts.map_or((NOWHERE, 0), |e| (e.idx, index_kind(e.element)));
    let state = if product.experts.is_some() { at.run_state() } else { NOWHERE };
    let (book, node) = (codebook(at, packed), at.node_number() as usize);
    let mut dispatch = at
        .dispatch(kernel)
        .read("x", product.x)
        .read("w", w)
        .write("y", product.y)
        .read("idx", idx)
        .read_write("state", state)
        .uint("m", m)
        .uint("n", n)
        .uint("k", k)
        .uint("experts", product.experts.map_or(0, |e| e.experts))
        .uint("node", node)
        .spec("LANES", lanes as u32)
        .spec("GROUPED", product.experts.is_some().into())
        .spec("INDEX", kind);
    if let Some(book) = book {
        dispatch = dispatch.read("codebook", book);
    }
    real_spec(dispatch, element).groups(groups)
}

/// Launches product_columns.comp.
fn columns(at: &mut Lowering, product: &Product, affine: Affine, operands: AffineOperands) -> Result<()> {
    let Product { element, m, n, k, .. } = *product;
    // A software driver takes long to compile the code of many.
    let cols = vectors(product, if at.caps.software { 2 } else { MAX_VECTORS });
    let across = 8;
    let groups = n.div_ceil(4 * across) * m.div_ceil(cols);
    ensure!(groups < 1 << 32, Unsupported, "a product of [{m},{n}] needs {groups} workgroups, above 2^32");
    let has_zero = operands.zero.is_some() && affine.kind != AffineKind::Nvfp4;
    let dispatch = at
        .dispatch(kernel::quant_columns(real_variant(element), affine.kind.name())?)
        .read("x", product.x)
        .read("w", operands.w)
        .read("scale", operands.scale)
        .read("zero", operands.zero.unwrap_or(NOWHERE))
        .write("y", product.y)
        .uint("m", m)
        .uint("n", n)
        .uint("k", k)
        .uint("block", affine.block)
        .spec("COLS", cols as u32)
        .spec("ACROSS", across as u32)
        .spec("HAS_ZERO", has_zero.into());
    real_spec(dispatch, element).groups(groups)
}

fn coop_kernel(product: &Product, medium: bool) -> Result<Kernel> {
    let (t, tile) = (real_variant(product.element), if medium { "medium" } else { "small" });
    match &product.weights {
        Weights::Blocks { element, .. } => kernel::quant_coop(t, tile, element.name()),
        Weights::Affine(affine, _) => kernel::quant_affine_coop(t, tile, affine.kind.name()),
    }
}

/// Launches product_tiles.comp or product_coop.comp; rows of experts are sorted first.
fn tiles(at: &mut Lowering, product: &Product, algorithm: Algorithm) -> Result<()> {
    let Product { element, m, n, k, .. } = *product;
    let [tile_rows, tile_columns] = algorithm.tile();
    let t = real_variant(element);
    let kernel = match (algorithm, &product.weights) {
        (Algorithm::Coop { medium }, _) => coop_kernel(product, medium)?,
        (_, Weights::Blocks { element, .. }) => kernel::quant_tiles(t, element.name())?,
        (_, Weights::Affine(affine, _)) => kernel::quant_affine_tiles(t, affine.kind.name())?,
    };
    let mut row_tiles = m.div_ceil(tile_rows);
    let mut list = NOWHERE;
    if let Some(experts) = product.experts {
        row_tiles += experts.experts.min(m);
        list = sort_rows(at, m, experts, tile_rows, row_tiles)?;
    }
    let groups = row_tiles * n.div_ceil(tile_columns);
    ensure!(groups < 1 << 32, Unsupported, "a product of [{m},{n}] needs {groups} workgroups, above 2^32");
    let (w, book) = match product.weights {
        Weights::Blocks { element, w } => (w, codebook(at, element)),
        Weights::Affine(_, operands) => (operands.w, None),
    };
    let mut dispatch = at
        .dispatch(kernel)
        .read("x", product.x)
        .read("w", w)
        .write("y", product.y)
        .read("groups", list)
        .uint("m", m)
        .uint("n", n)
        .uint("k", k)
        .uint("experts", product.experts.map_or(0, |e| e.experts))
        .spec("SORTED", product.experts.is_some().into());
    dispatch = match product.weights {
        Weights::Blocks { .. } => dispatch.uint("block", 1),
        Weights::Affine(affine, operands) => dispatch
            .read("scale", operands.scale)
            .read("zero", operands.zero.unwrap_or(NOWHERE))
            .uint("block", affine.block)
            .spec("HAS_ZERO", (operands.zero.is_some() && affine.kind != AffineKind::Nvfp4).into()),
    };
    if let Some(book) = book {
        dispatch = dispatch.read("codebook", book);
    }
    if let Algorithm::Tiles(tile) = algorithm {
        let sizes = [("TM4", tile.tm4), ("TN4", tile.tn4), ("DOWN", tile.down)];
        dispatch = sizes.into_iter().fold(dispatch, |d, (name, value)| d.spec(name, value as u32));
    }
    real_spec(dispatch, element).groups(groups)
}
