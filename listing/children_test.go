package listing

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func childrenOf() (*inspect.Snapshot, []inspect.Child) {
	s := &inspect.Snapshot{Served: []inspect.Resource{
		{Key: "webapps.v1.example.com", Kind: "WebApp", Short: "wa"}, {Key: "tenants.v1.example.com", Kind: "Tenant"},
	}}
	shop := inspect.Ref{Resource: "webapps.v1.example.com", Namespace: "one", Name: "shop", UID: "1"}
	acme := inspect.Ref{Resource: "tenants.v1.example.com", Name: "acme", UID: "2"}
	child := func(parent inspect.Ref, kind, namespace, name string) inspect.Child {
		return inspect.Child{Parent: parent, KindRef: inspect.KindRef{Kind: kind, Ref: inspect.Ref{Namespace: namespace, Name: name}}}
	}
	list := []inspect.Child{
		child(inspect.Ref{Resource: shop.Resource, UID: "3"}, "ConfigMap", "two", "lost"),
		child(acme, "Namespace", "", "acme"),
		child(acme, "RoleBinding", "acme", "alice"),
		child(shop, "Deployment", "one", "shop"),
		child(shop, "Ingress", "one", "shop"),
	}
	list[0].State, list[1].State, list[2].State = inspect.ChildReady, inspect.ChildTerminating, inspect.ChildReady
	list[3].State, list[3].Message, list[3].Since = inspect.ChildProgressing, "1 of 3 replicas\x1b are ready", now.Add(-12*time.Second)
	list[3].Result, list[3].Applied = inspect.ResultReverted, "1:9f"
	list[4].Result, list[4].Error = inspect.ResultRefused, "the name is in use"
	return s, list
}

func TestWriter_Children(t *testing.T) {
	s, list := childrenOf()
	for name, test := range map[string]struct {
		selection Selection
		format    Format
		want      string
	}{
		"all": {Selection{}, Table, `
PARENT        KIND          NAMESPACE   NAME    STATE         SINCE   DETAIL
–             ConfigMap     two         lost    ready
Tenant/acme   Namespace                 acme    terminating
Tenant/acme   RoleBinding   acme        alice   ready
WebApp/shop   Deployment    one         shop    progressing   12s     1 of 3 replicas\x1b are ready
WebApp/shop   Ingress       one         shop    refused               the name is in use
`},
		"one object": {Selection{Resource: "wa", Name: "shop", Namespace: "one"}, Wide, `
PARENT        KIND         NAMESPACE   NAME   STATE         SINCE   DETAIL                          RESULT     APPLIED
WebApp/shop   Deployment   one         shop   progressing   12s     1 of 3 replicas\x1b are ready   reverted   1:9f
WebApp/shop   Ingress      one         shop   refused               the name is in use              refused
`},
		"a kind": {Selection{Resource: "tenants"}, Table, `
PARENT        KIND          NAMESPACE   NAME    STATE         SINCE   DETAIL
Tenant/acme   Namespace                 acme    terminating
Tenant/acme   RoleBinding   acme        alice   ready
`},
		"orphans": {Selection{Orphans: true, Resource: "webapps", Namespace: "two"}, Table, `
PARENT   KIND        NAMESPACE   NAME   STATE   SINCE   DETAIL
–        ConfigMap   two         lost   ready
`},
		"no orphans": {Selection{Orphans: true, Resource: "tenants"}, Table, "\n"},
		"none":       {Selection{Namespace: "three"}, Table, "\n"},
	} {
		var out strings.Builder
		w := NewWriter(&out, Children, test.selection, test.format, func() time.Time { return now })
		if err := w.WriteChildren(s, SelectChildren(s, list, test.selection)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, "\n"+out.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWriter_ChildrenAsJSON(t *testing.T) {
	s, list := childrenOf()
	var out strings.Builder
	if err := NewWriter(&out, Children, Selection{}, JSON, time.Now).WriteChildren(s, list); err != nil {
		t.Fatal(err)
	}
	var got []inspect.Child
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := NewWriter(&out, Children, Selection{}, JSON, time.Now).WriteChildren(s, nil); err != nil || out.String() != "[]\n" {
		t.Errorf("an empty list is %q (%v)", &out, err)
	}
}
