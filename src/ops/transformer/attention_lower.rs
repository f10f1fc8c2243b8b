//! Attention as dispatches: which kernel, how the keys are cut, and its parameters.

use super::attention::{Attention, HeadLayout, MaskKind, Sizes};
use crate::kernels::{Caps, Kernel, kernel};
use crate::ops::{Lowering, Operand, Place, Region};
use crate::tensor::{ElementType, TensorType};
use crate::{Result, ensure};

/// What an attention reads and writes; q, k, v and y are dense, in the operator's layout.
pub struct Operands<'a> {
    pub element: ElementType,
    pub q: Operand,
    pub k: Operand,
    pub v: Operand,
    pub mask: Option<(Operand, &'a TensorType)>,
    /// i32, and how many of them.
    pub kv_len: Option<(Operand, usize)>,
    pub sinks: Option<Operand>,
    pub y: Operand,
}

/// The kernels of shaders/transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    /// attention_rows.comp: any type, any device.
    Rows,
    /// attention_decode.comp, with so many rows a workgroup.
    Decode { rows: usize },
    /// attention_tiles.comp
    Tiles(Width),
}

/// Columns of the values that a workgroup takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// As many as `Narrow`, in little code.
    Rolled,
    Narrow,
    Wide,
}

impl Width {
    fn name(self) -> &'static str {
        match self {
            Width::Rolled => "rolled",
            Width::Narrow => "narrow",
            Width::Wide => "wide",
        }
    }
    fn columns(self) -> usize {
        if self == Width::Wide { 128 } else { 64 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    algorithm: Algorithm,
    /// Parts of the keys, put together in a second pass.
    splits: usize,
}

/// Up to this many rows (queries x heads that share a kv head) reading the keys is what takes the time.
const MAX_DECODE_ROWS: usize = 32;
/// Keys that a workgroup takes at a time; parts are multiples of it.
const TILE: usize = 64;
/// What attention_combine.comp has room for.
const MAX_SPLITS: usize = 1024;

fn choose(sizes: &Sizes, element: ElementType, caps: &Caps) -> Result<Choice> {
    let rows = sizes.queries * sizes.heads / sizes.kv_heads;
    let groups = sizes.batch * sizes.kv_heads;
    // Workgroups that fill a large GPU (132 multiprocessors of an H200); a software driver has a few threads.
    let full = |on_gpu| if caps.software { 8 } else { on_gpu };
    let parts = |groups: usize, wanted: usize, shortest: usize| {
        (wanted / groups.max(1)).min(sizes.keys.div_ceil(shortest)).clamp(1, MAX_SPLITS)
    };
    if element == ElementType::F64 || caps.missing(kernel::attention_decode(element.name())?).is_some() {
        return Ok(Choice { algorithm: Algorithm::Rows, splits: 1 });
    }
    if rows <= MAX_DECODE_ROWS {
        let block = rows.next_power_of_two().min(if caps.software { 2 } else { 8 });
        let splits = parts(groups * rows.div_ceil(block), full(528), TILE);
        return Ok(Choice { algorithm: Algorithm::Decode { rows: block }, splits });
    }
    let width = match (caps.software, sizes.value_size > 64) {
        (true, _) => Width::Rolled,
        (_, true) => Width::Wide,
        (_, false) => Width::Narrow,
    };
    let workgroups = groups * rows.div_ceil(64) * sizes.value_size.div_ceil(width.columns());
    Ok(Choice { algorithm: Algorithm::Tiles(width), splits: parts(workgroups, full(264), 4 * TILE) })
}

/// A region that a kernel is told but does not touch.
const NOWHERE: Operand = Region { place: Place::Constants, offset: 0, bytes: 0 };

/// How the kernels read the mask: their MASK.
fn mask_number(kind: MaskKind, mask: Option<ElementType>) -> u32 {
    match mask {
        None => 0,
        Some(_) if kind == MaskKind::Bias => 5,
        Some(ElementType::Bool) => 1,
        Some(ElementType::I32) => 3,
        Some(ElementType::I64) => 4,
        Some(_) => 2,
    }
}

/// Adds the dispatches of an attention whose operands have been checked.
pub fn lower_attention(at: &mut Lowering, op: &Attention, sizes: &Sizes, operands: &Operands) -> Result<()> {
    let vectors = (sizes.batch * sizes.queries * sizes.heads).max(sizes.batch * sizes.keys * sizes.kv_heads);
    ensure!(u32::try_from(vectors).is_ok(), Unsupported, "{vectors} head vectors are above 2^32");
    ensure!(
        sizes.batch * sizes.kv_heads < 1 << 21,
        Unsupported,
        "{} heads of keys in all are above 2^21",
        sizes.batch * sizes.kv_heads
    );
    if sizes.batch * sizes.queries * sizes.value_size == 0 {
        return Ok(());
    }
    let choice = choose(sizes, operands.element, at.caps)?;
    let rows = sizes.queries * sizes.heads / sizes.kv_heads;
    let groups = sizes.batch * sizes.kv_heads * choice.splits;
    let name = operands.element.name();
    let launch = Launch { op, sizes, operands, splits: choice.splits };
    let (kernel, spec, workgroups) = match choice.algorithm {
        Algorithm::Rows => return lower_rows(at, op, sizes, operands),
        Algorithm::Decode { rows: block } => (kernel::attention_decode(name)?, Some(block), groups * rows.div_ceil(block)),
        Algorithm::Tiles(width) => {
            let blocks = sizes.value_size.div_ceil(width.columns());
            (kernel::attention_tiles(name, width.name())?, None, groups * rows.div_ceil(64) * blocks)
        }
    };
    if choice.splits == 1 {
        return launch.emit(at, kernel, operands.q, operands.y, NOWHERE, spec, workgroups);
    }
    let parts = sizes.batch * sizes.heads * sizes.queries * choice.splits;
    let sums = at.temp(parts * sizes.value_size.div_ceil(4) * 16);
    let stats = at.temp(parts * 8);
    launch.emit(at, kernel, operands.q, sums, stats, spec, workgroups)?;
    let vectors = sizes.batch * sizes.heads * sizes.queries;
    launch.emit(at, kernel::attention_combine(name)?, sums, operands.y, stats, None, vectors)
}

/// What the kernels of shaders/transformer/attention.glsl are told.
struct Launch<'a> {
    op: &'a Attention,
    sizes: &'a Sizes,
    operands: &'a Operands<'a>,
    splits: usize,
}

