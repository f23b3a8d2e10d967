package handlers

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestSelected_FunctionOncePerID(t *testing.T) {
	set := registered(
		&Handler{ID: "fn", Family: Create},
		&Handler{ID: "other", Family: Create},
		&Handler{ID: "fn", Family: Create},
		&Handler{ID: "fn", Fn: "another function", Family: Create},
		&Handler{ID: "fn", Family: Resume},
	)
	c := &Cause{Resource: kex, Reason: ReasonCreate, New: spec(1)}
	if got := ids(set.Selected(Changing, c)); !slices.Equal(got, []string{"fn", "other", "fn"}) {
		t.Errorf("selected: got %q", got)
	}
	if got := ids(set.Handlers(Changing)); !slices.Equal(got, []string{"fn", "other", "fn"}) {
		t.Errorf("all: got %q", got)
	}
}

func TestSelected_FunctionByFirstMatchingRegistration(t *testing.T) {
	gold, silver := EqualStringCriterion("gold"), EqualStringCriterion("silver")
	set := registered(
		&Handler{ID: "fn", Family: Create, Labels: map[string]Criterion{"tier": gold}, Param: 1},
		&Handler{ID: "fn", Family: Create, Labels: map[string]Criterion{"tier": silver}, Param: 2},
		&Handler{ID: "fn", Family: Create, Labels: map[string]Criterion{"tier": Present}, Param: 3},
	)
	for tier, want := range map[string]int{"gold": 1, "silver": 2, "none": 3} {
		body := map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": tier}}}
		got := set.Selected(Changing, &Cause{Resource: kex, Reason: ReasonCreate, Tree: body, New: body})
		if len(got) != 1 || got[0].Param != want {
			t.Errorf("%s: got %v", tier, got)
		}
	}
}

func TestSelected_ExcludedDaemonNeedsNoFinalizer(t *testing.T) {
	set := registered(&Handler{ID: "d", Family: Daemon}, &Handler{ID: "t", Family: Timer, Labels: map[string]Criterion{"a": Present}})
	c := &Cause{Resource: kex, Tree: spec(1)}
	if got := ids(set.Selected(Spawning, c)); !slices.Equal(got, []string{"d"}) || !set.RequiresFinalizer(c) {
		t.Errorf("got %q", got)
	}
	c.Excluded = map[string]bool{"d": false}
	if got := set.Selected(Spawning, c); len(got) != 0 || set.RequiresFinalizer(c) {
		t.Errorf("got %q in spite of the exclusion", ids(got))
	}
}

func TestRequiresFinalizer_MandatoryMatchingDeletionsOnly(t *testing.T) {
	labels := map[string]Criterion{"a": Present}
	tests := map[string]struct {
		handler *Handler
		want    bool
	}{
		"deletion":               {&Handler{Family: Delete}, true},
		"optional deletion":      {&Handler{Family: Delete, Optional: true}, false},
		"deletion of others":     {&Handler{Family: Delete, Labels: labels}, false},
		"creation":               {&Handler{Family: Create}, false},
		"event":                  {&Handler{Family: Event}, false},
		"daemon":                 {&Handler{Family: Daemon}, true},
		"daemon of others":       {&Handler{Family: Daemon, Labels: labels}, false},
		"children elsewhere":     {&Handler{Family: Reconcile, Owns: []Owned{{}, {Elsewhere: true}}}, true},
		"children deleted first": {&Handler{Family: Reconcile, Owns: []Owned{{DeleteFirst: true}}}, true},
		"children of others":     {&Handler{Family: Reconcile, Owns: []Owned{{Elsewhere: true}}, Labels: labels}, false},
		"children nearby":        {&Handler{Family: Reconcile, Owns: []Owned{{}}}, false},
		"deletion by a field":    {&Handler{Family: Delete, Field: object.Path{"spec", "f"}}, true},
		"deletion by its value":  {&Handler{Family: Delete, Field: object.Path{"spec", "f"}, Value: &Absent}, false},
	}
	for name, tt := range tests {
		c := updated(spec(1), spec(1))
		c.Reason = ReasonNoop
		if got := registered(tt.handler).RequiresFinalizer(c); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestPrematch_FalseIfNoHandlerCanMatch(t *testing.T) {
	set := registered(&Handler{ID: "a", Family: Update, When: func(_ context.Context, c *Cause) bool { return c.Views != nil }})
	c := updated(spec(1), spec(1))
	if set.Prematch(c) {
		t.Error("got interest in spite of the filter")
	}
	c.Views = &Views{}
	if !set.Prematch(c) {
		t.Error("got no interest, though the handler is only for another cause")
	}
}

func TestNeedsTree_OnlyForFiltersOnTheObject(t *testing.T) {
	present := map[string]Criterion{"a": Present}
	for name, tt := range map[string]struct {
		handler *Handler
		want    bool
	}{
		"no filters":      {&Handler{Family: Event}, false},
		"a function":      {&Handler{Family: Event, When: func(context.Context, *Cause) bool { return true }}, false},
		"labels":          {&Handler{Family: Event, Labels: present}, true},
		"annotations":     {&Handler{Family: Create, Annotations: present}, true},
		"field of all":    {&Handler{Family: Event, Field: object.Path{"spec"}}, true},
		"field of a diff": {&Handler{Family: Update, Field: object.Path{"spec"}}, false},
	} {
		if got := registered(tt.handler).NeedsTree(tt.handler.Family.Group()); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestExtraFields_EachFieldOnce(t *testing.T) {
	f, g := object.Path{"status", "f"}, object.Path{"status", "g"}
	set := registered(
		&Handler{ID: "a", Family: Field, Field: f}, &Handler{ID: "b", Family: Daemon, Field: f},
		&Handler{ID: "c", Family: Event, Field: g}, &Handler{ID: "d", Family: Index, Field: object.Path{"status", "h"}},
	)
	if diff := cmp.Diff([]object.Path{f, g}, set.ExtraFields()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSet_FiltersByFunctionDependOnMoreThanTheEssence(t *testing.T) {
	isGold := FuncCriterion("isGold", func(context.Context, *Cause, any, bool) bool { return true })
	for name, tt := range map[string]struct {
		handler *Handler
		want    bool
	}{
		"none":        {&Handler{}, true},
		"label":       {&Handler{Labels: map[string]Criterion{"tier": EqualStringCriterion("gold")}}, true},
		"annotation":  {&Handler{Annotations: map[string]Criterion{"a": Present}}, false},
		"When":        {&Handler{When: func(context.Context, *Cause) bool { return true }}, false},
		"of a label":  {&Handler{Labels: map[string]Criterion{"tier": isGold}}, false},
		"of a value":  {&Handler{Value: &isGold}, false},
		"of From, To": {&Handler{Old: &isGold}, false},
	} {
		var s Set
		tt.handler.Family = Update
		s.add(tt.handler)
		if got := s.NeedsEssence(Changing); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
