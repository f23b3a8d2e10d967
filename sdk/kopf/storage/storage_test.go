package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

type tree = map[string]any

func view(t *testing.T, v any) *kopf.Object {
	t.Helper()
	o, err := kopf.ObjectOf(v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// applied returns an object with the merge patch applied.
func applied(t *testing.T, object tree, p *kopf.Patch) tree {
	t.Helper()
	raw, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var changes tree
	if err := json.Unmarshal(raw, &changes); err != nil {
		t.Fatal(err)
	}
	var merge func(into, changes tree) tree
	merge = func(into, changes tree) tree {
		out := tree{}
		for k, v := range into {
			out[k] = v
		}
		for k, v := range changes {
			inner, isMap := v.(tree)
			switch {
			case v == nil:
				delete(out, k)
			case isMap:
				before, _ := out[k].(tree)
				out[k] = merge(before, inner)
			default:
				out[k] = v
			}
		}
		return out
	}
	return merge(object, changes)
}

var record = &kopf.ProgressRecord{
	Started: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Delayed: time.Date(2026, 1, 2, 3, 5, 5, 0, time.UTC),
	Purpose: kopf.ReasonCreate, Retries: 2, Message: "not yet", Subrefs: []string{"create/a"},
}

func TestProgressStorage_FetchReturnsWhatWasStored(t *testing.T) {
	for name, test := range map[string]struct {
		storage kopf.ProgressStorage
		where   kopf.Path
	}{
		"annotations":             {storage.Annotations(storage.AnnotationNames{}), "metadata.annotations[kopf.zalando.org/create]"},
		"annotations of a prefix": {storage.Annotations(storage.AnnotationNames{Prefix: "my.example.com", Verbose: true, NoV1: true}), "metadata.annotations[my.example.com/create]"},
		"status":                  {storage.Status(storage.StatusFields{}), "status.kopf.progress.create"},
		"status of a name":        {storage.Status(storage.StatusFields{Name: "mine"}), "status.mine.progress.create"},
		"another field":           {storage.Status(storage.StatusFields{Field: "spec.my.{name}", TouchField: "spec.touched"}), "spec.my.kopf.create"},
		"smart":                   {storage.Smart(storage.AnnotationNames{}, storage.StatusFields{}), "metadata.annotations[kopf.zalando.org/create]"},
		"several":                 {storage.Multi(storage.Status(storage.StatusFields{}), storage.Annotations(storage.AnnotationNames{})), "status.kopf.progress.create"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), test.storage
			empty := tree{"metadata": tree{"name": "a"}}
			body := view(t, empty)
			if got, err := s.Fetch(ctx, body, "create"); got != nil || err != nil {
				t.Fatalf("of nothing: got %v, %v", got, err)
			}
			p := kopftest.NewPatch(body)
			if err := s.Store(ctx, body, "create", record, p); err != nil {
				t.Fatal(err)
			}
			stored := applied(t, empty, p)
			body = view(t, stored)
			if body.Get(test.where) == nil {
				t.Errorf("there is nothing at %s: %v", test.where, stored)
			}
			got, err := s.Fetch(ctx, body, "create")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(record, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}

			p = kopftest.NewPatch(body)
			if err := s.Touch(ctx, body, "now", p); err != nil {
				t.Fatal(err)
			}
			touched := applied(t, stored, p)
			if cmp.Equal(stored, touched) {
				t.Error("a touch changes nothing")
			}
			essence := tree{"spec": tree{"size": 3}}
			for k, v := range touched {
				essence[k] = v
			}
			s.Clean(essence)
			delete(essence, "status") // the diff base removes the rest of it
			want := tree{"spec": tree{"size": 3}, "metadata": tree{"name": "a"}}
			if spec, ok := touched["spec"].(tree); ok {
				want["spec"] = tree{"touched": spec["touched"]}
			}
			if diff := cmp.Diff(want, essence); diff != "" {
				t.Errorf("the essence (-want +got)\n%s", diff)
			}

			body = view(t, touched)
			p = kopftest.NewPatch(body)
			if err := errors.Join(s.Touch(ctx, body, "", p), s.Purge(ctx, body, "create", p)); err != nil {
				t.Fatal(err)
			}
			body = view(t, applied(t, touched, p))
			if got, err := s.Fetch(ctx, body, "create"); got != nil || err != nil {
				t.Errorf("after a purge: got %v, %v", got, err)
			}
		})
	}
}

