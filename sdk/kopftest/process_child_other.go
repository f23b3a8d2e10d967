//go:build !unix

package kopftest

import (
	"os"
	"os/exec"
)

// This platform cannot freeze processes, so [startChild] fails.
const canFreeze = false

var stopSignal, continueSignal = os.Interrupt, os.Interrupt

func awaitExit(cmd *exec.Cmd, _ func()) error { return cmd.Wait() }

func dieWithTests(*exec.Cmd) {}

func closeOnExec(int) {}
