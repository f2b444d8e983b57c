package cuda

import (
	"errors"
	"fmt"
	"math"

	"fedpvi/dpmech"
	"fedpvi/gpu"
)

// A Visit is some steps of private variational inference of one problem. Its records are
// those of a table, its clipped sums, batches and noise those of a plan, and the steps
// that it takes those of a [gpu.MeanField].
type Visit struct {
	Table *Table
	Plan  *dpmech.Plan

	// Run is moved by the plan's steps. Options must be those that it was made with:
	// one draw, aligned gradients clipped by the gate alone, the exponential link, and
	// an Optimiser that is a [gpu.Adam].
	Run     *gpu.MeanField
	Options gpu.MeanFieldOptions

	// Releases, if not nil, takes the noisy sums, in steps of the plan's lattice: those
	// of a step beside each other.
	Releases []int64

	// Taken is false after [Descend] where the device left a comparison open on which a
	// sample of the noise depends, as it does once in some 2^50 samples: neither Run nor
	// Releases have changed then, and the steps are to be taken with [dpmech.Plan.Next].
	// After an error it is false as well, and neither has changed: who takes the steps
	// then, after [dpmech.Plan.Reclaim], takes them for the first time that anybody sees.
	// Where it is true the plan is wiped.
	Taken bool
}

// mostThreads of a block are enough for batches of a few hundred records to be looked at
// once. It is a multiple of 32, as the kernel needs.
const mostThreads = 256

// threads returns how many a block has. Results do not depend on it.
func (j *job) threads() int {
	need := j.dim
	for _, v := range j.visits {
		need = max(need, int(1.5*v.Plan.Mechanism().MeanBatch()))
	}
	return min((max(need, 1)+31)/32*32, mostThreads)
}

// The words of a problem, in the order of the kernel's struct.
const (
	problemPlan = iota
	problemRows
	problemOutcomes
	problemCavity
	problemRates
	problemState
	problemReleases
	problemFamily
	problemPrecision
	problemScale
	problemAverageFrom
	problemBeta1
	problemBeta2
	problemEpsilon
	problemUndecided
	problemWords
)

// batchWords is the size of what a block knows of a batch.
const batchWords = 57

// sharedWords returns the size of the memory of a block of threads for at most d coordinates.
func sharedWords(d, threads int) int {
	return batchWords + 1 + 3*d + max(threads, d) + threads + threads/2
}

// Descend takes the steps of all visits at once, in one launch. What a device computes of
// a visit depends on that visit alone, and is the same every time. Keys are wiped from the
// device's memory before it is given back.
func Descend(d Device, visits []*Visit) (err error) {
	if len(visits) == 0 {
		return nil
	}
	var j job
	for _, v := range visits {
		v.Taken = false
		if err := v.check(d); err != nil {
			return fmt.Errorf("cuda: %w", err)
		}
	}
	defer func() {
		for _, v := range visits {
			if v.Taken {
				v.Plan.Wipe()
			}
		}
	}()
	for _, v := range visits {
		if err := j.add(v); err != nil {
			return fmt.Errorf("cuda: %w", err)
		}
	}
	memory, err := d.Alloc(8 * j.size())
	if err != nil {
		return fmt.Errorf("cuda: %d problems: %w", len(visits), err)
	}
	defer func() {
		keys := d.Write(memory+uint64(8*j.inputs), make([]uint64, j.planned))
		err = errors.Join(err, keys, d.Free(memory))
	}()
	words := j.words(memory)
	defer clear(words)
	if err := d.Write(memory, words); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	threads := j.threads()
	if err := d.Launch("descend", len(visits), threads, 8*sharedWords(j.dim, threads), memory); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	if err := d.Read(words[:j.kept], memory); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	return j.settle(words)
}

func (v *Visit) check(d Device) error {
	o, t := &v.Options, v.Table
	switch {
	case t.device != d:
		return errors.New("the table is on another device")
	case v.Plan.Mechanism().Records() != t.records || v.Plan.Mechanism().Dim() != t.dim:
		return errors.New("the plan is for other records, or for vectors of another length")
	case v.Run.Step()+v.Plan.Steps() > o.Steps:
		return fmt.Errorf("a plan of %d steps after %d of %d", v.Plan.Steps(), v.Run.Step(), o.Steps)
	case v.Releases != nil && len(v.Releases) != v.Plan.Steps()*t.dim:
		return fmt.Errorf("room for %d released numbers, want %d", len(v.Releases), v.Plan.Steps()*t.dim)
	case len(o.CavityMean) != t.dim || len(o.CavityPrecision) != t.dim:
		return errors.New("the cavity has another dimension than the table")
	}
	return Supports(o)
}

