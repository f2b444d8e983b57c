package main

import (
	"testing"

	"fedpvi/client"
	"fedpvi/transport"
)

func TestChoiceOfProxy(t *testing.T) {
	const address = "hub.example.org:7443"
	t.Setenv("HTTPS_PROXY", "http://environment.example:3128")
	named, err := transport.ParseProxy("socks5://policy.example:1080")
	must(t, err)
	of := &client.Policy{Proxy: named}
	for _, c := range []struct {
		name, flag string
		policy     *client.Policy
		except     string
		want       string // address of the proxy; empty if the connection must be direct
	}{
		{"all three", "http://flag.example:8080", of, "", "http://flag.example:8080"},
		{"no flag", "", of, "", "socks5://policy.example:1080"},
		{"the environment alone", "", nil, "", "http://environment.example:3128"},
		{"a policy without a proxy", "", new(client.Policy), "", "http://environment.example:3128"},
		{"none", "none", of, "", ""},
		{"an exception in the environment", "", nil, "example.org", ""},
	} {
		t.Setenv("NO_PROXY", c.except)
		n, err := connection{Proxy: c.flag}.network(c.policy)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := ""
		if n.Proxy != nil {
			p, err := n.Proxy(address)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if p != nil {
				got = p.String()
			}
		}
		if got != c.want {
			t.Errorf("%s: the proxy is %q, want %q", c.name, got, c.want)
		}
	}
	if _, err := (connection{Proxy: "flag.example"}).network(of); client.CodeOf(err) != client.Usage {
		t.Errorf("a proxy without a port: %v", err)
	}
}
