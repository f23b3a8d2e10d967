package testcluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const startTimeout = time.Minute

// Process is a running control plane.
type Process struct {
	config *rest.Config
	cmd    *exec.Cmd
	stdin  io.Closer
}

// Config returns a copy of the configuration for an administrator.
func (p *Process) Config() *rest.Config { return rest.CopyConfig(p.config) }

// start starts a control plane with arguments for its program.
func start(args ...string) (*Process, error) {
	program, err := findProgram()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(args, "--guard")...)
	stdin, err := cmd.StdinPipe() // the program ends when it is closed, even if this process is killed
	if err != nil {
		return nil, fmt.Errorf("open the input of the control plane: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open the output of the control plane: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	p := &Process{cmd: cmd, stdin: stdin}
	hung := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Kill() }) // it fails if the process has ended
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	hung.Stop()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s ended, or was killed after %s, without output: %w", program, startTimeout, err), p.Stop())
	}
	if p.config, err = configOf(program, line); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// configOf parses the line that the program prints when it is ready or has failed.
func configOf(program string, line []byte) (*rest.Config, error) {
	var ready struct{ Kubeconfig, Error string }
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, fmt.Errorf("%s: unexpected output, rebuild the program: %w: %s", program, err, line)
	}
	if ready.Error != "" {
		return nil, fmt.Errorf("%s: %s", program, ready.Error)
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the control plane: %w", err)
	}
	return config, nil
}

// Stop stops the control plane and waits for its end.
func (p *Process) Stop() error {
	if err := p.stdin.Close(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	return nil
}
