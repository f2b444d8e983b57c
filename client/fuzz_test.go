package client_test

import (
	"testing"

	"fedpvi/client"
	"fedpvi/internal/testing/memory"
)

func FuzzPolicy(f *testing.F) {
	f.Add([]byte("version = 1\n[coordinators]\nallowed = [\"" + "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" + "\"]\ntrust = true\n[participants]\nminimum = 3\n[dataset.ward]\nepsilon = 1.0\ndelta = 1e-5\nfilter = \"renyi\"\norder = 8.0"))
	f.Add([]byte("version = 1"))
	f.Add([]byte("[dataset.a]\nepsilon = nan\ndelta = 1"))
	f.Fuzz(func(t *testing.T, source []byte) {
		var p *client.Policy
		var err error
		memory.Document(t, len(source), func() { p, err = client.ParsePolicy("policy.toml", source) })
		if err != nil {
			if client.CodeOf(err) != client.Usage {
				t.Errorf("code %d: %v", client.CodeOf(err), err)
			}
			return
		}
		if p.MinParticipants < 1 {
			t.Errorf("a minimum of %d participants is accepted", p.MinParticipants)
		}
		for name, d := range p.Datasets {
			if d.Promise.Check() != nil {
				t.Errorf("the data set %q has the promise %+v", name, d.Promise)
			}
		}
	})
}
