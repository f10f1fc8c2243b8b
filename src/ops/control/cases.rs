//! Cases of control flow: small bodies, built here.

use std::sync::Arc;

use super::{If, Scan, While};
use crate::graph::{Dim, Graph, ValueId};
use crate::ops::{Attribute, Attributes, Case, Fill, OperatorRef, build, share};
use crate::tensor::ElementType::{self, *};
use crate::tensor::Tensor;

/// A body under construction. Cases are literals: what is wrong in them panics.
struct Body(Graph);

impl Body {
    fn new() -> Self {
        Self(Graph::new())
    }

    fn input(&mut self, element: ElementType, dims: &[usize]) -> ValueId {
        let dims: Vec<Dim> = dims.iter().map(|&n| Dim::Fixed(n)).collect();
        self.0.input(&format!("i{}", self.0.inputs().len()), element, &dims).expect("a formal input")
    }

    fn constant(&mut self, tensor: Tensor) -> ValueId {
        self.0.constant("c", Arc::new(tensor)).expect("a constant")
    }

    fn op(&mut self, name: &str, attributes: &[(&str, Attribute)], inputs: &[ValueId]) -> ValueId {
        let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        self.node(build(name, &attributes).expect("an operator"), inputs)
    }

    fn node(&mut self, operator: OperatorRef, inputs: &[ValueId]) -> ValueId {
        self.0.add1(operator, "", inputs).expect("a node")
    }

    fn gives(mut self, outputs: &[ValueId]) -> Arc<Graph> {
        for (k, &id) in outputs.iter().enumerate() {
            self.0.output(&format!("o{k}"), id).expect("an output");
        }
        Arc::new(self.0)
    }
}

fn case(operator: impl crate::ops::Operator) -> Case {
    Case { operator: share(operator), inputs: Vec::new() }
}

/// op(a, b) of two inputs of one type.
fn binary(op: &str, element: ElementType, dims: &[usize]) -> Arc<Graph> {
    let mut body = Body::new();
    let (a, b) = (body.input(element, dims), body.input(element, dims));
    let y = body.op(op, &[], &[a, b]);
    body.gives(&[y])
}

/// A gather whose indices are outside: a branch that is not taken must not report it.
fn bad_gather(dims: &[usize]) -> Arc<Graph> {
    let mut body = Body::new();
    let (a, b) = (body.input(F32, dims), body.input(F32, dims));
    let index = body.op("Cast", &[("to", Attribute::Text("i32".into()))], &[b]);
    let hundred = body.constant(Tensor::from_slice(&[], &[100i32]));
    let index = body.op("Add", &[], &[index, hundred]);
    let y = body.op("Gather", &[("axis", Attribute::Int(0))], &[a, index]);
    body.gives(&[y])
}

fn inner_if(dims: &[usize]) -> Arc<Graph> {
    let mut body = Body::new();
    let (a, b) = (body.input(F32, dims), body.input(F32, dims));
    let sum = body.op("Reduce", &[("kind", Attribute::Text("Sum".into()))], &[a]);
    let zero = body.constant(Tensor::from_slice(&[], &[0f32]));
    let pred = body.op("Lt", &[], &[sum, zero]);
    let y = body.node(share(If { then: binary("Sub", F32, dims), otherwise: binary("Mul", F32, dims) }), &[pred, a, b]);
    body.gives(&[y])
}

