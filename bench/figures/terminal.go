package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The size of the terminal.
const (
	terminalWidth  = 120
	terminalHeight = 40
)

// keyLimit is how long the answer to a key may take.
const keyLimit = 10 * time.Second

// terminal is a pseudo-terminal with a program in it, and the screen that its user sees.
type terminal struct {
	cmd    *exec.Cmd
	master *os.File

	mu      sync.Mutex
	screen  *screen
	wanted  func(*screen) bool // condition of the wait; nil if no wait is in progress
	seen    chan time.Time     // has room for one
	failure error

	read chan struct{} // closed when the program has closed the terminal
}

// openTerminal starts a program in a terminal of its own. It must be closed.
func openTerminal(ctx context.Context, p program) (*terminal, error) {
	master, slave, err := openPair()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	t := &terminal{
		master: master, screen: newScreen(terminalWidth, terminalHeight),
		seen: make(chan time.Time, 1), read: make(chan struct{}),
	}
	t.cmd = exec.CommandContext(ctx, p.path, p.args...)
	t.cmd.Dir, t.cmd.Env = p.dir, append(os.Environ(), p.env...)
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, slave
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	t.cmd.Cancel = func() error { return t.cmd.Process.Signal(syscall.SIGTERM) }
	t.cmd.WaitDelay = grace
	if err := errors.Join(t.cmd.Start(), slave.Close()); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	go t.watch()
	return t, nil
}

// openPair opens both sides of a pseudo-terminal.
func openPair() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: terminalHeight, Col: terminalWidth})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}

// watch writes the program's output to the screen, and records the time when the awaited condition holds.
func (t *terminal) watch() {
	defer close(t.read)
	text := make([]byte, 64<<10)
	for {
		n, err := t.master.Read(text)
		at := time.Now()
		if err != nil { // EIO: the program has closed its side
			return
		}
		if err := t.show(text[:n], at); err != nil {
			return
		}
	}
}

func (t *terminal) show(text []byte, at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.screen.Write(text); err != nil {
		return err
	}
	if t.screen.unknown != "" {
		t.failure = fmt.Errorf("the terminal does not know %s", t.screen.unknown)
		return t.failure
	}
	if t.wanted != nil && !t.screen.updating && t.wanted(t.screen) {
		t.wanted = nil
		t.seen <- at
	}
	answer := t.screen.answer
	t.screen.answer = nil
	if len(answer) == 0 {
		return nil
	}
	_, err := t.master.Write(answer)
	return err
}

// look calls a function with the screen.
func (t *terminal) look(at func(*screen)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at(t.screen)
}

// press writes a key, and returns how long it took until the screen showed the expected content. It fails if the
// screen shows it already, because then nothing would be measured.
func (t *terminal) press(ctx context.Context, k key) (time.Duration, error) {
	already := false
	t.look(func(s *screen) {
		if already = k.shows(s); !already {
			t.wanted = k.shows
		}
	})
	if already {
		return 0, fmt.Errorf("before the key %q, the screen already shows its effect:\n%s", k.text, t)
	}
	began := time.Now()
	if _, err := t.master.WriteString(k.text); err != nil {
		return 0, err
	}
	at, err := t.await(ctx, keyLimit, fmt.Sprintf("the effect of the key %q", k.text))
	return at.Sub(began), err
}

// waitFor waits until the screen shows the expected content.
func (t *terminal) waitFor(ctx context.Context, limit time.Duration, what string, shows func(*screen) bool) error {
	shown := false
	t.look(func(s *screen) {
		if shown = shows(s); !shown {
			t.wanted = shows
		}
	})
	if shown {
		return nil
	}
	_, err := t.await(ctx, limit, what)
	return err
}

func (t *terminal) await(ctx context.Context, limit time.Duration, what string) (time.Time, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case at := <-t.seen:
		return at, nil
	case <-t.read:
		return time.Time{}, errors.Join(fmt.Errorf("%s: the program has left the terminal:\n%s", what, t), t.failed())
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	case <-timer.C:
		return time.Time{}, fmt.Errorf("%s: not on the screen within %s:\n%s", what, limit, t)
	}
}

func (t *terminal) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure
}

// String returns the text of the screen.
func (t *terminal) String() (text string) {
	t.look(func(s *screen) { text = s.String() })
	return text
}

func (t *terminal) pid() int { return t.cmd.Process.Pid }

// close ends the program, as the end of a terminal does, and waits for it.
func (t *terminal) close() error {
	err := t.cmd.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	ended := make(chan error, 1)
	go func() { ended <- t.cmd.Wait() }()
	select {
	case exit := <-ended:
		// 143 is the exit code of a program that was ended by SIGTERM.
		if failed, ok := errors.AsType[*exec.ExitError](exit); exit != nil && (!ok || failed.ExitCode() != 128+int(syscall.SIGTERM)) {
			err = errors.Join(err, fmt.Errorf("%s: %w", filepath.Base(t.cmd.Path), exit))
		}
	case <-time.After(grace):
		err = errors.Join(err, fmt.Errorf("%s does not end; killing it", filepath.Base(t.cmd.Path)), t.cmd.Process.Kill())
	}
	return errors.Join(err, t.master.Close())
}
