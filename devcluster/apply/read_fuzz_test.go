package apply

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzManifests(f *testing.F) {
	for _, body := range []string{
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: y}\n",
		"a: &a [x]\nb: *a\n", "a: &a [*a]", "\tx: y", "--- # x\nmetadata: [", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":1}}`, "apiVersion: v1\nkind: PodList\nitems: {}",
		"? - a\n: b", "a: 1\na: 2", "\ufeffa: b", "!!binary x: y", "apiVersion: v1\nkind: List\nitems:\n- &x\n  apiVersion: v1\n  kind: List\n  items: []\n- *x\n",
	} {
		f.Add([]byte(body), false)
		f.Add([]byte(body), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, isJSON bool) {
		file := "obj.yaml"
		if isJSON {
			file = "obj.json"
		}
		manifests, err := parse(file, body)
		lines := bytes.Count(body, []byte("\n")) + 1
		for _, m := range manifests {
			if m.Line < 1 || m.Line > lines || m.Object.GetName() == "" || m.Object.GetKind() == "" || m.Object.GetAPIVersion() == "" {
				t.Errorf("%q has %+v", body, m)
			}
		}
		sorted(manifests)
		if err == nil {
			return
		}
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Fatalf("%q: %v", body, err)
		}
		for _, err := range joined.Unwrap() {
			if mistake, ok := errors.AsType[*SyntaxError](err); !ok || mistake.Line < 1 || mistake.Line > lines || mistake.Message == "" {
				t.Errorf("%q: %v", body, err)
			}
		}
	})
}
