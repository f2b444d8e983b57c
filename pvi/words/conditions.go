package words

import (
	"fmt"
	"math"
	"strings"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// Conditions returns sentences about the conditions under which a study's privacy costs hold, and
// about information that they do not cover, such as the time at which a client answers. The page
// docs/prove/privacy.md gives the reasons.
func Conditions(p *pvi.Protocol) string {
	st := p.Study()
	f := st.Federation
	var text strings.Builder
	text.WriteString("This holds under these conditions.")
	if column := st.Table.Person; column != "" {
		fmt.Fprintf(&text, " The column %s has the same text in all rows of a person, and another text in the rows of other persons.", column)
	}
	if f.Opens == study.OpenSums {
		fmt.Fprintf(&text, " The clients other than these observers add their noise to sums of %d answers or more.", p.MinClients())
	}
	text.WriteString(" Nobody used the records to choose the study's numbers.")
	text.WriteString(" There is no condition on the records: a client leaves out records with values outside the declared bounds and levels, and only the holder learns how many." + kept(st))
	if st.Privacy.Unit.OfRecords() {
		fmt.Fprintf(&text, " A sum over more than %d records is clipped to the largest sum that this many records can have.", f.MaxRecords)
	}
	if st.Inference.Descent.Sampling == study.WithoutReplacement {
		text.WriteString(" The number of a client's records is public, and includes the records that are left out.")
	}
	if st.Privacy.Unit.OfRecords() && f.NominalRecords == 0 {
		// If there is a nominal number of records, [pvi.NewProtocol] has checked δ.
		fmt.Fprintf(&text, " All clients together have fewer than %.0f records, which is one over δ: publishing one record would meet a larger δ.", math.Ceil(1/st.Privacy.Delta))
	}
	if f.Pace == 0 {
		text.WriteString(" The cost does not cover the time at which an answer leaves. This time shows how long the client computed.")
	} else {
		fmt.Fprintf(&text, " An answer leaves %g s after the client has read its plan. If the client computes for longer, the answer leaves at the next multiple of %[1]g s. The cost does not cover this delay.", f.Pace)
	}
	return text.String()
}

// kept returns a sentence about records that the study keeps although a value is missing or out of
// bounds, because it replaces the value. It returns "" if the study does not do this.
func kept(st *study.Study) string {
	policies := map[study.Policy]bool{}
	for _, i := range st.Reads() {
		policies[st.Columns[i].Outside], policies[st.Columns[i].Missing] = true, true
	}
	var exceptions []string
	if policies[study.Clamp] {
		exceptions = append(exceptions, "moved to the nearest bound")
	}
	if policies[study.Impute] {
		exceptions = append(exceptions, "replaced by a public value")
	}
	if len(exceptions) == 0 {
		return ""
	}
	return " Where the study says so, other values are not left out but " + strings.Join(exceptions, " or ") + "."
}
