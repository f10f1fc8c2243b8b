//! c_tests/null_arguments.c: every function of the header with NULL for every pointer, then with its object but nothing else.

/// Return type, name, and types of the parameters of every function.
fn declarations(header: &str) -> Vec<(String, String, Vec<String>)> {
    let mut all = Vec::new();
    let mut text = String::new();
    for line in header.lines() {
        let starts = text.is_empty() && line.contains("caldera_") && line.contains('(');
        let code = !line.starts_with([' ', '/', '#', '}']) && !line.starts_with("typedef");
        if !(starts && code) && text.is_empty() {
            continue;
        }
        text.push_str(line.trim());
        text.push(' ');
        if line.ends_with(");") {
            let (head, tail) = text.split_once('(').expect("a declaration has parameters");
            let name = head.rsplit([' ', '*']).next().unwrap_or_default();
            let returned = head[..head.len() - name.len()].trim();
            let list = tail.trim().trim_end_matches(");");
            let parameters = list.split(',').map(|p| p.trim().to_string()).filter(|p| p != "void").collect();
            all.push((returned.to_string(), name.to_string(), parameters));
            text.clear();
        }
    }
    all
}

/// What stands for "nothing" in C.
fn nothing(parameter: &str) -> &'static str {
    if parameter.contains('*') || parameter.contains("_callback ") {
        "NULL"
    } else if parameter.starts_with("double ") {
        "0.0"
    } else {
        "0"
    }
}

/// The handle that a function takes first, if it does: "graph".
fn handle(parameters: &[String]) -> Option<&'static str> {
    let first = parameters.first()?.trim_start_matches("const ").replace("**", "");
    ["graph", "device", "weights", "executable", "buffer", "gguf"]
        .into_iter()
        .find(|h| first.starts_with(&format!("caldera_{h} *")))
}

const HEAD: &str = r#"/* Made by `./run regen` from include/caldera.h: every function with NULL for every pointer, then with its object and nothing else. */
#include "harness.h"

#define REFUSED(call) CHECK((call) == CALDERA_INVALID_ARGUMENT)
/* Whatever it answers, it is not a fault of Caldera's own. */
#define SURVIVES(call) CHECK((call) != CALDERA_INTERNAL)

"#;

const MAIN: &str = r#"
int main(void) {
    const int64_t dims[] = {2};
    caldera_device *device = open_device();
    caldera_graph *graph = NULL, *other = NULL;
    caldera_weights *weights = NULL;
    caldera_executable *executable = NULL;
    caldera_buffer *buffer = NULL;
    caldera_gguf *gguf = NULL;
    caldera_value x = 0;
    with_nothing();
    caldera_set_log_callback(on_log, &test_state);
    OK(caldera_graph_new(&graph, err()));
    OK(caldera_graph_input(graph, "x", CALDERA_F32, dims, NULL, 1, &x, err()));
    OK(caldera_graph_output(graph, "y", x, err()));
    OK(caldera_compile(device, graph, NULL, &executable, err()));
    OK(caldera_graph_new(&other, err()));
    OK(caldera_weights_new(device, &weights, err()));
    OK(caldera_buffer_new(device, CALDERA_F32, dims, 1, &buffer, err()));
    OK(caldera_gguf_open(CALDERA_SOURCE_DIR "/examples/tiny-english/model.gguf", &gguf, err()));
    with_object(device, other, weights, executable, buffer, gguf);
    with_object(device, graph, weights, executable, buffer, gguf);
    caldera_gguf_free(gguf);
    caldera_buffer_free(buffer);
    caldera_executable_free(executable);
    caldera_weights_free(weights);
    caldera_graph_free(other);
    caldera_graph_free(graph);
    caldera_device_free(device);
    return finish();
}
"#;

/// The program, for this header.
pub fn made(header: &str) -> String {
    let mut none = String::from("static void with_nothing(void) {\n");
    let mut some = String::from(
        "static void with_object(caldera_device *device, caldera_graph *graph, caldera_weights *weights, caldera_executable *executable,\n\
         \x20                       caldera_buffer *buffer, caldera_gguf *gguf) {\n",
    );
    for (returned, name, parameters) in declarations(header) {
        let arguments: Vec<&str> = parameters.iter().map(|p| nothing(p)).collect();
        let call = format!("{name}({})", arguments.join(", "));
        none += &match (returned.as_str(), name.as_str()) {
            ("caldera_status", "caldera_check_abi") => format!("    CHECK({call} == CALDERA_UNSUPPORTED);\n"),
            ("caldera_status", "caldera_error_status") => format!("    CHECK({call} == CALDERA_OK);\n"),
            ("caldera_status", _) => format!("    REFUSED({call});\n"),
            ("void", _) => format!("    {call};\n"),
            _ => format!("    (void){call};\n"),
        };
        let Some(handle) = handle(&parameters) else { continue };
        if returned == "caldera_status" {
            let arguments = [&[handle], &arguments[1..]].concat();
            some += &format!("    SURVIVES({name}({}));\n", arguments.join(", "));
        }
    }
    format!("{HEAD}{none}}}\n\n{some}}}\n{MAIN}")
}
