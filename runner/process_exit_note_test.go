package runner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestExplainExit_NamesTheSignalOrTheCode(t *testing.T) {
	note := filepath.Join(t.TempDir(), "exit-note")
	if why, err := explainExit(note, 137, syscall.SIGKILL); why != "" || err != nil {
		t.Errorf("without a note: %q, %v", why, err)
	}
	if err := os.WriteFile(note, []byte("running"), 0o600); err != nil {
		t.Fatal(err)
	}
	if why, err := explainExit(note, 137, syscall.SIGKILL); why != "the operator was killed by signal 9" || err != nil {
		t.Errorf("killed: %q, %v", why, err)
	}
	if why, err := explainExit(note, 137, 0); !strings.HasPrefix(why, "the operator ended with code 137 without being asked") || err != nil {
		t.Errorf("exited: %q, %v", why, err)
	}
}
