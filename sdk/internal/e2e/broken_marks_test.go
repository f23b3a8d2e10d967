package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
)

// wrappedProgress and wrappedDiffBase are storages of a user that are made of built-in ones.
type (
	wrappedProgress struct{ kopf.ProgressStorage }
	wrappedDiffBase struct{ kopf.DiffBaseStorage }
)

// marked is a way to store marks: the settings, and an object with given texts as its marks.
var marked = map[string]struct {
	configure func(*kopf.Settings)
	mark      func(o tree, name, text string)
	aside     func(name string) string
}{
	"annotations": {
		func(*kopf.Settings) {}, annotateAs("kopf.zalando.org"), asideAs("kopf.zalando.org"),
	},
	"annotations with a prefix": {
		func(s *kopf.Settings) {
			s.Persistence.ProgressStorage = storage.Annotations(storage.AnnotationNames{Prefix: "my.example.com"})
			s.Persistence.DiffBaseStorage = storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Prefix: "my.example.com"})
		}, annotateAs("my.example.com"), asideAs("my.example.com"),
	},
	"several": {
		func(s *kopf.Settings) {
			s.Persistence.ProgressStorage = storage.Multi(storage.Status(storage.StatusFields{}), storage.Annotations(storage.AnnotationNames{}))
			s.Persistence.DiffBaseStorage = storage.MultiDiffBase(storage.StatusDiffBase(storage.DiffBaseField{}), storage.AnnotationDiffBase(storage.DiffBaseAnnotation{}))
		}, annotateAs("kopf.zalando.org"), asideAs("kopf.zalando.org"),
	},
	"a user's": {
		func(s *kopf.Settings) {
			s.Persistence.ProgressStorage = wrappedProgress{storage.Annotations(storage.AnnotationNames{})}
			s.Persistence.DiffBaseStorage = wrappedDiffBase{storage.AnnotationDiffBase(storage.DiffBaseAnnotation{})}
		}, annotateAs("kopf.zalando.org"), asideAs("kopf.zalando.org"),
	},
	"the status": {
		func(s *kopf.Settings) {
			s.Persistence.ProgressStorage = storage.Status(storage.StatusFields{})
			s.Persistence.DiffBaseStorage = storage.StatusDiffBase(storage.DiffBaseField{})
		}, func(o tree, name, text string) {
			state := tree{"progress": tree{}}
			if status, ok := o["status"].(tree); ok {
				state = status["kopf"].(tree)
			}
			if name == "last-handled-configuration" {
				state[name] = text
			} else {
				state["progress"].(tree)[name] = tree{"started": text, "retries": "many"}
			}
			o["status"] = tree{"kopf": state}
		}, asideAs("kopf.zalando.org"),
	},
}

func annotateAs(prefix string) func(o tree, name, text string) {
	return func(o tree, name, text string) {
		meta := o["metadata"].(tree)
		if meta["annotations"] == nil {
			meta["annotations"] = tree{}
		}
		meta["annotations"].(tree)[prefix+"/"+name] = text
	}
}

func asideAs(prefix string) func(name string) string {
	return func(name string) string { return prefix + "/unreadable." + name }
}

// brokenTexts are what people and programs leave in place of a record or a diff base.
var brokenTexts = map[string]string{
	"empty": "", "cut": `{"started":"2020-01-02T03`, "another-type": `[1]`, "text": `"x"`, "no-json": "\x00\x1b]52;c;x\a<html>",
	"deep": strings.Repeat(`[`, 30_000), "huge": strings.Repeat("ä", 10_000),
}

func TestBrokenMarks_ObjectIsHandledAndDeleted(t *testing.T) {
	for name, storage := range marked {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			var c calls
			for kind, text := range brokenTexts {
				broken := plain.of(example("broken-" + kind))
				for _, mark := range []string{"last-handled-configuration", "create", "delete", "update"} {
					storage.mark(broken, mark, text)
				}
				cluster.Create(broken)
				deleted := plain.of(example("deleted-" + kind))
				deleted["metadata"].(tree)["finalizers"] = []any{finalizer}
				for _, mark := range []string{"last-handled-configuration", "create", "delete"} {
					storage.mark(deleted, mark, text)
				}
				cluster.Create(deleted).Delete()
			}
			o := cluster.Run(func(r *kopf.Registry) {
				note := func(what string) func(context.Context, *change) error {
					return func(_ context.Context, ch *change) error {
						c.add(what + " " + ch.Name)
						return nil
					}
				}
				kopf.OnCreate(r, plains, note("create"), kopf.ID("create"))
				kopf.OnUpdate(r, plains, note("update"), kopf.ID("update"))
				kopf.OnDelete(r, plains, note("delete"), kopf.ID("delete"))
			}, func(o *kopf.Operator) { storage.configure(&o.Settings) })
			var want []string
			for kind, text := range brokenTexts {
				cluster.Object(plain.name(), "deleted-"+kind).WaitGone()
				object := cluster.Object(plain.name(), "broken-"+kind)
				for _, mark := range []string{"last-handled-configuration", "create", "delete", "update"} {
					aside := storage.aside(mark)
					object.WaitFor(aside, func(o *kopf.Object) bool { return o.Get(kopf.PathOf("metadata", "annotations", aside)) != nil })
					kept := kopf.GetOr(object.Get(), kopf.PathOf("metadata", "annotations", aside), "")
					if len(kept) > 4096 || name != "the status" && (!strings.HasPrefix(text, kept) || len(kept) < min(len(text), 4095)) {
						t.Errorf("%s: kept %d bytes: %.100q", kind, len(kept), kept)
					}
				}
				want = append(want, "create broken-"+kind, "delete deleted-"+kind)
			}
			for kind := range brokenTexts {
				object := cluster.Object(plain.name(), "broken-"+kind)
				object.Delete()
				object.WaitGone()
				want = append(want, "delete broken-"+kind)
			}
			got := c.all()
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q", got)
			}
			// Four on each of one half, three on each of the other: each once.
			if n := o.CountLog("Cannot read "); n != 7*len(brokenTexts) {
				t.Errorf("told %d times:\n%s", n, o.Log())
			}
			if n := o.CountLog("Handling has failed"); n != 0 {
				t.Errorf("failed %d times:\n%s", n, o.Log())
			}
		})
	}
}

