//go:build cuda && emulator

package driver

/*
#include "loader.h"

static void take(void *find) { fedpvi_resolve((void *(*)(const char *))find); }
*/
import "C"

import "unsafe"

// Resolve takes the driver's calls from a C function void *find(const char *symbol), which
// gets the symbols that calls.h lists and returns NULL for those that it does not have. It
// comes before any other call of this package.
func Resolve(find unsafe.Pointer) { C.take(find) }
