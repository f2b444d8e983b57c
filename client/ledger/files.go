package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fedpvi/internal/durable"
)

const (
	fileMode = 0o600

	heldFile = "in-use.json" // tells which process has the store open, for error messages
)

// Damaged is the error for a damaged store. The client must then not send any messages.
type Damaged struct {
	Path    string
	Problem string
	Cause   error
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("%s: %s: nothing is sent from a damaged state; restore the newest copy of the whole directory, "+
		"and never one that is older than the last answer sent", d.Path, d.Problem)
}

func (d *Damaged) Unwrap() error { return d.Cause }

// Held is the error for a store that another process has open.
type Held struct {
	Dir     string    `json:"-"`
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

func (h *Held) Error() string {
	if h.PID == 0 {
		return fmt.Sprintf("the state directory %s is in use by another process: wait for it, or stop it", h.Dir)
	}
	return fmt.Sprintf("the state directory %s is in use by %q (process %d) since %s: wait for it, or stop it",
		h.Dir, h.Command, h.PID, h.Since.Format(time.RFC3339))
}

func readHeld(dir string) *Held {
	h := &Held{Dir: dir}
	if b, err := os.ReadFile(filepath.Join(dir, heldFile)); err == nil && json.Unmarshal(b, h) != nil {
		*h = Held{Dir: dir} // the file is incomplete, because the other process is still writing it
	}
	return h
}

func writeHolder(dir string, o Options) error {
	b, err := json.Marshal(Held{PID: os.Getpid(), Command: o.Command, Since: o.Now})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, heldFile), append(b, '\n'), fileMode)
}

// createFile makes an empty file and syncs its directory, because bbolt does not sync it.
func createFile(dir, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), durable.System{}.SyncDir(dir))
}
