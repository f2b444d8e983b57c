//go:build cuda

package device

import (
	"errors"
	"fmt"

	"fedpvi/gpu/cuda/driver"
	"fedpvi/gpu/cuda/kernel"
)

// Built is true if the program was built with GPU support.
const Built = true

func find() (string, []Info, error) {
	version, found, err := driver.Find()
	if err != nil {
		return "", nil, err
	}
	var all []Info
	for _, i := range found {
		info := Info{
			Name: CUDA(i.Ordinal).String(), Model: i.Name, Capability: fmt.Sprintf("%d.%d", i.Major, i.Minor),
			Multiprocessors: i.Multiprocessors, Memory: i.Memory,
		}
		if i.Unfit != nil {
			info.Unfit = i.Unfit.Error()
		}
		all = append(all, info)
	}
	return version.String(), all, nil
}

func start(ordinal int) (Device, error) {
	m, err := driver.Start(ordinal, kernel.PTX)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// The rates are measured with copies of copied bytes each. A copy is repeated tries times, and the
// fastest one gives the rate.
const (
	copied = 64 << 20
	tries  = 5
)

func copies(ordinal int) (c *Copies, err error) {
	d, err := driver.Open(ordinal)
	if err != nil {
		return nil, err
	}
	var frees []func() error
	defer func() {
		for i := len(frees) - 1; i >= 0; i-- {
			err = errors.Join(err, frees[i]())
		}
		err = errors.Join(err, d.Close())
	}()
	var a, b *driver.Memory
	for _, m := range []**driver.Memory{&a, &b} {
		if *m, err = d.Alloc(copied); err != nil {
			return nil, err
		}
		frees = append(frees, (*m).Free)
	}
	p, err := d.Pin(copied)
	if err != nil {
		return nil, err
	}
	frees = append(frees, p.Free)
	s, err := d.Stream()
	if err != nil {
		return nil, err
	}
	frees = append(frees, s.Close)
	if err := a.Zero(); err != nil {
		return nil, err
	}
	c = new(Copies)
	for _, one := range []struct {
		rate  *float64
		bytes float64
		work  func() error
	}{
		{&c.Within, 2 * copied, func() error { return s.Copy(b, a) }},
		{&c.To, copied, func() error { return s.Upload(b, p) }},
		{&c.From, copied, func() error { return s.Download(p, a) }},
	} {
		for range tries {
			seconds, err := s.Time(one.work)
			if err != nil {
				return nil, err
			}
			if seconds > 0 {
				*one.rate = max(*one.rate, one.bytes/seconds)
			}
		}
	}
	return c, nil
}
