//! Builders of control flow. A body is a graph of its own: its inputs, in the order in which they were made, are what it is given, and its outputs what
//! it gives.

use super::attributes::Given;
use crate::ffi::boundary::{boundary, caldera_status, list, list_mut, object};
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};
use crate::tensor::Tensor;
use crate::{Result, ensure, ops};

/// Outputs of a body.
fn outputs_of(body: *const caldera_graph, what: &str) -> Result<usize> {
    Ok(object(body, what)?.0.read()?.graph()?.outputs().len())
}

/// Values that bodies from files have for their params.
pub(super) fn params_of(bodies: &[*const caldera_graph]) -> Result<Vec<(String, Tensor)>> {
    let mut params = Vec::new();
    for body in bodies {
        params.extend(object(*body, "a body")?.0.read()?.params.iter().cloned());
    }
    Ok(params)
}

/// Adds a node with bodies and gives its results.
fn add(
    operator: &str,
    graph: *mut caldera_graph,
    inputs: &[caldera_value],
    bodies: &[(&str, *const caldera_graph)],
    attributes: impl FnOnce(Given) -> Given,
    outs: &mut [caldera_value],
) -> Result<()> {
    let given = bodies.iter().fold(Given::default(), |given, (name, body)| given.body(name, *body));
    let attributes = attributes(given).done().map_err(|e| e.within(operator))?;
    let params = params_of(&bodies.iter().map(|b| b.1).collect::<Vec<_>>())?;
    let made = object(graph, "graph")?.0.write()?.add_with(ops::build(operator, &attributes)?, "", inputs, params)?;
    outs.copy_from_slice(&made);
    Ok(())
}

/// The results of `then_graph` where `pred`, a bool of one element, is true, else those of `else_graph`.
///
/// Both graphs take the `n_captured` values of `captured` as their inputs, in the order in which those were made, and have `n_outs` outputs of the same
/// types, which `outs` receives. What a branch needs of `graph` is passed to it in this way; constants and params it may have of its own (a param is
/// then one of `graph`, under the same name). A symbolic dimension of a branch's input that is not bound takes the size that it is given. The branches are
/// copied: they may be changed or freed after the call, and used again. A branch that is not taken has no effect, and no index in it is checked; on Vulkan both are
/// computed where `pred` is not known at compile.
/// Errors: INVALID_GRAPH (inputs or outputs that do not fit), INVALID_ARGUMENT (another number of outputs, a value that is not of `graph`).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_if(
    graph: *mut caldera_graph,
    pred: caldera_value,
    then_graph: *const caldera_graph,
    else_graph: *const caldera_graph,
    captured: *const caldera_value,
    n_captured: u32,
    outs: *mut caldera_value,
    n_outs: u32,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let inputs = [&[pred], list(captured, n_captured as usize, "captured")?].concat();
        let (count, n_outs) = (outputs_of(then_graph, "then_graph")?, n_outs as usize);
        ensure!(count == n_outs, InvalidArgument, "If: then_graph has {count} outputs, outs has room for {n_outs}");
        let outs = list_mut(outs, n_outs, "outs")?;
        add("If", graph, &inputs, &[("then", then_graph), ("else", else_graph)], |a| a, outs)
    })
}

/// Runs `body` on the `n_carried` values of `carried` as long as `cond` of them is true, at most `max_iter` times. `outs` receives the carried values
/// at the end, `n_carried` of them.
///
/// Both graphs take the carried values and then the `n_captured` values of `captured` as their inputs; `cond` gives one bool of one element, `body` the
/// next carried values, of the same types. Bodies are passed, copied and may hold what those of `caldera_if` may. `max_iter` -1: no limit. On Vulkan
/// the steps are written out when the graph is compiled, and what comes after the end is computed for nothing: that needs a limit, unless `cond` is
/// known at compile in every step, and at most 65536 nodes in sum; otherwise `caldera_compile` gives UNSUPPORTED.
/// Errors: as `caldera_if`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_while(
    graph: *mut caldera_graph,
    cond: *const caldera_graph,
    body: *const caldera_graph,
    max_iter: i64,
    carried: *const caldera_value,
    n_carried: u32,
    captured: *const caldera_value,
    n_captured: u32,
    outs: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let n_carried = n_carried as usize;
        let inputs = [list(carried, n_carried, "carried")?, list(captured, n_captured as usize, "captured")?].concat();
        let count = outputs_of(body, "body")?;
        ensure!(count == n_carried, InvalidArgument, "While: body has {count} outputs for {n_carried} carried values");
        let limit = |a: Given| if max_iter == -1 { a } else { a.int("max_iter", max_iter) };
        add("While", graph, &inputs, &[("cond", cond), ("body", body)], limit, list_mut(outs, count, "outs")?)
    })
}

/// Runs `body` `length` times, step i on slice i of the `n_scanned` values of `scanned`, whose first axis is `length`.
///
/// `body` takes the `n_carried` values of `carried`, the `n_captured` of `captured`, and a slice, without that axis, of each of `scanned`. Its outputs
/// are the next carried values, of the same types, and then any number of values that are collected. `outs` receives as many values, `n_outs`: the
/// carried ones at the end, or if `trajectory` is 1 those after every step, [length, ..]; then the collected ones, [length, ..]. The body is passed,
/// copied and may hold what those of `caldera_if` may. On Vulkan the steps are written out when the graph is compiled, 65536 nodes in sum at most;
/// above, `caldera_compile` gives UNSUPPORTED.
/// Errors: as `caldera_if`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_scan(
    graph: *mut caldera_graph,
    body: *const caldera_graph,
    length: i64,
    trajectory: u32,
    carried: *const caldera_value,
    n_carried: u32,
    captured: *const caldera_value,
    n_captured: u32,
    scanned: *const caldera_value,
    n_scanned: u32,
    outs: *mut caldera_value,
    n_outs: u32,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (carried, captured) = (list(carried, n_carried as usize, "carried")?, list(captured, n_captured as usize, "captured")?);
        let inputs = [carried, captured, list(scanned, n_scanned as usize, "scanned")?].concat();
        let (count, n_outs) = (outputs_of(body, "body")?, n_outs as usize);
        ensure!(count == n_outs, InvalidArgument, "Scan: body has {count} outputs, outs has room for {n_outs}");
        let steps = |a: Given| {
            let a = a.int("length", length).flag("trajectory", trajectory);
            a.int("scanned", n_scanned).int("carries", n_carried)
        };
        add("Scan", graph, &inputs, &[("body", body)], steps, list_mut(outs, n_outs, "outs")?)
    })
}
