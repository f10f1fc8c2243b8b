//! Which kernel computes a product with packed weights.

use crate::kernels::{Caps, Kernel};
use crate::plan::{MatmulKernel, Options, Precision};
use crate::tensor::ElementType;

/// What the choice depends on: y [m,n] = x [m,k] times weights.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The type of x and y.
    pub element: ElementType,
    pub m: usize,
    pub n: usize,
    /// Experts of a grouped product.
    pub experts: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// product_rows.comp or product_columns.comp: weights are read once for each few rows of x.
    Vectors,
    /// product_tiles.comp
    Tiles(Tile),
    /// product_coop.comp
    Coop { medium: bool },
}

/// The tile of product_tiles.comp: vectors of 4 rows and of 4 columns of an invocation, invocations below each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub tm4: usize,
    pub tn4: usize,
    pub down: usize,
}

impl Tile {
    pub const FLAT: Tile = Tile { tm4: 1, tn4: 1, down: 8 };
    pub const SMALL: Tile = Tile { tm4: 1, tn4: 1, down: 16 };
    pub const LARGE: Tile = Tile { tm4: 2, tn4: 2, down: 16 };

    /// Rows and columns of y.
    pub fn size(self) -> [usize; 2] {
        [4 * self.tm4 * self.down, 4 * self.tn4 * 256 / self.down]
    }

    /// Bytes of shared memory.
    fn shared(self) -> usize {
        let [rows, columns] = self.size();
        32 * 16 * (rows / 4 + columns / 4 + 2)
    }
}

impl Algorithm {
    /// Rows and columns of y that a workgroup covers.
    pub fn tile(self) -> [usize; 2] {
        match self {
            Algorithm::Vectors => [MAX_VECTORS, 1],
            Algorithm::Tiles(tile) => tile.size(),
            Algorithm::Coop { medium: true } => [128, 128],
            Algorithm::Coop { medium: false } => [64, 64],
        }
    }
}

/// Rows of x that share one expansion of the weights.
pub const MAX_VECTORS: usize = 8;

/// Workgroups that fill a large GPU; a software driver has a few threads.
pub fn full(caps: &Caps) -> usize {
    if caps.software { 8 } else { 128 }
}

/// A row of the table.
struct Rule {
    when: fn(&Shape, &Caps, &Options) -> bool,
    then: fn(&Shape, &Caps) -> Algorithm,
    #[allow(dead_code, reason = "for the reader, and for whoever prints the choice")]
    why: &'static str,
}

const RULES: &[Rule] = &[
    Rule { when: |s, _, _| s.element == ElementType::F64, then: |_, _| Algorithm::Vectors, why: "the only kernels with f64 sums" },
    Rule {
        when: |s, _, _| s.experts == Some(0),
        then: |_, _| Algorithm::Vectors,
        why: "no expert: every index is out of range, and reported",
    },
    Rule { when: |_, _, o| o.matmul == MatmulKernel::Scalar, then: |_, _| Algorithm::Vectors, why: "the option asks for no tiles" },
    Rule {
        when: |_, _, o| o.matmul == MatmulKernel::Tiled,
        then: |s, c| Algorithm::Tiles(tile(s, c)),
        why: "the option asks for tiles",
    },
    Rule { when: |s, c, _| few_rows(s, c), then: |_, _| Algorithm::Vectors, why: "few rows: bound by reading the weights" },
    Rule {
        when: |_, c, o| o.precision == Precision::Fast && matrix_units(c),
        then: |s, c| Algorithm::Coop { medium: many_tiles(s, c, [128, 128]) },
        why: "matrix units, where rounding to f16 is allowed",
    },
    Rule { when: |_, _, _| true, then: |s, c| Algorithm::Tiles(tile(s, c)), why: "any product" },
];

/// The kernel for this product; `coop` is the one for matrix units.
pub fn choose(shape: &Shape, caps: &Caps, options: &Options, coop: Option<Kernel>) -> Algorithm {
    let rule = RULES.iter().find(|r| (r.when)(shape, caps, options)).expect("the last rule holds always");
    match (rule.then)(shape, caps) {
        Algorithm::Coop { .. } if coop.is_none_or(|k| caps.missing(k).is_some()) => Algorithm::Tiles(tile(shape, caps)),
        chosen => chosen,
    }
}

