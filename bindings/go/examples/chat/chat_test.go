package main

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

const folder = "../../../../examples/tiny-english/"

type testCase struct {
	Name, Prompt string
	Logits       []float64
	GreedyText   string `json:"greedy_text"`
}

func expected(t *testing.T) []testCase {
	text, err := os.ReadFile(folder + "expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []testCase }
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatal("no cases:", err)
	}
	return file.Cases
}

func greedy() settings {
	device := os.Getenv("CALDERA_TEST_DEVICE")
	if device == "" {
		device = "software"
	}
	return settings{model: folder + "model.gguf", device: device, context: 512}
}

func TestContinuations(t *testing.T) {
	for _, c := range expected(t) {
		s := greedy()
		s.prompt, s.tokens = c.Prompt, 8
		var out strings.Builder
		if err := chat(s, &out); err != nil {
			t.Fatal(err)
		}
		if want := c.Prompt + c.GreedyText[:8] + "\n"; out.String() != want {
			t.Errorf("%s: got %q, want %q", c.Name, out.String(), want)
		}
	}
}

func TestLogits(t *testing.T) {
	m, err := load(greedy())
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for _, c := range expected(t) {
		if err := m.read(c.Prompt); err != nil {
			t.Fatal(err)
		}
		if len(c.Logits) != len(m.logits) {
			t.Fatalf("%d logits, want %d", len(m.logits), len(c.Logits))
		}
		for i, want := range c.Logits {
			if got := float64(m.logits[i]); math.Abs(got-want) > 1e-2 {
				t.Errorf("%s: logit %d is %v, want %v", c.Name, i, got, want)
				break
			}
		}
	}
}

// A prompt up to the end of the context goes by chunks, then token by token.
func TestFullContext(t *testing.T) {
	s := greedy()
	s.context, s.tokens = 40, 100
	s.prompt = strings.Repeat("a", 39)
	var out strings.Builder
	if err := chat(s, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.String()) != 40+1 {
		t.Errorf("got %d bytes, want 40 and the end of the line", len(out.String()))
	}
}

func TestNoModel(t *testing.T) {
	s := greedy()
	s.model, s.prompt = "nothing.gguf", "a"
	if err := chat(s, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "nothing.gguf") {
		t.Errorf("got %v", err)
	}
}
