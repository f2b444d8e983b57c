//go:build !unix || solaris || aix || android

package durable

import "os"

func unlock(*os.File) {}
