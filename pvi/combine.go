package pvi

import (
	"errors"
	"slices"

	"fedpvi/pvi/study"
)

// With fewestRobust answers, the median tolerates one wrong answer.
const fewestRobust = 3

// A robust combination needs published releases of enough clients.
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

// combined returns the change of λ after a round, before damping: the sum of the releases or their
// robust combination. releases holds those of all answers, one after the other.
func (p *Protocol) combined(answers int, sum, releases []int64) []int64 {
	how := p.study.Federation.Combine
	if !how.Robust() || releases == nil {
		return sum
	}
	return trimmed(how, answers, releases)
}

// trimmed combines releases robustly against wrong ones. For each element, it drops the largest and
// the smallest values among the releases, and returns the mean of the others times the number of
// releases, rounded towards zero. An element of a release must be at most 2^60 divided by the
// number of releases.
func trimmed(how study.Combination, answers int, releases []int64) []int64 {
	size := len(releases) / answers
	out, column := make([]int64, size), make([]int64, answers)
	left := (answers - 1) / 2 // number of values left out at each end; for the median, all but one or two are left out
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
