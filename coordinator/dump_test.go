package coordinator

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fedpvi/coordinator/store"
	"fedpvi/crypto/identity"
	"fedpvi/crypto/seal"
	"fedpvi/crypto/signed"
	"fedpvi/crypto/sums"
	"fedpvi/crypto/sums/field"
	"fedpvi/crypto/transcript"
	"fedpvi/pvi/shard"
)

// A vault is an adversary that copies all data of a coordinator at every transaction: files, memory
// and keys. It also has the keys and states of some clients. It decodes messages as
// docs/prove/secure-sums.md describes, and uses package sums only for places and positions.
//
// A row is a column of a deal, a share, or a part of a client's vector. The vault decrypts the
// columns for which it has the keys, and looks everywhere in the data for unencrypted rows of
// honest clients. It then uses linear algebra to find out which combinations of the clients'
// vectors are combinations of rows that it knows. Nobody could compute any others from these rows,
// whatever their distribution, because there are fewer rows than words in a row.
type vault struct {
	t       *testing.T
	h       *house
	honest  []*party
	corrupt []*party
	open    atomic.Bool // whether the vault copies the data at each transaction

	f       *sums.Federation
	seen    map[store.ReleaseKey]bool
	openers []*seal.Key
	keys    [][32]byte
	dealt   map[store.ReleaseKey]dealt
	rows    map[[32]byte][]uint64 // rows that the vault knows, keyed by hash
	clear   *finder
	shared  map[uint64]bool // numbers of the plans that have a certificate
	dumps   int
	entries uint64   // number of transcript entries that the vault has read
	found   []string // descriptions of the combinations that the vault could compute although they are not sums
}

// A dealt has the parts of a deal that the vault needs.
type dealt struct {
	plan, salt []byte
	body       []byte
}

func newVault(t *testing.T) *vault {
	return &vault{
		t: t, seen: map[store.ReleaseKey]bool{}, dealt: map[store.ReleaseKey]dealt{},
		rows: map[[32]byte][]uint64{}, clear: newFinder(), shared: map[uint64]bool{},
	}
}

// must reports an unexpected error. It does not stop the test, because it runs in the study's loop.
func (v *vault) must(err error) {
	if err != nil {
		v.t.Error(err)
	}
}

// commit is called by the study's loop for every transaction.
func (v *vault) commit(commit func() error) error {
	err := commit()
	if err == nil && v.open.Load() {
		v.copy()
	}
	return err
}

// copy reads all data that the coordinator has now, and checks which combinations of vectors follow
// from it.
func (v *vault) copy() {
	v.dumps++
	st := v.h.study.st
	if st.secure == nil {
		return
	}
	if v.f == nil {
		v.f = st.secure.federation
		for _, p := range v.corrupt {
			v.openers = append(v.openers, p.sealing)
		}
		if k, err := seal.Load(nil, v.h.hub.files.sealing(v.h.study.hash)); err == nil {
			v.openers = append(v.openers, k)
		}
	}
	before := len(v.rows)
	v.must(v.h.study.look(func(kept store.Study) error {
		v.messages(kept)
		return nil
	}))
	v.search(dumpOf(st))
	v.files()
	for _, p := range v.corrupt {
		if p.secure == nil {
			continue // the party has not read the roster yet
		}
		state, err := p.secure.MarshalBinary()
		v.must(err)
		v.search(state)
	}
	if len(v.rows) > before {
		if wrong := v.learned(); wrong != "" {
			v.found = append(v.found, fmt.Sprintf("after transaction %d: %s", v.dumps, wrong))
		}
	}
}

func (v *vault) files() {
	v.must(filepath.WalkDir(v.h.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		v.search(b)
		return err
	}))
}

// search looks for unencrypted rows of honest clients in b, and adds them to the known rows.
func (v *vault) search(b []byte) {
	for _, row := range v.clear.find(b) {
		v.hold(row)
	}
}

func (v *vault) hold(row []uint64) {
	h := sha256.New()
	for _, x := range row {
		h.Write(binary.BigEndian.AppendUint64(nil, x))
	}
	v.rows[[32]byte(h.Sum(nil))] = row
}

