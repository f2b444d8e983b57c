package extend_test

import (
	"slices"

	"fedpvi/pvi/shard"
	"fedpvi/sim"
)

// This partition sorts the records by a column. Each client gets neighbouring values of x, so the
// clients have very different records.
func init() {
	sim.RegisterPartition("sorted", func(records *shard.Records, clients int, _ uint64) ([][]int, error) {
		order := make([]int, records.Len())
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if records.Row(a)[0] < records.Row(b)[0] {
				return -1
			}
			return 1
		})
		return slices.Collect(slices.Chunk(order, (len(order)+clients-1)/clients)), nil
	})
}

// For every partition, the rounds of a conjugate model find the posterior of the pooled records.
func Example_partition() {
	show(posterior(`partition = "own:sorted"`))
	// Output:
	// intercept 0.99 ± 0.03
	// x 2.01 ± 0.04
	// 0.00 nats
}
