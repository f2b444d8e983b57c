package main

// around returns an edit that skips the code at an anchor when the fault is active.
func around(file, fault, anchor string) edit {
	return edit{File: file, Anchor: anchor, Before: "\tif !planted.Is(\"" + fault + "\") {\n", After: "\t}\n"}
}

// before returns an edit that runs text before the code at an anchor when the fault is active.
func before(file, fault, anchor, text string) edit {
	return edit{File: file, Anchor: anchor, Before: ifPlanted(fault, text)}
}

// after returns an edit that runs text after the code at an anchor when the fault is active.
func after(file, fault, anchor, text string) edit {
	return edit{File: file, Anchor: anchor, After: ifPlanted(fault, text)}
}

func ifPlanted(fault, text string) string {
	return "\tif planted.Is(\"" + fault + "\") {\n" + text + "\n\t}\n"
}

// daemonFaults are faults that matter only if a process or the disk fails at the right moment. The
// simulations in internal/testing/chaos must find them.
var daemonFaults = []fault{
	{"no-sync", "the coordinator skips a sync", []edit{
		before("coordinator/store/store.go", "no-sync", "\treturn db, nil\n", "\t\tdb.NoSync = true"),
	}},
	{"paid-later", "the charge is on disk after its answer was sent", []edit{
		before("client/ledger/change.go", "paid-later", "\tkeep, err := s.commit(name, f)\n", "\t\ts.db.NoSync = name == \"charge\""),
	}},
	{"answers-twice", "a client that restarts answers a plan again", []edit{
		before("client/participant.go", "answers-twice", "\tstore, members := a.client.store, a.chain.Members()\n", "\t\tdelete(change.Parts, sitePart)"),
		around("client/participant.go", "answers-twice", "\tif entry, ok := a.client.store.Answered(a.member.Hash, ask); ok {\n\t\treturn transport.Item{}, &Refusal{fmt.Sprintf(\"plan %d was answered already (entry %d of the ledger): a plan is answered once\", ask, entry)}\n\t}\n"),
		around("client/ledger/change.go", "answers-twice", "\tif before, ok := s.chain.answered[answer{study, r.Ask}]; ok {\n\t\treturn nil, &Refused{fmt.Sprintf(\"plan %d of this study was answered already (entry %d of the ledger): a plan is answered once\", r.Ask, before)}\n\t}\n"),
		around("client/ledger/chain.go", "answers-twice", "\tif before, ok := c.answered[key]; ok {\n\t\treturn nil, fmt.Errorf(\"it pays for a second answer to plan %d of a study: entry %d paid for one\", e.Charge.Ask, before)\n\t}\n"),
	}},
	{"loses-answers", "a paid answer is lost when its client restarts", []edit{
		before("client/ledger/store.go", "loses-answers", "\treturn s, nil\n}\n\n// openFile opens and locks the file. It waits at most lockWait for the lock.\n", `		_ = s.db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket(outboxBucket)
			return b.ForEach(func(k, _ []byte) error { return b.Delete(k) })
		})`),
	}},
	{"refunds", "a late answer is not charged", []edit{
		before("client/participant.go", "refunds", "\treturn a.client.store.Save(change)\n", "\t\ta.client.store.Refund()"),
		{File: "client/ledger/change.go", Anchor: "// next returns an entry with the next number, the hash of the last entry, and the other fields\n", Before: `
// Refund takes the last charge back.
func (s *Store) Refund() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.db.Update(func(tx *bbolt.Tx) error {
		sequence, _ := s.chain.head()
		if err := tx.Bucket(chainBucket).Delete(binary.BigEndian.AppendUint64(nil, sequence)); err != nil {
			return err
		}
		return s.replay(tx)
	})
}

`},
	}},
	{"forgets-a-reject", "a client treats a rejected change as accepted", []edit{
		before("pvi/site.go", "forgets-a-reject", "\t\tif accepted {\n", "\t\tif !accepted {\n\t\t\ts.q.commit()\n\t\t}"),
	}},
	{"applied-twice", "an outcome at the deadline is applied twice", []edit{
		{File: "pvi/server.go", Anchor: "\t\t\ts.q.commit()\n", After: "\t\t\tif planted.Is(\"applied-twice\") && len(r.Answered) < len(r.Participants) && s.q.try(number, len(r.Answered), s.protocol.combined(len(r.Answered), r.Sum, r.Releases), r.Centre) {\n\t\t\t\ts.q.commit()\n\t\t\t}\n"},
	}},
	{"no-quorum", "a round is closed with too few answers", []edit{
		before("pvi/server.go", "no-quorum", "\tif s.Done() {\n\t\ts.q.end()\n", "\t\tif n := len(r.Answered); n > 0 && n < s.protocol.Fewest() {\n\t\t\toutcome.Sum, outcome.Verdict = r.Sum, Rejected\n\t\t}"),
	}},
	{"believes-verdicts", "a client accepts a wrong verdict", []edit{
		around("pvi/site.go", "believes-verdicts", "\t\t\treturn refuse(\"the verdict on plan %d is %q, which does not follow from its sum\", o.Number, o.Verdict)\n"),
	}},
	{"same-noise", "noise has the same key every time", []edit{
		before("dpmech/stream.go", "same-noise", "\tstream.Rekey(s, key)\n", "\t\tclear(key[:])"),
	}},
	{"forgets-answers", "the coordinator drops an acknowledged answer", []edit{
		before("coordinator/release.go", "forgets-answers", "\t\t\tif err := kept.Put(store.Last, string(name), o.envelope); err != nil {\n", "\t\t\t\treturn kept.Put(store.Last, string(name), o.envelope)"),
	}},
	{"half-a-state", "a client stores its position but not its results", []edit{
		before("client/participant.go", "half-a-state", "\tparts := map[string][]byte{positionPart: at}\n", "\t\tif a.site != nil && settled > 0 {\n\t\t\treturn ledger.Change{Study: a.member.Hash, Parts: map[string][]byte{positionPart: at}, Settled: settled}, nil\n\t\t}"),
	}},
}
