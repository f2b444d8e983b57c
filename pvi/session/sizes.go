package session

import (
	"strings"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// MaxRelease returns the length of a study's longest release in bytes. All releases are padded to
// this length, so that their size does not reveal the phase.
func MaxRelease(st *study.Study, roster []pvi.ClientID) (int, error) {
	c, err := newCourse(st, roster)
	if err != nil {
		return 0, err
	}
	return c.maxRelease(), nil
}

func (c *course) maxRelease() (size int) {
	longest := pvi.ClientID(strings.Repeat("n", c.limits.Name))
	for _, p := range c.phases {
		size = max(size, p.maxRelease(longest))
	}
	return size
}
