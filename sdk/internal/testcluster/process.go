package testcluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const startTimeout = time.Minute

// Process is a control plane that runs.
type Process struct {
	config *rest.Config
	cmd    *exec.Cmd
	stdin  io.Closer
}

// Config is how to connect, in the role of an administrator. It is the caller's own copy.
func (p *Process) Config() *rest.Config { return rest.CopyConfig(p.config) }

// shared is the control plane of this test binary.
var shared struct {
	sync.Mutex
	begun   bool
	process *Process
	err     error
}

// Shared returns the control plane of this test binary, which is started if nobody did
// yet. An attempt that has failed is not repeated.
func Shared() (*Process, error) {
	shared.Lock()
	defer shared.Unlock()
	if !shared.begun {
		shared.begun = true
		shared.process, shared.err = Start("--ephemeral")
	}
	return shared.process, shared.err
}

// StopShared ends the control plane of this test binary, if it was started. It would end
// anyway; this waits until it has.
func StopShared() error {
	shared.Lock()
	defer shared.Unlock()
	process := shared.process
	shared.begun, shared.process, shared.err = false, nil, nil
	if process == nil {
		return nil
	}
	return process.Stop()
}

// Start starts one more control plane, with arguments of the program.
func Start(args ...string) (*Process, error) {
	program, err := Find()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(args, "--guard")...)
	stdin, err := cmd.StdinPipe() // its end is the guard's signal, also if this process is killed
	if err != nil {
		return nil, fmt.Errorf("guard of the control plane: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("output of the control plane: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	p := &Process{cmd: cmd, stdin: stdin}
	hung := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Kill() }) // if it has ended by then, so be it
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	hung.Stop()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s ended, or was stopped after %s, without a word: %w", program, startTimeout, err), p.Stop())
	}
	if p.config, err = configOf(program, line); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// configOf reads the line that the program prints when it is usable, or has failed.
func configOf(program string, line []byte) (*rest.Config, error) {
	var ready struct{ Kubeconfig, Error string }
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, fmt.Errorf("%s does not speak as expected, build it anew: %w: %s", program, err, line)
	}
	if ready.Error != "" {
		return nil, fmt.Errorf("%s: %s", program, ready.Error)
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of the control plane: %w", err)
	}
	return config, nil
}

// Stop ends the control plane and waits until it has ended.
func (p *Process) Stop() error {
	if err := p.stdin.Close(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the control plane ended badly: %w", err)
	}
	return nil
}
