package private

import (
	"fmt"
	"slices"
	"strings"
)

// insiders are the users and groups that may access a private file on Windows: the system, the
// administrators, and the owner. They are written in the security descriptor definition language.
// On Unix, root and the owner have the same access.
var insiders = []string{"SY", "BA", "LA", "CO", "OW"}

// outsiders returns the users and groups to which an access control list grants access, except for
// the user self and the insiders. list is in the security descriptor definition language, such as
// D:PAI(A;OICI;FA;;;SY).
func outsiders(list, self string) ([]string, error) {
	flags, entries, _ := strings.Cut(list, "(")
	if !strings.HasPrefix(flags, "D:") || strings.Contains(flags, "NO_ACCESS_CONTROL") {
		return []string{"everybody"}, nil // without a list, everybody has access
	}
	var found []string
	for entry := range strings.SplitSeq(entries, "(") {
		if entry == "" {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(entry, ")"), ";")
		if len(fields) < 6 {
			return nil, fmt.Errorf("the access control list %q cannot be read", list)
		}
		kind, trustee := fields[0], strings.TrimSuffix(fields[5], ")")
		denies := kind == "D" || kind == "OD" || kind == "XD"
		if !denies && trustee != self && !slices.Contains(insiders, trustee) && !slices.Contains(found, trustee) {
			found = append(found, trustee)
		}
	}
	return found, nil
}
