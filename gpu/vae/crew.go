package vae

import (
	"sync"
	"sync/atomic"
)

// A crew is a group of goroutines, called workers, that share the tasks of a job. The calling
// goroutine is the first worker. Running a job allocates no memory.
type crew struct {
	job   func(worker, task int)
	tasks int64
	next  atomic.Int64
	start []chan struct{} // channels that start the workers other than the first
	busy  sync.WaitGroup
}

func newCrew(workers int) *crew {
	c := &crew{start: make([]chan struct{}, workers-1)}
	for i := range c.start {
		c.start[i] = make(chan struct{})
		go func() {
			for range c.start[i] {
				c.work(i + 1)
				c.busy.Done()
			}
		}()
	}
	return c
}

// do runs job for each task from 0 to tasks−1. It returns when all tasks are done.
func (c *crew) do(tasks int, job func(worker, task int)) {
	c.job, c.tasks = job, int64(tasks)
	c.next.Store(0)
	c.busy.Add(len(c.start))
	for _, start := range c.start {
		start <- struct{}{}
	}
	c.work(0)
	c.busy.Wait()
}

func (c *crew) work(worker int) {
	for {
		task := c.next.Add(1) - 1
		if task >= c.tasks {
			return
		}
		c.job(worker, int(task))
	}
}

// close stops the workers.
func (c *crew) close() {
	for _, start := range c.start {
		close(start)
	}
}
