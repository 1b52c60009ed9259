package main

import (
	"github.com/rowlock/rowlock/adapters/driving/cli"
	"github.com/rowlock/rowlock/bootstrap/config"
)

// configOf reads the file that a worker was given, if any.
func configOf(w *cli.WorkSettings) (config.File, error) {
	if w == nil || w.Config == "" {
		return config.File{}, nil
	}
	return config.Load(w.Config)
}
