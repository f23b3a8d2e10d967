package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// fakeObjects answers as a cluster with any object does, and records the requests. The real implementation is tested in
// internal/objects, and in cmd/kopf with the workbench.
type fakeObjects struct {
	yaml   string // manifest of any object; demoYAML if empty
	events []runner.Event
	failed string // reason that nothing can be read; empty if all can
	unread error  // error in reading some manifests; nil if all can be read

	reads sync.Mutex
	read  []runner.RowQuery

	calls   []string
	refuse  []error // results of the next calls of Save
	saved   string  // the text of the last call of Save
	owned   []string
	ownedBy error
}

const demoYAML = `apiVersion: kopf.dev/v1
kind: EphemeralVolumeClaim
metadata:
  annotations:
    kopf.zalando.org/last-handled-configuration: |
      {"metadata":{"labels":{"tier":"gold"}},"spec":{"size":"1Gi","ttl":60}}
    note: kept
  creationTimestamp: "2026-11-21T13:50:23Z"
  finalizers:
  - kopf.zalando.org/KopfFinalizerMarker
  generation: 2
  labels:
    team: storage
    tier: gold
  managedFields:
  - apiVersion: kopf.dev/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:spec:
        f:size: {}
    manager: kubectl-create
    operation: Update
  name: web-cache
  namespace: default
  resourceVersion: "4711"
  uid: uid-of-web-cache
spec:
  mirrors:
  - host: one.example.com
    ready: true
  - host: two.example.com
    ready: false
  size: 2Gi
  ttl: 60
status:
  phase: Resizing
`

