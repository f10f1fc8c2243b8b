//! Where text for people goes: a callback of the host, or standard error if CALDERA_LOG is set. Off otherwise.

use std::sync::{LazyLock, RwLock};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Level {
    Error = 1,
    Warning,
    Info,
    Debug,
}

type Sink = Box<dyn Fn(Level, &str) + Send + Sync>;

static SINK: RwLock<Option<Sink>> = RwLock::new(None);

/// CALDERA_LOG: error, warning, info (also any other text) or debug.
static FROM_ENVIRONMENT: LazyLock<Option<Level>> = LazyLock::new(|| match std::env::var("CALDERA_LOG").ok()?.as_str() {
    "" | "0" | "off" => None,
    "error" => Some(Level::Error),
    "warning" => Some(Level::Warning),
    "debug" => Some(Level::Debug),
    _ => Some(Level::Info),
});

/// Sends all lines to `sink` from now on; none: no more.
pub fn set_sink(sink: Option<Sink>) {
    if let Ok(mut guard) = SINK.write() {
        *guard = sink;
    }
}

/// True if a line of this level is seen by anybody.
pub fn enabled(level: Level) -> bool {
    SINK.read().is_ok_and(|s| s.is_some()) || FROM_ENVIRONMENT.is_some_and(|most| level <= most)
}

pub fn log(level: Level, text: &str) {
    if let Ok(guard) = SINK.read()
        && let Some(sink) = guard.as_ref()
    {
        sink(level, text);
        return;
    }
    if FROM_ENVIRONMENT.is_some_and(|most| level <= most) {
        eprintln!("caldera: {text}");
    }
}
