package tui

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/runner"
)

// expectCalls fails the test unless the cluster received exactly these requests.
func (u *user) expectCalls(want ...string) *user {
	u.t.Helper()
	if got := strings.Join(u.source.objects.calls, "\n"); got != strings.Join(want, "\n") {
		u.t.Fatalf("the cluster was asked for %q", got)
	}
	return u
}

func TestYAML_FoldsSearchesAndHidesManagedFields(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j", "y").
		sees("default/web-cache  ↻ retrying").sees("apiVersion: kopf.dev/v1").
		sees("managedFields: … 7 lines, m shows them").seesNot("kubectl-create").
		press("m").press("pgdown").sees("manager: kubectl-create").press("m").seesNot("kubectl-create")
	u.press("g").cursorOn("apiVersion").press("j", "j").cursorOn("metadata:").
		press("enter").sees("metadata: … 23 lines").sees("phase: Resizing").
		press("enter").seesNot("23 lines")

	u.press("/").write("two.ex").sees("match 1 of 1").cursorOn("host: two.example.com").press("enter")
	u.press("g", "/", "ctrl+u").write("kubectl").press("enter").cursorOn("manager: kubectl-create") // the search includes folded lines
	u.press("esc").sees("apiVersion").press("g", "/").write("gold").press("enter").
		cursorOn(`{"metadata":{"labels":{"tier":"gold"}}`).press("n").cursorOn("tier: gold").press("n").cursorOn(`"tier":"gold"`).press("N").cursorOn("tier: gold")
	u.press("esc", "c").sees("lines of YAML")
	if got := u.source.intents; len(got) != 1 || got[0].Kind != runner.IntentLook || got[0].Object.Name != "web-cache" || got[0].Value != "object" {
		t.Errorf("the intents are %+v", got)
	}
	u.press("esc", "esc")
	if got := u.source.intents; len(got) != 2 || got[1].Kind != runner.IntentLook || got[1].Object != nil {
		t.Errorf("it is still looked at: %+v", got)
	}
}

func TestYAML_LongLinesWrap(t *testing.T) {
	u := start(t, "normal", 60, 24)
	u.source.objects.yaml = "metadata:\n  note: " + strings.Repeat("0123456789", 9) + "END\n"
	u.press("y").seesNot("END").press("z").sees("END").press("z").seesNot("END")
}

func TestYAML_NewVersionKeepsCursorAndFolds(t *testing.T) {
	u := start(t, "normal", 80, 40).press("y", "/").write("size: 2").press("enter", "esc").cursorOn("size: 2Gi")
	u.publish(func(s *runner.State) {
		l := *s.Looked
		l.Version, l.YAML = "4712", append([]string{"added: true"}, l.YAML...)
		l.YAML = strings.Split(strings.Replace(strings.Join(l.YAML, "\n"), "size: 2Gi", "size: 3Gi", 1), "\n")
		s.Looked = &l
	})
	u.cursorOn("size: 3Gi").press("g").cursorOn("added: true").sees("managedFields: … 7 lines")
	u.publish(func(s *runner.State) {
		l := *s.Looked
		l.Error = "404 not found: the object was deleted; this is how it was last"
		s.Looked = &l
	}).sees("✗ 404 not found: the object was deleted").sees("added: true")
}

func TestLook_ErrorsAreShownInsteadOfAnEmptyTab(t *testing.T) {
	for _, key := range []string{"y", "v"} {
		u := start(t, "normal", 80, 24)
		u.source.objects.failed = `403 forbidden: events is forbidden: User "dev" cannot list`
		u.press(key).sees("✗ 403 forbidden").seesNot("no Kubernetes events")
		start(t, "gone", 80, 24).press(key).sees("the cluster does not answer")
	}
}

// attachedDemo is the state of an attachment that may not change anything.
func attachedDemo() *runner.State {
	s := demo(noon)
	s.Attached, s.ReadOnly = "unix:/run/op", true
	return s
}

