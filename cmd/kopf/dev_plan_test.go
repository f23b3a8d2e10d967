package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestPlanPage_MarksObjectsThatWouldChange(t *testing.T) {
	kex := "kopfexamples.v1.kopf.dev"
	page := planPage(&shapes.Plan{As: "now", NotTried: []string{"timer tick on 2 objects"}, Shapes: []shapes.Shape{
		{Verdict: shapes.VerdictFails, Count: 1, Resource: kex, Short: "kex", Objects: []string{"shop/bad"},
			Handlers: []shapes.Handler{{ID: "extend", Outcome: shapes.OutcomeFails, Error: "spec.field must be set"}}},
		{Verdict: shapes.VerdictChanges, Count: 2, Resource: kex, Short: "kex", Objects: []string{"shop/one", "shop/two"}, Writes: []shapes.Write{
			{Verbs: []string{"create"}, Resource: "pods.v1", Name: "{namespace}/{name}-new"},
			{Verbs: []string{"delete"}, Resource: "pods.v1", Name: "{namespace}/{name}-old"},
			{Verbs: []string{"patch"}, Resource: "configmaps.v1", Name: "{namespace}/all", Changes: []shapes.Change{{Path: "data.a", New: `"1"`}}},
			{Verbs: []string{"patch"}, Resource: "secrets.v1", Name: "{namespace}/{name}"},
			{Verbs: []string{"delete"}, Resource: "pods.v1", Name: "{namespace}/{name}-{random}"},
		}},
		{Verdict: shapes.VerdictRecords, Count: 1, Resource: kex, Short: "kex", Objects: []string{"shop/three"}},
		{Verdict: shapes.VerdictChanges, Count: 1, Resource: "globals.v1.kopf.dev", Short: "glo", Objects: []string{"top"}},
		{Verdict: shapes.VerdictChanges, Count: 1, Writes: []shapes.Write{{Verbs: []string{"delete"}, Resource: "pods.v1", Name: "shop/stray"}}},
	}})
	var got []string
	for ref, m := range page.Marks {
		got = append(got, fmt.Sprintf("%s %s/%s %s", ref.Resource, ref.Namespace, ref.Name, m.Text))
	}
	slices.Sort(got)
	want := []string{
		"configmaps.v1 shop/all would change it",
		"globals.v1.kopf.dev /top would change it",
		kex + " shop/bad would fail",
		kex + " shop/one would change it",
		kex + " shop/two would change it",
		"pods.v1 shop/one-old would delete it",
		"pods.v1 shop/stray would delete it",
		"pods.v1 shop/two-old would delete it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	bad := page.Marks[inspect.Ref{Resource: kex, Namespace: "shop", Name: "bad"}]
	if len(bad.Lines) != 1 || bad.Lines[0] != "extend: would fail: spec.field must be set" {
		t.Errorf("the details of the failure are %q", bad.Lines)
	}
	if foot := strings.Join(page.Footer, "\n"); !strings.Contains(foot, "not tried: timer tick on 2 objects") || !strings.Contains(foot, "not known: nothing") {
		t.Errorf("the end is %s", foot)
	}
	if s := page.Shapes[0]; s.Title != "1  fail         kex  extend  shop/bad" || len(page.Shapes) != 5 {
		t.Errorf("the first of %d entries is %q", len(page.Shapes), s.Title)
	}
}

func TestShortError_HasAtMostTwoLines(t *testing.T) {
	if err := shortError(errors.New("a\nb\nc")); err == nil || err.Error() != "a\nb" {
		t.Errorf("got %v", err)
	}
	broken := &runner.BuildFailure{Errors: []runner.BuildError{{File: "claims.go", Line: 49, Message: "undefined: newSiez\nmore"}, {Message: "other"}}}
	if err := shortError(fmt.Errorf("build: %w", broken)); err == nil || err.Error() != "the saved code cannot be built: claims.go:49: undefined: newSiez, and 1 error more" {
		t.Errorf("got %v", err)
	}
	if err := shortError(nil); err != nil {
		t.Errorf("got %v", err)
	}
}
