package gpu

import "math"

// curvature fills the part of the Hessian that belongs to the coordinates of a generalised
// linear predictor η = x·β + α, and marks these coordinates as done. It does nothing if the
// program is no generalised linear model, or if the elements of β or α are functions of
// coordinates instead of coordinates.
func (e *cpu) curvature(h *hessian) error {
	if err := e.prepare(&h.query, 1); err != nil {
		return err
	}
	n := e.strips[0]
	k := n.draws[0].fused
	if k == nil {
		return nil
	}
	linear, shifts, ok := e.p.predictor(k.g)
	if !ok {
		return nil
	}
	total := e.length(&h.query)
	for from := 0; from < total; from += block {
		rows := n.pick(&h.query, from, min(from+block, total))
		weights := n.scaled[:len(rows)]
		if !k.second(e.p, rows, weights) {
			return errNotFinite
		}
		for l, row := range rows {
			h.addOuter(weights[l], k.x[int(row)*linear.cols:][:linear.cols], linear.base, shifts)
		}
	}
	h.mirror(linear, shifts)
	return nil
}

// predictor returns the leaf that reads β, and the leaves that read the scalars that are added
// to x·β. It returns ok = false unless each of their elements is a coordinate of θ.
func (p *plan) predictor(g *glm) (linear *leaf, shifts []*leaf, ok bool) {
	ok = true
	find := func(node int) *leaf {
		for i := range p.leaves {
			if f := &p.leaves[i]; f.node == node {
				ok = ok && f.same
				return f
			}
		}
		ok = false
		return nil
	}
	linear = find(g.linear)
	for _, s := range g.shifts {
		shifts = append(shifts, find(s))
	}
	return linear, shifts, ok
}

// second writes ∂²ℓ/∂η² for each row to dst, where η is the linear predictor and ℓ the log
// density. It uses central differences of the exact first derivative. It reports whether all
// values are finite.
func (k *glmLanes) second(p *plan, rows []int32, dst []float64) bool {
	v := p.m.Verified()
	k.forward(v, rows)
	eta := k.eta[:len(rows)]
	var centre, above [block]float64
	copy(centre[:], eta)
	for l, x := range centre[:len(rows)] {
		eta[l] = x + differenceStep*(1+math.Abs(x))
	}
	k.density.Run(k.value[:len(rows)], k.outcome[:len(rows)])
	copy(above[:], k.slope[:len(rows)])
	for l, x := range centre[:len(rows)] {
		eta[l] = x - differenceStep*(1+math.Abs(x))
	}
	k.density.Run(k.value[:len(rows)], k.outcome[:len(rows)])
	finite := true
	for l, x := range centre[:len(rows)] {
		step := differenceStep * (1 + math.Abs(x))
		dst[l] = (above[l] - k.slope[l]) / ((x + step) - (x - step))
		finite = finite && dst[l]-dst[l] == 0
	}
	return finite
}

// addOuter adds w·zzᵀ, for z = (x, 1, ..., 1), to the elements on and below the diagonal.
func (h *hessian) addOuter(w float64, x []float64, base int, shifts []*leaf) {
	d := len(h.at)
	for i, xi := range x {
		row, c := h.full[(base+i)*d+base:][:i+1], w*xi
		for j, xj := range x[:i+1] {
			row[j] += c * xj
		}
	}
	for i, s := range shifts {
		row := h.full[s.base*d:][:d]
		for j, xj := range x {
			row[base+j] += w * xj
		}
		for _, other := range shifts[:i+1] {
			row[other.base] += w
		}
	}
}

// mirror copies the sums of addOuter to the upper triangle and marks the coordinates as done.
func (h *hessian) mirror(linear *leaf, shifts []*leaf) {
	d := len(h.at)
	var coords []int
	for j := range linear.cols {
		coords = append(coords, linear.base+j)
	}
	for _, s := range shifts {
		coords = append(coords, s.base)
	}
	for a, i := range coords {
		h.exact[i] = true
		for _, j := range coords[:a] {
			h.full[j*d+i] = h.full[i*d+j]
		}
	}
}
