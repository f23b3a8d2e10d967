package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// grace is how long a program may take to stop.
const grace = 20 * time.Second

// program configures a process.
type program struct {
	path  string
	args  []string
	dir   string
	env   []string
	line  func(string) // called with each line of both output streams; may be nil
	quiet bool         // write standard error to the log file only
}

// process is a running program.
type process struct {
	began time.Time
	cmd   *exec.Cmd
	guard io.Closer
	log   *os.File
	done  chan struct{}
	err   error // valid after done
}

// start starts a program in its own process group, so that an interrupt of the terminal reaches
// only this program, which stops it.
func (l *environment) start(ctx context.Context, p program) (*process, error) {
	log, err := os.CreateTemp(l.dir, filepath.Base(p.path)+"-*.log")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	guard, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	cmd.Stdout, cmd.Stderr = in, in
	if p.quiet {
		cmd.Stderr = log
	}
	began := time.Now()
	err = errors.Join(cmd.Start(), in.Close())
	if err != nil {
		return nil, errors.Join(err, out.Close(), log.Close())
	}
	run := &process{began: began, cmd: cmd, guard: guard, log: log, done: make(chan struct{})}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if p.line != nil {
				p.line(lines.Text())
			}
			if !p.quiet {
				fmt.Fprintln(log, lines.Text())
			}
		}
	})
	go func() {
		defer close(run.done)
		run.err = cmd.Wait()
		reading.Wait()
		run.err = errors.Join(run.err, out.Close(), log.Close())
	}()
	return run, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// wait waits for the exit of the program and returns its error.
func (p *process) wait() error {
	<-p.done
	return p.explain()
}

// within waits until done is closed. It fails if the program exits or the limit passes first.
func (p *process) within(ctx context.Context, limit time.Duration, what string, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-p.done:
		return errors.Join(fmt.Errorf("%s: the program has exited", what), p.explain())
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
		return fmt.Errorf("%s: not done within %s", what, limit)
	}
}

// stop stops the program and returns how long that took.
func (p *process) stop() (time.Duration, error) {
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, err
	}
	select {
	case <-p.done:
	case <-time.After(grace):
		return 0, errors.Join(fmt.Errorf("%s does not stop; killing it", p.cmd.Path), p.cmd.Process.Kill())
	}
	took := time.Since(began)
	if err := p.explain(); err != nil {
		return 0, err
	}
	return took, nil
}

// explain returns the error of the program with the last lines of its log.
func (p *process) explain() error {
	if p.err == nil {
		return nil
	}
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return errors.Join(p.err, err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s: %w:\n%s", filepath.Base(p.cmd.Path), p.err, strings.Join(lines[max(0, len(lines)-10):], "\n"))
}
