package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"fedpvi/pvi"
	"fedpvi/pvi/method"
	"fedpvi/pvi/method/gradientsum"
	"fedpvi/pvi/method/steps"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// These are the keys of the settings that the search can change.
const (
	keyClip     = "privacy.clip"
	keySteps    = "inference.steps"
	keyStepSize = "inference.step_size"
	keyRate     = "inference.sampling_rate"
	keyDamping  = "inference.damping"
)

// A Setting is a key in a study file with its value.
type Setting struct {
	Key   string  `json:"key"`
	Value float64 `json:"value"`
}

// String returns the setting as key=value, the form that the flag --set takes.
func (s Setting) String() string {
	return s.Key + "=" + strconv.FormatFloat(s.Value, 'g', -1, 64)
}

// These candidates are not drawn.
const (
	// Rule is the name of the study in which every searched setting has the program's default
	// value.
	Rule = "default rule"
	// AsWritten is the name of the candidate with the settings in the study's file. There is such a
	// candidate only if the file sets a key that the search can change.
	AsWritten = "as written"
)

// A Candidate is a list of settings that a search tries.
type Candidate struct {
	Name     string    `json:"name,omitempty"` // [Rule] or [AsWritten]; empty for a drawn candidate
	Settings []Setting `json:"settings"`

	overrides []string // settings in the form that the flag --set takes
}

func (c *Candidate) set(key string, value float64) {
	s := Setting{key, value}
	c.Settings = append(c.Settings, s)
	c.overrides = append(c.overrides, s.String())
}

// String returns the candidate's name and settings in one line.
func (c Candidate) String() string {
	if c.Name != "" {
		return c.Name
	}
	words := make([]string, len(c.Settings))
	for i, s := range c.Settings {
		_, key, _ := strings.Cut(s.Key, ".")
		words[i] = fmt.Sprintf("%s %g", key, s.Value)
	}
	return strings.Join(words, ", ")
}

// A space is the set of settings that a search tries. On a logarithmic scale, each coordinate of a
// point is a factor by which the default value of a setting is multiplied.
type space struct {
	keys  []string
	rule  *pvi.Protocol
	start []string // overrides of the form "key=", which remove the searched keys so that their defaults apply
	clip  float64  // clip measured on generated records; 0 if there is a rule for the default clip
	named bool     // whether the study itself sets a searched key
}

// newSpace finds out which keys affect the study, and which of them have a default rule.
func newSpace(load loader) (*space, error) {
	st, err := load()
	if err != nil {
		return nil, err
	}
	s := &space{}
	if s.rule, err = sim.Protocol(st, 0); errors.Is(err, steps.ErrNoClip) {
		if st, err = s.measureClip(load); err != nil {
			return nil, err
		}
		s.rule, err = sim.Protocol(st, 0)
	}
	if err != nil {
		return nil, err
	}
	s.keys = searched(s.rule)
	for _, key := range s.keys {
		if key == keyClip && s.clip > 0 {
			continue
		}
		left := append(slices.Clone(s.start), key+"=")
		with, err := load(left...)
		if err != nil || with.Digest == st.Digest {
			continue // the key has no default rule, or the study does not set it
		}
		p, err := sim.Protocol(with, 0)
		if err != nil {
			continue
		}
		s.start, s.rule, s.named, st = left, p, true, with
	}
	return s, nil
}

// A loader reads the study. The settings replace values in its file.
type loader func(settings ...string) (*study.Study, error)

// If a model has no default clip, the search computes the gradients of generated records at
// clipDraws random values of θ. The clip is the quantile clipQuantile of their norms, so that one
// gradient in five is longer. With the default clip for log odds, about as many are.
const (
	clipQuantile = 0.8
	clipDraws    = 20
)

