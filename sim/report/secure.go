package report

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// plannedSecure describes secure sums in [PlanJSON]'s output. Bytes are per client and round.
type plannedSecure struct {
	// Hidden is the maximum number of clients that can collude with the coordinator and still not
	// read another client's message.
	Hidden  int `json:"h"`
	Missing int `json:"d"`       // number of clients whose answers may be missing in a round
	Numbers int `json:"numbers"` // number of elements in a message, the same in all phases
	Deal    int `json:"deal_up"` // size of the columns that a client sends, with their envelope
	// Columns is the number of bytes that a client receives: the columns of the other clients'
	// deals, the cut (the list of the deals that are added up), and its certificate.
	Columns int `json:"columns_down"`
	Share   int `json:"share_up"`
	Opening int `json:"opening_down"`
}

// These are the sizes in bytes of parts of messages: a word of a column, the tag that authenticates
// a column, an entry of the cut (the list of the deals that are added up), a signature with its
// signer's position, and an envelope.
const (
	wordSize      = 8
	tagSize       = 16
	cutSize       = 34
	signatureSize = 66
	envelopeSize  = 600
)

// newPlannedSecure returns the sizes of secure sums in a study, or nil if the clients use none.
func newPlannedSecure(p *pvi.Protocol) *plannedSecure {
	if p.Study().Federation.Aggregation != study.Secure {
		return nil
	}
	return sizesOfSecure(len(p.Roster()), p.MinClients(), p.VectorSize())
}

// sizesOfSecure returns the sizes when there are m clients, at least fewest of them must answer,
// and messages have the given number of elements.
func sizesOfSecure(m, fewest, numbers int) *plannedSecure {
	s := &plannedSecure{Hidden: study.Hidden(m, fewest), Missing: m - fewest, Numbers: numbers}
	// each word packs one element more than the number of clients that may be missing
	words := (s.Numbers + s.Missing) / (s.Missing + 1)
	// The deal has this many columns in full. Every other holder gets only a tag, and computes its
	// column from a key. The dealer keeps its own column.
	sent := 2 * s.Missing
	columns := sent*(wordSize*words+tagSize) + tagSize*(m-1-sent)
	s.Deal = columns + envelopeSize
	s.Columns = columns + cutSize*m + signatureSize*fewest
	s.Share = wordSize*words + envelopeSize
	s.Opening = fewest * (wordSize*words + signatureSize)
	return s
}

func (s *plannedSecure) rows(clients int) [][]string {
	return [][]string{
		{"added up", fmt.Sprintf("by the clients: no party can open one answer unless the coordinator and more than h = %d of the %d clients work together", s.Hidden, clients)},
		{"may be missing", fmt.Sprintf("D = %d of the %d clients, in every step of a round", s.Missing, clients)},
		{"bytes a round", fmt.Sprintf("%s up (deal %s, share %s) and %s down (columns %s, opening %s)",
			size(s.Deal+s.Share), size(s.Deal), size(s.Share), size(s.Columns+s.Opening), size(s.Columns), size(s.Opening))},
	}
}

// size formats a number of bytes in decimal units, such as "13.3 MB".
func size(n int) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1e3)
}
