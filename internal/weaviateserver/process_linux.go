package weaviateserver

import "syscall"

// dieWithParent makes the server end when this process does, however it ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
