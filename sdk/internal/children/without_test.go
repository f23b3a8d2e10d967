package children

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

const shop = `
metadata:
  name: shop
  labels: {app: shop, app.kubernetes.io/name: shop}
  annotations: {"a[0]": x}
  finalizers: [one, two]
spec:
  replicas: 3
  strategy: {type: Recreate}
  ports:
  - {port: 80, name: web}
  - {port: 80, protocol: UDP, name: dns}
  numbers: [1, 2.5, true]
  template:
    spec:
      containers:
      - {name: web, image: i, resources: {limits: {cpu: 1}}}
      - {name: 'a"],b', image: i}
      args: [-v, -x, -y]
`

func TestWithout_RemovesWhatConflictsName(t *testing.T) {
	// Each case is a list of paths, and the tree as YAML with the lines that the paths remove or change.
	for _, c := range []struct {
		paths       []string
		before, got string // the changed part of the tree
	}{
		{nil, "", ""},
		{[]string{".spec.replicas"}, "  replicas: 3\n", ""},
		{[]string{".spec.strategy.type"}, "  strategy: {type: Recreate}\n", ""},
		{[]string{".spec.strategy"}, "  strategy: {type: Recreate}\n", ""},
		{[]string{".metadata.labels.app.kubernetes.io/name"}, ", app.kubernetes.io/name: shop", ""},
		{[]string{".metadata.labels.app"}, "app: shop, ", ""},
		{[]string{".metadata.labels.app", ".metadata.labels.app.kubernetes.io/name"}, "  labels: {app: shop, app.kubernetes.io/name: shop}\n", ""},
		{[]string{".metadata.annotations.a[0]"}, "  annotations: {\"a[0]\": x}\n", ""},
		{[]string{`.metadata.finalizers[="one"]`}, "one, ", ""},
		{[]string{`.metadata.finalizers[="one"]`, `.metadata.finalizers[="two"]`}, "  finalizers: [one, two]\n", ""},
		{[]string{`.spec.numbers[=2.5]`, `.spec.numbers[=true]`}, ", 2.5, true", ""},
		{[]string{`.spec.template.spec.containers[name="web"].image`}, "name: web, image: i", "name: web"},
		{[]string{`.spec.template.spec.containers[name="web"].image`, `.spec.template.spec.containers[name="web"].resources.limits.cpu`}, "{name: web, image: i, resources: {limits: {cpu: 1}}}", "{name: web}"},
		{[]string{`.spec.template.spec.containers[name="web"]`}, "      - {name: web, image: i, resources: {limits: {cpu: 1}}}\n", ""},
		{[]string{`.spec.template.spec.containers[name="web"].name`}, "", ""},
		{[]string{`.spec.template.spec.containers[name="a\"],b"].image`}, `'a"],b', image: i`, `'a"],b'`},
		{[]string{`.spec.ports[port=80,protocol="TCP"].name`}, "port: 80, name: web", "port: 80"},
		{[]string{`.spec.ports[port=80,protocol="UDP"].name`}, ", name: dns", ""},
		{[]string{`.spec.ports[port=80,protocol="UDP"]`, `.spec.ports[port=80,protocol="TCP"]`}, "  ports:\n  - {port: 80, name: web}\n  - {port: 80, protocol: UDP, name: dns}\n", ""},
		{[]string{`.spec.template.spec.args[0]`, `.spec.template.spec.args[2]`}, "-v, -x, -y", "-x"},
		{[]string{`.spec.template.spec.args[3]`, `.spec.unknown[a=null].b`, `.spec.replicas.x`, `.spec[0]`, `.spec.ports[port=81]`}, "", ""},
	} {
		tree := fromYAML(t, shop)
		if !strings.Contains(shop, c.before) {
			t.Fatalf("%v: the tree lacks %s", c.paths, c.before)
		}
		got, err := Without(tree, c.paths)
		if err != nil {
			t.Errorf("%v: %v", c.paths, err)
		}
		want := shop
		if c.before != "" {
			want = strings.Replace(shop, c.before, c.got, 1)
		}
		if diff := cmp.Diff(fromYAML(t, want), got); diff != "" {
			t.Errorf("%v (-want +got)\n%s", c.paths, diff)
		}
		if diff := cmp.Diff(fromYAML(t, shop), tree); diff != "" {
			t.Errorf("%v: the argument has changed\n%s", c.paths, diff)
		}
	}
}

