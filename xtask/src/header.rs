//! include/caldera.h: what cbindgen makes of src/ffi, with an _INIT macro for each options struct and headings.

use std::fmt::Write as _;
use std::path::Path;

use crate::root;

/// The files of src/ffi in the order of the header, with a heading for their functions.
const FILES: &[(&str, &str)] = &[
    ("boundary.rs", ""),
    ("types.rs", ""),
    ("version.rs", "Versions and the log"),
    ("error.rs", "Errors"),
    ("device.rs", "Devices"),
    ("buffer.rs", "Buffers"),
    ("weights.rs", "Weights"),
    ("graph.rs", "Graphs"),
    ("executable.rs", "Executables"),
    ("gguf.rs", "GGUF files and language models"),
    ("builders/node.rs", "Builders: any operator by its name"),
    ("builders/unary.rs", "Builders: one operand, element by element; the result has the shape of x"),
    ("builders/binary.rs", "Builders: two operands of one type, element by element; shapes broadcast"),
    ("builders/elementwise.rs", "Builders: other operators, element by element"),
    ("builders/contraction.rs", "Builders: matrix products"),
    ("builders/quant.rs", "Builders: packed weights"),
    ("builders/reduce.rs", "Builders: reductions, orders, softmax"),
    ("builders/random.rs", "Builders: random numbers (Philox4x32-10; the same on every device)"),
    ("builders/norm.rs", "Builders: normalisations of floats; eps keeps the divisor above 0"),
    ("builders/transformer.rs", "Builders: transformers"),
    ("builders/movement.rs", "Builders: moving data"),
    ("builders/index.rs", "Builders: moving data by indices, and making it"),
    ("builders/vision.rs", "Builders: pictures and other grids"),
    ("builders/recurrent.rs", "Builders: recurrent networks and state-space models"),
    ("builders/signal.rs", "Builders: Fourier transforms"),
    ("builders/control.rs", "Builders: control flow"),
];

/// Files without anything for C.
const INTERNAL: &[&str] = &["mod.rs", "options.rs", "builders/mod.rs", "builders/attributes.rs"];

/// The header.
pub fn made() -> String {
    check_list();
    let mut config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml is right");
    let mut builder = cbindgen::Builder::new();
    for (file, _) in FILES {
        let path = root().join("src/ffi").join(file);
        // Enums that functions take as a number are used by none of them.
        config.export.include.extend(items(&path, "pub enum "));
        builder = builder.with_src(path);
    }
    let mut raw = Vec::new();
    builder.with_config(config).generate().expect("src/ffi has a C form").write(&mut raw);
    let text = String::from_utf8(raw).expect("text");
    with_headings(&tidied(&with_init_macros(&text)))
}

/// Names that follow `keyword` in a source file.
fn items(path: &Path, keyword: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let name = |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_string();
    text.lines().filter_map(|line| line.strip_prefix(keyword).map(name)).collect()
}

/// After each struct that begins with struct_size, a macro that sets it and zeros all else. All fields are given: then neither C nor C++ warns.
fn with_init_macros(text: &str) -> String {
    let mut out = String::new();
    let mut fields: Vec<String> = Vec::new();
    for line in text.lines() {
        out.push_str(line);
        out.push('\n');
        let code = line.trim();
        if line.starts_with("typedef struct") && line.ends_with('{') {
            fields.clear();
        } else if let Some(name) = line.strip_prefix("} ").and_then(|l| l.strip_suffix(';')) {
            if fields.first().is_some_and(|f| f == "uint32_t struct_size;") {
                let zeros = fields[1..].iter().map(|f| if f.contains('[') { ", {0}" } else { ", 0" }).collect::<String>();
                let macro_name = name.to_uppercase();
                let _ = write!(out, "\n/** Where a {name} begins. */\n#define {macro_name}_INIT {{sizeof({name}){zeros}}}\n");
            }
            fields.clear();
        } else if code.ends_with(';') && !code.starts_with('*') {
            fields.push(code.into());
        }
    }
    out
}

/// Every opaque struct and enum has a typedef: tags are noise. A comment of one line stands on one line; a function fills its lines.
fn tidied(text: &str) -> String {
    // A comma after the last enumerator is no C90, and neither is a comment of C++.
    let text = text.replace("\n *\n */", "\n */").replace(",\n}", "\n}");
    let text = text.replace("#endif // __cplusplus", "#endif").replace("#endif  // __cplusplus", "#endif");
    let mut blocks = Vec::new();
    for block in text.split("\n\n") {
        let mut out: Vec<String> = Vec::new();
        let lines: Vec<&str> = block.lines().collect();
        let mut i = 0;
        while i < lines.len() {
            let indent = &lines[i][..lines[i].len() - lines[i].trim_start().len()];
            let one_line = lines[i].trim() == "/**" && lines.get(i + 2).is_some_and(|l| l.trim() == "*/");
            let comment = one_line.then(|| format!("{indent}/**{} */", lines[i + 1].trim().trim_start_matches('*')));
            match comment.filter(|c| c.len() <= WIDTH) {
                Some(comment) => {
                    out.push(comment);
                    i += 3;
                }
                None => {
                    out.push(without_tags(lines[i]));
                    i += 1;
                }
            }
        }
        blocks.push(filled(out));
    }
    blocks.join("\n\n") + "\n"
}

fn without_tags(line: &str) -> String {
    if line.starts_with("typedef struct") || line.starts_with("typedef enum") {
        return line.into();
    }
    line.replace("struct caldera_", "caldera_").replace("enum caldera_", "caldera_")
}

/// A block that ends with a function, with the parameters side by side.
fn filled(lines: Vec<String>) -> String {
    let start = lines.iter().rposition(|l| l.contains("*/")).map_or(0, |end| end + 1);
    let code = lines[start..].join(" ");
    if !code.ends_with(");") || code.starts_with("typedef") {
        return lines.join("\n");
    }
    let mut out = lines[..start].to_vec();
    let mut line = String::new();
    for word in code.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > WIDTH {
            out.push(std::mem::replace(&mut line, String::from("   ")));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push(line);
    out.join("\n")
}

/// Columns of a line.
const WIDTH: usize = 132;

/// A heading before the first function of each file.
fn with_headings(text: &str) -> String {
    let mut headings: Vec<(String, &'static str)> = Vec::new();
    for (file, heading) in FILES {
        let path = root().join("src/ffi").join(file);
        if let Some(first) = items(&path, "pub extern \"C\" fn ").first() {
            headings.push((format!("{first}("), heading));
        }
    }
    let mut blocks: Vec<String> = text.split("\n\n").map(String::from).collect();
    for block in &mut blocks {
        let is_function = block.trim_end().ends_with(");") && !block.contains("typedef");
        let first = |(name, heading): &(String, &'static str)| block.contains(name.as_str()).then_some(*heading);
        if is_function && let Some(heading) = headings.iter().find_map(first) {
            *block = format!("/* ---- {heading} ---- */\n\n{block}");
        }
    }
    blocks.join("\n\n")
}

/// Every file of src/ffi must be in one of the lists above.
fn check_list() {
    for folder in ["", "builders/"] {
        let path = root().join("src/ffi").join(folder);
        for entry in std::fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).flatten() {
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            let listed = FILES.iter().any(|f| f.0 == name) || INTERNAL.contains(&name.as_str());
            assert!(listed || !name.ends_with(".rs"), "src/ffi/{name} is in no list of xtask/src/header.rs");
        }
    }
}
