//! Inputs to test and time attention with.

use crate::ops::{Attribute, Case, Fill};
use crate::tensor::ElementType::{self, *};

/// An attention over keys as long as the queries unless told otherwise.
#[derive(Clone, Copy)]
struct Shape {
    batch: usize,
    queries: usize,
    keys: usize,
    heads: usize,
    kv_heads: usize,
    size: usize,
    value_size: usize,
}

fn shape(queries: usize, keys: usize, [heads, kv_heads]: [usize; 2], size: usize) -> Shape {
    Shape { batch: 1, queries, keys, heads, kv_heads, size, value_size: size }
}

impl Shape {
    fn case(self, element: ElementType, mask: &str, more: &[(&str, Attribute)]) -> Case {
        let int = |v: usize| Attribute::Int(v as i64);
        let layout = more.iter().any(|m| m.0 == "layout" && m.1 == text("BHSD"));
        let mut list = vec![
            ("num_heads", int(self.heads)),
            ("num_kv_heads", int(self.kv_heads)),
            ("head_dim", int(self.size)),
            ("v_head_dim", int(self.value_size)),
            ("layout", text("BSHD")),
            ("mask", text(mask)),
        ];
        list.retain(|l| more.iter().all(|m| m.0 != l.0));
        list.extend_from_slice(more);
        let dims = |rows: usize, heads: usize, size: usize| match layout {
            true => [self.batch, heads, rows, size],
            false => [self.batch, rows, heads, size],
        };
        Case::new("Attention", &list)
            .input(element, &dims(self.queries, self.heads, self.size))
            .input(element, &dims(self.keys, self.kv_heads, self.size))
            .input(element, &dims(self.keys, self.kv_heads, self.value_size))
    }
}

fn text(s: &str) -> Attribute {
    Attribute::Text(s.into())
}

fn lengths(case: Case, values: &[f64]) -> Case {
    case.fill(I32, &[values.len()], Fill::Values(values.to_vec()))
}

pub fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for element in [F32, F16, Bf16, F64] {
        every_type(element, &mut out);
    }
    for (queries, keys) in [(0, 3), (2, 0), (1, 1), (63, 63), (64, 64), (65, 65), (33, 129)] {
        out.push(shape(queries, keys, [2, 1], 24).case(F32, "Causal", &[]));
    }
    // Few rows: every size of block, and keys cut into parts.
    for (heads, queries) in [(1, 1), (2, 1), (3, 1), (6, 1), (3, 3), (8, 4)] {
        out.push(shape(queries, 300, [heads, 1], 16).case(F32, "Causal", &[]));
    }
    // Lengths around the tiles of a few and of many queries.
    for len in [0.0, 1.0, 31.0, 33.0, 63.0, 64.0, 65.0, 255.0, 257.0, 383.0] {
        out.push(lengths(shape(1, 400, [2, 1], 32).case(F32, "None", &[]).none(), &[len]));
        out.push(lengths(shape(40, 400, [2, 1], 32).case(F32, "Causal", &[]).none(), &[len]));
    }
    // Head sizes: small, odd, the largest, and values of another size.
    for (size, value_size) in [(1, 1), (3, 70), (12, 5), (80, 80), (96, 130), (256, 256), (512, 512)] {
        for queries in [1, 35] {
            out.push(Shape { value_size, ..shape(queries, 70, [1, 1], size) }.case(F32, "None", &[]));
            out.push(Shape { value_size, ..shape(queries, 70, [1, 1], size) }.case(F16, "Causal", &[]));
        }
    }
    // Keys cut into parts for many queries.
    out.push(shape(40, 1500, [1, 1], 64).case(F32, "Causal", &[]));
    out.push(shape(2, 1500, [4, 2], 64).case(F16, "SlidingWindow", &[("window", Attribute::Int(700))]));
    out
}

/// What is done per element type: masks, layouts, caps, sinks; for few queries and for many.
fn every_type(element: ElementType, out: &mut Vec<Case>) {
    let bhsd = ("layout", text("BHSD"));
    for queries in [2, 37] {
        let s = Shape { batch: 2, ..shape(queries, 70, [4, 2], 16) };
        out.push(s.case(element, "Causal", std::slice::from_ref(&bhsd)));
        out.push(s.case(element, "SlidingWindow", &[("window", Attribute::Int(7))]));
        out.push(s.case(element, "Custom", &[]).input(Bool, &[2, 1, queries, 70]));
        out.push(s.case(element, "Custom", &[]).fill(element, &[2, 70], Fill::Range(0.0, 1.0)));
        out.push(s.case(element, "Bias", std::slice::from_ref(&bhsd)).input(element, &[1, 4, queries, 70]));
        out.push(s.case(element, "Bias", &[]).input(element, &[2, 1, 1, 70]));
        let capped = s.case(element, "Causal", &[("softcap", Attribute::Float(2.0)), ("scale", Attribute::Float(1.0))]);
        out.push(lengths(capped.none(), &[7.0, 69.0]).input(element, &[4]));
    }
    out.push(shape(1, 5, [1, 1], 8).case(element, "Custom", &[]).fill(I32, &[1, 5], Fill::Values(vec![1.0, 0.0, 2.0, -3.0, 1.0])));
    out.push(shape(1, 5, [1, 1], 8).case(element, "Custom", &[]).fill(I64, &[1, 5], Fill::Values(vec![1.0, 0.0, 2.0, -3.0, 1.0])));
    out.push(shape(1, 257, [8, 2], 128).case(element, "None", &[]));
    out.push(shape(65, 65, [2, 1], 128).case(element, "Causal", &[]));
}
