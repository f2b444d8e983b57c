package client

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"fedpvi/accountant"
	"fedpvi/crypto/identity"
	"fedpvi/pvi/study"
	"fedpvi/pvi/words"
)

// A Section is a part of a review, as text.
type Section struct {
	Title string
	Items []string   // paragraphs
	Text  string     // preformatted text after the items; may be empty
	Table [][]string // table after the items, whose first row has the column names, or nil
	Note  string     // paragraph after the table; may be empty
}

// Sections returns the parts of the review in plain English.
func (r *Review) Sections() []Section {
	e := r.Study
	all := []Section{
		{Title: "Who", Items: r.who()},
		{Title: "What is estimated", Items: r.estimated(), Text: e.ProgramText()},
		{Title: "Which records count", Items: e.Kept},
		{Title: "What leaves the building", Items: r.leaving()},
		{Title: "What stays", Items: e.Stays},
		{Title: "Time on this machine", Items: []string{r.Takes.InWords() + " It was measured with made-up records, not with yours."}},
	}
	if r.Privacy.Unit == study.None {
		return append(all, Section{Title: "Privacy cost", Items: []string{"NOT PRIVATE: the study makes no promise, and its messages can reveal single records. It is meant for public records."}})
	}
	return append(all,
		Section{Title: "Privacy cost", Items: r.given(), Table: r.table(), Note: r.meaning()},
		Section{Title: "Effect on precision", Items: []string{r.precise()}})
}

