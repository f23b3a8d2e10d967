package kopf_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// knownResources are the resources of the described operators' cluster.
var knownResources = []inspect.APIResource{
	{Version: "v1", Plural: "pods", Kind: "Pod", Shortcuts: []string{"po"}, Namespaced: true, Preferred: true, Subresources: []string{"status"}},
	{Version: "v1", Plural: "nodes", Kind: "Node", Preferred: true},
	{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true, Preferred: true, Categories: []string{"all"}},
	{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Shortcuts: []string{"kex"}, Namespaced: true, Preferred: true, Subresources: []string{"status"}},
	{Group: "one.dev", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true, Preferred: true},
	{Group: "two.dev", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true, Preferred: true, Categories: []string{"all"}},
}

// describeOperator returns an operator's description.
func describeOperator(t *testing.T, operator *kopf.Operator, known ...inspect.APIResource) inspect.Description {
	t.Helper()
	dir := t.TempDir()
	request := inspect.DescribeRequest{Resources: append(slices.Clone(knownResources), known...), Answer: filepath.Join(dir, "answer")}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "request"), body, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(inspect.DescribeVariable, filepath.Join(dir, "request"))
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none")) // nothing is connected to
	if err := operator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(request.Answer)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := inspect.ReadDescriptions(f)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d descriptions, %v", len(all), err)
	}
	return all[0]
}

// lines returns the permissions, each as one line.
func lines(d inspect.Description) []string {
	var all []string
	for _, p := range d.Permissions {
		line := strings.TrimSpace(string(p.Scope)+" "+p.Namespace) + fmt.Sprintf(" %s.%s %s", p.Resource, p.Group, strings.Join(p.Verbs, ","))
		if len(p.Names) > 0 {
			line += " of " + strings.Join(p.Names, ",")
		}
		for _, h := range p.Handlers {
			id, _, _ := strings.Cut(h, " (")
			line += " " + id
		}
		all = append(all, line)
	}
	return all
}

func onAnyChange(context.Context, *kopf.Change[kopf.Object]) error { return nil }

func onRawEvent(context.Context, *kopf.Event[kopf.Object]) error { return nil }

func indexed(context.Context, *kopf.IndexRequest[kopf.Object]) (map[string]string, error) {
	return nil, nil
}

const (
	definitions = "cluster customresourcedefinitions.apiextensions.k8s.io list,watch"
	events      = "cluster events. create,patch"
)

