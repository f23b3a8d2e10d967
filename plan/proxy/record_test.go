package proxy

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/plan/copy"
)

func send(t *testing.T, p *trial, method, path, contentType, handler, body string) (code int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://copy"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if handler != "" {
		req.Header.Set(HandlerHeader, handler)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func field(o map[string]any, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	return value
}

// TestProxy_RecordsWrites sends requests of all kinds, and looks at the record of each.
func TestProxy_RecordsWrites(t *testing.T) {
	c := theSource(t, "write")
	load(t, c, kexes, `{apiVersion: example.com/v1, kind: Kex, metadata: {name: a, namespace: write, uid: u-1, finalizers: [example.com/hold]}, spec: {size: 1}}`)
	load(t, c, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: write}, data: {p: `+b64("hunter22")+`}}`)
	recorded := 0
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{Recorded: func(Request) { recorded++ }})
	const (
		here       = "/apis/example.com/v1/namespaces/write/kexes"
		maps       = "/api/v1/namespaces/write/configmaps"
		json       = "application/json"
		merge      = string(types.MergePatchType)
		operations = string(types.JSONPatchType)
	)
	cases := []struct {
		title, method, path, contentType, handler, body string
		want                                            Request
		check                                           func(Request) bool
	}{
		{
			title: "patch", method: "PATCH", path: here + "/a", contentType: merge, handler: "resize/spec.size u-1 2", body: `{"spec":{"size":2}}`,
			want: Request{Verb: "patch", Name: "a", Handler: "resize/spec.size", UID: "u-1", Attempt: 2, Code: 200},
			check: func(r Request) bool {
				return field(r.Before, "spec", "size") == int64(1) && field(r.After, "spec", "size") == int64(2)
			},
		},
		{
			title: "status", method: "PATCH", path: here + "/a/status", contentType: merge, handler: "engine", body: `{"status":{"ok":true}}`,
			want: Request{Verb: "patch", Name: "a", Subresource: "status", Handler: "engine", Code: 200},
			check: func(r Request) bool {
				return field(r.Before, "status") == nil && field(r.After, "status", "ok") == true
			},
		},
		{
			title: "generated name", method: "POST", path: maps, contentType: json, body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-"},"data":{"a":"b"}}`,
			want: Request{Verb: "create", Code: 201},
			check: func(r Request) bool {
				return strings.HasPrefix(r.Name, "made-") && r.Before == nil && field(r.After, "data", "a") == "b"
			},
		},
		{
			title: "conflict", method: "POST", path: here, contentType: json, body: `{"apiVersion":"example.com/v1","kind":"Kex","metadata":{"name":"a"}}`,
			want:  Request{Verb: "create", Code: 409},
			check: func(r Request) bool { return r.Status.Reason == metav1.StatusReasonAlreadyExists && r.After == nil },
		},
		{
			title: "missing", method: "PATCH", path: here + "/b", contentType: merge, body: `{}`,
			want: Request{Verb: "patch", Name: "b", Code: 404},
			check: func(r Request) bool {
				return r.Before == nil && r.After == nil && r.Status.Reason == metav1.StatusReasonNotFound
			},
		},
		{
			title: "apply", method: "PATCH", path: maps + "/applied?fieldManager=test", contentType: string(types.ApplyYAMLPatchType), body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\n",
			want:  Request{Verb: "patch", Name: "applied", Code: 201},
			check: func(r Request) bool { return r.Before == nil && field(r.After, "metadata", "uid") != nil },
		},
		{
			title: "deletion that waits", method: "DELETE", path: here + "/a", contentType: json,
			want: Request{Verb: "delete", Name: "a", Code: 200},
			check: func(r Request) bool {
				return field(r.Before, "metadata", "deletionTimestamp") == nil && field(r.After, "metadata", "deletionTimestamp") != nil
			},
		},
		{
			title: "end of a deletion", method: "PATCH", path: here + "/a", contentType: merge, body: `{"metadata":{"finalizers":null}}`,
			want:  Request{Verb: "patch", Name: "a", Code: 200},
			check: func(r Request) bool { return r.Before != nil && r.After == nil },
		},
		{
			title: "deletion", method: "DELETE", path: maps + "/applied", contentType: json,
			want:  Request{Verb: "delete", Name: "applied", Code: 200},
			check: func(r Request) bool { return r.Before != nil && r.After == nil },
		},
		{
			title: "deletion of all", method: "DELETE", path: maps, contentType: json,
			want:  Request{Verb: "deletecollection", Code: 200},
			check: func(r Request) bool { return r.Before == nil && r.After == nil },
		},
		{
			title: "a value of a Secret", method: "PATCH", path: "/api/v1/namespaces/write/secrets/s", contentType: merge, body: `{"stringData":{"q":"made here"}}`,
			want: Request{Verb: "patch", Name: "s", Code: 200},
			check: func(r Request) bool {
				return !strings.Contains(string(r.Body), "made here") && field(r.After, "data", "q") != b64("made here") && field(r.After, "data", "q") != nil &&
					field(r.Before, "data", "p") == field(r.After, "data", "p")
			},
		},
		{
			title: "operations on a Secret", method: "PATCH", path: "/api/v1/namespaces/write/secrets/s", contentType: operations, body: `[{"op":"add","path":"/stringData","value":{"r":"and here"}}]`,
			want:  Request{Verb: "patch", Name: "s", Code: 200},
			check: func(r Request) bool { return r.Body == nil && field(r.After, "data", "r") != nil },
		},
	}
	for i, c := range cases {
		send(t, p, c.method, c.path, c.contentType, c.handler, c.body)
		all := p.Requests()
		if len(all) != i+1 || recorded != i+1 {
			t.Fatalf("%s: %d requests are recorded, and %d reported, want %d", c.title, len(all), recorded, i+1)
		}
		got := all[i]
		name := got.Name
		if c.want.Name == "" {
			name = ""
		}
		if got.Verb != c.want.Verb || name != c.want.Name || got.Subresource != c.want.Subresource || got.Namespace != "write" ||
			got.Handler != c.want.Handler || got.UID != c.want.UID || got.Attempt != c.want.Attempt || got.Code != c.want.Code || !c.check(got) {
			t.Errorf("%s: the record is %+v, want %+v", c.title, got, c.want)
		}
		if field(got.Before, "metadata", "managedFields") != nil || field(got.After, "metadata", "managedFields") != nil {
			t.Errorf("%s: the record has managed fields", c.title)
		}
	}
	// The last two requests are for the same object, which is kept once.
	all := p.Requests()
	if former, last := all[len(all)-2], all[len(all)-1]; reflect.ValueOf(former.After).Pointer() != reflect.ValueOf(last.Before).Pointer() {
		t.Errorf("the object %v is kept twice, also as %v", former.After, last.Before)
	}
	// Neither tries nor questions are writes.
	if code := send(t, p, "POST", maps+"?dryRun=All", json, "", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"try"}}`); code != http.StatusCreated {
		t.Errorf("the dry run ends with %d", code)
	}
	review := `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`
	if code := send(t, p, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json, "", review); code != http.StatusCreated {
		t.Errorf("the question ends with %d", code)
	}
	// Programs in pods do not run, and paths that the proxy does not understand could be any request.
	for _, path := range []string{"/api/v1/namespaces/write/pods/a/exec?command=rm", "/api/v1//namespaces/write/configmaps", "/apis/example.com/v1/namespaces/write/ke%2Fxes"} {
		if code := send(t, p, "POST", path, json, "", `{}`); code != http.StatusForbidden {
			t.Errorf("a request for %s ends with %d", path, code)
		}
	}
	if n := len(p.Requests()); n != len(cases) {
		t.Errorf("%d requests are recorded, want %d", n, len(cases))
	}
}

func TestSenderOf(t *testing.T) {
	for value, want := range map[string]sender{
		"":                        {},
		"engine":                  {handler: "engine"},
		"create u-1 3":            {handler: "create", uid: "u-1", attempt: 3},
		"create/spec.a b/x u-1 0": {handler: "create/spec.a b/x", uid: "u-1"},
		"create u-1 many":         {handler: "create u-1 many"},
	} {
		header := http.Header{HandlerHeader: {value}}
		if got := senderOf(header); got != want || len(header) != 0 {
			t.Errorf("%q is %+v and leaves %v, want %+v", value, got, header, want)
		}
	}
}

func TestInfoOf(t *testing.T) {
	cases := map[string]string{
		"GET /api/v1/pods":                                     "get /v1 pods  ",
		"GET /api/v1/namespaces":                               "get /v1 namespaces  ",
		"PATCH /api/v1/namespaces/a":                           "patch /v1 namespaces  a",
		"PUT /api/v1/namespaces/a/finalize":                    "update /v1 namespaces  a finalize",
		"PUT /api/v1/namespaces/a/status":                      "update /v1 namespaces  a status",
		"GET /api/v1/namespaces/a/pods":                        "get /v1 pods a ",
		"DELETE /api/v1/namespaces/a/pods":                     "deletecollection /v1 pods a ",
		"DELETE /api/v1/namespaces/a/pods/b":                   "delete /v1 pods a b",
		"POST /api/v1/namespaces/a/pods/b/eviction":            "create /v1 pods a b eviction",
		"GET /api/v1/watch/namespaces/a/pods":                  "get /v1 pods a ",
		"PATCH /apis/apps/v1/namespaces/a/deployments/b/scale": "patch apps/v1 deployments a b scale",
		"GET /apis/apps/v1":                                    "",
		"GET /api":                                             "",
		"GET /version":                                         "",
		"POST /api/v1/namespaces/a/../b/pods":                  "",
		"POST /api/v1/namespaces/a/po%2fds":                    "",
	}
	for request, want := range cases {
		method, path, _ := strings.Cut(request, " ")
		r := httptest.NewRequest(method, "http://copy/", nil)
		var err error
		if r.URL, err = r.URL.Parse("http://copy" + path); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(path, "..") {
			r.URL.Path = path // a URL that is not cleaned
		}
		i, ok := infoOf(r)
		got := ""
		if ok {
			got = strings.Join([]string{i.verb, i.resource.Group + "/" + i.resource.Version, i.resource.Resource, i.namespace, i.name}, " ")
			if i.subresource != "" {
				got += " " + i.subresource
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", request, got, want)
		}
	}
}
