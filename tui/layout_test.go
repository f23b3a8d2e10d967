package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLayout_RememberedByTheNextSession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kopf", "workbench.json")
	session := func() *user {
		return startWith(t, scenarios["owners"](noon), 120, 40, Options{Layout: file})
	}
	u := session().sees("─ log ").press("s", "S", "u", "u", "L", "esc").sees("STATE▾").seesNot("─ log ")
	if err := u.app.keepLayout(); err != nil {
		t.Fatal(err)
	}
	u = session().sees("STATE▾").sees("└ web-data").seesNot("─ log ")
	before, err := os.Stat(file)
	if err != nil || before.Mode().Perm() != 0o600 {
		t.Fatal(err, before.Mode())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := u.app.keepLayout(); err != nil { // nothing has changed
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); err != nil || len(left) != 0 {
		t.Error("files are left", left, err)
	}
}

func TestLayout_BrokenFileIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "workbench.json")
	for text, want := range map[string]string{
		`{"resources":{"order":"colour","group":"owner"},"new":1}`: "└ web-data", // an order of another version is ignored
		`{"resources":`: "read the layout of the last session",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		u := startWith(t, scenarios["owners"](noon), 120, 40, Options{Layout: file}).sees(want)
		if strings.Contains(strings.Join(u.lines(), ""), "▴") {
			t.Error("the order is not the default one")
		}
	}
}

func TestLayout_FileThatCannotBeWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not-a-folder")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u := startWith(t, scenarios["normal"](noon), 120, 40, Options{Layout: ""}).press("s")
	u.app.opts.Layout = filepath.Join(folder, "workbench.json")
	if err := u.app.keepLayout(); err == nil || !strings.Contains(err.Error(), "keep the layout") {
		t.Error(err)
	}
}
