// Package seen lets a daemon draw its noise from a seed and record its actions. A policy test
// checks that no other programs import it than those that the command demonet builds.
package seen

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
)

// A daemon whose outcomes are compared reads these environment variables.
const (
	SeedVariable = "FEDPVI_SEED" // seed of the client's noise
	SeenVariable = "FEDPVI_SEEN" // file to which the daemon writes its actions, one [Deed] in each line

	FaultVariable = "FEDPVI_FAULT" // name of the fault that the daemon commits on purpose; empty for none
)

// A Deed is a recorded action of a daemon.
type Deed struct {
	Plan    int      `json:"plan,omitempty"`
	Release []byte   `json:"release,omitempty"` // numbers of an answer before encryption
	Sizes   []int    `json:"sizes,omitempty"`   // sizes in bytes of the messages that carry an answer
	Metrics []string `json:"metrics,omitempty"` // values of metrics when the daemon ended
}

var answers uint64

// Noise returns the noise stream for a client's next answer. It depends on the seed and on the
// number of earlier answers. It does not depend on the number of the plan, because in an
// asynchronous study this number depends on the clock.
func Noise(int) *dpmech.Stream {
	answers++
	seed, err := strconv.ParseUint(os.Getenv(SeedVariable), 10, 64)
	if err != nil {
		panic("seen: " + err.Error())
	}
	return seeded.Stream(seed, "processes", answers)
}

// NoiseOf returns a function from plan numbers to the noise of a client. This is the noise that the
// simulator draws with seed 1, where the clients are named client-1, client-2 and so on. If a
// client is killed, it draws the same noise again.
func NoiseOf(client string) func(plan int) *dpmech.Stream {
	var number uint64
	if _, err := fmt.Sscanf(client, "client-%d", &number); err != nil {
		panic("seen: the simulator has no client " + client)
	}
	return func(plan int) *dpmech.Stream { return seeded.Stream(1, "noise", number-1, uint64(plan)) }
}

// Answered records the numbers in an answer.
func Answered(plan int, release []byte) { write(Deed{Plan: plan, Release: release}) }

// Sent records the sizes of the messages that carry an answer.
func Sent(plan uint64, sizes ...int) { write(Deed{Plan: int(plan), Sizes: sizes}) }

// Figures records those metrics of a daemon that do not depend on the clock. It leaves out the
// bytes on connections, because they include keep-alive frames.
func Figures(from prometheus.Gatherer) {
	families, err := from.Gather()
	if err != nil {
		panic("seen: " + err.Error())
	}
	var lines []string
	for _, f := range families {
		name := f.GetName()
		if !strings.HasPrefix(name, "fedpvi_") || strings.Contains(name, "bytes") || strings.Contains(name, "seconds") || strings.Contains(name, "transactions") {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.Histogram == nil {
				lines = append(lines, fmt.Sprint(name, m.GetLabel(), m.GetCounter().GetValue()+m.GetGauge().GetValue()))
			}
		}
	}
	write(Deed{Metrics: lines})
}

func write(s Deed) {
	line, err := json.Marshal(s)
	if err != nil {
		panic("seen: " + err.Error())
	}
	f, err := os.OpenFile(os.Getenv(SeenVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic("seen: " + err.Error())
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		panic("seen: " + err.Error())
	}
}

// Is reports whether the given fault has been selected.
func Is(fault string) bool { return os.Getenv(FaultVariable) == fault }

var found bool

// Look notes for [Found] whether a row of the client's file has a value at the lower bound of a
// column.
func Look(row []float64) { found = found || slices.Contains(row, -1) }

// Found reports whether the given fault is selected and [Look] has found a value at the lower bound
// of a column.
func Found(fault string) bool { return found && Is(fault) }
