package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

type tree = map[string]any

const header = "apiVersion: v1\nkind: ConfigMap\n"

// file returns a file system with a single file, a.yaml.
func file(text string) fs.FS { return fstest.MapFS{"a.yaml": {Data: []byte(text)}} }

// set returns the set of manifests without errors.
func set(t testing.TB, files fs.FS, patterns ...string) *manifest.Set {
	t.Helper()
	var r kopf.Registry
	s := manifest.New(&r, files, patterns...)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

// shop returns the body of a request.
func shop(t testing.TB) *kopf.Object {
	t.Helper()
	body, err := kopf.ObjectOf(tree{
		"apiVersion": "example.com/v1", "kind": "WebApp",
		"metadata": tree{"name": "shop", "labels": tree{"app.kubernetes.io/name": "x"}},
		"spec": tree{
			"image": "nginx", "replicas": 3, "ratio": 0.5, "bytes": 1500000.5, "debug": true, "empty": "",
			"limits": tree{"cpu": "1"}, "args": []any{"-v", "-x"}, "none": nil,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func trees(t testing.TB, objects []metav1.Object) []tree {
	t.Helper()
	var all []tree
	for _, o := range objects {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("rendered a %T", o)
		}
		all = append(all, u.Object)
	}
	return all
}

func TestRender_ReplacesReferences(t *testing.T) {
	for name, tt := range map[string]struct {
		value string // YAML of the field data.x
		want  any    // nil if the field is left out
	}{
		"number":             {"${spec.replicas}", int64(3)},
		"fraction":           {"${spec.ratio}", 0.5},
		"boolean":            {"${spec.debug}", true},
		"list":               {"${spec.args}", []any{"-v", "-x"}},
		"map":                {"${spec.limits}", tree{"cpu": "1"}},
		"item":               {"${spec.args[1]}", "-x"},
		"name with dots":     {"${metadata.labels[app.kubernetes.io/name]}", "x"},
		"empty text":         {"${spec.empty}", ""},
		"null":               {"${spec.none}", nil},
		"null in the file":   {"null", nil},
		"number in a text":   {"x${spec.replicas}", "x3"},
		"fraction in a text": {"${spec.bytes}B", "1500000.5B"},
		"null in a text":     {"x${spec.none}", "x"},
		"several":            {"${spec.image}:${spec.replicas}-${spec.debug}", "nginx:3-true"},
		"shell variable":     {"$${HOME}/$HOME", "${HOME}/$HOME"},
		"within a list":      {"['${spec.replicas}', b]", []any{int64(3), "b"}},
		"variable":           {"${vars.number}", int64(7)},
		"field of a struct":  {"${vars.config.level}", "info"},
		"quotes and newline": {"${vars.text}", "a: \"b\"\n- c: ${spec.image}"},
		"number as text":     {"'7'", "7"},
		"whole object":       {"${apiVersion} ${kind}", "example.com/v1 WebApp"},
	} {
		t.Run(name, func(t *testing.T) {
			vars := manifest.Vars{
				"number": int32(7), "text": "a: \"b\"\n- c: ${spec.image}",
				"config": struct {
					Level string `json:"level"`
				}{"info"},
			}
			got, err := set(t, file(header+"data:\n  x: "+tt.value+"\n")).Render(shop(t), vars)
			if err != nil {
				t.Fatal(err)
			}
			data := tree{}
			if tt.want != nil {
				data["x"] = tt.want
			}
			if diff := cmp.Diff([]tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}, trees(t, got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRender_ObjectsAreIndependent(t *testing.T) {
	s, body := set(t, file(header+"data: {limits: '${spec.limits}', list: '${vars.list}', own: {a: b}}\n")), shop(t)
	list := []any{"a"}
	render := func() tree {
		objects, err := s.Render(body, manifest.Vars{"list": list})
		if err != nil {
			t.Fatal(err)
		}
		return trees(t, objects)[0]["data"].(tree)
	}
	first := render()
	first["limits"].(tree)["cpu"], first["list"].([]any)[0], first["own"].(tree)["a"] = "changed", "changed", "changed"
	if diff := cmp.Diff(tree{"limits": tree{"cpu": "1"}, "list": []any{"a"}, "own": tree{"a": "b"}}, render()); diff != "" {
		t.Errorf("a change of a rendered object is in the next one (-want +got)\n%s", diff)
	}
	if list[0] != "a" || body.Get("spec.limits.cpu") != "1" {
		t.Error("a change of a rendered object is in the variable or in the owner")
	}
}

func TestRender_ErrorIsPermanentAndNamesFileAndLine(t *testing.T) {
	s := set(t, fstest.MapFS{
		"a.yaml": {Data: []byte(header + "data: {a: '${spec.size}'}\n---\n" + header + "data:\n  b: ${vars.b}\n")},
		"b.yaml": {Data: []byte(header + "data: {c: 'x${spec.limits}'}\n")},
	})
	for name, tt := range map[string]struct {
		owner *kopf.Object
		vars  manifest.Vars
		want  []string
	}{
		"missing": {shop(t), nil, []string{
			"a.yaml:3: ${spec.size}: the object has no such field; set a default in the definition, or use a variable",
			"a.yaml:8: ${vars.b}: no such variable is passed to Render",
			"b.yaml:3: ${spec.limits}: a map cannot be a part of a text: write the reference alone, without other text",
		}},
		"no owner": {nil, manifest.Vars{"b": 1}, []string{
			"a.yaml:3: ${spec.size}: the object has no such field; set a default in the definition, or use a variable",
			"b.yaml:3: ${spec.limits}: the object has no such field; set a default in the definition, or use a variable",
		}},
		"channel": {shop(t), manifest.Vars{"b": make(chan int)}, []string{
			"render manifests: vars.b: chan int cannot be expressed as JSON: json: unsupported type: chan int",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := s.Render(tt.owner, tt.vars)
			if err == nil || objects != nil {
				t.Fatalf("rendered %v", objects)
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if permanent := (kopf.PermanentError{}); !errors.As(err, &permanent) {
				t.Errorf("%T is not permanent", err)
			}
		})
	}
}

func TestNew_ReportsErrorsWithOtherRegistrationErrors(t *testing.T) {
	files := fstest.MapFS{
		"a.yaml": {Data: []byte("kind: ConfigMap\n---\n" + header + "data: {a: '${HOME}', b: '${spec..x}'}\n")},
		"b.yaml": {Data: []byte(header + "data:\n  a: b: c\n")},
		"c.yaml": {Data: []byte(header)},
	}
	var r kopf.Registry
	_, _, line, _ := runtime.Caller(0)
	kopf.OnCreate(&r, kopf.Resource("example.com/v1", "webapps"), func(context.Context, *kopf.Change[kopf.Object]) error { return nil })
	broken := manifest.New(&r, files, "a.yaml", "b.yaml")
	healthy := manifest.New(&r, files, "c.yaml")
	absent := manifest.New(&r, files, "d.yaml")

	want := []string{
		fmt.Sprintf("manifest/manifest_test.go:%d: OnCreate: the handler is a function literal", line+1),
		fmt.Sprintf("manifest/manifest_test.go:%d: manifest.New: a.yaml:1: the manifest has no apiVersion", line+2),
		fmt.Sprintf("manifest/manifest_test.go:%d: manifest.New: a.yaml:5: ${HOME}: a reference is a path", line+2),
		fmt.Sprintf("manifest/manifest_test.go:%d: manifest.New: a.yaml:5: ${spec..x}: ", line+2),
		fmt.Sprintf("manifest/manifest_test.go:%d: manifest.New: b.yaml:4: mapping values are not allowed", line+2),
		fmt.Sprintf("manifest/manifest_test.go:%d: manifest.New: read manifests d.yaml: file does not exist", line+4),
	}
	err := r.Err()
	if err == nil {
		t.Fatal("no error is reported")
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("got %d errors:\n%v", len(got), err)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause of an error is lost")
	}

	operator := kopf.Operator{Registry: &r}
	if err := operator.Run(t.Context()); !errors.Is(err, kopf.ErrRegistration) || !strings.Contains(err.Error(), want[1]) {
		t.Errorf("the operator's error is %v", err)
	}
	for _, s := range []*manifest.Set{broken, absent} {
		objects, err := s.Render(shop(t), nil)
		if permanent := (kopf.PermanentError{}); objects != nil || !errors.Is(err, kopf.ErrRegistration) || !errors.As(err, &permanent) {
			t.Errorf("a set with errors renders %v, %v", objects, err)
		}
	}
	if objects, err := healthy.Render(shop(t), nil); err != nil || len(objects) != 1 {
		t.Errorf("a set without errors renders %v, %v", objects, err)
	}
}

func TestNew_DoesNotPanic(t *testing.T) {
	var r kopf.Registry
	for name, s := range map[string]*manifest.Set{
		"no registry":    manifest.New(nil, file(header)),
		"no file system": manifest.New(&r, nil),
		"no files":       manifest.New(&r, fstest.MapFS{}),
		"bad pattern":    manifest.New(&r, file(header), "["),
		"zero set":       {},
		"nil set":        nil,
	} {
		if objects, err := s.Render(shop(t), nil); err == nil || objects != nil {
			t.Errorf("%s: rendered %v", name, objects)
		}
	}
	if err := r.Err(); err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("got the errors %v", err)
	}
}

func TestSet_IsSafeForConcurrentUse(t *testing.T) {
	base := set(t, file(header+"data: {a: '${spec.limits}', b: '${vars.n}-${spec.image}'}\n"))
	more := set(t, fstest.MapFS{"x/b.yaml": {Data: []byte(header + "---\n" + header)}}, "x/*.yaml")
	body, shared := shop(t), []any{"x"}
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			for range 50 {
				objects, err := base.Render(body, manifest.Vars{"n": n, "shared": shared})
				if err != nil || len(objects) != 1 {
					t.Errorf("rendered %v, %v", objects, err)
					return
				}
				objects[0].SetName("mine")
				got := trees(t, objects)[0]["data"].(tree)
				if want := (tree{"a": tree{"cpu": "1"}, "b": fmt.Sprintf("%d-nginx", n)}); !cmp.Equal(got, want) {
					t.Errorf("rendered %v, want %v", got, want)
				}
				got["a"].(tree)["cpu"] = n
				if others, err := more.Render(nil, nil); err != nil || len(others) != 2 {
					t.Errorf("rendered %v, %v", others, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestNames_AreStable(t *testing.T) {
	if got := manifest.NameOf("shop", "web"); got != "shop-web" {
		t.Errorf("got %s", got)
	}
	if got := manifest.NameOf("shop", "v1.2"); !strings.HasPrefix(got, "shop-v1-2-") {
		t.Errorf("got %s", got)
	}
	if manifest.Checksum(map[string]any{"a": 1, "b": 2}) != manifest.Checksum(struct {
		B int `json:"b"`
		A int `json:"a"`
	}{2, 1}) {
		t.Error("the order of keys counts")
	}
	if got := manifest.Checksum("a"); len(got) != 16 || got == manifest.Checksum("b") {
		t.Errorf("got %s", got)
	}
}
