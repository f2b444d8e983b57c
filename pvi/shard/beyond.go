package shard

import "fedpvi/pvi/study"

// Beyond counts the values that are outside the bounds that a standardisation found, and that
// [Design] therefore moves to the nearest bound. It adds their number for each column to counts, by
// the column's name. Only the client may see the counts.
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
