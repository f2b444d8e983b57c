package population

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The shape of a federation is the information of a typical client's record in public units,
//
//	C diag(s) Cᵀ.
//
// s_i is the scale of coordinate i: its information once its base is known, relative to synthetic
// records. C is the identity plus, for each coordinate i with a base b, the centre of i as element
// (i, b). A shape is stored as units in which it is the identity.

// drawShapes returns the posterior of the shape, where sum is the opened sum of votes. units is a
// typical shape, and draws are in these units. units is nil if it is singular in floating-point
// arithmetic.
func (r *rules) drawShapes(answers int, sum []float64) (units *Units, draws []*Units) {
	clients, n := r.Weights[0]*float64(answers), centred(r.Bases)
	size := math.Sqrt(float64(r.dim+n)) / clients
	if r.Area != nil {
		size *= math.Sqrt2
	}
	sd := math.Hypot(size*r.Noise*math.Sqrt(float64(answers)), unalike)
	scales := count(sum, r.dim, places, r.Area.first(), scaleDistances, size, sd)
	centres := count(sum[places*r.dim:], n, centrePlaces, (centrePlaces-1)/2, centreDistances, size, sd)
	if units = r.typicalShape(scales, centres); units == nil {
		return nil, nil
	}
	drawn := r.shapeDraws()
	from := r.normals(1, drawn*(r.dim+n+2))
	for range drawn {
		s, c := scales.draw(from), centres.draw(from)
		for i, x := range s {
			s[i] = r.scaleAt(x)
		}
		draws = append(draws, r.shape(s, c).in(units))
	}
	return units, draws
}

// scaleAt returns the scale that belongs to a place.
func (r *rules) scaleAt(place float64) float64 { return math.Pow(base, r.Area.first()-place) }

// typicalShape returns a shape whose centres are posterior medians. Each scale is the geometric
// mean of the information about a coordinate, given that its centre is not known exactly.
func (r *rules) typicalShape(scales, centres *ballot) *Units {
	s, c := make([]float64, r.dim), make([]float64, 0, r.dim)
	for i := range s {
		s[i] = r.scaleAt(floats.Dot(scales.of(i), scales.at))
		b := baseOf(r.Bases, i)
		if b < 0 {
			continue
		}
		given := centres.of(len(c))
		median, log := centres.at[pick(given, .5)], 0.
		for k, p := range given {
			off := (centres.at[k] - median) * centreStep
			log += p * math.Log(s[i]+s[b]*off*off)
		}
		s[i], c = math.Exp(log), append(c, median)
	}
	return r.shape(s, c)
}

// shape returns the shape with the scales s and with centres at the given places.
func (r *rules) shape(s, places []float64) *Units {
	root := mat.NewTriDense(r.dim, mat.Lower, nil)
	for i, x := range s {
		root.SetTri(i, i, math.Sqrt(x))
		if b := baseOf(r.Bases, i); b >= 0 {
			root.SetTri(i, b, (places[0]*centreStep-reach)*math.Sqrt(s[b]))
			places = places[1:]
		}
	}
	return unitsOf(root)
}

// shapeDraws returns the number of draws of the shape, from 1 to 60. The time for each draw grows
// with the sixth power of the dimension.
func (r *rules) shapeDraws() int {
	size := float64(packedSize(r.dim))
	return int(within(2e7/(size*size*size), 1, 60))
}
