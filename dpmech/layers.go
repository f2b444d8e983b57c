package dpmech

import (
	"crypto/subtle"
	"errors"
	"fmt"
)

// Layers is one client's noise for one round: drawn, then released with a vector,
// then revealed in part. The zero Layers is none. A copy is the same noise.
type Layers struct {
	drawn *drawnLayers
}

type drawnLayers struct {
	of      *LayeredSum
	round   Round
	client  int
	steps   []int64     // the sum of all layers; nil once released
	seeds   []LayerSeed // of layers 1..T; nil once revealed
	commits []LayerCommitment
}

// Draw draws the noise of a client, 0 ≤ client < Clients, for a round. What layers
// held before is lost.
func (m *LayeredSum) Draw(layers *Layers, round Round, client int, src *Stream) error {
	if client < 0 || client >= m.cfg.Clients {
		return fmt.Errorf("layered sum: client must be in [0, %d), got %d", m.cfg.Clients, client)
	}
	d := &drawnLayers{of: m, round: round, client: client, steps: make([]int64, m.cfg.Dim)}
	m.layers[0].Fill(d.steps, src)
	own := new(Stream)
	defer own.Wipe()
	for j := 1; j < len(m.layers); j++ {
		seed := newLayerSeed(src)
		l := layer{round, client, j}
		d.seeds = append(d.seeds, seed)
		d.commits = append(d.commits, l.commit(&seed))
		l.rekey(own, &seed)
		for i := range d.steps {
			d.steps[i] += m.layers[j].Sample(own)
		}
	}
	layers.drawn = d
	return nil
}

// ReleaseOne writes to dst the clipped and truncated v under all layers of noise,
// and to sum the same without noise. Only dst may leave the house. The noise must
// have been drawn before anybody looked at the data of which v is made; it is used
// up, also if the release fails. A v that is not finite is refused.
func (m *LayeredSum) ReleaseOne(dst, sum []int64, layers *Layers, v []float64) error {
	d := layers.drawn
	if d == nil || d.of != m || d.steps == nil {
		return errors.New("layered sum: no noise was drawn for this release")
	}
	noise := d.steps
	d.steps = nil
	if err := errors.Join(checkDestination(m.cfg.Dim, dst, sum), checkVector(m.cfg.Dim, v)); err != nil {
		clear(noise)
		clear(dst)
		clear(sum)
		d.forget()
		return fmt.Errorf("layered sum: %w", err)
	}
	copy(dst, noise)
	clear(noise)
	clear(sum)
	m.gate.add(sum, v)
	return finish(dst, sum, nil)
}

// Commitments returns what a client sends along with its release: commitments to
// its seeds of layers 1..T.
func (l *Layers) Commitments() []LayerCommitment {
	if l.drawn == nil {
		return nil
	}
	return append([]LayerCommitment(nil), l.drawn.commits...)
}

// A RevealedLayer is a seed that a survivor gave up.
type RevealedLayer struct {
	Client int
	Layer  int // in 1..T
	Seed   LayerSeed
}

// Reveal returns the seeds of the layers that are not needed when the sum is that
// of survivors clients. That number must be certain, agreed by enough clients
// that no second one can be: a client answers once, and forgets its seeds.
func (l *Layers) Reveal(survivors int) ([]RevealedLayer, error) {
	d := l.drawn
	if d == nil || d.steps != nil || d.seeds == nil && len(d.commits) > 0 {
		return nil, errors.New("layered sum: there is no released noise whose layers were not revealed yet")
	}
	dropouts, err := d.of.dropouts(survivors)
	if err != nil {
		return nil, err
	}
	var revealed []RevealedLayer
	for j := dropouts + 1; j < len(d.of.layers); j++ {
		revealed = append(revealed, RevealedLayer{Client: d.client, Layer: j, Seed: d.seeds[j-1]})
	}
	d.forget()
	return revealed, nil
}

func (d *drawnLayers) forget() {
	clear(d.seeds)
	d.seeds = nil
}

// dropouts returns how many of the clients are missing.
func (m *LayeredSum) dropouts(survivors int) (int, error) {
	missing := m.cfg.Clients - survivors
	if missing < 0 || missing > m.cfg.Dropouts {
		return 0, fmt.Errorf("layered sum: a sum is opened for %d to %d clients, not for %d", m.cfg.Clients-m.cfg.Dropouts, m.cfg.Clients, survivors)
	}
	return missing, nil
}

// Survivor is a client whose release is in a sum, and what it committed to.
type Survivor struct {
	Client      int
	Commitments []LayerCommitment // to its layers 1..T
}

// Remove subtracts from total, the sum of the survivors' releases in lattice
// steps, the layers that the survivors revealed. It refuses anything but exactly
// the layers above the number of dropouts, one seed for each of every survivor,
// as committed to; total is then unchanged.
func (m *LayeredSum) Remove(total []int64, round Round, survivors []Survivor, revealed []RevealedLayer) error {
	if len(total) != m.cfg.Dim {
		return fmt.Errorf("layered sum: sum has %d elements, want %d", len(total), m.cfg.Dim)
	}
	if err := m.checkRevealed(round, survivors, revealed); err != nil {
		return fmt.Errorf("layered sum: %w", err)
	}
	own := new(Stream)
	defer own.Wipe()
	for _, r := range revealed {
		layer{round, r.Client, r.Layer}.rekey(own, &r.Seed)
		for i := range total {
			total[i] -= m.layers[r.Layer].Sample(own)
		}
	}
	return nil
}

func (m *LayeredSum) checkRevealed(round Round, survivors []Survivor, revealed []RevealedLayer) error {
	dropouts, err := m.dropouts(len(survivors))
	if err != nil {
		return err
	}
	committed := make(map[int][]LayerCommitment, len(survivors))
	for _, s := range survivors {
		if s.Client < 0 || s.Client >= m.cfg.Clients {
			return fmt.Errorf("survivor %d is not one of %d clients", s.Client, m.cfg.Clients)
		}
		if _, twice := committed[s.Client]; twice {
			return fmt.Errorf("survivor %d is listed twice", s.Client)
		}
		if len(s.Commitments) != m.cfg.Dropouts {
			return fmt.Errorf("survivor %d committed to %d layers, want %d", s.Client, len(s.Commitments), m.cfg.Dropouts)
		}
		committed[s.Client] = s.Commitments
	}
	if want := len(survivors) * (m.cfg.Dropouts - dropouts); len(revealed) != want {
		return fmt.Errorf("%d layers were revealed, want %d: %d of each of %d survivors", len(revealed), want, m.cfg.Dropouts-dropouts, len(survivors))
	}
	seen := make(map[[2]int]bool, len(revealed))
	for _, r := range revealed {
		commits, ok := committed[r.Client]
		switch at := [2]int{r.Client, r.Layer}; {
		case !ok:
			return fmt.Errorf("client %d revealed a layer and is no survivor", r.Client)
		case r.Layer <= dropouts || r.Layer > m.cfg.Dropouts:
			return fmt.Errorf("client %d revealed layer %d, want layers %d to %d", r.Client, r.Layer, dropouts+1, m.cfg.Dropouts)
		case seen[at]:
			return fmt.Errorf("client %d revealed layer %d twice", r.Client, r.Layer)
		default:
			seen[at] = true
		}
		commit := layer{round, r.Client, r.Layer}.commit(&r.Seed)
		if subtle.ConstantTimeCompare(commit[:], commits[r.Layer-1][:]) != 1 {
			return fmt.Errorf("client %d revealed another seed of layer %d than it committed to", r.Client, r.Layer)
		}
	}
	return nil
}
