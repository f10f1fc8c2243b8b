/// Caldera for C++17: handles that free themselves, errors as exceptions, values of a graph. Header only, over caldera.h.
///
///     caldera::Device device = caldera::Device::open();
///     caldera::Graph graph;
///     auto x = graph.input("x", CALDERA_F32, {2, 3});
///     auto y = graph.op(caldera_softmax, x, -1);            // any builder: its operands and attributes, without graph, out and error
///     auto [top, where] = graph.ops<2>(caldera_topk, y, 1, -1, 1, 1);
///     graph.output("y", y);
///     caldera::Executable executable = device.compile(graph);
///     executable.run({caldera::input("x", in)}, {caldera::output("y", out)});
///
/// Every call can throw caldera::Error. What has no method here is a call away: caldera::call(caldera_device_trim, device.get()).
///
/// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef CALDERA_HPP
#define CALDERA_HPP

#include <caldera.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caldera {

/// Why a call failed: what() says it with names and numbers.
class Error : public std::runtime_error {
public:
    Error(caldera_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
    caldera_status status() const noexcept { return status_; }

private:
    caldera_status status_;
};

/// Calls a function of caldera.h without its last parameter, the error, and throws what goes wrong.
template <class... Parameters, class... Arguments>
void call(caldera_status (*function)(Parameters...), Arguments &&...arguments) {
    caldera_error *error = nullptr;
    const caldera_status status = function(std::forward<Arguments>(arguments)..., &error);
    if (status == CALDERA_OK) return;
    const std::unique_ptr<caldera_error, void (*)(caldera_error *)> owner(error, caldera_error_free);
    throw Error(status, caldera_error_message(error));
}

/// Throws if the library that was found is of another binary interface than this header.
inline void check_abi() { call(caldera_check_abi, static_cast<std::uint32_t>(CALDERA_ABI_VERSION)); }

/// The caldera_type of a C++ type. bool has none: a byte is what it is on the device.
template <class T>
struct TypeOf;
template <> struct TypeOf<float> { static constexpr caldera_type value = CALDERA_F32; };
template <> struct TypeOf<double> { static constexpr caldera_type value = CALDERA_F64; };
template <> struct TypeOf<std::int8_t> { static constexpr caldera_type value = CALDERA_I8; };
template <> struct TypeOf<std::int16_t> { static constexpr caldera_type value = CALDERA_I16; };
template <> struct TypeOf<std::int32_t> { static constexpr caldera_type value = CALDERA_I32; };
template <> struct TypeOf<std::int64_t> { static constexpr caldera_type value = CALDERA_I64; };
template <> struct TypeOf<std::uint8_t> { static constexpr caldera_type value = CALDERA_U8; };
template <> struct TypeOf<std::uint16_t> { static constexpr caldera_type value = CALDERA_U16; };
template <> struct TypeOf<std::uint32_t> { static constexpr caldera_type value = CALDERA_U32; };
template <> struct TypeOf<std::uint64_t> { static constexpr caldera_type value = CALDERA_U64; };

using Dims = std::vector<std::int64_t>;

/// Data for an input of a run; it must live as long as the call.
template <class T>
caldera_run_input input(const char *name, const std::vector<T> &data) {
    return {name, data.data(), data.size() * sizeof(T)};
}

/// Room for an output of a run.
template <class T>
caldera_run_output output(const char *name, std::vector<T> &data) {
    return {name, data.data(), data.size() * sizeof(T)};
}

namespace detail {

/// Text by count-then-fill.
template <class Function, class... Arguments>
std::string text(Function function, Arguments... arguments) {
    std::size_t size = 0;
    call(function, arguments..., static_cast<char *>(nullptr), &size);
    std::string out(size, '\0');
    call(function, arguments..., out.data(), &size);
    out.resize(size == 0 ? 0 : size - 1);
    return out;
}

/// A list by count-then-fill.
template <class T, class Function, class... Arguments>
std::vector<T> list(Function function, Arguments... arguments) {
    std::size_t count = 0;
    call(function, arguments..., static_cast<T *>(nullptr), &count);
    std::vector<T> out(count);
    call(function, arguments..., out.data(), &count);
    out.resize(count < out.size() ? count : out.size());
    return out;
}

/// The one owner of an object of the C API.
template <class T, void (*Free)(T *)>
class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T *raw) noexcept : raw_(raw) {}
    T *get() const noexcept { return raw_.get(); }
    explicit operator bool() const noexcept { return raw_ != nullptr; }
    /// Gives the object away: the caller frees it.
    T *release() noexcept { return raw_.release(); }

protected:
    struct Deleter {
        void operator()(T *raw) const noexcept { Free(raw); }
    };
    std::unique_ptr<T, Deleter> raw_;
};

