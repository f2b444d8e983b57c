package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/pvi"
	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
)

// A Partition divides records among the given number of clients, and returns each client's rows. No
// row belongs to more than one client.
type Partition func(records *shard.Records, clients int, seed uint64) ([][]int, error)

// A Client tells the solver of an extension about its client.
type Client struct {
	Model   *fit.Model
	Records *shard.Shard
	Clients int
	BuiltIn solver.Solver // the built-in solver that inference.solver selects
}

// Likelihood returns the log likelihood of the client's records, in the form that solvers need.
func (c Client) Likelihood() (solver.Likelihood, error) {
	return c.Model.Likelihood(c.Records, c.Clients)
}

// A NewSolver makes a solver for a client.
type NewSolver func(Client) (solver.Solver, error)

// A Clip shortens the change of a client's factor, in natural parameters, before the mechanism of
// the study clips it and adds noise.
type Clip func(change []float64)

// A registry holds the extensions of one kind by name.
type registry[T any] struct {
	kind string
	lock sync.Mutex
	all  map[string]T
}

var (
	ownPartitions = &registry[Partition]{kind: "partition", all: map[string]Partition{}}
	ownSolvers    = &registry[NewSolver]{kind: "solver", all: map[string]NewSolver{}}
	ownClips      = &registry[Clip]{kind: "clip", all: map[string]Clip{}}
)

// RegisterPartition makes p available to studies with simulation.partition = "own:NAME". It panics
// if the name is taken.
func RegisterPartition(name string, p Partition) { ownPartitions.add(name, p) }

// RegisterSolver makes s available to studies with simulation.solver = "own:NAME". It panics if the
// name is taken. The study must have no privacy, or its privacy unit must be the client, because
// the mechanism then protects the result of any solver.
func RegisterSolver(name string, s NewSolver) { ownSolvers.add(name, s) }

// RegisterClip makes c available to studies with simulation.clip = "own:NAME". It panics if the
// name is taken. The same studies as for [RegisterSolver] can use it.
func RegisterClip(name string, c Clip) { ownClips.add(name, c) }

func (r *registry[T]) add(name string, extension T) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if _, taken := r.all[name]; taken || name == "" {
		panic(fmt.Sprintf("sim: the name %q of a %s is empty or taken", name, r.kind))
	}
	r.all[name] = extension
}

func (r *registry[T]) find(text string) (T, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	found, ok := r.all[strings.TrimPrefix(text, study.Own)]
	if !ok {
		return found, fmt.Errorf("simulation.%s = %q: this program has registered no such %s; run the program that has it", r.kind, text, r.kind)
	}
	return found, nil
}

func ownPartition(st *study.Study, records *shard.Records, seed uint64) ([][]int, error) {
	divide, err := ownPartitions.find(st.Simulation.Partition.Kind)
	if err != nil {
		return nil, err
	}
	rows, err := divide(records, st.Simulation.Clients, seed)
	if err != nil {
		return nil, fmt.Errorf("partition %q: %w", st.Simulation.Partition.Kind, err)
	}
	if len(rows) != st.Simulation.Clients {
		return nil, fmt.Errorf("partition %q made the records of %d clients, not %d", st.Simulation.Partition.Kind, len(rows), st.Simulation.Clients)
	}
	taken := make([]bool, records.Len())
	for _, row := range slices.Concat(rows...) {
		if row < 0 || row >= len(taken) || taken[row] {
			return nil, fmt.Errorf("partition %q: row %d does not exist, or belongs to two clients", st.Simulation.Partition.Kind, row)
		}
		taken[row] = true
	}
	return rows, nil
}

func newSite(p *pvi.Protocol, id pvi.ClientID, records *shard.Shard) (*pvi.Site, error) {
	own := p.Study().Simulation
	if own.Solver == "" && own.Clip == "" {
		return p.NewSite(id, records)
	}
	use, err := p.NewSolver(records)
	if err != nil {
		return nil, fmt.Errorf("an extension needs clients that compute factors, so write inference.solver = %q: %w", study.NaturalGradient, err)
	}
	if own.Solver != "" {
		make, err := ownSolvers.find(own.Solver)
		if err != nil {
			return nil, err
		}
		if use, err = make(Client{p.Model(), records, len(p.Roster()), use}); err != nil {
			return nil, fmt.Errorf("solver %q: %w", own.Solver, err)
		}
	}
	if own.Clip != "" {
		shorten, err := ownClips.find(own.Clip)
		if err != nil {
			return nil, err
		}
		use = clipped{use, shorten}
	}
	return pvi.NewSolverSite(p, id, use)
}

func extensionNotes(st *study.Study) (notes []string) {
	for _, name := range []string{st.Simulation.Solver, st.Simulation.Clip} {
		if name != "" {
			notes = append(notes, fmt.Sprintf("%s belongs to the program that ran this simulation. Coordinators and clients do not have it: they use inference.solver and privacy.clip.", name))
		}
	}
	if len(notes) > 0 && st.Privacy.Unit == study.Client {
		notes = append(notes, "The promise does not depend on extensions, because the mechanism of the study clips and hides their results.")
	}
	return notes
}

// A clipped solver applies the [Clip] of an extension to the proposals of another solver.
type clipped struct {
	solver.Solver
	shorten Clip
}

var errClip = errors.New("the clip made a change that is not finite")

// Propose implements [solver.Solver]. It shortens the difference between the proposed factor and
// the current one, which is q divided by the cavity.
func (c clipped) Propose(dst []float64, p solver.Problem, src *dpmech.Stream) ([]accountant.Event, error) {
	events, err := c.Solver.Propose(dst, p, src)
	if err != nil {
		return events, err
	}
	change := make([]float64, len(dst))
	for i := range dst {
		change[i] = dst[i] - (p.Natural[i] - p.Cavity[i])
	}
	c.shorten(change)
	for i, x := range change {
		if x-x != 0 {
			return events, errClip
		}
		dst[i] = p.Natural[i] - p.Cavity[i] + x
	}
	return events, nil
}
