package ownership

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// converter is a webhook that converts between spec.size of v1 and spec.dimensions.size of v2.
type converter struct {
	*httptest.Server
	down atomic.Bool
}

func newConverter(t *testing.T) *converter {
	t.Helper()
	c := &converter{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.convert))
	c.Config.ErrorLog = log.New(t.Output(), "", 0)
	c.StartTLS()
	t.Cleanup(c.Close)
	return c
}

func (c *converter) convert(w http.ResponseWriter, r *http.Request) {
	var review tree
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || c.down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	request := review["request"].(tree)
	version := text(request, "desiredAPIVersion")
	objects := request["objects"].([]any)
	for _, o := range objects {
		object := o.(tree)
		object["apiVersion"] = version
		spec, _ := object["spec"].(tree)
		if dimensions, ok := spec["dimensions"].(tree); ok && strings.HasSuffix(version, "/v1") {
			spec["size"] = dimensions["size"]
			delete(spec, "dimensions")
		}
		if size, ok := spec["size"]; ok && strings.HasSuffix(version, "/v2") {
			spec["dimensions"] = tree{"size": size}
			delete(spec, "size")
		}
	}
	review["response"] = tree{"uid": request["uid"], "convertedObjects": objects, "result": tree{"status": "Success"}}
	delete(review, "request")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		c.Config.ErrorLog.Print(err)
	}
}

// apply applies an object of v1 whose fields have other paths in v2, the stored version.
func (c *converter) apply(t *testing.T, plural, kind string) (a *applied, v2 string) {
	t.Helper()
	s := newServer(t)
	group := s.cluster.Namespace + ".kopf.dev"
	str := tree{"type": "string"}
	versioned := definition(group, plural, kind, tree{}, "v2", "v1")
	versions := versioned["spec"].(tree)["versions"].([]any)
	for i, spec := range []tree{{"dimensions": tree{"type": "object", "properties": tree{"size": str}}, "color": str}, {"size": str, "color": str}} {
		version := versions[i].(tree)
		version["schema"] = tree{"openAPIV3Schema": tree{"type": "object", "properties": tree{"spec": tree{"type": "object", "properties": spec}}}}
		delete(version, "subresources")
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	versioned["spec"].(tree)["conversion"] = tree{"strategy": "Webhook", "webhook": tree{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig":             tree{"url": c.URL, "caBundle": base64.StdEncoding.EncodeToString(certificate)},
	}}
	s.redefine(versioned)
	a = s.applyNew("/apis/"+group+"/v1/namespaces/NAMESPACE/"+plural, named(group+"/v1", kind, "thing", tree{"spec": tree{"size": "1Gi", "color": "red"}}))
	return a, strings.Replace(a.path, "/v1/", "/v2/", 1)
}

func TestConversion_ChangeInOtherVersionLeavesOurEntryWithoutTaker(t *testing.T) {
	a, v2 := newConverter(t).apply(t, "converteds", "Converted")
	a.must(http.MethodPatch, v2, merging, tree{"spec": tree{"dimensions": tree{"size": "9Gi"}}}, "fieldManager", others)
	after := entriesOf(t, a.get(a.path))
	if got := lost(a.before.ours(t), after.ours(t)); !slices.Equal(got, []string{".spec.size"}) {
		t.Errorf("our entry has lost %v", got)
	}
	if got := after.takers(t, ".spec.size"); len(got) > 0 {
		t.Errorf("the field is owned by %v", got)
	}
	if got := after.takers(t, ".spec.dimensions.size"); !slices.Equal(got, []string{others + "/Update"}) {
		t.Errorf("the field of the other version is owned by %v", got)
	}
}

// TestConversion_WriteWithoutWebhookHidesTheChange has a case in which the claim does not hold: the API server cannot convert
// our entry, and stores it as it was.
func TestConversion_WriteWithoutWebhookHidesTheChange(t *testing.T) {
	c := newConverter(t)
	a, v2 := c.apply(t, "unconverteds", "Unconverted")
	c.down.Store(true)
	a.must(http.MethodPatch, v2, merging, tree{"spec": tree{"dimensions": tree{"size": "9Gi"}}}, "fieldManager", others)
	c.down.Store(false)
	live := a.get(a.path)
	if got := lost(a.before.ours(t), entriesOf(t, live).ours(t)); got != nil || text(live, "spec", "size") != "9Gi" {
		t.Errorf("our entry has lost %v, and the value is %s", got, text(live, "spec", "size"))
	}
	if got := a.again(); got.code != http.StatusOK || text(got.body, "spec", "size") != "1Gi" {
		t.Errorf("apply: %d %v", got.code, got.body)
	}
}
