package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// database stores progress and diff bases outside of the cluster.
type database struct {
	mu      sync.Mutex
	records map[string]kopf.ProgressRecord
	bases   map[string]map[string]any
	purged  int
}

func newDatabase() *database {
	return &database{records: map[string]kopf.ProgressRecord{}, bases: map[string]map[string]any{}}
}

func uidOf(body *kopf.Object) string { return kopf.GetOr(body, "metadata.uid", "") }

// dbProgress is its side of progress.
type dbProgress struct{ *database }

func (d dbProgress) Fetch(ctx context.Context, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	record, ok := d.records[uidOf(body)+" "+id]
	if !ok {
		return nil, ctx.Err()
	}
	return &record, ctx.Err()
}

func (d dbProgress) Store(ctx context.Context, body *kopf.Object, id string, record *kopf.ProgressRecord, _ *kopf.Patch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records[uidOf(body)+" "+id] = *record
	return ctx.Err()
}

func (d dbProgress) Purge(ctx context.Context, body *kopf.Object, id string, _ *kopf.Patch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.records[uidOf(body)+" "+id]; ok {
		d.purged++
	}
	delete(d.records, uidOf(body)+" "+id)
	return ctx.Err()
}

func (d dbProgress) Touch(context.Context, *kopf.Object, string, *kopf.Patch) error { return nil }
func (d dbProgress) Clean(map[string]any)                                           {}

// dbBases is its side of diff bases.
type dbBases struct{ *database }

func (d dbBases) Essence(_ *kopf.Object, essence map[string]any) map[string]any {
	if spec, ok := essence["spec"].(map[string]any); ok {
		delete(spec, "ignored")
	}
	return essence
}

func (d dbBases) Fetch(_ context.Context, body *kopf.Object) (map[string]any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bases[uidOf(body)], nil
}

func (d dbBases) Store(_ context.Context, body *kopf.Object, essence map[string]any, _ *kopf.Patch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bases[uidOf(body)] = essence
	return nil
}

func lifeOf(c *callList) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.handler("create 1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, func(_ context.Context, ch *kopf.Change[kopf.Object]) error {
			c.add("create 2")
			if ch.Retry < 2 {
				return kopf.Temporaryf(20*time.Millisecond, "not yet")
			}
			return nil
		}, kopf.ID("second"))
		kopf.OnUpdate(r, kexes, func(_ context.Context, ch *kopf.Change[kopf.Object]) error {
			c.add("update " + ch.Diff.String())
			return nil
		}, kopf.ID("update"))
		kopf.OnDelete(r, kexes, c.handler("delete"), kopf.ID("delete"))
	}
}

var (
	lifeBegins = []string{"create 1", "create 2", "create 2", "create 2"}
	lifeEnds   = []string{"create 1", "create 2", "create 2", "create 2", "update [~spec.field=value→new]", "delete"}
)

func TestProgressAndDiffBasesCanBeStoredOutsideOfTheCluster(t *testing.T) {
	w := newWorld(t)
	db := newDatabase()
	settings := setup{settings: func(s *kopf.Settings) {
		s.Persistence.ProgressStorage, s.Persistence.DiffBaseStorage = dbProgress{db}, dbBases{db}
	}}
	var c callList
	o := w.run(lifeOf(&c), settings)
	w.create(example("outside"))
	eventually(t, "the object is created", c.is(lifeBegins...), func() any { return c.list() })
	o.journal.wait(t, "Creation is processed: 2 succeeded; 0 failed.", 1)
	o.stop()

	// What is stored outlives the operator; what does not matter changes nothing.
	o = w.run(lifeOf(&c), settings)
	w.patch("outside", tree{"spec": tree{"ignored": "whatever"}})
	o.journal.wait(t, "the essence is the same", 1)
	w.patch("outside", tree{"spec": tree{"field": "new"}})
	o.journal.wait(t, "Updating is processed", 1)
	seen := w.get("outside")
	w.delete("outside")
	w.untilGone("outside")
	if got := c.list(); !slices.Equal(got, lifeEnds) {
		t.Errorf("got %q", got)
	}
	annotations, _ := seen.Get("metadata.annotations").(tree)
	if len(annotations) != 1 || seen.Get("status") != nil {
		t.Errorf("there are marks on the object: %v, %v", annotations, seen.Get("status"))
	}
	if len(db.records) != 0 || db.purged == 0 {
		t.Errorf("left in the database: %v", db.records)
	}
}

func TestProgressAndDiffBasesCanBeStoredInTheStatus(t *testing.T) {
	w := newWorld(t)
	var c callList
	o := w.run(lifeOf(&c), setup{settings: func(s *kopf.Settings) {
		s.Persistence.ProgressStorage = kopf.StatusProgress{Name: "mine"}
		s.Persistence.DiffBaseStorage = kopf.StatusDiffBase{Field: "status.handled"}
	}})
	w.create(example("inside"))
	o.journal.wait(t, "Creation is processed: 2 succeeded; 0 failed.", 1)
	w.patch("inside", tree{"spec": tree{"field": "new"}})
	o.journal.wait(t, "Updating is processed", 1)
	seen := w.until("inside", "is handled", func(o *kopf.Object) bool {
		return kopf.GetOr(o, "status.handled", "") != "" && len(kopf.GetOr(o, "status.mine.progress", tree{})) == 0
	})
	w.delete("inside")
	w.untilGone("inside")
	if got := c.list(); !slices.Equal(got, lifeEnds) {
		t.Errorf("got %q", got)
	}
	if annotations, _ := seen.Get("metadata.annotations").(tree); len(annotations) != 1 {
		t.Errorf("there are marks in annotations: %v", annotations)
	}
}

func TestStoragesCanBeExchangedWhileObjectsAreHandled(t *testing.T) {
	w := newWorld(t)
	db := newDatabase()
	var c callList
	o := w.run(lifeOf(&c))
	w.create(example("moving"))
	o.journal.wait(t, "Creation is processed: 2 succeeded; 0 failed.", 1)
	o.stop()

	o = w.run(lifeOf(&c), setup{settings: func(s *kopf.Settings) {
		s.Persistence.ProgressStorage = kopf.MultiProgress{dbProgress{db}, kopf.SmartProgress{}}
		s.Persistence.DiffBaseStorage = kopf.MultiDiffBase{dbBases{db}, kopf.AnnotationsDiffBase{}}
	}})
	w.patch("moving", tree{"spec": tree{"field": "new"}})
	o.journal.wait(t, "Updating is processed", 1)
	o.stop()

	o = w.run(lifeOf(&c), setup{settings: func(s *kopf.Settings) {
		s.Persistence.ProgressStorage, s.Persistence.DiffBaseStorage = dbProgress{db}, dbBases{db}
	}})
	w.patch("moving", tree{"metadata": tree{"annotations": tree{lastHandled: nil}}})
	o.journal.wait(t, "the essence is the same", 1)
	w.delete("moving")
	w.untilGone("moving")
	if got := c.list(); !slices.Equal(got, lifeEnds) {
		t.Errorf("got %q", got)
	}
}
