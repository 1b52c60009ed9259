package execjob

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
)

const (
	maxTimeout = 7 * 24 * time.Hour
	usage      = "give a JSON object with command, and if wanted args, dir, env, stdin, timeout"
)

// args is what a job says, as JSON. Unknown fields are refused.
type args struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Dir     string            `json:"dir"`
	Env     map[string]string `json:"env"`
	Stdin   string            `json:"stdin"`
	Timeout domain.Span       `json:"timeout"`
}

// parseArgs reads and checks args. Its faults name the field and never its value.
func parseArgs(text []byte) (*args, error) {
	var a args
	if err := domain.DecodeStrict(Kind, "args", text, &a, usage); err != nil {
		return nil, err
	}
	if a.Command == "" {
		return nil, badArg("command", "it is missing")
	}
	if d := time.Duration(a.Timeout); d != 0 && (d < time.Millisecond || d > maxTimeout) {
		return nil, badArg("timeout", fmt.Sprintf("it must be from 1ms to %v", maxTimeout))
	}
	for name := range a.Env {
		if name == "" || strings.Contains(name, "=") {
			return nil, badArg("env."+domain.CleanText(name, 60), "it is not a variable's name")
		}
	}
	return &a, nil
}

func badArg(field, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: Kind, Subject: "args." + field, Hint: hint}
}
