package pvi

// Parts are a long list, wherever it is.
type Parts[T any] interface {
	// Len is how many elements there are.
	Len() int
	// Each hands them to f in order, in blocks that are good until f returns, and stops at the first error, its
	// own or of f, which it returns. Called again it hands out the same elements.
	Each(f func(block []T) error) error
}

// PartsOf returns a list that is in memory.
func PartsOf[T any](l []T) Parts[T] { return list[T](l) }

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

func gather[T any](parts Parts[T]) (list []T, err error) {
	if parts.Len() == 0 {
		return nil, nil
	}
	list = make([]T, 0, parts.Len())
	err = parts.Each(func(block []T) error {
		list = append(list, block...)
		return nil
	})
	return list, err
}
