package cuda

import (
	"errors"
	"fmt"
	"slices"

	"fedpvi/dpmech"
)

// A NetworkPlan is a plan for training a network: a [dpmech.ProductPlan] for private training, or a
// [dpmech.BatchPlan] for training without privacy.
type NetworkPlan interface {
	Steps() int
	Records() int
	MaxBatch() int
	Words(dst []uint64) ([]uint64, error)
	Decide(open uint64) error
	Reclaim()
	Wipe()
}

// Take computes all steps of a plan. moves has two numbers for each step t: Adam's step size
// divided by 1−β₁ᵗ, and 1/(1−β₂ᵗ). If releases is not nil, Take writes the noisy sums of each step
// to it, in units of the plan's lattice step and in the order of Places.
//
// If Take succeeds, it wipes the plan. If it returns an error, the State of n stays the same and
// nothing is released. The caller may then call Reclaim on the plan and compute the steps again,
// with Take or with the plan's own methods.
func (n *Network) Take(plan NetworkPlan, moves []float32, releases []int64) error {
	if err := n.fits(plan, moves, releases); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	open, err := n.take(plan, moves, releases)
	// For about one in 2^50 noise samples, a device's integers are too short. Decide then computes
	// the sample, and the device computes the steps again.
	for err == nil && open != 0 {
		if err = plan.Decide(open); err == nil {
			open, err = n.take(plan, moves, releases)
		}
	}
	if err != nil {
		return fmt.Errorf("cuda: %d steps of a network: %w", plan.Steps(), err)
	}
	n.current, n.next = n.next, n.current
	n.moved = false
	plan.Wipe()
	return nil
}

func (n *Network) fits(plan NetworkPlan, moves []float32, releases []int64) error {
	private, ok := plan.(*dpmech.ProductPlan)
	layers := n.cfg.layers()
	switch {
	case ok != n.cfg.Private:
		return errors.New("plan and network must both be private or both not be")
	case ok && !slices.Equal(private.Layers(), layers[:]):
		return errors.New("the plan is for other layers")
	case plan.Records() != n.records:
		return fmt.Errorf("the plan is for %d records, there are %d", plan.Records(), n.records)
	case plan.MaxBatch() > n.cfg.Batch:
		return fmt.Errorf("batches of the plan have up to %d records, the network has room for %d", plan.MaxBatch(), n.cfg.Batch)
	case len(moves) != 2*plan.Steps():
		return fmt.Errorf("%d numbers for %d steps, want two each", len(moves), plan.Steps())
	case releases != nil && (!ok || len(releases) != plan.Steps()*n.cfg.Places()):
		return fmt.Errorf("room for %d released numbers, want %d", len(releases), plan.Steps()*n.cfg.Places())
	}
	return nil
}

// take copies the plan to newly allocated device memory and computes the steps there. If every step
// was computed, open is 0. Otherwise, open is the number of a noise sample that was too difficult
// for the device, and the steps have no effect.
func (n *Network) take(plan NetworkPlan, moves []float32, releases []int64) (open uint64, err error) {
	if n.moved {
		if err := n.upload(); err != nil {
			return 0, err
		}
	}
	secret, err := plan.Words(nil)
	if err != nil {
		return 0, err
	}
	defer clear(secret)
	steps, rows := plan.Steps(), n.cfg.Batch
	batches, drawn := words(steps*(rows+1)), words(steps*rows)
	noise := len(secret) + batches + drawn
	hidden := noise
	if n.cfg.Private {
		hidden += n.cfg.Places()
	}
	memory, err := n.device.Alloc(8 * (hidden + steps + len(releases)))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, n.device.Free(memory)) }()
	address := func(place int) uint64 { return memory + uint64(8*place) }
	h := slices.Clone(n.head)
	h[networkPlan], h[networkBatches], h[networkDrawn] = memory, address(len(secret)), address(len(secret)+batches)
	h[networkNoise], h[networkMoves] = address(noise), address(hidden)
	if releases != nil {
		h[networkReleases] = address(hidden + steps)
	}
	// The releases come after the moves in memory. They start as zeros, because no kernel writes
	// the padding between rows.
	rates := pack(make([]uint64, steps+len(releases)), moves)
	if err := errors.Join(n.device.Write(memory, secret), n.device.Write(address(hidden), rates), n.device.Write(n.memory, h)); err != nil {
		return 0, err
	}
	return n.play(h, steps, releases)
}

// play runs the steps on the device and reads the results. If all steps were computed, it writes
// the results to n.next and releases. Otherwise open is the number of the noise sample that was too
// difficult for the device.
func (n *Network) play(h []uint64, steps int, releases []int64) (open uint64, err error) {
	n.moved = true
	if err := n.device.Launch("network_batches", steps, mostThreads, 8*batchWords, n.memory); err != nil {
		return 0, err
	}
	if err := n.step(steps); err != nil {
		return 0, err
	}
	released := h[networkReleases]
	if err := n.device.Read(h, n.memory); err != nil {
		return 0, err
	}
	if h[networkOpen] != 0 {
		return h[networkOpen], nil
	}
	if h[networkNext] != uint64(steps) {
		return 0, fmt.Errorf("%d steps were taken, not %d", h[networkNext], steps)
	}
	if err := n.device.Read(n.next, n.state); err != nil {
		return 0, err
	}
	if releases != nil {
		sums := make([]uint64, len(releases))
		if err := n.device.Read(sums, released); err != nil {
			return 0, err
		}
		for i, x := range sums {
			releases[i] = int64(x)
		}
	}
	return 0, nil
}
