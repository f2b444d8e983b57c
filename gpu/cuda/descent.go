package cuda

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"fedpvi/dpmech"
	"fedpvi/gpu"
)

// A Visit is a sequence of private steps for one problem, such as the records of one client. Table
// has the records in a device's memory. Plan determines the clip, the batches and the noise.
type Visit struct {
	Table *Table
	Plan  *dpmech.Plan

	// Run is the state that the steps change, and Options has its options. [Descend] supports only
	// some of them: one draw of θ per step, aligned gradients that only the mechanism clips, and a
	// [gpu.Adam] as Optimiser (see [Supports]).
	Run     *gpu.MeanField
	Options gpu.MeanFieldOptions

	// Releases, if not nil, gets the noisy sums of all steps, one after another, in lattice steps
	// of the plan.
	Releases []int64

	// Taken reports whether the steps were computed. If so, the plan is wiped. If Taken is false
	// after an error of [Descend], Run and Releases have not changed and nothing was released.
	// Another device, or the CPU, may then compute the steps after [dpmech.Plan.Reclaim].
	Taken bool
}

const (
	// mostThreads is the maximum number of threads in a block. With that many, a block processes a
	// batch of a few hundred records at once. The kernels need a multiple of 32 threads.
	mostThreads  = 256
	leastThreads = 32

	// mostShared is the number of 64-bit words of shared memory that a block may use on every
	// supported GPU.
	mostShared = 48 << 10 / 8
)

// words returns the number of 64-bit words of shared memory that a block with the given number of
// threads needs.
func (t *Table) words(threads int) int { return batchWords + 1 + 3*t.dim + t.shared(threads) }

// shape chooses the number of threads in a block. It also returns the number of words of shared
// memory that the block then needs. The choice does not affect the results.
func (j *job) shape() (threads, words int) {
	for _, v := range j.visits {
		threads = max(threads, v.Table.dim, int(1.5*v.Plan.Mechanism().MeanBatch()))
	}
	threads = min((max(threads, 1)+31)/32*32, mostThreads)
	for {
		words = 0
		for _, v := range j.visits {
			words = max(words, v.Table.words(threads))
		}
		if words <= mostShared || threads <= leastThreads {
			return threads, words
		}
		threads -= 32
	}
}

// A struct of 64-bit words describes a problem to the device. problemPlan and the constants after
// it are the indices of these words. They must match the order of the fields in the kernels.
const (
	problemPlan = iota
	problemRows
	problemOutcomes
	problemCavity
	problemRates
	problemState
	problemReleases
	problemModel
	problemBeyond
	problemFamily
	problemRate
	problemShare
	problemAverageFrom
	problemBeta1
	problemBeta2
	problemEpsilon
	problemOpen
	problemWords
)

// batchWords is the size in words of the kernels' struct Batch.
const batchWords = 58

// Descend computes the steps of all visits. It makes one launch for each kind of model. The result
// of a visit depends on that visit alone and is the same every time. For about one in 2^50 noise
// samples, a device's integers are too short. [dpmech.Plan.Decide] then computes the sample on the
// CPU, and the device computes the visit again.
func Descend(d Device, visits []*Visit) error {
	kinds := map[string]*job{}
	var order []*job
	for _, v := range visits {
		v.Taken = false
		if err := v.check(d); err != nil {
			return fmt.Errorf("cuda: %w", err)
		}
		j := kinds[v.Table.kernel]
		if j == nil {
			j = &job{kernel: v.Table.kernel}
			kinds[j.kernel] = j
			order = append(order, j)
		}
		j.visits = append(j.visits, v)
	}
	for _, j := range order {
		for j != nil {
			open, err := j.run(d)
			if err != nil {
				return fmt.Errorf("cuda: %d problems: %w", len(j.visits), err)
			}
			j = open
		}
	}
	return nil
}

// run computes the steps of all visits in a job. If the device could not compute a noise sample for
// some visits, run returns a second job with these visits. Otherwise it returns nil.
func (j *job) run(d Device) (open *job, err error) {
	defer func() {
		for _, v := range j.visits {
			if v.Taken {
				v.Plan.Wipe()
			}
		}
	}()
	if err := j.prepare(); err != nil {
		return nil, err
	}
	memory, err := d.Alloc(8 * j.size())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Free(memory)) }()
	words := j.words(memory)
	defer clear(words)
	if err := d.Write(memory, words); err != nil {
		return nil, err
	}
	threads, shared := j.shape()
	if err := d.Launch(j.kernel, len(j.visits), threads, 8*shared, memory); err != nil {
		return nil, err
	}
	if err := d.Read(words[:j.kept], memory); err != nil {
		return nil, err
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
		return fmt.Errorf("a plan of %d steps after step %d of %d is too long", v.Plan.Steps(), v.Run.Step(), o.Steps)
	case v.Releases != nil && len(v.Releases) != v.Plan.Steps()*t.dim:
		return fmt.Errorf("room for %d released numbers, want %d", len(v.Releases), v.Plan.Steps()*t.dim)
	case len(o.CavityMean) != t.dim || len(o.CavityPrecision) != t.dim:
		return errors.New("the cavity has another dimension than the table")
	}
	return Supports(o)
}

