package audit

import (
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// User describes the process that gave an order: the name and number of its user, the number of the
// process, and the user who logged in to its session, which is another one after sudo. It leaves
// out the last if the system's audit (auditd, pam_loginuid) does not record it.
func User(uid, pid int) []slog.Attr {
	all := []slog.Attr{slog.String("user", userName(uid)), slog.Int("uid", uid), slog.Int("pid", pid)}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/loginuid")
	if uid, ok := loggedIn(string(text)); err == nil && ok {
		all = append(all, slog.String("login", userName(uid)))
	}
	return all
}

// loggedIn parses the text of a loginuid file (see proc(5)) and returns the user, if there is one.
func loggedIn(loginuid string) (uid int, ok bool) {
	const unset = 1<<32 - 1
	n, err := strconv.ParseUint(strings.TrimSpace(loginuid), 10, 32)
	return int(n), err == nil && n != unset
}

// userName returns the name of a user, or the number if there is no name.
func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}
