//! Which kernel computes a product: one table, read from the top, over shapes, types, the device and the options.

use crate::kernels::{Caps, kernel};
use crate::plan::{MatmulKernel, Options, Precision};
use crate::tensor::ElementType;

/// Along which axis the elements of an operand lie next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Along k: A as [M,K], B as [N,K].
    Inner,
    /// Along its rows (A as [K,M]) or columns (B as [K,N]).
    Outer,
    /// Nowhere.
    Strided,
}

/// What the choice depends on. A is [m,k], B is [k,n].
#[derive(Clone, Debug)]
pub struct Shape {
    pub element: ElementType,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batch: usize,
    pub a: Run,
    pub b: Run,
    /// Experts of a grouped product: row i of A is multiplied by matrix idx[i] of B.
    pub experts: Option<usize>,
    /// Offsets inside a tile of y fit into 31 bits; so do those inside A and inside B.
    pub near: bool,
    pub a_near: bool,
    pub b_near: bool,
    /// A and B are whole pieces of 8 elements along the axis where they are contiguous.
    pub pieces: bool,
}

impl Shape {
    /// Rows, columns and batch as the kernels for few rows see them: grouped rows are a batch of single ones.
    fn as_vectors(&self) -> [usize; 3] {
        if self.experts.is_some() { [1, self.n, self.m] } else { [self.m, self.n, self.batch] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// matmul_scalar.comp
    Scalar,
    /// matvec_rows.comp, with so many columns of B a workgroup.
    Rows { lines: usize },
    /// matvec_columns.comp
    Columns,
    /// matmul_tiled.comp
    Tiled(Tile),
    /// matmul_coop.comp
    Coop(Tile),
}

/// The tile of y that a workgroup computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// As small as `Small`, in little code: for drivers that compile to the CPU.
    Rolled,
    Small,
    Medium,
    Large,
}

impl Tile {
    /// The name of the variant in shaders/contraction/variants.toml.
    pub fn name(self) -> &'static str {
        match self {
            Tile::Rolled => "rolled",
            Tile::Small => "small",
            Tile::Medium => "medium",
            Tile::Large => "large",
        }
    }
}

impl Algorithm {
    /// Rows and columns of y that a workgroup covers.
    pub fn tile(self, element: ElementType) -> [usize; 2] {
        match self {
            Algorithm::Scalar => [1, 256],
            Algorithm::Rows { lines } => [MAX_VECTORS, lines],
            Algorithm::Columns => [MAX_VECTORS, 32 * 16 / element.bytes()],
            Algorithm::Tiled(Tile::Small | Tile::Rolled) | Algorithm::Coop(Tile::Small | Tile::Rolled) => [64, 64],
            Algorithm::Tiled(_) | Algorithm::Coop(_) => [128, 128],
        }
    }

    /// Steps of k at a time: parts of a split are multiples of it.
    fn step(self, element: ElementType) -> usize {
        match self {
            Algorithm::Scalar => 1,
            Algorithm::Rows { .. } => 128 * 16 / element.bytes(),
            Algorithm::Columns => 32,
            Algorithm::Tiled(_) | Algorithm::Coop(_) => 32,
        }
    }

    /// Parts of k shorter than this are not worth a second pass.
    fn shortest_part(self, element: ElementType) -> usize {
        match self {
            Algorithm::Scalar => usize::MAX,
            Algorithm::Rows { .. } => 2 * self.step(element),
            Algorithm::Columns => 64,
            Algorithm::Tiled(_) => 256,
            Algorithm::Coop(_) => 512,
        }
    }
}

/// How to compute a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub algorithm: Algorithm,
    /// Exchange the operands: y^T = B^T A^T.
    pub swap: bool,
    /// Rows are sorted by expert first (grouped products).
    pub sorted: bool,
    /// Parts of k, added up in a second pass.
    pub splits: usize,
    /// Length of a part.
    pub chunk: usize,
    pub why: &'static str,
}

/// Rows of A (or columns of B) up to which a product is bound by reading the other operand once.
const MAX_VECTORS: usize = 8;

/// Workgroups that fill a large GPU (132 multiprocessors of an H200, rounded down). A software driver has a few threads.
fn full(caps: &Caps) -> usize {
    if caps.software { 8 } else { 128 }
}

/// A row of the table.
struct Rule {
    when: fn(&Shape, &Caps, &Options) -> bool,
    then: fn(&Shape, &Caps) -> (Algorithm, bool),
    why: &'static str,
}