func TestLook_AttachmentShowsYAMLAndEvents(t *testing.T) {
	u := startWith(t, attachedDemo(), 80, 24, Options{}).press("j", "j", "j", "j", "j")
	u.source.objects.events = demoEvents(noon)
	u.press("y").sees("team: storage").sees("managedFields: … 7 lines").press("/").write("phase").sees("phase: Resizing")
	u.press("esc", "v").sees("Handler 'resize'").sees("pod web-0")
	var looks []string
	for _, in := range u.source.intents {
		looks = append(looks, string(in.Kind)+" "+in.Value)
	}
	if want := []string{"look object", "look events"}; !slices.Equal(looks, want) {
		t.Errorf("the intents are %q, want %q", looks, want)
	}
	for _, key := range []string{"e", "D", "t", "C", "F"} {
		u.press(key).sees("kopf attach changes no objects; kopf dev does")
	}
	u.expectCalls()
}

func TestLook_OldOperatorIsNamedInTheTab(t *testing.T) {
	for _, key := range []string{"y", "v"} {
		u := startWith(t, attachedDemo(), 80, 24, Options{})
		u.source.objects.failed = "this operator is built with an older release of Kopf"
		u.press(key).sees("✗ this operator is built with an older release").seesNot("no Kubernetes events")
	}
}

func TestLook_EndedOperatorLeavesWhatWasSeen(t *testing.T) {
	ended := func(s *runner.State) { s.Live, s.Process.Phase = false, runner.ProcessNone }
	for key, shown := range map[string]string{"y": "team: storage", "v": "Handler 'resize'"} {
		u := startWith(t, attachedDemo(), 80, 24, Options{}).press("j", "j", "j", "j", "j")
		u.source.objects.events = demoEvents(noon)
		u.press(key).sees(shown)
		u.publish(ended).sees("! the operator is not running").sees("last").sees(shown)
		u.publish(func(s *runner.State) { s.Live, s.Process.Phase = true, runner.ProcessRunning }).seesNot("! the operator").sees(shown)
		if last := u.source.intents[len(u.source.intents)-1]; last.Kind != runner.IntentLook || last.Object == nil {
			t.Errorf("%s: it does not look again: %+v", key, last)
		}

		u = startWith(t, attachedDemo(), 80, 24, Options{})
		u.publish(ended)
		u.press(key).sees("the operator is not running").seesNot("reading")
	}
}

func TestEvents_NewestLastAndFollowed(t *testing.T) {
	u := start(t, "normal", 80, 24).press("v").sees("There are no Kubernetes events about this object").press("esc")
	u.source.objects.events = demoEvents(noon)
	u.press("j", "j", "j", "j", "j", "v").cursorOn("Handler 'resize'").sees("─ Logging ").sees("kopf · 2 times").sees(" pod web-0 ")
	more := func(message string) {
		u.publish(func(s *runner.State) {
			l := *s.Looked
			l.Events = append(l.Events[:len(l.Events):len(l.Events)], runner.Event{At: noon, Reason: "Logging", Message: message, Count: 1})
			s.Looked = &l
		})
	}
	more("one more")
	u.cursorOn("one more").press("k", "k").cursorOn("FailedAttach")
	more("another")
	u.cursorOn("FailedAttach").sees("12").press("G").cursorOn("another")
	u.press("/").write("attachdetach").sees("FailedAttach").seesNot("resizing from").press("esc").sees("resizing from")
}

