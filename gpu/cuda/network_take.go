package cuda

import (
	"errors"
	"fmt"
	"slices"

	"fedpvi/dpmech"
)

// A NetworkPlan is a [dpmech.ProductPlan], or a [dpmech.BatchPlan] without privacy.
type NetworkPlan interface {
	Steps() int
	Records() int
	Together() int
	Words(dst []uint64) ([]uint64, error)
	Reclaim()
	Wipe()
}

// Take takes all steps of a plan, for which moves has two numbers each: the rate of Adam
// over 1−β₁ᵗ, and 1/(1−β₂ᵗ). Releases, if it is not nil, takes the noisy sums, in steps of
// the plan's lattice: those of a step beside each other, as Places has them.
//
// taken is false where the device left a comparison open or a batch is larger than
// Together, and after an error. State is then as it was, and the steps are to be taken with
// the plan's own methods, after Reclaim, for the first time that anybody sees. Where it is
// true the plan is wiped.
func (n *Network) Take(plan NetworkPlan, moves []float32, releases []int64) (taken bool, err error) {
	if err := n.fits(plan, moves, releases); err != nil {
		return false, fmt.Errorf("cuda: %w", err)
	}
	if taken, err = n.take(plan, moves, releases); err != nil {
		return false, fmt.Errorf("cuda: %d steps of a network: %w", plan.Steps(), err)
	}
	if taken {
		plan.Wipe()
	}
	return taken, nil
}

func (n *Network) fits(plan NetworkPlan, moves []float32, releases []int64) error {
	private, ok := plan.(*dpmech.ProductPlan)
	layers := n.cfg.layers()
	switch {
	case ok != n.cfg.Private:
		return errors.New("a plan with a promise for a network without one, or the other way round")
	case ok && !slices.Equal(private.Layers(), layers[:]):
		return errors.New("the plan is for other layers")
	case plan.Records() != n.records:
		return fmt.Errorf("the plan is for %d records, there are %d", plan.Records(), n.records)
	case plan.Together() != n.cfg.Together:
		return fmt.Errorf("the plan adds %d records up at once, the network %d", plan.Together(), n.cfg.Together)
	case len(moves) != 2*plan.Steps():
		return fmt.Errorf("%d numbers for %d steps, want two each", len(moves), plan.Steps())
	case releases != nil && (!ok || len(releases) != plan.Steps()*n.cfg.Places()):
		return fmt.Errorf("room for %d released numbers, want %d", len(releases), plan.Steps()*n.cfg.Places())
	}
	return nil
}

// take takes the steps in memory of their own, of which keys and batches are wiped.
func (n *Network) take(plan NetworkPlan, moves []float32, releases []int64) (taken bool, err error) {
	secret, err := plan.Words(nil)
	if err != nil {
		return false, err
	}
	defer clear(secret)
	steps, rows := plan.Steps(), n.cfg.Together
	batches, drawn := words(steps*(rows+1)), words(steps*rows)
	wiped := len(secret) + batches + drawn
	memory, err := n.device.Alloc(8 * (wiped + steps + len(releases)))
	if err != nil {
		return false, err
	}
	defer func() {
		err = errors.Join(err, n.device.Write(memory, make([]uint64, wiped)), n.device.Free(memory))
		taken = taken && err == nil
	}()
	address := func(place int) uint64 { return memory + uint64(8*place) }
	h := slices.Clone(n.head)
	h[networkPlan], h[networkBatches], h[networkDrawn] = memory, address(len(secret)), address(len(secret)+batches)
	h[networkMoves] = address(wiped)
	if releases != nil {
		h[networkReleases] = address(wiped + steps)
	}
	rates := pack(make([]uint64, steps+len(releases)), moves) // and zeros, where nobody writes between rows
	if err := errors.Join(n.device.Write(memory, secret), n.device.Write(address(wiped), rates), n.device.Write(n.memory, h)); err != nil {
		return false, err
	}
	return n.play(h, steps, releases)
}

// play runs the steps and reads what they came to.
func (n *Network) play(h []uint64, steps int, releases []int64) (taken bool, err error) {
	if err := n.device.Launch("network_batches", steps, mostThreads, 8*batchWords, n.memory); err != nil {
		return false, err
	}
	if err := n.step(steps); err != nil {
		return false, err
	}
	released := h[networkReleases]
	if err := n.device.Read(h, n.memory); err != nil {
		return false, err
	}
	if h[networkUndecided] != 0 {
		return false, n.upload()
	}
	if h[networkNext] != uint64(steps) {
		return false, fmt.Errorf("%d steps were taken, not %d", h[networkNext], steps)
	}
	if err := n.device.Read(n.next, n.state); err != nil {
		return false, err
	}
	if releases != nil {
		sums := make([]uint64, len(releases))
		if err := n.device.Read(sums, released); err != nil {
			return false, err
		}
		for i, x := range sums {
			releases[i] = int64(x)
		}
	}
	n.current, n.next = n.next, n.current
	return true, nil
}