// Supports returns an error that says what of the options the kernels do not have.
func Supports(o *gpu.MeanFieldOptions) error {
	switch {
	case o.Draws != 1:
		return fmt.Errorf("a device takes steps with one draw of θ, not with %d", o.Draws)
	case o.Joint || o.Inside:
		return errors.New("a device takes steps with aligned gradients")
	case o.Link != gpu.ExpLink:
		return errors.New("a device takes steps in the logarithm of standard deviations")
	case !math.IsInf(o.Clip, 1):
		return errors.New("a device clips by the gate alone")
	}
	if _, ok := o.Optimiser.(*gpu.Adam); !ok {
		return errors.New("a device takes steps of Adam")
	}
	return nil
}

// A job is the memory of a launch: what is read back first, problems, states and releases,
// and then what is only read by the device, plans last.
type job struct {
	visits                 []*Visit
	dim                    int // the largest
	kept, inputs           int // words
	states, releases, rest []int
	state                  [][]float64
	plans                  [][]uint64
	planned                int
}

func (j *job) add(v *Visit) error {
	plan, err := v.Plan.Words(nil)
	if err != nil {
		return err
	}
	j.visits = append(j.visits, v)
	j.dim = max(j.dim, v.Table.dim)
	j.state = append(j.state, v.Run.AppendState(nil))
	j.plans = append(j.plans, plan)
	j.planned += len(plan)
	return nil
}

// size places everything and returns the number of words.
func (j *job) size() int {
	at := problemWords * len(j.visits)
	take := func(n int) int {
		at += n
		return at - n
	}
	for i, v := range j.visits {
		j.states = append(j.states, take(len(j.state[i])))
		j.releases = append(j.releases, take(len(v.Releases)))
	}
	j.kept = at
	for _, v := range j.visits {
		j.rest = append(j.rest, take(2*v.Table.dim+v.Plan.Steps()))
	}
	j.inputs = at
	return at + j.planned
}

// words returns the memory's content, for its address.
func (j *job) words(memory uint64) []uint64 {
	words := make([]uint64, j.inputs, j.inputs+j.planned)
	address := func(place int) uint64 { return memory + uint64(8*place) }
	for i, v := range j.visits {
		o, t := &v.Options, v.Table
		p := words[problemWords*i:][:problemWords]
		p[problemPlan] = address(len(words))
		words = append(words, j.plans[i]...)
		clear(j.plans[i])
		p[problemRows], p[problemOutcomes] = t.rows, t.outcomes
		p[problemCavity], p[problemRates] = address(j.rest[i]), address(j.rest[i]+2*t.dim)
		p[problemState] = address(j.states[i])
		if v.Releases != nil {
			p[problemReleases] = address(j.releases[i])
		}
		p[problemFamily] = uint64(t.family)
		p[problemPrecision] = math.Float64bits(t.precision)
		p[problemScale] = math.Float64bits(1 / o.Rate)
		p[problemAverageFrom] = uint64(v.averageFrom())
		beta1, beta2, epsilon := o.Optimiser.(*gpu.Adam).Decay()
		appendFloats(p[problemBeta1:problemBeta1], []float64{beta1, beta2, epsilon})
		appendFloats(words[j.states[i]:j.states[i]], j.state[i])
		rest := appendFloats(words[j.rest[i]:j.rest[i]], o.CavityMean)
		rest = appendFloats(rest, o.CavityPrecision)
		for s := range v.Plan.Steps() {
			rest = append(rest, math.Float64bits(o.Schedule.Rate(v.Run.Step()+s, o.Steps)))
		}
	}
	return words
}

// averageFrom returns the first of the plan's steps that is averaged, or their number.
func (v *Visit) averageFrom() int {
	for s := range v.Plan.Steps() {
		if v.Options.Averages(v.Run.Step() + s) {
			return s
		}
	}
	return v.Plan.Steps()
}

// settle moves the runs whose steps were taken.
func (j *job) settle(words []uint64) error {
	for i, v := range j.visits {
		if words[problemWords*i+problemUndecided] != 0 {
			v.Plan.Reclaim()
			continue
		}
		for k := range j.state[i] {
			j.state[i][k] = math.Float64frombits(words[j.states[i]+k])
		}
		if err := v.Run.SetState(j.state[i]); err != nil {
			return fmt.Errorf("cuda: %w", err)
		}
		for k := range v.Releases {
			v.Releases[k] = int64(words[j.releases[i]+k])
		}
		v.Taken = true
	}
	return nil
}