// Text writes the review in plain English.
func (r *Review) Text(w io.Writer) error {
	var b strings.Builder
	e := r.Study
	fmt.Fprintf(&b, "%s\n%s, sha256 %s\n", e.Title, e.Study, r.Digest)
	fmt.Fprintf(&b, "\n%s", words.Wrap(e.Read))
	for _, s := range r.Sections() {
		section(&b, s.Title, s.Items)
		b.WriteString(s.Text)
		if s.Table == nil {
			continue
		}
		b.WriteByte('\n')
		if err := words.Table(&b, "  ", 2, s.Table); err != nil {
			return err
		}
		if s.Note != "" {
			fmt.Fprintf(&b, "\n%s", words.Wrap(s.Note))
		}
	}
	r.verdict(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, title string, items []string) {
	fmt.Fprintf(b, "\n%s\n\n", title)
	for _, item := range items {
		b.WriteString(words.Bullet(item))
	}
}

func (r *Review) who() []string {
	out := []string{
		fmt.Sprintf("Coordinator %s at %s. Fingerprint %s: compare it over another channel with the one that its people give you.", r.Coordinator.Name, strings.Join(r.Coordinator.Addresses, ", "), r.Coordinator.Fingerprint),
		fmt.Sprintf("This client takes part as %s.", r.Name),
	}
	if r.Clients == nil {
		return append(out, fmt.Sprintf("The other clients are known when the study begins. The costs below are for %s; if the study costs more with its actual clients, it is refused then.", words.Plural(r.Assumed, "client")))
	}
	var names []string
	for _, p := range r.Roster.Parties {
		if p.Role == identity.Client.String() {
			names = append(names, fmt.Sprintf("%s (%s)", p.Name, p.Fingerprint.Short()))
		}
	}
	out = append(out, fmt.Sprintf("%s, each with the beginning of its fingerprint: %s. client roster prints the fingerprints.", words.Plural(len(names), "client"), strings.Join(names, ", ")))
	for _, s := range r.Strangers {
		out = append(out, fmt.Sprintf("The policy does not recognise %s. If its people confirm the fingerprint %s over another channel, add it to participants.recognised.", s.Name, s.Fingerprint))
	}
	return out
}

func (r *Review) estimated() []string {
	e := r.Study
	out := []string{e.Model + "."}
	if e.InWords != "" {
		out = append(out, e.InWords)
	}
	var reads []string
	for _, c := range e.Reads {
		reads = append(reads, c.Name)
	}
	out = append(out, "Columns read: "+strings.Join(reads, ", ")+".")
	return append(out, "The whole study document: client review --document.")
}

func (r *Review) leaving() []string {
	l := r.Leaves
	messages, numbers := words.Plural(l.Messages, "message"), words.Plural(l.Numbers, "number")
	size := fmt.Sprintf("At most %s of exactly %d bytes each, with up to %s in them. Each is encrypted for the coordinator and signed.", messages, l.Bytes, numbers)
	if l.Dealt {
		size = fmt.Sprintf("At most %s, all of the same size, with up to %s in them. Each is cut into columns, one for each client, and each column is encrypted for its client. So that the messages can be added up, the client also sends keys once, and a confirmation and a share for each sum. None of these is larger than %d bytes, and all are signed.",
			messages, numbers, l.Bytes)
	}
	return append(append([]string(nil), r.Study.Sent...), size)
}

// protected describes the privacy unit of a cost, and how neighbouring data sets differ.
func protected(p Cost) string {
	how := "removing it, or adding one"
	switch {
	case p.Adjacency == accountant.ZeroOut:
		how = "replacing its contribution by zero"
	case p.Adjacency == accountant.ReplaceOne:
		how = "replacing it by any other"
	}
	if p.Unit == study.Record {
		how += ". A person with several rows is protected less"
	}
	return p.Protects + ": " + how
}

func (r *Review) given() []string {
	p := r.Privacy
	out := []string{fmt.Sprintf("The promise protects %s. A sum is opened when %d or more clients have answered.", protected(p), r.Fewest)}
	if p.Quote == nil {
		return out
	}
	if len(p.Observers) > 0 {
		out = append(out, words.Headline(p.Observers), p.Conditions)
	}
	if p.AtTwo != "" {
		out = append(out, p.AtTwo)
	}
	q := *p.Quote
	against := r.Terms.View
	for _, c := range p.Observers {
		if c.View.Name == against {
			against = c.View.Who
		}
	}
	out = append(out,
		fmt.Sprintf("The study is charged to the data set %s, against %s.", r.Terms.Dataset, against),
		fmt.Sprintf("ε at δ = %g: %.3g before this study, %.3g after it, and at most %.3g ever (the policy's cap).", p.At, q.EpsilonBefore, q.EpsilonAfter, p.Cap),
		fmt.Sprintf("In the unit of the ledger, %s: the study costs %.4g, and %.4g of %.4g is left.", q.Unit, q.Cost, q.Left, q.Total))
	return out
}

func (r *Review) table() [][]string {
	rows := [][]string{{"this study alone, against", "under", fmt.Sprintf("ε at δ = %g", r.Privacy.Delta)}}
	for _, c := range r.Privacy.Observers {
		rows = append(rows, []string{c.View.Who, string(c.Adjacency), words.Number(c.Epsilon)})
	}
	return rows
}

// meaning explains the costs in words. If there are none, it returns "".
func (r *Review) meaning() string {
	if len(r.Privacy.Observers) == 0 {
		return ""
	}
	return words.Meaning(r.Privacy.Protects, r.Privacy.Observers)
}

func (r *Review) precise() string {
	n := r.Noise
	return strings.TrimSpace(fmt.Sprintf("One %s can change a message by at most %s (the clip), and this client's noise has standard deviation %s in a message. %s %s",
		n.unit, words.Number(n.Clip), words.Number(n.Share), n.InWords, r.widened()))
}

func (r *Review) verdict(b *strings.Builder) {
	switch {
	case len(r.Problems) > 0:
		section(b, "It cannot be approved", r.Problems)
	case r.Approved:
		b.WriteString("\nThe study is approved.\n")
	default:
		fmt.Fprintf(b, "\nNothing runs until you approve it:\n\n  %s approve --yes %.12s\n", cmp.Or(r.Command, "client"), r.Digest)
	}
}
