package kopf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Environment variables of a program that "kopf dev" or "kopf run" started.
const (
	// noteVariable is the path of the file in which the program records its start and its end. If the record of the end is
	// missing, "kopf run" reports that the program crashed or called os.Exit.
	noteVariable = "KOPF_EXIT_NOTE"

	// wayInVariable is set if the parent process can open a tunnel for webhooks. A program with admission handlers requests
	// the tunnel in the file and exits; the parent process starts it again with the webhook flags.
	wayInVariable = "KOPF_WAY_IN"
)

// errWayInWanted is the error of a program that exits to request a tunnel. The parent process does not report it.
var errWayInWanted = errors.New("the admission handlers need a tunnel")

// exitNote is the file in which the program records its state. The zero value records nothing.
type exitNote struct {
	path   string
	stderr io.Writer
	last   string
}

// noteRunning records that the program runs.
func noteRunning(stderr io.Writer) *exitNote {
	n := &exitNote{path: os.Getenv(noteVariable), stderr: stderr}
	n.write("running")
	_ = os.Unsetenv(noteVariable) // child processes must not inherit it; Unsetenv cannot fail for a valid name
	return n
}

// ended records the end of the program. It can be called several times.
func (n *exitNote) ended() {
	if n.last == "running" {
		n.write("ended")
	}
}

// wantsWayIn records that the program exits because it needs a tunnel.
func (n *exitNote) wantsWayIn() { n.write("wants a way in") }

func (n *exitNote) write(state string) {
	n.last = state
	if n.path == "" {
		return
	}
	if err := os.WriteFile(n.path, []byte(state), 0o600); err != nil {
		fmt.Fprintf(n.stderr, "cannot note that the operator is %s: %v\n", state, err)
	}
}

// wantsWayIn reports whether the program must request a tunnel from its parent process.
func (f *mainFlags) wantsWayIn(r *handlers.Registry) bool {
	return os.Getenv(wayInVariable) != "" && f.admission.server == nil && slices.ContainsFunc(r.All(), func(h *handlers.Handler) bool {
		return h.Family == handlers.Validate || h.Family == handlers.Mutate
	})
}
