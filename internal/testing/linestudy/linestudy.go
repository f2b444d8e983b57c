// Package linestudy provides a small study whose exact posterior tests can compute: a line y = a +
// b x, with records of two numbers, x and y.
package linestudy

import (
	"strconv"
	"strings"
)

// Parts has text that replaces or extends sections of the study file.
type Parts struct {
	Version    int    // version of the study language; 0 means 1
	Privacy    string // lines of the section [privacy]; if empty, the section is missing
	Inference  string // lines of [inference]; if empty, the section has its defaults
	Federation string
}

// NoPrivacy is a value of Parts.Privacy for a study without privacy.
const NoPrivacy = `unit = "none"`

const document = `
[study]
version = #version
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

// Document returns the study file with the given parts.
func Document(p Parts) []byte {
	if p.Privacy == "" {
		p.Privacy = NoPrivacy
	}
	return []byte(strings.NewReplacer("#version", strconv.Itoa(max(1, p.Version)), "#privacy", p.Privacy, "#inference", p.Inference, "#federation", p.Federation).Replace(document))
}
