package leaderelection_test

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kopf-dev/kopf/sdk/internal/children"
)

// TestEncode_BuiltInKindsHaveWhatIsSet sets each field of each built-in kind, one at a time, and encodes the object. The tree
// has that field, the required fields around it, which a user has to set as well, and nothing else. The test is in this module
// since the SDK does not depend on the types of the API.
func TestEncode_BuiltInKindsHaveWhatIsSet(t *testing.T) {
	kinds, fields := 0, 0
	for kind, typ := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(typ).Interface().(metav1.Object); !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		kinds++
		for _, way := range leaves(typ, nil) {
			fields++
			object := reflect.New(typ)
			var set []string
			way.set(object.Elem(), "", &set)
			checkEncoded(t, kind, object.Interface(), set)
		}
	}
	if kinds < 80 || fields < 20_000 {
		t.Errorf("only %d fields of %d kinds were found", fields, kinds)
	}
	t.Logf("%d fields of %d kinds", fields, kinds)
}

func checkEncoded(t *testing.T, kind schema.GroupVersionKind, object any, set []string) {
	t.Helper()
	tree, err := children.Encode(object, kind)
	if slices.Contains(set, "metadata.generateName") {
		if err == nil {
			t.Errorf("%s: a generated name is accepted", kind)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", kind, err)
		return
	}
	var want []string
	for _, path := range set {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "metadata."), ".")
		name, _, _ = strings.Cut(name, "[")
		switch {
		case path == "status" || strings.HasPrefix(path, "status."), path == "kind", path == "apiVersion":
		case strings.HasPrefix(path, "metadata.") && slices.Contains(serverOwned, name):
		case kind.Kind == "Secret" && strings.HasPrefix(path, "stringData."):
			want = append(want, "data."+strings.TrimPrefix(path, "stringData."))
		default:
			want = append(want, path)
		}
	}
	delete(tree, "apiVersion")
	delete(tree, "kind")
	got := flatten(tree, "")
	slices.Sort(got)
	slices.Sort(want)
	if len(want) == 0 {
		return // nothing but a status
	}
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("%s with %v\n\thas %v\n\tnot %v", kind, set, got, want)
	}
}

var serverOwned = []string{
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
}

// flatten returns the paths of all leaves of a tree. An empty map is a leaf.
func flatten(v any, at string) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			all = append(all, flatten(item, join(at, key))...)
		}
		if len(v) > 0 || at == "" {
			return all
		}
	case []any:
		for i, item := range v {
			all = append(all, flatten(item, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return all
	}
	return []string{at}
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

// way leads to a field: through these fields of structs, and through pointers, first items of lists and a key of maps.
type way []int

// samples are values of types that have an encoding of their own.
var samples = map[reflect.Type]any{
	reflect.TypeFor[metav1.Time]():          metav1.Unix(1, 0),
	reflect.TypeFor[metav1.MicroTime]():     metav1.MicroTime(metav1.Unix(1, 0)),
	reflect.TypeFor[metav1.Duration]():      metav1.Duration{Duration: 1},
	reflect.TypeFor[resource.Quantity]():    resource.MustParse("1"),
	reflect.TypeFor[intstr.IntOrString]():   intstr.FromString("x"),
	reflect.TypeFor[runtime.RawExtension](): runtime.RawExtension{Raw: []byte(`"x"`)},
	reflect.TypeFor[metav1.FieldsV1]():      *metav1.NewFieldsV1(`"x"`),
	reflect.TypeFor[[]byte]():               []byte("x"),
}

// leaves returns the ways to all fields of a struct without fields of their own, and to all pointers to structs.
func leaves(t reflect.Type, around []reflect.Type) []way {
	if slices.Contains(around, t) {
		return nil // a schema within a schema
	}
	around = append(around[:len(around):len(around)], t)
	var all []way
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" || !f.IsExported() {
			continue
		}
		inner := structOf(f.Type)
		if inner == nil {
			if f.Type.Kind() != reflect.Interface {
				all = append(all, way{i})
			}
			continue
		}
		if f.Type.Kind() == reflect.Pointer {
			all = append(all, way{i})
		}
		for _, rest := range leaves(inner, around) {
			all = append(all, append(way{i}, rest...))
		}
	}
	return all
}

// structOf returns the struct within a type; nil if there is none with fields of interest.
func structOf(t reflect.Type) reflect.Type {
	for {
		if _, sampled := samples[t]; sampled {
			return nil
		}
		switch t.Kind() {
		case reflect.Struct:
			return t
		case reflect.Pointer, reflect.Slice, reflect.Map:
			t = t.Elem()
		default:
			return nil
		}
	}
}

// set sets the field and all required ones around it, and collects their paths.
func (w way) set(v reflect.Value, at string, paths *[]string) {
	if len(w) > 0 {
		w.setRequired(v, at, paths)
	} else if v.Kind() == reflect.Struct {
		before := len(*paths)
		w.setRequired(v, at, paths)
		if len(*paths) == before {
			*paths = append(*paths, at) // {}
		}
		return
	}
	f := v.Type().Field(w[0])
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if !(f.Anonymous && name == "") && !strings.Contains(options, "inline") {
		at = join(at, name)
	}
	fill(v.Field(w[0]), w[1:], at, paths)
}

// setRequired sets the numbers, texts and bools that are part of each object.
func (w way) setRequired(v reflect.Value, at string, paths *[]string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || strings.Contains(options, "omit") || len(w) > 0 && w[0] == i {
			if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && (len(w) == 0 || w[0] != i) {
				way(nil).setRequired(v.Field(i), at, paths)
			}
			continue
		}
		if isScalar(f.Type) {
			fill(v.Field(i), nil, join(at, name), paths)
		}
	}
}

func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return true
	}
	return false
}

// fill gives a value to a field, or to a field within it.
func fill(v reflect.Value, rest way, at string, paths *[]string) {
	if sample, ok := samples[v.Type()]; ok {
		v.Set(reflect.ValueOf(sample))
		*paths = append(*paths, at)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), rest, at, paths)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), rest, at+"[0]", paths)
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item, rest, at+".x", paths)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("x").Convert(v.Type().Key()), item)
	case reflect.Struct:
		rest.set(v, at, paths)
	case reflect.String:
		v.SetString("x")
		*paths = append(*paths, at)
	case reflect.Bool:
		v.SetBool(true)
		*paths = append(*paths, at)
	case reflect.Float64:
		v.SetFloat(0.5)
		*paths = append(*paths, at)
	default:
		v.SetInt(1)
		*paths = append(*paths, at)
	}
}

func TestEncode_TypedSecretHasEncodedTexts(t *testing.T) {
	for kind, typ := range scheme.Scheme.AllKnownTypes() {
		if kind != (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
			continue
		}
		secret := reflect.New(typ)
		secret.Elem().FieldByName("StringData").Set(reflect.ValueOf(map[string]string{"a": "x"}))
		tree, err := children.Encode(secret.Interface(), kind)
		if want := base64.StdEncoding.EncodeToString([]byte("x")); err != nil || tree["data"].(map[string]any)["a"] != want {
			t.Errorf("%v %v", tree, err)
		}
	}
}