impl Launch<'_> {
    fn flags(&self) -> u32 {
        let (op, sizes, operands) = (self.op, self.sizes, self.operands);
        let kv_len = match operands.kv_len {
            None => 0,
            Some((_, 1)) => 1,
            Some(_) => 2,
        };
        let pieces = |n: usize| (n * operands.element.bytes()).is_multiple_of(16);
        u32::from(op.mask == MaskKind::Causal)
            | u32::from(op.mask == MaskKind::SlidingWindow) << 1
            | u32::from(operands.sinks.is_some()) << 2
            | u32::from(op.layout == HeadLayout::Bhsd) << 3
            | kv_len << 4
            | mask_number(op.mask, operands.mask.map(|m| m.1.element)) << 6
            | u32::from(pieces(sizes.size)) << 9
            | u32::from(pieces(sizes.value_size)) << 10
            | ((sizes.batch * sizes.kv_heads) as u32) << 11
    }

    /// `y` takes partial sums and `stats` is written if the keys are cut; the combining kernel reads the sums as `q`.
    #[allow(clippy::too_many_arguments)]
    fn emit(
        &self,
        at: &mut Lowering,
        kernel: Kernel,
        q: Operand,
        y: Operand,
        stats: Operand,
        rows: Option<usize>,
        workgroups: usize,
    ) -> Result<()> {
        let (op, sizes, operands) = (self.op, self.sizes, self.operands);
        let table = match operands.mask {
            None => NOWHERE,
            Some((_, ty)) => {
                let mut words = op.mask_strides(ty, sizes)?.to_vec();
                words.push(ty.element.bytes());
                ensure!(words.iter().all(|&w| u32::try_from(w).is_ok()), Unsupported, "the mask {ty} is too large");
                at.constants(&words.iter().map(|&w| w as u32).collect::<Vec<_>>())
            }
        };
        let (state, node) = (at.run_state(), at.node_number() as usize);
        let combines = q != operands.q;
        let dispatch = at
            .dispatch(kernel)
            .read("q", q)
            .read("k", if combines { NOWHERE } else { operands.k })
            .read("v", if combines { NOWHERE } else { operands.v })
            .read("mask", if combines { NOWHERE } else { operands.mask.map_or(NOWHERE, |m| m.0) })
            .read("kv_len", operands.kv_len.map_or(NOWHERE, |k| k.0))
            .read("sinks", operands.sinks.unwrap_or(NOWHERE))
            .write("y", y)
            .read("state", state)
            .read("table", table)
            .uint("queries", sizes.queries)
            .uint("keys", sizes.keys)
            .uint("kv_heads", sizes.kv_heads)
            .uint("sharing", sizes.heads / sizes.kv_heads)
            .uint("size", sizes.size)
            .uint("value_size", sizes.value_size)
            .uint("splits", self.splits)
            .uint("flags", self.flags() as usize)
            .uint("window", op.window.unwrap_or(0).min(i32::MAX as usize))
            .uint("node", node)
            .float("scale", op.scale())
            .float("cap", op.softcap);
        let dispatch = if combines { dispatch.read("stats", stats) } else { dispatch.write("stats", stats) };
        rows.into_iter().fold(dispatch, |d, rows| d.spec("ROWS", rows as u32)).groups(workgroups)
    }
}

