package subprocess

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fedpvi/pvi/fit"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/solver"
	"fedpvi/pvi/study"
	"fedpvi/sim"
)

// The test binary also plays the solver's program. It takes its answers from ANSWERS.
func TestMain(m *testing.M) {
	answers := os.Getenv("ANSWERS")
	if answers == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, "a note")
	requests := bufio.NewScanner(os.Stdin)
	for answer := range strings.SplitSeq(answers, "|") {
		requests.Scan()
		if answer == "silence" {
			select {}
		}
		fmt.Println(answer)
	}
}

const text = `
study = { version = 2, name = "line" }
model = { family = "linear", outcome = "y", terms = ["x"], noise_sd = 0.5, standardise = "none" }
privacy.unit = "none"
column = [
  { name = "x", type = "numeric", bounds = [-1, 1] },
  { name = "y", type = "numeric", bounds = [-9, 9] },
]
`

func started(t *testing.T, answers string, timeout time.Duration) (solver.Solver, error) {
	t.Helper()
	st, err := study.Parse("line.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit.New(st)
	if err != nil {
		t.Fatal(err)
	}
	records := new(shard.Records)
	records.Append([]float64{.5, 2})
	t.Setenv("ANSWERS", answers)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{[]string{program}, timeout}.New(sim.Client{Model: m, Records: shard.Design(st, records), Clients: 1})
}

func TestAnswersAreRead(t *testing.T) {
	s, err := started(t, `{}|{"factor": [1, 2, 3, 4, 5]}|{"factor": [1, 2, 3, 4, 6]}`, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 5)
	for _, last := range []float64{5, 6} {
		if _, err := s.Propose(dst, solver.Problem{Mean: make([]float64, 2)}, nil); err != nil || dst[4] != last {
			t.Errorf("%v, %v", dst, err)
		}
	}
	if _, err := s.Propose(dst, solver.Problem{}, nil); err == nil || !strings.Contains(err.Error(), "without an answer") {
		t.Errorf("a program that has ended answers: %v", err)
	}
}

func TestHostileAnswersAreRefused(t *testing.T) {
	for answers, want := range map[string]string{
		`{}|{"factor": [1, 2]}`:                  "a factor of 2 numbers, not 5",
		`{}|{"factor": [NaN, 2, 3, 4, 5]}`:       "not a JSON object",
		`{}|{"factor": [1e999, 2, 3, 4, 5]}`:     "1e999",
		`{}|{"error": "the matrix is singular"}`: "the matrix is singular\nIts standard error ends with:\na note",
		`{}|nonsense`:                            "not a JSON object",
		`{}`:                                     "without an answer",
		`[1]`:                                    "not a JSON object",
	} {
		s, err := started(t, answers, time.Minute)
		if err == nil {
			_, err = s.Propose(make([]float64, 5), solver.Problem{}, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answers, err, want)
		}
	}
}

func TestSilentProgramIsEnded(t *testing.T) {
	_, err := started(t, "silence", time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "no answer within 1ms") {
		t.Errorf("%v", err)
	}
}

func TestProgramThatDoesNotExist(t *testing.T) {
	if _, err := (Command{[]string{"/does/not/exist"}, time.Second}).New(sim.Client{}); err == nil {
		t.Error("it was started")
	}
	if _, err := (Command{}).New(sim.Client{}); err == nil {
		t.Error("an empty command was started")
	}
}
