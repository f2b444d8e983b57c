package phase

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"

	"fedpvi/pvi/study"
)

// MaxPublished is the largest number of elements of all releases in one outcome, 8 MiB. Only tests
// change it.
var MaxPublished = 1 << 20

// Publishes reports whether outcomes contain the releases of the clients that answered, each with
// size elements.
//
// If anyone may read a message, it has enough noise by itself. The releases make the coordinator's
// sum verifiable: anyone can check them against the signed hashes ([Commits]) and add them up. In
// version 1, outcomes contain only the sum.
func Publishes(st *study.Study, clients, size int) bool {
	return Commits(st) && clients*size <= MaxPublished
}

// Fetched reports whether clients sign hashes of releases that are too long for an outcome. Readers
// then fetch them one by one, by these hashes. See [AddUp].
func Fetched(st *study.Study, clients, size int) bool {
	return Commits(st) && !Publishes(st, clients, size)
}

// Commits reports whether clients sign the hash of each release before they encrypt it for the
// coordinator. They do where anyone may read a release, because the hash does not hide it.
func Commits(st *study.Study) bool {
	return st.Version > 1 && st.Federation.Opens == study.OpenMessages && st.Privacy.Unit != study.None
}

// CheckReleases returns a refusal unless releases contains a release for each answer, with elements
// of at most limit, and they add up to sum. name is the outcome in the refusal.
func CheckReleases(name string, releases, sum []int64, answers int, limit int64) error {
	size := len(sum)
	if len(releases) != answers*size {
		return Refuse("the outcome of %s has %d elements of releases, want %d: its sum cannot be checked", name, len(releases), answers*size)
	}
	added := make([]int64, size)
	for at, n := range releases {
		if n > limit || n < -limit {
			return Refuse("a release in the outcome of %s is beyond what the mechanism can yield", name)
		}
		added[at%size] += n
	}
	return checkAdded(name, added, sum, answers)
}

func checkAdded(name string, added, sum []int64, answers int) error {
	if !slices.Equal(added, sum) {
		return Refuse("the sum of %s is not the sum of the %d releases that were published with it: the coordinator has changed one of them", name, answers)
	}
	return nil
}

// elementSize is the number of bytes of an element of a release.
const elementSize = 8

// WriteRelease writes the bytes of a release that are hashed and signed. An element is a signed
// integer of 8 bytes, lowest byte first.
func WriteRelease(w io.Writer, release []int64) error {
	b := bufio.NewWriter(w)
	for _, n := range release {
		b.Write(binary.LittleEndian.AppendUint64(b.AvailableBuffer(), uint64(n))) //nolint:errcheck // Flush returns the error
	}
	return b.Flush()
}

// HashOf returns the SHA-256 of a release.
func HashOf(release []int64) Digest {
	h := sha256.New()
	_ = WriteRelease(h, release) // a hash returns no errors
	return Digest(h.Sum(nil))
}
