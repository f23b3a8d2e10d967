package kopf_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMain_NotesWhetherItsOwnCodeEndedIt(t *testing.T) {
	for program, want := range map[string]struct {
		code  int
		state string
	}{
		"exiting":  {3, "running"},
		"mistaken": {1, "ended"},
	} {
		note := filepath.Join(t.TempDir(), "note")
		p := start(t, program, []string{"KOPF_EXIT_NOTE=" + note}, "-A")
		code, _ := p.end()
		state, err := os.ReadFile(note)
		if err != nil || code != want.code || string(state) != want.state {
			t.Errorf("%s: %d, %q, %v: %s", program, code, state, err, p.said(&p.stderr))
		}
	}
}