func TestDescribe_PermissionsOfFamilies(t *testing.T) {
	var operator kopf.Operator
	kex, pods := kopf.Resource("kex"), kopf.Resource("v1", "pods")
	for title, test := range map[string]struct {
		register   func(r *kopf.Registry)
		namespaces []string
		settings   kopf.Settings
		want       []string
	}{
		"handlers of changes patch, also the status": {
			register: func(r *kopf.Registry) { kopf.OnCreate(r, kex, onAnyChange) },
			want: []string{
				definitions, "cluster kopfexamples.kopf.dev list,watch,patch onAnyChange", events,
				"cluster kopfexamples/status.kopf.dev patch onAnyChange",
			},
		},
		"event handlers and indices only read": {
			register: func(r *kopf.Registry) {
				kopf.OnEvent(r, kex, onRawEvent)
				kopf.NewIndex(r, pods, indexed)
			},
			want: []string{definitions, "cluster kopfexamples.kopf.dev list,watch onRawEvent", events, "cluster pods. list,watch indexed"},
		},
		"indices post no events": {
			register: func(r *kopf.Registry) { kopf.NewIndex(r, pods, indexed) },
			want:     []string{"cluster pods. list,watch indexed"},
		},
		"only resources of Kubernetes need no definitions": {
			register: func(r *kopf.Registry) { kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), onAnyChange) },
			want:     []string{"cluster configmaps. list,watch,patch onAnyChange", events},
		},
		"requests of handlers, without what the framework has": {
			register: func(r *kopf.Registry) {
				kopf.OnCreate(r, pods, onAnyChange, kopf.Uses(pods, "list", "delete"), kopf.Uses(kopf.Resource("v1", "pods/log"), "get"))
				kopf.OnStartup(r, func(context.Context, *kopf.Activity) error { return nil }, kopf.ID("start"), kopf.Uses(kopf.Resource("v1", "nodes"), "get"))
			},
			want: []string{
				"cluster pods. list,watch,patch onAnyChange", events, "cluster pods/status. patch onAnyChange",
				"cluster pods. delete onAnyChange", "cluster pods/log. get onAnyChange", "cluster nodes. get start",
			},
		},
		"requests that apply, with the owner references": {
			register: func(r *kopf.Registry) {
				kopf.OnCreate(r, kex, onAnyChange, kopf.Uses(kopf.Resource("v1", "configmaps"), "create", "get", "patch"))
			},
			want: []string{
				definitions, "cluster kopfexamples.kopf.dev list,watch,patch onAnyChange", events,
				"cluster kopfexamples/status.kopf.dev patch onAnyChange", "cluster kopfexamples/finalizers.kopf.dev update onAnyChange",
				"cluster configmaps. create,get,patch onAnyChange",
			},
		},
		"named namespaces": {
			register: func(r *kopf.Registry) {
				kopf.OnCreate(r, kex, onAnyChange)
				kopf.OnEvent(r, kopf.Resource("v1", "nodes"), onRawEvent)
			},
			namespaces: []string{"one", "two"},
			want: []string{
				"served kopfexamples.kopf.dev list,watch,patch onAnyChange", "served events. create,patch",
				"served kopfexamples/status.kopf.dev patch onAnyChange", "cluster nodes. list,watch onRawEvent", "own events. create,patch",
			},
		},
		"requests that apply for cluster-scoped objects": {
			register: func(r *kopf.Registry) {
				kopf.OnCreate(r, kopf.Resource("v1", "nodes"), onAnyChange,
					kopf.Uses(kopf.Resource("v1", "configmaps"), "create", "get", "patch"), kopf.Uses(pods, "get"))
			},
			namespaces: []string{"one"},
			want: []string{
				"cluster nodes. list,watch,patch onAnyChange", "own events. create,patch", "cluster nodes/finalizers. update onAnyChange",
				"cluster configmaps. create,get,patch onAnyChange", "served pods. get onAnyChange",
			},
		},
		"patterns of namespaces": {
			register:   func(r *kopf.Registry) { kopf.OnEvent(r, pods, onRawEvent) },
			namespaces: []string{"app-*"},
			want:       []string{"cluster namespaces. list,watch", "cluster pods. list,watch onRawEvent", events},
		},
		"an inspector": {
			register: func(r *kopf.Registry) { kopf.OnEvent(r, pods, onRawEvent) },
			settings: kopf.Settings{Process: kopf.ProcessSettings{Inspector: "tcp:127.0.0.1:7070"}},
			want:     []string{"cluster pods. list,watch onRawEvent", events, "cluster events. list"},
		},
		"settings without events and scanning": {
			register:   func(r *kopf.Registry) { kopf.OnEvent(r, kex, onRawEvent) },
			namespaces: []string{"app-*"},
			settings:   kopf.Settings{Posting: kopf.PostingSettings{Disabled: true}, Scanning: kopf.ScanningSettings{Disabled: true}},
			want:       []string{"cluster namespaces. list", "cluster kopfexamples.kopf.dev list,watch onRawEvent"},
		},
		"everything of a group, and a category": {
			register: func(r *kopf.Registry) {
				kopf.OnEvent(r, kopf.Resource("kopf.dev/v1", kopf.Everything), onRawEvent)
				kopf.OnEvent(r, kopf.Resource(kopf.Everything), onRawEvent, kopf.ID("any"))
				kopf.NewIndex(r, kopf.Selector{Category: "all"}, indexed)
			},
			want: []string{
				definitions, "cluster *.kopf.dev list,watch onRawEvent", events, "cluster *.* list,watch any",
				"cluster configmaps. list,watch indexed", "cluster things.two.dev list,watch indexed",
			},
		},
	} {
		t.Run(title, func(t *testing.T) {
			operator = kopf.Operator{Registry: &kopf.Registry{}, Namespaces: test.namespaces, AllNamespaces: len(test.namespaces) == 0, Settings: test.settings}
			test.register(operator.Registry)
			d := describeOperator(t, &operator)
			if got := lines(d); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if len(d.Unserved)+len(d.Assumed) > 0 || d.Finalizer != "kopf.zalando.org/KopfFinalizerMarker" || len(d.Handlers) == 0 || len(d.Records) == 0 {
				t.Errorf("it is %+v", d)
			}
		})
	}
}

func onAnyReview(context.Context, *kopf.Admission[kopf.Object]) error { return nil }

