package identity

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the maximum length of a name in bytes.
const MaxName = 40

// ErrName is returned for a malformed name. Its text says which names are valid.
var ErrName = fmt.Errorf("a name consists of 1 to %d lower-case letters a to z and digits, with single hyphens between them, as in st-olav-2", MaxName)

// A Name identifies a party in a study. All its characters are safe in paths, URIs and log lines.
// Names that look alike have the same [Name.Skeleton].
type Name string

// ParseName returns the text as a Name. If it is malformed, ParseName returns ErrName, which does
// not quote the text.
func ParseName(text string) (Name, error) {
	if len(text) == 0 || len(text) > MaxName {
		return "", ErrName
	}
	for part := range strings.SplitSeq(text, "-") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return "", ErrName
		}
	}
	return Name(text), nil
}

var (
	alike      = strings.NewReplacer("-", "", "0", "o", "1", "l", "i", "l", "j", "l", "2", "z", "5", "s")
	alikePairs = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")
)

// Skeleton returns a form of the name that is the same for all names that look alike, such as
// "clinic-1" and "clinic-l". No two parties in a study may have the same skeleton.
func (n Name) Skeleton() string { return alikePairs.Replace(alike.Replace(string(n))) }

// A Role determines what a party is allowed to do.
type Role uint8

// These are the roles of parties. The zero Role is not allowed to do anything.
const (
	Client      Role = 1 // holds records and answers plans
	Coordinator Role = 2 // sends the plans; each study has exactly one
	Admin       Role = 3 // administers a coordinator
)

var roles = map[Role]string{Client: "client", Coordinator: "coordinator", Admin: "admin"}

// String returns the name of the role.
func (r Role) String() string {
	if name, ok := roles[r]; ok {
		return name
	}
	return "no role"
}

// ParseRole returns the role with the given name.
func ParseRole(text string) (Role, error) {
	for r, name := range roles {
		if name == text {
			return r, nil
		}
	}
	return 0, errors.New("the roles are client, coordinator and admin")
}
