//go:build !linux

package terminal

import "errors"

// ConfineCommand is the argument for Confine.
const ConfineCommand = "confine"

var errLinux = errors.New("it is for Linux only")

func newLandlock([]string) (Sandbox, error) { return Sandbox{}, errLinux }

// Confine exists on Linux only.
func Confine([]string) error { return errLinux }