func TestWithout_EverythingLeavesAnEmptyTree(t *testing.T) {
	got, err := Without(tree{"spec": tree{"a": int64(1)}}, []string{".spec.a"})
	if err != nil || got == nil || len(got) != 0 {
		t.Error(got, err)
	}
}

func TestWithout_UnclearPathsAreErrors(t *testing.T) {
	object := tree{"a": tree{"b": int64(1)}, "a.b": int64(2), "list": []any{tree{"port": int64(80), "name": "a"}, tree{"port": int64(80), "name": "b"}}}
	for _, path := range []string{
		"", "spec", ".", ".spec.", "..spec", ".spec[", ".spec[]", ".spec[0", ".spec[-1]", ".spec[a", ".spec[a=", ".spec[a=]", ".spec[a=1", ".spec[a=1,]", ".spec[a=1,=2]",
		`.spec[a="x]`, `.spec["a"]`, ".spec[=]", ".spec[=1,2]", ".spec[=x]", ".spec[=[1]]", ".spec[={}]", ".spec[0]x", ".spec[=NaN]",
		".a.b", `.list[port=80,protocol="TCP"].name`,
	} {
		if got, err := Without(object, []string{path}); err == nil || got != nil {
			t.Errorf("%q: %v, %v", path, got, err)
		}
	}
}

// FuzzWithout removes each field of an object, under the path that the API server writes: all other fields remain.
func FuzzWithout_AgreesWithStructuredMergeDiff(f *testing.F) {
	for _, seed := range []string{
		`{"byName":[{"name":"a\"]","value":1},{"name":"b"}],"byKeys":[{"port":80},{"port":80,"protocol":"UDP","value":"x"}],"set":["a",1,true,null]}`,
		`{"atomic":[{"name":"a"}],"options":{"a":"b","c.d":1,"e[0]":2},"free":{"x":[1,{"y":2}],"z":{"q":{}}},"nested":{"set":[1.5,-1e30]}}`,
		`{"options":{"a":"b","a.b":"c"},"free":{"a":{"b":1},"a.b":2}}`,
	} {
		f.Add([]byte(seed))
	}
	parser, err := typed.NewParser(fuzzSchema)
	if err != nil {
		f.Fatal(err)
	}
	fieldsOf := func(tree any) (*fieldpath.Set, error) {
		value, err := parser.Type("object").FromUnstructured(tree)
		if err != nil {
			return nil, err
		}
		return value.ToFieldSet()
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := canonical(decoded(data))
		whole, ok := v.(tree)
		if err != nil || !ok {
			t.Skip("the input is no JSON object")
		}
		set, err := fieldsOf(whole)
		if err != nil {
			t.Skip("the reference implementation does not accept the object")
		}
		set.Leaves().Iterate(func(p fieldpath.Path) {
			taken := p.Copy()
			got, err := Without(whole, []string{taken.String()})
			if err != nil {
				if strings.ContainsAny(strings.Join(names(whole), ""), ".[]") {
					return // the path is unclear indeed
				}
				t.Fatalf("%v without %s: %v", whole, taken, err)
			}
			rest, err := fieldsOf(got)
			if err != nil {
				t.Fatalf("%v without %s: %v is no object: %v", whole, taken, got, err)
			}
			if rest.Has(taken) && !identifies(taken) {
				t.Fatalf("%v without %s still has it: %v", whole, taken, got)
			}
			set.Leaves().Iterate(func(other fieldpath.Path) {
				if !other.Equals(taken) && !rest.Has(other) {
					t.Fatalf("%v without %s lacks %s: %v", whole, taken, other, got)
				}
			})
		})
	})
}

// identifies reports whether a path is the key of an item.
func identifies(p fieldpath.Path) bool {
	if len(p) < 2 || p[len(p)-1].FieldName == nil || p[len(p)-2].Key == nil {
		return false
	}
	for _, key := range *p[len(p)-2].Key {
		if key.Name == *p[len(p)-1].FieldName {
			return true
		}
	}
	return false
}

// names are the names of all fields.
func names(v any) (all []string) {
	switch v := v.(type) {
	case tree:
		for _, key := range object.SortedKeys(v) {
			all = append(append(all, key), names(v[key])...)
		}
	case []any:
		for _, item := range v {
			all = append(all, names(item)...)
		}
	}
	return all
}
