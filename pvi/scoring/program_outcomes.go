package scoring

import (
	"math"
	"slices"

	"fedpvi/internal/guard"
	"fedpvi/internal/special"
	"fedpvi/pvi/model"
)

// sweeps returns how often [program.drawer] draws each outcome. Several outcomes are drawn twice,
// as in Gibbs sampling.
func (r *program) sweeps() int {
	if len(r.outcomes) > 1 {
		return 2
	}
	return 1
}

// drawer returns a function that replaces the outcomes of records by draws from the program's
// density, each given the record's other numbers. x holds the numbers of the records. Each point
// gets an equal share of the records. The function needs a standard normal number in z for each record,
// outcome and sweep ([program.sweeps]). Its records may differ from x only in their outcomes.
func (r *program) drawer(x []float64, points [][]float64) func(x, z []float64) {
	if len(r.outcomes) == 1 {
		return r.conditional(x, r.outcomes[0], points).draw
	}
	return func(x, z []float64) {
		n := len(x) / len(r.numbers)
		for range r.sweeps() {
			for _, k := range r.outcomes {
				r.conditional(x, k, points).draw(x, z[:n])
				z = z[n:]
			}
		}
	}
}

// An outcome is drawn on a grid of gridPoints points, or of all possible whole numbers, up to
// mostWhole. Up to mostGrids grids are computed, each on the part of the previous one where the
// density is at least exp(−gridDepth) times the largest. While two neighbouring points have more
// than largestCell of the probability between them, gridPoints quantiles are added, up to
// mostRefined times, unless the outcome is a whole number.
const (
	gridPoints = 24
	mostWhole  = 64
	gridDepth  = 12.0
	mostGrids  = 7

	mostRefined = 8
	largestCell = 0.1
)

// A conditional has the density of number k of each record given its other numbers.
type conditional struct {
	*program
	k     int
	count int       // number of grid points for each record
	grid  []float64 // grids of all records
	logs  []float64 // logarithms of the densities on the grid
	atoms []float64 // logarithms of the probabilities of the atoms (see variates.atoms), record after record
	drawn []bool    // see [program.drawn]
}

// draw replaces number k of each record in x for which c.drawn is true, by the standard normal
// numbers z.
func (c *conditional) draw(x, z []float64) {
	n, d, atoms := len(c.numbers), &c.numbers[c.k], len(c.numbers[c.k].atoms)
	for i := range z {
		if c.drawn == nil || c.drawn[i] {
			from, to := i*c.count, (i+1)*c.count
			x[i*n+c.k] = d.inside(d.pick(c.grid[from:to], c.logs[from:to], c.atoms[i*atoms:(i+1)*atoms], special.Phi(z[i])))
		}
	}
}

// conditional returns the density of number k given the other numbers, for each record.
func (r *program) conditional(x []float64, k int, points [][]float64) *conditional {
	d, records := &r.numbers[k], len(x)/len(r.numbers)
	count := gridPoints
	if d.whole {
		count = int(min(d.high-d.low+1, mostWhole))
	}
	evaluate := func(logs, grid []float64) {
		r.densities(r.variates.density, logs, grid, x, k, points)
		for c, y := range grid {
			if slices.Contains(d.atoms, y) {
				logs[c] = math.Inf(-1) // an atom has no density
			}
		}
	}
	low, high := slices.Repeat([]float64{d.low}, records), slices.Repeat([]float64{d.high}, records)
	grid, logs := make([]float64, records*count), make([]float64, records*count)
	for turn := range mostGrids {
		for i := range records {
			d.grid(grid[i*count:(i+1)*count], low[i], high[i])
		}
		evaluate(logs, grid)
		moved := false
		for i := range records {
			if d.whole && high[i]-low[i] < float64(count) {
				continue
			}
			g, l := grid[i*count:(i+1)*count], logs[i*count:(i+1)*count]
			first, last := above(l, slices.Max(l)-gridDepth)
			from, to := g[max(first-1, 0)], g[min(last+1, count-1)]
			if turn < mostGrids-1 && to-from < 0.7*(high[i]-low[i]) {
				low[i], high[i], moved = from, to, true
			}
		}
		if !moved {
			break
		}
	}
	for turn := 0; turn < mostRefined && !d.whole; turn++ {
		more, refined := make([]float64, records*gridPoints), false
		for i := range records {
			dst, g, l := more[i*gridPoints:(i+1)*gridPoints], grid[i*count:(i+1)*count], logs[i*count:(i+1)*count]
			if turn == 0 || coarse(g, l) {
				quantiles(dst, g, l)
				refined = true
				continue
			}
			for c := range dst { // a copy of a point does not change this record's distribution
				dst[c] = g[count-1]
			}
		}
		if !refined {
			break
		}
		heights := make([]float64, len(more))
		evaluate(heights, more)
		grid, logs = merged(grid, logs, count, more, heights)
		count += gridPoints
	}
	atoms := make([]float64, records*len(d.atoms))
	r.densities(r.variates.density, atoms, slices.Repeat(d.atoms, records), x, k, points)
	return &conditional{r, k, count, grid, logs, atoms, r.drawn(x, k, points)}
}

