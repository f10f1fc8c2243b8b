//! Writing to standard output. A reader that goes away early (`| head`) is no failure.

/// Prints a line.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}
pub(crate) use say;
