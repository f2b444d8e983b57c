package sim

import (
	"container/heap"
	"math/rand/v2"

	"fedpvi/pvi/study"
)

// A post delivers the answers of clients to the server, and decides in which order they arrive.
type post interface {
	send(client int)
	// next returns the client whose answer arrives next. ok is false if no answer is on its way.
	next() (client int, ok bool)
}

// newPost returns the post for a schedule. In the asynchronous schedule, answers arrive in the
// order of a virtual clock. In the other schedules, they arrive in the order in which they were
// sent.
func newPost(schedule study.Schedule, seed uint64, clients int) post {
	if schedule != study.Asynchronous {
		return new(queue)
	}
	c := &clock{r: variates(seed, purposeSpeed), speed: make([]float64, clients)}
	for m := range c.speed {
		c.speed[m] = 0.5 + c.r.ExpFloat64()
	}
	return c
}

// A queue is a [post] that delivers answers in the order in which they were sent.
type queue struct {
	clients []int
	read    int
}

func (q *queue) send(client int) { q.clients = append(q.clients, client) }

func (q *queue) next() (int, bool) {
	if q.read == len(q.clients) {
		return 0, false
	}
	client := q.clients[q.read]
	if q.read++; q.read == len(q.clients) {
		q.clients, q.read = q.clients[:0], 0
	}
	return client, true
}

// A clock is a [post] that simulates the time that clients need. Every answer takes a random time,
// whose mean differs between clients. Answers arrive in the order in which they are ready.
type clock struct {
	r     *rand.Rand
	speed []float64 // mean duration of each client's answers
	now   float64
	onWay arrivals
}

func (c *clock) send(client int) {
	took := c.speed[client] * (0.5 + c.r.Float64())
	heap.Push(&c.onWay, arrival{c.now + took, client})
}

func (c *clock) next() (int, bool) {
	if len(c.onWay) == 0 {
		return 0, false
	}
	a := heap.Pop(&c.onWay).(arrival)
	c.now = a.at
	return a.client, true
}

type arrival struct {
	at     float64
	client int
}

type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].client < a[j].client
}
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}
