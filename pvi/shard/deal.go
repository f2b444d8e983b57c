package shard

// Deal divides the records into k shards. Unit i (see [Shard.Unit]) goes to shard parts[i]. The
// shards share one copy of the records, and do not know which records belong to the same person.
// Deal panics unless parts has one element below k for each unit.
func (s *Shard) Deal(parts []uint16, k int) []*Shard {
	if len(parts) != s.Units() {
		panic("shard: not one part for each unit")
	}
	counts := make([]int, k)
	for i, part := range parts {
		unit, end := s.Unit(i)
		counts[part] += end - unit
	}
	all := &Shard{
		dim: s.dim, ways: s.ways, steep: s.steep,
		x: make([]float64, len(s.x)), y: make([]float64, len(s.y)),
		groups: make([]int32, len(s.groups)), slopes: make([]float64, len(s.slopes)),
	}
	dealt, next := make([]*Shard, k), make([]int, k)
	from := 0
	for part, n := range counts {
		dealt[part], next[part] = all.slice(from, from+n), from
		from += n
	}
	for i, part := range parts {
		for row, end := s.Unit(i); row < end; row++ {
			all.put(next[part], s, row)
			next[part]++
		}
	}
	return dealt
}

// Join returns a shard with the records of all given shards, of which there must be at least one.
// The result does not know which records belong to the same person.
func Join(shards []*Shard) *Shard {
	all := &Shard{dim: shards[0].dim, ways: shards[0].ways, steep: shards[0].steep}
	for _, s := range shards {
		all.x, all.y = append(all.x, s.x...), append(all.y, s.y...)
		all.groups, all.slopes = append(all.groups, s.groups...), append(all.slopes, s.slopes...)
	}
	return all
}

func (s *Shard) slice(from, to int) *Shard {
	return &Shard{
		dim: s.dim, ways: s.ways, steep: s.steep,
		x: s.x[from*s.dim : to*s.dim], y: s.y[from:to],
		groups: s.groups[from*s.ways : to*s.ways], slopes: s.slopes[from*s.steep : to*s.steep],
	}
}

func (s *Shard) put(at int, other *Shard, i int) {
	to, of := s.slice(at, at+1), other.slice(i, i+1)
	copy(to.x, of.x)
	copy(to.y, of.y)
	copy(to.groups, of.groups)
	copy(to.slopes, of.slopes)
}

// Select returns a shard with the given records. The result does not know which of them belong to
// the same person.
func (s *Shard) Select(rows []int) *Shard {
	chosen := &Shard{dim: s.dim, ways: s.ways, steep: s.steep}
	for _, i := range rows {
		of := s.slice(i, i+1)
		chosen.x, chosen.y = append(chosen.x, of.x...), append(chosen.y, of.y...)
		chosen.groups, chosen.slopes = append(chosen.groups, of.groups...), append(chosen.slopes, of.slopes...)
	}
	return chosen
}
