package pvi

import (
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// serverElements returns an upper bound on the number of commas in the JSON of a Server's state. A
// state with more commas is refused before it is decoded, so that damaged or malicious input cannot
// use much memory.
func (p *Protocol) serverElements() int {
	const roundFields = 8
	names := phase.NamesElements(p.roster.Clients)
	rounds := 1
	if p.study.Inference.Schedule == study.Asynchronous {
		rounds = len(p.roster.Clients)
	}
	return phase.StateFields + p.family.Size() + len(p.roster.Clients) + rounds*(roundFields+2*names+p.family.Dim()+p.messages.Size) + p.ReleasesSize()
}

// siteElements returns an upper bound on the number of commas in the JSON of a Site's state, for
// the same purpose as serverElements. The state has about one comma for each element of λ, of the
// site's factors and of the site's last change.
func (p *Protocol) siteElements() int {
	factors := 1 + p.study.Inference.Partitions.Count
	return phase.StateFields + phase.NamesElements(p.roster.Clients) + p.family.Size() + p.family.Dim() + factors*(2+p.family.Size()+p.messages.Size)
}
