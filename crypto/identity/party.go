package identity

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the maximum length of a name in bytes.
const MaxName = 40

// ErrName is returned for a malformed name, and describes a valid one.
var ErrName = fmt.Errorf("a name consists of 1 to %d lower-case letters a to z and digits, with single hyphens between them, as in st-olav-2", MaxName)

// A Name identifies a party within a study. Its characters are safe in paths, URIs and log lines.
// Names that look alike have the same [Name.Skeleton].
type Name string

// ParseName returns the text as a Name. For a malformed name it returns ErrName, which does not
// quote the input.
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

// Skeleton returns a form of the name that names which look alike have in common, such as
// "clinic-1" and "clinic-l". The parties of one study have different skeletons.
func (n Name) Skeleton() string { return alikePairs.Replace(alike.Replace(string(n))) }

// A Role determines the rights of a party.
type Role uint8

// These are the roles of parties. The zero Role has no rights.
const (
	Client      Role = 1 // holds records and answers plans
	Coordinator Role = 2 // sends the plans; every study has exactly one
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