func TestDescribe_PermissionsOfTheOperatorItself(t *testing.T) {
	kex := kopf.Resource("kex")
	events := func(r *kopf.Registry) { kopf.OnEvent(r, kopf.Resource("v1", "pods"), onRawEvent) }
	peerings := []inspect.APIResource{
		{Group: "kopf.dev", Version: "v1", Plural: "clusterkopfpeerings", Kind: "ClusterKopfPeering", Preferred: true, Subresources: []string{"status"}},
		{Group: "kopf.dev", Version: "v1", Plural: "kopfpeerings", Kind: "KopfPeering", Namespaced: true, Preferred: true},
	}
	const pods, events0 = "cluster pods. list,watch onRawEvent", "cluster events. create,patch"
	for title, test := range map[string]struct {
		register   func(r *kopf.Registry)
		known      []inspect.APIResource
		namespaces []string
		settings   kopf.Settings
		want       []string
		describes  inspect.Description
	}{
		"no peering unless the cluster has its resources": {
			register: events, want: []string{pods, events0}, describes: inspect.Description{Peering: "default"},
		},
		"peering of the cluster": {
			register: events, known: peerings,
			want: []string{
				"cluster clusterkopfpeerings.kopf.dev list,watch", "cluster clusterkopfpeerings/status.kopf.dev patch of default", pods, events0,
			},
			describes: inspect.Description{Peering: "default"},
		},
		"peering in namespaces, which must be there": {
			register: events, namespaces: []string{"one"},
			settings:  kopf.Settings{Peering: kopf.PeeringSettings{Name: "mine", Mandatory: true}},
			want:      []string{"served kopfpeerings.kopf.dev list,watch", "served kopfpeerings.kopf.dev patch of mine", "served pods. list,watch onRawEvent", "served events. create,patch"},
			describes: inspect.Description{Peering: "mine"},
		},
		"no peering of a standalone operator": {
			register: events, known: peerings, settings: kopf.Settings{Peering: kopf.PeeringSettings{Standalone: true}},
			want: []string{pods, events0},
		},
		"leader election": {
			register: events, settings: kopf.Settings{Scaling: kopf.ScalingSettings{LeaderElection: true, LeaseName: "lease"}},
			want:      []string{"own leases.coordination.k8s.io create", "own leases.coordination.k8s.io get,update of lease", pods, events0},
			describes: inspect.Description{Peering: "default", Leases: inspect.Leases{Name: "lease"}},
		},
		"shards, with leases elsewhere": {
			register: events, settings: kopf.Settings{Scaling: kopf.ScalingSettings{Shards: 4, LeaseName: "lease", LeaseNamespace: "there"}},
			want:      []string{"named there leases.coordination.k8s.io list,create,update,delete", pods, events0},
			describes: inspect.Description{Peering: "default", Leases: inspect.Leases{Name: "lease", Namespace: "there", Shards: 4}},
		},
		"requests of handlers elsewhere than those of the operator": {
			register: func(r *kopf.Registry) {
				kopf.OnEvent(r, kopf.Resource("v1", "pods"), onRawEvent, kopf.Uses(kopf.Resource("coordination.k8s.io", "leases"), "create"))
			},
			namespaces: []string{"one"}, settings: kopf.Settings{Scaling: kopf.ScalingSettings{LeaderElection: true, LeaseName: "lease"}},
			want: []string{
				"own leases.coordination.k8s.io create", "own leases.coordination.k8s.io get,update of lease",
				"served pods. list,watch onRawEvent", "served events. create,patch", "served leases.coordination.k8s.io create onRawEvent",
			},
			describes: inspect.Description{Peering: "default", Leases: inspect.Leases{Name: "lease"}, Assumed: []string{"leases.coordination.k8s.io"}},
		},
		"configurations of the families with handlers": {
			register: func(r *kopf.Registry) {
				kopf.OnValidate(r, kex, onAnyReview)
				kopf.OnValidate(r, kex, onAnyReview, kopf.ID("second"))
			},
			settings: kopf.Settings{Admission: kopf.AdmissionSettings{Managed: "claims.example.com"}},
			want: []string{
				"cluster customresourcedefinitions.apiextensions.k8s.io list,watch",
				"cluster validatingwebhookconfigurations.admissionregistration.k8s.io create onAnyReview second",
				"cluster validatingwebhookconfigurations.admissionregistration.k8s.io patch of claims.example.com onAnyReview second",
			},
			describes: inspect.Description{Peering: "default", Webhooks: "claims.example.com"},
		},
		"configurations of nobody": {
			register: events, settings: kopf.Settings{Admission: kopf.AdmissionSettings{Managed: "claims.example.com"}},
			want: []string{pods, events0}, describes: inspect.Description{Peering: "default"},
		},
		"configurations that others manage": {
			register: func(r *kopf.Registry) { kopf.OnMutate(r, kex, onAnyReview) },
			want:     []string{"cluster customresourcedefinitions.apiextensions.k8s.io list,watch"}, describes: inspect.Description{Peering: "default"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			operator := kopf.Operator{Registry: &kopf.Registry{}, Namespaces: test.namespaces, AllNamespaces: len(test.namespaces) == 0, Settings: test.settings}
			test.register(operator.Registry)
			d := describeOperator(t, &operator, test.known...)
			if got := lines(d); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			got := inspect.Description{Peering: d.Peering, Leases: d.Leases, Webhooks: d.Webhooks, Assumed: d.Assumed}
			if diff := cmp.Diff(test.describes, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDescribe_UnknownResources(t *testing.T) {
	operator := kopf.Operator{Registry: &kopf.Registry{}, AllNamespaces: true}
	kopf.OnEvent(operator.Registry, kopf.Resource("things"), onRawEvent)
	kopf.OnEvent(operator.Registry, kopf.Resource("unknowns"), onRawEvent, kopf.ID("second"))
	kopf.OnEvent(operator.Registry, kopf.Resource("new.dev/v1", "gadgets"), onRawEvent, kopf.ID("third"))
	d := describeOperator(t, &operator)
	if len(d.Unserved) != 2 {
		t.Fatalf("unserved are %+v", d.Unserved)
	}
	ambiguous, unresolved := d.Unserved[0], d.Unserved[1]
	if ambiguous.Reason != inspect.UnservedAmbiguous || !slices.Equal(ambiguous.Matches, []string{"things.v1.one.dev", "things.v1.two.dev"}) {
		t.Errorf("the ambiguous one is %+v", ambiguous)
	}
	if unresolved.Reason != inspect.UnservedUnresolved || !strings.HasPrefix(unresolved.Handlers[0], "second (kopf/describe_test.go:") {
		t.Errorf("the unresolved one is %+v", unresolved)
	}
	if !slices.Equal(d.Assumed, []string{"gadgets.new.dev"}) || !slices.Contains(lines(d), "cluster gadgets.new.dev list,watch third") {
		t.Errorf("assumed are %q, permitted %q", d.Assumed, lines(d))
	}
}

func TestUses_MistakesAreReported(t *testing.T) {
	var r kopf.Registry
	pods := kopf.Resource("v1", "pods")
	kopf.OnEvent(&r, pods, onRawEvent, kopf.Uses(pods))
	kopf.OnEvent(&r, pods, onRawEvent, kopf.ID("2"), kopf.Uses(pods, "get,list"))
	kopf.OnEvent(&r, pods, onRawEvent, kopf.ID("3"), kopf.Uses(kopf.Selector{}, "get"))
	err := r.Err()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"v1 pods: no verbs", `"get,list" is not a verb`, "Uses: the selector"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestDescribe_NamesReviewedResources(t *testing.T) {
	operator := kopf.Operator{Registry: &kopf.Registry{}, AllNamespaces: true}
	kopf.OnEvent(operator.Registry, kopf.Resource("v1", "pods"), onRawEvent)
	kopf.OnValidate(operator.Registry, kopf.Resource("things"), onAnyReview)
	kopf.OnMutate(operator.Registry, kopf.Resource("two.dev", "things"), onAnyReview, kopf.ID("second"))
	d := describeOperator(t, &operator)
	if want := []string{"things.v1.one.dev", "things.v1.two.dev"}; !slices.Equal(d.Reviewed, want) {
		t.Errorf("reviewed are %q", d.Reviewed)
	}
}

func TestDescribe_ChildrenNeedPermissions(t *testing.T) {
	var r kopf.Registry
	kopf.OnReconcile(&r, kopf.Resource("kopf.dev/v1", "kopfexamples"), func(context.Context, *kopf.Pass[kopf.Object]) error { return nil },
		kopf.Own{Resource: kopf.Resource("v1", "configmaps")},
		kopf.Own{Resource: kopf.Resource("v1", "pods"), Keep: true})
	got := lines(describeOperator(t, &kopf.Operator{Registry: &r, Namespaces: []string{"default"}}))
	for _, want := range []string{
		"served kopfexamples.kopf.dev list,watch,patch reconcile", "served configmaps. list,watch,get,create,patch,delete reconcile",
		"served pods. list,watch,get,create,patch reconcile", "served kopfexamples/finalizers.kopf.dev update reconcile",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(got, "\n"))
		}
	}
}
