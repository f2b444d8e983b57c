package accountant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// filterVersion is the version of the encoding of a Filter.
const filterVersion = 1

// filterJSON is the encoding of a Filter. It leaves out the budget, which follows from
// the other fields. Numbers are the shortest that read back as the same float64.
type filterJSON struct {
	Version         int        `json:"version"`
	Kind            filterKind `json:"kind"`
	Adjacency       Adjacency  `json:"adjacency"`
	Epsilon         float64    `json:"epsilon"`
	Delta           float64    `json:"delta"`
	Order           float64    `json:"order"` // 0 for a Gaussian filter
	Spent           float64    `json:"spent"`
	SpentDivergence float64    `json:"spent_divergence"` // 0 for a Rényi filter
}

// MarshalJSON returns the encoding of the filter for a ledger. It returns an error for
// the zero Filter.
func (f *Filter) MarshalJSON() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.marshal()
}

func (s *filterState) marshal() ([]byte, error) {
	if s.kind == "" {
		return nil, errors.New("write filter: it has no budget")
	}
	return json.Marshal(filterJSON{
		Version:         filterVersion,
		Kind:            s.kind,
		Adjacency:       s.adjacency,
		Epsilon:         s.target.Epsilon,
		Delta:           s.target.Delta,
		Order:           s.order,
		Spent:           s.spent.main,
		SpentDivergence: s.spent.divergence,
	})
}

// UnmarshalJSON reads the encoding that MarshalJSON returns. It accepts additional white
// space but nothing else: a field that is missing, unknown, repeated, out of order or out
// of range is an error, and so is spending above the budget. After an error f is
// unchanged.
func (f *Filter) UnmarshalJSON(data []byte) error {
	read, err := readFilter(data)
	if err != nil {
		return fmt.Errorf("read filter: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filterState = read
	return nil
}

func readFilter(data []byte) (filterState, error) {
	var in filterJSON
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return filterState{}, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return filterState{}, errors.New("there is more data after the filter")
	}
	if in.Version != filterVersion {
		return filterState{}, fmt.Errorf("unknown version %d: this program knows only version %d", in.Version, filterVersion)
	}
	s, err := in.state()
	if err != nil {
		return filterState{}, err
	}
	// This comparison finds everything that encoding/json accepts silently: fields that
	// are missing, repeated or spelled in capitals, numbers in a longer form, −0.
	var plain bytes.Buffer
	if err := json.Compact(&plain, data); err != nil {
		return filterState{}, err
	}
	canonical, err := s.marshal()
	if err != nil {
		return filterState{}, err
	}
	if !bytes.Equal(plain.Bytes(), canonical) {
		return filterState{}, fmt.Errorf("not the canonical form of a filter: got %.300s, want %s", plain.Bytes(), canonical)
	}
	return s, nil
}

// state returns the state of a new filter with the target and the spending of in.
func (in filterJSON) state() (filterState, error) {
	target := Target{Epsilon: in.Epsilon, Delta: in.Delta}
	var fresh *Filter
	var err error
	switch in.Kind {
	case gaussianFilter:
		fresh, err = NewGaussianFilter(target, in.Adjacency)
	case renyiFilter:
		fresh, err = NewRenyiFilter(target, in.Order, in.Adjacency)
	default:
		err = fmt.Errorf("unknown kind %q: use %q or %q", string(in.Kind), gaussianFilter, renyiFilter)
	}
	if err != nil {
		return filterState{}, err
	}
	s := fresh.filterState
	if err := errors.Join(
		nonNegative("spent", in.Spent),
		nonNegative("spent divergence", in.SpentDivergence),
	); err != nil {
		return filterState{}, err
	}
	if in.Spent > s.budget.main || in.SpentDivergence > s.budget.divergence {
		return filterState{}, fmt.Errorf("spent %g and %g, above the budget of %g and %g", in.Spent, in.SpentDivergence, s.budget.main, s.budget.divergence)
	}
	s.spent = filterCost{in.Spent + 0, in.SpentDivergence + 0} // −0 becomes 0
	return s, nil
}
