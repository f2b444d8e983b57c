package dpmech

import (
	"errors"
	"fmt"

	"fedpvi/internal/guard"
	"fedpvi/internal/special"
)

// A Query adds the vectors of one release. It calls add with one vector, or with several vectors
// that are stored one after another. add copies the elements. If add returns an error, the Query
// must stop and return that error.
type Query func(add func(v []float64) error) error

// Release runs query, which adds the vectors, and computes their sum. It writes the sum with noise
// to dst and the sum without noise to sum, both in lattice steps. Only dst may be released. Release
// draws the noise before it calls query. A vector that is not finite adds zero.
//
// query can add any number of vectors. If there are more than Config.Terms, the sum is saturated
// (see [Sum]). No error is returned, because an error would reveal the number of vectors.
//
// Release returns an error if query adds a part of a vector or returns an error. dst and sum are
// then zero, and nothing about the vectors is released. If query panics, the noise alone is
// released.
func (m *Sum) Release(dst, sum []int64, src *Stream, query Query) error {
	if err := checkDestination(m.cfg.Dim, dst, sum); err != nil {
		return fmt.Errorf("%s sum: %w", m.name, err)
	}
	m.draw(dst, src)
	a := Accumulator{of: m, sum: sum}
	err := a.gather(mostVectors, func() error { return query(a.AddVectors) })
	m.saturate(sum)
	return finish(dst, sum, err)
}

// mostVectors is the maximum number of vectors in a release. The elements of a vector are at most
// 2^maxClipBits in absolute value, so the sum of this many vectors is at most 2^61 before it is
// saturated. Tables of records have fewer rows.
const mostVectors = 1 << 27

// saturate limits every element of a sum to ±Terms·C, the range of a sum of Config.Terms vectors of
// norm at most C.
func (m *Sum) saturate(sum []int64) {
	most := int64(m.cfg.Terms) * m.clip // most is below maxTotal (see Config.fit)
	for i, n := range sum {
		sum[i] = min(max(n, -most), most)
	}
}

// gather replaces the sum in the accumulator with the sum of the vectors that query adds. query may
// add at most limit vectors. If query panics, the sum is zero. A panic must not depend on a record:
// if the computation for one record panics, query must recover and leave out this record.
func (a *Accumulator) gather(limit int, query func() error) (err error) {
	a.begin(limit) // removes vectors that an earlier query added too late, after it had returned
	if guard.Run(func() { err = query() }) != nil {
		a.begin(limit)
		return nil
	}
	if err == nil {
		err = a.err // query may have ignored the error from add
	}
	return err
}

// An Accumulator adds up the vectors of a release. It clips and truncates every vector before it
// adds it. The sum cannot be read before [Sum.ReleaseSum] adds the noise. An Accumulator is not
// safe for concurrent use.
type Accumulator struct {
	of    *Sum
	sum   []int64
	terms int
	most  int   // maximum number of vectors
	err   error // first error, after which the release fails

	formed []float64 // buffer of AddRows for one vector

	joining bool      // whether vectors are added to joined instead of sum
	joined  []float64 // sum of the vectors of one record, before the clip
}

// NewAccumulator returns an empty sum.
func (m *Sum) NewAccumulator() *Accumulator {
	return &Accumulator{of: m, sum: make([]int64, m.cfg.Dim), most: mostVectors, formed: make([]float64, m.cfg.Dim)}
}

// Reset removes all vectors from the sum.
func (a *Accumulator) Reset() { a.begin(a.most) }

// begin prepares the accumulator for a new release of at most limit vectors. It removes all vectors
// from the sum.
func (a *Accumulator) begin(limit int) {
	clear(a.sum)
	a.terms, a.most, a.err, a.joining = 0, limit, nil, false
}

// addTogether adds one vector: the sum of the vectors that query adds, clipped as a whole. The sum
// is computed only from these vectors, in their order. If it is not finite, addTogether adds zero.
func (a *Accumulator) addTogether(query func() error) error {
	if a.joined == nil {
		a.joined = make([]float64, len(a.sum))
	}
	clear(a.joined)
	a.joining = true
	err := query()
	a.joining = false
	if err != nil {
		return err
	}
	return a.Add(a.joined)
}

// join adds factor·v to a.joined, the sum of the vectors of one person, which is clipped as a whole
// later.
func (a *Accumulator) join(factor float64, v []float64) {
	for i, x := range v {
		a.joined[i] += float64(factor * x)
	}
}

// Add adds the clipped and truncated v to the sum. A vector that is not finite adds zero. Add
// returns an error if v has the wrong length, or if there are more vectors than the accumulator
// permits: in a [SampledRun], it permits one for each record of the batch. The release then fails,
// even if the caller ignores the error.
func (a *Accumulator) Add(v []float64) error {
	if len(v) != len(a.sum) {
		return a.fail(fmt.Errorf("vector has %d elements, want %d", len(v), len(a.sum)))
	}
	if a.joining {
		a.join(1, v)
		return nil
	}
	if a.terms >= a.most {
		return a.fail(a.tooMany())
	}
	a.terms++
	a.of.gate.add(a.sum, v)
	return nil
}

