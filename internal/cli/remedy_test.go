package cli_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedpvi/internal/cli"
)

func TestRemedy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, exists := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("--out: %w", exists), "another name"},
		{&fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}, "free space"},
		{&fs.PathError{Op: "open", Path: path, Err: syscall.EROFS}, "not read-only"},
		{&fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}, "chmod"},
	} {
		if got := cli.Remedy(c.err); !strings.Contains(got, c.want) {
			t.Errorf("the remedy of %v is %q, want %q", c.err, got, c.want)
		}
	}
	if got := cli.Remedy(errors.New("something else")); got != "" {
		t.Errorf("an unknown error has the remedy %q", got)
	}
}
