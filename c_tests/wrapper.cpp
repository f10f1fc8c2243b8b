// caldera.hpp: handles, exceptions, builders, runs.
#include <caldera.hpp>

#include "harness.h"

namespace {

using caldera::input;
using caldera::output;

caldera::Graph model() {
    caldera::Graph graph;
    const auto x = graph.input("x", CALDERA_F32, {-1, 3}, {"rows", nullptr});
    graph.bind_dim("rows", 2);
    const auto w = graph.param("w", CALDERA_F32, {3, 2});
    const auto b = graph.constant(std::vector<float>{10, 20}, {2});
    const auto y = graph.op(caldera_add, graph.op(caldera_matmul, x, w, 0, 0), b);
    graph.name(y, "the sum");
    const auto [best, where] = graph.ops<2>(caldera_topk, y, 1, -1, 1, 1);
    graph.output("y", y);
    graph.output("best", graph.reshape(best, {2}));
    graph.output("where", where);
    graph.output("turned", graph.transpose(graph.concat({y, y}, 0), {1, 0}));
    graph.output("total", graph.reduce(y, CALDERA_REDUCE_SUM, {}));
    graph.output("wide", graph.expand(graph.reduce(y, CALDERA_REDUCE_MAX, {1}, true), {2, 2}));
    CHECK(graph.type(where) == CALDERA_I64);
    CHECK((graph.dims(y) == caldera::Dims{2, 2}));
    CHECK(graph.text().find("the sum") != std::string::npos && graph.dot().find("digraph") == 0);
    return graph;
}

template <class Call>
void throws(caldera_status status, const char *text, Call call) {
    try {
        call();
        CHECK(!"it throws");
    } catch (const caldera::Error &error) {
        CHECK(error.status() == status);
        CHECK(std::string(error.what()).find(text) != std::string::npos);
    }
}

void runs(const caldera::Device &device, const caldera::Graph &graph) {
    auto weights = device.weights();
    weights.set("w", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
    auto executable = device.compile(graph, weights);
    const std::vector<float> x{1, 0, 0, 1, 1, 1};
    std::vector<float> y(4);
    executable.warm_up();
    executable.run({input("x", x)}, {output("y", y)});
    CHECK((y == std::vector<float>{11, 22, 19, 32}));
    CHECK((executable.read<float>("best") == std::vector<float>{22, 32}));
    CHECK((executable.read<std::int64_t>("where") == std::vector<std::int64_t>{1, 1}));
    CHECK((executable.read<float>("turned") == std::vector<float>{11, 19, 11, 19, 22, 32, 22, 32}));
    CHECK((executable.read<float>("total") == std::vector<float>{84}));
    CHECK((executable.read<float>("wide") == std::vector<float>{22, 22, 32, 32}));
    executable.submit({input("x", x)});
    while (!executable.wait(std::chrono::milliseconds(100))) {
    }
    executable.wait();
    CHECK(executable.done());
    auto twin = executable.clone();
    twin.set_param("w", std::vector<float>(6, 0));
    twin.run({input("x", x)}, {output("y", y)});
    CHECK((y == std::vector<float>{10, 20, 10, 20}));
    CHECK(executable.inputs().size() == 1 && executable.outputs().size() == 6 && executable.params().size() == 1);
    CHECK(executable.stats().operators > 0);
    throws(CALDERA_INVALID_ARGUMENT, "\"z\"", [&] { executable.run({input("z", x)}, {}); });
    throws(CALDERA_INVALID_ARGUMENT, "\"z\"", [&] { executable.read<float>("z"); });
    throws(CALDERA_INVALID_ARGUMENT, "profiling", [&] { executable.profile(); });
}

void handles(const caldera::Device &device) {
    caldera::Graph graph;
    const auto x = graph.input("x", CALDERA_F32, {3});
    const auto state = graph.input("state", CALDERA_F32, {3});
    graph.output("next", graph.op(caldera_add, x, state));
    auto executable = device.compile(graph);
    auto buffer = device.buffer(CALDERA_F32, {3});
    buffer.write(std::vector<float>{1, 2, 3});
    auto copy = buffer.clone();
    executable.bind("state", buffer);
    executable.feed("state", "next");
    const std::vector<float> ones(3, 1);
    for (int i = 0; i < 3; ++i) executable.run({input("x", ones)}, {});
    CHECK((copy.read<float>() == std::vector<float>{1, 2, 3}));
    executable.end_feeds("state");
    executable.unbind("state");
    executable.set_rng(3);
    auto other = device.compile(graph);
    other.bind("state", std::vector<float>{5, 5, 5});
    other.bind_output("next", copy);
    other.run({input("x", ones)}, {});
    CHECK((copy.read<float>() == std::vector<float>{6, 6, 6}));
    other.unbind("state");
    other.unbind_output("next");
    throws(CALDERA_INVALID_ARGUMENT, "\"state\"", [&] { other.run({input("x", ones)}, {}); });
}

void files(const caldera::Device &device) {
    const caldera::Gguf file(CALDERA_SOURCE_DIR "/examples/tiny-english/model.gguf");
    CHECK(file.text("general.architecture") == "llama");
    CHECK(file.number("llama.block_count") == 6);
    CHECK(file.tensors().size() > 20);
    CHECK(file.metadata("llama.block_count") == "6");
    CHECK(file.tensor(file.tensors()[0].name).bytes == file.tensors()[0].bytes);
    device.weights().load(file);
    const auto graph = model();
    auto weights = device.weights();
    throws(CALDERA_INVALID_ARGUMENT, "\"w\"", [&] { graph.save_onnx("wrapper_test.onnx"); });
    weights.set("w", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
    graph.save_onnx("wrapper_test.onnx", weights.get());
    auto again = caldera::Graph::load_onnx("wrapper_test.onnx");
    throws(CALDERA_INVALID_ARGUMENT, "it has: none", [&] { again.bind_dim("rows", 2); }); /* what was bound is a number in the file */
    CHECK(device.compile(again).get() != nullptr);
    std::remove("wrapper_test.onnx");
    throws(CALDERA_FILE, "no_such_file", [&] { weights.load_safetensors("no_such_file"); });
    throws(CALDERA_FILE, "there_is_no_such_file", [] { caldera::Graph::load_onnx("there_is_no_such_file.onnx"); });
    throws(CALDERA_FILE, "", [] { caldera::Graph::load_onnx("x", 1); });
}

void ownership() {
    caldera::Graph one;
    caldera_graph *raw = one.get();
    caldera::Graph two = std::move(one);
    CHECK(!one && two && two.get() == raw);
    caldera_graph_free(two.release());
    CHECK(!two);
}

}  // namespace

int main() {
    caldera::check_abi();
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    options.select = device_name();
    options.validation = on_cpu() ? 0 : 1;
    caldera_set_log_callback(on_log, &test_state);
    {
        const auto device = caldera::Device::open(options);
        CHECK(!caldera::Device::list().empty());
        CHECK(device.describe().size() > 5 && device.info().usable == 1);
        runs(device, model());
        handles(device);
        files(device);
        ownership();
        throws(CALDERA_INVALID_ARGUMENT, "nonsense", [] { caldera::Device::open("nonsense"); });
        throws(CALDERA_FILE, "no/such", [&] { device.save_cache("no/such/folder/file"); });
    }
    return finish();
}
