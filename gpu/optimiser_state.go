package gpu

import "fmt"

// AppendState implements Optimiser.
func (SGD) AppendState(dst []float64) []float64 { return dst }

// SetState implements Optimiser.
func (SGD) SetState(state []float64) error { return checkLength("sgd", len(state), 0) }

// AppendState implements Optimiser.
func (a *Adam) AppendState(dst []float64) []float64 {
	return append(append(append(dst, a.power1, a.power2), a.first...), a.second...)
}

// SetState implements Optimiser.
func (a *Adam) SetState(state []float64) error {
	d := len(a.first)
	if err := checkLength("adam", len(state), 2+2*d); err != nil {
		return err
	}
	a.power1, a.power2 = state[0], state[1]
	copy(a.first, state[2:])
	copy(a.second, state[2+d:])
	return nil
}

// AppendState implements Optimiser.
func (a *AdaGrad) AppendState(dst []float64) []float64 { return append(dst, a.sum...) }

// SetState implements Optimiser.
func (a *AdaGrad) SetState(state []float64) error {
	if err := checkLength("adagrad", len(state), len(a.sum)); err != nil {
		return err
	}
	copy(a.sum, state)
	return nil
}

func checkLength(name string, got, want int) error {
	if got != want {
		return fmt.Errorf("%s: a state of %d numbers, want %d", name, got, want)
	}
	return nil
}