/// Makes an object by a call whose last parameter before the error is where it goes.
template <class T, class Function, class... Arguments>
T *made(Function function, Arguments... arguments) {
    T *raw = nullptr;
    call(function, arguments..., &raw);
    return raw;
}

}  // namespace detail

/// A value of a graph.
struct Value {
    caldera_value id = CALDERA_NO_VALUE;
    operator caldera_value() const noexcept { return id; }
};

/// An input that is left out.
inline constexpr Value none{};

class Gguf : public detail::Handle<caldera_gguf, caldera_gguf_free> {
public:
    explicit Gguf(const std::string &path) : Handle(detail::made<caldera_gguf>(caldera_gguf_open, path.c_str())) {}
    std::string text(const std::string &key) const { return detail::text(caldera_gguf_metadata_text, get(), key.c_str()); }
    double number(const std::string &key) const {
        double value = 0;
        call(caldera_gguf_metadata_number, get(), key.c_str(), &value);
        return value;
    }
    /// Any value as text.
    std::string metadata(const std::string &key) const { return detail::text(caldera_gguf_metadata, get(), key.c_str()); }
    caldera_gguf_tensor_info tensor(const std::string &name) const {
        caldera_gguf_tensor_info info;
        call(caldera_gguf_tensor, get(), name.c_str(), &info);
        return info;
    }
    std::vector<caldera_gguf_tensor_info> tensors() const { return detail::list<caldera_gguf_tensor_info>(caldera_gguf_tensors, get()); }
};

class Graph : public detail::Handle<caldera_graph, caldera_graph_free> {
public:
    Graph() : Handle(detail::made<caldera_graph>(caldera_graph_new)) {}
    explicit Graph(caldera_graph *raw) noexcept : Handle(raw) {}
    static Graph load_onnx(const std::string &path) { return Graph(detail::made<caldera_graph>(caldera_graph_load_onnx, path.c_str())); }
    static Graph load_onnx(const void *data, std::size_t size) {
        return Graph(detail::made<caldera_graph>(caldera_graph_load_onnx_memory, data, size));
    }
    static Graph load_gguf(const Gguf &file, const caldera_model_options &options = CALDERA_MODEL_OPTIONS_INIT) {
        return Graph(detail::made<caldera_graph>(caldera_graph_load_gguf, file.get(), &options));
    }

    Value input(const std::string &name, caldera_type type, const Dims &dims) {
        return one([&](Value &v) { call(caldera_graph_input, get(), name.c_str(), type, dims.data(), nullptr, rank(dims), &v.id); });
    }
    /// A dimension of -1 has the name at its place; the other names are not looked at.
    Value input(const std::string &name, caldera_type type, const Dims &dims, const std::vector<const char *> &dim_names) {
        if (dim_names.size() != dims.size()) throw Error(CALDERA_INVALID_ARGUMENT, "input \"" + name + "\" needs as many names as dimensions");
        return one([&](Value &v) { call(caldera_graph_input, get(), name.c_str(), type, dims.data(), dim_names.data(), rank(dims), &v.id); });
    }
    Value param(const std::string &name, caldera_type type, const Dims &dims) {
        return one([&](Value &v) { call(caldera_graph_param, get(), name.c_str(), type, dims.data(), rank(dims), &v.id); });
    }
    template <class T>
    Value constant(const std::vector<T> &data, const Dims &dims) {
        return one([&](Value &v) {
            call(caldera_graph_constant, get(), TypeOf<T>::value, dims.data(), rank(dims), data.data(), data.size() * sizeof(T), &v.id);
        });
    }
    void output(const std::string &name, Value value) { call(caldera_graph_output, get(), name.c_str(), value.id); }
    void name(Value value, const std::string &text) { call(caldera_graph_set_name, get(), value.id, text.c_str()); }
    void bind_dim(const std::string &dim, std::int64_t size) { call(caldera_graph_bind_dim, get(), dim.c_str(), size); }

    /// A builder of one result, by its operands and attributes.
    template <class Builder, class... Arguments>
    Value op(Builder builder, Arguments... arguments) {
        return one([&](Value &v) { call(builder, get(), arguments..., &v.id); });
    }
    /// A builder of N results.
    template <std::size_t N, class Builder, class... Arguments>
    std::array<Value, N> ops(Builder builder, Arguments... arguments) {
        std::array<Value, N> out;
        fill(out, std::make_index_sequence<N>(), builder, arguments...);
        return out;
    }
    Value reshape(Value x, const Dims &dims) { return op(caldera_reshape, x, dims.data(), rank(dims)); }
    Value transpose(Value x, const Dims &perm) { return op(caldera_transpose, x, perm.data(), rank(perm)); }
    Value expand(Value x, const Dims &dims) { return op(caldera_expand, x, dims.data(), rank(dims)); }
    Value reduce(Value x, caldera_reduce_kind kind, const Dims &axes, bool keep_dims = false) {
        return op(caldera_reduce, x, kind, axes.data(), rank(axes), keep_dims ? 1u : 0u);
    }
    Value concat(const std::vector<Value> &xs, std::int64_t axis) {
        const std::vector<caldera_value> ids(xs.begin(), xs.end());
        return op(caldera_concat, ids.data(), static_cast<std::uint32_t>(ids.size()), axis);
    }

