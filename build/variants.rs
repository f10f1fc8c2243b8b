//! Reads shaders/*/variants.toml: one file a family of operators.
//!
//! One table a kernel family. A key in capitals is an axis: there is a kernel for every combination of the values of its
//! axes. A value that names an element type gives the shader that type under the axis' name (`T_load`, `T_store`,
//! `T_compute`, `T_BYTES`, `USE_f16`, ...); any value gives `AXIS_value` = 1. Lower-case keys are settings: `file` (default: the
//! family's name), `optimize` (default true), `defines`, `plain` (which values of an axis
//! lesser devices have a form of, see shaders.rs; default: all).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// One kernel to compile.
pub struct Variant {
    pub family: String,
    /// The value of each axis, in the order of the family's axes.
    pub values: Vec<String>,
    pub name: String,
    pub file: PathBuf,
    pub optimize: bool,
    /// Whether lesser devices have a plain form of it (shaders.rs).
    pub plain: bool,
    /// Lines put before the shader's own text.
    pub defines: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Setting {
    Text(String),
    Flag(bool),
    List(Vec<String>),
    Defines(BTreeMap<String, String>),
}

/// Name, type computed with, bytes.
const ELEMENTS: [(&str, &str, u32); 14] = [
    ("f32", "float", 4),
    ("f16", "float", 2),
    ("bf16", "float", 2),
    ("f64", "double", 8),
    ("i8", "int", 1),
    ("i16", "int", 2),
    ("i32", "int", 4),
    ("i64", "int64_t", 8),
    ("u8", "uint", 1),
    ("u16", "uint", 2),
    ("u32", "uint", 4),
    ("u64", "uint64_t", 8),
    ("bool", "uint", 1),
    ("c64", "vec2", 8),
];

/// The packed block types.
const BLOCKS: [&str; 23] = [
    "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "iq4_nl", "iq4_xs", "iq2_xxs",
    "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq1_s", "iq1_m", "tq1_0", "tq2_0", "mxfp4",
];

/// Short names for lists of element types.
fn expand(value: &str) -> Vec<String> {
    let list: &[&str] = match value {
        "@floats" => &["f32", "f16", "bf16", "f64"],
        "@integers" => &["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"],
        "@numbers" => &["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"],
        "@blocks" => &BLOCKS,
        other => return vec![other.to_string()],
    };
    list.iter().map(|s| s.to_string()).collect()
}

/// The variants of every folder of `shaders`.
pub fn read(shaders: &Path) -> Vec<Variant> {
    let mut out = Vec::new();
    let folders = std::fs::read_dir(shaders).expect("shaders/ is readable").flatten();
    let mut files: Vec<_> = folders.map(|f| f.path().join("variants.toml")).filter(|p| p.exists()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("variants.toml is readable");
        let tables: BTreeMap<String, BTreeMap<String, Setting>> =
            toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let folder = file.parent().expect("a file has a folder");
        out.extend(tables.into_iter().flat_map(|(family, settings)| family_variants(folder, &family, settings)));
    }
    let mut names: Vec<&str> = out.iter().map(|v| v.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|w| w[0] != w[1]), "two kernels have one name");
    out
}

fn family_variants(folder: &Path, family: &str, settings: BTreeMap<String, Setting>) -> Vec<Variant> {
    let mut axes: Vec<(String, Vec<String>)> = Vec::new();
    let (mut file, mut optimize, mut plain, mut fixed) = (format!("{family}.comp"), true, None, Vec::new());
    for (key, setting) in settings {
        match (key.as_str(), setting) {
            ("file", Setting::Text(name)) => file = name,
            ("optimize", Setting::Flag(flag)) => optimize = flag,
            ("plain", Setting::List(values)) => plain = Some(values),
            ("defines", Setting::Defines(map)) => fixed.extend(map),
            (_, Setting::List(values)) if key.chars().all(|c| c.is_ascii_uppercase() || c == '_') => {
                axes.push((key, values.iter().flat_map(|v| expand(v)).collect()));
            }
            _ => panic!("{}/variants.toml, [{family}]: what is {key}?", folder.display()),
        }
    }
    let mut combinations = vec![Vec::new()];
    for (_, values) in &axes {
        combinations = combinations
            .into_iter()
            .flat_map(|c: Vec<String>| values.iter().map(move |v| [c.clone(), vec![v.clone()]].concat()))
            .collect();
    }
    combinations
        .into_iter()
        .map(|values| {
            let mut defines = fixed.clone();
            for ((axis, _), value) in axes.iter().zip(&values) {
                defines.push((format!("{axis}_{value}"), "1".into()));
                if let Some((name, compute, bytes)) = ELEMENTS.iter().find(|e| e.0 == value) {
                    defines.push((format!("USE_{name}"), "1".into()));
                    for part in ["load", "store"] {
                        defines.push((format!("{axis}_{part}"), format!("{part}_{name}")));
                    }
                    defines.push((format!("{axis}_compute"), compute.to_string()));
                    defines.push((format!("{axis}_BYTES"), format!("{bytes}u")));
                }
            }
            let plain = plain.as_ref().is_none_or(|list| values.iter().any(|v| list.contains(v)));
            let name = [&[family.to_string()], values.as_slice()].concat().join("_");
            Variant { family: family.to_string(), values, name, file: folder.join(&file), optimize, plain, defines }
        })
        .collect()
}