pub fn branches() -> Vec<Case> {
    let mut out = Vec::new();
    let mut add =
        |then: &Arc<Graph>, otherwise: &Arc<Graph>, element, dims: &[usize], pred: &[usize], values: &[f64], fill: Fill| {
            for &value in values {
                let op = If { then: then.clone(), otherwise: otherwise.clone() };
                let case = case(op).fill(Bool, pred, Fill::Values(vec![value]));
                out.push(case.fill(element, dims, fill.clone()).fill(element, dims, fill.clone()));
            }
        };
    for element in [F32, F16, F64, I32, I64, U8] {
        add(&binary("Add", element, &[3, 5]), &binary("Mul", element, &[3, 5]), element, &[3, 5], &[], &[0.0, 1.0], Fill::Any);
    }
    for dims in [&[][..], &[0], &[1031]] {
        add(&binary("Add", F32, dims), &binary("Sub", F32, dims), F32, dims, &[1], &[0.0, 1.0], Fill::Any);
    }
    let range = Fill::Range(0.0, 2.0);
    add(&binary("Add", F32, &[4]), &bad_gather(&[4]), F32, &[4], &[1, 1], &[1.0], range.clone());
    add(&bad_gather(&[4]), &binary("Add", F32, &[4]), F32, &[4], &[], &[0.0], range);
    add(&inner_if(&[7]), &binary("Add", F32, &[7]), F32, &[7], &[], &[0.0, 1.0], Fill::Any);
    // Steps within a branch.
    let mut body = Body::new();
    let (a, b) = (body.input(F32, &[3]), body.input(F32, &[3]));
    let scan = Scan { body: step(F32, &[], false), length: 3, trajectory: true, scanned: 1, carries: Some(1) };
    let zero = body.constant(Tensor::from_slice(&[], &[0.5f32]));
    let y = body.node(share(scan), &[zero, zero, a]);
    let y = body.op("Add", &[], &[y, b]);
    add(&body.gives(&[y]), &binary("Mul", F32, &[3]), F32, &[3], &[], &[0.0, 1.0], Fill::Any);
    // An output that is an input, and one that is a constant.
    let pass = |swap: bool| {
        let mut body = Body::new();
        let (a, b) = (body.input(F32, &[2]), body.input(F32, &[2]));
        let c = body.constant(Tensor::from_slice(&[1], &[if swap { 1i64 << 40 } else { 7 }]));
        body.gives(&if swap { [b, a, c] } else { [a, a, c] })
    };
    add(&pass(true), &pass(false), F32, &[2], &[], &[0.0, 1.0], Fill::Any);
    out
}

/// cond: n < limit.
fn below(element: ElementType, dims: &[usize]) -> Arc<Graph> {
    let mut body = Body::new();
    let (n, _x, limit) = (body.input(I32, &[1]), body.input(element, dims), body.input(I32, &[1]));
    let going = body.op("Lt", &[], &[n, limit]);
    body.gives(&[going])
}

/// n + 1, x + x, under a gather that is right only while n is below 4 if `checked`.
fn doubles(element: ElementType, dims: &[usize], checked: bool) -> Arc<Graph> {
    let mut body = Body::new();
    let (n, x, _limit) = (body.input(I32, &[1]), body.input(element, dims), body.input(I32, &[1]));
    let one = body.constant(Tensor::from_slice(&[1], &[1i32]));
    let next = body.op("Add", &[], &[n, one]);
    let mut y = body.op("Add", &[], &[x, x]);
    if checked {
        let row = body.op("Gather", &[("axis", Attribute::Int(0))], &[x, n]);
        y = body.op("Add", &[], &[y, row]);
    }
    body.gives(&[next, y])
}

