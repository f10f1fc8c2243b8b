// A small inference engine on the package caldera: continues a text with a language model from a GGUF file, token by token.
//
// Usage: chat [--device NAME] [--tokens N] [--temperature T] [--top-p P] [--seed S] [--context N] MODEL.gguf PROMPT
//
// Two executables share one set of weights and one set of key/value caches: one takes the prompt in chunks, the other single tokens.
// The models this program can talk to have a vocabulary of the 256 bytes (tokenizer.ggml.model = "byte").
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"sort"
	"strings"

	"caldera"
)

type settings struct {
	model, prompt, device string
	tokens, context       int
	temperature, topP     float64
	seed                  int64
}

func main() {
	s := settings{}
	flag.StringVar(&s.device, "device", "", "an index, a UUID, or a kind of device")
	flag.IntVar(&s.tokens, "tokens", 256, "how many tokens to write")
	flag.IntVar(&s.context, "context", 512, "the longest text")
	flag.Float64Var(&s.temperature, "temperature", 0.8, "0: the most likely token")
	flag.Float64Var(&s.topP, "top-p", 0.95, "only the most likely tokens that together reach this probability")
	flag.Int64Var(&s.seed, "seed", 1, "of the random numbers")
	flag.Parse()
	if flag.NArg() != 2 || flag.Arg(1) == "" {
		fmt.Fprintln(os.Stderr, "usage: chat [options] MODEL.gguf PROMPT")
		os.Exit(2)
	}
	s.model, s.prompt = flag.Arg(0), flag.Arg(1)
	if err := chat(s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

// model is the language model, compiled for chunks of the prompt and for single tokens.
type model struct {
	device           *caldera.Device
	file             *caldera.GGUF
	weights          *caldera.Weights
	prompt, decode   *caldera.Executable
	chunk, context   int
	logits           []float32
	tokens           []int64
	position, latest []int32
}

func load(s settings) (m *model, err error) {
	m = &model{context: s.context, chunk: 32, position: make([]int32, 1), latest: make([]int32, 1)}
	if m.chunk > s.context {
		m.chunk = s.context
	}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	if m.device, err = caldera.Open(caldera.DeviceOptions{Select: s.device, AllowSoftware: true, AllowCPU: true}); err != nil {
		return m, err
	}
	if m.file, err = caldera.OpenGGUF(s.model); err != nil {
		return m, err
	}
	if m.weights, err = m.device.NewWeights(); err != nil {
		return m, err
	}
	if m.prompt, err = m.compile(m.chunk); err != nil {
		return m, err
	}
	if m.decode, err = m.compile(1); err != nil {
		return m, err
	}
	if err = m.weights.LoadGGUF(m.file); err != nil {
		return m, err
	}
	vocabulary, err := m.file.Number("llama.vocab_size")
	if err != nil {
		return m, err
	}
	m.logits, m.tokens = make([]float32, int(vocabulary)), make([]int64, m.chunk)
	return m, m.bindCaches()
}

func (m *model) close() {
	for _, e := range []*caldera.Executable{m.prompt, m.decode} {
		if e != nil {
			e.Close()
		}
	}
	if m.weights != nil {
		m.weights.Close()
	}
	if m.file != nil {
		m.file.Close()
	}
	if m.device != nil {
		m.device.Close()
	}
}

// compile makes the model for runs of so many tokens.
func (m *model) compile(tokens int) (*caldera.Executable, error) {
	graph, err := m.file.Graph(caldera.ModelOptions{Tokens: tokens, Context: m.context})
	if err != nil {
		return nil, err
	}
	defer graph.Close()
	return m.device.Compile(graph, caldera.CompileOptions{Weights: m.weights})
}

// bindCaches binds every cache to one new buffer, in both executables.
func (m *model) bindCaches() error {
	for _, port := range m.decode.Inputs() {
		if !strings.HasPrefix(port.Name, "cache_") {
			continue
		}
		buffer, err := m.device.NewBuffer(port.Type, port.Dims...)
		if err != nil {
			return err
		}
		defer buffer.Close() // the executables keep it
		for _, e := range []*caldera.Executable{m.prompt, m.decode} {
			if err := e.Bind(port.Name, buffer); err != nil {
				return err
			}
		}
	}
	return nil
}

// run takes a piece of text that starts at a position; the logits are those of its last token. The rest of a chunk is padding.
func (m *model) run(e *caldera.Executable, text []byte, position int) error {
	tokens := m.tokens
	inputs := caldera.Inputs{"position": m.position}
	if e == m.decode {
		tokens = tokens[:1]
	} else {
		m.latest[0] = int32(len(text)) - 1
		inputs["last"] = m.latest
	}
	for i := range tokens {
		tokens[i] = 0
		if i < len(text) {
			tokens[i] = int64(text[i])
		}
	}
	inputs["tokens"] = tokens
	m.position[0] = int32(position)
	return e.Run(inputs, caldera.Outputs{"logits": m.logits})
}

// read takes the prompt: in chunks as long as a padded chunk fits into the caches, then token by token.
func (m *model) read(prompt string) error {
	for at := 0; at < len(prompt); {
		e, count := m.decode, 1
		if m.chunk > 1 && at+m.chunk <= m.context {
			e, count = m.prompt, m.chunk
		}
		if count > len(prompt)-at {
			count = len(prompt) - at
		}
		if err := m.run(e, []byte(prompt[at:at+count]), at); err != nil {
			return err
		}
		at += count
	}
	return nil
}

func chat(s settings, out io.Writer) error {
	m, err := load(s)
	if err != nil {
		return err
	}
	defer m.close()
	line, err := m.device.Describe()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "device:", line)
	if _, err := io.WriteString(out, s.prompt); err != nil {
		return err
	}
	if err := m.read(s.prompt); err != nil {
		return err
	}
	random := rand.New(rand.NewSource(s.seed))
	position := len(s.prompt)
	for made := 0; made < s.tokens && position < s.context; made++ {
		token := []byte{draw(m.logits, s, random)}
		if _, err := out.Write(token); err != nil {
			return err
		}
		if err := m.run(m.decode, token, position); err != nil {
			return err
		}
		position++
	}
	_, err = io.WriteString(out, "\n")
	return err
}

// draw draws a token: the most likely ones that together reach topP, after dividing the logits by the temperature.
func draw(logits []float32, s settings, random *rand.Rand) byte {
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return logits[order[i]] > logits[order[j]] })
	if s.temperature <= 0 {
		return byte(order[0])
	}
	weights, total := make([]float64, len(order)), 0.0
	for i, token := range order {
		weights[i] = math.Exp(float64(logits[token]-logits[order[0]]) / s.temperature)
		total += weights[i]
	}
	count, sum := 0, 0.0
	for count < len(order) && sum < s.topP*total {
		sum += weights[count]
		count++
	}
	u := random.Float64() * sum
	for i := 0; i < count; i++ {
		if u -= weights[i]; u < 0 {
			return byte(order[i])
		}
	}
	return byte(order[0])
}
