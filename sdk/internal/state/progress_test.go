package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

var now = time.Date(2024, 1, 1, 12, 0, 0, 123456789, time.UTC)

// applied returns the object with the annotations of the patch.
func applied(obj map[string]any, p *patch.Patch) map[string]any {
	annotations := object.CloneMap(object.Annotations(obj))
	if annotations == nil {
		annotations = map[string]any{}
	}
	for key, value := range object.Annotations(p.Tree()) {
		if value == nil {
			delete(annotations, key)
		} else {
			annotations[key] = value
		}
	}
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}

// cycle runs one cycle: reads the state, adds the outcomes, and writes what changed.
func cycle(t *testing.T, object map[string]any, at time.Time, owned, selected []string, purpose string, outcomes map[string]handlers.Outcome) (Progress, *patch.Patch) {
	t.Helper()
	s, err := ReadProgress(object, NewSmartProgress(), owned, at)
	if err != nil {
		t.Fatal(err)
	}
	s, err = s.WithPurpose(purpose).WithHandlers(selected, at).WithOutcomes(outcomes, at)
	if err != nil {
		t.Fatal(err)
	}
	p := patch.NewPatch()
	if err := s.Store(object, NewSmartProgress(), p); err != nil {
		t.Fatal(err)
	}
	return s, p
}

func seconds(n int) *time.Duration {
	d := time.Duration(n) * time.Second
	return &d
}

func TestProgress_RetriedAfterDelayUntilDone(t *testing.T) {
	ids := []string{"fn"}
	s, p := cycle(t, nil, now, ids, ids, "create", map[string]handlers.Outcome{"fn": {Delay: seconds(10), Err: errors.New("not yet")}})
	const first = `{"started":"2024-01-01T12:00:00.123456+00:00","delayed":"2024-01-01T12:00:10.123456+00:00","purpose":"create","retries":1,"success":false,"failure":false,"message":"not yet"}`
	if got := object.Annotations(p.Tree())["kopf.zalando.org/fn"]; got != first {
		t.Errorf("got  %s\nwant %s", got, first)
	}
	if h, ok := s.Handler("fn"); !ok || !h.sleeping(now) || h.Awakened(now) || s.Done() {
		t.Error("the handler does not sleep:", h)
	}
	if delay, ok := s.Delay(now); !ok || delay.Round(time.Millisecond) != 10*time.Second {
		t.Error(delay, ok)
	}

	obj := applied(nil, p)
	later := now.Add(11 * time.Second)
	s, p = cycle(t, obj, later, ids, ids, "create", map[string]handlers.Outcome{"fn": {Final: true}})
	h, _ := s.Handler("fn")
	if !s.Done() || !h.Record.Success || h.Record.Retries != 2 || h.Record.Message != "" || !h.Record.Delayed.IsZero() || later.Sub(h.Record.Started).Round(time.Second) != 11*time.Second {
		t.Error(h)
	}
	if _, ok := s.Delay(later); ok || len(p.Tree()) == 0 {
		t.Error("a finished handler has a delay, or no record")
	}
	purged := patch.NewPatch()
	if err := s.Purge(applied(obj, p), NewSmartProgress(), ids, purged); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"kopf.zalando.org/fn": nil}, object.Annotations(purged.Tree())); diff != "" {
		t.Error(diff)
	}
}

func TestProgress_UnchangedRecordIsNotStored(t *testing.T) {
	ids := []string{"a", "b"}
	_, p := cycle(t, nil, now, ids, ids, "create", map[string]handlers.Outcome{"a": {Final: true}})
	_, again := cycle(t, applied(nil, p), now.Add(time.Second), ids, ids, "create", nil)
	if !again.Empty() {
		t.Error(again.Tree())
	}
}

func TestProgress_DoneAndPurgedInOneCycleLeavesPatchEmpty(t *testing.T) {
	ids := []string{"fn"}
	s, p := cycle(t, nil, now, ids, ids, "create", map[string]handlers.Outcome{"fn": {Final: true}})
	if err := s.Purge(nil, NewSmartProgress(), ids, p); err != nil || !p.Empty() {
		t.Error(err, p.Tree())
	}
}

