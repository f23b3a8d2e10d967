package objects_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/internal/objects"
	"github.com/kopf-dev/kopf/runner"
)

// columns returns the columns of rows, except for the age.
func columns(rows []runner.Row) string {
	var all []string
	for _, r := range rows {
		line := r.Name
		for _, c := range r.Columns {
			if c.Title != "AGE" {
				line += " " + c.Title + "=" + c.Text
			}
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

func TestRows_HaveTheColumnsOfKubectl(t *testing.T) {
	c := newCluster(t)
	owned := tree{"labels": tree{"owner": "a"}}
	made := c.configMap("one", tree{"metadata": owned, "data": tree{"a": "1", "b": "2"}})
	c.configMap("of-another", nil)
	rows, err := client().Rows(t.Context(), runner.RowQuery{Resource: "configmaps.v1", Namespace: c.namespace, Labels: "owner=a"})
	if err != nil || columns(rows) != "one DATA=2" || rows[0].Ref != made {
		t.Errorf("%v: %s, %+v", err, columns(rows), rows)
	}
	definition(t)
	claims := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "claims"}
	c.create(claims, "Claim", "two", tree{"apiVersion": "example.com/v1", "spec": tree{
		"size": "2Gi", "tier": "gold", "replicas": int64(3), "owner": tree{"team": "storage"}, "mounts": []any{tree{"path": "/"}},
	}})
	other := tree{"size": "1Gi", "tier": "gold", "replicas": int64(1), "owner": tree{"team": "web"}, "mounts": []any{tree{"path": "/"}}}
	c.create(claims, "Claim", "other", tree{"apiVersion": "example.com/v1", "spec": other})
	q := runner.RowQuery{Name: "two", Resource: "claims.v1.example.com", Namespace: c.namespace}
	for hidden, want := range map[string]string{
		"":           "two SIZE=2Gi TEAM=storage REPLICAS=3",
		"size":       "two SIZE=[redacted] TEAM=storage REPLICAS=3",
		"owner.team": "two SIZE=2Gi TEAM=[redacted] REPLICAS=3",
		"owner":      "two SIZE=2Gi TEAM=[redacted] REPLICAS=3",
		"replicas":   "two SIZE=2Gi TEAM=storage REPLICAS=[redacted]",
	} {
		if q.Hidden = nil; hidden != "" {
			q.Hidden = [][]string{append([]string{"spec"}, strings.Split(hidden, ".")...)}
		}
		if rows, err := client().Rows(t.Context(), q); err != nil || columns(rows) != want {
			t.Errorf("without %q: %v, %s", hidden, err, columns(rows))
		}
	}
}

func TestRows_ErrorsNameTheirReason(t *testing.T) {
	nobody := &objects.Client{Config: func() (*rest.Config, error) {
		c := rest.CopyConfig(config)
		c.Impersonate.UserName = "nobody"
		return c, nil
	}}
	for resource, want := range map[string]string{"pods.v1": "403 forbidden: pods is forbidden", "nothings.v1.example.com": "404 not found"} {
		of := client()
		if strings.HasPrefix(want, "403") {
			of = nobody
		}
		if _, err := of.Rows(t.Context(), runner.RowQuery{Resource: resource, Namespace: "default"}); err == nil || !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", resource, err)
		}
	}
}
