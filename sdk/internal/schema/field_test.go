package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSchema_FieldsOfStatus(t *testing.T) {
	d, err := ParseDocument([]byte(`{"components":{"schemas":{
		"a":{"x-kubernetes-group-version-kind":[{"group":"g","version":"v1","kind":"A"}],"properties":{
			"status":{"allOf":[{"$ref":"#/components/schemas/status"}]},
			"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"string"}}},
			"values":{"type":"object","additionalProperties":{"type":"array","x-kubernetes-list-type":"set"}}}},
		"status":{"type":"object","properties":{
			"conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"]},
			"atomic":{"type":"array","x-kubernetes-list-type":"atomic"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := d.Kind("g", "v1", "A")
	for _, test := range []struct {
		path []string
		want Field
	}{
		{[]string{"status", "conditions"}, Field{Declared: true, MapKeys: []string{"type"}}},
		{[]string{"status", "atomic"}, Field{Declared: true}},
		{[]string{"status", "phase"}, Field{}},
		{[]string{"nothing", "conditions"}, Field{}},
		{[]string{"open", "conditions"}, Field{Declared: true}},
		{[]string{"values", "conditions"}, Field{Declared: true}},
	} {
		if diff := cmp.Diff(test.want, s.Field(test.path...)); diff != "" {
			t.Errorf("%q: %s", test.path, diff)
		}
	}
}
