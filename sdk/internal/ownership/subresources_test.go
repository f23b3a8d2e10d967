package ownership

import (
	"net/http"
	"slices"
	"testing"
)

func TestClaim_ScaledReplicasLeaveOurEntry(t *testing.T) {
	f := builtinForm("Deployment")
	for name, send := range map[string]func(a *applied, replicas int){
		"merge patch": func(a *applied, replicas int) {
			a.must(http.MethodPatch, a.path+"/scale", merging, tree{"spec": tree{"replicas": replicas}}, "fieldManager", others)
		},
		"update": func(a *applied, replicas int) {
			a.update(a.path+"/scale", func(scale tree) { scale["spec"] = tree{"replicas": replicas} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newServer(t).applyNew(f.collection, clone(f.object))
			send(a, 3)
			if got := a.lost(answer{body: a.get(a.path)}); got != nil {
				t.Errorf("the same number has taken %v", got)
			}
			send(a, 7)
			got := answer{body: a.get(a.path)}
			if lost := a.lost(got); !slices.Equal(lost, []string{".spec.replicas"}) {
				t.Errorf("our entry has lost %v", lost)
			}
			var scaler entry
			for _, e := range a.watch.at(got.version()) {
				if e.Manager == others {
					scaler = e
				}
			}
			if scaler.Subresource != "scale" || scaler.Time != "" {
				t.Errorf("the scaler's entry is %+v", scaler)
			}

			refused := a.again()
			if refused.code != http.StatusConflict || !slices.Equal(refused.causes(), []string{".spec.replicas"}) {
				t.Errorf("apply: %d %v", refused.code, refused.body)
			}
			delete(a.object["spec"].(tree), "replicas")
			if got := a.again(); got.code != http.StatusOK || got.body["spec"].(tree)["replicas"] != 7.0 {
				t.Errorf("apply without replicas: %d %v", got.code, got.body["spec"].(tree)["replicas"])
			}
		})
	}
}

func TestClaim_ScaledReplicasOfCustomResourceLeaveOurEntry(t *testing.T) {
	s := newServer(t)
	group := s.define("scalables", "Scalable", structuredSchema(), "v2", "v1")
	collection, object := customs(group, "v1", "scalables", "Scalable")
	object["spec"].(tree)["replicas"] = 3
	a := s.applyNew(collection, object)
	for _, version := range []string{"v1", "v2"} {
		other, _ := customs(group, version, "scalables", "Scalable")
		_, path := form{collection: other, object: object}.paths(s.cluster.Namespace)
		a.again("force", "true")
		a.must(http.MethodPatch, path+"/scale", merging, tree{"spec": tree{"replicas": 7}}, "fieldManager", others)
		if lost := a.lost(answer{body: a.get(a.path)}); !slices.Equal(lost, []string{".spec.replicas"}) {
			t.Errorf("through %s, our entry has lost %v", version, lost)
		}
	}
}

// TestClaim_StatusUpdatesLeaveSpecOurs also holds which kinds change their labels and annotations through /status.
func TestClaim_StatusUpdatesLeaveSpecOurs(t *testing.T) {
	const label, annotation = ".metadata.labels.tier", ".metadata.annotations.note"
	for _, tt := range []struct {
		kind string
		lost []string
	}{
		{"Deployment", []string{annotation}},
		{"StatefulSet", []string{annotation, label}},
		{"Ingress", []string{annotation, label}},
		{"HorizontalPodAutoscaler", []string{annotation, label}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			f := builtinForm(tt.kind)
			a := newServer(t).applyNew(f.collection, f.object)
			a.update(a.path+"/status", func(live tree) {
				live["metadata"].(tree)["labels"].(tree)["tier"] = "status"
				live["metadata"].(tree)["annotations"].(tree)["note"] = "status"
				for _, key := range []string{"replicas", "maxReplicas", "rules"} {
					delete(live["spec"].(tree), key)
				}
			})
			if got := a.lost(answer{body: a.get(a.path)}); !slices.Equal(got, tt.lost) {
				t.Errorf("our entry has lost %v, not %v", got, tt.lost)
			}
		})
	}
	t.Run("custom resource", func(t *testing.T) {
		s := newServer(t)
		group := s.define("statuses", "State", structuredSchema(), "v1")
		collection, object := customs(group, "v1", "statuses", "State")
		a := s.applyNew(collection, object)
		got := a.must(http.MethodPatch, a.path+"/status", merging, tree{
			"metadata": tree{"labels": tree{"tier": "status"}}, "spec": tree{"size": "9Gi"}, "status": tree{"phase": "Done"},
		}, "fieldManager", others)
		if got := a.lost(got); got != nil {
			t.Errorf("our entry has lost %v", got)
		}
	})
}
