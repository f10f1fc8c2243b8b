package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The program of the README is this one.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Error("README.md does not have this program")
	}
}

func TestProduct(t *testing.T) {
	y, err := product([]float32{1, 2, 3, 4}, []float32{5, 6})
	if err != nil || !reflect.DeepEqual(y, []float32{17, 39}) {
		t.Error(y, err)
	}
}
