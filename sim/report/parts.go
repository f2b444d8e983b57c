package report

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

// partsRows returns the rows that describe how each client divides its records into parts, for the
// table that [Plan] writes. It returns nil if clients do not divide their records.
func partsRows(p *pvi.Protocol) [][]string {
	in := p.Study().Inference
	if in.Partitions.Count == 0 {
		return nil
	}
	scheme := "each a virtual client with " + factorOfPart(in)
	if in.Partitions.Averaged {
		scheme = "each fitted as if it were the client's whole data, and the changes averaged"
	}
	rows := [][]string{{"parts of a client", fmt.Sprintf("%d, %s", in.Partitions.Count, scheme)}}
	if n := p.Study().Federation.NominalRecords; n > 0 {
		rows = append(rows, []string{"", fmt.Sprintf("some %s in each", plural(max(1, n/in.Partitions.Count), "record"))})
	}
	return append(rows, []string{"sensitivity", "2C: adding or removing a record replaces the clipped change of its part by another one"})
}

func factorOfPart(in study.Inference) string {
	if in.Factors == study.Tied {
		return "its share of the tied factor"
	}
	return "a factor of its own, without noise"
}

// clippedPart describes the vector whose norm is clipped to C.
func clippedPart(p *pvi.Protocol) string {
	text := "the contribution of a part of the records to a client's change of natural parameters"
	if p.Study().Privacy.Centred {
		text += ", around the current mean"
	}
	return text
}
