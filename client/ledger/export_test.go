package ledger

// Interrupt makes the store call f before and after every commit, with a name such as "charge:
// before the commit". If f returns an error, the transaction returns this error.
func (s *Store) Interrupt(f func(point string) error) { s.boundary = f }

// Abandon closes the file without cleaning up, as a killed process does.
func (s *Store) Abandon() error { return s.db.Close() }

// Forge signs an entry without checking it, as a dishonest data holder could.
func (s *Store) Forge(e Entry, envelope Hash) ([]byte, Hash, error) {
	stamp, err := sign(s.holder, e, envelope)
	return stamp.line, stamp.Hash, err
}

// ForgeTitle signs the title of an export.
func (s *Store) ForgeTitle(title []byte) [64]byte { return s.holder.Sign(titleDomain, title) }

// Line returns the encoding of a stamp.
func (s Stamp) Line() []byte { return s.line }
