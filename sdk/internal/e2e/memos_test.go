package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestAMemoLivesAsLongAsItsObject(t *testing.T) {
	w, c, watches := newWorld(t), &calls{}, &breaker{}
	address := "unix:" + filepath.Join(t.TempDir(), "i")
	op := w.run(func(r *kopf.Registry) {
		kopf.NewIndex(r, kexes, func(_ context.Context, p *indexed) (map[string]int, error) {
			kopf.MemoOf[tally](p.Memo).add(fmt.Sprint("indexed ", p.Object.Get("spec.field")))
			return nil, nil
		}, kopf.ID("index"))
		kopf.OnEvent(r, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			at := fmt.Sprint(e.Object.Get("spec.field"))
			seen := kopf.MemoOf[tally](e.Memo).add("event " + at)
			c.add(fmt.Sprint(at, " ", len(seen)/2))
			if !slices.Contains(seen, "indexed "+at) {
				t.Errorf("%s: the indexing function has another memo: %v", at, seen)
			}
			return nil
		}, kopf.ID("event"))
	}, setup{wrap: watches.wrap, settings: func(s *kopf.Settings) { s.Process.Inspector = address }})
	w.create(fielded("x", "created"))
	c.wait(t, "created 1", 1)
	w.patch("x", field("changed"))
	c.wait(t, "changed 2", 1)

	watches.end(expired)
	w.patch("x", field("listed again"))
	c.wait(t, "listed again 3", 1)

	w.intend(address, inspect.IntentPause)
	op.journal.wait(t, "Stopping the watch-stream for kopfexamples", 1)
	w.patch("x", field("paused"))
	w.intend(address, inspect.IntentResume)
	c.wait(t, "paused 4", 1)

	w.delete("x")
	w.untilGone("x")
	w.create(fielded("x", "anew"))
	c.wait(t, "anew 1", 1)
}

// shelf is what objects have copies of.
type shelf struct{ tally }

// Clone makes a copy that has the same on it.
func (s *shelf) Clone() *shelf {
	clone := &shelf{}
	clone.seen = s.add("")
	return clone
}

func TestObjectsBeginWithWhatTheOperatorsMemoHas(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			kopf.MemoOf[tally](a.Memo).add("shared")
			kopf.MemoOf[shelf](a.Memo).add("own")
			return nil
		}, kopf.ID("startup"))
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			kopf.MemoOf[tally](r.Memo).add(r.Name)
			c.add(fmt.Sprint(r.Name, " ", kopf.MemoOf[shelf](r.Memo).add(r.Name)))
			return nil
		}, kopf.ID("create"))
		kopf.OnCleanup(r, func(_ context.Context, a *kopf.Activity) error {
			c.add(fmt.Sprint(kopf.MemoOf[tally](a.Memo).add(""), kopf.MemoOf[shelf](a.Memo).add("")))
			return nil
		}, kopf.ID("cleanup"))
	})
	for _, name := range []string{"a", "b"} {
		w.create(example(name))
		w.untilHandled(name)
	}
	op.stop()
	c.are(t, "a [ a own]", "b [ b own]", "[ a b shared] [ own]")
}
