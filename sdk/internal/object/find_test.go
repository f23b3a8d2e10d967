package object

import (
	"reflect"
	"strings"
	"testing"
)

// sameFind fails unless a field is found in a text exactly as in its tree.
func sameFind(t *testing.T, text, field string) {
	t.Helper()
	p, err := ParsePath(field)
	if err != nil || len(p) == 0 {
		t.Skipf("%q does not name a field: only fields are compared", field)
	}
	tree, decoding := (&Object{Raw: []byte(text)}).Tree()
	want, _ := Lookup(tree, p)
	got, finding := findIn([]byte(text), p)
	if (decoding == nil) != (finding == nil) || finding == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%s of %q: found %v, %v; the tree has %v, %v", field, text, got, finding, want, decoding)
	}
}

func FuzzFind_AgreesWithTree(f *testing.F) {
	for _, text := range []string{
		`{"spec":{"a":1,"b":[1,{"c":"x"}]}}`, `{"spec":{"a":1},"spec":{"b":2}}`, `{"spec":{"a":1},"spec":null}`, `{"spec":[{"a":[{}]}]}`,
		`{"spec":"a"}`, `{"spec":{"a":nul}}`, `{"spec":{"a":1}`, `{"spec":{"a":1}} {}`, `[]`, `null`, ``, `{"x":1e999,"spec":{"a":1}}`,
		`{"sp\u0065c":{"a":{"b":{}}}}`, `{"spec":{"0":1}}`, strings.Repeat(`{"spec":`, maxDepth+2),
	} {
		for _, field := range []string{"spec", "spec.a", "spec.b[1].c", "spec[0]", "spec[0].a[0]", "spec.a.b.c"} {
			f.Add(text, field)
		}
	}
	f.Fuzz(sameFind)
}

func TestFind_ObjectStaysText(t *testing.T) {
	o := &Object{Raw: []byte(`{"spec":{"items":[{}` + strings.Repeat(`,"`+strings.Repeat("x", 97)+`"`, huge/100+1) + `],"value":"right"}}`)}
	if v, err := o.Find(Path{"spec", "value"}); v != "right" || err != nil || !o.Huge() {
		t.Errorf("%v, %v", v, err)
	}
	if o.tree.Load() != nil {
		t.Error("it was decoded")
	}
	if _, err := o.Find(nil); err != nil || o.tree.Load() == nil {
		t.Errorf("the whole object: %v", err)
	}
	if v, err := o.Find(Path{"spec", "value"}); v != "right" || err != nil {
		t.Errorf("in the tree: %v, %v", v, err)
	}
}
