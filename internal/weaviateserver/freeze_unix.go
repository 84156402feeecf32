//go:build unix

package weaviateserver

import "syscall"

// Freeze stops the server in its tracks: it takes connections and answers
// nothing, until Thaw.
func (s *Server) Freeze() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
