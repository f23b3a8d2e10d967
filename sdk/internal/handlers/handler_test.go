package handlers

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func registered(hs ...*Handler) *Set {
	var r Registry
	for _, h := range hs {
		if h.Fn == nil {
			h.Fn = h.ID
		}
		h.Selector = allKex()
		r.Add(h)
	}
	return r.ForResource(kex)
}

func updated(old, new map[string]any) *Cause {
	return &Cause{Resource: kex, Reason: ReasonUpdate, Tree: new, Old: old, New: new, Diff: object.ComputeDiff(old, new)}
}

func spec(value any) map[string]any {
	return map[string]any{"spec": map[string]any{"f": value}}
}

func TestAFunctionIsCalledOnceForOneIDWhateverItIsRegisteredFor(t *testing.T) {
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

func TestAResourceHasTheHandlersWhoseSelectorsMatchIt(t *testing.T) {
	var r Registry
	r.Add(&Handler{ID: "a", Family: Event, Selector: resources.Selector{Name: "pods"}})
	r.Add(&Handler{ID: "b", Family: Event, Selector: allKex()})
	r.Add(&Handler{ID: "c", Family: Timer, Selector: allKex()})
	r.Add(&Handler{ID: "d", Family: Startup})
	r.Add(&Handler{ID: "e", Family: Validate, Selector: allKex()})
	r.Add(&Handler{ID: "f", Family: Startup})
	set := r.ForResource(kex)
	if got := ids(set.all); !slices.Equal(got, []string{"b", "c", "e"}) {
		t.Errorf("got %q", got)
	}
	if !set.Has(Watching) || set.Has(Indexing) {
		t.Error("got wrong groups")
	}
	if got := ids(r.Activities(Startup)); !slices.Equal(got, []string{"d", "f"}) {
		t.Errorf("activities: got %q", got)
	}
	want := []resources.Demand{
		{Selector: resources.Selector{Name: "pods"}, Watch: true},
		{Selector: allKex(), Watch: true},
		{Selector: allKex(), Watch: true, Patch: true},
	}
	if diff := cmp.Diff(want, r.Demands()); diff != "" {
		t.Errorf("demands (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]resources.Demand{{Selector: allKex()}}, r.AdmissionDemands()); diff != "" {
		t.Errorf("demands of admission (-want +got):\n%s", diff)
	}
	if len(r.All()) != 6 {
		t.Errorf("got %d handlers in all", len(r.All()))
	}
}

func TestADaemonThatIsExcludedIsNotSpawnedAndHoldsNothingBack(t *testing.T) {
	set := registered(&Handler{ID: "d", Family: Daemon}, &Handler{ID: "t", Family: Timer, Labels: map[string]Criterion{"a": Present}})
	c := &Cause{Resource: kex, Tree: spec(1)}
	if got := ids(set.Selected(Spawning, c)); !slices.Equal(got, []string{"d"}) || !set.RequiresFinalizer(c) {
		t.Errorf("got %q", got)
	}
	c.Excluded = map[string]struct{}{"d": {}}
	if got := set.Selected(Spawning, c); len(got) != 0 || set.RequiresFinalizer(c) {
		t.Errorf("got %q in spite of the exclusion", ids(got))
	}
}

func TestOnlyDeletionsThatAreNotOptionalAndMayMatchHoldAnObjectBack(t *testing.T) {
	labels := map[string]Criterion{"a": Present}
	tests := map[string]struct {
		handler *Handler
		want    bool
	}{
		"deletion":              {&Handler{Family: Delete}, true},
		"optional deletion":     {&Handler{Family: Delete, Optional: true}, false},
		"deletion of others":    {&Handler{Family: Delete, Labels: labels}, false},
		"creation":              {&Handler{Family: Create}, false},
		"event":                 {&Handler{Family: Event}, false},
		"daemon":                {&Handler{Family: Daemon}, true},
		"daemon of others":      {&Handler{Family: Daemon, Labels: labels}, false},
		"deletion by a field":   {&Handler{Family: Delete, Field: object.Path{"spec", "f"}}, true},
		"deletion by its value": {&Handler{Family: Delete, Field: object.Path{"spec", "f"}, Value: &Absent}, false},
	}
	for name, tt := range tests {
		c := updated(spec(1), spec(1))
		c.Reason = ReasonNoop
		if got := registered(tt.handler).RequiresFinalizer(c); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

func TestAnObjectThatNoHandlerCanEverMatchIsOfNoInterest(t *testing.T) {
	set := registered(&Handler{ID: "a", Family: Update, When: func(c *Cause) bool { return c.Local == "yes" }})
	c := updated(spec(1), spec(1))
	if set.Prematch(c) {
		t.Error("got interest in spite of the filter")
	}
	c.Local = "yes"
	if !set.Prematch(c) {
		t.Error("got no interest, though the handler is only for another cause")
	}
}

func TestTheTreeIsNeededOnlyByFiltersThatLookIntoIt(t *testing.T) {
	present := map[string]Criterion{"a": Present}
	for name, tt := range map[string]struct {
		handler *Handler
		want    bool
	}{
		"no filters":      {&Handler{Family: Event}, false},
		"a function":      {&Handler{Family: Event, When: func(*Cause) bool { return true }}, false},
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

func TestFieldsOfHandlersArePartOfTheEssenceOnce(t *testing.T) {
	f, g := object.Path{"status", "f"}, object.Path{"status", "g"}
	set := registered(
		&Handler{ID: "a", Family: Field, Field: f}, &Handler{ID: "b", Family: Daemon, Field: f},
		&Handler{ID: "c", Family: Event, Field: g}, &Handler{ID: "d", Family: Index, Field: object.Path{"status", "h"}},
	)
	if diff := cmp.Diff([]object.Path{f, g}, set.ExtraFields()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAdmissionHandlersAreSelectedByTheQuestion(t *testing.T) {
	set := registered(
		&Handler{ID: "v", Family: Validate},
		&Handler{ID: "m", Family: Mutate},
		&Handler{ID: "md", Family: Mutate, Operations: []string{"DELETE"}},
		&Handler{ID: "mcd", Family: Mutate, Operations: []string{"CREATE", "DELETE"}},
		&Handler{ID: "vs", Family: Validate, Subresource: "status"},
		&Handler{ID: "va", Family: Validate, Subresource: "*"},
	)
	for name, tt := range map[string]struct {
		review *Review
		want   []string
	}{
		"all":         {&Review{Operation: "CREATE"}, []string{"v", "m", "md", "mcd", "va"}},
		"deletion":    {&Review{Operation: "DELETE"}, []string{"v", "md", "va"}},
		"one":         {&Review{HandlerID: "m", Operation: "UPDATE"}, []string{"m"}},
		"mutation":    {&Review{Family: Mutate, Operation: "DELETE"}, []string{"md"}},
		"subresource": {&Review{Operation: "UPDATE", Subresource: "status"}, []string{"vs", "va"}},
		"no question": {nil, []string{"v", "m", "md", "mcd", "vs", "va"}},
	} {
		if got := ids(set.Selected(Admission, &Cause{Resource: kex, Review: tt.review})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestAHandlerSaysHowItIsTriedAgain(t *testing.T) {
	for family, want := range map[Family]ErrorsMode{
		Create: ErrorsTemporary, Event: ErrorsIgnored, Index: ErrorsIgnored,
		Mutate: ErrorsPermanent, Startup: ErrorsTemporary, Daemon: ErrorsTemporary,
	} {
		if got := (&Handler{Family: family}).Limits().Errors; got != want {
			t.Errorf("%s: got %d, want %d", family, got, want)
		}
	}
	h := &Handler{Family: Index, ErrorsSet: true, Retries: new(3), Timeout: new(time.Second)}
	if got := h.Limits(); got.Errors != ErrorsTemporary || *got.Retries != 3 || *got.Timeout != time.Second || got.Backoff != nil {
		t.Errorf("got %+v", got)
	}
}

func TestHandlersAreCalledByTheirFamiliesInTheLog(t *testing.T) {
	for want, h := range map[string]*Handler{
		"Handler 'fn/spec.f'": {ID: "fn/spec.f", Family: Field},
		`Handler "it's"`:      {ID: "it's", Family: Sub},
		"Daemon 'd'":          {ID: "d", Family: Daemon},
		"Timer 't'":           {ID: "t", Family: Timer},
		"Indexer 'i'":         {ID: "i", Family: Index},
		"Webhook 'w'":         {ID: "w", Family: Mutate},
		"Activity 'a'":        {ID: "a", Family: Login},
	} {
		if got := h.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAllMistakesInARegistrationAreTold(t *testing.T) {
	x := EqualStringCriterion("x")
	h := &Handler{Family: Create, Value: &x, Old: &x, Fn: func() {}}
	err := h.Validate()
	for _, want := range []error{ErrNoID, ErrFieldRequired, ErrValueOrChange, ErrOldNew, ErrIncomparable} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v in it", err, want)
		}
	}
}

func TestACallOfAFieldHandlerIsAboutItsFieldOnly(t *testing.T) {
	old, now := spec(map[string]any{"x": int64(1)}), spec(map[string]any{"x": int64(2)})
	call := &Call{Cause: updated(old, now), Handler: &Handler{Family: Field, Field: object.Path{"spec", "f"}}}
	call.Narrow()
	if diff := cmp.Diff(map[string]any{"x": int64(1)}, call.Old); diff != "" {
		t.Errorf("old (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"x": int64(2)}, call.New); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	want := object.Diff{{Op: object.DiffChange, Path: object.Path{"x"}, Old: int64(1), New: int64(2)}}
	if diff := cmp.Diff(want, call.Diff); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	call.Widen()
	if diff := cmp.Diff(any(now), call.New); diff != "" {
		t.Errorf("new of the whole (-want +got):\n%s", diff)
	}
}

func TestAnObjectNeverHandledHasNoOldState(t *testing.T) {
	call := &Call{Cause: updated(nil, spec(1)), Handler: &Handler{Family: Create}}
	call.Widen()
	if call.Old != nil {
		t.Errorf("got %v", call.Old)
	}
}

func TestReasonsAreNouns(t *testing.T) {
	for reason, want := range map[Reason]string{
		ReasonCreate: "creation", ReasonUpdate: "updating", ReasonDelete: "deletion", ReasonResume: "resuming", ReasonNoop: "",
	} {
		if got := reason.Title(); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
}