func TestTimeline_ShowsBackoff(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j", "enter")
	u.sees("1").sees("18s ago").sees("in 12s").sees("now")
	var track string
	for _, l := range u.lines() {
		if strings.HasPrefix(l, " ↻") && strings.Contains(l, "─") {
			track = l
		}
	}
	// The axis takes 30s: the second attempt is at the half, now is at 3/5, the next one at the end.
	cells := []rune(strings.TrimSpace(track))
	if len(cells) != 78 || string(cells[0]) != "↻" || string(cells[38]) != "↻" || string(cells[46]) != "│" || string(cells[60]) != "·" || string(cells[77]) != "◌" {
		t.Errorf("the track is %q (%d cells)", string(cells), len(cells))
	}
	start(t, "normal", 40, 10).press("j", "j", "j", "j", "j", "enter").sees("↻──").sees("◌")
	ascii := startWith(t, demo(noon), 80, 24, Options{Environ: []string{"LC_ALL=C"}}).press("j", "j", "j", "j", "j", "enter")
	ascii.sees("~-----").sees(".....o")
}

// editor makes a program that changes the file that it opens, and returns the user's environment.
func editor(t *testing.T, script string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	return []string{"LANG=C.UTF-8", "EDITOR=" + path}
}

// drafts returns the files that edits have left.
func drafts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.TempDir(), "kopf-*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEdit_AppliesWhatTheEditorHasChanged(t *testing.T) {
	env := editor(t, `sed -i s/2Gi/3Gi/ "$1"`)
	u := startWith(t, demo(noon), 80, 24, Options{Environ: env}).press("e").sees("✓ edited batch-scratch: spec.size").expectCalls("save batch-scratch")
	if u.source.objects.saved != "spec:\n  size: 3Gi\n" {
		t.Errorf("saved %q", u.source.objects.saved)
	}
	if left := drafts(t); len(left) != 0 {
		t.Errorf("it leaves %v", left)
	}
	env = editor(t, "true")
	startWith(t, demo(noon), 80, 24, Options{Environ: env}).press("e").sees("nothing was changed").expectCalls()
	startWith(t, demo(noon), 80, 24, Options{Environ: []string{"LANG=C.UTF-8"}}).press("e").sees("$EDITOR is not set")
}

func TestEdit_RefusedTextIsKeptAndReopened(t *testing.T) {
	env := editor(t, `cp "$1" "$TMPDIR/seen"; sed -i s/2Gi/3Gi/ "$1"`)
	u := startWith(t, demo(noon), 80, 24, Options{Environ: env})
	u.source.objects.refuse = []error{&runner.RefusedTextError{Reason: "422 invalid: spec.size must be at most 2Gi"}}
	u.press("e").sees("The change of batch-scratch was not made").sees("422 invalid: spec.size must be at most 2Gi").sees("Your text is kept in")
	u.press("e").sees("✓ edited batch-scratch")
	seen, err := os.ReadFile(filepath.Join(os.TempDir(), "seen"))
	if err != nil || string(seen) != "#: 422 invalid: spec.size must be at most 2Gi\nspec:\n  size: 3Gi\n" {
		t.Errorf("the editor got %q, %v", seen, err)
	}
	if u.source.objects.saved != "spec:\n  size: 3Gi\n" {
		t.Errorf("saved %q", u.source.objects.saved)
	}

	u.source.objects.refuse = []error{errors.New("connection refused")}
	u.press("e").sees("connection refused").press("esc")
	left := drafts(t)
	if len(left) != 1 {
		t.Fatalf("the text is in %v", left)
	}
	if text, err := os.ReadFile(left[0]); err != nil || string(text) != "spec:\n  size: 3Gi\n" {
		t.Errorf("the text is %q, %v", text, err)
	}
}

func TestEdit_ConflictShowsBothSidesAndLosesNothing(t *testing.T) {
	env := editor(t, `sed -i s/2Gi/3Gi/ "$1"`)
	u := startWith(t, demo(noon), 80, 24, Options{Environ: env})
	ref := u.app.screen.State.Objects[0].Ref
	u.source.objects.refuse = []error{&runner.ConflictError{
		Fields: []runner.FieldConflict{{Path: "spec.size", Yours: `"3Gi"`, Theirs: `"9Gi"`}},
		Draft:  &runner.Draft{Object: ref, Text: "spec:\n  size: 3Gi\n  theirs: true\n"},
	}}
	u.press("e").sees("409 conflict").sees("yours   \"3Gi\"").sees("theirs  \"9Gi\"")
	if left := drafts(t); len(left) != 1 {
		t.Fatalf("the text is in %v", left)
	}
	u.press("e").sees("✓ edited").expectCalls("save batch-scratch", "save batch-scratch")
	if u.source.objects.saved != "spec:\n  size: 3Gi\n  theirs: true\n" {
		t.Errorf("saved %q", u.source.objects.saved)
	}
	if left := drafts(t); len(left) != 0 {
		t.Errorf("it leaves %v", left)
	}
}

