//! The kernels of a scatter. A replacement marks the last update of each row and copies. A reduction sorts the updates by their rows
//! (a stable radix sort), then combines each row's updates in order.

use super::index::{Tuples, lanes};
use super::scatter::Reduction;
use super::strided::{common_unit, halves, unit_name};
use crate::kernels::kernel;
use crate::ops::{Lowering, Operand};
use crate::tensor::ElementType;
use crate::{Result, ensure, error};

/// Keys that a workgroup of the sort has (shaders/movement/radix.glsl).
const BLOCK: usize = 2048;

/// Updates of one row that are combined by one invocation a column (shaders/movement/scatter_combine.glsl).
const LONG: usize = 256;

/// `updates` rows of `columns` elements go to some of `rows` rows.
#[derive(Clone, Copy)]
pub struct Layout {
    pub rows: usize,
    pub columns: usize,
    pub updates: usize,
}

/// How the kernel finds the row of an update (shaders/movement/scatter_targets.comp).
pub struct Points {
    pub elements: bool,
    pub words: Vec<u32>,
    pub axis_count: usize,
    pub axis: usize,
    pub extent: usize,
    pub per_batch: usize,
}

impl Points {
    /// Tuples whose strides are in rows.
    pub fn tuples(tuples: &Tuples) -> Result<Self> {
        let word = |v: usize| u32::try_from(v).map_err(|_| error!(Unsupported, "{v} rows to scatter to are above the limit"));
        let mut words = vec![word(tuples.batch_bytes)?];
        for &(extent, stride) in &tuples.axes {
            words.extend([word(extent)?, word(stride)?]);
        }
        Ok(Self { elements: false, words, axis_count: tuples.axes.len(), axis: 0, extent: 0, per_batch: tuples.per_batch })
    }
}

/// Launches a scatter. `inputs`: the numbers of data (none: zeros), index and updates.
pub fn lower(
    at: &mut Lowering,
    reduction: Reduction,
    layout: Layout,
    points: Points,
    (data, index, updates): (Option<usize>, usize, usize),
) -> Result<()> {
    let Layout { rows, updates: count, .. } = layout;
    ensure!(rows < 1 << 31 && count < 1 << 31, Unsupported, "{count} updates of {rows} rows are above the limit of 2^31");
    let targets = if reduction == Reduction::None { rows } else { count };
    let targets = at.temp(targets * 4);
    if reduction == Reduction::None {
        at.dispatch(kernel::clear()?).write("y", targets).uint("count", rows).threads(rows)?;
    }
    find_targets(at, reduction, layout, points, index, targets)?;
    let (values, y) = (at.input(updates), at.output(0));
    let data = data.map(|i| at.input(i));
    match (reduction, data) {
        (Reduction::None, Some(data)) => replace(at, layout, data, values, targets, y),
        _ => reduce(at, reduction, layout, data, values, targets, y),
    }
}

fn find_targets(
    at: &mut Lowering,
    reduction: Reduction,
    layout: Layout,
    points: Points,
    index: usize,
    targets: Operand,
) -> Result<()> {
    let mut words = points.words;
    words.push(0); // never empty
    let table = at.constants(&words);
    let wide = at.input_type(index).element == ElementType::I64;
    let (idx, state, node) = (at.input(index), at.run_state(), at.node_number());
    at.dispatch(kernel::scatter_targets()?)
        .read("index", idx)
        .read_write("targets", targets)
        .read("table", table)
        .read_write("state", state)
        .uint("node", node as usize)
        .uint("count", layout.updates)
        .uint("axis_count", points.axis_count)
        .uint("axis", points.axis)
        .uint("extent", points.extent)
        .uint("per_batch", points.per_batch)
        .uint("rows", layout.rows)
        .spec("ELEMENTS", points.elements.into())
        .spec("WINNERS", (reduction == Reduction::None).into())
        .spec("WIDE_INDEX", wide.into())
        .threads(layout.updates)
}

