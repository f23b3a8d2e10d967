package object

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
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

func TestParseFindsTheMarksWithoutBeingFooledByNestedOnes(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	got := []any{o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID, o.ResourceVersion, o.Generation, o.Created.Unix(), o.Deleting, o.String()}
	want := []any{"v1", "Pod", "shop", "web-0", "3f1c", "41", int64(3), int64(1714979289), true, "Pod shop/web-0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestManagedFieldsAreCutOutWhereverTheyStand(t *testing.T) {
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

func TestMissingVersionAndKindAreWrittenIn(t *testing.T) {
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

func TestEscapedAndAbsentAndNullMarksAreUnderstood(t *testing.T) {
	o := parse(t, `{"metadata":{"name":"\u0041b","creationTimestamp":null,"deletionTimestamp":null,"uid":null}}`, ParseOptions{})
	if o.Name != "Ab" || o.Deleting || !o.Created.IsZero() || o.UID != "" {
		t.Errorf("%+v", o.GetObjectMeta())
	}
	if o := parse(t, `{"metadata":null}`, ParseOptions{}); o.Name != "" {
		t.Error(o.Name)
	}
}

func TestTextThatEndsTooEarlyAsksForMore(t *testing.T) {
	for i := range len(pod) - 1 {
		if _, err := Parse([]byte(pod[:i]), ParseOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%s: %v", pod[:i], err)
		}
	}
}

func TestTextOfAnotherShapeIsASyntaxError(t *testing.T) {
	for _, text := range []string{`[]`, `"x"`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":}`, `{"metadata":{"generation":"x"}}`, `{"metadata":{"creationTimestamp":"x"}}`} {
		if _, err := Parse([]byte(text), ParseOptions{}); !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheTreeIsDecodedOnceAndCanBeForgotten(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	one, err := o.Tree()
	if err != nil {
		t.Fatal(err)
	}
	one["mark"] = true // against the rules, to see if it is the same map
	if two, _ := o.Tree(); two["mark"] != true {
		t.Error("decoded twice")
	}
	o.Forget()
	if three, _ := o.Tree(); three["mark"] != nil || three["metadata"].(map[string]any)["generation"] != int64(3) {
		t.Error("not decoded again", three)
	}
}

func TestAMemberIsFoundAtTheTopOnly(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	for name, want := range map[string]string{"kind": `"Pod"`, "spec": `{"metadata":{"name":"nor this"},"list":[1,2.5,true,null,"]"]}`, "list": "", "status": ""} {
		if got := string(o.Member(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestAnObjectThatIsNotJSONFailsWhenItIsDecoded(t *testing.T) {
	o := parse(t, `{"metadata":{"name":"n"},"spec":nonsense}`, ParseOptions{})
	if _, err := o.Tree(); err == nil || !strings.Contains(err.Error(), "decode") {
		t.Error(err)
	}
}

func TestFramesAreReadWhateverTheOrderOfTheirMembers(t *testing.T) {
	for _, text := range []string{
		`{"type":"MODIFIED","object":` + pod + `}`,
		`{"object":` + pod + `,"type":"MODIFIED"}` + "\n",
		`{ "type" : "MODIFIED" , "extra":[{}], "object" : ` + pod + ` }`,
	} {
		f, err := ParseFrame([]byte(text), ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Type != EventModified || f.Object.Name != "web-0" || f.EndsInitialEvents() {
			t.Errorf("%+v", f)
		}
	}
}

func TestFramesOfErrorsAndBookmarksAreToldApart(t *testing.T) {
	f, err := ParseFrame([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410}}`), ParseOptions{})
	if err != nil || f.Object != nil || string(f.Status) != `{"kind":"Status","code":410}` {
		t.Error(f, err)
	}
	f, err = ParseFrame([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`), ParseOptions{})
	if err != nil || !f.EndsInitialEvents() || f.Object.ResourceVersion != "7" {
		t.Error(f, err)
	}
	for _, text := range []string{`{}`, `{"type":"ADDED"}`, `{"object":{}}`, `{"type":"ADDED","object":1}`} {
		if _, err := ParseFrame([]byte(text), ParseOptions{}); !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseFrame([]byte(`{"type":"ADDED","object":{"metadata":`), ParseOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestTheReflectorSeesIdentityAndVersion(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	m, err := meta.Accessor(o)
	if err != nil || m.GetName() != "web-0" || m.GetNamespace() != "shop" || m.GetResourceVersion() != "41" {
		t.Error(m, err)
	}
	items, err := meta.ExtractListWithAlloc(&List{Items: []*Object{o}})
	if err != nil || len(items) != 1 || items[0] != o.DeepCopyObject() {
		t.Error(items, err)
	}
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "Pod" {
		t.Error(kind)
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

func TestVersionsAreTheSameWhateverTheOperatorAndTheServerHaveWritten(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"X","metadata":{"annotations":{"a":"1"},"generation":1,"labels":{"l":"1"},"name":"x","resourceVersion":"1"},"spec":{"f":1}}`
	ours := func(key string) bool { return strings.HasPrefix(key, `our"s/`) }
	with := func(old, now string) string { return strings.Replace(object, old, now, 1) }
	one := parse(t, object, ParseOptions{})
	for name, text := range map[string]string{
		"nothing":                 object,
		"the version":             with(`"resourceVersion":"1"`, `"resourceVersion":"2"`),
		"the generation":          with(`"generation":1`, `"generation":2`),
		"the status":              with(`,"spec"`, `,"status":{"x":[1]},"spec"`),
		"our annotations":         with(`"a":"1"`, `"a":"1","our\"s/a":"2"`),
		"our annotations, before": with(`"a":"1"`, `"our\"s/a":"2","our\"s/b":{},"a":"1"`),
	} {
		if !one.SameBut(parse(t, text, ParseOptions{}), ours) {
			t.Errorf("%s makes a difference", name)
		}
	}
	for name, text := range map[string]string{
		"the spec":          with(`"f":1`, `"f":2`),
		"a member more":     with(`,"spec"`, `,"data":{},"spec"`),
		"a member less":     with(`,"spec":{"f":1}`, ``),
		"a label":           with(`"l":"1"`, `"l":"2"`),
		"no labels":         with(`"labels":{"l":"1"},`, ``),
		"a finalizer":       with(`"generation"`, `"finalizers":["f"],"generation"`),
		"a deletion":        with(`"generation"`, `"deletionTimestamp":"2024-05-06T07:08:09Z","generation"`),
		"an annotation":     with(`"a":"1"`, `"a":"2"`),
		"another's":         with(`"a":"1"`, `"a":"1","our/a":"2"`),
		"no annotations":    with(`"annotations":{"a":"1"},`, ``),
		"another order":     with(`"generation":1,"labels":{"l":"1"},"name":"x"`, `"name":"x","labels":{"l":"1"}`),
		"a broken text":     with(`"f":1`, `"f":"`),
		"something instead": with(`{"a":"1"}`, `["a"]`),
	} {
		other := &Object{Raw: []byte(text)}
		if one.SameBut(other, ours) || other.SameBut(one, ours) {
			t.Errorf("%s makes no difference", name)
		}
	}
	bare := parse(t, with(`"annotations":{"a":"1"},`, ``), ParseOptions{})
	if !bare.SameBut(parse(t, with(`"a":"1"`, `"our\"s/a":"2"`), ParseOptions{}), ours) {
		t.Error("the first annotation of all makes a difference")
	}
}
