package object

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"shop","uid":"3f1c","resourceVersion":"41",` +
	`"generation":3,"creationTimestamp":"2024-05-06T07:08:09Z","deletionTimestamp":"2024-05-06T07:09:09Z",` +
	`"annotations":{"a":"quote \" brace } comma ,","kind":"not this"},"managedFields":[{"manager":"x","fieldsV1":{"f:a":{}}}]},` +
	`"spec":{"metadata":{"name":"nor this"},"list":[1,2.5,true,null,"]"]}}`

func parse(t *testing.T, text string, opts ParseOptions) *Object {
	t.Helper()
	o, err := Parse([]byte(text), opts)
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return o
}

func TestParse_ReadsTopLevelMetadataOnly(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	got := []any{o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID, o.ResourceVersion, o.Generation, o.Created.Unix(), o.Deleting, o.String()}
	want := []any{"v1", "Pod", "shop", "web-0", "3f1c", "41", int64(3), int64(1714979289), true, "Pod shop/web-0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParse_RemovesManagedFields(t *testing.T) {
	const managed = `"managedFields":[{"a":"]}"}]`
	for _, metadata := range []string{
		`{` + managed + `}`,
		`{` + managed + `,"name":"n"}`,
		`{"name":"n",` + managed + `}`,
		`{"name":"n",` + managed + `,"uid":"u"}`,
		`{ "name" : "n" , ` + managed + ` , "uid" : "u" }`,
		`{"uid":"u","name":"n"}`,
	} {
		text := `{"metadata":` + metadata + `,"spec":{"managedFields":1}}`
		o := parse(t, text, ParseOptions{})
		var want map[string]any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		delete(want["metadata"].(map[string]any), "managedFields")
		var got map[string]any
		if err := json.Unmarshal(o.Raw, &got); err != nil {
			t.Errorf("%s became %s: %v", text, o.Raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		if kept := parse(t, text, ParseOptions{KeepManagedFields: true}); string(kept.Raw) != text {
			t.Errorf("kept: %s", kept.Raw)
		}
	}
}

func TestParse_AddsMissingVersionAndKind(t *testing.T) {
	opts := ParseOptions{APIVersion: "v1", Kind: "Pod"}
	for text, want := range map[string]string{
		`{}`:                           `{"apiVersion":"v1","kind":"Pod"}`,
		`{"metadata":{"name":"n"}}`:    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n"}}`,
		`{"kind":"Other","x":1}`:       `{"apiVersion":"v1","kind":"Other","x":1}`,
		`{"apiVersion":"a","x":[]}`:    `{"kind":"Pod","apiVersion":"a","x":[]}`,
		`{"kind":"K","apiVersion":""}`: `{"kind":"K","apiVersion":""}`,
	} {
		if o := parse(t, text, opts); string(o.Raw) != want {
			t.Errorf("%s became %s", text, o.Raw)
		}
	}
}

func TestParse_MetadataAloneHasTheTypeOfItsObject(t *testing.T) {
	const managed = `,"managedFields":[{"kind":"x"}]`
	for text, want := range map[string]string{
		`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n"MANAGED}}`:        `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"n"MANAGED}}`,
		`{"metadata":{"name":"n"MANAGED},"apiVersion" : "meta.k8s.io/v1" , "kind" : "PartialObjectMetadata" }`: `{"metadata":{"name":"n"MANAGED},"apiVersion" : "v1" , "kind" : "Pod" }`,
		`{"apiVersion":"meta.k8s.io/v1","metadata":{"name":"n"MANAGED},"kind":"PartialObjectMetadata"}`:        `{"apiVersion":"v1","metadata":{"name":"n"MANAGED},"kind":"Pod"}`,
		`{"kind":"PartialObjectMetadata","apiVersion":"example.com/v1","metadata":{"name":"n"MANAGED}}`:        `{"kind":"PartialObjectMetadata","apiVersion":"example.com/v1","metadata":{"name":"n"MANAGED}}`,
		`{"kind":"Status","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n"MANAGED}}`:                       `{"kind":"Status","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n"MANAGED}}`,
	} {
		for _, keep := range []bool{true, false} {
			opts := ParseOptions{APIVersion: "v1", Kind: "Pod", KeepManagedFields: keep}
			kept := ""
			if keep {
				kept = managed
			}
			text, want := strings.Replace(text, "MANAGED", managed, 1), strings.Replace(want, "MANAGED", kept, 1)
			o := parse(t, text, opts)
			tree, err := o.Tree()
			if err != nil || string(o.Raw) != want || o.Name != "n" || o.APIVersion != tree["apiVersion"] || o.Kind != tree["kind"] {
				t.Errorf("%s became %s %s: %s, %v", text, o.APIVersion, o.Kind, o.Raw, err)
			}
		}
	}
	const unknown = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n"}}`
	if o := parse(t, unknown, ParseOptions{}); string(o.Raw) != unknown || o.Kind != "PartialObjectMetadata" {
		t.Errorf("without a type: %s", o.Raw)
	}
}

func TestParse_EscapedAbsentAndNullMetadata(t *testing.T) {
	o := parse(t, `{"metadata":{"name":"\u0041b","creationTimestamp":null,"deletionTimestamp":null,"uid":null}}`, ParseOptions{})
	if o.Name != "Ab" || o.Deleting || !o.Created.IsZero() || o.UID != "" {
		t.Errorf("%+v", o.GetObjectMeta())
	}
	if o := parse(t, `{"metadata":null}`, ParseOptions{}); o.Name != "" {
		t.Error(o.Name)
	}
}

func TestParse_TruncatedTextIsUnexpectedEOF(t *testing.T) {
	for i := range len(pod) - 1 {
		if _, err := Parse([]byte(pod[:i]), ParseOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%s: %v", pod[:i], err)
		}
	}
}

func TestParse_OtherShapesAreSyntaxErrors(t *testing.T) {
	for _, text := range []string{`[]`, `"x"`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":}`, `{"metadata":{"generation":"x"}}`, `{"metadata":{"creationTimestamp":"x"}}`} {
		if _, err := Parse([]byte(text), ParseOptions{}); !errors.Is(err, errSyntax) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(pod))
	f.Add([]byte(`{"type":"ADDED","object":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := Parse(data, ParseOptions{})
		if err == nil && json.Valid(data) && !json.Valid(o.Raw) {
			t.Errorf("%q became %q", data, o.Raw)
		}
		if _, err := ParseFrame(data, ParseOptions{}); err == nil && len(data) == 0 {
			t.Error("an empty frame")
		}
	})
}
