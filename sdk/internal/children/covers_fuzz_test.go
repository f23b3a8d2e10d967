package children

import (
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// fuzzSchema has lists and maps of each type.
const fuzzSchema = `
types:
- name: object
  map:
    fields:
    - {name: byName, type: {list: {elementRelationship: associative, keys: [name], elementType: {namedType: item}}}}
    - {name: byKeys, type: {list: {elementRelationship: associative, keys: [port, protocol], elementType: {namedType: port}}}}
    - {name: set, type: {list: {elementRelationship: associative, elementType: {scalar: untyped}}}}
    - {name: atomic, type: {list: {elementRelationship: atomic, elementType: {namedType: item}}}}
    - {name: options, type: {map: {elementType: {scalar: untyped}}}}
    - {name: whole, type: {map: {elementRelationship: atomic, elementType: {scalar: untyped}}}}
    - {name: free, type: {namedType: free}}
    - {name: nested, type: {namedType: object}}
- name: item
  map:
    fields: [{name: name, type: {scalar: string}}, {name: value, type: {scalar: untyped}}, {name: empty, type: {map: {elementType: {scalar: untyped}}}}]
- name: port
  map:
    fields: [{name: port, type: {scalar: numeric}}, {name: protocol, type: {scalar: string}, default: TCP}, {name: value, type: {scalar: untyped}}]
- name: free
  scalar: untyped
  list: {elementRelationship: atomic, elementType: {namedType: free}}
  map: {elementRelationship: separable, elementType: {namedType: free}}
`

// FuzzUncovered compares with structured-merge-diff, the library by which the API server computes entries: the entry of an
// object covers it, and without one of its fields, it does not.
func FuzzUncovered_AgreesWithStructuredMergeDiff(f *testing.F) {
	for _, seed := range []string{
		`{"byName":[{"name":"a","value":1,"empty":{}},{"name":"b"}],"byKeys":[{"port":80},{"port":80,"protocol":"UDP","value":"x"}],"set":["a",1,true]}`,
		`{"atomic":[{"name":"a"}],"options":{"a":"b","c.d":1},"whole":{"a":"b"},"free":{"x":[1,{"y":2}],"z":{"q":{}}},"nested":{"set":[1.5]}}`,
		`{"set":["a"],"nested":{"nested":{"byName":[{"name":""}]}},"free":1,"options":{}}`,
	} {
		f.Add([]byte(seed), uint(3))
	}
	parser, err := typed.NewParser(fuzzSchema)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint) {
		v, err := canonical(decoded(data))
		object, ok := v.(tree)
		if err != nil || !ok {
			t.Skip("the input is no JSON object")
		}
		value, err := parser.Type("object").FromUnstructured(object)
		if err != nil {
			t.Skip("the reference implementation does not accept the object")
		}
		set, err := value.ToFieldSet()
		if err != nil {
			t.Skip("the reference implementation finds no field set")
		}
		if missing := cover(entryOf(t, set), object).missing; missing != nil {
			t.Fatalf("the entry of %v lacks %v", object, texts(missing))
		}

		var paths []fieldpath.Path
		set.Iterate(func(p fieldpath.Path) {
			if len(p) > 0 {
				paths = append(paths, p.Copy())
			}
		})
		if len(paths) == 0 {
			t.Skip("the object has no fields")
		}
		taken := paths[which%uint(len(paths))]
		rest := fieldpath.NewSet()
		for _, p := range paths {
			if !p.Equals(taken) && !within(p, taken) {
				rest.Insert(p)
			}
		}
		if missing := cover(entryOf(t, rest), object).missing; missing == nil && !ambiguous(rest, taken) {
			t.Fatalf("the entry of %v covers it without %s", object, taken)
		}
	})
}

func within(p, parent fieldpath.Path) bool {
	return len(p) > len(parent) && p[:len(parent)].Equals(parent)
}

// entryOf returns the decoded fieldsV1 of a set.
func entryOf(t *testing.T, set *fieldpath.Set) tree {
	t.Helper()
	text, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	return fieldsOfEntry(t, string(text))
}

// ambiguous reports whether an entry still has the parent of a taken field, and nothing within it: fieldsV1 has the same text
// for an atomic value. This concerns maps without a schema, and items of map lists, of which the API server never takes the
// keys without the item.
func ambiguous(rest *fieldpath.Set, taken fieldpath.Path) bool {
	parent := taken[:len(taken)-1]
	if len(parent) == 0 || !rest.Has(parent) {
		return false
	}
	alone := true
	rest.Iterate(func(p fieldpath.Path) { alone = alone && !within(p, parent) })
	return alone
}
