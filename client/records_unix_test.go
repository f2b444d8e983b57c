//go:build unix

package client_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fedpvi/client"
	"fedpvi/client/ledger"
	"fedpvi/internal/table/origin"
)

// Nobody must be able to replace the file after it was hashed and before it is parsed. The file is
// a pipe, so that it can only be read once.
//
//abuse:case A24 the name of the file covers exactly the bytes that were read
func TestRecordsAreReadOnce(t *testing.T) {
	h := newHub(t, planeStudy(recordPrivacy, "", ""))
	p := newHolder(t, h, "north", 0)
	pipe := filepath.Join(t.TempDir(), "pipe")
	check(t, syscall.Mkfifo(pipe, 0o600))
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, []byte(records(0)), 0o600) }()
	check(t, p.with(func(c *client.Client, m *client.Member, _ *client.Policy) error {
		var names [2]ledger.Hash
		for i, path := range []string{pipe, p.data} {
			read, _, named, err := c.Read(t.Context(), m, origin.Source{From: path})
			check(t, err)
			if names[i] = named; read.Len() != 20 {
				t.Errorf("%d records were read", read.Len())
			}
		}
		if names[0] != names[1] {
			t.Error("the same bytes have two names")
		}
		return nil
	}))
	check(t, <-written)
}
