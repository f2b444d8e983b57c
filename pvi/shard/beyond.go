package shard

import "fedpvi/pvi/study"

// Beyond adds to counts, for each column, the number of values outside the scale that a
// standardisation found. Design moves these values to the ends of the scale. Only the client may
// see the counts.
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
