package gpu

import "fmt"

// A Lasting optimiser can save its state between steps and restore it.
type Lasting interface {
	Optimiser
	// AppendState appends the state of the optimiser to dst.
	AppendState(dst []float64) []float64
	// SetState restores a state that AppendState appended. If the length is wrong, SetState returns
	// an error and changes nothing.
	SetState(state []float64) error
}

// AppendState implements Lasting.
func (SGD) AppendState(dst []float64) []float64 { return dst }

// SetState implements Lasting.
func (SGD) SetState(state []float64) error { return checkLength("sgd", len(state), 0) }

// AppendState implements Lasting.
func (a *Adam) AppendState(dst []float64) []float64 {
	return append(append(append(dst, a.power1, a.power2), a.first...), a.second...)
}

// SetState implements Lasting.
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

// AppendState implements Lasting.
func (a *AdaGrad) AppendState(dst []float64) []float64 { return append(dst, a.sum...) }

// SetState implements Lasting.
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
