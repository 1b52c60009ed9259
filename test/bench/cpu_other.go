//go:build !unix

package bench

import "time"

// cpu is not asked here.
func cpu() time.Duration { return 0 }
