package reasons

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// about returns a reason about a child.
func about(name string, patient bool) Wake {
	res := &resources.Resource{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment"}
	return Wake{Kind: inspect.WakeChild, Patient: patient, Child: &Child{Resource: res, Digest: children.Identity(&object.Object{Name: name, UID: name})}}
}

func TestList_IsPatientUnlessAReasonIsUrgent(t *testing.T) {
	var full []Wake
	for i := range maxWakes {
		full = append(slices.Clip(full), about(fmt.Sprint("x", i), true))
	}
	for name, tt := range map[string]struct {
		wakes []Wake
		want  bool
	}{
		"empty":                       {nil, true},
		"progress":                    {[]Wake{about("a", true), about("b", true)}, true},
		"a change":                    {[]Wake{about("a", true), about("b", false)}, false},
		"progress after a change":     {[]Wake{about("a", false), about("a", true)}, false},
		"a change after progress":     {[]Wake{about("a", true), about("a", false)}, false},
		"a request":                   {[]Wake{about("a", true), {Kind: inspect.WakeRequest}}, false},
		"progress of many":            {append(slices.Clip(full), about("last", true)), true},
		"a change after many":         {append(slices.Clip(full), about("last", false)), false},
		"a request that makes room":   {append(slices.Clip(full), Wake{Kind: inspect.WakeRequest}), false},
		"progress after many changes": {append(append([]Wake{about("x", false)}, full...), about("last", true)), false},
	} {
		var l List
		for _, w := range tt.wakes {
			l.Add(w)
		}
		if l.Patient() != tt.want || len(l) > maxWakes {
			t.Errorf("%s: patient is %t, with %d reasons", name, l.Patient(), len(l))
		}
		if l.Hurry(); len(l) > 0 && l.Patient() {
			t.Errorf("%s: it is patient after all", name)
		}
	}
}
