package accountant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// filterVersion is the version of the form in which a Filter is written.
const filterVersion = 1

// filterJSON is a Filter as it is written. The budget is not there: it follows
// from the rest. Numbers are the shortest that read back as the same float64.
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

// MarshalJSON writes the filter for a ledger. It fails for the zero Filter.
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

// UnmarshalJSON reads what MarshalJSON wrote, and nothing else but white space
// between: a field that is missing, unknown, double, out of order or out of range
// is an error, and so is a spend above the budget. After an error f is as it was.
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
		return filterState{}, errors.New("there is more behind it")
	}
	if in.Version != filterVersion {
		return filterState{}, fmt.Errorf("version %d is not known, only %d", in.Version, filterVersion)
	}
	s, err := in.state()
	if err != nil {
		return filterState{}, err
	}
	// One test for all that encoding/json forgives: fields that are missing or
	// double or spelled in capitals, numbers written at length, −0.
	var plain bytes.Buffer
	if err := json.Compact(&plain, data); err != nil {
		return filterState{}, err
	}
	canonical, err := s.marshal()
	if err != nil {
		return filterState{}, err
	}
	if !bytes.Equal(plain.Bytes(), canonical) {
		return filterState{}, fmt.Errorf("not in the form in which filters are written: got %.300s, want %s", plain.Bytes(), canonical)
	}
	return s, nil
}

// state makes the filter anew, with the spend that was written.
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
