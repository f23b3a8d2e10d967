package kube

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// documents answers by path; unknown paths get 404.
func documents(answers map[string]answer) answer {
	return func(r *http.Request) (*http.Response, error) {
		if answer, ok := answers[r.URL.Path[len("/prefix"):]]; ok {
			return answer(r)
		}
		return respond(404, "")(r)
	}
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

var pods = resources.Resource{
	Version: "v1", Plural: "pods", Kind: "Pod", Singular: "pod", Namespaced: true, Preferred: true,
	Shortcuts: []string{"po"}, Categories: []string{"all"}, Subresources: []string{"log", "status"}, Verbs: []string{"get", "list", "watch"},
}

var things = []resources.Resource{
	{Group: "x.dev", Version: "v1", Plural: "things", Kind: "Thing", Singular: "thing", Preferred: true, Verbs: []string{"get"}},
	{Group: "x.dev", Version: "v1beta1", Plural: "things", Kind: "Thing", Singular: "thing", Verbs: []string{"get"}},
}

const podsAggregated = `{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","freshness":"Current","resources":[
	{"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod",
	 "verbs":["watch","list","get"],"shortNames":["po"],"categories":["all"],
	 "subresources":[{"subresource":"status","responseKind":{"kind":"Pod"},"verbs":["get"]},{"subresource":"log","verbs":["get"]}]}]}]}]}`

const thingAggregated = `{"resource":"things","responseKind":{"kind":"Thing"},"scope":"Cluster","singularResource":"thing","verbs":["get"]}`

const podsClassic = `{"kind":"APIResourceList","groupVersion":"v1","resources":[
	{"name":"pods/status","kind":"Pod","namespaced":true,"verbs":["get"]},
	{"name":"pods","singularName":"pod","kind":"Pod","namespaced":true,"verbs":["list","get","watch"],"shortNames":["po"],"categories":["all"]},
	{"name":"pods/log","kind":"Pod","namespaced":true,"verbs":["get"]}]}`

const thingsClassic = `{"kind":"APIResourceList","resources":[{"name":"things","singularName":"thing","kind":"Thing","namespaced":false,"verbs":["get"]}]}`

const groupOfThings = `{"name":"x.dev","versions":[{"groupVersion":"x.dev/v1","version":"v1"},{"groupVersion":"x.dev/v1beta1","version":"v1beta1"}],"preferredVersion":{"version":"v1"}}`

func classic() map[string]answer {
	return map[string]answer{
		"/api":                respond(200, `{"kind":"APIVersions","versions":["v1"]}`, "Content-Type", "application/json"),
		"/api/v1":             respond(200, podsClassic),
		"/apis":               respond(200, `{"kind":"APIGroupList","groups":[`+groupOfThings+`]}`, "Content-Type", "application/json"),
		"/apis/x.dev":         respond(200, groupOfThings),
		"/apis/x.dev/v1":      respond(200, thingsClassic),
		"/apis/x.dev/v1beta1": respond(200, thingsClassic),
	}
}

func check(t *testing.T, d Discovery, err error, want ...resources.Resource) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, d.Resources); diff != "" {
		t.Error(diff)
	}
}

func TestDiscover_AggregatedDocumentsNeedOneRequestEach(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, documents(map[string]answer{
		"/api": respond(200, podsAggregated, "Content-Type", aggregatedType),
		"/apis": respond(200, `{"items":[{"metadata":{"name":"x.dev"},"versions":[
			{"version":"v1","freshness":"Current","resources":[`+thingAggregated+`]},
			{"version":"v1beta1","freshness":"Current","resources":[`+thingAggregated+`]}]}]}`, "Content-Type", aggregatedType),
	}))
	d, err := client.Discover(t.Context())
	check(t, d, err, append([]resources.Resource{pods}, things...)...)
	if len(s.requests) != 2 || len(d.Failed) != 0 {
		t.Error(len(s.requests), d.Failed)
	}
}

func TestDiscover_OldServersAreAskedVersionByVersion(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, documents(classic()))
	d, err := client.Discover(t.Context())
	check(t, d, err, append([]resources.Resource{pods}, things...)...)
}

func TestDiscover_OnlyNamedGroups(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, documents(classic()))
	d, err := client.Discover(t.Context(), "x.dev", "not.yet.there", "x.dev")
	check(t, d, err, things...)
	if len(d.Failed) != 0 {
		t.Error(d.Failed)
	}
	for _, r := range s.requests {
		if r.URL.Path == "/prefix/api" || r.URL.Path == "/prefix/apis" {
			t.Error("everything was asked for")
		}
	}
	d, err = client.Discover(t.Context(), "")
	check(t, d, err, pods)
}

