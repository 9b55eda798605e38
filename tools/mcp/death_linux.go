package mcp

import "syscall"

// dieWithParent has the kernel kill a program if this process is killed.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
