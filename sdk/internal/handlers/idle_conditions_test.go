package handlers

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestIdleConditions_NamesSelectorsWithoutEffect(t *testing.T) {
	cluster := []resources.Resource{
		{Group: "example.com", Version: "v1", Kind: "Shop", Plural: "shops", Preferred: true},
		{Group: "example.com", Version: "v1", Kind: "Part", Plural: "parts", Preferred: true},
	}
	shops, parts := resources.Selector{Plural: "shops"}, resources.Selector{Plural: "parts"}
	for name, tt := range map[string]struct {
		conditions, handler resources.Selector
		family              Family
		want                bool
	}{
		"a change handler":                    {shops, shops, Create, false},
		"a reconcile handler":                 {shops, shops, Reconcile, false},
		"another notation":                    {resources.Selector{Group: "example.com", Version: "v1", Name: "shops"}, shops, Create, false},
		"only an event handler":               {shops, shops, Event, true},
		"a handler of another resource":       {shops, parts, Create, true},
		"a definition that does not exist":    {resources.Selector{Plural: "new"}, resources.Selector{Plural: "new"}, Create, false},
		"a name that the cluster has not got": {resources.Selector{Plural: "shop"}, shops, Create, true},
	} {
		var r Registry
		r.KeepConditions(tt.conditions)
		r.Add(&Handler{ID: "fn", Family: tt.family, Selector: tt.handler})
		got := r.IdleConditions(cluster)
		if (len(got) > 0) != tt.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
