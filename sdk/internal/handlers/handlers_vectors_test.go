package handlers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

var kex = &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Preferred: true}

func allKex() resources.Selector { return resources.Selector{Plural: "kopfexamples"} }

type detection struct {
	EventType *string        `json:"event_type"`
	Initial   bool           `json:"initial"`
	Body      map[string]any `json:"body"`
	Old       map[string]any `json:"old"`
	New       map[string]any `json:"new"`

	Reason            Reason   `json:"reason"`
	CauseInitial      bool     `json:"cause_initial"`
	Selected          []string `json:"selected_handlers"`
	RequiresFinalizer bool     `json:"requires_finalizer"`
}

// recordedHandlers returns the handlers with which causes were recorded.
func recordedHandlers(t *testing.T) *Set {
	t.Helper()
	var r Registry
	for _, h := range []Handler{
		{ID: "create_resume", Family: Resume},
		{ID: "create_resume", Family: Create},
		{ID: "create", Family: Create},
		{ID: "update", Family: Update},
		{ID: "update_field", Family: Update, Field: object.Path{"spec", "a"}},
		{ID: "delete", Family: Delete},
		{ID: "delete_optional", Family: Delete, Optional: true},
		{ID: "resume", Family: Resume},
		{ID: "resume_deleted", Family: Resume, Deleted: true},
		{ID: "field", Family: Field, Field: object.Path{"spec", "a"}},
		{ID: "field_other", Family: Field, Field: object.Path{"spec", "zzz"}},
		{ID: "field_meta", Family: Field, Field: object.Path{"metadata", "labels"}},
	} {
		h.Fn = h.ID
		h.ID = MakeID(h.Family, "", h.ID, h.Field)
		h.Selector = allKex()
		if err := h.Validate(); err != nil {
			t.Fatal(err)
		}
		r.Add(&h)
	}
	return r.ForResource(kex)
}

func TestVectors_CauseDetection(t *testing.T) {
	const finalizer = "kopf.zalando.org/KopfFinalizerMarker"
	set := recordedHandlers(t)
	vectors.Run(t, "cause_detection.json", func(_ *testing.T, v *detection) error {
		meta := object.Metadata(v.Body)
		finalizers, _ := meta["finalizers"].([]any)
		c := &Cause{Resource: kex, Tree: v.Body, Old: v.Old, New: v.New, Deleted: meta["deletionTimestamp"] != nil}
		if v.EventType != nil {
			c.EventType = *v.EventType
		}
		var old any
		if v.Old != nil {
			old = v.Old
		}
		c.Diff = object.ComputeDiff(old, v.New)
		c.Reason, c.Initial = DetectReason(Evidence{
			EventType: c.EventType, Deleting: c.Deleted, Blocked: slices.Contains(finalizers, any(finalizer)),
			Handled: v.Old != nil, EssenceChanged: len(c.Diff) > 0, Initial: v.Initial,
		})
		if c.Reason != v.Reason || c.Initial != v.CauseInitial {
			return fmt.Errorf("got %s, initial=%v", c.Reason, c.Initial)
		}
		if got := ids(set.Selected(Changing, c)); !slices.Equal(got, v.Selected) {
			return fmt.Errorf("selected: got %q", got)
		}
		if got := explained(set.Explain(Changing, c)); !slices.Equal(got, v.Selected) {
			return fmt.Errorf("explained as selected: got %q", got)
		}
		if got := set.RequiresFinalizer(c); got != v.RequiresFinalizer {
			return fmt.Errorf("requires a finalizer: got %v", got)
		}
		return nil
	})
}

func ids(hs []*Handler) []string {
	found := []string{}
	for _, h := range hs {
		found = append(found, h.ID)
	}
	return found
}

func explained(ds []Decision) []string {
	found := []string{}
	for _, d := range ds {
		if d.Selected {
			found = append(found, d.Handler.ID)
		}
	}
	return found
}

type filtering struct {
	Kind    string         `json:"kind"`
	Filter  map[string]any `json:"filter"`
	Filters map[string]any `json:"filters"`
	Kwargs  map[string]any `json:"kwargs"`
	Field   any            `json:"field"`
	Value   any            `json:"value"`
	Body    map[string]any `json:"body"`
	Old     map[string]any `json:"old"`
	New     map[string]any `json:"new"`

	HandlerID string  `json:"handler_id"`
	Prematch  bool    `json:"prematch"`
	Match     bool    `json:"match"`
	Error     *string `json:"error"`
}

// criterion converts a recorded filter. For an absent value, Python passed a marker, which is true
// and not None, to the functions of fields, and None to the functions of labels.
func criterion(v any, ofField bool) (Criterion, error) {
	special, ok := v.(map[string]any)
	if !ok {
		return EqualCriterion(v)
	}
	switch name := fmt.Sprint(special["$"], special["$fn"]); name {
	case "PRESENT<nil>":
		return Present, nil
	case "ABSENT<nil>":
		return Absent, nil
	case "<nil>is_x":
		return FuncCriterion("is_x", func(_ context.Context, _ *Cause, v any, _ bool) bool { return v == "x" }), nil
	case "<nil>is_none":
		return FuncCriterion("is_none", func(_ context.Context, _ *Cause, v any, found bool) bool { return v == nil && (found || !ofField) }), nil
	case "<nil>truthy":
		return FuncCriterion("truthy", func(_ context.Context, _ *Cause, v any, found bool) bool { return !found && ofField || truthy(v) }), nil
	}
	return EqualCriterion(v)
}

