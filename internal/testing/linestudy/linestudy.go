// Package linestudy has a small study for tests of many packages: a line through records of two
// numbers, y = a + b x, whose results are known exactly.
package linestudy

import "strings"

// Parts replace or add to parts of the study.
type Parts struct {
	Privacy    string // lines of [privacy]; the section is left out if empty
	Inference  string // lines of [inference]; empty: the defaults
	Federation string // further lines of [federation]
}

// Lines for Parts without privacy.
const NoPrivacy = `unit = "none"`

const document = `
[study]
version = 1
name = "plane"
title = "A plane"
[[column]]
name = "x"
type = "numeric"
bounds = [-1, 1]
[[column]]
name = "y"
type = "numeric"
bounds = [-10, 10]
[model]
family = "linear"
outcome = "y"
terms = ["x"]
standardise = "none"
noise_sd = 0.5
[inference]
#inference
[privacy]
#privacy
[federation]
max_records = 1000
#federation
`

// Document returns the study file.
func Document(p Parts) []byte {
	if p.Privacy == "" {
		p.Privacy = NoPrivacy
	}
	return []byte(strings.NewReplacer("#privacy", p.Privacy, "#inference", p.Inference, "#federation", p.Federation).Replace(document))
}
