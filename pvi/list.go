package pvi

// A List is a list, wherever it is.
type List[T any] interface {
	// Len is how many elements there are.
	Len() int
	// Each hands them to f in order, in blocks that are good until f returns, and stops at the first error, its
	// own or of f, which it returns. Called again it hands out the same elements.
	Each(f func(block []T) error) error
}

// ListOf returns a list that is in memory.
func ListOf[T any](l []T) List[T] { return list[T](l) }

type list[T any] []T

func (l list[T]) Len() int                           { return len(l) }
func (l list[T]) Each(f func(block []T) error) error { return f(l) }

// blocks are a list of a size that is read a block after the other.
type blocks[T any] struct {
	size int
	read func(dst []T, first int) error
}

func (b blocks[T]) Len() int { return b.size }

func (b blocks[T]) Each(f func(block []T) error) error {
	block := make([]T, min(b.size, blockSize))
	for first := 0; first < b.size; first += len(block) {
		block = block[:min(len(block), b.size-first)]
		if err := b.read(block, first); err != nil {
			return err
		}
		if err := f(block); err != nil {
			return err
		}
	}
	return nil
}

// gather returns what is in a list.
func gather[T any](l List[T]) (all []T, err error) {
	if l.Len() == 0 {
		return nil, nil
	}
	all = make([]T, 0, l.Len())
	err = l.Each(func(block []T) error {
		all = append(all, block...)
		return nil
	})
	return all, err
}
