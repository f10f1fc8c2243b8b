//! Numbers of the C enums against what they stand for.

use caldera::ffi::caldera_status;
use caldera::tensor::ElementType;

use super::caldera_h;

/// Name and number of the values of a C enum.
fn values(name: &str) -> Vec<(String, u32)> {
    let header = caldera_h();
    let start = header.find(&format!("typedef enum {name} {{")).unwrap_or_else(|| panic!("{name} is not in the header"));
    let body = &header[start..start + header[start..].find('}').expect("an end")];
    let value = |line: &str| {
        let (name, number) = line.trim().strip_suffix(',').unwrap_or(line.trim()).split_once(" = ")?;
        Some((name.to_string(), number.parse().ok()?))
    };
    body.lines().filter_map(value).collect()
}

#[test]
fn element_types() {
    let listed = values("caldera_type");
    for (name, number) in &listed {
        let ty = ElementType::from_number(*number).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(*name, format!("CALDERA_{}", ty.name().to_uppercase()));
    }
    let known = (0..1000).filter(|&n| ElementType::from_number(n).is_ok()).count();
    assert_eq!(listed.len(), known, "caldera_type lacks an element type");
}

#[test]
fn statuses() {
    use caldera::Status::*;
    let all = [
        InvalidArgument,
        InvalidGraph,
        Unsupported,
        OutOfMemory,
        DeviceLost,
        NoDevice,
        File,
        IndexOutOfRange,
        Busy,
        Timeout,
        Internal,
    ];
    for status in all {
        assert_eq!(caldera_status::from(status) as u32, status as u32, "{status:?}");
    }
    assert_eq!(values("caldera_status").len(), all.len() + 1);
}
