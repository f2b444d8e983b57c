package ep

// together is the largest number of records whose sites are computed in one call. They fit into the
// CPU's caches.
const together = 32

type beside struct {
	y, mean, variance, g, h [together]float64
}

// Sites implements [Batcher].
func (t *Regression) Sites(dst []float64, records []uint32) {
	t.fetch(records)
	size := t.Size()
	if t.beside == nil || t.at.Covariance != nil {
		for i, record := range records {
			t.Site(dst[i*size:(i+1)*size], int(record))
		}
		return
	}
	for len(records) > 0 {
		n := min(len(records), together)
		t.together(dst[:n*size], records[:n])
		dst, records = dst[n*size:], records[n:]
	}
}

// together writes the sites of up to that many records to dst, which is faster than one by one. The
// family must be diagonal, and every row of the design full.
func (t *Regression) together(dst []float64, records []uint32) {
	b, d, n := t.beside, t.dim, len(records)
	for i, record := range records {
		b.y[i] = t.y[record]
	}
	project(b.mean[:n], b.variance[:n], records, t.values, t.at.Mean, t.at.Variance)
	t.one.slopesAll(b.g[:n], b.h[:n], b.y[:n], b.mean[:n], b.variance[:n])
	for i, record := range records {
		match(dst[2*i*d:][:2*d], t.values[int(record)*d:][:d], t.at.Variance, b.g[i]/t.power, b.h[i], t.weight/t.power)
	}
}