// Supports returns an error for the first option that the kernels do not support, or nil if they
// support all.
func Supports(o *gpu.MeanFieldOptions) error {
	switch {
	case o.Draws != 1:
		return fmt.Errorf("a device takes steps with one draw of θ, not with %d", o.Draws)
	case o.Joint || o.Inside:
		return errors.New("a device takes steps with aligned gradients")
	case !math.IsInf(o.Clip, 1):
		return errors.New("a device takes steps without a clip of the options")
	}
	if _, ok := o.Optimiser.(*gpu.Adam); !ok {
		return errors.New("a device takes steps of Adam")
	}
	return nil
}

// A job is the work of one launch, and how it is laid out in the device's memory. The parts that
// are read back come first: problems, states and releases. The parts that the device only reads
// follow, and the plans come last.
type job struct {
	kernel                 string
	visits                 []*Visit
	kept, inputs           int // number of words to read back after the launch, and number of words before the plans
	states, releases, rest []int
	state                  [][]float64
	plans                  [][]uint64
	planned                []int // number of words before each plan, from the first plan on
	total                  int   // number of words in all plans together
}

// prepare makes the states and the plans of the visits, on all cores.
func (j *job) prepare() error {
	j.state, j.plans = make([][]float64, len(j.visits)), make([][]uint64, len(j.visits))
	errs := make([]error, len(j.visits))
	each(len(j.visits), func(i int) {
		v := j.visits[i]
		j.state[i] = v.Run.AppendState(nil)
		j.plans[i], errs[i] = v.Plan.Words(nil)
	})
	for _, plan := range j.plans {
		j.planned = append(j.planned, j.total)
		j.total += len(plan)
	}
	return errors.Join(errs...)
}

// each calls do for every number below n, on all cores.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// size lays out the device's memory for the job. It sets the offset of each part and returns the
// total number of words.
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
	return at + j.total
}

// words returns the content of a job's memory. memory is the address at which it begins.
func (j *job) words(memory uint64) []uint64 {
	words := make([]uint64, j.inputs+j.total)
	each(len(j.visits), func(i int) { j.put(i, words, memory) })
	return words
}

// put writes the words of visit i.
func (j *job) put(i int, words []uint64, memory uint64) {
	address := func(place int) uint64 { return memory + uint64(8*place) }
	v := j.visits[i]
	o, t := &v.Options, v.Table
	p := words[problemWords*i:][:problemWords]
	p[problemPlan] = address(j.inputs + j.planned[i])
	copy(words[j.inputs+j.planned[i]:], j.plans[i])
	clear(j.plans[i])
	p[problemRows], p[problemOutcomes] = t.rows, t.outcomes
	p[problemCavity], p[problemRates] = address(j.rest[i]), address(j.rest[i]+2*t.dim)
	p[problemState] = address(j.states[i])
	if v.Releases != nil {
		p[problemReleases] = address(j.releases[i])
	}
	p[problemModel], p[problemBeyond] = t.model, t.beyond
	p[problemFamily] = uint64(t.family)
	appendFloats(p[problemRate:problemRate], []float64{o.Rate, t.share})
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

// averageFrom returns the index of the plan's first step whose result is part of the run's average.
// If there is none, it returns the number of steps.
func (v *Visit) averageFrom() int {
	for s := range v.Plan.Steps() {
		if v.Options.Averages(v.Run.Step() + s) {
			return s
		}
	}
	return v.Plan.Steps()
}

// settle reads the results of a launch from words. If the device has computed all steps of a visit,
// settle updates the visit's run. Otherwise it computes the noise sample that was too difficult for
// the device, and adds the visit to left, a job for the next launch. If all visits are finished,
// left is nil.
func (j *job) settle(words []uint64) (left *job, err error) {
	for i, v := range j.visits {
		if open := words[problemWords*i+problemOpen]; open != 0 {
			if err := v.Plan.Decide(open); err != nil {
				return nil, err
			}
			if left == nil {
				left = &job{kernel: j.kernel}
			}
			left.visits = append(left.visits, v)
			continue
		}
		for k := range j.state[i] {
			j.state[i][k] = math.Float64frombits(words[j.states[i]+k])
		}
		if err := v.Run.SetState(j.state[i]); err != nil {
			return nil, err
		}
		for k := range v.Releases {
			v.Releases[k] = int64(words[j.releases[i]+k])
		}
		v.Taken = true
	}
	return left, nil
}