// drawn reports, for each record, whether the log likelihood depends on number k only as the
// variate of densities, tested at three values. It returns nil if this is so for all records.
func (r *program) drawn(x []float64, k int, points [][]float64) []bool {
	if r.variates.rest == nil {
		return nil
	}
	d, records := &r.numbers[k], len(x)/len(r.numbers)
	const count = 3
	var inside []float64 // values within the bounds, without the atoms
	for c := range count {
		inside = append(inside, d.inside(d.low+(d.high-d.low)*(float64(c)+0.9)/count))
	}
	logs, out := make([]float64, records*count), make([]bool, records)
	r.densities(r.variates.rest, logs, slices.Repeat(inside, records), x, k, points)
	for i := range out {
		out[i] = logs[i*count] == logs[i*count+1] && logs[i*count] == logs[i*count+2]
	}
	return out
}

// grid writes increasing points of [low, high] to dst: all whole numbers if d is one and dst has
// room, and otherwise evenly spaced points.
func (d *datum) grid(dst []float64, low, high float64) {
	for c := range dst {
		if d.whole && high-low < float64(len(dst)) {
			dst[c] = min(low+float64(c), high)
			continue
		}
		dst[c] = min(low+(high-low)*float64(c)/float64(len(dst)-1), high) // rounding may exceed high
		if d.whole {
			dst[c] = math.Round(dst[c])
		}
	}
}

// above returns the indices of the first and the last element of v that is at least threshold. If
// there is none, it returns those of the whole range.
func above(v []float64, threshold float64) (first, last int) {
	first, last = len(v)-1, 0
	for i, x := range v {
		if x >= threshold {
			first, last = min(first, i), i
		}
	}
	return min(first, last), max(first, last)
}

// quantiles writes evenly spaced quantiles of the density with logarithms logs on grid to dst.
func quantiles(dst, grid, logs []float64) {
	mass, total, _ := masses(grid, logs)
	if total == 0 {
		for k := range dst {
			dst[k] = grid[k*(len(grid)-1)/(len(dst)-1)]
		}
		return
	}
	c, below := 1, 0.0
	for k := range dst {
		u := total * (float64(k) + 0.5) / float64(len(dst))
		for c < len(grid)-1 && below+mass[c] < u {
			below += mass[c]
			c++
		}
		dst[k] = grid[c]
		if mass[c] > 0 {
			dst[k] = min(grid[c-1]+(u-below)/mass[c]*(grid[c]-grid[c-1]), grid[c])
		}
	}
}

// coarse reports whether two neighbouring points of a record's grid have more than largestCell of
// the probability between them.
func coarse(grid, logs []float64) bool {
	_, total, largest := masses(grid, logs)
	return largest > largestCell*total
}

// merged merges a grid of every record, of count points, with one of gridPoints points, and their
// log densities.
func merged(grid, logs []float64, count int, more, heights []float64) (points, values []float64) {
	size := len(grid) + len(more)
	points, values = make([]float64, 0, size), make([]float64, 0, size)
	for i, j := 0, 0; i < len(grid); {
		for end, last := i+count, j+gridPoints; i < end || j < last; {
			if j == last || i < end && grid[i] <= more[j] {
				points, values = append(points, grid[i]), append(values, logs[i])
				i++
			} else {
				points, values = append(points, more[j]), append(values, heights[j])
				j++
			}
		}
	}
	return points, values
}

