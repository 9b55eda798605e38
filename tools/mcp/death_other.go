//go:build !linux

package mcp

import "syscall"

// dieWithParent does nothing: a program whose standard input ends is expected to end by itself.
func dieWithParent(*syscall.SysProcAttr) {}
