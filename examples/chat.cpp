// A small inference engine on the C API: continues a text with a language model from a GGUF file, token by token.
//
// Usage: chat MODEL.gguf PROMPT [--device NAME] [--tokens N] [--temperature T] [--top-p P] [--seed S] [--context N]
//
// Two executables share one set of weights and one set of key/value caches: one takes the prompt in chunks, the other single tokens.
// The models this program can talk to have a vocabulary of the 256 bytes (tokenizer.ggml.model = "byte").

#include <caldera.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Turns a failed call into an exception with Caldera's message.
class Check {
public:
    ~Check() { caldera_error_free(error_); }
    operator caldera_error **() { return &error_; }
    void operator()(caldera_status status) {
        if (status != CALDERA_OK) throw std::runtime_error(caldera_error_message(error_));
    }

private:
    caldera_error *error_ = nullptr;
};

#define CALL(function, ...)                 \
    do {                                    \
        Check check;                        \
        check(function(__VA_ARGS__, check)); \
    } while (0)

struct Settings {
    std::string model, prompt, device;
    unsigned tokens = 256, context = 512;
    double temperature = 0.8, top_p = 0.95;
    unsigned long long seed = 1;
};

Settings parse(int argc, char **argv) {
    Settings s;
    std::vector<std::string> plain;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name.rfind("--", 0) != 0) {
            plain.push_back(name);
            continue;
        }
        if (++i == argc) throw std::runtime_error(name + " needs a value");
        const std::string value = argv[i];
        if (name == "--device") s.device = value;
        else if (name == "--tokens") s.tokens = static_cast<unsigned>(std::stoul(value));
        else if (name == "--context") s.context = static_cast<unsigned>(std::stoul(value));
        else if (name == "--temperature") s.temperature = std::stod(value);
        else if (name == "--top-p") s.top_p = std::stod(value);
        else if (name == "--seed") s.seed = std::stoull(value);
        else throw std::runtime_error("unknown option " + name);
    }
    if (plain.size() != 2 || plain[1].empty()) throw std::runtime_error("usage: chat MODEL.gguf PROMPT [options]");
    s.model = plain[0];
    s.prompt = plain[1];
    return s;
}

// A compiled graph of the model for runs of so many tokens.
class Runner {
public:
    Runner(caldera_device *device, caldera_gguf *file, caldera_weights *weights, unsigned tokens, unsigned context) : tokens_(tokens) {
        caldera_model_options model = CALDERA_MODEL_OPTIONS_INIT;
        model.tokens = tokens;
        model.context = context;
        caldera_graph *graph = nullptr;
        CALL(caldera_graph_load_gguf, file, &model, &graph);
        caldera_compile_options options = CALDERA_COMPILE_OPTIONS_INIT;
        options.weights = weights;
        Check check;
        const caldera_status status = caldera_compile(device, graph, &options, &executable_, check);
        caldera_graph_free(graph);
        check(status);
    }
    Runner(const Runner &) = delete;
    Runner &operator=(const Runner &) = delete;
    ~Runner() { caldera_executable_free(executable_); }

    caldera_executable *get() const { return executable_; }

    // Runs `count` tokens (the rest of the chunk is padding) that start at `position`; the logits are those of the last.
    void run(const unsigned char *text, unsigned count, unsigned position, std::vector<float> &logits) {
        std::vector<int64_t> tokens(tokens_, 0);
        std::copy(text, text + count, tokens.begin());
        const int32_t at = static_cast<int32_t>(position), last = static_cast<int32_t>(count) - 1;
        const caldera_run_input inputs[] = {
            {"tokens", tokens.data(), tokens.size() * sizeof(int64_t)},
            {"position", &at, sizeof at},
            {"last", &last, sizeof last},
        };
        const caldera_run_output output = {"logits", logits.data(), logits.size() * sizeof(float)};
        CALL(caldera_run, executable_, inputs, tokens_ > 1 ? 3u : 2u, &output, 1);
    }

private:
    caldera_executable *executable_ = nullptr;
    unsigned tokens_;
};

