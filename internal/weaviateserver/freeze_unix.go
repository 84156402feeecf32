//go:build unix

package weaviateserver

import "syscall"

// Freeze stops the server in its tracks: it takes connections and answers
// nothing, until Thaw.
func (s *Server) Freeze() error {
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	// The signal is sent at once, and the threads stop one after the other.
	var status syscall.WaitStatus
	_, err := syscall.Wait4(s.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	return err
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
