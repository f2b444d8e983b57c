package ledger

// Interrupt makes the store call f at the boundaries of every transaction, "charge: before
// the commit" and so on. An error of f is that of the transaction.
func (s *Store) Interrupt(f func(point string) error) { s.boundary = f }

// Abandon closes the file as a process that ends does, with nothing tidied up.
func (s *Store) Abandon() error { return s.db.Close() }

// Forge stamps an entry as the holder could who lies.
func (s *Store) Forge(e Entry, envelope Hash) ([]byte, Hash, error) {
	stamp, err := sign(s.holder, e, envelope)
	return stamp.line, stamp.Hash, err
}

// ForgeTitle signs a title.
func (s *Store) ForgeTitle(title []byte) [64]byte { return s.holder.Sign(titleDomain, title) }

// Line returns how a stamp is written.
func (s Stamp) Line() []byte { return s.line }