func TestBrokenMarks_OtherStorageIsReadInstead(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, c.does("create"), kopf.ID("create"))
		kopf.OnUpdate(r, plains, c.does("update"), kopf.ID("update"))
	}
	both := func(o *kopf.Operator) {
		o.Settings.Persistence.DiffBaseStorage = storage.MultiDiffBase(storage.AnnotationDiffBase(storage.DiffBaseAnnotation{}), storage.StatusDiffBase(storage.DiffBaseField{}))
	}
	o := cluster.Run(register, both)
	object := cluster.Create(plain.of(example("a")))
	o.WaitLog("Creation is processed")
	object.WaitFor("it is handled", func(o *kopf.Object) bool { return o.Get(kopf.PathOf("metadata", "annotations", lastHandled)) != nil })
	o.Stop()
	object.Patch(tree{"metadata": tree{"annotations": tree{lastHandled: "{"}}, "spec": tree{"field": "new"}})
	o = cluster.Run(register, both)
	o.WaitLog("Updating is processed")
	object.WaitFor("it is written again", func(o *kopf.Object) bool {
		return strings.Contains(kopf.GetOr(o, kopf.PathOf("metadata", "annotations", lastHandled), ""), `"new"`)
	})
	if got := c.all(); !slices.Equal(got, []string{"create", "update"}) {
		t.Errorf("got %q", got)
	}
}

func TestBrokenMarks_OfSubHandlersAndBreakingWhileTheOperatorRuns(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, func(_ context.Context, ch *change) error {
			ch.Sub("sub", func(context.Context, *change) error {
				c.add(fmt.Sprintf("sub %d", ch.Retry))
				return kopf.Temporaryf(time.Hour, "later")
			})
			return nil
		}, kopf.ID("create"))
		kopf.OnDelete(r, plains, c.does("delete"), kopf.ID("delete"))
	})
	object := cluster.Create(plain.of(example("a")))
	o.WaitLog("failed temporarily")
	record := kopf.PathOf("metadata", "annotations", "kopf.zalando.org/create.sub")
	object.WaitFor("the record of the sub-handler", func(o *kopf.Object) bool { return o.Get(record) != nil })
	object.Patch(tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/create.sub": "broken", "kopf.zalando.org/create": "broken"}}})
	o.WaitLog(`Cannot read the progress of handler "create/sub" in the annotation kopf.zalando.org/create.sub`)
	object.WaitFor("it is set aside", func(o *kopf.Object) bool {
		return kopf.GetOr(o, kopf.PathOf("metadata", "annotations", "kopf.zalando.org/unreadable.create.sub"), "") == "broken"
	})
	object.Delete()
	object.WaitGone()
	if got := c.all(); len(got) == 0 || got[len(got)-1] != "delete" {
		t.Errorf("got %q", got)
	}
}

func TestBrokenMarks_OfFinishedSubHandlerDoNotRepeatTheOthers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, func(_ context.Context, ch *change) error {
			ch.Sub("sub", c.does("sub"))
			return nil
		}, kopf.ID("parent"))
		kopf.OnCreate(r, plains, sees(c, "other", "value"), kopf.ID("other"))
	})
	object := cluster.Create(plain.of(example("a")))
	record := kopf.PathOf("metadata", "annotations", "kopf.zalando.org/parent.sub")
	object.WaitFor("the record of the sub-handler", func(o *kopf.Object) bool { return o.Get(record) != nil })
	object.Patch(tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/parent.sub": "broken"}}, "spec": tree{"field": "new"}})
	o.WaitLog("Creation is processed")
	waitHandled(object)
	if c.count("sub") != 1 || c.count("other new") != 1 || o.CountLog("Handling has failed") != 0 {
		t.Errorf("called: %v", c.all())
	}
}

func TestBrokenMarks_OnFullObject(t *testing.T) {
	cluster := newCluster(t)
	o := full("full")
	annotations := o["metadata"].(tree)["annotations"].(tree)
	annotations["big"] = strings.Repeat("x", patch.MaxAnnotationsSize-len("smallxbig")-10-len("kopf.zalando.org/delete{"))
	annotations["kopf.zalando.org/delete"] = "{"
	o["metadata"].(tree)["finalizers"] = []any{finalizer}
	object := cluster.Create(o)
	var c calls
	cluster.Run(func(r *kopf.Registry) { kopf.OnDelete(r, kexes, c.does("delete"), kopf.ID("delete")) })
	object.Delete()
	object.WaitGone()
	if got := c.all(); !slices.Equal(got, []string{"delete"}) {
		t.Errorf("got %q", got)
	}
}
