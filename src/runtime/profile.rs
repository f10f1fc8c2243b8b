//! GPU time of the nodes of a run.

use std::fmt::Write as _;

/// Time of one dispatch.
#[derive(Clone, Debug)]
pub struct NodeTime {
    pub node: String,
    pub operator: String,
    pub kernel: &'static str,
    /// Nanoseconds since the start of the run.
    pub start: f64,
    pub nanoseconds: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Profile {
    pub times: Vec<NodeTime>,
}

impl Profile {
    /// A table, the dearest first.
    pub fn to_text(&self) -> String {
        let mut rows: Vec<&NodeTime> = self.times.iter().collect();
        rows.sort_by(|a, b| b.nanoseconds.total_cmp(&a.nanoseconds));
        let total: f64 = rows.iter().map(|r| r.nanoseconds).sum();
        let mut out = format!("{:>12} {:>6}  {:<24} {:<28} node\n", "us", "%", "operator", "kernel");
        for r in rows {
            let (us, share) = (r.nanoseconds / 1e3, 100.0 * r.nanoseconds / total.max(1e-9));
            let _ = writeln!(out, "{us:>12.3} {share:>6.2}  {:<24} {:<28} {}", r.operator, r.kernel, r.node);
        }
        let _ = writeln!(out, "{:>12.3} 100.00  total", total / 1e3);
        out
    }

    /// The trace format that chrome://tracing and Perfetto read.
    pub fn to_chrome_trace(&self) -> String {
        let events: Vec<serde_json::Value> = self
            .times
            .iter()
            .map(|t| {
                serde_json::json!({"name": t.node, "cat": t.operator, "ph": "X", "pid": 0, "tid": 0, "ts": t.start / 1e3,
                    "dur": t.nanoseconds / 1e3, "args": {"kernel": t.kernel}})
            })
            .collect();
        serde_json::json!({ "traceEvents": events }).to_string()
    }
}
