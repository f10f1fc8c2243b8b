//! Nodes whose result has as many rows as their values say: these must be known, and the result is computed while the file is read.

use std::cmp::Ordering;

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::read::Operand;
use crate::tensor::{Tensor, TensorType, normalize_axis, split_at_axis};
use crate::{Result, ensure};

pub const ROWS: &[(&str, Convert)] = &[("Unique", unique), ("NonMaxSuppression", suppress)];

/// Outputs: the unique slices along an axis (or elements), where each was first, which one each is, how often each is there.
fn unique(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.constant(0)?;
    let sorted = cx.flag("sorted", true)?;
    let (dims, axis) = match cx.attributes.int("axis")? {
        Some(axis) => (x.dims().to_vec(), normalize_axis(axis, x.dims().len())?),
        None => (vec![x.ty().elements()], 0),
    };
    let [outer, len, inner] = split_at_axis(&dims, axis);
    let values = x.to_f64();
    let slice = |i: usize| (0..outer * inner).map(move |k| (k / inner.max(1) * len + i) * inner + k % inner.max(1));
    let compare = |a: usize, b: usize| {
        let pairs = slice(a).zip(slice(b)).map(|(p, q)| values[p].total_cmp(&values[q]));
        pairs.fold(Ordering::Equal, Ordering::then)
    };
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
    // The first of each run of equal slices stands for it.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in order {
        match groups.last_mut() {
            Some(group) if compare(group[0], i) == Ordering::Equal => group.push(i),
            _ => groups.push(vec![i]),
        }
    }
    if !sorted {
        groups.sort_by_key(|group| group[0]);
    }
    let mut which = vec![0i64; len];
    groups.iter().enumerate().for_each(|(k, group)| group.iter().for_each(|&i| which[i] = k as i64));
    let first: Vec<i64> = groups.iter().map(|g| g[0] as i64).collect();
    let counts: Vec<i64> = groups.iter().map(|g| g.len() as i64).collect();

    let mut kept = dims.clone();
    kept[axis] = groups.len();
    let mut y = Tensor::zeros(TensorType::new(x.element(), kept));
    let item = x.element().bytes();
    for (k, group) in groups.iter().enumerate() {
        for (j, from) in slice(group[0]).enumerate() {
            let to = (j / inner.max(1) * groups.len() + k) * inner + j % inner.max(1);
            y.bytes_mut()[to * item..][..item].copy_from_slice(&x.bytes()[from * item..][..item]);
        }
    }
    let list = |values: &[i64]| Operand::constant(Tensor::from_slice(&[values.len()], values));
    Ok(vec![Operand::constant(y), list(&first), list(&which), list(&counts)])
}

/// A box by its corners.
type Corners = [f64; 4];

/// Inputs: boxes [batch, n, 4], scores [batch, classes, n], the most boxes of a class, the overlap and the score that are the limits.
/// Output: rows of batch, class and box.
fn suppress(cx: &mut Context) -> Result<Vec<Operand>> {
    let (boxes, scores) = (cx.constant(0)?, cx.constant(1)?);
    let fits = matches!((boxes.dims(), scores.dims()), (&[b, n, 4], &[c, _, m]) if b == c && n == m);
    ensure!(fits, InvalidGraph, "boxes {} and scores {}", boxes.ty(), scores.ty());
    let most = cx.opt_constant_ints(2)?.and_then(|v| v.first().copied()).unwrap_or(0).max(0) as usize;
    let number = |t: Option<std::sync::Arc<Tensor>>| t.and_then(|t| t.to_f64().first().copied());
    let overlap = number(cx.opt_constant(3)?).unwrap_or(0.0);
    let least = number(cx.opt_constant(4)?);
    let centred = cx.flag("center_point_box", false)?;
    let (batch, n, classes) = (boxes.dims()[0], boxes.dims()[1], scores.dims()[1]);
    let corners: Vec<Corners> = boxes.to_f64().chunks_exact(4).map(|b| corners([b[0], b[1], b[2], b[3]], centred)).collect();
    let scores = scores.to_f64();
    let mut rows = Vec::new();
    for item in 0..batch {
        for class in 0..classes {
            let row = &scores[(item * classes + class) * n..][..n];
            let chosen = select(&corners[item * n..][..n], row, most, overlap, least);
            rows.extend(chosen.into_iter().flat_map(|k| [item as i64, class as i64, k as i64]));
        }
    }
    Ok(vec![Operand::constant(Tensor::from_slice(&[rows.len() / 3, 3], &rows))])
}

/// From [y1, x1, y2, x2] in any order of the corners, or [x, y, width, height] around the centre.
fn corners([a, b, c, d]: Corners, centred: bool) -> Corners {
    if centred { [b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0] } else { [a.min(c), b.min(d), a.max(c), b.max(d)] }
}

/// By falling score, boxes that overlap no box chosen before by more than the limit.
fn select(boxes: &[Corners], scores: &[f64], most: usize, overlap: f64, least: Option<f64>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..boxes.len()).filter(|&k| least.is_none_or(|l| scores[k] > l)).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let mut chosen: Vec<usize> = Vec::new();
    for k in order {
        if chosen.len() == most {
            break;
        }
        if chosen.iter().all(|&c| shared(&boxes[c], &boxes[k]) <= overlap) {
            chosen.push(k);
        }
    }
    chosen
}

/// The area that two boxes share over the area that they cover.
fn shared(a: &Corners, b: &Corners) -> f64 {
    let area = |c: &Corners| (c[2] - c[0]) * (c[3] - c[1]);
    let height = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let width = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    let both = height * width;
    let all = area(a) + area(b) - both;
    if all > 0.0 { both / all } else { 0.0 }
}
