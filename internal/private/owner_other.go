//go:build !unix

package private

import "io/fs"

// belongsToRoot reports whether root owns a file. This system has no root.
func belongsToRoot(fs.FileInfo) bool { return false }
