package sim

import (
	"math/rand/v2"
	"slices"

	"fedpvi/pvi/study"
)

// A post delivers the clients' answers to the server. In the asynchronous schedule, every answer
// takes a random time, and some clients are slower than others. In other schedules, answers arrive
// in order.
type post struct {
	r     *rand.Rand // nil unless the schedule is asynchronous
	speed []float64  // mean time that each client takes to answer
	now   float64
	onWay []arrival // in the order of arrival
}

type arrival struct {
	at     float64
	client int
}

func newPost(schedule study.Schedule, seed uint64, clients int) *post {
	p := new(post)
	if schedule == study.Asynchronous {
		p.r, p.speed = variates(seed, purposeSpeed), make([]float64, clients)
		for m := range p.speed {
			p.speed[m] = 0.5 + p.r.ExpFloat64()
		}
	}
	return p
}

func (p *post) send(client int) {
	at := p.now
	if p.r != nil {
		at += p.speed[client] * (0.5 + p.r.Float64())
	}
	i, _ := slices.BinarySearchFunc(p.onWay, at, func(a arrival, at float64) int {
		if a.at <= at {
			return -1
		}
		return 1
	})
	p.onWay = slices.Insert(p.onWay, i, arrival{at, client})
}

// next returns the client whose answer arrives next, or false if no answer is on its way.
func (p *post) next() (client int, ok bool) {
	if len(p.onWay) == 0 {
		return 0, false
	}
	first := p.onWay[0]
	p.onWay, p.now = p.onWay[1:], first.at
	return first.client, true
}
