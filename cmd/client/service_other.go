//go:build !windows

package main

// platform has the commands of this operating system alone.
type platform struct{}
