//! Sizes and offsets of the structs of the header, from a C compiler, against Rust's.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

use caldera::ffi::*;

use super::{caldera_h, output, root};

/// Lines "struct size", "struct.field offset" as Rust has them.
macro_rules! layouts {
    ($($name:ident { $($field:ident),* $(,)? })*) => {{
        let mut lines = Vec::new();
        $(
            lines.push(format!("{} {}", stringify!($name), size_of::<$name>()));
            $(lines.push(format!("{}.{} {}", stringify!($name), stringify!($field).trim_start_matches("r#"), offset_of!($name, $field)));)*
        )*
        lines
    }};
}

fn rust() -> Vec<String> {
    layouts! {
        caldera_attention_options {
            struct_size, num_heads, num_kv_heads, head_dim, v_head_dim, layout, mask, window, scale, softcap
        }
        caldera_attribute { name, kind, rank, i, f, s, ints, floats, data, count }
        caldera_compile_options {
            struct_size, precision, matmul, full_barriers, profiling, unchecked_indices, weights, memory_limit, seed
        }
        caldera_conv_options { struct_size, spatial, stride, pad_begin, pad_end, dilation, output_padding, groups, act }
        caldera_device_properties { kind, usable, uuid, name, driver, features, memory, api_version, reserved }
        caldera_device_options {
            struct_size, kind, select, allow_software, allow_cpu, validation, reserved, cache, cache_bytes, cache_path
        }
        caldera_gguf_tensor_info { name, r#type, rank, dims, data, bytes }
        caldera_model_options { struct_size, tokens, context, cache_type, sampling, temperature, top_k, top_p, min_p, batch, spare, scores }
        caldera_pool_options {
            struct_size, kind, spatial, ceil, count_include_pad, p, kernel, stride, pad_begin, pad_end, dilation
        }
        caldera_port_info { name, r#type, rank, dims, bytes }
        caldera_resize_options {
            struct_size, mode, coordinate_mode, nearest_mode, antialias, rank, sizes, scales, cubic_a
        }
        caldera_roi_align_options {
            struct_size, output_height, output_width, sampling_ratio, maximum, output_half_pixel, spatial_scale
        }
        caldera_run_input { name, data, size }
        caldera_run_output { name, data, size }
        caldera_stats {
            struct_size, operators, dispatches, barriers, host_operators, reserved, submits, device_allocations, arena_bytes,
            arena_lower_bound, arena_no_reuse, constant_bytes, weight_bytes, port_bytes
        }
    }
}

/// Structs and fields of the header.
fn declared() -> Vec<(String, Vec<String>)> {
    let (mut all, mut fields, mut inside) = (Vec::new(), Vec::new(), false);
    for line in caldera_h().lines() {
        let code = line.trim();
        if line.starts_with("typedef struct ") && line.ends_with('{') {
            inside = true;
        } else if inside && line.starts_with("} ") {
            all.push((line[2..].trim_end_matches(';').to_string(), std::mem::take(&mut fields)));
            inside = false;
        } else if inside && code.ends_with(';') && !code.starts_with('*') {
            let field = code.trim_end_matches(';').split('[').next().unwrap_or_default();
            fields.push(field.rsplit([' ', '*']).next().unwrap_or_default().to_string());
        }
    }
    all
}

#[test]
fn c_and_rust_agree() {
    let mut program = String::from("#include <caldera.h>\n#include <stdio.h>\nint main(void) {\n");
    for (name, fields) in declared() {
        let _ = writeln!(program, "    printf(\"{name} %zu\\n\", sizeof({name}));");
        for field in fields {
            let _ = writeln!(program, "    printf(\"{name}.{field} %zu\\n\", offsetof({name}, {field}));");
        }
    }
    program.push_str("    return 0;\n}\n");
    let folder = std::env::temp_dir().join(format!("caldera-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (source, binary) = (folder.join("layout.c"), folder.join("layout"));
    std::fs::write(&source, program).expect("a temporary file");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    output(
        Command::new(compiler)
            .args(["-std=c99", "-Wall", "-Werror", "-pedantic", "-I"])
            .arg(root().join("include"))
            .arg(&source)
            .arg("-o")
            .arg(&binary),
    );
    let said: BTreeSet<String> = output(&mut Command::new(&binary)).lines().map(String::from).collect();
    let _ = std::fs::remove_dir_all(&folder);
    let ours: BTreeSet<String> = rust().into_iter().collect();
    let (only_c, only_rust): (Vec<_>, Vec<_>) = (said.difference(&ours).collect(), ours.difference(&said).collect());
    assert!(only_c.is_empty() && only_rust.is_empty(), "only in C: {only_c:?}; only in Rust: {only_rust:?}");
}
