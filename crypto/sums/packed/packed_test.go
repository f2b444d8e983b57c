package packed

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedpvi/crypto/sums/field"
)

func rules(t *rapid.T) *Scheme {
	clients := rapid.IntRange(2, 14).Draw(t, "clients")
	s, err := New(clients, rapid.IntRange((clients+3)/2, clients).Draw(t, "fewest"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func words(t *rapid.T, n int, label string) []uint64 {
	edge := rapid.SampledFrom([]uint64{0, 1, field.P - 1})
	return rapid.SliceOfN(rapid.OneOf(edge, rapid.Uint64Range(0, field.P-1)), n, n).Draw(t, label)
}

// dealt makes a random deal. It returns the secrets, and all columns by the holder's place.
func dealt(t *rapid.T, s *Scheme, dealer, n int) (secrets [][]uint64, columns map[int][]uint64) {
	columns = map[int][]uint64{}
	var in [][]uint64
	for range s.Packed() {
		in = append(in, words(t, n, "secret"))
	}
	for offset := s.Sent(); offset < s.Clients-1; offset++ {
		in = append(in, words(t, n, "derived"))
		columns[s.Holder(dealer, offset)] = in[len(in)-1]
	}
	out := make([][]uint64, s.Sent()+1)
	for offset := range out {
		out[offset] = make([]uint64, n)
		if offset < s.Sent() {
			columns[s.Holder(dealer, offset)] = out[offset]
		} else {
			columns[dealer] = out[offset]
		}
	}
	s.Dealing(dealer).Apply(out, in)
	return in[:s.Packed()], columns
}

func some(t *rapid.T, s *Scheme, label string) []int {
	all := make([]int, s.Clients)
	for i := range all {
		all[i] = i + 1
	}
	chosen := rapid.Permutation(all).Draw(t, label)[:s.Fewest]
	slices.Sort(chosen)
	return chosen
}

func apply(m Matrix, columns map[int][]uint64, places []int, n int) [][]uint64 {
	var in [][]uint64
	for _, j := range places {
		in = append(in, columns[j])
	}
	out := make([][]uint64, len(m))
	for r := range out {
		out[r] = make([]uint64, n)
	}
	m.Apply(out, in)
	return out
}

func TestSumOfDealingsIsOpened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rules(t), rapid.SampledFrom([]int{1, 2, 7}).Draw(t, "words")
		sums, want := map[int][]uint64{}, make([][]uint64, s.Packed())
		for a := range want {
			want[a] = make([]uint64, n)
		}
		for range rapid.IntRange(1, 4).Draw(t, "dealers") {
			secrets, columns := dealt(t, s, rapid.IntRange(1, s.Clients).Draw(t, "dealer"), n)
			for a, x := range secrets {
				accumulate(want[a], x)
			}
			for j, x := range columns {
				if sums[j] == nil {
					sums[j] = make([]uint64, n)
				}
				accumulate(sums[j], x)
			}
		}
		holders := some(t, s, "holders")
		if got := apply(s.Opening(holders), sums, holders, n); !equal(got, want) {
			t.Fatalf("opened %v, want %v", got, want)
		}
		others := slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(j int) bool { return slices.Contains(holders, j) })
		for i, x := range apply(s.Agreeing(holders, others), sums, holders, n) {
			if !slices.Equal(x, sums[others[i]]) {
				t.Fatalf("holder %d has %v, the others say %v", others[i], sums[others[i]], x)
			}
		}
	})
}

func accumulate(sum, x []uint64) {
	for i := range sum {
		sum[i] = field.Add(sum[i], x[i])
	}
}

func equal(a, b [][]uint64) bool {
	return slices.EqualFunc(a, b, func(x, y []uint64) bool { return slices.Equal(x, y) })
}

// A dealer's columns, and the secrets that are computed from them, must be the same as those of
// [naive].
func TestColumnsAreThoseOfTheNaiveImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rules(t)
		second := naive{s.Clients, s.Fewest, new(big.Int).SetUint64(field.P)}
		dealer := rapid.IntRange(1, s.Clients).Draw(t, "dealer")
		secrets, columns := dealt(t, s, dealer, 1)
		var from []int
		var in []*big.Int
		for a, x := range secrets {
			from, in = append(from, s.Clients+1+a), append(in, new(big.Int).SetUint64(x[0]))
		}
		for offset := s.Sent(); offset < s.Clients-1; offset++ {
			j := s.Holder(dealer, offset)
			from, in = append(from, j), append(in, new(big.Int).SetUint64(columns[j][0]))
		}
		for j := range columns {
			if slices.Contains(from, j) {
				continue
			}
			if want := second.word(from, in, j).Uint64(); columns[j][0] != want {
				t.Fatalf("holder %d gets %d, want %d", j, columns[j][0], want)
			}
		}
		var shares []*big.Int
		holders := some(t, s, "holders")
		for _, j := range holders {
			shares = append(shares, new(big.Int).SetUint64(columns[j][0]))
		}
		for a := range secrets {
			if got := second.word(holders, shares, s.Clients+1+a).Uint64(); got != secrets[a][0] {
				t.Fatalf("secret %d is opened as %d, want %d", a, got, secrets[a][0])
			}
		}
	})
}

