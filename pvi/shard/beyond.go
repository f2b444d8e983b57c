package shard

import "fedpvi/pvi/study"

// Beyond adds to counts, by column, the number of values outside the bounds from a standardisation,
// which [Design] moves to the nearest bound. Only the client may see the counts.
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
