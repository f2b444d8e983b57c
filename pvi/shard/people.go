package shard

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	"fedpvi/pvi/study"
)

// Keep returns the records that a client uses if the study protects persons: at most
// privacy.rows_per_person records of each person, with the records of a person next to each other.
// Otherwise, or if the records already have this form, Keep returns r.
//
// Keep chooses at random: it returns the records with the lowest ranks, where the rank is the
// SHA-256 of the study's digest, the person, and the number of the record among the person's own.
// So the choice depends only on that person's records and on public numbers:
//
//   - Removing a person from a file removes exactly its kept records from the result. The kept
//     records of any other person are the same, because neither its own records nor their numbers
//     have changed.
//   - Therefore two files that differ in all records of one person lead to results that differ in
//     at most rows_per_person records, all of this person. The privacy proof needs only this, for
//     any choice of a person's records, so the choice need not be secret.
//   - A client that starts again keeps the same records.
//
// If Keep chose the first records of each person, results could be biased, because later records
// may differ. If it sampled from all records together, one person's records could displace
// another's.
func (r *Records) Keep(st *study.Study) *Records {
	most := st.Privacy.RowsPerPerson
	if st.Privacy.Unit != study.Person || r.people == nil {
		return r
	}
	rows := make([]int, 0, len(r.people))
	for _, own := range r.People() {
		rows = append(rows, drawn(st, r.people[own[0]], own, most)...)
	}
	if len(rows) == len(r.people) && slices.IsSorted(rows) {
		return r
	}
	return r.Select(rows)
}

// drawn returns at most limit of a person's rows, chosen by their ranks ([Records.Keep]), in the
// order of rows.
func drawn(st *study.Study, person string, rows []int, limit int) []int {
	if len(rows) <= limit {
		return rows
	}
	numbers, ranks := make([]int, len(rows)), make([][sha256.Size]byte, len(rows))
	for n := range rows {
		text := append([]byte("fedpvi/rows of a person/v1"), st.Digest[:]...)
		text = binary.BigEndian.AppendUint64(text, uint64(n))
		numbers[n], ranks[n] = n, sha256.Sum256(append(text, person...))
	}
	slices.SortFunc(numbers, func(a, b int) int { return bytes.Compare(ranks[a][:], ranks[b][:]) })
	numbers = numbers[:limit]
	slices.Sort(numbers)
	kept := make([]int, limit)
	for i, n := range numbers {
		kept[i] = rows[n]
	}
	return kept
}

// starts returns the index of each person's first record, followed by the number of records. The
// records of a person must be adjacent, as they are after [Records.Keep].
func (r *Records) starts() []int32 {
	starts := make([]int32, 0, r.Len()+1)
	for i := range r.Len() {
		if i == 0 || r.people == nil || r.people[i] != r.people[i-1] {
			starts = append(starts, int32(i))
		}
	}
	return append(starts, int32(r.Len()))
}

// People returns the row numbers of each person's records. People are in the order in which they
// first occur. If no column identifies people, each row counts as one.
func (r *Records) People() [][]int {
	if r.people == nil {
		return single(r.Len())
	}
	var people [][]int
	at := map[string]int{}
	for i, person := range r.people {
		n, ok := at[person]
		if !ok {
			n = len(people)
			at[person] = n
			people = append(people, nil)
		}
		people[n] = append(people[n], i)
	}
	return people
}

func single(n int) [][]int {
	rows, people := make([]int, n), make([][]int, n)
	for i := range rows {
		rows[i], people[i] = i, rows[i:i+1:i+1]
	}
	return people
}

// person returns the person that a row belongs to. If no column identifies people, it returns the
// number of the row, from 1.
func (r *Records) person(i int) string {
	if r.people == nil {
		return strconv.Itoa(i + 1)
	}
	return r.people[i]
}
