//go:build !linux

package ledger

// networkFileSystem cannot tell on this system.
func networkFileSystem(string) string { return "" }
