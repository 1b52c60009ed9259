package main

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// One request to stop may arrive as several signals at once; only a later one ends
// the process.
func TestEchoesOfASignalAreNoSecondOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		var first, second int
		go heed(signals, time.Now, func() { first++ }, func() { second++ })
		signals <- os.Interrupt
		signals <- os.Interrupt
		time.Sleep(echo - time.Millisecond)
		signals <- os.Kill
		synctest.Wait()
		if first != 1 || second != 0 {
			t.Fatalf("stopped %d times, ended %d times", first, second)
		}
		time.Sleep(time.Millisecond)
		signals <- os.Interrupt
		synctest.Wait()
		if first != 1 || second != 1 {
			t.Fatalf("a second signal: stopped %d times, ended %d times", first, second)
		}
	})
}
