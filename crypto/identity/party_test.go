package identity

import (
	"strings"
	"testing"
)

//abuse:case P06 names with a slash, NUL, capital or space, or of more than 40 bytes, are refused
func TestMalformedNamesAreRefused(t *testing.T) {
	for _, good := range []string{"a", "7", "st-olav", "clinic-1", "a-b-c", strings.Repeat("a", MaxName)} {
		if n, err := ParseName(good); err != nil || string(n) != good {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", strings.Repeat("a", MaxName+1), "St-Olav", "st olav", "st_olav", "st.olav", "-a", "a-", "a--b", ".", "..", "../up", "a/b", `a\b`,
		"a\x00", "a\n", "a\x1b[2J", "a\u202eb", "аbc", "ａ", "a\u0301", "ı", "\xff", "a%2e", "a:b", "a@b", "*", "$(id)",
	} {
		if n, err := ParseName(bad); err == nil || strings.Contains(err.Error(), bad) && len(bad) > 3 {
			t.Errorf("%q was accepted as %q, or the error quotes it: %v", bad, n, err)
		}
	}
}

//abuse:case A06 names that look alike have one skeleton, which a roster accepts once
func TestNamesThatLookAlikeHaveOneSkeleton(t *testing.T) {
	for _, pair := range [][2]Name{
		{"clinic-1", "clinic-l"},
		{"clinic-1", "clinic1"},
		{"oslo", "0s10"},
		{"modern", "rnodem"},
		{"west", "vvest"},
		{"clinic-5", "clinic-s"},
	} {
		if pair[0].Skeleton() != pair[1].Skeleton() {
			t.Errorf("the skeletons of %s and %s differ: %s, %s", pair[0], pair[1], pair[0].Skeleton(), pair[1].Skeleton())
		}
	}
	for _, pair := range [][2]Name{{"clinic-1", "clinic-3"}, {"north", "south"}, {"site-10", "site-13"}} {
		if pair[0].Skeleton() == pair[1].Skeleton() {
			t.Errorf("%s and %s have the same skeleton", pair[0], pair[1])
		}
	}
}

func TestRoles(t *testing.T) {
	for _, r := range []Role{Client, Coordinator, Admin} {
		if got, err := ParseRole(r.String()); err != nil || got != r {
			t.Errorf("%v: %v, %v", r, got, err)
		}
	}
	for _, text := range []string{"", "Client", "no role", "root"} {
		if r, err := ParseRole(text); err == nil || r != 0 {
			t.Errorf("%q was parsed as %v", text, r)
		}
	}
	if Role(0).String() != "no role" || Role(4).String() != "no role" {
		t.Error("an undefined role is valid")
	}
}
