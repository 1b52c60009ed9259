//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpu is the processor time of this process, 0 where it cannot be asked.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