// measureClip derives a clip from the gradients of generated records. It returns the study with
// this clip.
func (s *space) measureClip(load loader) (*study.Study, error) {
	made := []string{"simulation.data=", "simulation.test_data="}
	st, err := load(append(made, "privacy.clip=1")...)
	if err != nil || st.Simulation.Synthetic == nil {
		made = append(made, "simulation.synthetic={records_per_client = 1}")
		if st, err = load(append(made, "privacy.clip=1")...); err != nil {
			return nil, err
		}
	}
	var norms []float64
	for seed := range uint64(clipDraws) {
		n, err := sim.GradientNorms(st, seed)
		if err != nil {
			return nil, err
		}
		norms = append(norms, n...)
	}
	slices.Sort(norms)
	s.clip = between(1, stat.Quantile(clipQuantile, stat.Empirical, norms, nil), 1, 1)
	s.start = append(s.start, Setting{keyClip, s.clip}.String())
	return load(s.start...)
}

// searched returns the keys that affect the study.
func searched(p *pvi.Protocol) []string {
	keys := []string{keyClip}
	_, stepped := p.Method().(method.Stepped)
	_, summed := p.Method().(*gradientsum.Method)
	if stepped && !summed { // if only sums are opened, a round always has one step
		keys = append(keys, keySteps)
	}
	if stepped {
		keys = append(keys, keyStepSize, keyRate)
	}
	in := p.Study().Inference
	if !summed && in.Schedule == study.Synchronous && len(p.Roster()) > 1 && !in.Damping.Harmonic {
		keys = append(keys, keyDamping)
	}
	return keys
}

// rates are the sampling rates that the search tries in addition to the default rate. Half of the
// candidates have the default rate.
var rates = []float64{0.5, 0.2, 0.1, 0.05}

// candidate returns the settings at the point u, which has a number in [0, 1] for each key.
func (s *space) candidate(u []float64) Candidate {
	var c Candidate
	c.overrides = slices.Clone(s.start)
	steps := 0
	d, stepped := method.StepsOf(s.rule.Method())
	if stepped {
		steps = d.Round
	}
	for i, key := range s.keys {
		switch key {
		case keyClip:
			c.set(key, between(u[i], s.rule.Method().Noise().Clip, 1./4, 2))
		case keySteps:
			steps = max(1, int(math.Round(between(u[i], float64(d.Round), 1./4, 2))))
			c.set(key, float64(steps))
		case keyStepSize:
			// This coordinate multiplies the number of steps times the step size, which is how far
			// all steps together can move.
			c.set(key, between(u[i], d.StepSize*float64(d.Round)/float64(steps), 1./4, 4))
		case keyRate:
			rate := d.Rate
			if u[i] >= 0.5 {
				rate = rates[min(int((2*u[i]-1)*float64(len(rates))), len(rates)-1)]
			}
			c.set(key, rate)
		case keyDamping:
			c.set(key, min(1, between(u[i], s.rule.Study().Inference.Damping.Alpha, 1./4, 4)))
		}
	}
	return c
}

// between scales x by a factor between low and high, given by u in [0, 1]:
//
//	x·low·(high/low)^u
//
// The result is rounded to two digits, so that the printed setting is exactly the one that was
// tried.
func between(u, x, low, high float64) float64 {
	x *= low * math.Pow(high/low, u)
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64)
	return rounded
}

// cube returns point n of a sequence that fills the unit cube evenly (Roberts, "The unreasonable
// effectiveness of quasirandom sequences", 2018). Let d be the dimension of the cube, and r the
// positive root of r^(d+1) = r + 1. Coordinate i of the point, from 1, is the fractional part of
//
//	offset[i-1] + n/rⁱ
func cube(n int, offset []float64) []float64 {
	d := len(offset)
	root := 2.0
	for range 64 {
		root = math.Pow(1+root, 1/float64(d+1))
	}
	u := make([]float64, d)
	for i := range u {
		_, u[i] = math.Modf(offset[i] + float64(n)*math.Pow(root, -float64(i+1)))
	}
	return u
}