func TestSample_CreatesAnotherObject(t *testing.T) {
	env := editor(t, `sed -i s/-copy/-two/ "$1"`)
	u := startWith(t, demo(noon), 80, 24, Options{Environ: env}).press("C").sees("another evc like default/batch-scratch").press("enter").sees("✓ created of that name")
	if u.source.objects.saved != "metadata:\n  name: batch-scratch-two\n" {
		t.Errorf("saved %q", u.source.objects.saved)
	}
}

func TestCreate_FromManifestOrSchema(t *testing.T) {
	env := editor(t, `echo "  size: 3Gi" >> "$1"`)
	u := startWith(t, demo(noon), 80, 24, Options{Environ: env}).press("C").
		sees("EphemeralVolumeClaim web").sees("obj.yaml:7").sees("a new EphemeralVolumeClaim").sees("from its schema")
	u.press("j", "enter").sees("✓ created of that name")
	if u.source.objects.saved != "spec: # of web\n  size: 3Gi\n" {
		t.Errorf("saved %q", u.source.objects.saved)
	}
	u.press("C", "G", "enter").sees("✓ created")
	if u.source.objects.saved != "spec: # of a schema\n  size: 3Gi\n" {
		t.Errorf("saved %q", u.source.objects.saved)
	}
	u.source.objects.unread = errors.New("broken.yaml:3: mapping values are not allowed")
	u.press("C").sees("! not read: broken.yaml:3: mapping values").press("esc").seesNot("create an object")

	// Without objects, and after a refusal, nothing that was typed is lost.
	empty := startWith(t, scenarios["empty"](noon), 80, 24, Options{Environ: env})
	empty.source.objects.refuse = []error{&runner.RefusedTextError{Reason: "422 unprocessable entity: spec.size is too large"}}
	empty.press("C").seesNot("another").press("enter").sees("The object was not created").sees("spec.size is too large").sees("Your text is kept in")
	empty.press("e").sees("✓ created").expectCalls("save new", "save new")

	same := startWith(t, demo(noon), 80, 24, Options{Environ: editor(t, "true")})
	same.press("C", "G", "enter").sees("nothing was created: the text was left as it was").expectCalls()
	start(t, "gone", 80, 24).press("C").sees("create an object: the cluster does not answer")
}

func TestCreate_OfResourceThatIsOnlyReviewed(t *testing.T) {
	state := scenarios["empty"](noon)
	snapshot := *state.Snapshot
	snapshot.Served, snapshot.Reviewed = nil, []string{"claims.v1.example.com"}
	state.Snapshot = &snapshot
	u := startWith(t, state, 80, 24, Options{Environ: editor(t, `echo "  size: 3Gi" >> "$1"`)})
	u.sees("C   create an object").press("C").sees("a new Kind of claims.v1.example.com").sees("from its schema").press("enter").sees("✓ created")
	if u.source.objects.saved != "spec: # of a schema\n  size: 3Gi\n" {
		t.Errorf("saved %q", u.source.objects.saved)
	}

	unreadable := snapshot
	unreadable.Reviewed = nil
	state.Snapshot = &unreadable
	startWith(t, state, 80, 24, Options{Environ: editor(t, "true")}).press("C").sees("the operator handles no resource yet")
}

