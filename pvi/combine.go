package pvi

import (
	"errors"
	"slices"

	"fedpvi/pvi/study"
)

// The median needs at least fewestRobust answers to tolerate a wrong one.
const fewestRobust = 3

// checkCombine returns an error if the study asks for a robust combination, but has too few clients
// or does not publish releases.
func (p *Protocol) checkCombine() error {
	switch {
	case !p.study.Federation.Combine.Robust():
		return nil
	case !p.publishes():
		return errors.New("federation.combine needs published releases, and those of all clients have too many numbers: enrol fewer clients, or remove combine")
	case p.roster.Fewest < fewestRobust:
		return errors.New("federation.combine leaves out the answers that are unlike the others: it needs min_clients = 3 or more")
	}
	return nil
}

// combined returns the change of λ after a round, before damping. It is the sum of the releases or,
// if the study says so, their median or trimmed mean. The slice releases holds the releases one
// after the other.
func (p *Protocol) combined(answers int, sum, releases []int64) []int64 {
	how := p.study.Federation.Combine
	if !how.Robust() || releases == nil {
		return sum
	}
	return trimmed(how, answers, releases)
}

// trimmed combines releases such that a few wrong ones do little harm. For each element it drops
// the largest and smallest values, and multiplies the mean of the others by the number of releases.
// The absolute value of an element must be at most 2^60 divided by that number.
func trimmed(how study.Combination, answers int, releases []int64) []int64 {
	size := len(releases) / answers
	out, column := make([]int64, size), make([]int64, answers)
	left := (answers - 1) / 2 // number of values dropped at each end
	if how == study.ByTrimmed {
		left = answers / 4
	}
	kept := int64(answers - 2*left)
	for i := range out {
		for m := range column {
			column[m] = releases[m*size+i]
		}
		slices.Sort(column)
		var total int64
		for _, n := range column[left : answers-left] {
			total += n
		}
		// The result is total·answers/kept, computed without overflow.
		whole, rest := total/kept, total%kept
		out[i] = whole*int64(answers) + rest*int64(answers)/kept
	}
	return out
}
