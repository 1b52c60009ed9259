package bench

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// machine is how long the processors of the machine were busy since its start, to a
// hundredth of a second; 0 where it cannot be asked.
func machine() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	busy := int64(0)
	for i, field := range strings.Fields(first) { // "cpu", user, nice, system, idle, iowait, irq, softirq, steal ...
		if ticks, err := strconv.ParseInt(field, 10, 64); err == nil && i != 4 && i != 5 && i < 8 {
			busy += ticks
		}
	}
	return time.Duration(busy) * 10 * time.Millisecond
}
