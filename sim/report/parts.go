package report

import (
	"fmt"

	"fedpvi/pvi"
	"fedpvi/pvi/study"
)

func partsRows(p *pvi.Protocol) [][]string {
	in := p.Study().Inference
	if in.Partitions.Count == 0 {
		return nil
	}
	scheme := "each a virtual client with a factor of its own, without noise"
	if in.Factors == study.Tied {
		scheme = "each a virtual client with its share of the tied factor"
	}
	if in.Partitions.Averaged {
		scheme = "each fitted as if it were the client's whole data, and the changes averaged"
	}
	rows := [][]string{{"parts of a client", fmt.Sprintf("%d, %s", in.Partitions.Count, scheme)}}
	if n := p.Study().Federation.NominalRecords; n > 0 {
		rows = append(rows, []string{"", fmt.Sprintf("some %s in each", plural(max(1, n/in.Partitions.Count), "record"))})
	}
	return append(rows, []string{"sensitivity", "2C: adding or removing a record replaces the clipped change of its part by another one"})
}
