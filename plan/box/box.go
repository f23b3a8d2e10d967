// Package box runs a program so that it reaches nothing but one server: in Linux namespaces of its own, without a network, with read-only
// files, and with few environment variables.
package box

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Server is the address of the server in the box.
const Server = "http://127.0.0.1:6443"

// port is the address of [Server] without the scheme.
const port = "127.0.0.1:6443"

// Inspector is the address in the box at which the program can be asked, through the socket of [Spec].Inspector.
const Inspector = "127.0.0.1:6444"

// Spec describes a program and its surroundings.
type Spec struct {
	// Path and Args are the program and its arguments, without its name. Dir is its current folder.
	Path string
	Args []string
	Dir  string

	// Socket is the path of the Unix socket of the server. In the box, the server has the address [Server].
	Socket string

	// Inspector is the path at which a Unix socket is made that leads to the address [Inspector] in the box. May be empty.
	Inspector string

	// Shared is the only folder of the machine that the program can write to. Visible are folders that the program can read, even
	// inside of an emptied folder such as /tmp. One of them has the socket of the server.
	Shared  string
	Visible []string

	// Hidden are files and folders that are empty in the box, such as the user's kubeconfig. Missing ones are ignored.
	Hidden []string

	// Env are the only environment variables of the program, besides HOME and TMPDIR.
	Env []string

	Stdout, Stderr io.Writer
}

// UnavailableError means that this machine cannot make boxes.
type UnavailableError struct{ Reason string }

// Error implements the error interface.
func (e *UnavailableError) Error() string {
	return "this machine cannot make a box without a network: " + e.Reason
}

// passed are the variables of this process that the program gets by default.
var passed = []string{"PATH", "LANG", "TZ"}

// Environment returns the allowed variables of an environment: [passed], and the named ones. It returns an error if a named variable is
// not set.
func Environment(environ, named []string) ([]string, error) {
	var kept []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains(passed, name) || slices.Contains(named, name) {
			kept = append(kept, variable)
		}
	}
	for _, name := range named {
		if !slices.ContainsFunc(kept, func(variable string) bool { return strings.HasPrefix(variable, name+"=") }) {
			return nil, fmt.Errorf("the environment variable %s is not set", name)
		}
	}
	return kept, nil
}

// Process is a running program. It ends with this process.
type Process struct {
	kill func()
	term func()
	done chan struct{}
	err  error // set before done is closed
}

// Done returns a channel that is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns the error of the ended program; nil if it ended with the code 0.
func (p *Process) Err() error { return p.err }

// Stop asks the program to end, and kills it after the grace period, with all processes that it started.
func (p *Process) Stop(grace time.Duration) {
	p.term()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.kill()
	<-p.done
}

// exists reports whether a path exists, so that it can be hidden.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
