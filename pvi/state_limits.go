package pvi

import (
	"fedpvi/pvi/phase"
	"fedpvi/pvi/study"
)

// serverElements is an upper bound on the number of commas in the JSON of a Server's state. It
// keeps a damaged file from using a lot of memory.
func (p *Protocol) serverElements() int {
	const roundFields = 8
	names := phase.NamesElements(p.roster.Clients)
	rounds := 1
	if p.study.Inference.Schedule == study.Asynchronous {
		rounds = len(p.roster.Clients)
	}
	return phase.StateFields + p.family.Size() + len(p.roster.Clients) + rounds*(roundFields+2*names+p.family.Dim()+p.messages.Size) + p.ReleasesSize()
}

// siteElements is an upper bound on the number of commas in the JSON of a Site's state.
func (p *Protocol) siteElements() int {
	factors := 1 + p.study.Inference.Partitions.Count
	return phase.StateFields + phase.NamesElements(p.roster.Clients) + p.family.Size() + p.family.Dim() + factors*(2+p.family.Size()+p.messages.Size)
}
