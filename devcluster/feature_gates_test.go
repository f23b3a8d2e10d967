package devcluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

func TestNormalGates_SortsAndRefusesNonsense(t *testing.T) {
	for gates, want := range map[string]string{
		"":                           "",
		" ":                          "",
		"ShardedListAndWatch=true":   "ShardedListAndWatch=true",
		"b=false, a=TRUE ,b = false": "a=true,b=false",
	} {
		if got, err := normalGates(gates); got != want || err != nil {
			t.Errorf("%q becomes %q, %v; want %q", gates, got, err, want)
		}
	}
	for _, gates := range []string{"A", "A=maybe", "=true", "A=true,", ","} {
		if got, err := normalGates(gates); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q becomes %q, %v", gates, got, err)
		}
		if err := (Options{FeatureGates: gates}).Check(); !errors.Is(err, ErrInvalid) {
			t.Errorf("the options with %q are accepted: %v", gates, err)
		}
	}
}

const shardedGate = "ShardedListAndWatch=true"

// emptyShard is a range of hashes that no namespace has. Servers without the feature ignore it.
const emptyShard = "/api/v1/namespaces?shardSelector=shardRange(object.metadata.uid,%20'0x0000000000000000',%20'0x0000000000000001')"

// expectSharded checks whether the API server selects objects by shards.
func expectSharded(t *testing.T, config *rest.Config, enabled bool) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+emptyShard, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []any }
	err = json.NewDecoder(answer.Body).Decode(&list)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if selected := len(list.Items) == 0; answer.StatusCode != http.StatusOK || selected != enabled {
		t.Errorf("%s, %d namespaces; the feature should be enabled: %t", answer.Status, len(list.Items), enabled)
	}
}

func TestFeatureGates_KeptByClusterUntilChanged(t *testing.T) {
	isolate(t)
	i := create(t, Options{Name: "lab", FeatureGates: " " + shardedGate})
	if i.Provider != Embedded || i.FeatureGates != shardedGate {
		t.Errorf("created is %+v", i)
	}
	config, err := clientConfig(i.Kubeconfig, i.Context).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	expectSharded(t, config, true)

	// While it runs, others use it only with these gates, or without saying any.
	for gates, want := range map[string]error{"": nil, shardedGate: nil, "ShardedListAndWatch=false": ErrInvalid} {
		c, err := Open(t.Context(), Options{Name: "lab", FeatureGates: gates})
		if !errors.Is(err, want) || want == nil && c.Started {
			t.Errorf("with %q: %+v, %v", gates, c, err)
		}
		if err != nil && !strings.Contains(err.Error(), "kopf cluster stop lab") {
			t.Errorf("the error does not say what to do: %v", err)
		}
	}

	if err := Stop(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Name: "lab", FeatureGates: "NoSuchFeature=true"}); !errors.Is(err, fault.ErrStart) || !strings.Contains(err.Error(), "unrecognized feature gate: NoSuchFeature") {
		t.Errorf("the error is %v", err)
	}
	if i, err = Start(t.Context(), "lab", Options{}); err != nil {
		t.Fatal(err)
	}
	expectSharded(t, config, true)
	if err := Stop(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{Name: "lab", FeatureGates: "ShardedListAndWatch=false"})
	expectSharded(t, config, false)
	if i := get(t, "lab"); i.FeatureGates != "ShardedListAndWatch=false" {
		t.Errorf("listed is %+v", i)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
