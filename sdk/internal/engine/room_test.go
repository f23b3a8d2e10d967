package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func annotation(key string) object.Path { return object.Path{"metadata", "annotations", key} }

// crowded is a cycle of an object that has so many bytes of annotations left.
func crowded(room int) (c *cycle, logged *bytes.Buffer) {
	logged = &bytes.Buffer{}
	blob := strings.Repeat("x", patch.MaxAnnotationsSize-len("blob")-room)
	return &cycle{
		memory: &memory{}, patch: patch.NewPatch(), marks: patch.NewPatch(),
		logger: slog.New(slog.NewTextHandler(logged, nil)),
		tree:   map[string]any{"metadata": map[string]any{"annotations": map[string]any{"blob": blob}}},
	}, logged
}

func TestMarksThatFitAreWritten(t *testing.T) {
	c, logged := crowded(len("marktext"))
	c.marks.Set(annotation("mark"), "text")
	c.collect()
	if got, _ := c.patch.Lookup(annotation("mark")); got != "text" || len(c.memory.unwritten) > 0 || logged.Len() > 0 {
		t.Errorf("got %v, %v, %s", got, c.memory.unwritten, logged)
	}
}

func TestTheBiggestOfTheMarksIsKeptBack(t *testing.T) {
	c, _ := crowded(len("markmarkmarktext") - 1)
	c.patch.Set(object.Path{"spec", "size"}, int64(1))
	c.marks.Set(annotation("mark"), "text")
	c.marks.Set(annotation("markmark"), "much text")
	c.marks.Remove(annotation("old"))
	c.collect()
	want := map[string]any{
		"spec":     map[string]any{"size": int64(1)},
		"metadata": map[string]any{"annotations": map[string]any{"mark": "text", "old": nil}},
	}
	if diff := cmp.Diff(want, c.patch.Tree()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(unwritten{"markmark": "much text"}, c.memory.unwritten); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatIsKeptBackIsSeenAsIfItWereWritten(t *testing.T) {
	c, _ := crowded(0)
	seen := unwritten{"mark": "text", "blob": "newer"}.over(c.tree)
	want := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"blob": "newer", "mark": "text"}}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, there := c.tree["metadata"].(map[string]any)["annotations"].(map[string]any)["mark"]; there {
		t.Error("the object itself is changed")
	}
}

func TestWhatWasNeverWrittenNeedNotBeRemoved(t *testing.T) {
	c, _ := crowded(0)
	c.memory.remember("mark", "text")
	c.marks.Remove(annotation("mark"))
	c.collect()
	if !c.patch.Empty() || len(c.memory.unwritten) > 0 {
		t.Errorf("got %v, %v", c.patch.Tree(), c.memory.unwritten)
	}
}

func TestWhatWasKeptBackIsWrittenWhenThereIsRoom(t *testing.T) {
	for room, want := range map[int]bool{100: true, 7: false} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			c, _ := crowded(room)
			c.memory.remember("mark", "text")
			c.collect()
			got, _ := c.patch.Lookup(annotation("mark"))
			if (got == "text") != want || (len(c.memory.unwritten) == 0) != want {
				t.Errorf("got %v, %v", got, c.memory.unwritten)
			}
		})
	}
}

func TestANewerMarkReplacesTheOneThatWasKeptBack(t *testing.T) {
	c, _ := crowded(0)
	c.memory.remember("mark", "old")
	c.marks.Set(annotation("mark"), "new")
	c.collect()
	if diff := cmp.Diff(unwritten{"mark": "new"}, c.memory.unwritten); diff != "" || !c.patch.Empty() {
		t.Errorf("%v (-want +got)\n%s", c.patch.Tree(), diff)
	}
}

func TestAFullObjectIsWarnedAboutOnce(t *testing.T) {
	c, logged := crowded(0)
	for range 3 {
		c.patch, c.marks = patch.NewPatch(), patch.NewPatch()
		c.marks.Set(annotation("mark"), "text")
		c.collect()
	}
	if got := logged.String(); strings.Count(got, "are full") != 1 || !strings.Contains(got, "The biggest annotations: blob (262144 bytes).") {
		t.Errorf("got %s", got)
	}
}

func TestAHandlersAnnotationsAreGivenUpWhenNothingElseHelps(t *testing.T) {
	c, logged := crowded(0)
	c.patch.Set(annotation("mine"), "text")
	c.marks.Set(annotation("mark"), "text")
	c.collect()
	if !c.patch.Empty() || !strings.Contains(logged.String(), "thrown away, since the object has no room for them: mine.") {
		t.Errorf("got %v, %s", c.patch.Tree(), logged)
	}
	if diff := cmp.Diff(unwritten{"mark": "text"}, c.memory.unwritten); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
