package sim

import (
	"fmt"
	"math"

	"fedpvi/pvi"
	"fedpvi/pvi/shard"
	"fedpvi/pvi/study"
)

// A Holder is a client and its records.
type Holder struct {
	ID      pvi.ClientID
	Records *shard.Records
}

// deal divides the records among the clients as the study's partition says. All records of a person
// go to the same client, unless a column names the client of each record.
func deal(st *study.Study, records *shard.Records, seed uint64) ([]Holder, error) {
	var rows [][]int
	var names []string
	var err error
	people := records.People()
	switch part := st.Simulation.Partition; part.Kind {
	case "balanced":
		rows = balanced(len(people), st.Simulation.Clients, seed)
	case "by-size":
		rows, err = bySize(len(people), st.Simulation.Clients, part.SizeSkew, seed)
	case "label-skew":
		rows, err = byLabel(st, records, seed)
	case "column":
		rows, names = byColumn(st, records)
	default:
		rows, err = ownPartition(st, records, seed)
	}
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", st.Name, err)
	}
	holders := make([]Holder, len(rows))
	for m := range rows {
		if kind := st.Simulation.Partition.Kind; kind == "balanced" || kind == "by-size" {
			rows[m] = rowsOf(people, rows[m])
		}
		id := clientID(m, len(rows))
		if names != nil {
			id = pvi.ClientID(names[m])
		}
		holders[m] = Holder{ID: id, Records: records.Select(rows[m])}
	}
	return holders, nil
}

// clientID pads the number with zeros, so that names sort like numbers.
func clientID(m, clients int) pvi.ClientID {
	return pvi.ClientID(fmt.Sprintf("client-%0*d", len(fmt.Sprint(clients)), m+1))
}

// balanced deals n records, or persons, at random. Any two clients get the same number, or numbers
// that differ by one.
func balanced(n, clients int, seed uint64) [][]int {
	rows := make([][]int, clients)
	spread(rows, variates(seed, purposePartition).Perm(n))
	return rows
}

// smallSize returns the number of records of each small client if half of the clients are small:
// ⌊(1−ρ)N/M⌋, for N records, M clients and the skew ρ. A large client gets about (1+ρ)N/M records
// (Sharma 2019; Heikkilä et al. 2023).
func smallSize(n, clients int, skew float64) int {
	return int((1 - skew) * float64(n) / float64(clients))
}

// bySize deals n records, or persons, at random. The first half of the clients are small (see
// [smallSize]). The others share the rest as evenly as possible.
func bySize(n, clients int, skew float64, seed uint64) ([][]int, error) {
	small := smallSize(n, clients, skew)
	if small < 1 {
		return nil, fmt.Errorf("a small client would hold no record: %d records, %d clients, size_skew %g", n, clients, skew)
	}
	order := variates(seed, purposePartition).Perm(n)
	rows := make([][]int, clients)
	for m := range clients / 2 {
		rows[m], order = order[:small], order[small:]
	}
	spread(rows[clients/2:], order)
	return rows, nil
}

// spread cuts order into contiguous parts, one for each element of rows. The lengths of the parts
// differ by at most one.
func spread(rows [][]int, order []int) {
	n := len(order)
	for m := range rows {
		rows[m] = order[m*n/len(rows) : (m+1)*n/len(rows)]
	}
}

// byLabel deals records so that small and large clients have different shares of the two labels. In
// a small client, the majority label has the share c + (1−c)κ, limited to [0, 1], where c is its
// share of all records and κ is the study's label skew. The large clients get the rest.
func byLabel(st *study.Study, records *shard.Records, seed uint64) ([][]int, error) {
	part, clients := st.Simulation.Partition, st.Simulation.Clients
	outcome := st.ColumnIndex(st.Model.Outcome)
	var labels [2][]int // rows with label 0, and rows with label 1, in random order
	for _, i := range variates(seed, purposePartition).Perm(records.Len()) {
		label := 0
		if y := records.Row(i)[outcome]; st.Model.Positive != nil && st.Model.Positive.Of(y) || st.Model.Positive == nil && y >= part.LabelThreshold {
			label = 1
		}
		labels[label] = append(labels[label], i)
	}
	major, minor := labels[0], labels[1]
	if len(minor) > len(major) {
		major, minor = minor, major
	}
	if len(minor) == 0 {
		if st.Model.Positive != nil {
			return nil, fmt.Errorf("model.positive = %q gives all records the same label", st.Model.Positive.Text)
		}
		return nil, fmt.Errorf("label_threshold %g gives all records the same label", part.LabelThreshold)
	}
	small := smallSize(records.Len(), clients, part.SizeSkew)
	c := float64(len(major)) / float64(records.Len())
	share := min(max(c+(1-c)*part.LabelSkew, 0), 1)
	fromMajor := int(math.Round(share * float64(small)))
	fromMinor := small - fromMajor
	half := clients / 2
	if small < 1 || half*fromMajor > len(major) || half*fromMinor > len(minor) {
		return nil, fmt.Errorf("%d small clients cannot each have %d records of the majority label and %d of the other: there are %d and %d; lower size_skew or label_skew",
			half, fromMajor, fromMinor, len(major), len(minor))
	}
	rows := make([][]int, clients)
	for m := range half {
		rows[m] = append(append([]int(nil), major[:fromMajor]...), minor[:fromMinor]...)
		major, minor = major[fromMajor:], minor[fromMinor:]
	}
	rest := append(append([]int(nil), major...), minor...)
	r := variates(seed, purposePartition, 1)
	r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	spread(rows[half:], rest)
	return rows, nil
}

// byColumn makes one client for each level of the column and gives it the records with this level.
// It also returns the levels.
func byColumn(st *study.Study, records *shard.Records) ([][]int, []string) {
	column := st.ColumnIndex(st.Simulation.Partition.Column)
	levels := st.Columns[column].Levels
	rows := make([][]int, len(levels))
	for i := range records.Len() {
		level := int(records.Row(i)[column])
		rows[level] = append(rows[level], i)
	}
	return rows, levels
}
