//go:build !linux

package weaviateserver

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