// For each set of Hidden holders, the test looks at each tuple of words that the holders can get,
// and counts how often they get it over all values of the derived columns. The counts must be the
// same for all secrets. The test uses the second implementation with small primes.
func TestHiddenColumnsSayNothing(t *testing.T) {
	for _, c := range []struct {
		clients, fewest int
		prime           int64
	}{{2, 2, 5}, {3, 3, 5}, {3, 3, 7}, {4, 3, 7}, {4, 4, 7}, {5, 4, 11}, {6, 4, 11}} {
		s, err := New(c.clients, c.fewest)
		if err != nil {
			t.Fatal(err)
		}
		second := naive{c.clients, c.fewest, big.NewInt(c.prime)}
		for _, secret := range []int64{0, 1, c.prime - 1} {
			for holders := range subsets(c.clients, s.Hidden()) {
				counts := second.count(s, holders, secret, int(c.prime))
				for word, n := range counts {
					if n != 1 {
						t.Fatalf("%d clients, %d needed: holders %v get %s in %d cases if every secret is %d", c.clients, c.fewest, holders, word, n, secret)
					}
				}
				if want := power(int(c.prime), s.Hidden()); len(counts) != want {
					t.Fatalf("holders %v get %d different tuples, want %d", holders, len(counts), want)
				}
			}
		}
	}
}

// If its counts were wrong, TestHiddenColumnsSayNothing could pass by mistake. With one more
// column, the counts must differ.
func TestOneColumnMoreSaysSomething(t *testing.T) {
	s, err := New(4, 3)
	if err != nil {
		t.Fatal(err)
	}
	second := naive{4, 3, big.NewInt(7)}
	if n := len(second.count(s, []int{1, 2}, 0, 7)); n != 7 {
		t.Errorf("two holders of four get %d different tuples from one secret, want 7", n)
	}
}

func power(x, n int) int {
	if n == 0 {
		return 1
	}
	return x * power(x, n-1)
}

func subsets(clients, n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		for mask := range 1 << clients {
			var chosen []int
			for j := range clients {
				if mask>>j&1 == 1 {
					chosen = append(chosen, j+1)
				}
			}
			if len(chosen) == n && !yield(chosen) {
				return
			}
		}
	}
}

// count deals equal secrets, each of which is secret, from place 1. It does so for each choice of
// the columns that holders compute from keys. For each tuple of words that the holders get, it
// returns the number of choices that lead to it.
func (n naive) count(s *Scheme, holders []int, secret int64, prime int) map[string]int {
	var from []int
	for a := range s.Packed() {
		from = append(from, s.Clients+1+a)
	}
	for offset := s.Sent(); offset < s.Clients-1; offset++ {
		from = append(from, s.Holder(1, offset))
	}
	counts := map[string]int{}
	for draw := range power(prime, s.Hidden()) {
		in := make([]*big.Int, len(from))
		for i := range in {
			if i < s.Packed() {
				in[i] = big.NewInt(secret)
				continue
			}
			in[i] = number(draw % prime)
			draw /= prime
		}
		var tuple []string
		for _, j := range holders {
			if i := slices.Index(from, j); i >= 0 {
				tuple = append(tuple, in[i].String())
			} else {
				tuple = append(tuple, n.word(from, in, j).String())
			}
		}
		counts[fmt.Sprint(tuple)]++
	}
	return counts
}

// If no client may be missing, the scheme must only add and subtract.
func TestWithoutMissingClientsColumnsAddUp(t *testing.T) {
	for clients := 2; clients <= 40; clients++ {
		s, err := New(clients, clients)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, clients)
		for i := range all {
			all[i] = i + 1
		}
		for _, k := range s.Opening(all)[0] {
			if k != 1 {
				t.Fatalf("%d clients: the secret has a column with the factor %d", clients, k)
			}
		}
		for dealer := 1; dealer <= clients; dealer++ {
			if row := s.Dealing(dealer)[0]; row[0] != 1 || !signs(row) {
				t.Fatalf("%d clients: dealer %d multiplies by %v", clients, dealer, row)
			}
		}
	}
}

// Even with the largest factors, sums of many products must not overflow 128 bits.
func TestLargestProducts(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 1000} {
		row, src := make([]uint64, n), make([][]uint64, n)
		for c := range row {
			row[c], src[c] = field.P-2, []uint64{field.P - 1, 1}
		}
		dst := [][]uint64{make([]uint64, 2)}
		Matrix{row}.Apply(dst, src)
		if want := []uint64{field.Mul(2, uint64(n)), field.Mul(field.P-2, uint64(n))}; !slices.Equal(dst[0], want) {
			t.Errorf("%d products: %v, want %v", n, dst[0], want)
		}
	}
}

func TestRulesThatCannotHide(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {3, 4}, {MaxClients + 1, MaxClients + 1}, {3, -1}} {
		if _, err := New(c[0], c[1]); err == nil {
			t.Errorf("sums of %d clients, of which %d can open them, were accepted", c[0], c[1])
		}
	}
	if s, err := New(100, 80); err != nil || s.Missing() != 20 || s.Hidden() != 59 || s.Packed() != 21 || s.Sent() != 40 || s.Words(1000) != 48 {
		t.Errorf("%+v, %v", s, err)
	}
}

func BenchmarkDealingMatrix(b *testing.B) {
	s, err := New(1000, 800)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Dealing(1)
	}
}
