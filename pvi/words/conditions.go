package words

import (
	"fmt"
	"strings"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// Conditions states in words what the records, the other clients and the clock must be like for
// the costs of a study to hold, and what they do not cover. The page docs/prove/privacy.md has the
// reasons.
func Conditions(p *pvi.Protocol) string {
	st := p.Study()
	f := st.Federation
	least := ""
	if st.Privacy.Unit == study.Client {
		least = "at least one and "
	}
	var text strings.Builder
	fmt.Fprintf(&text, "This holds if every file has %sat most %d records with values within the declared bounds and levels", least, f.MaxRecords)
	if column := st.Table.Person; column != "" {
		fmt.Fprintf(&text, ", if the column %s has one text for each person and another for everybody else", column)
	}
	if f.Opens == study.OpenSums {
		fmt.Fprintf(&text, ", if the clients other than these observers add their noise to sums of %d answers or more", p.MinClients())
	}
	text.WriteString(", and if nobody read the study's numbers off the records.")
	text.WriteString(" A file with other records is refused before it is used" + kept(st) + "; that a file was refused is not covered.")
	if f.Pace == 0 {
		text.WriteString(" Nor is the time at which answers leave: it shows how long computing took.")
	} else {
		fmt.Fprintf(&text, " Answers leave %g s after their plan; if computing takes longer, after a multiple of %[1]g s, and how long it took up to that is not covered.", f.Pace)
	}
	return text.String()
}

// kept says which values do not make a client refuse its file.
func kept(st *study.Study) string {
	policies := map[study.Policy]bool{}
	for _, i := range st.Reads() {
		policies[st.Columns[i].Outside], policies[st.Columns[i].Missing] = true, true
	}
	var exceptions []string
	for _, e := range []struct {
		policy study.Policy
		words  string
	}{
		{study.Clamp, "moved to the nearest bound"},
		{study.Drop, "left out with their record"},
		{study.Impute, "replaced by a public value"},
	} {
		if policies[e.policy] {
			exceptions = append(exceptions, e.words)
		}
	}
	if len(exceptions) == 0 {
		return ""
	}
	return ", except for values that are " + strings.Join(exceptions, " or ") + " where the study says so"
}
