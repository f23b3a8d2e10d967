package kube

import (
	"encoding/json"
	"testing"
)

func FuzzDiscovery(f *testing.F) {
	f.Add([]byte(`{"items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Stale","resources":[{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","verbs":["list"],"subresources":[{"subresource":"status"}]}]}]}]}`))
	f.Add([]byte(`{"resources":[{"name":"pods"},{"name":"pods/status"},{"name":"/"},{"name":""}]}`))
	f.Add([]byte(`{"groups":[{"name":"apps","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var all aggregated
		if err := json.Unmarshal(body, &all); err == nil {
			s := &scan{failed: make(map[string]error)}
			s.addAggregated(&all)
		}
		var list resourceList
		if err := json.Unmarshal(body, &list); err == nil {
			for _, r := range list.resources("apps", "v1", true) {
				if r.Group != "apps" || r.Version != "v1" {
					t.Errorf("%q has %+v", body, r)
				}
			}
		}
	})
}