// AddKeeping is like Add, but also writes the added integers to kept. These integers are in lattice
// steps and contain no noise, so they must not be released.
func (a *Accumulator) AddKeeping(kept []int64, v []float64) error {
	if len(v) != len(a.sum) || len(kept) != len(a.sum) {
		return a.fail(fmt.Errorf("vector and copy have %d and %d elements, want %d", len(v), len(kept), len(a.sum)))
	}
	if a.terms >= a.most {
		return a.fail(a.tooMany())
	}
	a.terms++
	clear(kept)
	a.of.gate.add(kept, v)
	for i, n := range kept {
		a.sum[i] += n
	}
	return nil
}

func (a *Accumulator) tooMany() error {
	return fmt.Errorf("more than %d vectors", a.most)
}

func (a *Accumulator) fail(err error) error {
	err = fmt.Errorf("%s sum: %w", a.of.name, err)
	if a.err == nil {
		a.err = err
	}
	return err
}

// Noise is a noise share that was drawn for one release. The zero Noise contains no share. Copies
// of a Noise refer to the same share. A share can be used only once.
type Noise struct {
	drawn *drawn
}

type drawn struct {
	of    *Sum // mechanism that drew the noise; nil after the noise was used
	steps []int64
}

// Draw draws the noise of one release and stores it in noise, where it replaces any earlier noise.
func (m *Sum) Draw(noise *Noise, src *Stream) {
	if noise.drawn == nil || len(noise.drawn.steps) != m.cfg.Dim {
		noise.drawn = &drawn{steps: make([]int64, m.cfg.Dim)}
	}
	m.draw(noise.drawn.steps, src)
	noise.drawn.of = m
}

// use takes the noise for one release. It copies the noise share to dst and sets sum to zero. It
// returns an error if the share was already used or belongs to another mechanism, or if dst or sum
// has the wrong length or they share memory.
func (m *Sum) use(noise *Noise, dst, sum []int64) error {
	d := noise.drawn
	if d == nil || d.of != m {
		return fmt.Errorf("%s sum: no noise was drawn for this release", m.name)
	}
	d.of = nil
	if err := checkDestination(m.cfg.Dim, dst, sum); err != nil {
		return fmt.Errorf("%s sum: %w", m.name, err)
	}
	copy(dst, d.steps)
	clear(d.steps)
	clear(sum)
	return nil
}

// ReleaseSum writes the sum in the accumulator a to dst and to sum, and adds the noise to dst
// alone. Only dst may be released. [Sum.Draw] must have drawn the noise before the program read the
// data. ReleaseSum uses up the noise and empties the accumulator, even if it returns an error.
// After an error dst and sum are zero, or unchanged if noise contains no unused share. ReleaseSum
// allocates nothing.
func (m *Sum) ReleaseSum(dst, sum []int64, noise *Noise, a *Accumulator) error {
	defer a.Reset()
	if err := m.use(noise, dst, sum); err != nil {
		return err
	}
	if a.of != m {
		return finish(dst, sum, fmt.Errorf("%s sum: the vectors were added up by another mechanism", m.name))
	}
	copy(sum, a.sum)
	m.saturate(sum)
	return finish(dst, sum, a.err)
}

// ReleaseOne clips the vector v, writes it to dst and to sum, and adds the noise to dst alone. Only
// dst may be released. [Sum.Draw] must have drawn the noise before the program read the data.
// ReleaseOne uses up the noise, even if it returns an error, and allocates nothing. It returns an
// error if v is not finite.
func (m *Sum) ReleaseOne(dst, sum []int64, noise *Noise, v []float64) error {
	if err := m.use(noise, dst, sum); err != nil {
		return err
	}
	if err := checkVector(m.cfg.Dim, v); err != nil {
		return finish(dst, sum, fmt.Errorf("%s sum: %w", m.name, err))
	}
	m.gate.add(sum, v)
	return finish(dst, sum, nil)
}

// checkVector returns an error if v has the wrong length or is not finite.
func checkVector(dim int, v []float64) error {
	if len(v) != dim {
		return fmt.Errorf("vector has %d elements, want %d", len(v), dim)
	}
	if !special.Finite(v) {
		return ErrNotFinite
	}
	return nil
}

// checkDestination returns an error if dst or sum has the wrong length, or if they share memory.
// With shared memory, the exact sum would overwrite the noisy sum.
func checkDestination(dim int, dst, sum []int64) error {
	if len(dst) != dim || len(sum) != dim {
		return fmt.Errorf("destination has %d and %d elements, want %d", len(dst), len(sum), dim)
	}
	for i := range dst {
		if &dst[i] == &sum[0] || &sum[i] == &dst[0] {
			return errors.New("the destinations of the noisy and of the exact sum overlap")
		}
	}
	return nil
}

// finish completes a release: it adds the exact sum to dst, which holds the noise. If err is not
// nil, finish clears dst and sum instead, so that nothing is released, and returns err.
func finish(dst, sum []int64, err error) error {
	if err != nil {
		clear(dst)
		clear(sum)
		return err
	}
	for i, s := range sum {
		dst[i] += s
	}
	return nil
}
