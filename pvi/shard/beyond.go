package shard

import "fedpvi/pvi/study"

// Beyond adds to counts, by column, how many values of records lie beyond the scale
// that a standardisation found, and so count as at its ends. It is for the data
// holder's eyes.
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