const RULES: &[Rule] = &[
    Rule { when: |s, _, _| s.k == 0, then: |_, _| (Algorithm::Scalar, false), why: "nothing to sum: the epilogue alone" },
    Rule {
        when: |s, _, _| s.experts == Some(0),
        then: |_, _| (Algorithm::Scalar, false),
        why: "no expert: every index is out of range, and reported",
    },
    Rule {
        when: |_, _, o| o.matmul == MatmulKernel::Scalar,
        then: |_, _| (Algorithm::Scalar, false),
        why: "the option asks for the plain kernel",
    },
    Rule { when: |s, _, _| !s.near, then: |_, _| (Algorithm::Scalar, false), why: "offsets inside a tile leave 31 bits" },
    Rule {
        when: |s, c, o| o.matmul == MatmulKernel::Coop && coop(s, c, o),
        then: |s, c| (Algorithm::Coop(coop_tile(s, c)), false),
        why: "the option asks for matrix units",
    },
    Rule {
        when: |_, _, o| o.matmul != MatmulKernel::Auto,
        then: |s, c| (Algorithm::Tiled(tiled_tile(s, c)), false),
        why: "the option asks for tiles, or for matrix units that cannot do this product",
    },
    Rule {
        when: |s, _, _| s.m * s.n <= 64 && s.k <= 64 && s.experts.is_none(),
        then: |_, _| (Algorithm::Scalar, false),
        why: "tiny matrices: an invocation an element wastes nothing",
    },
    Rule {
        when: |s, _, _| few_rows(s) && s.b == Run::Inner,
        then: |s, c| (Algorithm::Rows { lines: lines(s.as_vectors(), c) }, false),
        why: "few rows: bound by reading B, which lies along k",
    },
    Rule {
        when: |s, _, _| few_rows(s) && s.b == Run::Outer && s.n > 1,
        then: |_, _| (Algorithm::Columns, false),
        why: "few rows: bound by reading B, which lies along n",
    },
    Rule {
        when: |s, _, _| few_columns(s) && s.a == Run::Inner,
        then: |s, c| (Algorithm::Rows { lines: lines([s.n, s.m, s.batch], c) }, true),
        why: "few columns: bound by reading A, which lies along k",
    },
    Rule {
        when: |s, _, _| few_columns(s) && s.a == Run::Outer && s.m > 1,
        then: |_, _| (Algorithm::Columns, true),
        why: "few columns: bound by reading A, which lies along m",
    },
    Rule {
        when: coop,
        then: |s, c| (Algorithm::Coop(coop_tile(s, c)), false),
        why: "matrix units multiply these types with f32 sums",
    },
    Rule { when: |_, _, _| true, then: |s, c| (Algorithm::Tiled(tiled_tile(s, c)), false), why: "any product" },
];

/// The kernel for this product.
pub fn choose(shape: &Shape, caps: &Caps, options: &Options) -> Choice {
    let rule = RULES.iter().find(|r| (r.when)(shape, caps, options)).expect("the last rule holds always");
    let (algorithm, swap) = (rule.then)(shape, caps);
    let sorted = shape.experts.is_some() && matches!(algorithm, Algorithm::Tiled(_) | Algorithm::Coop(_));
    let (splits, chunk) = if sorted { (1, shape.k) } else { split(shape, algorithm, swap, caps) };
    Choice { algorithm, swap, sorted, splits, chunk, why: rule.why }
}

/// Grouped rows are taken one by one while few of them share an expert.
fn few_rows(s: &Shape) -> bool {
    let most = s.experts.map_or(MAX_VECTORS, |experts| 4 * experts.max(2));
    s.m <= most && s.a_near
}

fn few_columns(s: &Shape) -> bool {
    s.n <= MAX_VECTORS && s.b_near && s.experts.is_none()
}

/// Columns of B a workgroup works on: more share the loads of A, as long as the device stays full.
fn lines([vectors, columns, batch]: [usize; 3], caps: &Caps) -> usize {
    let most = if caps.software {
        1
    } else if vectors >= 4 {
        4
    } else {
        2
    };
    (1..=most).rev().find(|&l| l != 3 && columns * batch >= l * 8 * full(caps)).unwrap_or(1)
}

/// True if matrix units can do this product and may.
fn coop(s: &Shape, caps: &Caps, options: &Options) -> bool {
    let operand = match s.element {
        ElementType::F16 => "f16",
        ElementType::Bf16 => "bf16",
        ElementType::F32 if options.precision == Precision::Fast => "f16",
        _ => return false,
    };
    let known = kernel::matmul_coop("k", "k", s.element.name(), Tile::Small.name()).is_ok_and(|k| caps.missing(k).is_none());
    known
        && caps.subgroup_size == 32
        && caps.shared_bytes >= 20 << 10
        && s.a != Run::Strided
        && s.b != Run::Strided
        && s.pieces
        && caps.coop.iter().any(|c| (c.m, c.n, c.k) == (16, 16, 16) && c.operand == operand && c.result == "f32")
}