func (v *vault) messages(kept store.Study) {
	for v.entries < kept.Items() {
		v.entries++
		envelope, body, err := kept.Item(v.entries)
		v.must(err)
		h, err := signed.Claims(envelope)
		v.must(err)
		e, err := transcript.Claims(envelope)
		v.must(err)
		switch e.Kind {
		case transcript.Certificate:
			v.shared[h.Round] = true
		case transcript.Opening:
			const signature = 2 + 64
			for body = body[1:]; len(body) > 0; body = body[signature+v.f.ShareSize():] {
				v.inTheClear(body[signature : signature+v.f.ShareSize()])
			}
		}
	}
	for ask := range uint64(10) {
		for _, step := range []store.Step{store.Answering, store.Sharing} {
			v.must(kept.Messages(ask, step, func(k store.ReleaseKey, envelope []byte) error {
				if v.seen[k] {
					return nil
				}
				v.seen[k] = true
				body := make([]byte, kept.Have(k))
				v.must(kept.ReadAnswer(k, body, 0))
				v.message(k, envelope, body)
				return nil
			}))
		}
	}
}

func (v *vault) message(k store.ReleaseKey, envelope, body []byte) {
	place := v.f.Place(identity.Name(k.Client))
	switch {
	case k.Step == store.Sharing:
		v.inTheClear(body)
	case k.Ask == 0:
		v.pairKeys(place, body)
	default:
		payload, err := signed.ClaimedPayload(envelope)
		v.must(err)
		d := dealt{payload[len(payload)-64 : len(payload)-32], payload[len(payload)-32:], body}
		v.dealt[k] = d
		v.columns(place, d)
		v.know(k.Ask, place, d)
	}
}

// pairKeys collects the keys that a client has drawn for the other clients. If the client is
// corrupt, it collects all of them, and otherwise only those that the vault can decrypt.
func (v *vault) pairKeys(dealer int, body []byte) {
	header := v.honest[0].chain.Header("fedpvi/v1/pair-key", 0, Hash{}).Bytes()
	for holder := 1; holder <= v.f.Clients(); holder++ {
		if holder == dealer {
			continue
		}
		context := sha256.Sum256(append(slices.Clone(header), 0, byte(dealer), 0, byte(holder)))
		at, size := v.f.Keys(dealer, holder)
		for _, opener := range v.openers {
			if plain, err := opener.Open(body[at:at+size], context[:], 32+64); err == nil {
				v.keys = append(v.keys, [32]byte(plain))
			}
		}
	}
	for _, p := range v.corrupt {
		if v.f.Place(p.peer.Name) == dealer {
			for holder := 1; holder <= v.f.Clients(); holder++ {
				v.keys = append(v.keys, v.drawn(p, holder))
			}
		}
	}
}

// drawn returns the key that a client has drawn for the given holder. It reads the key from the
// client's state.
func (v *vault) drawn(p *party, holder int) [32]byte {
	state, err := p.secure.MarshalBinary()
	v.must(err)
	return [32]byte(state[1+2+(holder-1)*2*32:])
}

// derive returns a key of a deal (docs/prove/secure-sums.md).
func (d dealt) derive(pair [32]byte, use string, dealer, holder int) cipher.Block {
	info := fmt.Sprintf("fedpvi/v1/%s%s%c%c%c%c%s", use, d.plan, 0, dealer, 0, holder, d.salt)
	k, err := hkdf.Expand(sha256.New, pair[:], info, 32)
	if err != nil {
		panic(err)
	}
	block, err := aes.NewCipher(k)
	if err != nil {
		panic(err)
	}
	return block
}

// columns adds a deal's columns to the known rows if they are unencrypted or the vault has their
// keys.
func (v *vault) columns(dealer int, d dealt) {
	for holder := 1; holder <= v.f.Clients(); holder++ {
		at, size := v.f.Column(dealer, holder)
		piece := d.body[at : at+size]
		v.inTheClear(piece)
		if size > 16 {
			v.inTheClear(piece[:size-16])
		}
		for _, key := range v.keys {
			if words := d.read(piece, key, dealer, holder, v.words()); words != nil {
				v.hold(words)
			}
		}
	}
}

func (v *vault) words() int { return v.f.ShareSize() / 8 }

// inTheClear adds b to the known rows if b is as long as a column and all its words are valid.
func (v *vault) inTheClear(b []byte) {
	if words := wordsOf(b); len(words) == v.words() && !slices.ContainsFunc(words, func(x uint64) bool { return !field.Valid(x) }) {
		v.hold(words)
	}
}

func wordsOf(b []byte) (words []uint64) {
	for ; len(b) >= 8; b = b[8:] {
		words = append(words, binary.BigEndian.Uint64(b))
	}
	return words
}

