//go:build !unix

package execjob

import "os/exec"

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// killGroup kills the command alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
