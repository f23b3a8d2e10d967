//go:build !unix

package kopftest

import (
	"os"
	"os/exec"
)

// Nothing can be frozen here: [startChild] fails.
const canFreeze = false

var stopSignal, continueSignal = os.Interrupt, os.Interrupt

func awaitExit(cmd *exec.Cmd, _ func()) error { return cmd.Wait() }

func dieWithTests(*exec.Cmd) {}

func closeOnExec(int) {}
