package instance

import (
	"os"
	"path/filepath"
	"testing"
)

// program writes a control plane that says it is usable, and then does what the script says.
func program(t *testing.T, script string) Config {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "controlplane")
	text := "#!/bin/sh\necho '{\"server\": \"https://127.0.0.1:1\"}'\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return Config{Binary: path, Dir: filepath.Join(dir, "data")}
}

func TestOneThatWasKilledIsStoppedWithoutAnError(t *testing.T) {
	p, err := Start(t.Context(), program(t, "kill -9 $$"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOneThatEndsWithItsGuardIsStopped(t *testing.T) {
	p, err := Start(t.Context(), program(t, "trap 'exit 0' TERM; read line"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