func TestDiscover_UnavailableGroupDoesNotBlockOthers(t *testing.T) {
	answers := classic()
	answers["/apis/x.dev/v1beta1"] = respond(503, "service unavailable")
	client, _ := clientFor(t, ClientOptions{}, documents(answers))
	d, err := client.Discover(t.Context())
	check(t, d, err, pods, things[0])
	if Status(d.Failed["x.dev/v1beta1"]) != 503 || len(d.Failed) != 1 {
		t.Error(d.Failed)
	}

	answers["/apis/x.dev"] = respond(503, "")
	d, err = client.Discover(t.Context(), "", "x.dev")
	check(t, d, err, pods)
	if Status(d.Failed["x.dev"]) != 503 {
		t.Error(d.Failed)
	}
}

func TestDiscover_StaleGroupIsReported(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, documents(map[string]answer{
		"/api":  respond(200, podsAggregated, "Content-Type", aggregatedType),
		"/apis": respond(200, `{"items":[{"metadata":{"name":"x.dev"},"versions":[{"version":"v1","freshness":"Stale"}]}]}`, "Content-Type", aggregatedType),
	}))
	d, err := client.Discover(t.Context())
	check(t, d, err, pods)
	if d.Failed["x.dev/v1"] == nil {
		t.Error(d.Failed)
	}
}

func TestDiscover_FailsWithoutACluster(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, respond(500, ""))
	if _, err := client.WithoutRetries().Discover(t.Context()); Status(err) != 500 {
		t.Error(err)
	}
}

func TestDiscover_GarbageIsRetriedLikeAnUnavailableServer(t *testing.T) {
	for _, garbage := range []string{"", "nonsense", "<html>502</html>", "null", "{}", `[]`, `{"kind":"Status"}`, podsAggregated[:100]} {
		for _, contentType := range []string{"text/html", "application/json", aggregatedType} {
			synctest.Test(t, func(t *testing.T) {
				answers := classic()
				client, _ := clientFor(t, ClientOptions{}, documents(answers))
				var told sync.Map
				client = client.WithRetryHook(func(r Retry) {
					var failed *Error
					if errors.As(r.Err, &failed) {
						told.Store(failed.Path, true)
					}
				})
				for _, path := range []string{"/api", "/apis"} {
					first, then := respond(200, garbage, "Content-Type", contentType), answers[path]
					var requests atomic.Int32
					answers[path] = func(r *http.Request) (*http.Response, error) {
						if requests.Add(1) <= 3 {
							return first(r)
						}
						return then(r)
					}
				}
				d, err := client.Discover(t.Context())
				check(t, d, err, append([]resources.Resource{pods}, things...)...)
				_, core := told.Load("/api")
				if _, groups := told.Load("/apis"); len(d.Failed) != 0 || !core || !groups {
					t.Errorf("%s %q: %v, %v, %v", contentType, garbage, d.Failed, core, groups)
				}
			})
		}
	}
	client, _ := clientFor(t, ClientOptions{}, respond(200, "nonsense"))
	if _, err := client.WithoutRetries().Discover(t.Context()); Classify(err) != Transient {
		t.Error(err)
	}
}

func TestDiscover_GarbageOfAGroupDoesNotBlockOthers(t *testing.T) {
	answers := classic()
	answers["/apis/x.dev/v1beta1"] = respond(200, "nonsense")
	client, _ := clientFor(t, ClientOptions{}, documents(answers))
	d, err := client.Discover(t.Context())
	check(t, d, err, pods, things[0])
	if !errors.Is(d.Failed["x.dev/v1beta1"], errGarbled) || len(d.Failed) != 1 {
		t.Error(d.Failed)
	}
	answers["/apis/x.dev"] = respond(200, "{}")
	d, err = client.Discover(t.Context(), "", "x.dev")
	check(t, d, err, pods)
	if !errors.Is(d.Failed["x.dev"], errGarbled) {
		t.Error(d.Failed)
	}
}

func TestDiscover_PrefersTheAggregatedFormat(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, documents(classic()))
	if _, err := client.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.requests, func(r *http.Request) bool { return r.URL.Path == "/prefix/apis" })
	if accept := s.requests[i].Header.Get("Accept"); accept != acceptAggregated {
		t.Error(accept)
	}
}
