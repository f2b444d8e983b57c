package chaos

import (
	"encoding/hex"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"fedpvi/crypto/transcript"
	"fedpvi/internal/durable"
)

// A tree simulates the files that a process keeps next to its database: long message bodies, and
// the anchor of a ledger. It tracks which names and bytes would survive a power failure. Paths are
// relative to the state directory.
type tree struct {
	names   map[string]*node // files by name, as the operating system shows them
	durable map[string]*node // files by name, as they were when their directory was last synced
	pending []naming
}

// A node is the content of a file, independent of its name.
type node struct {
	bytes  []byte
	synced int  // number of bytes that are on the disk
	lost   bool // a sync has failed, so later syncs write nothing
}

// A naming is a change of names in a directory that has not been synced since. After a power
// failure, the change may be there or not.
type naming struct {
	dir   string
	apply func(map[string]*node)
}

func newTree() *tree { return &tree{names: map[string]*node{}, durable: map[string]*node{}} }

// name changes the names in a directory. Until the directory is synced, a power failure may undo
// the change.
func (t *tree) name(dir string, apply func(map[string]*node)) {
	apply(t.names)
	t.pending = append(t.pending, naming{dir, apply})
}

// sync makes the names in a directory durable.
func (t *tree) sync(dir string) {
	t.pending = slices.DeleteFunc(t.pending, func(n naming) bool {
		if n.dir == dir {
			n.apply(t.durable)
		}
		return n.dir == dir
	})
}

// fail puts the tree into a random state of those in which a power failure could leave it.
func (t *tree) fail(rng *rand.Rand) {
	for _, n := range t.pending {
		if rng.IntN(2) == 0 {
			n.apply(t.durable)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(t.durable)) {
		n := t.durable[path]
		if rest := len(n.bytes) - n.synced; rest > 0 {
			n = &node{bytes: slices.Clone(n.bytes[:n.synced+rng.IntN(rest+1)])}
			n.synced = len(n.bytes)
			t.durable[path] = n
		}
	}
	t.names, t.pending = maps.Clone(t.durable), nil
}

// write writes all files of the tree to a directory, and removes other body files from it.
func (t *tree) write(dir string) error {
	err := filepath.WalkDir(filepath.Join(dir, "bodies"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		return os.Remove(path)
	})
	for path, n := range t.names {
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, path), n.bytes, 0o600)
		}
	}
	return err
}

// has reports whether a file with the given body would survive a power failure. The name of the
// file must be the hash of the body.
func (t *tree) has(body transcript.Body) bool {
	want := hex.EncodeToString(body.Hash[:])
	for path, n := range t.durable {
		if filepath.Base(path) == want && uint64(n.synced) == body.Size && transcript.BodyOf(n.bytes) == body {
			return true
		}
	}
	return false
}

// A filer is the file system for the store of a process during one run l. It applies the process's
// faults.
type filer struct{ l *life }

func (f filer) rel(path string) string {
	rel, err := filepath.Rel(f.l.dir, path)
	if err != nil {
		panic(err)
	}
	return rel
}

// step performs do on the simulated files. If the process has a fault at this step, it applies the
// fault instead and returns the fault's error.
func (f filer) step(do func(t *tree) error) error {
	f.l.p.w.mu.Lock()
	defer f.l.p.w.mu.Unlock()
	if why, err := f.l.due(); err != nil && err != errUnsynced {
		return f.l.suffer(why, err)
	}
	return do(f.l.p.disk.files)
}

func (f filer) Create(path string) (durable.NewFile, error) {
	file, n := (*os.File)(nil), &node{}
	err := f.step(func(t *tree) (err error) {
		if file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			path := f.rel(path)
			t.name(filepath.Dir(path), func(names map[string]*node) { names[path] = n })
		}
		return err
	})
	return &filed{file, n, f}, err
}

func (f filer) Append(path string) (durable.NewFile, error) {
	file, n := (*os.File)(nil), (*node)(nil)
	err := f.step(func(t *tree) (err error) {
		n = t.names[f.rel(path)]
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return err
	})
	return &filed{file, n, f}, err
}

func (f filer) Rename(from, to string) error {
	return f.step(func(t *tree) error {
		err := os.Rename(from, to)
		if err == nil {
			from, to := f.rel(from), f.rel(to)
			n := t.names[from]
			t.name(filepath.Dir(to), func(names map[string]*node) { delete(names, from); names[to] = n })
		}
		return err
	})
}

func (f filer) Remove(path string) error {
	return f.step(func(t *tree) error {
		err := os.Remove(path)
		if err == nil {
			path := f.rel(path)
			t.name(filepath.Dir(path), func(names map[string]*node) { delete(names, path) })
		}
		return err
	})
}

func (f filer) SyncDir(dir string) error {
	return f.step(func(t *tree) error {
		t.sync(f.rel(dir))
		return nil
	})
}

// A filed is a file that a store writes.
type filed struct {
	*os.File
	n *node
	f filer
}

func (d *filed) Write(b []byte) (int, error) {
	w := d.f.l.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	why, err := d.f.l.due()
	if err == errUnsynced {
		err = nil
	}
	part := b
	if err != nil {
		part = b[:salted(why).IntN(len(b)+1)] // only a part of a torn write reaches the file
	}
	if err == nil || !d.f.l.dead {
		if _, err := d.File.Write(part); err != nil {
			return 0, err
		}
		d.n.bytes = append(d.n.bytes, part...)
	}
	if err != nil {
		return 0, d.f.l.suffer(why, err)
	}
	return len(b), nil
}

func (d *filed) Sync() error {
	w := d.f.l.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	why, err := d.f.l.due()
	if err != nil {
		d.n.lost = d.n.lost || err != errDead
		return d.f.l.suffer(why, err)
	}
	if !d.n.lost {
		d.n.synced = len(d.n.bytes)
	}
	return nil
}
