package kopf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// The environment of a program that "kopf dev" or "kopf run" has started.
const (
	// noteVariable names the file in which the program notes that it runs, and later that it ended. Without the
	// second note, the program crashed or called os.Exit, and "kopf run" reports that.
	noteVariable = "KOPF_EXIT_NOTE"

	// wayInVariable is set if the parent process can expose webhooks. A program with admission handlers notes that it
	// needs the exposure and exits; the parent starts it again with the webhook flags.
	wayInVariable = "KOPF_WAY_IN"
)

// errWayInWanted is the error of a program that asks for a tunnel. Its parent knows, and says nothing.
var errWayInWanted = errors.New("the admission handlers need a tunnel")

// exitNote is the file in which the program notes its state. The zero value notes nothing.
type exitNote struct {
	path   string
	stderr io.Writer
	last   string
}

// noteRunning makes the note.
func noteRunning(stderr io.Writer) *exitNote {
	n := &exitNote{path: os.Getenv(noteVariable), stderr: stderr}
	n.write("running")
	_ = os.Unsetenv(noteVariable) // child processes must not inherit it; Unsetenv cannot fail for a valid name
	return n
}

// ended notes the end. It may be called again.
func (n *exitNote) ended() {
	if n.last == "running" {
		n.write("ended")
	}
}

// wantsWayIn notes that the program ends since it needs a tunnel.
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

// wantsWayIn reports whether the program has to ask its parent for a tunnel.
func (f *mainFlags) wantsWayIn(r *handlers.Registry) bool {
	return os.Getenv(wayInVariable) != "" && f.admission.server == nil && slices.ContainsFunc(r.All(), func(h *handlers.Handler) bool {
		return h.Family == handlers.Validate || h.Family == handlers.Mutate
	})
}
