package main

import (
	"fmt"
	"log"

	"caldera"
)

func product(w, x []float32) ([]float32, error) {
	device, err := caldera.Open(caldera.DeviceOptions{AllowSoftware: true, AllowCPU: true})
	if err != nil {
		return nil, err
	}
	defer device.Close()
	graph, err := caldera.NewGraph()
	if err != nil {
		return nil, err
	}
	defer graph.Close()
	a, err := graph.Param("w", caldera.F32, 2, 2)
	if err != nil {
		return nil, err
	}
	b, err := graph.Input("x", caldera.F32, 2)
	if err != nil {
		return nil, err
	}
	y, err := graph.Node("MatMul", nil, a, b) // any operator of the contract, with its attributes
	if err != nil {
		return nil, err
	}
	if err := graph.Output("y", y); err != nil {
		return nil, err
	}
	run, err := device.Compile(graph, caldera.CompileOptions{})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	if err := run.SetParam("w", w); err != nil {
		return nil, err
	}
	out := make([]float32, 2)
	return out, run.Run(caldera.Inputs{"x": x}, caldera.Outputs{"y": out})
}

func main() {
	y, err := product([]float32{1, 2, 3, 4}, []float32{5, 6})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y) // [17 39]
}