pub fn loops() -> Vec<Case> {
    let mut out = Vec::new();
    let mut add = |element, dims: &[usize], checked, limits: &[f64], max_iter: usize| {
        for &limit in limits {
            let op = While { cond: below(element, dims), body: doubles(element, dims, checked), max_iter: Some(max_iter) };
            let case = case(op).fill(I32, &[1], Fill::Values(vec![0.0])).fill(element, dims, Fill::Range(0.0, 3.0));
            out.push(case.fill(I32, &[1], Fill::Values(vec![limit])));
        }
    };
    // No step, one, some, and the limit reached.
    add(F32, &[3, 5], false, &[0.0, 1.0, 3.0, 9.0], 4);
    add(F32, &[1031], false, &[2.0], 1);
    add(F32, &[2], false, &[2.0], 0);
    for element in [F16, F64, I32, I64] {
        add(element, &[7], false, &[2.0], 3);
    }
    // A step after the stop would read outside.
    add(F32, &[4], true, &[4.0, 2.0], 8);
    // A branch within the steps.
    let mut body = Body::new();
    let (n, x, limit) = (body.input(I32, &[1]), body.input(F32, &[4]), body.input(I32, &[1]));
    let one = body.constant(Tensor::from_slice(&[1], &[1i32]));
    let next = body.op("Add", &[], &[n, one]);
    let pred = body.op("Lt", &[], &[next, limit]);
    let y = body.node(share(If { then: binary("Add", F32, &[4]), otherwise: binary("Mul", F32, &[4]) }), &[pred, x, x]);
    let nested = While { cond: below(F32, &[4]), body: body.gives(&[next, y]), max_iter: Some(5) };
    let start = case(nested).fill(I32, &[1], Fill::Values(vec![0.0])).input(F32, &[4]);
    out.push(start.fill(I32, &[1], Fill::Values(vec![3.0])));
    out
}

/// carry * shared + x, and the carry before it.
fn step(element: ElementType, dims: &[usize], collects: bool) -> Arc<Graph> {
    let mut body = Body::new();
    let (carry, shared, x) = (body.input(element, dims), body.input(element, dims), body.input(element, dims));
    let y = body.op("Mul", &[], &[carry, shared]);
    let y = body.op("Add", &[], &[y, x]);
    let outputs = [y, carry];
    body.gives(&outputs[..if collects { 2 } else { 1 }])
}

pub fn scans() -> Vec<Case> {
    let mut out = Vec::new();
    let mut add = |element, dims: &[usize], length: usize, trajectory, collects: bool| {
        let body = step(element, dims, collects);
        let op = Scan { body, length, trajectory, scanned: 1, carries: Some(1) };
        let range = || Fill::Range(-1.0, 2.0);
        let case = case(op).fill(element, dims, range()).fill(element, dims, range());
        out.push(case.fill(element, &[&[length][..], dims].concat(), range()));
    };
    for (length, trajectory, collects) in
        [(0, false, false), (0, true, true), (1, false, true), (1, true, false), (7, false, false)]
    {
        add(F32, &[3, 5], length, trajectory, collects);
    }
    for (dims, length) in [(&[][..], 5), (&[0], 3), (&[257], 33)] {
        add(F32, dims, length, true, true);
    }
    for element in [F16, F64, I32, I64] {
        add(element, &[5], 3, true, false);
    }
    // Steps of which each is a loop with an end of its own, known on the device alone.
    let mut body = Body::new();
    let (n, x, limit) = (body.input(I32, &[1]), body.input(F32, &[5]), body.input(I32, &[1]));
    let inner = While { cond: below(F32, &[5]), body: doubles(F32, &[5], false), max_iter: Some(4) };
    let ids = body.0.add(share(inner), "", &[Some(n), Some(x), Some(limit)]).expect("a node");
    let zero = body.constant(Tensor::from_slice(&[1], &[0i32]));
    let nested = Scan { body: body.gives(&[zero, ids[1], ids[0]]), length: 3, trajectory: false, scanned: 1, carries: Some(2) };
    let start = case(nested).fill(I32, &[1], Fill::Values(vec![0.0])).fill(F32, &[5], Fill::Range(0.0, 3.0));
    out.push(start.fill(I32, &[3, 1], Fill::Values(vec![2.0, 0.0, 3.0])));
    // Two carries that change places, nothing scanned.
    let mut body = Body::new();
    let (a, b) = (body.input(I64, &[]), body.input(I64, &[]));
    let sum = body.op("Add", &[], &[a, b]);
    let fibonacci = Scan { body: body.gives(&[b, sum]), length: 9, trajectory: false, scanned: 0, carries: None };
    out.push(case(fibonacci).fill(I64, &[], Fill::Values(vec![0.0])).fill(I64, &[], Fill::Values(vec![1.0])));
    out
}