// read decrypts the column in piece, which is a part of a deal. If the key is wrong, read returns
// nil.
func (d dealt) read(piece []byte, key [32]byte, dealer, holder, words int) []uint64 {
	use := "seal"
	if len(piece) == 16 {
		use = "tag"
	}
	a, err := cipher.NewGCM(d.derive(key, use, dealer, holder))
	if err != nil {
		panic(err)
	}
	plain, err := a.Open(nil, make([]byte, 12), piece, nil)
	switch {
	case err != nil:
		return nil
	case use == "tag":
		return d.stream(key, dealer, holder, words)
	}
	return wordsOf(plain)
}

// stream computes a column that is never sent, because the dealer and the holder both compute it
// from their common key.
func (d dealt) stream(key [32]byte, dealer, holder, words int) []uint64 {
	b := make([]byte, 8*words)
	cipher.NewCTR(d.derive(key, "column", dealer, holder), make([]byte, aes.BlockSize)).XORKeyStream(b, b)
	column := wordsOf(b)
	for i := range column {
		column[i] &= field.P // a word that equals P would have to become 0, but this is too rare to happen in a test
	}
	return column
}

// know processes the rows of a deal. The test knows them, but an adversary may not. If the dealer
// is honest, the finder learns the rows of its vector and columns, so that it can recognise them in
// unencrypted data. If the dealer is corrupt, the vault itself knows the rows of its vector.
func (v *vault) know(ask uint64, place int, d dealt) {
	for _, p := range v.corrupt {
		if v.f.Place(p.peer.Name) == place {
			for _, row := range v.vector(p, ask) {
				v.hold(row)
			}
		}
	}
	for _, p := range v.honest {
		if v.f.Place(p.peer.Name) != place {
			continue
		}
		for _, row := range v.vector(p, ask) {
			v.clear.know(row)
		}
		// The deal does not have the dealer's own column, but the others determine it: if three of
		// four clients can open a sum, then 4, 3, 2 and 1 times the columns add up to 0.
		own := make([]uint64, v.words())
		for holder := 1; holder <= v.f.Clients(); holder++ {
			at, size := v.f.Column(place, holder)
			row := d.read(d.body[at:at+size], v.drawn(p, holder), place, holder, v.words())
			if row != nil {
				v.clear.know(row)
			}
			for i, x := range row {
				own[i] = field.Sub(own[i], field.Mul(x, uint64(5-holder)))
			}
		}
		for i, x := range own {
			own[i] = field.Mul(x, power(uint64(5-place), field.P-2))
		}
		v.clear.know(own)
	}
}

// vector returns the vector that a client has dealt, as rows.
func (v *vault) vector(p *party, ask uint64) [][]uint64 {
	n := v.words()
	all := make([]uint64, (v.f.Clients()-v.f.Fewest()+1)*n)
	for i, x := range p.secure.dealt[ask] {
		all[i] = field.FromInteger(x)
	}
	var rows [][]uint64
	for row := range slices.Chunk(all, n) {
		rows = append(rows, row)
	}
	return rows
}

// A target is one row of an honest client's vector.
type target struct {
	ask  uint64
	who  int // index of the honest client
	part int // index of the row
}

// learned returns "" if the vault can compute only sums over all honest clients, and those only for
// plans with a certificate. Otherwise it returns a description of something else that the vault can
// compute.
func (v *vault) learned() string {
	targets, functions := v.functions()
	for _, f := range functions {
		at := map[target]uint64{}
		for i, t := range targets {
			at[t] = f[i]
		}
		for t, x := range at {
			if x != at[target{t.ask, 0, t.part}] || x != 0 && !v.shared[t.ask] {
				return fmt.Sprintf("%d combinations of vectors can be computed, and one of them is no sum", len(functions))
			}
		}
	}
	return ""
}

// functions returns the targets and the linear combinations of them that the vault can compute,
// because they are also combinations of the rows that it knows. The second result is a basis of
// these.
func (v *vault) functions() (targets []target, functions [][]uint64) {
	n := v.words()
	var rows [][]uint64
	for _, row := range v.rows {
		rows = append(rows, row)
	}
	own := len(rows)
	for ask := uint64(1); ask < 10; ask++ {
		for who, p := range v.honest {
			if p.secure.dealt[ask] == nil {
				continue
			}
			for part, row := range v.vector(p, ask) {
				targets, rows = append(targets, target{ask, who, part}), append(rows, row)
			}
		}
	}
	if len(rows) > n*3/4 {
		v.t.Errorf("%d rows of %d words: too many for this search", len(rows), n)
		return nil, nil
	}
	for i, row := range rows {
		wide := make([]uint64, n+len(targets))
		copy(wide, row)
		if i >= own {
			wide[n+i-own] = 1
		}
		rows[i] = wide
	}
	for _, row := range vanishing(rows, n) {
		if f := row[n:]; slices.Max(f) > 0 {
			functions = append(functions, f)
		}
	}
	return targets, functions
}