// Binds every cache of the decoder to one new buffer, in both executables.
void bind_caches(caldera_device *device, Runner &prompt, Runner &decode) {
    size_t count = 0;
    CALL(caldera_executable_inputs, decode.get(), nullptr, &count);
    std::vector<caldera_port_info> ports(count);
    CALL(caldera_executable_inputs, decode.get(), ports.data(), &count);
    for (const caldera_port_info &port : ports) {
        if (std::strncmp(port.name, "cache_", 6) != 0) continue;
        caldera_buffer *buffer = nullptr;
        CALL(caldera_buffer_new, device, port.type, port.dims, port.rank, &buffer);
        for (Runner *runner : {&prompt, &decode}) CALL(caldera_bind_handle, runner->get(), port.name, buffer);
        caldera_buffer_free(buffer);  // the executables keep it
    }
}

// Draws a token: the most likely ones that together reach top_p, after dividing the logits by the temperature.
unsigned char draw(const std::vector<float> &logits, const Settings &s, std::mt19937_64 &random) {
    const auto best = std::max_element(logits.begin(), logits.end());
    if (s.temperature <= 0) return static_cast<unsigned char>(best - logits.begin());
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
    std::vector<double> weight;
    double total = 0;
    for (int token : order) total += std::exp((logits[token] - *best) / s.temperature);
    double sum = 0;
    for (int token : order) {
        weight.push_back(std::exp((logits[token] - *best) / s.temperature) / total);
        sum += weight.back();
        if (sum >= s.top_p) break;
    }
    double u = std::uniform_real_distribution<double>(0, sum)(random);
    for (size_t i = 0; i < weight.size(); ++i) {
        u -= weight[i];
        if (u < 0) return static_cast<unsigned char>(order[i]);
    }
    return static_cast<unsigned char>(order[weight.size() - 1]);
}

void chat(const Settings &s) {
    caldera_device_options open = CALDERA_DEVICE_OPTIONS_INIT;
    open.select = s.device.empty() ? nullptr : s.device.c_str();
    open.allow_software = open.allow_cpu = 1;
    caldera_device *device = nullptr;
    CALL(caldera_device_open, &open, &device);
    char line[512];
    size_t size = sizeof line;
    CALL(caldera_device_describe, device, line, &size);
    std::fprintf(stderr, "device: %s\n", line);

    caldera_gguf *file = nullptr;
    CALL(caldera_gguf_open, s.model.c_str(), &file);
    caldera_weights *weights = nullptr;
    CALL(caldera_weights_new, device, &weights);
    const unsigned chunk = std::min(32u, s.context);
    {
        Runner prompt(device, file, weights, chunk, s.context), decode(device, file, weights, 1, s.context);
        CALL(caldera_weights_load_gguf, weights, file, nullptr, nullptr);
        bind_caches(device, prompt, decode);
        double vocabulary = 0;
        CALL(caldera_gguf_metadata_number, file, "llama.vocab_size", &vocabulary);
        std::vector<float> logits(static_cast<size_t>(vocabulary));

        using clock = std::chrono::steady_clock;
        const auto seconds = [](clock::time_point from) { return std::chrono::duration<double>(clock::now() - from).count(); };
        std::mt19937_64 random(s.seed);
        std::fwrite(s.prompt.data(), 1, s.prompt.size(), stdout);
        const auto *text = reinterpret_cast<const unsigned char *>(s.prompt.data());
        const unsigned length = static_cast<unsigned>(s.prompt.size());
        auto start = clock::now();
        unsigned position = 0;
        while (position < length) {  // a padded chunk must fit into the caches; what does not goes token by token
            const bool fits = chunk > 1 && position + chunk <= s.context;
            const unsigned count = fits ? std::min(chunk, length - position) : 1;
            (fits ? prompt : decode).run(text + position, count, position, logits);
            position += count;
        }
        const double prompt_seconds = seconds(start);
        start = clock::now();
        unsigned made = 0;
        for (; made < s.tokens && position < s.context; ++made, ++position) {
            const unsigned char token = draw(logits, s, random);
            std::fputc(token, stdout);
            std::fflush(stdout);
            decode.run(&token, 1, position, logits);
        }
        std::fputc('\n', stdout);
        std::fprintf(stderr, "prompt: %u tokens, %.1f tokens/s; generated: %u tokens, %.1f tokens/s\n", length, length / prompt_seconds, made,
                     made / seconds(start));
    }
    caldera_weights_free(weights);
    caldera_gguf_free(file);
    caldera_device_free(device);
}

}  // namespace

int main(int argc, char **argv) {
    try {
        chat(parse(argc, argv));
        return 0;
    } catch (const std::exception &problem) {
        std::fprintf(stderr, "chat: %s\n", problem.what());
        return 1;
    }
}
