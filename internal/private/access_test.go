package private

import (
	"slices"
	"testing"
)

// These are lists as Windows prints them for new files in a home directory and in ProgramData, and
// after icacls.
func TestOutsidersOfAccessLists(t *testing.T) {
	const self = "S-1-5-21-1-2-3-1001"
	for list, want := range map[string][]string{
		"D:(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;FA;;;" + self + ")":                                   nil,
		"D:PAI(A;OICI;FA;;;" + self + ")(D;;FA;;;WD)":                                              nil,
		"D:AI(A;OICIID;FA;;;SY)(A;OICIIOID;GA;;;CO)(A;OICIID;0x1200a9;;;BU)(A;CIID;DCLCRPCR;;;BU)": {"BU"},
		"D:(A;;FR;;;WD)(A;;FR;;;S-1-5-21-1-2-3-1002)":                                              {"WD", "S-1-5-21-1-2-3-1002"},
		"D:NO_ACCESS_CONTROL": {"everybody"}, "": {"everybody"}, "D:": nil,
	} {
		got, err := outsiders(list, self)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", list, got, err, want)
		}
	}
	// An entry with a condition has further parentheses, and must make the file invalid.
	for _, list := range []string{"D:(A;;FA)", `D:(XA;;FX;;;S-1-1-0;(@User.Title=="PM"))(A;;FA;;;SY)`} {
		if got, err := outsiders(list, self); err == nil && len(got) == 0 {
			t.Errorf("%s counts as private", list)
		}
	}
}
