package shapes

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// versioned returns a trial with handlers and their versions, such as "create" and "size=2".
func versioned(t Trial, handlers ...string) Trial {
	for _, h := range handlers {
		id, version, _ := strings.Cut(h, "=")
		kind := map[string]inspect.HandlerKind{"create": inspect.KindCreate, "delete": inspect.KindDelete}[id]
		if kind == "" {
			kind = inspect.KindField
		}
		t.Handlers = append(t.Handlers, inspect.Handler{ID: id, Kind: kind, Version: version})
	}
	return t
}

// calledFor returns a trial in which the handlers are called for a claim, and the operator sends their changes of the claim in one request.
func calledFor(t *testing.T, phase string, ids ...string) Trial {
	object := claim(1, inspect.HandlerState{})
	object.Handlers = nil
	for _, id := range ids {
		object.Handlers = append(object.Handlers, inspect.HandlerState{ID: id, Kind: inspect.KindCreate, State: inspect.PhaseDone, Attempts: []inspect.Attempt{{At: start}}})
	}
	request := recordsOf(t, 1, "1Gi")
	request.After["status"] = map[string]any{"phase": phase}
	return Trial{Requests: []proxy.Request{request}, Objects: []*inspect.Object{object}, Operator: inspect.Operator{Finalizer: finalizer, Started: start}}
}

func TestCompare_HandlersWithOtherBehaviourOrVersions(t *testing.T) {
	for name, test := range map[string]struct {
		old, now Trial
		want     []HandlerDifference
	}{
		"no difference": {
			versioned(handledClaims(1), "create=2", "size"), versioned(handledClaims(1), "create=2", "size"), nil,
		},
		"another outcome": {
			versioned(handledClaims(2), "create", "size=2"), versioned(failing(handledClaims(2), 1, "no"), "create", "size=2"),
			[]HandlerDifference{{[]string{"create"}, "1", "1", true}},
		},
		"another child": {
			versioned(handledClaims(1, volume(t, 0, "1Gi")), "create=5", "size=2"), versioned(handledClaims(1, volume(t, 0, "2Gi")), "create=5", "size=2"),
			[]HandlerDifference{{[]string{"create"}, "5", "5", true}},
		},
		"another version, too": {
			versioned(handledClaims(1, volume(t, 0, "1Gi")), "create", "size=2"), versioned(handledClaims(1, volume(t, 0, "2Gi")), "create=2", "size=2"),
			[]HandlerDifference{{[]string{"create"}, "1", "2", true}},
		},
		"only another version": {
			versioned(handledClaims(1), "create=2", "size"), versioned(handledClaims(1), "create=3", "size"),
			[]HandlerDifference{{[]string{"create"}, "2", "3", false}},
		},
		"one of two handlers": {
			versioned(calledFor(t, "a", "create", "size"), "create", "size"), versioned(calledFor(t, "b", "create", "size"), "create", "size"),
			[]HandlerDifference{{[]string{"create", "size"}, "1", "1", true}},
		},
		"the one of two handlers with another version": {
			versioned(calledFor(t, "a", "create", "size"), "create", "size"), versioned(calledFor(t, "b", "create", "size"), "create", "size=2"),
			[]HandlerDifference{{[]string{"size"}, "1", "2", false}},
		},
		"the one of two handlers that was not called": {
			versioned(calledFor(t, "a", "create"), "create", "size"), versioned(calledFor(t, "b", "create", "size"), "create", "size"),
			[]HandlerDifference{{[]string{"size"}, "1", "1", true}},
		},
		"a new handler": {
			versioned(calledFor(t, "a", "create"), "create"), versioned(calledFor(t, "b", "create", "size"), "create", "size=2"), nil,
		},
		"a sub-handler": {
			versioned(calledFor(t, "a", "create/one"), "create", "size"), versioned(calledFor(t, "b", "create/one"), "create", "size"),
			[]HandlerDifference{{[]string{"create"}, "1", "1", true}},
		},
		"the handler of a field": {
			versioned(calledFor(t, "a", "create/spec.size"), "create", "create/spec.size"), versioned(calledFor(t, "b", "create/spec.size"), "create", "create/spec.size"),
			[]HandlerDifference{{[]string{"create/spec.size"}, "1", "1", true}},
		},
		"a handler that has no version": {
			versioned(calledFor(t, "a", "delete"), "create", "delete"), versioned(calledFor(t, "b", "delete"), "create", "delete"), nil,
		},
		"a program without this SDK": {
			handledClaims(1, volume(t, 0, "1Gi")), versioned(handledClaims(1, volume(t, 0, "2Gi")), "create=2"), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if a := Compare(test.now, test.old, test.old); !reflect.DeepEqual(a.Handlers, test.want) {
				t.Errorf("got %v, want %v: %q", a.Handlers, test.want, found(a))
			}
		})
	}
}

func TestPlan_VersionsOfHandlersAreInTheText(t *testing.T) {
	old, now := handledClaims(1, volume(t, 0, "1Gi")), handledClaims(1, volume(t, 0, "2Gi"))
	p := &Plan{As: "now", Against: Compare(versioned(now, "create", "size=3", "field=2"), versioned(old, "create", "size=2", "field"), versioned(old, "create", "size=2", "field"))}
	p.Against.Build = "v1"
	var text, markdown strings.Builder
	if err := p.WriteText(&text, 60000); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteMarkdown(&markdown, 60000); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  behaviour differs, but kopf.Version does not: create: existing objects will not be handled again (see kopf rehandle)\n",
		"  kopf.Version differs: field (1 → 2, without a difference here), size (2 → 3, without a difference here): kopf rehandle calls the handlers for existing objects again\n",
	} {
		if !strings.Contains(text.String(), want) || !strings.Contains(markdown.String(), want) {
			t.Errorf("%q is missing in\n%s\n%s", want, &text, &markdown)
		}
	}
}