func TestDiffBaseStorage_FetchReturnsWhatWasStored(t *testing.T) {
	for name, test := range map[string]struct {
		storage kopf.DiffBaseStorage
		where   kopf.Path
	}{
		"annotations":          {storage.AnnotationDiffBase(storage.DiffBaseAnnotation{}), "metadata.annotations[kopf.zalando.org/last-handled-configuration]"},
		"annotations of a key": {storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Prefix: "my.example.com", Key: "mine", NoV1: true}), "metadata.annotations[my.example.com/mine]"},
		"status":               {storage.StatusDiffBase(storage.DiffBaseField{}), "status.kopf.last-handled-configuration"},
		"status of a name":     {storage.StatusDiffBase(storage.DiffBaseField{Name: "mine"}), "status.mine.last-handled-configuration"},
		"another field":        {storage.StatusDiffBase(storage.DiffBaseField{Field: "status.handled"}), "status.handled"},
		"several":              {storage.MultiDiffBase(storage.StatusDiffBase(storage.DiffBaseField{}), storage.AnnotationDiffBase(storage.DiffBaseAnnotation{})), "status.kopf.last-handled-configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), test.storage
			object := tree{"metadata": tree{"name": "a", "labels": tree{"l": "v"}}, "spec": tree{"size": 3.0}, "status": tree{"asked": "for"}}
			body := view(t, object)
			if got, err := s.Fetch(ctx, body); got != nil || err != nil {
				t.Fatalf("of nothing: got %v, %v", got, err)
			}
			essence := tree{"metadata": tree{"labels": tree{"l": "v"}}, "spec": tree{"size": 3.0}, "status": tree{"asked": "for"}}
			p := kopftest.NewPatch(body)
			if err := s.Store(ctx, body, essence, p); err != nil {
				t.Fatal(err)
			}
			stored := applied(t, object, p)
			body = view(t, stored)
			if body.Get(test.where) == nil {
				t.Errorf("there is nothing at %s: %v", test.where, stored)
			}
			got, err := s.Fetch(ctx, body)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(essence) {
				t.Errorf("got %v, want %v", got, essence)
			}
			// Its own fields are no part of the essence; the fields that handlers have asked for are.
			built := tree{"metadata": tree{"labels": tree{"l": "v"}}, "spec": stored["spec"], "status": stored["status"]}
			if annotations, ok := stored["metadata"].(tree)["annotations"]; ok {
				built["metadata"].(tree)["annotations"] = annotations
			}
			if got := s.Essence(body, built); fmt.Sprint(got) != fmt.Sprint(essence) {
				t.Errorf("the essence: got %v, want %v", got, essence)
			}
		})
	}
}

func TestDiffBaseStorage_IgnoresFields(t *testing.T) {
	ignored := []kopf.Path{"spec.replicas", "metadata.labels[example.com/seen]", "status.phase"}
	for name, s := range map[string]kopf.DiffBaseStorage{
		"annotations": storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Ignored: ignored}),
		"status":      storage.StatusDiffBase(storage.DiffBaseField{Ignored: ignored}),
		"several":     storage.MultiDiffBase(storage.StatusDiffBase(storage.DiffBaseField{}), storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Ignored: ignored})),
	} {
		essence := tree{
			"metadata": tree{"labels": tree{"example.com/seen": "now", "l": "v"}}, "spec": tree{"replicas": 3.0, "size": 1.0},
			"status": tree{"phase": "Bound"},
		}
		want := tree{"metadata": tree{"labels": tree{"l": "v"}}, "spec": tree{"size": 1.0}}
		if diff := cmp.Diff(want, s.Essence(view(t, essence), essence)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestStorages_MalformedFieldsPanic(t *testing.T) {
	for want, create := range map[string]func(){
		"index of a list item":        func() { storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Ignored: []kopf.Path{"spec.items[0]"}}) },
		`storage: field "status["`:    func() { storage.Status(storage.StatusFields{Field: "status["}) },
		`storage: ignored field "": `: func() { storage.StatusDiffBase(storage.DiffBaseField{Ignored: []kopf.Path{""}}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("want %q, got %s", want, got)
				}
			}()
			create()
		}()
	}
}

var errForeign = errors.New("the database is down")

// foreign is a user's storage that returns errors.
type foreign struct{}

func (foreign) Fetch(context.Context, *kopf.Object, string) (*kopf.ProgressRecord, error) {
	return nil, errForeign
}
func (foreign) Store(context.Context, *kopf.Object, string, *kopf.ProgressRecord, *kopf.Patch) error {
	return errForeign
}
func (foreign) Purge(context.Context, *kopf.Object, string, *kopf.Patch) error { return errForeign }
func (foreign) Touch(context.Context, *kopf.Object, string, *kopf.Patch) error { return errForeign }
func (foreign) Clean(map[string]any)                                           {}

func TestMultiProgress_FailsWhenOneStorageFails(t *testing.T) {
	s := storage.Multi(storage.Annotations(storage.AnnotationNames{}), foreign{})
	body := view(t, tree{})
	if _, err := s.Fetch(t.Context(), body, "create"); !errors.Is(err, errForeign) {
		t.Errorf("got %v", err)
	}
	err := s.Store(t.Context(), body, "create", record, kopftest.NewPatch(body))
	if !errors.Is(err, errForeign) || !strings.Contains(err.Error(), "storage 2 of 2") {
		t.Errorf("got %v", err)
	}
}