/// Grouped rows are taken one by one while few of them share an expert. Up to 32 rows too few tiles would leave a GPU idle.
fn few_rows(s: &Shape, caps: &Caps) -> bool {
    match s.experts {
        Some(experts) => s.m <= 4 * experts.max(2),
        None => s.m <= MAX_VECTORS || (!caps.software && s.m <= 4 * MAX_VECTORS && tiles(s, Tile::FLAT.size()) < full(caps)),
    }
}

fn matrix_units(caps: &Caps) -> bool {
    caps.subgroup_size == 32
        && caps.shared_bytes >= 40 << 10
        && caps.coop.iter().any(|c| (c.m, c.n, c.k) == (16, 16, 16) && c.operand == "f16" && c.result == "f32")
}

fn tiles(s: &Shape, [rows, columns]: [usize; 2]) -> usize {
    let experts = s.experts.map_or(0, |e| e.min(s.m));
    (s.m.div_ceil(rows) + experts) * s.n.div_ceil(columns)
}

/// Rows that are multiplied by one matrix, on average.
fn height(s: &Shape) -> usize {
    s.m / s.experts.unwrap_or(1).max(1)
}

/// True if the result is large enough for tiles of this size.
fn many_tiles(s: &Shape, caps: &Caps, size: [usize; 2]) -> bool {
    height(s) > size[0] / 2 && s.n > size[1] / 2 && tiles(s, size) >= full(caps)
}

fn tile(s: &Shape, caps: &Caps) -> Tile {
    if !caps.software && caps.shared_bytes as usize >= Tile::LARGE.shared() && many_tiles(s, caps, Tile::LARGE.size()) {
        Tile::LARGE
    } else if height(s) <= 32 {
        Tile::FLAT
    } else {
        Tile::SMALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{CoopShape, kernel};

    fn caps(coop: bool) -> Caps {
        let shape = CoopShape { m: 16, n: 16, k: 16, operand: "f16", result: "f32" };
        let info = kernel::quant_coop("f32", "small", "q4_k").expect("a kernel").info();
        Caps {
            subgroup_size: 32,
            max_groups: [65535; 3],
            shared_bytes: 48 << 10,
            max_invocations: 1024,
            capabilities: if coop { info.capabilities.to_vec() } else { Vec::new() },
            coop: if coop { vec![shape] } else { Vec::new() },
            software: false,
        }
    }

    fn chosen(m: usize, experts: Option<usize>, precision: Precision, coop: bool) -> Algorithm {
        let shape = Shape { element: ElementType::F32, m, n: 4096, experts };
        let options = Options { precision, ..Options::default() };
        choose(&shape, &caps(coop), &options, kernel::quant_coop("f32", "small", "q4_k").ok())
    }

    #[test]
    fn few_rows_are_vectors_and_many_are_tiles() {
        assert_eq!(chosen(1, None, Precision::Fast, true), Algorithm::Vectors);
        assert_eq!(chosen(32, None, Precision::Exact, true), Algorithm::Vectors);
        assert_eq!(chosen(33, None, Precision::Exact, true), Algorithm::Tiles(Tile::SMALL));
        assert_eq!(chosen(512, None, Precision::Exact, true), Algorithm::Tiles(Tile::LARGE));
        assert_eq!(chosen(8, Some(64), Precision::Exact, true), Algorithm::Vectors);
        assert_eq!(chosen(512, Some(64), Precision::Exact, true), Algorithm::Tiles(Tile::FLAT));
    }

    #[test]
    fn matrix_units_only_where_rounding_is_allowed() {
        assert_eq!(chosen(512, None, Precision::Fast, true), Algorithm::Coop { medium: true });
        assert_eq!(chosen(64, None, Precision::Fast, true), Algorithm::Coop { medium: false });
        assert_eq!(chosen(512, None, Precision::Fast, false), Algorithm::Tiles(Tile::LARGE));
    }
}
