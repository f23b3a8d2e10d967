package kopf

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

var examples = &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}

// causeOf returns the update of an object from one state to another, or the creation from none.
func causeOf(t *testing.T, from, to string) *handlers.Cause {
	t.Helper()
	treeOf := func(text string) (*object.Object, map[string]any) {
		object, err := object.Parse([]byte(text), object.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := object.Tree()
		if err != nil {
			t.Fatal(err)
		}
		return object, tree
	}
	extra := []object.Path{{"spec", "size"}}
	obj, tree := treeOf(to)
	cause := &handlers.Cause{
		Resource: examples, Object: obj, Tree: tree, Reason: handlers.ReasonCreate,
		New: state.BuildEssence(tree, extra, nil), Views: &handlers.Views{},
	}
	if from != "" {
		_, old := treeOf(from)
		cause.Reason, cause.Old = handlers.ReasonUpdate, state.BuildEssence(old, extra, nil)
		cause.Diff = object.ComputeDiff(cause.Old, cause.New)
	}
	return cause
}

const (
	small = `{"metadata":{"name":"a","namespace":"ns1","labels":{"tier":"gold","empty":""}},"spec":{"size":3}}`
	big   = `{"metadata":{"name":"a","namespace":"ns1","labels":{"tier":"gold","empty":""}},"spec":{"size":30}}`
	// An object under review can have labels that are no strings.
	numbered = `{"metadata":{"name":"a","namespace":"ns1","labels":{"a":5}},"spec":{"size":30}}`

	odd = `{"metadata":{"name":"a","namespace":"ns1"},"spec":{"size":"many"}}`
)

type sized struct {
	Spec struct {
		Size int `json:"size"`
	} `json:"spec"`
}

func handle(context.Context, *Change[sized]) error        { return nil }
func handleSize(context.Context, *FieldChange[int]) error { return nil }
func isBig(_ context.Context, s *sized) bool              { return s.Spec.Size > 10 }
func isUpdate(_ context.Context, c *Change[sized]) bool   { return c.Reason == ReasonUpdate }
func grows(_ context.Context, c *FieldChange[int]) bool   { return c.New > c.Old }
func inNS1(_ context.Context, r *Request) bool            { return r.Namespace == "ns1" && r.Name == "a" }
func hasTier(_ context.Context, o *Object) bool           { return GetOr(o, "metadata.labels.tier", "") != "" }
func isGold(_ context.Context, tier string) bool          { return tier == "gold" }
func positive(_ context.Context, n int) bool              { return n > 0 }
func isFive(_ context.Context, value any) bool            { return value == int64(5) }
func goldIsBig(_ context.Context, tier string, s *sized) bool {
	return tier == "gold" && s.Spec.Size > 10
}
func goldUpdate(_ context.Context, tier string, c *Change[sized]) bool {
	return tier == "gold" && c.Reason == ReasonUpdate && c.Old.Spec.Size < c.Object.Spec.Size && len(c.Diff) == 1
}
func noneInNS1(_ context.Context, none string, r *Request) bool {
	return none == "" && r.Namespace == "ns1"
}
func biggest(_ context.Context, n int, c *FieldChange[int]) bool {
	return n == c.New && c.New > c.Old
}

func TestFilters_SelectHandlers(t *testing.T) {
	kex := Resource("kopf.dev/v1", "kopfexamples")
	update := func(opts ...UpdateOption) func(*Registry) {
		return func(r *Registry) { OnUpdate(r, kex, handle, opts...) }
	}
	field := func(opts ...FieldOption) func(*Registry) {
		return func(r *Registry) { OnField(r, kex, "spec.size", handleSize, opts...) }
	}
	for name, test := range map[string]struct {
		register func(*Registry)
		from, to string
		want     bool
	}{
		"no filters":                              {update(), small, big, true},
		"equal label":                             {update(Labels{"tier": "gold"}), small, big, true},
		"different label":                         {update(Labels{"tier": "silver"}), small, big, false},
		"present label":                           {update(Labels{"empty": Present}), small, big, true},
		"absent label":                            {update(Labels{"none": Absent}), small, big, true},
		"label accepted by a function":            {update(Labels{"tier": Where(isGold)}), small, big, true},
		"absent label rejected by a function":     {update(Labels{"none": Where(isGold)}), small, big, false},
		"a label and the object":                  {update(Labels{"tier": WhereWith(goldIsBig)}), small, big, true},
		"a label and the object, not matching":    {update(Labels{"tier": WhereWith(goldIsBig)}), big, small, false},
		"a label and an object of another type":   {update(Labels{"tier": WhereWith(goldIsBig)}), small, odd, false},
		"a label and the request":                 {update(Labels{"tier": WhereWith(goldUpdate)}), small, big, true},
		"a label and the request, not matching":   {update(Labels{"tier": WhereWith(goldUpdate)}), big, small, false},
		"an absent annotation and the request":    {update(Annotations{"a": WhereWith(noneInNS1)}), small, big, true},
		"a value and the field's request":         {field(To(WhereWith(biggest))), small, big, true},
		"a value and the field's smaller request": {field(To(WhereWith(biggest))), big, small, false},
		"a label that is a number":                {update(Labels{"a": "5"}), small, numbered, false},
		"a label that is a number, as it is":      {update(Labels{"a": Where(isFive)}), small, numbered, true},
		"a label that is a number, as a string":   {update(Labels{"a": Where(not(isGold))}), small, numbered, false},
		"a present label that is a number":        {update(Labels{"a": Present}), small, numbered, true},
		"several labels":                          {update(Labels{"tier": "gold"}, Labels{"empty": Present}), small, big, true},
		"several labels, one different":           {update(Labels{"tier": "silver"}, Labels{"empty": Present}), small, big, false},
		"an absent annotation":                    {update(Annotations{"none": Absent}), small, big, true},
		"missing annotation":                      {update(Annotations{"none": Present}), small, big, false},
		"the object":                              {update(When(isBig)), small, big, true},
		"the object, not matching":                {update(When(isBig)), big, small, false},
		"the object that does not decode":         {update(When(isBig)), small, odd, false},
		"the view of the object":                  {update(When(hasTier)), small, big, true},
		"the request":                             {update(When(isUpdate)), small, big, true},
		"the part common to all requests":         {update(When(inNS1)), small, big, true},
		"several functions":                       {update(When(inNS1), When(isBig)), small, big, true},
		"several functions, one false":            {update(When(inNS1), When(not(isBig))), small, big, false},
		"a field that has changed":                {update(Field("spec.size")), small, big, true},
		"a field that has not changed":            {update(Field("spec.other")), small, big, false},
		"a field with a value":                    {update(Field("spec.size"), Value(30)), small, big, true},
		"a field with the old value":              {update(Field("spec.size"), Value(3)), small, big, true},
		"a field from a value":                    {update(Field("spec.size"), From(3)), small, big, true},
		"a field from another value":              {update(Field("spec.size"), From(4)), small, big, false},
		"a field to a value":                      {update(Field("spec.size"), To(Where(positive))), small, big, true},
		"a field to a value that does not decode": {update(Field("spec.size"), To(Where(positive))), small, odd, false},
		"a new object's field":                    {field(), "", small, true},
		"a field's request":                       {field(When(grows)), small, big, true},
		"a field's request, not matching":         {field(When(grows)), big, small, false},
		"listed reason":                           {field(Reasons(ReasonUpdate, ReasonDelete)), small, big, true},
		"unlisted reason":                         {field(Reasons(ReasonUpdate)), "", small, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r Registry
			test.register(&r)
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			selected := r.registry.ForResource(examples).Selected(handlers.Changing, causeOf(t, test.from, test.to))
			if got := len(selected) > 0; got != test.want {
				t.Errorf("selected: %v", got)
			}
		})
	}
}