    caldera_type type(Value value) const {
        std::uint32_t number = 0;
        call(caldera_graph_value_type, get(), value.id, &number, static_cast<std::int64_t *>(nullptr), static_cast<std::uint32_t *>(nullptr));
        return static_cast<caldera_type>(number);
    }
    Dims dims(Value value) const {
        Dims out(8);
        std::uint32_t count = 8;
        call(caldera_graph_value_type, get(), value.id, static_cast<std::uint32_t *>(nullptr), out.data(), &count);
        out.resize(count);
        return out;
    }
    /// Writes an ONNX file with the values of the params from `weights`, or, without, from the file the graph came from.
    void save_onnx(const std::string &path, const caldera_weights *weights = nullptr) const {
        call(caldera_graph_save_onnx, get(), weights, path.c_str());
    }
    std::string text() const { return detail::text(caldera_graph_print, get(), static_cast<std::uint32_t>(CALDERA_PRINT_TEXT)); }
    std::string dot() const { return detail::text(caldera_graph_print, get(), static_cast<std::uint32_t>(CALDERA_PRINT_DOT)); }

private:
    static std::uint32_t rank(const Dims &dims) { return static_cast<std::uint32_t>(dims.size()); }
    template <class Make>
    static Value one(Make make) {
        Value value;
        make(value);
        return value;
    }
    template <std::size_t N, std::size_t... I, class Builder, class... Arguments>
    void fill(std::array<Value, N> &out, std::index_sequence<I...>, Builder builder, Arguments... arguments) {
        call(builder, get(), arguments..., &out[I].id...);
    }
};

class Weights : public detail::Handle<caldera_weights, caldera_weights_free> {
public:
    explicit Weights(caldera_weights *raw) noexcept : Handle(raw) {}
    template <class T>
    void set(const std::string &name, const Dims &dims, const std::vector<T> &data) {
        const auto rank = static_cast<std::uint32_t>(dims.size());
        call(caldera_weights_set, get(), name.c_str(), TypeOf<T>::value, dims.data(), rank, data.data(), data.size() * sizeof(T));
    }
    void load(const Gguf &file) { call(caldera_weights_load_gguf, get(), file.get(), nullptr, nullptr); }
    void load_safetensors(const std::string &path) { call(caldera_weights_load_safetensors, get(), path.c_str(), nullptr, nullptr); }
};

class Buffer : public detail::Handle<caldera_buffer, caldera_buffer_free> {
public:
    explicit Buffer(caldera_buffer *raw) noexcept : Handle(raw) {}
    std::size_t bytes() const noexcept { return caldera_buffer_bytes(get()); }
    template <class T>
    void write(const std::vector<T> &data, std::size_t byte_offset = 0) {
        call(caldera_buffer_write, get(), byte_offset, data.data(), data.size() * sizeof(T));
    }
    template <class T>
    std::vector<T> read() const {
        std::vector<T> out(bytes() / sizeof(T));
        call(caldera_buffer_read, get(), std::size_t{0}, out.data(), out.size() * sizeof(T));
        return out;
    }
    Buffer clone() const { return Buffer(detail::made<caldera_buffer>(caldera_buffer_clone, get())); }
};

class Executable : public detail::Handle<caldera_executable, caldera_executable_free> {
public:
    explicit Executable(caldera_executable *raw) noexcept : Handle(raw) {}
    using Inputs = std::vector<caldera_run_input>;
    using Outputs = std::vector<caldera_run_output>;

