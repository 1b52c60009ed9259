//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is the processor time of this process, 0 where it cannot be asked.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
