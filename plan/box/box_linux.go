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
	initName = "kopf-box-init" // first process: makes the box, and waits for the program
	execName = "kopf-box-exec" // second process: drops its privileges, limits its sockets, and executes the program
	openName = "kopf-box-open" // like execName, but permits all sockets; only for tests
)

// namespaces are the new namespaces of the box. Only a Unix socket whose file is visible in the box leads out of them.
const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC

// plan is the description of a box for the process that makes it. The environment of the process is the program's environment.
type plan struct {
	Path, Name, Dir, Socket, Inspector, Shared string

	Args, Visible, Emptied, Hidden []string

	Try  bool // make the box, but run no program
	Open wall // wall to leave out; only set by tests
}

// wall is a protection of the box. A test leaves it out to prove that the program could leave the box without it.
type wall string

const (
	wallNetwork    wall = "network"
	wallFiles      wall = "files"      // files are read-only
	wallFolders    wall = "folders"    // folders with sockets of the machine are empty
	wallHome       wall = "home"       // the home folder of the caller is empty
	wallHidden     wall = "hidden"     // the files in Spec.Hidden are empty
	wallDevices    wall = "devices"    // only the devices that programs need exist
	wallSockets    wall = "sockets"    // only sockets of the box's network can be created
	wallPrivileges wall = "privileges" // the program has no capabilities to change the box
)

// Main runs a process of a box, and exits, if [Start] started this process as a part of a box. Otherwise, it returns at once. It must be
// the first call of main.
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
		Path: s.Path, Name: s.name(), Args: s.Args, Dir: s.Dir, Socket: s.Socket, Inspector: s.Inspector, Shared: s.Shared, Visible: s.Visible, Emptied: s.Emptied, Hidden: s.Hidden,
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
		kill: func() { _ = cmd.Process.Kill() }, // an error means that the process has ended
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