fn replace(at: &mut Lowering, layout: Layout, data: Operand, updates: Operand, winners: Operand, y: Operand) -> Result<()> {
    let row = layout.columns * at.output_type(0).element.block_bytes();
    let unit = common_unit([row]);
    let units = row / unit;
    let (lanes, [low, high]) = (lanes(units), halves(row as u64));
    let chunks = units.div_ceil(lanes * 4);
    ensure!(units < 1 << 31, Unsupported, "rows of {row} bytes are above the limit");
    at.dispatch(kernel::scatter_replace(&unit_name(unit))?)
        .read("data", data)
        .read("updates", updates)
        .read("winners", winners)
        .write("y", y)
        .uint("rows", layout.rows)
        .uint("units", units)
        .uint("chunks", chunks)
        .uint("row_low", low as usize)
        .uint("row_high", high as usize)
        .spec("LANES", lanes as u32)
        .groups(layout.rows.div_ceil(256 / lanes) * chunks)
}

/// Sorts the updates by their rows: the sorted rows, and which update each belongs to.
fn sort(at: &mut Lowering, layout: Layout, targets: Operand) -> Result<(Operand, Operand)> {
    let count = layout.updates;
    let blocks = count.div_ceil(BLOCK);
    let bits = usize::BITS - layout.rows.leading_zeros();
    let passes = bits.div_ceil(8).max(1);
    let table = at.temp(256 * blocks * 4);
    let others = [at.temp(count * 4), targets];
    let orders = [at.temp(count * 4), if passes > 1 { at.temp(count * 4) } else { targets }];
    let (mut keys, mut order) = (targets, orders[1]);
    for pass in 0..passes {
        let (new_keys, new_order) = (others[pass as usize % 2], orders[pass as usize % 2]);
        at.dispatch(kernel::radix_count()?)
            .read("keys", keys)
            .write("table", table)
            .uint("count", count)
            .uint("blocks", blocks)
            .uint("shift", pass as usize * 8)
            .groups(blocks)?;
        at.dispatch(kernel::radix_scan()?).read_write("table", table).uint("count", 256 * blocks).groups(1)?;
        at.dispatch(kernel::radix_move()?)
            .read("keys", keys)
            .read("values", order)
            .read("table", table)
            .write("new_keys", new_keys)
            .write("new_values", new_order)
            .uint("count", count)
            .uint("blocks", blocks)
            .uint("shift", pass as usize * 8)
            .spec("FIRST", (pass == 0).into())
            .groups(blocks)?;
        (keys, order) = (new_keys, new_order);
    }
    Ok((keys, order))
}

fn reduce(
    at: &mut Lowering,
    reduction: Reduction,
    layout: Layout,
    data: Option<Operand>,
    updates: Operand,
    targets: Operand,
    y: Operand,
) -> Result<()> {
    let Layout { rows, columns, updates: count } = layout;
    let element = at.output_type(0).element;
    let (keys, order) = if count > 0 { sort(at, layout, targets)? } else { (targets, targets) };
    let bounds = at.temp((rows + 1) * 4);
    at.dispatch(kernel::segment_bounds()?)
        .read("keys", keys)
        .write("bounds", bounds)
        .uint("count", count)
        .uint("rows", rows)
        .threads(rows + 1)?;
    let (lanes, [low, high]) = (lanes(columns), halves((columns * element.block_bytes()) as u64));
    let chunks = columns.div_ceil(lanes);
    let kind = reduction as u32 - Reduction::Add as u32;
    ensure!(columns < 1 << 31, Unsupported, "rows of {columns} elements are above the limit");
    at.dispatch(kernel::scatter_short(element.name())?)
        .read("data", data.unwrap_or(updates))
        .read("updates", updates)
        .read("order", order)
        .read("bounds", bounds)
        .write("y", y)
        .uint("rows", rows)
        .uint("columns", columns)
        .uint("chunks", chunks)
        .uint("row_low", low as usize)
        .uint("row_high", high as usize)
        .spec("LANES", lanes as u32)
        .spec("KIND", kind)
        .spec("HAS_DATA", data.is_some().into())
        .groups(rows.div_ceil(256 / lanes) * chunks)?;
    if count <= LONG {
        return Ok(());
    }
    at.dispatch(kernel::scatter_long(element.name())?)
        .read("data", data.unwrap_or(updates))
        .read("updates", updates)
        .read("keys", keys)
        .read("order", order)
        .read("bounds", bounds)
        .write("y", y)
        .uint("rows", rows)
        .uint("columns", columns)
        .uint("groups", count.div_ceil(LONG))
        .uint("row_low", low as usize)
        .uint("row_high", high as usize)
        .spec("LANES", lanes as u32)
        .spec("KIND", kind)
        .spec("HAS_DATA", data.is_some().into())
        .groups(count.div_ceil(LONG))
}
