package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
)

const document = `{"components":{"schemas":{
	"com.example.v1.Claim":{
		"x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Claim"}],
		"type":"object",
		"properties":{
			"apiVersion":{"type":"string"},
			"metadata":{"allOf":[{"$ref":"#/components/schemas/ObjectMeta"}]},
			"spec":{"type":"object","properties":{
				"size":{"type":"string"},
				"parts":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}},
				"limits":{"type":"object","additionalProperties":{"type":"object","properties":{"cpu":{"type":"string"}}}},
				"any":{"type":"object","additionalProperties":true},
				"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"object","properties":{"a":{}}}}},
				"empty":{"type":"object"},
				"self":{"$ref":"#/components/schemas/com.example.v1.Claim"},
				"loop":{"$ref":"#/components/schemas/Loop"}
			}}
		}
	},
	"Loop":{"$ref":"#/components/schemas/Loop"},
	"ObjectMeta":{"type":"object","properties":{"name":{"type":"string"},"labels":{"type":"object","additionalProperties":{"type":"string"}}}}
}}}`

type shared struct {
	Size  string `json:"size"`
	Depth int    `json:"depth"`
}

type recursive struct {
	Spec struct {
		Self *recursive `json:"self"`
		Lost *recursive `json:"lost"`
	} `json:"spec"`
}

type own struct{ Siez string }

func (*own) UnmarshalJSON([]byte) error { return nil }

var _ json.Unmarshaler = (*own)(nil)

func claim(t *testing.T) *Schema {
	t.Helper()
	d, err := ParseDocument([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	s := d.Kind("example.com", "v1", "Claim")
	if s == nil {
		t.Fatal("there is no schema")
	}
	return s
}

func TestSchema_UnknownFieldsOfTypes(t *testing.T) {
	s := claim(t)
	for name, test := range map[string]struct {
		typ  reflect.Type
		path []string
		want []string
	}{
		"all known": {reflect.TypeFor[struct {
			Spec struct {
				Size  string                        `json:"size"`
				Parts []struct{ Name string }       `json:"-"`
				Any   struct{ Whatever string }     `json:"any"`
				Open  struct{ Whatever string }     `json:"open"`
				Empty struct{ Whatever string }     `json:"empty"`
				Loop  struct{ Whatever string }     `json:"loop"`
				Free  map[string]struct{ X, Y int } `json:"any2,omitempty"`
			} `json:"spec"`
		}](), nil, []string{"spec.any2"}},
		"a typo": {reflect.TypeFor[*struct {
			Spec *struct {
				Size string `json:"siez,omitempty"`
			} `json:"spec"`
			Status struct{ Phase string } `json:"status"`
		}](), nil, []string{"spec.siez", "status"}},
		"metadata": {reflect.TypeFor[struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name   string            `json:"name"`
				Labels map[string]string `json:"labels"`
				Label  string            `json:"label"`
			} `json:"metadata"`
		}](), nil, []string{"metadata.label"}},
		"a name without a tag": {reflect.TypeFor[struct {
			Spec struct{ Size string } `json:"spec"`
		}](), nil, []string{"spec.Size"}},
		"lists and maps": {reflect.TypeFor[struct {
			Spec struct {
				Parts []struct {
					Name  string `json:"name"`
					Title string `json:"title"`
				} `json:"parts"`
				Limits map[string]*struct {
					Memory string `json:"memory"`
				} `json:"limits"`
			} `json:"spec"`
		}](), nil, []string{"spec.limits.*.memory", "spec.parts[].title"}},
		"a map as a struct": {reflect.TypeFor[struct {
			Spec struct {
				Limits struct {
					Low struct {
						CPU    string `json:"cpu"`
						Memory string `json:"memory"`
					} `json:"low"`
				} `json:"limits"`
			} `json:"spec"`
		}](), nil, []string{"spec.limits.low.memory"}},
		"what is known of an open object": {reflect.TypeFor[struct {
			Spec struct {
				Open struct {
					Known struct {
						B string `json:"b"`
					} `json:"known"`
				} `json:"open"`
			} `json:"spec"`
		}](), nil, []string{"spec.open.known.b"}},
		"embedded structs": {reflect.TypeFor[struct {
			Spec struct{ shared } `json:"spec"`
		}](), nil, []string{"spec.depth"}},
		"recursive types": {reflect.TypeFor[recursive](), nil, []string{"spec.lost"}},
		"a type with its own decoding": {reflect.TypeFor[struct {
			Spec own `json:"spec"`
		}](), nil, nil},
		"a type of the library": {reflect.TypeFor[struct {
			Spec struct {
				Size time.Time `json:"size"`
			} `json:"spec"`
		}](), nil, nil},
		"a value that has no fields": {reflect.TypeFor[int](), []string{"spec", "size"}, nil},
		"a field":                    {reflect.TypeFor[shared](), []string{"spec"}, []string{"spec.depth"}},
		"a field that is unknown":    {reflect.TypeFor[string](), []string{"spec", "siez"}, []string{"spec.siez"}},
		"a field of an open object":  {reflect.TypeFor[string](), []string{"spec", "open", "x", "y"}, nil},
		"a value of a map":           {reflect.TypeFor[shared](), []string{"spec", "limits", "low"}, []string{"spec.limits.low.depth", "spec.limits.low.size"}},
		"an untyped object":          {reflect.TypeFor[map[string]any](), nil, nil},
		"an interface":               {reflect.TypeFor[any](), nil, nil},
	} {
		if got := s.Unknown(test.typ, test.path...); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestDocument_KindsAndErrors(t *testing.T) {
	d, err := ParseDocument([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind("example.com", "v1", "Other") != nil || d.Kind("", "v1", "Claim") != nil {
		t.Error("there is a schema of a kind that is not in the document")
	}
	for _, text := range []string{"", "[]", `{"components":{"schemas":{"x":{"properties":[]}}}}`} {
		if _, err := ParseDocument([]byte(text)); err == nil {
			t.Errorf("%q is parsed", text)
		}
	}
	d, err = ParseDocument([]byte(`{"components":{"schemas":{"x":null}}}`))
	if err != nil || d.Kind("", "", "") != nil {
		t.Error(d, err)
	}
}

func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"components":{"schemas":{"x":null,"y":{"$ref":"#/components/schemas/y","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Claim"}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ParseDocument(text)
		if err != nil {
			return
		}
		if s := d.Kind("example.com", "v1", "Claim"); s != nil {
			s.Unknown(reflect.TypeFor[recursive]())
			s.Unknown(reflect.TypeFor[shared](), "spec")
		}
	})
}
