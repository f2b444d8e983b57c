package client_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/crypto/identity"
	"fedpvi/internal/table/origin"
	"fedpvi/pvi/study"
)

func TestStudyOfPersons(t *testing.T) {
	const privacy = "unit = \"person\"\nrows_per_person = 2\nepsilon = 1.0\ndelta = 1e-5"
	source := strings.Replace(string(planeStudy(privacy, "", "")), "[[column]]", "[table]\nperson = \"patient\"\n[[column]]", 1)
	h := newHub(t, []byte(source))
	var all []*holder
	for m, name := range []identity.Name{"north", "south"} {
		p := newHolder(t, h, name, m)
		all = append(all, p)
		var file strings.Builder
		file.WriteString("patient,x,y\n")
		for i := range 23 { // three persons have five rows each, and eight have one
			person := i % 3
			if i >= 15 {
				person = i
			}
			fmt.Fprintf(&file, "%s-%d,%.2f,1\n", p.name, person, float64(i)/23)
		}
		check(t, os.WriteFile(p.data, []byte(file.String()), 0o600))
		check(t, p.approve())
		p.mustStep() // sends the approval
	}
	p := all[0]
	var kept []string
	for range 2 {
		check(t, p.with(func(c *client.Client, m *client.Member, policy *client.Policy) error {
			records, report, _, err := c.Read(t.Context(), m, origin.Source{From: p.data})
			if err != nil {
				return err
			}
			var rows []string
			for i := range records.Len() {
				rows = append(rows, fmt.Sprint(records.Row(i)))
			}
			if report.Records != 14 || report.Surplus != 9 || len(rows) != 14 || kept != nil && fmt.Sprint(rows) != fmt.Sprint(kept) {
				t.Errorf("%d rows are kept and %d left out, want 14 and 9, the same as before:\n%q\n%q", report.Records, report.Surplus, rows, kept)
			}
			kept = rows
			r, err := c.Review(m, policy, "")
			if err != nil {
				return err
			}
			var text strings.Builder
			check(t, r.Text(&text))
			words := strings.Join(strings.Fields(text.String()), " ")
			for _, want := range []string{
				"The promise protects one person, with up to 2 rows at a client: removing it, or adding one.",
				"A person with rows at two clients is protected less: ε = 1.46", "Columns read: x, y, patient.",
			} {
				if !strings.Contains(words, want) {
					t.Errorf("%q is not in\n%s", want, words)
				}
			}
			return nil
		}))
	}
	h.begin()
	play(t, all)
	a := p.account()
	if a.Budget.Unit != ledger.Person || string(study.Person) != ledger.Person || a.Epsilon > 1 || a.Epsilon < .99 {
		t.Errorf("the ledger of %q says ε = %g", a.Budget.Unit, a.Epsilon)
	}
	for _, item := range h.releases {
		if strings.Contains(string(item.Body), "north-") || strings.Contains(string(item.Envelope), "north-") {
			t.Error("the name of a person is in a message")
		}
	}
	for _, body := range h.bodies {
		if strings.Contains(string(body), "north-") {
			t.Error("the name of a person is in an answer")
		}
	}
}