fn tiles(s: &Shape, [rows, cols]: [usize; 2]) -> usize {
    let down = s.m.div_ceil(rows) + s.experts.map_or(0, |e| e.min(s.m));
    down * s.n.div_ceil(cols) * s.batch
}

/// Large tiles read their operands less often; small ones fill the device when the result is small.
fn coop_tile(s: &Shape, caps: &Caps) -> Tile {
    if caps.shared_bytes >= 40 << 10 && s.m > 64 && s.n > 64 && tiles(s, [128, 128]) >= full(caps) / 2 {
        Tile::Medium
    } else {
        Tile::Small
    }
}

fn tiled_tile(s: &Shape, caps: &Caps) -> Tile {
    let large = s.m > 64 && s.n > 64 && tiles(s, [128, 128]) >= if caps.software { 32 } else { full(caps) };
    match (large, caps.software) {
        (true, _) => Tile::Large,
        (false, true) => Tile::Rolled,
        (false, false) => Tile::Small,
    }
}

/// Bytes of partial sums above which a split costs more than it gains.
const MOST_PARTIAL_BYTES: usize = 64 << 20;

/// Parts of k, so that a small result still fills the device, and the length of a part.
fn split(s: &Shape, algorithm: Algorithm, swap: bool, caps: &Caps) -> (usize, usize) {
    let [m, n, batch] = if swap { [s.n, s.m, s.batch] } else { s.as_vectors() };
    let [rows, cols] = algorithm.tile(s.element);
    let groups = m.div_ceil(rows) * n.div_ceil(cols) * batch;
    // The kernels for few rows need more workgroups in flight to keep the memory busy.
    let wanted = match algorithm {
        Algorithm::Rows { .. } | Algorithm::Columns if !caps.software => 8 * full(caps),
        _ => full(caps),
    };
    let most = (s.k / algorithm.shortest_part(s.element)).min(MOST_PARTIAL_BYTES / (8 * m * n * batch).max(1));
    let splits = (wanted / groups.max(1)).min(most).max(1);
    let chunk = s.k.div_ceil(splits).next_multiple_of(algorithm.step(s.element)).clamp(1, s.k.max(1));
    (s.k.div_ceil(chunk).max(1), chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::CoopShape;

    fn gpu() -> Caps {
        let coop = |operand| CoopShape { m: 16, n: 16, k: 16, operand, result: "f32" };
        Caps {
            subgroup_size: 32,
            max_groups: [65535; 3],
            shared_bytes: 48 << 10,
            max_invocations: 1024,
            capabilities: vec![9, 10, 61, 63, 4433, 4466, 5116, 5118, 5345, 5347, 6022],
            coop: vec![coop("f16"), coop("bf16")],
            software: false,
        }
    }

    fn software() -> Caps {
        Caps { subgroup_size: 8, shared_bytes: 32 << 10, coop: Vec::new(), software: true, ..gpu() }
    }

    fn shape(element: ElementType, m: usize, n: usize, k: usize) -> Shape {
        let (a, b) = (Run::Inner, Run::Inner);
        Shape { element, m, n, k, batch: 1, a, b, experts: None, near: true, a_near: true, b_near: true, pieces: true }
    }

    fn auto(s: &Shape, caps: &Caps) -> Choice {
        choose(s, caps, &Options::default())
    }

    #[test]
    fn half_types_use_matrix_units_where_they_exist() {
        let s = shape(ElementType::F16, 4096, 4096, 4096);
        assert_eq!(auto(&s, &gpu()).algorithm, Algorithm::Coop(Tile::Medium));
        assert_eq!(auto(&s, &software()).algorithm, Algorithm::Tiled(Tile::Large));
        assert_eq!(auto(&Shape { a: Run::Strided, ..s.clone() }, &gpu()).algorithm, Algorithm::Tiled(Tile::Large));
        let no_bf16 = Caps { capabilities: gpu().capabilities.into_iter().filter(|&c| c != 5118).collect(), ..gpu() };
        assert_eq!(auto(&shape(ElementType::Bf16, 256, 256, 64), &no_bf16).algorithm, Algorithm::Tiled(Tile::Small));
        assert_eq!(auto(&shape(ElementType::Bf16, 256, 256, 64), &gpu()).algorithm, Algorithm::Coop(Tile::Small));
        assert_eq!(auto(&s, &Caps { subgroup_size: 64, ..gpu() }).algorithm, Algorithm::Tiled(Tile::Large));
        assert_eq!(auto(&s, &Caps { shared_bytes: 32 << 10, ..gpu() }).algorithm, Algorithm::Coop(Tile::Small));
    }

    #[test]
    fn f32_is_exact_unless_fast_is_asked_for() {
        let s = shape(ElementType::F32, 4096, 4096, 4096);
        assert_eq!(auto(&s, &gpu()).algorithm, Algorithm::Tiled(Tile::Large));
        let fast = Options { precision: Precision::Fast, ..Options::default() };
        assert_eq!(choose(&s, &gpu(), &fast).algorithm, Algorithm::Coop(Tile::Medium));
        assert_eq!(choose(&s, &software(), &fast).algorithm, Algorithm::Tiled(Tile::Large));
    }

    #[test]
    fn the_option_is_honoured() {
        let s = shape(ElementType::F16, 4, 4096, 4096);
        let with = |matmul| choose(&s, &gpu(), &Options { matmul, ..Options::default() }).algorithm;
        assert_eq!(with(MatmulKernel::Scalar), Algorithm::Scalar);
        assert_eq!(with(MatmulKernel::Tiled), Algorithm::Tiled(Tile::Small));
        assert_eq!(with(MatmulKernel::Coop), Algorithm::Coop(Tile::Small));
        let f64s = Shape { element: ElementType::F64, ..s.clone() };
        let coop = Options { matmul: MatmulKernel::Coop, ..Options::default() };
        assert_eq!(choose(&f64s, &gpu(), &coop).algorithm, Algorithm::Tiled(Tile::Small));
    }

    #[test]
    fn few_rows_or_columns_read_the_other_operand_once() {
        let decode = auto(&shape(ElementType::F16, 1, 14336, 4096), &gpu());
        assert_eq!((decode.algorithm, decode.swap, decode.splits), (Algorithm::Rows { lines: 2 }, false, 1));
        let columns = auto(&Shape { b: Run::Outer, ..shape(ElementType::F16, 1, 4096, 4096) }, &gpu());
        assert_eq!(columns.algorithm, Algorithm::Columns);
        assert!(columns.splits > 16, "{columns:?}");
        let tall = auto(&shape(ElementType::F32, 4096, 1, 4096), &gpu());
        assert_eq!((tall.algorithm, tall.swap), (Algorithm::Rows { lines: 2 }, true));
        let tall = auto(&Shape { a: Run::Outer, ..shape(ElementType::F32, 4096, 3, 4096) }, &gpu());
        assert_eq!((tall.algorithm, tall.swap), (Algorithm::Columns, true));
    }

    #[test]
    fn a_small_result_with_a_long_k_is_split() {
        for (caps, m, n, k) in [(gpu(), 64, 64, 65536), (gpu(), 1, 1, 1 << 22), (software(), 16, 16, 1500)] {
            let c = auto(&shape(ElementType::F32, m, n, k), &caps);
            assert!(c.splits > 1 && c.splits * c.chunk >= k && (c.splits - 1) * c.chunk < k, "{c:?}");
        }
        assert_eq!(auto(&shape(ElementType::F32, 4096, 4096, 65536), &gpu()).splits, 1);
    }

    #[test]
    fn special_shapes() {
        assert_eq!(auto(&shape(ElementType::F32, 5, 7, 0), &gpu()).algorithm, Algorithm::Scalar);
        assert_eq!(auto(&Shape { near: false, ..shape(ElementType::F32, 500, 700, 900) }, &gpu()).algorithm, Algorithm::Scalar);
        assert_eq!(auto(&Shape { batch: 65537, ..shape(ElementType::F32, 1, 1, 1) }, &gpu()).algorithm, Algorithm::Scalar);
    }

    #[test]
    fn grouped_rows_are_sorted_when_many_share_an_expert() {
        let moe = |m| Shape { experts: Some(128), ..shape(ElementType::F16, m, 1536, 4096) };
        let decode = auto(&moe(8), &gpu());
        assert_eq!((decode.algorithm, decode.sorted), (Algorithm::Rows { lines: 2 }, false));
        let prefill = auto(&moe(8 * 2048), &gpu());
        assert!(prefill.sorted && prefill.splits == 1, "{prefill:?}");
        assert_eq!(prefill.algorithm, Algorithm::Coop(Tile::Medium));
    }
}
