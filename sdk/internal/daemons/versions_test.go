package daemons

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestVersions_TasksSeeTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		s := newFakeHost(func(_ context.Context, c call) error {
			for {
				newer := c.Newer()
				seen = append(seen, c.Live().ResourceVersion)
				select {
				case <-newer:
				case <-c.Stopping():
					return nil
				}
			}
		})
		g := group(t, s, daemon("a"))
		for v := range 3 {
			update(g, version(v+1), true)
			synctest.Wait()
		}
		end(t, g)
		if !slices.Equal(seen, []string{"1", "1", "2", "3"}) {
			t.Errorf("seen %v", seen)
		}
	})
}

func TestVersions_OwnPatchIsNotHiddenByOlderEvents(t *testing.T) {
	g := NewGroup(t.Context(), newFakeHost(nil), Settings{}, version("5"))
	for _, step := range []struct {
		wrote bool
		seen  string
		live  string
	}{
		{false, "6", "6"},
		{true, "9", "9"},
		{false, "7", "9"},
		{true, "8", "9"},
		{false, "9", "9"},
		{false, "3", "3"}, // a restored cluster: the observed version counts
	} {
		newer := g.Newer()
		before := g.Live()
		if step.wrote {
			g.Wrote(version(step.seen))
		} else {
			update(g, version(step.seen), false)
		}
		if live := g.Live().ResourceVersion; live != step.live {
			t.Errorf("%+v: %s", step, live)
		}
		select {
		case <-newer:
		default:
			if g.Live() != before {
				t.Errorf("%+v: it is not told", step)
			}
		}
	}
}

type view struct{ version, big string }

func TestViews_DecodedOnceForConcurrentReaders(t *testing.T) {
	g := NewGroup(t.Context(), newFakeHost(nil), Settings{}, version("5"))
	a, b := newTask(g, daemon("a")), newTask(g, daemon("b"))
	decoded := 0
	look := func(task *Task) *view {
		v, err := View(task.Views(), task.Live(), func(o *object.Object) (*view, error) {
			decoded++
			return &view{o.ResourceVersion, strings.Repeat("x", 100)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := look(a)
	if second := look(b); second != first || decoded != 1 {
		t.Errorf("it is decoded %d times", decoded)
	}
	update(g, version("6"), false)
	if newer := look(b); newer.version != "6" || first.version != "5" || decoded != 2 {
		t.Errorf("the version %s is seen, decoded %d times", newer.version, decoded)
	}
	runtime.KeepAlive(first)
	for range 10 { // without a reader, nothing is kept
		runtime.GC()
	}
	if look(a); decoded != 3 {
		t.Errorf("it is decoded %d times", decoded)
	}
}

func TestViews_FailedDecodingIsRepeatedByEachReader(t *testing.T) {
	g := NewGroup(t.Context(), newFakeHost(nil), Settings{}, version("5"))
	task, failures := newTask(g, daemon("a")), 0
	for range 2 {
		v, err := View(task.Views(), task.Live(), func(*object.Object) (*view, error) {
			failures++
			return nil, errOops
		})
		if v != nil || !errors.Is(err, errOops) {
			t.Errorf("got %v, %v", v, err)
		}
	}
	if failures != 2 {
		t.Errorf("it was tried %d times", failures)
	}
}

func TestOnNewStack_ReturnsErrorsAndPanics(t *testing.T) {
	var panicked *handlers.PanicError
	for name, c := range map[string]struct {
		f    func() error
		want func(error) bool
	}{
		"well":          {func() error { return nil }, func(err error) bool { return err == nil }},
		"with an error": {func() error { return errOops }, func(err error) bool { return errors.Is(err, errOops) }},
		"with a panic": {func() error { panic("oh") }, func(err error) bool {
			return errors.As(err, &panicked) && panicked.Value == "oh" && len(panicked.Stack) > 0
		}},
		"with its goroutine": {func() error { runtime.Goexit(); return nil }, func(err error) bool { return errors.Is(err, errExited) }},
	} {
		if err := OnNewStack(c.f); !c.want(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestViews_DecodingMayUseOtherViews(t *testing.T) {
	var views Views
	obj := version("1")
	number, err := View(&views, obj, func(obj *object.Object) (*int, error) {
		_, err := View(&views, obj, func(*object.Object) (*string, error) { return new("text"), nil })
		return new(7), err
	})
	if err != nil || *number != 7 {
		t.Errorf("%d, %v", *number, err)
	}
	runtime.KeepAlive(number)
}

// update shows the tasks a version, with a changed essence or with the same one.
func update(g *Group, version *object.Object, changed bool) {
	essence := max(1, g.essence)
	g.essence = essence
	if changed {
		essence++
	}
	g.Update(version, essence)
}
