package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
)

// project is an operator that kopf init has made, and that a test changes as its author does.
type project struct {
	t      *testing.T
	dir    string
	source string // the path of its handlers.go
	edits  string // the path of the sed script that the user's editor runs
}

func newProject(t *testing.T) *project {
	t.Helper()
	dir := shortDir(t)
	cmd, _, stderr := command(t, dir, "init", "hello")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	p := &project{t: t, dir: filepath.Join(dir, "hello"), edits: filepath.Join(dir, "edits")}
	p.source = filepath.Join(p.dir, "handlers", "handlers.go")
	writeFile(t, filepath.Join(dir, "editor"), "#!/bin/sh\nsed -i -f "+p.edits+" \"$1\"\n", 0o700)
	return p
}

// dev starts kopf dev in the folder of the project, as kopf init has said, with its own embedded control plane.
func (p *project) dev() *terminal {
	p.t.Helper()
	parent := filepath.Dir(p.dir)
	return newTerminal(p.t, terminalOptions{
		dir: p.dir, env: []string{"EDITOR=" + filepath.Join(parent, "editor"), "TMPDIR=" + parent, "ROOM=" + p.room()},
	}, "dev", "./handlers", "--apply", "handlers/", "--cluster=embedded")
}

// room is the file without which the handler of [failsWithoutRoom] fails.
func (p *project) room() string { return filepath.Join(filepath.Dir(p.dir), "room") }

// replaces changes the source, and saves it.
func (p *project) replaces(pairs ...string) {
	p.t.Helper()
	text, err := os.ReadFile(p.source)
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			p.t.Fatalf("%q is not in\n%s", pairs[i], text)
		}
	}
	writeFile(p.t, p.source, strings.NewReplacer(pairs...).Replace(string(text)), 0o600)
}

// willEdit sets the user's next input in the editor.
func (p *project) willEdit(script string) {
	p.t.Helper()
	writeFile(p.t, p.edits, script+"\n", 0o600)
}

// TestWorkbench_FirstHour follows a new user's first hour with an operator: in a terminal, with a real operator
// and a real control plane.
func TestWorkbench_FirstHour(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	term := p.dev()

	// The first object is handled.
	term.shows("✓ settled", "my-hello")
	term.types("Enter")
	term.shows("default/my-hello  ✓ settled", "✓ done         create")

	// The code is changed: the handler has another name, and does something else.
	p.replaces("resize", "grow", `"resized"`, `"grown"`)
	term.shows("grow        field")
	term.hides("resize")
	p.willEdit("s/size: 1/size: 2/")
	term.types("e")
	term.shows("✓ edited my-hello: spec.size") // for some seconds only: the handler may take longer
	term.shows("✓ done         grow")
	term.types("l")
	term.shows("grown from=1 to=2")

	// It does not compile: the old code still runs, and the Build view shows the error's position.
	p.replaces("c.Logger.Info(\"grown\"", "c.Loger.Info(\"grown\"")
	term.shows("c.Loger undefined", "the old code keeps running")
	term.types("8")
	term.shows("✗ build failed", "handlers.go:", `c.Loger.Info("grown"`, "^")

	// It is corrected, and now a handler fails until there is room.
	p.replaces("	c.Loger.", failsWithoutRoom+"	c.Logger.", `	"fmt"`, "	\"fmt\"\n	\"os\"\n	\"time\"", "grow(", "extend(", "grow,", "extend,")
	term.shows("✓ built")
	term.hides("c.Loger")
	term.types("2")
	term.shows("extend")
	term.types("1")
	p.willEdit("s/size: 2/size: 7/")
	term.types("e")
	term.shows("◔ waiting", "extend", "in 2h", "no room for 7")
	writeFile(t, p.room(), "", 0o600)
	term.types("r")
	term.shows("✓ settled")
	term.hides("◔ waiting")

	// The terminal may have any size.
	term.resize(40, 10)
	term.shows("1 Resources", "my-hello")
	term.resize(30, 3)
	term.shows("✓ 1")
	term.resize(140, 45)
	term.shows("─ log ─", "my-hello", "grown from=2 to=7")

	// The object is deleted, after a question.
	term.types("D")
	term.shows("Delete hello default/my-hello?", "No handler runs.")
	term.types("y")
	term.shows("deleting my-hello")
	term.shows("no objects")
	term.types("q")
	term.shows("ended with 0")
	for _, left := range processesOf(t, term.state) {
		if strings.Contains(left, "--data-dir") || strings.Contains(left, "--kubeconfig=") {
			t.Errorf("still running: %s", left)
		}
	}
}

// failsWithoutRoom is the begin of a handler that fails until a file exists.
const failsWithoutRoom = `	if _, err := os.Stat(os.Getenv("ROOM")); err != nil {
		return kopf.Temporaryf(150*time.Minute, "no room for %d", c.New)
	}
`

// TestWorkbench_StuckFinalizerIsRescued deletes an object whose delete handler never succeeds.
func TestWorkbench_StuckFinalizerIsRescued(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.replaces(`	"fmt"`, "	\"fmt\"\n	\"time\"",
		"	kopf.OnCreate(r, objects, create)\n", "	kopf.OnCreate(r, objects, create)\n	kopf.OnDelete(r, objects, release)\n",
		"// resize handles", neverReleases+"\n// resize handles")
	term := p.dev()
	term.shows("✓ settled", "my-hello")
	term.types("F")
	term.shows("remove our finalizer: my-hello is not being deleted")
	term.types("D")
	term.shows("Delete hello default/my-hello?", "Handlers that run: release.")
	term.types("y")
	term.shows("! stuck", "the volume is still attached", "✗ 1 need you")
	term.types("F")
	term.shows("Remove our finalizer from my-hello?", "hello.example.com/finalizer", "release will not finish")
	term.types("Enter") // keeps it
	term.hides("Remove our finalizer")
	term.shows("! stuck")
	term.types("F")
	term.shows("Remove our finalizer from my-hello?")
	term.types("y")
	term.shows("removed the finalizer from my-hello")
	term.shows("no objects")
}

const neverReleases = `func release(context.Context, *kopf.Change[kopf.Object]) error {
	return kopf.Temporaryf(time.Hour, "the volume is still attached")
}
`

// TestWorkbench_KilledControlPlaneRecovers kills the control plane beneath the workbench.
func TestWorkbench_KilledControlPlaneRecovers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("finding processes needs /proc; run this test on Linux")
	}
	p := newProject(t)
	term := p.dev()
	term.shows("✓ settled", "my-hello")
	p.willEdit("s/size: 1/size: 5/")
	term.types("e")
	term.shows("✓ edited my-hello: spec.size")
	term.types("Enter", "y")
	term.shows(`{"spec":{"size":5}}`) // the operator has recorded that it was handled
	term.types("Escape")

	if err := syscall.Kill(controlPlaneOf(t, term.state), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	term.shows("✗ no cluster, R tries again")
	term.types("r")
	term.shows("retry now: ")
	term.types("R")
	term.hides("✗ no cluster")
	// The data are still there: the manifests change the object back, which the operator handles.
	term.shows("✓ settled", "my-hello")
	term.types("Enter", "l")
	term.shows("resized from=5 to=1")
}

// controlPlaneOf returns the process of the control plane with data in a folder.
func controlPlaneOf(t *testing.T, state string) (pid int) {
	t.Helper()
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.HasPrefix(string(line), program+"\x00") && strings.Contains(string(line), state) {
			if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file))); err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no process of %s has data in %s", program, state)
	return 0
}
