//go:build !windows

package main

// platform has the commands that exist only on this operating system. There are none.
type platform struct{}