func TestWhereWith_OneCriterionServesSeveralFamilies(t *testing.T) {
	var r Registry
	none := Labels{"none": WhereWith(noneInNS1)}
	kex := Resource("kopf.dev/v1", "kopfexamples")
	OnUpdate(&r, kex, handle, none)
	OnField(&r, kex, "spec.size", handleSize, none)
	cause := causeOf(t, small, big)
	if n := len(r.registry.ForResource(examples).Selected(handlers.Changing, cause)); n != 2 {
		t.Errorf("selected: %d", n)
	}
	if got := r.registry.All()[1].Labels["none"]; got.Wants() != "noneInNS1" {
		t.Errorf("the inspector shows %q", got.Wants())
	}
}

func TestWhen_FiltersOfOneTypeDecodeOnce(t *testing.T) {
	var seen []*sized
	look := func(_ context.Context, s *sized) bool { seen = append(seen, s); return true }
	var r Registry
	OnUpdate(&r, Resource("kopfexamples"), handle, When(look))
	OnUpdate(&r, Resource("kopfexamples"), handle, When(look), ID("other"))
	cause := causeOf(t, small, big)
	if n := len(r.registry.ForResource(examples).Selected(handlers.Changing, cause)); n != 2 {
		t.Fatalf("selected: %d", n)
	}
	if len(seen) != 2 || seen[0] != seen[1] {
		t.Errorf("got %v", seen)
	}
}

func TestWhen_NamedAfterFunction(t *testing.T) {
	var r Registry
	OnUpdate(&r, Resource("kopfexamples"), handle, When(isBig), When(func(context.Context, *sized) bool { return true }))
	if got := r.registry.All()[0].WhenName; !strings.HasPrefix(got, "isBig and kopf/filters_test.go:") {
		t.Errorf("got %q", got)
	}
}

type contextKey struct{}

func TestFilters_GetTheContextOfTheCause(t *testing.T) {
	knows := func(ctx context.Context) bool { return ctx.Value(contextKey{}) == "known" }
	when := func(ctx context.Context, _ *sized) bool { return knows(ctx) }
	where := func(ctx context.Context, _ any) bool { return knows(ctx) }
	for name, opts := range map[string][]UpdateOption{
		"When":       {When(when)},
		"label":      {Labels{"tier": Where(func(ctx context.Context, _ string) bool { return knows(ctx) })}},
		"annotation": {Annotations{"none": Where(func(ctx context.Context, _ string) bool { return knows(ctx) })}},
		"value":      {Field("spec.size"), Value(Where(where))},
		"old, new":   {Field("spec.size"), From(Where(where)), To(Where(where))},
	} {
		var r Registry
		OnUpdate(&r, Resource("kopf.dev/v1", "kopfexamples"), handle, opts...)
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		cause := causeOf(t, small, big)
		cause.Context = context.WithValue(t.Context(), contextKey{}, "known")
		if n := len(r.registry.ForResource(examples).Selected(handlers.Changing, cause)); n != 1 {
			t.Errorf("%s: the function does not get the context", name)
		}
	}
}

// not returns the opposite of a function for filters.
func not[A any](f func(context.Context, A) bool) func(context.Context, A) bool {
	return func(ctx context.Context, a A) bool { return !f(ctx, a) }
}