func TestProgress_PurgesSubHandlersWithParent(t *testing.T) {
	// The sub-handlers go first, within the call of their parent.
	_, p := cycle(t, nil, now, []string{"fn/a", "fn/b"}, []string{"fn/a", "fn/b"}, "create", map[string]handlers.Outcome{"fn/a": {Final: true}, "fn/b": {Subrefs: []string{"fn/b/deep"}}})
	_, deep := cycle(t, nil, now, []string{"fn/b/deep"}, []string{"fn/b/deep"}, "create", nil)
	p.Append(deep)
	subrefs := []string{"fn/b", "fn/a", "fn/b/deep", "fn/a"}
	_, parent := cycle(t, nil, now, []string{"fn"}, []string{"fn"}, "create", map[string]handlers.Outcome{"fn": {Subrefs: subrefs}})
	p.Append(parent)
	obj := applied(nil, p)

	// The next operator does not know of them before the parent is called.
	s, err := ReadProgress(obj, NewSmartProgress(), []string{"fn"}, now)
	if err != nil {
		t.Fatal(err)
	}
	h, _ := s.Handler("fn")
	if diff := cmp.Diff([]string{"fn/a", "fn/b", "fn/b/deep"}, h.Record.Subrefs); diff != "" {
		t.Error(diff)
	}
	purged := patch.NewPatch()
	if err := s.Purge(obj, NewSmartProgress(), []string{"fn"}, purged); err != nil {
		t.Fatal(err)
	}
	if left := object.Annotations(applied(obj, purged)); len(left) > 0 {
		t.Error("left over:", left)
	}
}

func TestProgress_SupersededCauseIsReportedAndTakenOver(t *testing.T) {
	ids := []string{"a", "b"}
	_, p := cycle(t, nil, now, ids, ids, "create", map[string]handlers.Outcome{"a": {Final: true, Err: errors.New("")}, "b": {}})
	object := applied(nil, p)
	s, err := ReadProgress(object, NewSmartProgress(), ids, now)
	if err != nil {
		t.Fatal(err)
	}
	s = s.WithPurpose("delete").WithHandlers([]string{"b"}, now)
	if diff := cmp.Diff(map[string]Counts{"create": {Failure: 1, Running: 1}}, s.Extras()); diff != "" {
		t.Error(diff)
	}
	a, _ := s.Handler("a")
	if a.Active || a.Record.Message != "*errors.errorString" {
		t.Error("an error without a text is not told by its type:", a)
	}
	s = s.WithPurpose("delete", "a", "b", "unknown")
	if len(s.Extras()) > 0 || s.Counts() != (Counts{Failure: 1, Running: 1}) || s.purpose != "delete" || len(s.Handlers()) != 2 {
		t.Error(s)
	}
}

func TestProgress_IsImmutable(t *testing.T) {
	s := Progress{}.WithPurpose("create").WithHandlers([]string{"a"}, now)
	before := s.Handlers()
	_ = s.WithPurpose("update", "a").WithHandlers([]string{"b"}, now)
	if _, err := s.WithOutcomes(map[string]handlers.Outcome{"a": {Final: true}}, now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.Handlers(), cmp.AllowUnexported(HandlerProgress{})); diff != "" {
		t.Error(diff)
	}
}

func TestProgress_RejectsOutcomesOfUnknownHandlers(t *testing.T) {
	_, err := Progress{}.WithOutcomes(map[string]handlers.Outcome{"b": {}, "a": {}}, now)
	if unknown, ok := errors.AsType[*UnknownHandlerError](err); !ok || fmt.Sprint(unknown.IDs) != "[a b]" || err.Error() == "" {
		t.Error(err)
	}
}

func TestProgress_DoneWithoutHandlers(t *testing.T) {
	s := Progress{}
	if !s.Done() || len(s.Delays(now)) > 0 || s.Counts() != (Counts{}) {
		t.Error(s)
	}
	if _, ok := s.Handler("fn"); ok {
		t.Error("a handler out of nowhere")
	}
}

func TestProgress_MissingStartIsNow(t *testing.T) {
	object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/fn": `{"retries":2}`}}}
	s, err := ReadProgress(object, NewSmartProgress(), []string{"fn", "fn"}, now)
	h, _ := s.Handler("fn")
	if err != nil || len(s.Handlers()) != 1 || !h.Record.Started.Equal(now.Truncate(time.Microsecond)) || h.Record.Retries != 2 {
		t.Error(h, err)
	}
}