func TestDelete_AsksAndNamesWhatFollows(t *testing.T) {
	u := start(t, "normal", 80, 24)
	u.source.objects.owned = []string{"configmaps web-cache-conf", "pods web-cache-0"}
	u.press("j", "j", "j", "j", "j", "D").
		sees("Delete evc default/web-cache?").sees("Handlers that run: release.").sees("Daemons and timers that stop: expire.").
		sees("configmaps web-cache-conf").sees("pods web-cache-0")
	u.press("enter").expectCalls() // the cursor is on the harmless answer
	u.press("D", "y").sees("✓ deleting web-cache").expectCalls("delete web-cache")
	u.press("k", "k", "D").sees("old-logs is being deleted already").expectCalls("delete web-cache")

	u.source.objects.owned, u.source.objects.ownedBy = nil, errors.New("secrets: 403 forbidden")
	u.press("g", "D").sees("It may own objects that cannot be listed").sees("secrets: 403 forbidden").press("esc")

	crashed := start(t, "crashed", 80, 24).press("D").sees("The deletion waits for the operator, which does not act now: crashed.").press("esc")
	crashed.expectCalls()
	start(t, "gone", 80, 24).press("D").sees("delete the object: the cluster does not answer")
}

func TestMetadata_LabelsAndAnnotations(t *testing.T) {
	u := start(t, "normal", 80, 24).press("t").sees("label batch-scratch").write("tier=gold").press("enter").
		sees("✓ labelled batch-scratch").expectCalls("set label tier=gold of batch-scratch")
	u.press("t").write("nonsense").press("enter").sees(`"nonsense": want key=value`).press("esc")
	u.source.objects.calls = nil
	u.press("t", "tab").sees("annotate batch-scratch").write("note=two words").press("enter").
		sees("✓ annotated batch-scratch").expectCalls("set annotation note=two words of batch-scratch")
	u.source.objects.calls = nil
	u.press("t").write("old-").press("enter").expectCalls("remove label old of batch-scratch")
}

func TestStartOver_AsksFirst(t *testing.T) {
	u := start(t, "normal", 80, 24).press("X").sees("Handle batch-scratch again from scratch?").sees("run again: create")
	u.press("esc").press("X", "y").sees("✓ handling batch-scratch from scratch")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentStartOver || u.source.intents[0].Object.Name != "batch-scratch" {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
	start(t, "crashed", 80, 24).press("X").sees("the operator has crashed")
}

func TestFinalizer_IsRemovedFromStuckObjectsOnly(t *testing.T) {
	u := start(t, "normal", 80, 24).press("F").sees("batch-scratch is not being deleted")
	u.press("esc", "j", "j", "j").cursorOn("old-logs").press("F").
		sees("Remove our finalizer from old-logs?").sees("kopf.zalando.org/KopfFinalizerMarker").sees("release will not finish")
	u.press("y").sees("✓ removed the finalizer from old-logs").expectCalls("release old-logs from kopf.zalando.org/KopfFinalizerMarker")
}

func TestLog_IsSaved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	u := start(t, "normal", 120, 40).press("7", "s").sees("✓ saved 9 lines to " + os.TempDir())
	files := drafts(t)
	if len(files) != 1 {
		t.Fatalf("it was saved to %v", files)
	}
	text, err := os.ReadFile(files[0])
	if want := "2026-11-21T14:02:05.000Z  warn  evc default/web-cache  resize  temporary (1/5)"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the file has %s, %v", text, err)
	}
	u.press("1", "j", "j", "j", "j", "j", "l", "s").sees("✓ saved 4 lines")
}

func TestDelete_NamesHandlersWhoseFiltersDecide(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j")
	u.publish(func(s *runner.State) {
		s.Snapshot.Handlers = slices.Clone(s.Snapshot.Handlers)
		for i := range s.Snapshot.Handlers {
			if h := &s.Snapshot.Handlers[i]; h.ID == "release" {
				h.Filters = []string{"label tier=gold"}
			}
		}
	})
	u.press("D").sees("Delete evc default/web-cache?").seesNot("Handlers that run").sees("If their filters match, these run: release.")
}
