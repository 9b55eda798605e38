//go:build !linux

package terminal

// Conceal keeps commands from reading this process's environment and memory. There is nothing to do: /proc is Linux's.
func Conceal() error { return nil }
