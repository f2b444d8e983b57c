package draft_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/pvi/study"
	"fedpvi/sim/draft"
)

var update = flag.Bool("update", false, "write the drafts in testdata")

func read(t *testing.T, file string) *draft.Dictionary {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	d, err := draft.Read(b, strings.HasPrefix(file, "made-up"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The drafts must match those in testdata. If no choice is open, the draft must be a valid study.
func TestDrafts(t *testing.T) {
	for _, c := range []struct {
		file    string
		choices draft.Choices
		open    int
	}{
		{"redcap.csv", draft.Choices{Outcome: "readmitted"}, 1},
		{"schema.json", draft.Choices{Outcome: "visits", Person: "patient", Epsilon: .5}, 0},
		{"csvw.json", draft.Choices{Outcome: "pressure"}, 0},
		{"made-up.csv", draft.Choices{Outcome: "y", Terms: []string{"dose", "site", "began"}}, 0},
		{"made-up-german.csv", draft.Choices{Outcome: "y"}, 0},
	} {
		if c.choices.Name, c.choices.Clients = "draft", 3; c.choices.Epsilon == 0 {
			c.choices.Epsilon = 1
		}
		got, err := draft.Study(read(t, c.file), c.choices)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		golden := filepath.Join("testdata", c.file+".toml")
		if *update {
			if err := os.WriteFile(golden, []byte(got.Text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.file, diff)
		}
		_, err = study.Parse(c.file, []byte(got.Text))
		if len(got.Open) != c.open || (err == nil) != (c.open == 0) {
			t.Errorf("%s: open choices %q, and the study is read with %v", c.file, got.Open, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := draft.Choices{Name: "draft", Outcome: "visits", Clients: 3, Epsilon: 1}
	for _, c := range []struct {
		change func(*draft.Choices)
		want   string
	}{
		{func(c *draft.Choices) { c.Outcome = "patient" }, "column patient cannot be used"},
		{func(c *draft.Choices) { c.Outcome = "nothing" }, "has no column nothing: it has age, income"},
		{func(c *draft.Choices) { c.Terms = []string{"visits"} }, "is the outcome"},
		{func(c *draft.Choices) { c.Terms = []string{"age", "age"} }, "named twice"},
		{func(c *draft.Choices) { c.Name = "No Name" }, "not a valid study"},
	} {
		choices := good
		c.change(&choices)
		if _, err := draft.Study(read(t, "schema.json"), choices); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	for _, text := range []string{"", "{}", "[1, 2]", "a,b\n1,2\n", `{"fields": 3}`, `{"resources": [{}, {}]}`} {
		if _, err := draft.Read([]byte(text), false); err == nil {
			t.Errorf("%q is accepted as a dictionary", text)
		}
	}
	const want = "line 3: the line does not have the expected 2 fields"
	if _, err := draft.Read([]byte("a,b\n1,2\n3\n4,5\n"), true); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("made-up records with a short line: got %v, want %q", err, want)
	}
}

// For any dictionary and any outcome, the draft must be a valid study, or have open choices, or be
// refused.
func FuzzDraft(f *testing.F) {
	for _, file := range []string{"redcap.csv", "schema.json", "csvw.json", "made-up.csv"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, file == "made-up.csv")
	}
	f.Fuzz(func(t *testing.T, b []byte, madeUp bool) {
		d, err := draft.Read(b, madeUp)
		if err != nil {
			return
		}
		for _, c := range d.Columns {
			made, err := draft.Study(d, draft.Choices{Name: "draft", Outcome: c.Name, Clients: 3, Epsilon: 1})
			if err != nil || len(made.Open) > 0 {
				continue
			}
			if _, err := study.Parse("draft", []byte(made.Text)); err != nil {
				t.Errorf("%v in\n%s", err, made.Text)
			}
		}
	})
}