    void run(const Inputs &inputs, const Outputs &outputs) {
        call(caldera_run, get(), inputs.data(), inputs.size(), outputs.data(), outputs.size());
    }
    void submit(const Inputs &inputs) { call(caldera_submit, get(), inputs.data(), inputs.size()); }
    /// False if the time ran out before the run did.
    bool wait(std::chrono::nanoseconds timeout) {
        caldera_error *error = nullptr;
        const caldera_status status = caldera_wait(get(), static_cast<std::uint64_t>(timeout.count()), &error);
        const std::unique_ptr<caldera_error, void (*)(caldera_error *)> owner(error, caldera_error_free);
        if (status != CALDERA_OK && status != CALDERA_TIMEOUT) throw Error(status, caldera_error_message(error));
        return status == CALDERA_OK;
    }
    void wait() { call(caldera_wait, get(), UINT64_MAX); }
    bool done() const {
        std::uint32_t done = 0;
        call(caldera_poll, get(), &done);
        return done != 0;
    }
    template <class T>
    std::vector<T> read(const std::string &output) const {
        for (const caldera_port_info &port : outputs()) {
            if (port.name != output) continue;
            std::vector<T> data(static_cast<std::size_t>(port.bytes) / sizeof(T));
            call(caldera_read_output, get(), output.c_str(), data.data(), data.size() * sizeof(T));
            return data;
        }
        throw Error(CALDERA_INVALID_ARGUMENT, "there is no output \"" + output + "\"");
    }
    template <class T>
    void set_param(const std::string &name, const std::vector<T> &data) {
        call(caldera_set_param, get(), name.c_str(), TypeOf<T>::value, data.data(), data.size() * sizeof(T));
    }
    void bind(const std::string &input, const Buffer &buffer) { call(caldera_bind_handle, get(), input.c_str(), buffer.get()); }
    template <class T>
    void bind(const std::string &input, const std::vector<T> &data) {
        call(caldera_bind_handle_data, get(), input.c_str(), data.data(), data.size() * sizeof(T));
    }
    void unbind(const std::string &input) { call(caldera_unbind_handle, get(), input.c_str()); }
    void bind_output(const std::string &output, const Buffer &buffer) { call(caldera_bind_output, get(), output.c_str(), buffer.get()); }
    void unbind_output(const std::string &output) { call(caldera_bind_output, get(), output.c_str(), nullptr); }
    void feed(const std::string &handle, const std::string &output) { call(caldera_set_handle_feed, get(), handle.c_str(), output.c_str()); }
    /// Nothing feeds the handle any more, neither whole outputs nor rows.
    void end_feeds(const std::string &handle) {
        call(caldera_set_handle_feed, get(), handle.c_str(), nullptr);
        call(caldera_register_row_feed, get(), handle.c_str(), nullptr);
    }
    void set_rng(std::uint64_t seed, std::uint32_t run = 0) { call(caldera_set_rng, get(), seed, run); }
    void warm_up() { call(caldera_executable_warm_up, get()); }
    Executable clone() const { return Executable(detail::made<caldera_executable>(caldera_clone, get())); }

    std::vector<caldera_port_info> inputs() const { return detail::list<caldera_port_info>(caldera_executable_inputs, get()); }
    std::vector<caldera_port_info> outputs() const { return detail::list<caldera_port_info>(caldera_executable_outputs, get()); }
    std::vector<caldera_port_info> params() const { return detail::list<caldera_port_info>(caldera_executable_params, get()); }
    caldera_stats stats() const {
        caldera_stats out = CALDERA_STATS_INIT;
        call(caldera_executable_stats, get(), &out);
        return out;
    }
    std::string profile(caldera_profile_format format = CALDERA_PROFILE_TEXT) const {
        return detail::text(caldera_executable_profile, get(), static_cast<std::uint32_t>(format));
    }
};

class Device : public detail::Handle<caldera_device, caldera_device_free> {
public:
    explicit Device(caldera_device *raw) noexcept : Handle(raw) {}
    static std::vector<caldera_device_properties> list() { return detail::list<caldera_device_properties>(caldera_device_list); }
    static Device open(const caldera_device_options &options = CALDERA_DEVICE_OPTIONS_INIT) {
        return Device(detail::made<caldera_device>(caldera_device_open, &options));
    }
    /// By index, UUID or kind: "0", "discrete", "software", "cpu".
    static Device open(const std::string &select) {
        caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
        options.select = select.c_str();
        return open(options);
    }
    caldera_device_properties info() const {
        caldera_device_properties out{};
        call(caldera_device_info, get(), &out);
        return out;
    }
    std::string describe() const { return detail::text(caldera_device_describe, get()); }
    void save_cache(const std::string &path) const { call(caldera_device_save_cache, get(), path.c_str()); }

    Executable compile(const Graph &graph, const caldera_compile_options &options = CALDERA_COMPILE_OPTIONS_INIT) const {
        return Executable(detail::made<caldera_executable>(caldera_compile, get(), graph.get(), &options));
    }
    Executable compile(const Graph &graph, const Weights &weights) const {
        caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
        options.weights = weights.get();
        return compile(graph, options);
    }
    Weights weights() const { return Weights(detail::made<caldera_weights>(caldera_weights_new, get())); }
    Buffer buffer(caldera_type type, const Dims &dims) const {
        return Buffer(detail::made<caldera_buffer>(caldera_buffer_new, get(), type, dims.data(), static_cast<std::uint32_t>(dims.size())));
    }
};

}  // namespace caldera

#endif
