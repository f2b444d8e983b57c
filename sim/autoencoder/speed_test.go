package autoencoder

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fedpvi/gpu/device"
	"fedpvi/internal/speed"
)

func TestSpeedStep(t *testing.T) {
	sums, most, err := newSpeedRun()
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := newSpeedTrainer(sums, most)
	if err != nil {
		t.Fatal(err)
	}
	defer trainer.Close()
	if err := trainer.Step(); err != nil {
		t.Error(err)
	}
}

// The JSON report must have the autoencoder's rates, and the readable report a line for each
// measured machine.
func TestSpeedReport(t *testing.T) {
	r := &speed.Report{
		Problem: "p", Processor: speed.Processor{Cores: 2, Steps: 7},
		Found: device.Found{Built: true, Devices: []device.Info{{Name: "cuda:0"}, {Name: "cuda:1"}}},
		GPUs:  []speed.GPU{{Name: "cuda:0", Steps: 8}, {Name: "cuda:1", Failed: "too old"}},
	}
	s := &Speed{
		Report: r, Network: speedWords, Processor: ProcessorSpeed{Processor: r.Processor, Network: 117},
		GPUs: []GPUSpeed{{GPU: r.GPUs[0], Network: 3000, Plain: 12_345}, {GPU: r.GPUs[1]}},
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"problem":"p"`, `"network":"autoencoder`, `"built_with_cuda":true`,
		`"processor":{"cores":2,"steps_per_second":7,"copy_bytes_per_second":0,"network_steps_per_second":117}`,
		`{"name":"cuda:0","steps_per_second":8,"network_steps_per_second":3000,"network_steps_per_second_plain":12345}`,
		`{"name":"cuda:1","failed":"too old"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	var found []string
	for _, l := range s.Lines() {
		if l.Check == "autoencoder" {
			found = append(found, l.Found)
		}
	}
	want := []string{"all cores take 117 private steps a second (" + speedWords + ")", "cuda:0 takes 3000 private steps a second, 12,000 without privacy"}
	if !slices.Equal(found, want) {
		t.Errorf("lines are %q, want %q", found, want)
	}
}