// vanishing returns a basis of those linear combinations of the rows in which all words before
// index first are zero.
func vanishing(rows [][]uint64, first int) [][]uint64 {
	rank := 0
	for col := 0; col < first && rank < len(rows); col++ {
		at := slices.IndexFunc(rows[rank:], func(row []uint64) bool { return row[col] != 0 })
		if at < 0 {
			continue
		}
		rows[rank], rows[rank+at] = rows[rank+at], rows[rank]
		inverse := power(rows[rank][col], field.P-2)
		for _, row := range rows[rank+1:] {
			factor := field.Mul(row[col], inverse)
			for i, x := range rows[rank] {
				row[i] = field.Sub(row[i], field.Mul(factor, x))
			}
		}
		rank++
	}
	return rows[rank:]
}

func power(a, e uint64) uint64 {
	r := uint64(1)
	for ; e > 0; e >>= 1 {
		if e&1 == 1 {
			r = field.Mul(r, a)
		}
		a = field.Mul(a, a)
	}
	return r
}

func wideRecords(n, d int) *shard.Records {
	records := new(shard.Records)
	for i := range n {
		row := make([]float64, d)
		for j := range row {
			row[j] = float64((i*j+i+j)%7)/3.5 - 1
		}
		records.Append(row)
	}
	return records
}

// playInVault runs two plans of a study with four clients. Three clients can open a sum. The vault
// has the last client's keys and state.
func playInVault(t *testing.T) *vault {
	t.Helper()
	const d = 100 // number of coefficients, which determines how many words a row has
	v := newVault(t)
	v.h = newHouse(t, Options{Store: store.Options{Commit: v.commit}})
	v.h.found([]byte(strings.Replace(string(wideText(d, 2)), "[federation]", "[federation]\naggregation = \"secure\"\nmin_clients = 3\ncolluders = 1", 1)))
	parties := v.h.invite(four...)
	v.honest, v.corrupt = parties[:3], parties[3:]
	for m, p := range parties {
		p.records = wideRecords(20+m, d)
	}
	v.open.Store(true)
	admit(t, parties...)
	play(t, parties...)
	v.open.Store(false)
	return v
}

// From the data of the coordinator and one of four clients, the vault must be able to compute only
// two combinations of the other clients' vectors: their sum in each plan, after the plan's
// certificate.
//
//abuse:case P16 all bytes of a coordinator at every transaction, with its keys and those of one client of four, determine the sums and nothing else
func TestDumpsOfTheCoordinatorTellSums(t *testing.T) {
	if testing.Short() {
		t.Skip("searches all bytes after each transaction: run without -short")
	}
	v := playInVault(t)
	for _, found := range v.found {
		t.Error(found)
	}
	targets, functions := v.functions()
	if v.dumps < 30 || len(v.seen) != 4+2*(4+2) || len(targets) != 2*3*2 || len(functions) != 2*2 {
		t.Errorf("%d dumps, %d messages, %d rows of vectors of which %d combinations follow", v.dumps, len(v.seen), len(targets), len(functions))
	}
	for name, more := range map[string]func(){
		"one column of a client in a file": func() {
			b := []byte("x")
			for _, x := range v.clear.rows[len(v.clear.rows)-1] {
				b = binary.LittleEndian.AppendUint64(b, x)
			}
			check(t, os.WriteFile(filepath.Join(v.h.dir, "a file"), b, 0o600))
			v.files()
		},
		"the keys of one more client": func() {
			for _, p := range v.honest[:2] {
				v.keys = append(v.keys, v.drawn(p, v.f.Place(v.honest[2].peer.Name)))
			}
			for k, d := range v.dealt {
				v.columns(v.f.Place(identity.Name(k.Client)), d)
			}
		},
	} {
		before := maps.Clone(v.rows)
		if more(); v.learned() == "" {
			t.Errorf("%s: nothing was found", name)
		}
		v.rows = before
	}
}