/// The kernel that works on one query at a time.
fn lower_rows(at: &mut Lowering, op: &Attention, sizes: &Sizes, operands: &Operands) -> Result<()> {
    let s = sizes;
    let mut words: Vec<u32> = Vec::new();
    for strides in [
        op.strides(s.queries, s.heads, s.size),
        op.strides(s.keys, s.kv_heads, s.size),
        op.strides(s.keys, s.kv_heads, s.value_size),
        op.strides(s.queries, s.heads, s.value_size),
    ] {
        let bytes = strides[0] * operands.element.bytes();
        ensure!(u32::try_from(bytes).is_ok(), Unsupported, "an entry of {bytes} bytes in a batch is above 4 GiB");
        words.extend(strides.map(|v| v as u32));
    }
    words.extend(operands.mask.map_or(Ok([0; 4]), |m| op.mask_strides(m.1, s))?.map(|v| v as u32));
    let table = at.constants(&words);
    let (state, node) = (at.run_state(), at.node_number());
    let groups = s.batch * s.heads * s.queries;
    at.dispatch(kernel::attention_rows(operands.element.name())?)
        .read("q", operands.q)
        .read("k", operands.k)
        .read("v", operands.v)
        .read("mask", operands.mask.map_or(NOWHERE, |m| m.0))
        .read("kv_len", operands.kv_len.map_or(NOWHERE, |k| k.0))
        .read("sinks", operands.sinks.unwrap_or(NOWHERE))
        .write("y", operands.y)
        .read("state", state)
        .read("table", table)
        .uint("groups", groups)
        .uint("queries", s.queries)
        .uint("keys", s.keys)
        .uint("heads", s.heads)
        .uint("sharing", s.heads / s.kv_heads)
        .uint("size", s.size)
        .uint("value_size", s.value_size)
        .float("scale", op.scale())
        .float("cap", op.softcap)
        .uint("window", op.window.unwrap_or(0).min(i32::MAX as usize))
        .uint("kv_len_per_batch", operands.kv_len.is_some_and(|k| k.1 > 1).into())
        .uint("node", node as usize)
        .spec("MASK", mask_number(op.mask, operands.mask.map(|m| m.1.element)))
        .spec("CAUSAL", (op.mask == MaskKind::Causal).into())
        .spec("WINDOW", (op.mask == MaskKind::SlidingWindow).into())
        .spec("KV_LEN", operands.kv_len.is_some().into())
        .spec("SINKS", operands.sinks.is_some().into())
        .spec("CAPPED", (op.softcap > 0.0).into())
        .groups(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps() -> Caps {
        Caps {
            subgroup_size: 32,
            max_groups: [65535; 3],
            shared_bytes: 32768,
            max_invocations: 1024,
            capabilities: (0..7000).collect(),
            coop: Vec::new(),
            software: false,
        }
    }

    fn sizes(queries: usize, keys: usize) -> Sizes {
        Sizes { batch: 1, queries, keys, heads: 32, kv_heads: 8, size: 128, value_size: 128 }
    }

    #[test]
    fn few_rows_share_keys_and_cut_them() -> Result<()> {
        let of = |queries, keys, element| choose(&sizes(queries, keys), element, &caps());
        assert_eq!(of(1, 4096, ElementType::F16)?, Choice { algorithm: Algorithm::Decode { rows: 4 }, splits: 64 });
        assert_eq!(of(1, 100, ElementType::F16)?, Choice { algorithm: Algorithm::Decode { rows: 4 }, splits: 2 });
        assert_eq!(of(3, 4096, ElementType::F32)?, Choice { algorithm: Algorithm::Decode { rows: 8 }, splits: 33 });
        assert_eq!(of(4096, 4096, ElementType::F32)?, Choice { algorithm: Algorithm::Tiles(Width::Wide), splits: 1 });
        assert_eq!(of(16, 4096, ElementType::F32)?, Choice { algorithm: Algorithm::Tiles(Width::Wide), splits: 16 });
        assert_eq!(of(1, 1, ElementType::F64)?.algorithm, Algorithm::Rows);
        Ok(())
    }
}
