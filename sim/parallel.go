package sim

import (
	"cmp"
	"sync"
)

// forEach calls do(i) for every i in [0, n). At most workers goroutines share the calls, each with
// a contiguous range. It returns the error for the lowest i.
func forEach(workers, n int, do func(i int) error) error {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				if errs[w] = do(i); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}
