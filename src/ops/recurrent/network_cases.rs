//! The cases of Lstm, Gru and Rnn.

use crate::ops::{Attribute, Case, Fill};
use crate::tensor::ElementType;

/// One case: x [batch, steps, width].
struct Shape<'a> {
    element: ElementType,
    x: [usize; 3],
    hidden: usize,
    layers: usize,
    directions: usize,
    states: bool,
    lengths: Option<&'a [f64]>,
    peepholes: bool,
}

impl Shape<'_> {
    fn case(&self, name: &str, extra: &[(&str, Attribute)], gates: usize) -> Case {
        let Shape { element, x, hidden, layers, directions, .. } = *self;
        let mut list = vec![
            ("hidden", Attribute::Int(hidden as i64)),
            ("layers", Attribute::Int(layers as i64)),
            ("bidirectional", Attribute::Int((directions == 2).into())),
        ];
        list.extend(extra.iter().cloned());
        let rows = directions * gates * hidden;
        let size = 1.0 / (hidden as f64).sqrt().max(1.0);
        let weights = Fill::Range(-size, size);
        let mut case = Case::new(name, &list)
            .input(element, &x)
            .fill(element, &[rows * (x[2] + (layers - 1) * directions * hidden)], weights.clone())
            .fill(element, &[layers * rows * hidden], weights.clone())
            .fill(element, &[layers * rows], weights.clone());
        if gates == 3 {
            case = case.fill(element, &[layers * rows], weights.clone());
        }
        for _ in 0..if gates == 4 { 2 } else { 1 } {
            let state = [layers * directions, x[0], hidden];
            case = if self.states { case.fill(element, &state, Fill::Range(-1.0, 1.0)) } else { case.none() };
        }
        case = match self.lengths {
            Some(lengths) => case.fill(ElementType::I32, &[x[0]], Fill::Values(lengths.to_vec())),
            None if self.peepholes => case.none(),
            None => case,
        };
        if self.peepholes { case.fill(element, &[layers * directions * 3 * hidden], weights) } else { case }
    }
}

/// `gates` are 4, 3 or 1 for Lstm, Gru and Rnn.
pub fn cases(name: &str, extra: &[(&str, Attribute)], gates: usize) -> Vec<Case> {
    let mut out = Vec::new();
    let mut add = |element, x, [hidden, layers, directions]: [usize; 3], states, lengths: Option<&[f64]>| {
        out.push(Shape { element, x, hidden, layers, directions, states, lengths, peepholes: false }.case(name, extra, gates));
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        add(element, [3, 5, 7], [13, 2, 2], true, Some(&[5.0, 0.0, 3.0]));
        // Large enough for a dispatch a step.
        add(element, [3, 3, 5], [264, 1, 2], true, Some(&[2.0, 0.0, 3.0]));
    }
    let f32 = ElementType::F32;
    // Lengths (BUGS.md 60), also below 0 and above the steps.
    for directions in [1, 2] {
        add(f32, [3, 4, 2], [3, 1, directions], false, Some(&[4.0, 2.0, 1.0]));
    }
    add(f32, [3, 4, 2], [3, 1, 2], true, Some(&[-1.0, 9.0, 0.0]));
    // Nothing of a kind, one of a kind.
    add(f32, [0, 3, 2], [4, 1, 2], true, None);
    add(f32, [2, 0, 3], [4, 2, 1], true, None);
    add(f32, [2, 0, 3], [300, 1, 2], false, None);
    add(f32, [2, 3, 0], [4, 1, 1], false, None);
    add(f32, [2, 3, 2], [0, 1, 2], false, None);
    add(f32, [1, 1, 1], [1, 1, 1], true, None);
    // Rows of whole vectors, and a last one that is not full.
    add(f32, [2, 6, 9], [32, 3, 1], false, None);
    add(f32, [1, 2, 3], [261, 2, 1], false, None);
    add(f32, [9, 2, 3], [272, 1, 1], true, None);
    add(f32, [1, 70, 3], [8, 1, 1], true, None);
    add(f32, [2000, 2, 3], [4, 1, 2], false, None);
    out
}

/// An Lstm whose gates look at c, by both kernels.
pub fn with_peepholes() -> Vec<Case> {
    let mut out = Vec::new();
    let mut add = |element, x, [hidden, layers, directions]: [usize; 3], states, lengths: Option<&[f64]>| {
        let shape = Shape { element, x, hidden, layers, directions, states, lengths, peepholes: true };
        out.push(shape.case("Lstm", &[], 4));
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        add(element, [3, 5, 7], [13, 2, 2], true, Some(&[5.0, 0.0, 3.0]));
        add(element, [3, 3, 5], [264, 2, 2], true, Some(&[2.0, 0.0, 3.0]));
    }
    add(ElementType::F32, [2, 4, 3], [5, 1, 1], false, None);
    add(ElementType::F32, [2, 0, 3], [5, 1, 1], true, None);
    add(ElementType::F32, [1, 2, 3], [261, 1, 1], false, None);
    out
}

/// A Gru whose biases are zeros, a batch above 3 (BUGS.md 59).
pub fn bug_59(extra: &[(&str, Attribute)]) -> Vec<Case> {
    let (element, hidden) = (ElementType::F32, 3);
    let int = |v: usize| Attribute::Int(v as i64);
    let list = [&[("hidden", int(hidden)), ("layers", int(1)), ("bidirectional", int(0))], extra].concat();
    let zeros = Fill::Values(vec![0.0]);
    let case = Case::new("Gru", &list)
        .input(element, &[4, 3, 2])
        .input(element, &[3 * hidden, 2])
        .input(element, &[3 * hidden, hidden])
        .fill(element, &[3 * hidden], zeros.clone())
        .fill(element, &[3 * hidden], zeros);
    vec![case]
}