func (f *fakeObjects) look(what runner.Look) *runner.Looked {
	l := &runner.Looked{Object: what.Object, Facet: what.Facet, Loaded: f.failed == "", Error: f.failed}
	switch {
	case f.failed != "":
	case what.Facet == runner.FacetEvents:
		l.Events = f.events
	default:
		text := f.yaml
		if text == "" {
			text = demoYAML
		}
		l.Version, l.YAML = "4711", strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	return l
}

func (f *fakeObjects) Watch(context.Context, runner.Look, func(runner.Looked)) {}

func (f *fakeObjects) Owned(context.Context, inspect.Ref, []inspect.Resource) ([]string, error) {
	return f.owned, f.ownedBy
}

// Rows returns the objects with the names of the demo's children.
func (f *fakeObjects) Rows(_ context.Context, q runner.RowQuery) ([]runner.Row, error) {
	f.reads.Lock()
	defer f.reads.Unlock()
	f.read = append(f.read, q)
	if f.failed != "" {
		return nil, errors.New(f.failed)
	}
	row := func(uid string, columns ...string) runner.Row {
		r := runner.Row{KindRef: inspect.KindRef{Ref: inspect.Ref{Resource: q.Resource, Namespace: q.Namespace, UID: uid}}}
		for i := 0; i < len(columns); i += 2 {
			r.Columns = append(r.Columns, runner.Column{Title: columns[i], Text: columns[i+1]})
		}
		return r
	}
	switch q.Resource {
	case evcKey:
		return []runner.Row{row("uid-of-web-cache", "SIZE", "2Gi", "PHASE", "Resizing", "AGE", "12m")}, nil
	case "configmaps.v1":
		return []runner.Row{row("uid-of-ConfigMapweb-cache", "DATA", "3", "AGE", "12m")}, nil
	case "deployments.v1.apps":
		return []runner.Row{row("uid-of-Deploymentweb-cache", "READY", "1/3", "UP-TO-DATE", "3", "AVAILABLE", "1", "AGE", "12m")}, nil
	}
	return nil, nil
}

// Below returns two ReplicaSets of a Deployment, three Pods of the first of them, and an error for Jobs.
func (f *fakeObjects) Below(_ context.Context, of inspect.Ref, _ [][]string) ([]runner.Row, bool, error) {
	f.reads.Lock()
	defer f.reads.Unlock()
	f.read = append(f.read, runner.RowQuery{Resource: "below " + of.Resource})
	row := func(kind, resource, name string, columns ...runner.Column) runner.Row {
		return runner.Row{KindRef: inspect.KindRef{Kind: kind, Ref: inspect.Ref{Resource: resource, Namespace: of.Namespace, Name: name, UID: "uid-of-" + name}}, Columns: columns}
	}
	pod := func(name, ready, status string) runner.Row {
		return row("Pod", "pods.v1", name, runner.Column{Title: "READY", Text: ready}, runner.Column{Title: "STATUS", Text: status}, runner.Column{Title: "RESTARTS", Text: "0"}, runner.Column{Title: "AGE", Text: "12s"})
	}
	set := func(name, desired, ready, age string) runner.Row {
		return row("ReplicaSet", "replicasets.v1.apps", name, runner.Column{Title: "DESIRED", Text: desired}, runner.Column{Title: "CURRENT", Text: desired}, runner.Column{Title: "READY", Text: ready}, runner.Column{Title: "AGE", Text: age})
	}
	switch {
	case of.Resource == "jobs.v1.batch":
		return nil, false, errors.New(`pods: 403 forbidden: pods is forbidden: User "me" cannot list resource "pods"; ask for this permission, or use another context`)
	case of.Resource == "deployments.v1.apps":
		return []runner.Row{set("web-cache-7d4f9c", "3", "1", "12s"), set("web-cache-55b8f", "0", "0", "26h")}, false, nil
	case of.Name == "web-cache-7d4f9c":
		return []runner.Row{pod("web-cache-7d4f9c-2xkqm", "1/1", "Running"), pod("web-cache-7d4f9c-9bzrt", "0/1", "ImagePullBackOff")}, true, nil
	}
	return nil, false, nil
}

func (f *fakeObjects) Draft(_ context.Context, ref inspect.Ref, _ [][]string) (*runner.Draft, error) {
	return &runner.Draft{Object: ref, Text: "spec:\n  size: 2Gi\n"}, nil
}

func (f *fakeObjects) Sample(_ context.Context, ref inspect.Ref, _ [][]string) (*runner.Draft, error) {
	return &runner.Draft{Object: ref, New: true, Text: "metadata:\n  name: " + ref.Name + "-copy\n"}, nil
}

// Templates returns a manifest and a resource.
func (f *fakeObjects) Templates(_ context.Context, manifests []string, served []inspect.Resource, reviewed []string) ([]runner.Template, error) {
	if len(served) == 0 { // operators with admission handlers only
		var all []runner.Template
		for _, key := range reviewed {
			all = append(all, runner.Template{Resource: inspect.Resource{Key: key, Kind: "Kind of " + key}})
		}
		return all, f.unread
	}
	return []runner.Template{
		{Resource: served[0], Name: "web", File: manifests[1], Line: 7, Object: map[string]any{}},
		{Resource: served[0]},
	}, f.unread
}

func (f *fakeObjects) New(_ context.Context, t runner.Template) (*runner.Draft, error) {
	text := "spec: # of a schema\n"
	if t.Object != nil {
		text = "spec: # of " + t.Name + "\n"
	}
	return &runner.Draft{Object: inspect.Ref{Resource: t.Resource.Key, Name: "new"}, New: true, Text: text}, nil
}

func (f *fakeObjects) Save(_ context.Context, draft *runner.Draft, text string) ([]string, error) {
	f.calls, f.saved = append(f.calls, "save "+draft.Object.Name), text
	if len(f.refuse) > 0 {
		err := f.refuse[0]
		f.refuse = f.refuse[1:]
		return nil, err
	}
	if draft.New {
		return []string{"of that name"}, nil
	}
	return []string{"spec.size"}, nil
}

func (f *fakeObjects) Delete(_ context.Context, ref inspect.Ref) error {
	f.calls = append(f.calls, "delete "+ref.Name)
	return nil
}

func (f *fakeObjects) SetMetadata(_ context.Context, ref inspect.Ref, change runner.MetadataChange) error {
	for what, values := range map[string]map[string]*string{"label": change.Labels, "annotation": change.Annotations} {
		for key, value := range values {
			if value == nil {
				f.calls = append(f.calls, fmt.Sprintf("remove %s %s of %s", what, key, ref.Name))
			} else {
				f.calls = append(f.calls, fmt.Sprintf("set %s %s=%s of %s", what, key, *value, ref.Name))
			}
		}
	}
	return nil
}

func (f *fakeObjects) RemoveFinalizer(_ context.Context, ref inspect.Ref, finalizer string) error {
	f.calls = append(f.calls, "release "+ref.Name+" from "+finalizer)
	return nil
}

// demoEvents are events about web-cache.
func demoEvents(now time.Time) []runner.Event {
	return []runner.Event{
		{At: now.Add(-12 * time.Minute), Reason: "Logging", From: "kopf", Message: "Creation is processed: 1 succeeded; 0 failed.", Count: 1},
		{At: now.Add(-41 * time.Second), Reason: "Logging", From: "kopf", Message: "resizing from=1Gi to=2Gi", Count: 1},
		{At: now.Add(-18 * time.Second), Warning: true, Reason: "FailedAttachVolume", From: "attachdetach-controller", Message: "Multi-Attach error for volume pvc-4711: the volume is already used by pod web-0", Count: 12},
		{At: now.Add(-3 * time.Second), Warning: true, Reason: "Logging", From: "kopf", Message: "Handler 'resize' failed temporarily: PVC web-cache-pvc is still attached to pod web-0", Count: 2},
	}
}
