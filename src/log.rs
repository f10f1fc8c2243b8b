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

/// True if an environment variable is set to anything but 0.
pub fn flag(name: &str) -> bool {
    std::env::var(name).is_ok_and(|v| !v.is_empty() && v != "0")
}

/// CALDERA_LOG: error, warning, info (also any other text) or debug; CALDERA_DEBUG=1 alone means debug.
static FROM_ENVIRONMENT: LazyLock<Option<Level>> = LazyLock::new(|| match std::env::var("CALDERA_LOG").as_deref() {
    Err(_) => flag("CALDERA_DEBUG").then_some(Level::Debug),
    Ok(text) => level_of(text),
});

fn level_of(text: &str) -> Option<Level> {
    match text {
        "" | "0" | "off" => None,
        "error" => Some(Level::Error),
        "warning" => Some(Level::Warning),
        "debug" => Some(Level::Debug),
        _ => Some(Level::Info),
    }
}

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
