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

func TestMain_AsksForWayInIfItCan(t *testing.T) {
	for name, c := range map[string]struct {
		program, variable, flag string
		asks                    bool
	}{
		"with a handler":       {"admitting", "KOPF_WAY_IN=1", "-A", true},
		"nobody to ask":        {"admitting", "KOPF_WAY_IN=", "-A", false},
		"with a tunnel":        {"admitting", "KOPF_WAY_IN=1", "--webhook-listen=127.0.0.1:0", false},
		"without such handler": {"exiting", "KOPF_WAY_IN=1", "-A", false},
		"with mistakes":        {"mistaken", "KOPF_WAY_IN=1", "-A", false},
	} {
		t.Run(name, func(t *testing.T) {
			note := filepath.Join(t.TempDir(), "note")
			p := start(t, c.program, []string{"KOPF_EXIT_NOTE=" + note, c.variable, "KUBECONFIG=/dev/null"}, c.flag)
			code, _ := p.end()
			state, err := os.ReadFile(note)
			if asks := string(state) == "wants a way in"; asks != c.asks || err != nil {
				t.Errorf("%d, %q, %v: %s", code, state, err, p.said(&p.stderr))
			}
			if said := p.said(&p.stderr); c.asks && (code != 1 || said != "") {
				t.Errorf("%d, it says %q", code, said)
			}
		})
	}
}
