//go:build !unix || solaris || aix || android

package durable

import (
	"errors"
	"os"
)

func lock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
