package store

// PutPublished stores a client's release for a plan. Everybody may fetch it. v must come from
// [Store.PrepareFile], so that even a short release is in a file.
func (s Study) PutPublished(k ReleaseKey, v *Value) error {
	return s.putFile(published, k.bytes(), v, formatPublished)
}

// Published calls f with each published release for a plan, in client order.
func (s Study) Published(ask uint64, f func(v *Value) error) error {
	return s.named(fileKey(published, prefix(ask, Answering)), func(_ []byte, v *Value) error { return f(v) })
}

// DropPublished removes the published releases for a plan.
func (s Study) DropPublished(ask uint64) error {
	return s.dropFiles(fileKey(published, prefix(ask, Answering)), false)
}
