package box

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// The names under which this program starts itself in a box.
const (
	initName = "kopf-box-init" // makes the box, and waits for the program
	execName = "kopf-box-exec" // gives up all privileges and other sockets, and becomes the program
	openName = "kopf-box-open" // the same with all sockets, for tests
)

// namespaces are the walls: nothing but the sockets of the shared folder leads out of them.
const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC

// plan is the description of a box for the process that makes it. The environment is the process's own.
type plan struct {
	Path, Dir, Socket, Inspector, Shared string

	Args, Visible, Hidden []string

	Try  bool // only make the box
	Open wall // only tests set it
}

// wall is a wall of the box that a test leaves out, to see the way out that the wall closes.
type wall string

const (
	wallNetwork    wall = "network"
	wallFiles      wall = "files"      // files are read-only
	wallFolders    wall = "folders"    // folders with sockets are empty
	wallHidden     wall = "hidden"     // files of the caller are empty
	wallDevices    wall = "devices"    // there are no devices
	wallSockets    wall = "sockets"    // sockets are of the network of the box
	wallPrivileges wall = "privileges" // the program cannot change the box
)

// Main runs the parts of the box that are processes of this program. It must be the first call of main, and returns in a process that is
// none of them.
func Main() {
	switch os.Args[0] {
	case initName:
		os.Exit(initMain(os.Args[1:]))
	case execName:
		os.Exit(execMain(os.Args[1:], limitSockets))
	case openName:
		os.Exit(execMain(os.Args[1:], func() error { return nil }))
	}
}

// Check returns an [*UnavailableError] if this machine cannot make boxes.
func Check(shared string) error {
	var output bytes.Buffer
	p, err := launch(plan{Shared: shared, Dir: shared, Try: true}, nil, &output, &output)
	if err != nil {
		return err
	}
	<-p.Done()
	return p.Err()
}

// Start starts a program in a box.
func Start(s Spec) (*Process, error) {
	return launch(planOf(s), s.Env, s.Stdout, s.Stderr)
}

func planOf(s Spec) plan {
	return plan{
		Path: s.Path, Args: s.Args, Dir: s.Dir, Socket: s.Socket, Inspector: s.Inspector, Shared: s.Shared, Visible: s.Visible, Hidden: s.Hidden,
	}
}

// launch starts the process that makes the box, and returns when the box is made.
func launch(p plan, env []string, stdout, stderr io.Writer) (*Process, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("describe the box: %w", err)
	}
	ready, made, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a box: %w", err)
	}
	defer func() { _ = ready.Close() }()
	cmd := exec.Command("/proc/self/exe", string(text))
	cmd.Args[0], cmd.Dir = initName, "/"
	cmd.Env = append(env, "HOME="+home, "TMPDIR="+tmp)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdout, stderr, []*os.File{made}
	flags := uintptr(namespaces)
	if p.Open == wallNetwork {
		flags &^= syscall.CLONE_NEWNET
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		// In the session of the user's terminal, the program could write commands for the user's shell on the terminal.
		Setsid: true,
	}
	guard, err := cmd.StdinPipe() // closes when this process ends, even if it is killed
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = made.Close()
		return nil, unavailable(err)
	}
	_ = made.Close()
	box := &Process{
		done: make(chan struct{}),
		kill: func() { _ = cmd.Process.Kill() }, // an error means that it has ended
		term: func() { _ = cmd.Process.Signal(syscall.SIGTERM) },
	}
	go func() {
		defer close(box.done)
		box.err = cmd.Wait()
		_ = guard.Close()
	}()
	said, err := io.ReadAll(ready)
	if err == nil && string(said) == isMade {
		return box, nil
	}
	box.kill()
	<-box.done
	if err == nil {
		err = errors.New(strings.TrimSpace(string(said)))
	}
	return nil, unavailable(err)
}

// unavailable explains why a box cannot be made.
func unavailable(err error) error {
	reason := err.Error()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) || strings.Contains(reason, "not permitted") ||
		strings.Contains(reason, "permission denied") {
		reason = "user namespaces are not allowed here, as in containers and on Ubuntu: " + reason
	}
	return &UnavailableError{Reason: reason}
}
