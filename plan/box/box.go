// Package box runs a program in a box, in which it can reach only one server. The program has separate Linux namespaces without a
// network, read-only files, and few environment variables.
package box

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Server is the URL at which the program in the box reaches the server.
const Server = "http://127.0.0.1:6443"

// port is the address of [Server] without the scheme.
const port = "127.0.0.1:6443"

// Inspector is the address in the box at which the program must serve its inspector. The socket of [Spec].Inspector leads to it.
const Inspector = "127.0.0.1:6444"

// Spec describes a program and its box.
type Spec struct {
	// Path and Args are the program and its arguments, without the name of the program. Dir is its working directory. Name is the name that
	// the program sees; defaults to "operator".
	Path string
	Name string
	Args []string
	Dir  string

	// Socket is the path of the Unix socket of the server. In the box, the program reaches the server at the address [Server].
	Socket string

	// Inspector is the path of a Unix socket to create, whose connections lead to the address [Inspector] in the box. If it is empty,
	// no socket is created.
	Inspector string

	// Shared is the only folder of the machine that the program can write to. Visible are folders that the program can read, even
	// inside of an emptied folder such as /tmp. One of Shared and Visible must contain the socket of the server.
	Shared  string
	Visible []string

	// Emptied are additional folders that are empty in the box, except for Shared and Visible, such as the home folder of the user.
	// Folders that do not exist are ignored.
	Emptied []string

	// Hidden are files and folders that are empty in the box, such as the user's kubeconfig. Paths that do not exist are ignored.
	Hidden []string

	// Env are the only environment variables of the program, besides HOME and TMPDIR.
	Env []string

	Stdout, Stderr io.Writer
}

// UnavailableError is the error of a machine that does not support boxes.
type UnavailableError struct{ Reason string }

// Error implements the error interface.
func (e *UnavailableError) Error() string {
	return "this machine cannot make a box without a network: " + e.Reason
}

// name returns the name that the program sees.
func (s *Spec) name() string { return cmp.Or(s.Name, "operator") }

// passed are the environment variables that the program inherits by default.
var passed = []string{"PATH", "LANG", "TZ"}

// Environment returns the allowed variables of an environment: [passed], and the given names. It returns an error if a named variable is
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
	err  error // error of the ended program, set before done is closed
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
