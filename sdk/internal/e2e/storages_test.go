package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
)

func TestProgress_RenamedHandlerContinuesByID(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	failing := func(_ context.Context, ch *change) error {
		c.add("attempt")
		return kopf.Temporaryf(time.Hour, "later")
	}
	o := cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, failing, kopf.ID("create_fn")) })
	cluster.Create(example("a"))
	o.WaitLog("failed temporarily")
	o.Stop()

	o = cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("renamed"), kopf.ID("create"))
		kopf.OnCreate(r, kexes, failing, kopf.ID("other"))
	})
	o.WaitLog(`There is progress of the handler "create_fn" on the object, and no such handler. If it was renamed, it continues from there with kopf.ID("create_fn").`)
	o.WaitLog("failed temporarily")
	o.Stop()
	if n := o.CountLog("There is progress of the handler"); n != 1 {
		t.Errorf("told %d times", n)
	}

	o = cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, failing, kopf.ID("create_fn")) })
	o.WaitLog("for the delayed handlers")
	o.Stop()
	if got := c.all(); !slices.Equal(got, []string{"attempt", "renamed", "attempt"}) {
		t.Errorf("got %q", got)
	}
}

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

// dbProgress is the database as a storage of progress.
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

func (d dbProgress) Clean(map[string]any) {}

// dbBases is the database as a storage of diff bases.
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

func lifeOf(c *calls) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("create 1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, func(_ context.Context, ch *change) error {
			c.add("create 2")
			if ch.Retry < 2 {
				return kopf.Temporaryf(20*time.Millisecond, "not yet")
			}
			return nil
		}, kopf.ID("second"))
		kopf.OnUpdate(r, kexes, func(_ context.Context, ch *change) error {
			c.add("update " + ch.Diff.String())
			return nil
		}, kopf.ID("update"))
		kopf.OnDelete(r, kexes, c.does("delete"), kopf.ID("delete"))
	}
}

var (
	lifeBegins = []string{"create 1", "create 2", "create 2", "create 2"}
	lifeEnds   = []string{"create 1", "create 2", "create 2", "create 2", "update [~spec.field=value→new]", "delete"}
)

func TestStorage_OutsideOfCluster(t *testing.T) {
	cluster := newCluster(t)
	db := newDatabase()
	outside := settings(func(s *kopf.Settings) {
		s.Persistence.ProgressStorage, s.Persistence.DiffBaseStorage = dbProgress{db}, dbBases{db}
	})
	var c calls
	o := cluster.Run(lifeOf(&c), outside)
	object := cluster.Create(example("outside"))
	cluster.WaitUntil("the object is created", c.is(lifeBegins...))
	o.WaitLog("Creation is processed: 2 succeeded; 0 failed.")
	o.Stop()

	// The next operator reads the stored state. A change of an ignored field is no change.
	o = cluster.Run(lifeOf(&c), outside)
	object.Patch(tree{"spec": tree{"ignored": "whatever"}})
	o.WaitLog("the essence is the same")
	object.Patch(field("new"))
	o.WaitLog("Updating is processed")
	seen := object.Get()
	object.Delete()
	object.WaitGone()
	if got := c.all(); !slices.Equal(got, lifeEnds) {
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

func TestStorage_InStatus(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	o := cluster.Run(lifeOf(&c), settings(func(s *kopf.Settings) {
		s.Persistence.ProgressStorage = storage.Status(storage.StatusFields{Name: "mine"})
		s.Persistence.DiffBaseStorage = storage.StatusDiffBase(storage.DiffBaseField{Field: "status.handled"})
	}))
	inside := cluster.Create(example("inside"))
	o.WaitLog("Creation is processed: 2 succeeded; 0 failed.")
	inside.Patch(field("new"))
	o.WaitLog("Updating is processed")
	seen := inside.WaitFor("it is handled", func(o *kopf.Object) bool {
		return kopf.GetOr(o, "status.handled", "") != "" && len(kopf.GetOr(o, "status.mine.progress", tree{})) == 0
	})
	inside.Delete()
	inside.WaitGone()
	if got := c.all(); !slices.Equal(got, lifeEnds) {
		t.Errorf("got %q", got)
	}
	if annotations, _ := seen.Get("metadata.annotations").(tree); len(annotations) != 1 {
		t.Errorf("there are marks in annotations: %v", annotations)
	}
}

func TestStorage_CanBeExchanged(t *testing.T) {
	cluster := newCluster(t)
	db := newDatabase()
	var c calls
	o := cluster.Run(lifeOf(&c))
	moving := cluster.Create(example("moving"))
	o.WaitLog("Creation is processed: 2 succeeded; 0 failed.")
	o.Stop()

	o = cluster.Run(lifeOf(&c), settings(func(s *kopf.Settings) {
		s.Persistence.ProgressStorage = storage.Multi(dbProgress{db}, storage.Smart(storage.AnnotationNames{}, storage.StatusFields{}))
		s.Persistence.DiffBaseStorage = storage.MultiDiffBase(dbBases{db}, storage.AnnotationDiffBase(storage.DiffBaseAnnotation{}))
	}))
	moving.Patch(field("new"))
	o.WaitLog("Updating is processed")
	o.Stop()

	o = cluster.Run(lifeOf(&c), settings(func(s *kopf.Settings) {
		s.Persistence.ProgressStorage, s.Persistence.DiffBaseStorage = dbProgress{db}, dbBases{db}
	}))
	moving.Patch(tree{"metadata": tree{"annotations": tree{lastHandled: nil}}})
	o.WaitLog("the essence is the same")
	moving.Delete()
	moving.WaitGone()
	if got := c.all(); !slices.Equal(got, lifeEnds) {
		t.Errorf("got %q", got)
	}
}
