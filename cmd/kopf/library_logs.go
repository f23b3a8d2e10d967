package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// libraryLogs prints what libraries log in this process, which may contain what servers sent. It
// prints nothing while the workbench has the terminal.
type libraryLogs struct {
	w       io.Writer
	hidden  atomic.Bool
	verbose atomic.Bool // print the log of k3d

	mu     sync.Mutex
	warned map[string]bool
}

var libraries = &libraryLogs{warned: make(map[string]bool)}

// redirect prints the logs of the libraries to a writer. It applies to the whole process.
func (l *libraryLogs) redirect(w io.Writer) {
	l.w = w
	klog.LogToStderr(false)
	klog.SetOutput(l)
	rest.SetDefaultWarningHandler(l)
}

// hideWhile prints nothing until show, which has the terminal, returns. It returns the error of show.
func (l *libraryLogs) hideWhile(show func() error) error {
	l.hidden.Store(true)
	defer l.hidden.Store(false)
	return show()
}

// Write takes a message of klog.
func (l *libraryLogs) Write(message []byte) (int, error) {
	if !l.hidden.Load() {
		fmt.Fprintln(l.w, printable.Paragraph(string(message)))
	}
	return len(message), nil
}

// k3dLine takes a line of the log of k3d.
func (l *libraryLogs) k3dLine(line string) {
	if l.verbose.Load() && !l.hidden.Load() {
		fmt.Fprintf(l.w, "k3d: %s\n", printable.Line(line))
	}
}

// maxWarnings limits the number of remembered warnings.
const maxWarnings = 256

// HandleWarningHeader implements [rest.WarningHandler]. It prints each warning once, because API
// servers repeat them with every request.
func (l *libraryLogs) HandleWarningHeader(code int, _, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if code != 299 || l.warned[text] || l.hidden.Load() || len(l.warned) >= maxWarnings {
		return
	}
	l.warned[text] = true
	fmt.Fprintf(l.w, "kopf: the API server warns: %s\n", printable.Line(text))
}
