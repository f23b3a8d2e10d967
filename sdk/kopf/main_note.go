package kopf

import (
	"fmt"
	"io"
	"os"
)

// noteVariable names the file in which the program notes that it runs, and that it has ended. If it ends
// without the latter, its code has called os.Exit, or it has crashed: "kopf run" says so.
const noteVariable = "KOPF_EXIT_NOTE"

// noteRunning makes the note. The function that it returns notes the end; it may be called again.
func noteRunning(stderr io.Writer) (ended func()) {
	path := os.Getenv(noteVariable)
	if path == "" {
		return func() {}
	}
	note := func(state string) {
		if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
			fmt.Fprintf(stderr, "cannot note that the operator is %s: %v\n", state, err)
		}
	}
	note("running")
	_ = os.Unsetenv(noteVariable) // programs that the operator starts must not write there; the name is valid
	return func() { note("ended") }
}
