package admission

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

const wholeReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"a.dev","version":"v1","kind":"A"},
	"resource":{"group":"a.dev","version":"v1","resource":"as"},"subResource":"status","name":"n","namespace":"ns","operation":"UPDATE","dryRun":true,
	"userInfo":{"username":"me","groups":["g"],"extra":{"k":["v"]}},"object":{"metadata":{"labels":{"a/b":"c"}},"spec":{"l":[1,2.0,{"x":null}]}},"oldObject":{"spec":{}}}}`

func FuzzDecode(f *testing.F) {
	f.Add([]byte(wholeReview))
	f.Add([]byte(strings.Replace(wholeReview, "/v1\"", "/v1beta1\"", 1)))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","resource":{"resource":"as"},"userInfo":{},"object":{"metadata":null}}}`))
	f.Add([]byte(`{"request":{"object":[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := Decode(body)
		if err != nil {
			if invalid, ok := err.(*InvalidError); !ok || invalid.Status < 400 { //nolint:errorlint // it is not wrapped
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if request.Subject() == nil || request.UID == "" {
			t.Fatalf("%q: %+v", body, request)
		}
		if _, err := request.Subject().Tree(); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		response := Respond(nil, []string{string(body)}, nil)
		text, err := response.Encode(request.APIVersion, request.UID)
		if err != nil || !json.Valid(text) {
			t.Fatalf("%q: %s, %v", body, text, err)
		}
		for _, warning := range response.Warnings {
			if strings.ContainsFunc(warning, unicode.IsControl) {
				t.Fatalf("the warning %q", warning)
			}
		}
	})
}

// FuzzPatch checks that the operations of a patch make the wanted object.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"spec":{"a":1,"l":["p","q"],"x/y~z":{}}}`), []byte(`{"spec":{"a":null,"l":["q"],"x/y~z":{"b":true}},"metadata":{"labels":{"a":"b"}}}`))
	f.Add([]byte(`{}`), []byte(`{"":{"":0}}`))
	f.Add([]byte(`{"a":[[1],[2]]}`), []byte(`{"a":[[2]],"b":{"c":null}}`))
	f.Fuzz(func(t *testing.T, body, merge []byte) {
		if !utf8.Valid(body) || !utf8.Valid(merge) {
			return // JSON cannot have it
		}
		tree, ok := decodedObject(body)
		if !ok {
			return
		}
		changes, ok := decodedObject(merge)
		if !ok {
			return
		}
		p := patch.NewPatch()
		p.Merge(changes)
		wanted, ops, err := p.Apply(tree)
		if err != nil {
			return // the changes do not fit into the object
		}
		response := Respond(nil, nil, ops)
		text, err := response.Encode("admission.k8s.io/v1", "u")
		if err != nil {
			t.Fatal(err)
		}
		var wire wireResponse
		if err := json.Unmarshal(text, &wire); err != nil {
			t.Fatal(err)
		}
		if len(ops) == 0 {
			if wire.Response.Patch != nil || !object.Equal(tree, wanted) {
				t.Fatalf("%s and %s: no operations, but %v is wanted", body, merge, wanted)
			}
			return
		}
		got, err := applied(tree, wire.Response.Patch)
		if err != nil {
			t.Fatalf("%s and %s: %v", body, merge, err)
		}
		if !object.Equal(got, wanted) {
			t.Fatalf("%s and %s: %s makes %v, not %v", body, merge, wire.Response.Patch, got, wanted)
		}
	})
}

func decodedObject(text []byte) (map[string]any, bool) {
	decoded, err := object.DecodeJSON(text)
	if err != nil {
		return nil, false
	}
	tree, ok := decoded.(map[string]any)
	return tree, ok
}

func FuzzNames(f *testing.F) {
	for _, id := range []string{"fn", "create_fn", "checkSize", "fn/spec.field", "Fn.<locals>.x", "ünï", "UPPER", "a--b", "-", "/", "a\x00b", strings.Repeat("a.", 200)} {
		f.Add(id, "other")
	}
	f.Add("check_size", "check-size")
	f.Fuzz(func(t *testing.T, id, other string) {
		if id == "" || other == "" {
			return
		}
		names := Names([]*handlers.Handler{{ID: id}, {ID: other}})
		for id, name := range names {
			if !dnsSubdomain.MatchString(name) || len(name) > maxID {
				t.Errorf("%q has the name %q", id, name)
			}
			for _, client := range []ClientConfig{{URL: "https://h/p"}, {Service: &Service{Namespace: "n", Name: "s"}}} {
				if address := client.For(id, name); address.Path() == "" {
					t.Errorf("%q has the address %s", id, address)
				}
			}
		}
		if id != other && names[id] == names[other] {
			t.Errorf("%q and %q have the name %q", id, other, names[id])
		}
	})
}
