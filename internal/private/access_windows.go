package private

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/windows"
)

// Exposed describes which other users can access a file or directory, and how to prevent that. Both
// texts are "" if only this user, the system and the administrators have access.
func Exposed(path string, info fs.FileInfo) (access, remedy string, err error) {
	self, err := user()
	if err != nil {
		return "", "", err
	}
	descriptor, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return "", "", fmt.Errorf("reading the access rights of %s: %w", path, err)
	}
	found, err := outsiders(descriptor.String(), self)
	if err != nil || len(found) == 0 {
		return "", "", err
	}
	inherit := ""
	if info.IsDir() {
		inherit = "(OI)(CI)"
	}
	return "access for " + strings.Join(found, ", "), fmt.Sprintf(`icacls "%s" /inheritance:r /grant:r *%s:%sF`, path, self, inherit), nil
}

// exposedGrant is like Exposed, because on Windows no group may read a private file.
func exposedGrant(path string, info fs.FileInfo) (access, remedy string, err error) {
	return Exposed(path, info)
}

// user returns the security identifier of the user who runs this process.
func user() (string, error) {
	u, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", fmt.Errorf("finding the user of this process: %w", err)
	}
	return u.User.Sid.String(), nil
}

// Mkdir makes a directory that only this user, the system and the administrators can enter. Files
// in it inherit its access rules. If it exists, the error is fs.ErrExist.
func Mkdir(dir string) error {
	self, err := user()
	if err != nil {
		return err
	}
	descriptor, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;" + self + ")")
	if err != nil {
		return err
	}
	list, _, err := descriptor.DACL()
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, dirMode); err != nil {
		return err
	}
	return windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, list, nil)
}
