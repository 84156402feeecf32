//go:build !linux

package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

var errNeedsLinux = fmt.Errorf("CPU time and memory of another process are read from Linux: %w", errors.ErrUnsupported)

func dieWithParent() *syscall.SysProcAttr { return nil }

func cpuTime(int) (time.Duration, error) { return 0, errNeedsLinux }

func residentMemory(int) (int64, error) { return 0, errNeedsLinux }

func children(int) []int { return nil }

func openFiles(int) (int, error) { return 0, errNeedsLinux }

func cpuModel() string { return "" }
