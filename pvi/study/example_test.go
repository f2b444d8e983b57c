package study_test

import (
	"fmt"

	"fedpvi/pvi/study"
)

const beetles = `
[study]
version = 1
name = "beetles"

[[column]]
name = "dose"
type = "numeric"
unit = "mg/l"
bounds = [0, 100]

[[column]]
name = "sex"
type = "categorical"
levels = ["F", "M"]

[[column]]
name = "dead"
type = "categorical"
levels = ["no", "yes"]

[model]
family = "logistic"
outcome = "dead"
positive = "yes"
terms = ["dose*sex"]

[inference]
solver = "dp-svi"
rounds = 10
q = "diagonal"

[privacy]
unit = "record"
epsilon = 1.0
delta = 1e-5
`

// This example parses a study, and prints its coefficients, the scale of a column, and defaults.
func ExampleParse() {
	s, err := study.Parse("beetles.toml", []byte(beetles))
	if err != nil {
		fmt.Println(err)
		return
	}
	for c := range s.Coefficients() {
		fmt.Println(c.Name)
	}
	dose, _ := s.Column("dose")
	fmt.Println("50 mg/l is", s.Scale(dose, 50), "and 100 mg/l is", s.Scale(dose, 100), "on the model's scale")
	fmt.Println(s.Inference.Schedule, s.Privacy.Adjacency, s.Federation.MaxRecords)
	// Output:
	// intercept
	// dose
	// sex[M]
	// dose:sex[M]
	// 50 mg/l is 0 and 100 mg/l is 1 on the model's scale
	// synchronous add-remove 1000000
}

// Parse returns all errors at once. Each has a line and a remedy.
func ExampleParse_errors() {
	_, err := study.Parse("beetles.toml", []byte(beetles),
		study.Override{Key: "privacy.delta", Value: "2.0"},
		study.Override{Key: "model.positive", Value: `"dead"`},
	)
	fmt.Println(err)
	// Output:
	// beetles.toml:25:1: model.positive: "dead" is not among the levels of column "dead"
	// beetles.toml:36:1: privacy.delta: must lie in (0, 1), got 2
}
