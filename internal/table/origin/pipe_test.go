//go:build unix

package origin_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedpvi/internal/table"
	"fedpvi/internal/table/origin"
)

// If nobody opens the pipe for writing, or nobody writes to it, Read must return when the context
// is done.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	check(t, syscall.Mkfifo(pipe, 0o600))
	text := content(t, "patients.csv")
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, text, 0o600) }()
	got, _, err := rows(t, origin.Source{From: pipe})
	want, _, _ := rows(t, origin.Source{From: filepath.Join("testdata", "patients.csv")})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || <-written != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	ctx, cancel := context.WithCancel(t.Context())
	use := func(table.Reader) error { t.Error("there are no rows"); return nil }
	read := func() error { return origin.Source{From: pipe}.Read(ctx, format, wanted, io.Discard, use) }
	ended := make(chan error, 1)
	go func() { ended <- read() }()
	idle, err := os.OpenFile(pipe, os.O_WRONLY, 0) // this returns as soon as Read has opened the pipe
	check(t, err)
	defer idle.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("while nothing is written: %v", err)
	}
	waits, over := 0, 0
	s := origin.Source{From: pipe, Wait: func() func() { waits++; return func() { over++ } }}
	if err := s.Read(ctx, format, wanted, io.Discard, use); !errors.Is(err, context.Canceled) || waits != 1 || over != 1 {
		t.Errorf("before the pipe is opened: %d waits began and %d ended, want 1: %v", waits, over, err)
	}
	s.From = filepath.Join("testdata", "patients.csv")
	if _, _, err := rows(t, s); err != nil || waits != 1 {
		t.Errorf("%d waits, want none for a file that is no pipe: %v", waits-1, err)
	}
}
