package store

// Append keeps an entry of the transcript. The question is that of a plan, 0 for other
// entries.
func (s Study) Append(n uint64, envelope, body []byte, ask uint64) error {
	if err := s.part(envelopes).Put(number(n), envelope); err != nil {
		return err
	}
	if ask > 0 {
		if err := s.part(asks).Put(number(ask), number(n)); err != nil {
			return err
		}
	}
	return s.putLong(bodies, number(n), body)
}

// Item returns copies of an entry's envelope and body; nil if there is none.
func (s Study) Item(n uint64) (envelope, body []byte) {
	key := number(n)
	return clone(s.part(envelopes).Get(key)), s.long(bodies, key)
}

// Items returns how many entries there are.
func (s Study) Items() uint64 {
	k, _ := s.part(envelopes).Cursor().Last()
	return readNumber(k)
}

// PlanOf returns the number of the entry with the plan of a question; 0 if there is none.
func (s Study) PlanOf(ask uint64) uint64 { return readNumber(s.part(asks).Get(number(ask))) }
