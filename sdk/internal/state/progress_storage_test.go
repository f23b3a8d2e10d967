package state

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestProgressStorage_ReadsRecordsOfAllVersions(t *testing.T) {
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]*Record{
		`null`: nil,
		`{}`:   {},
		` {"started":"2020-01-02T03:04:05","retries":null,"success":null,"subrefs":null,"purpose":"","future":{"x":1}} `: {Started: at},
		`{"started":"2020-01-02T03:04:05Z","retries":2.0,"subrefs":["b","a"],"message":"\u00e9"}`:                        {Started: at, Retries: 2, Subrefs: []string{"b", "a"}, Message: "é"},
	} {
		got, err := newAnnotationsProgress().Fetch(annotated("fn", text), "fn")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

func TestProgressStorage_BrokenRecordIsError(t *testing.T) {
	for _, text := range []any{
		`{`, `[]`, `"text"`, int64(1), `{"started":"yesterday"}`, `{"started":1}`, `{"retries":"2"}`, `{"success":"yes"}`, `{"subrefs":"a"}`, `{"subrefs":[1]}`, `{"message":[]}`,
		`{"retries":-1}`, `{"retries":1e99}`, `{"retries":1.5}`, `{"retries":NaN}`, `{"retries":12345678901234567890}`, `{"retries":9999999999}`,
		strings.Repeat(`[`, 100_000), strings.Repeat(`{"a":`, 50_000), strings.Repeat(`x`, 250_000), "\x00", ``,
	} {
		_, err := ReadProgress(annotated("fn", text), NewSmartProgress(), []string{"fn"}, now)
		broken, ok := errors.AsType[*BrokenMark](err)
		if !ok || !strings.Contains(broken.What, `"fn"`) || broken.Where() != "the annotation kopf.zalando.org/fn" || broken.Unwrap() == nil || err.Error() == "" {
			t.Errorf("%v: %v", text, err)
		}
	}
	status := map[string]any{"status": map[string]any{"kopf": map[string]any{"progress": map[string]any{"fn": map[string]any{"retries": "2"}}}}}
	if _, err := newStatusProgress("").Fetch(status, "fn"); err == nil {
		t.Error("a broken record in the status was read")
	}
}

func TestStatusProgress_IgnoresOtherValues(t *testing.T) {
	for _, progress := range []any{nil, "text", map[string]any{"fn": "text"}, map[string]any{"fn": nil}} {
		object := map[string]any{"status": map[string]any{"kopf": map[string]any{"progress": progress}}}
		if r, err := newStatusProgress("").Fetch(object, "fn"); r != nil || err != nil {
			t.Errorf("%v: %v, %v", progress, r, err)
		}
	}
}

type failing struct{ *StatusProgress }

var errFailing = errors.New("failing")

func (failing) Store(map[string]any, string, Record, *patch.Patch) error { return errFailing }
func (failing) Purge(map[string]any, string, *patch.Patch) error         { return errFailing }
func (failing) Touch(map[string]any, string, *patch.Patch) error         { return errFailing }
func (failing) Fetch(map[string]any, string) (*Record, error)            { return nil, errFailing }

func TestMultiProgress_ReturnsErrorsOfStorages(t *testing.T) {
	storage := MultiProgress{newAnnotationsProgress(), failing{newStatusProgress("")}}
	p := patch.NewPatch()
	s := Progress{}.WithHandlers([]string{"fn"}, now)
	_, errFetch := ReadProgress(nil, storage, []string{"fn"}, now)
	for what, err := range map[string]error{
		"fetch": errFetch, "store": s.Store(nil, storage, p), "purge": s.Purge(nil, storage, nil, p), "touch": storage.Touch(nil, "x", p),
	} {
		if !errors.Is(err, errFailing) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestProgressStorage_ClearKeepsOriginal(t *testing.T) {
	essence := annotated("fn", "{}")
	before := annotated("fn", "{}")
	if got := NewSmartProgress().Clear(essence); len(got) != 0 {
		t.Error(got)
	}
	if diff := cmp.Diff(before, essence); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkProgress_CycleOfOneHandler(b *testing.B) {
	storage := NewSmartProgress()
	object := annotated("fn", `{"started":"2024-01-01T12:00:00.123456+00:00","delayed":"2024-01-01T12:00:10.123456+00:00","purpose":"create","retries":1,"success":false,"failure":false,"message":"not yet"}`)
	ids, outcomes := []string{"fn"}, map[string]handlers.Outcome{"fn": {Final: true}}
	b.ReportAllocs()
	for b.Loop() {
		s, err := ReadProgress(object, storage, ids, now)
		if err != nil {
			b.Fatal(err)
		}
		s, err = s.WithPurpose("create").WithHandlers(ids, now).WithOutcomes(outcomes, now)
		if err != nil {
			b.Fatal(err)
		}
		p := patch.NewPatch()
		if err := errors.Join(s.Store(object, storage, p), s.Purge(object, storage, ids, p)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnnotationsProgress_Fetch(b *testing.B) {
	storage := NewSmartProgress()
	object := annotated("fn", `{"started":"2024-01-01T12:00:00.123456+00:00","purpose":"create","retries":1,"success":false,"failure":false}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := storage.Fetch(object, "fn"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnnotationsProgress_Store(b *testing.B) {
	storage, p := NewSmartProgress(), patch.NewPatch()
	r := Record{Started: now, Purpose: "create", Retries: 1, Message: "not yet"}
	b.ReportAllocs()
	for b.Loop() {
		if err := storage.Store(nil, "fn", r, p); err != nil {
			b.Fatal(err)
		}
	}
}
