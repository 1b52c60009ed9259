package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driving/cli"
)

func TestTourAddsUpOnEveryStore(t *testing.T) {
	for name, dsn := range map[string]string{"throw-away file": "", "memory": "memory:", "own file": "sqlite:" + t.TempDir() + "/own.db"} {
		t.Run(name, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			var lines []string
			got, err := demo(t.Context(), cli.Settings{Store: dsn}, func(line string) { lines = append(lines, line) })
			if err != nil {
				t.Fatal(err)
			}
			want := cli.DemoReport{
				Enqueued: welcomes + 2*signups + thumbnails + payments + webhooks + reports + surveys + 1 + reminders + importsLost + letters + bounces + 1 + got.Ticks,
				Dead:     webhooks + bounces, Cancelled: surveys + reminders/2, Waiting: reminders - reminders/2,
				Existing: 2, Retried: got.Retried, Stalled: importsLost, Ticks: got.Ticks, Seconds: got.Seconds,
			}
			want.Done = want.Enqueued - want.Dead - want.Cancelled - want.Waiting
			if got != want || got.Retried == 0 || got.Ticks < beats {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if text := strings.Join(lines, "\n"); strings.Count(text, "\n") < 10 || !strings.Contains(text, "the other side refused") || !strings.Contains(text, "its callback ran once") {
				t.Errorf("it told:\n%s", text)
			}
			if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