// masses returns the probabilities between each grid point and the one before, up to a factor, with
// their sum and the largest.
func masses(grid, logs []float64) (mass []float64, total, largest float64) {
	top := slices.Max(logs)
	mass = make([]float64, len(grid))
	if math.IsInf(top, -1) {
		return mass, 0, 0
	}
	for c := 1; c < len(grid); c++ {
		mass[c] = (math.Exp(logs[c]-top) + math.Exp(logs[c-1]-top)) / 2 * (grid[c] - grid[c-1])
		total += mass[c]
		largest = max(largest, mass[c])
	}
	return mass, total, largest
}

// pick returns the quantile u of a distribution of the number d with atoms and a density. An atom
// is a value with a positive probability, and atoms holds the logarithms of these. Atoms come
// before all grid points. logs holds the logarithms of the density on the grid or, if the grid has
// all whole numbers of a range, of probabilities. The density is integrated between neighbouring
// points.
func (d *datum) pick(grid, logs, atoms []float64, u float64) float64 {
	largest := slices.Max(append(slices.Clone(atoms), logs...))
	if math.IsInf(largest, -1) {
		return grid[len(grid)/2]
	}
	p, mass := make([]float64, len(logs)), make([]float64, len(logs))
	for c, l := range logs {
		p[c] = math.Exp(l - largest)
	}
	apart := d.whole && len(grid) > 1 && grid[1]-grid[0] <= 1
	var total float64
	for c := range p {
		switch {
		case apart && (c == 0 || grid[c] > grid[c-1]):
			mass[c] = p[c]
		case !apart && c > 0:
			mass[c] = (p[c] + p[c-1]) / 2 * (grid[c] - grid[c-1])
		}
		total += mass[c]
	}
	for _, l := range atoms {
		total += math.Exp(l - largest)
	}
	u *= total
	for c, l := range atoms {
		if u -= math.Exp(l - largest); u < 0 {
			return d.atoms[c]
		}
	}
	for c, w := range mass {
		if u -= w; u >= 0 {
			continue
		}
		if apart || c == 0 {
			return grid[c]
		}
		return grid[c] + u/w*(grid[c]-grid[c-1])
	}
	return grid[len(grid)-1]
}

// densities writes the log densities of several versions of each record to dst. Number k of a
// version is one of the record's candidates. All records have the same number of candidates. A density that
// is not a number, or that cannot be computed, is −Inf. Records do not affect each other.
func (r *program) densities(of *model.Model, dst, candidates, x []float64, k int, points [][]float64) {
	n := len(r.numbers)
	records := len(x) / n
	count := len(candidates) / records
	for p, point := range points {
		from, to := p*records/len(points), (p+1)*records/len(points)
		rows := make([]float64, 0, (to-from)*count*n)
		for i := from; i < to; i++ {
			for _, y := range candidates[i*count : (i+1)*count] {
				rows = append(rows, x[i*n:(i+1)*n]...)
				rows[len(rows)-n+k] = y
			}
		}
		r.eachDensity(of, dst[from*count:to*count], rows, r.theta(point), to-from)
	}
}

// eachDensity writes log densities at θ to dst, one for each version of a record in x. Each record
// has the same number of versions, one after the other. A density that is not a number, or that
// cannot be computed, is −Inf. Records do not affect each other.
func (r *program) eachDensity(of *model.Model, dst, x, theta []float64, records int) {
	if r.density(of, dst, x, theta) {
		return
	}
	for i := range records { // so that a panic for one record does not change the results of others
		count, numbers := len(dst)/records, len(x)/records
		one := dst[i*count : (i+1)*count]
		if !r.density(of, one, x[i*numbers:(i+1)*numbers], theta) {
			for c := range one {
				one[c] = math.Inf(-1)
			}
		}
	}
}

// density writes log densities at θ to dst, with −Inf for those that are not finite. It returns
// false after a panic.
func (r *program) density(of *model.Model, dst, x, theta []float64) bool {
	err := guard.Run(func() {
		table, err := of.Load(len(x)/len(r.numbers), r.fit.Divide(x, len(r.numbers)))
		if err != nil {
			panic(err)
		}
		of.LogDensities(dst, theta, table)
	})
	for c, l := range dst {
		if math.IsNaN(l) || math.IsInf(l, 1) {
			dst[c] = math.Inf(-1)
		}
	}
	return err == nil
}
