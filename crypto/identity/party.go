package identity

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the longest name in bytes.
const MaxName = 40

// ErrName says what names are made of.
var ErrName = fmt.Errorf("a name has 1 to %d lower-case letters a to z and digits, with single hyphens between them, as in st-olav-2", MaxName)

// A Name is what people call a party in a study. It can stand in a path, a URI and a
// line of a log without harm, and two names that are alike to the eye have one Skeleton.
type Name string

// ParseName refuses what ErrName does not describe. The text is not part of the error.
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

// Skeleton returns what the eye sees of a name. Two parties of one study must not have
// the same: a study with "clinic-1" has no "clinic-l".
func (n Name) Skeleton() string { return alikePairs.Replace(alike.Replace(string(n))) }

// A Role is what a party may do.
type Role uint8

// The roles. The zero Role may do nothing.
const (
	Client      Role = 1 // holds data and answers rounds
	Coordinator Role = 2 // runs the rounds, one in a study
	Admin       Role = 3 // gives orders to a coordinator
)

var roles = map[Role]string{Client: "client", Coordinator: "coordinator", Admin: "admin"}

// Valid reports whether there is such a role.
func (r Role) Valid() bool { return roles[r] != "" }

// String returns the name of the role.
func (r Role) String() string {
	if name, ok := roles[r]; ok {
		return name
	}
	return "no role"
}

// ParseRole is the inverse of String.
func ParseRole(text string) (Role, error) {
	for r, name := range roles {
		if name == text {
			return r, nil
		}
	}
	return 0, errors.New("the roles are client, coordinator and admin")
}
