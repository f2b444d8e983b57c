package shard

import "fedpvi/pvi/study"

// Beyond counts the values that lie outside the bounds from a standardisation, which [Design] moves
// to the nearest bound. It adds the numbers to counts, by column. The counts are for the client
// only.
func Beyond(counts map[string]int, st *study.Study, records *Records) {
	if st.Standardisation == nil {
		return
	}
	for k, b := range st.Scales() {
		column := st.Standardisation.Columns[k]
		for i := range records.Len() {
			if x := records.Row(i)[column]; x < b.Low || x > b.High {
				counts[st.Columns[column].Name]++
			}
		}
	}
}
