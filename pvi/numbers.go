package pvi

import "errors"

var (
	errBeyond  = errors.New("a number is beyond the limit")
	errNumbers = errors.New("the numbers of a release are not those that were announced")
)

// add adds a client's numbers to the sum, as many as that has, each of at most a limit, or refuses them all: what
// was added before the one beyond the limit is taken back. Another error is of the numbers, and the sum is
// good for nothing then.
func (r *round) add(client ClientID, change List[int64], limit int64) error {
	added := 0
	err := change.Each(func(block []int64) error {
		if len(block) > len(r.Sum)-added {
			return errNumbers
		}
		for _, n := range block {
			if n > limit || n < -limit {
				return errBeyond
			}
			r.Sum[added] += n
			added++
		}
		return nil
	})
	switch {
	case errors.Is(err, errBeyond):
		if err := r.takeBack(change, added); err != nil {
			return err
		}
		return refuse("element %d of the release of client %q is beyond what the mechanism can yield", added+1, client)
	case err == nil && added < len(r.Sum):
		return errNumbers
	}
	return err
}

// takeBack takes the first n numbers out of the sum again.
func (r *round) takeBack(change List[int64], n int) error {
	at := 0
	err := change.Each(func(block []int64) error {
		for _, x := range block[:min(len(block), n-at)] {
			r.Sum[at] -= x
			at++
		}
		if at == n {
			return errBeyond
		}
		return nil
	})
	if errors.Is(err, errBeyond) {
		return nil
	}
	return errors.Join(errNumbers, err)
}
