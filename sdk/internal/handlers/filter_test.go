package handlers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func equal(t *testing.T, want any) *Criterion {
	t.Helper()
	c, err := EqualCriterion(want)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestEqualCriterion_AcceptsAnyGoValue(t *testing.T) {
	type quota struct {
		CPU  int      `json:"cpu"`
		Tags []string `json:"tags"`
	}
	is := map[string]any{"cpu": int64(2), "tags": []any{"a"}}
	if !equal(t, quota{2, []string{"a"}}).accepts(&Cause{}, is, true) || equal(t, quota{3, nil}).accepts(&Cause{}, is, true) {
		t.Error("a struct is not compared by its JSON")
	}
	if !equal(t, 2).accepts(&Cause{}, 2.0, true) {
		t.Error("numbers are not compared by value")
	}
	if equal(t, "").accepts(&Cause{}, nil, false) {
		t.Error("an absent value is taken for an empty one")
	}
}

func TestEqualCriterion_RejectsNull(t *testing.T) {
	if _, err := EqualCriterion(nil); !errors.Is(err, errNull) {
		t.Errorf("got %v, want %v", err, errNull)
	}
	if _, err := EqualCriterion(make(chan int)); err == nil {
		t.Error("got no error for what JSON cannot say")
	}
}

func TestCriterion_NullIsPresent(t *testing.T) {
	present, absent := Present, Absent
	if !present.accepts(&Cause{}, nil, true) || present.accepts(&Cause{}, nil, false) {
		t.Error("null is not present")
	}
	if absent.accepts(&Cause{}, nil, true) || !absent.accepts(&Cause{}, nil, false) {
		t.Error("null is absent")
	}
}

func TestMetaFilter_ReportsFirstMismatchByName(t *testing.T) {
	isGold := FuncCriterion("isGold", func(_ context.Context, _ *Cause, v any, _ bool) bool { return v == "gold" })
	m := newLabelsFilter(map[string]Criterion{"tier": isGold, "a": Present, "b": Absent, "zone": EqualStringCriterion("z")})
	tests := []struct {
		labels map[string]any
		want   Mismatch
	}{
		{nil, Mismatch{Kind: MismatchLabel, Path: "a", Wants: "present", Absent: true}},
		{map[string]any{"a": "", "b": "x"}, Mismatch{Kind: MismatchLabel, Path: "b", Is: "x", Wants: "absent"}},
		{map[string]any{"a": "", "tier": "tin"}, Mismatch{Kind: MismatchLabel, Path: "tier", Is: "tin", Wants: "isGold"}},
		{map[string]any{"a": "", "tier": "gold", "zone": "y"}, Mismatch{Kind: MismatchLabel, Path: "zone", Is: "y", Wants: "z"}},
		{map[string]any{"a": "", "tier": "gold", "zone": "z"}, Mismatch{}},
	}
	for _, tt := range tests {
		var why Mismatch
		if got := m.match(&Cause{}, tt.labels, &why); got != (tt.want == Mismatch{}) {
			t.Errorf("%v: got %v", tt.labels, got)
		}
		if diff := cmp.Diff(tt.want, why); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", tt.labels, diff)
		}
		if got := m.match(&Cause{}, tt.labels, nil); got != (tt.want == Mismatch{}) {
			t.Errorf("%v: got %v without why", tt.labels, got)
		}
	}
}

func TestFieldFilter_ReportsFirstMismatch(t *testing.T) {
	x, y := fieldValue{"x", true}, fieldValue{"y", true}
	none := fieldValue{}
	tests := map[string]struct {
		field       fieldFilter
		before, now fieldValue
		want        Mismatch
	}{
		"absent": {fieldFilter{Path: "spec.f"}, none, none,
			Mismatch{Kind: MismatchField, Path: "spec.f", Wants: "present", Absent: true}},
		"other value": {fieldFilter{Path: "spec.f", Value: equal(t, "z")}, x, y,
			Mismatch{Kind: MismatchValue, Path: "spec.f", Is: "y", Wants: "z"}},
		"value before": {fieldFilter{Path: "spec.f", Value: equal(t, "x"), Changed: true}, x, y, Mismatch{}},
		"unchanged": {fieldFilter{Path: "spec.f", Changed: true}, x, x,
			Mismatch{Kind: MismatchField, Path: "spec.f", Is: "x", Wants: "changed"}},
		"null is not absence": {fieldFilter{Path: "spec.f", Changed: true}, none, fieldValue{nil, true}, Mismatch{}},
		"other old": {fieldFilter{Path: "spec.f", Changed: true, Old: equal(t, "z")}, x, y,
			Mismatch{Kind: MismatchOld, Path: "spec.f", Is: "x", Wants: "z"}},
		"other new": {fieldFilter{Path: "spec.f", Changed: true, Old: equal(t, "x"), New: &Absent}, x, y,
			Mismatch{Kind: MismatchNew, Path: "spec.f", Is: "y", Wants: "absent"}},
		"reached": {fieldFilter{Path: "spec.f", Changed: true, Old: equal(t, "x"), New: equal(t, "y")}, x, y, Mismatch{}},
	}
	for name, tt := range tests {
		var why Mismatch
		got := tt.field.matchEither(&Cause{}, tt.before, tt.now, &why) && tt.field.matchChange(&Cause{}, tt.before, tt.now, &why)
		if got != (tt.want == Mismatch{}) {
			t.Errorf("%s: got %v", name, got)
		}
		if diff := cmp.Diff(tt.want, why); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if tt.field.matchEither(&Cause{}, tt.before, tt.now, nil) && tt.field.matchChange(&Cause{}, tt.before, tt.now, nil) != got {
			t.Errorf("%s: got another answer without why", name)
		}
	}
}

func TestFieldFilter_ObjectWithOneState(t *testing.T) {
	f := fieldFilter{Path: "spec.f", Value: equal(t, 5)}
	var why Mismatch
	if f.matchOne(&Cause{}, fieldValue{int64(4), true}, &why) {
		t.Error("got a match of 4 and 5")
	}
	if diff := cmp.Diff(Mismatch{Kind: MismatchValue, Path: "spec.f", Is: "4", Wants: "5"}, why); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !f.matchOne(&Cause{}, fieldValue{int64(5), true}, nil) {
		t.Error("got no match of 5 and 5")
	}
}

func TestFieldFilter_OldValueUncheckedIfNewIsAccepted(t *testing.T) {
	calls := 0
	counting := FuncCriterion("counting", func(context.Context, *Cause, any, bool) bool { calls++; return true })
	f := fieldFilter{Value: &counting}
	if !f.matchEither(&Cause{}, fieldValue{"old", true}, fieldValue{"new", true}, nil) || calls != 1 {
		t.Errorf("got %d calls, want 1", calls)
	}
}

func TestShow_ShortensValues(t *testing.T) {
	for want, value := range map[string]any{
		"x": "x", `{"a":[1,true,null]}`: map[string]any{"a": []any{int64(1), true, nil}}, "null": nil, "0.5": 0.5,
	} {
		if got := show(value); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := show(strings.Repeat("é", 500)); len(got) > maxShown+3 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
	if got := show(func() {}); got == "" {
		t.Error("got nothing for what is no tree")
	}
}