func truthy(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return v != nil && v != "" && v != false && v != int64(0) && v != 0.0
	}
}

// register registers the recorded handler. It fails where the registration in Python failed.
func (v *filtering) register() (*Set, error) {
	_, family, _ := strings.Cut(v.Kind, "-")
	options := map[string]any{"field": v.Field, "value": v.Value}
	for _, from := range []map[string]any{v.Filters, v.Kwargs} {
		for key, value := range from {
			options[key] = value
		}
	}
	h := &Handler{ID: "fn", Fn: "fn", Selector: allKex()}
	switch {
	case v.Kind == "labels" || v.Kind == "annotations":
		h.Family = Event
		criteria := map[string]Criterion{}
		for key, want := range v.Filter {
			c, err := criterion(want, false)
			if err != nil {
				return nil, err
			}
			criteria[key] = c
		}
		if v.Kind == "labels" {
			h.Labels = criteria
		} else {
			h.Annotations = criteria
		}
	case v.Kind == "event-field":
		h.Family = Event
	default:
		h.Family = Family(family)
	}
	switch field := options["field"].(type) {
	case string:
		path, err := object.ParsePath(field)
		if err != nil {
			return nil, err
		}
		h.Field = path
	case []any:
		for _, key := range field {
			h.Field = append(h.Field, fmt.Sprint(key))
		}
	}
	for key, to := range map[string]**Criterion{"value": &h.Value, "old": &h.Old, "new": &h.New} {
		if options[key] == nil {
			continue
		}
		c, err := criterion(options[key], true)
		if err != nil {
			return nil, err
		}
		*to = &c
	}
	h.ID = MakeID(h.Family, "", h.ID, h.Field)
	if err := h.Validate(); err != nil {
		return nil, err
	}
	var r Registry
	r.Add(h)
	return r.ForResource(kex), nil
}

func TestVectors_Filters(t *testing.T) {
	vectors.Run(t, "filters.json", func(_ *testing.T, v *filtering) error {
		set, err := v.register()
		if (err != nil) != (v.Error != nil) {
			return fmt.Errorf("registration: got %w", err)
		}
		if err != nil {
			return nil
		}
		h := set.all[0]
		if v.HandlerID != "" && h.ID != v.HandlerID {
			return fmt.Errorf("id: got %q", h.ID)
		}
		c := &Cause{Resource: kex, Tree: v.Body, Old: v.Old, New: v.New}
		if group := h.Family.Group(); group == Changing {
			c.Reason = Reason(h.Family)
			if h.Family == Field {
				c.Reason = ReasonUpdate
			}
			c.Initial = h.Family == Resume
			if got := set.Prematch(c); got != v.Prematch {
				return fmt.Errorf("prematch: got %v", got)
			}
		}
		if got := len(set.Selected(h.Family.Group(), c)) > 0; got != v.Match {
			return fmt.Errorf("match: got %v", got)
		}
		if why := set.Explain(h.Family.Group(), c)[0].Why; (why == Mismatch{}) != v.Match {
			return fmt.Errorf("explained: got %+v", why)
		}
		return nil
	})
}

type naming struct {
	ID                *string  `json:"id"`
	Fn                string   `json:"fn"`
	Qualname          string   `json:"qualname"`
	Prefix            *string  `json:"prefix"`
	Suffix            *string  `json:"suffix"`
	Decorator         string   `json:"decorator"`
	FnQualname        string   `json:"fn_qualname"`
	Field             []string `json:"field"`
	HandlerID         string   `json:"handler_id"`
	RequiresFinalizer *bool    `json:"requires_finalizer"`
	Error             *string  `json:"error"`
}

func TestVectors_HandlerIDs(t *testing.T) {
	families := map[string]Family{
		"create": Create, "update": Update, "delete": Delete, "resume": Resume, "field": Field, "event": Event,
		"timer": Timer, "daemon": Daemon, "index": Index, "validate": Validate, "mutate": Mutate,
	}
	vectors.Run(t, "handler_ids.json", func(_ *testing.T, v *naming) error {
		name := v.Qualname + v.FnQualname
		if v.ID != nil {
			name = *v.ID
		}
		if v.ID == nil && v.Fn == "lambda" {
			return vectors.Differs("a function literal has no id: it must be given one")
		}
		if v.Decorator == "" {
			parent, field := "", object.Path(nil)
			if v.Prefix != nil {
				parent = *v.Prefix
			}
			if v.Suffix != nil && *v.Suffix != "" {
				field = object.Path{*v.Suffix}
			}
			if got := MakeID(Create, parent, name, field); got != v.HandlerID {
				return fmt.Errorf("got %q", got)
			}
			return nil
		}
		family, known := families[v.Decorator]
		if !known {
			return fmt.Errorf("unknown decorator %q", v.Decorator)
		}
		h := &Handler{ID: MakeID(family, "", name, v.Field), Family: family, Field: v.Field, Selector: allKex()}
		if err := h.Validate(); (err != nil) != (v.Error != nil) {
			return fmt.Errorf("registration: got %w", err)
		}
		if v.Error != nil {
			return nil
		}
		if h.ID != v.HandlerID {
			return fmt.Errorf("got %q", h.ID)
		}
		if got, want := h.requiresFinalizer(), v.RequiresFinalizer != nil && *v.RequiresFinalizer; got != want {
			return fmt.Errorf("requires a finalizer: got %v", got)
		}
		return nil
	})
}
