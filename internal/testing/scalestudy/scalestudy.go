// Package scalestudy provides a study for tests of the scale phase, in which clients find the scale
// of columns. Most values in the columns x and y lie in [-1, 1], but the public bounds are a
// hundred times wider. The column level cannot be standardised.
package scalestudy

import (
	"strings"
	"testing"

	"fedpvi/pvi/study"
)

// These are lines for [privacy]. The privacy unit is the record or the client.
const (
	Record = "unit = \"record\"\nepsilon = 1\ndelta = 1e-7"
	Client = "unit = \"client\"\nepsilon = 4\ndelta = 1e-5"
)

const document = `
[study]
version = 1
name = "scales"
[[column]]
name = "x"
type = "numeric"
bounds = [-100, 100]
[[column]]
name = "level"
type = "ordered"
levels = ["a", "b", "c"]
[[column]]
name = "y"
type = "numeric"
bounds = [-100, 100]
[model]
family = "linear"
outcome = "y"
terms = ["x", "level"]
standardise = "private"
noise_sd = 0.5
[inference]
rounds = 2
[privacy]
#privacy
[standardise]
#standardise
[federation]
max_records = 100000
nominal_records = 50
#federation
`

// Parse returns the study. privacy, standardise and federation are lines for these three sections
// of the study file. The section federation also has other lines, which come first.
func Parse(t testing.TB, privacy, standardise, federation string) *study.Study {
	t.Helper()
	source := strings.NewReplacer("#privacy", privacy, "#standardise", standardise, "#federation", federation).Replace(document)
	st, err := study.Parse("scales.toml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return st
}
