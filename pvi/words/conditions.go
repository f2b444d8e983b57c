package words

import (
	"fmt"
	"strings"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// Conditions states in words the conditions on the records, the other clients and the clock on which
// the costs of a study hold, and the facts that the costs do not cover. The page
// docs/prove/privacy.md has the reasons.
func Conditions(p *pvi.Protocol) string {
	st := p.Study()
	f := st.Federation
	least := ""
	if st.Privacy.Unit == study.Client {
		least = "at least one and "
	}
	var text strings.Builder
	fmt.Fprintf(&text, "This holds on these conditions. Every file has %sat most %d records, with values within the declared bounds and levels.", least, f.MaxRecords)
	if column := st.Table.Person; column != "" {
		fmt.Fprintf(&text, " The column %s has the same text in all rows of a person, and another text in the rows of other persons.", column)
	}
	if f.Opens == study.OpenSums {
		fmt.Fprintf(&text, " The clients other than these observers add their noise to sums of %d answers or more.", p.MinClients())
	}
	text.WriteString(" Nobody chose the study's numbers by the records.")
	text.WriteString(" A client refuses a file with other records before it uses the file. The cost does not cover a refusal." + kept(st))
	if f.Pace == 0 {
		text.WriteString(" The cost does not cover the time at which an answer leaves. This time shows how long the client computed.")
	} else {
		fmt.Fprintf(&text, " An answer leaves %g s after the client has read its plan. If the client computes for longer, the answer leaves at the next multiple of %[1]g s. The cost does not cover this delay.", f.Pace)
	}
	return text.String()
}

// kept states which values out of the domain a client does not refuse.
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
	return " Where the study says so, other values are not refused but " + strings.Join(exceptions, " or ") + "."
}
