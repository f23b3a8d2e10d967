package manifests

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

type tree = map[string]any

func files(texts ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for i := 0; i < len(texts); i += 2 {
		all[texts[i]] = &fstest.MapFile{Data: []byte(texts[i+1])}
	}
	return all
}

func owner() tree {
	return tree{
		"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": tree{"name": "shop", "labels": tree{"app.kubernetes.io/name": "x"}},
		"spec": tree{"image": "nginx", "replicas": int64(3), "ratio": 0.5, "bytes": 1500000.5, "debug": true, "limits": tree{"cpu": "1"}, "args": []any{"-v", "-x"}, "none": nil},
	}
}

const header = "apiVersion: v1\nkind: ConfigMap\n"

// parse parses files without errors.
func parse(t *testing.T, files fstest.MapFS, patterns ...string) *Set {
	t.Helper()
	set, problems := Parse(files, patterns...)
	if problems != nil {
		t.Fatal(problems)
	}
	return set
}

func TestRender_ReplacesReferencesWithTypes(t *testing.T) {
	set := parse(t, files("a.yaml", header+`
metadata: {name: "${metadata.name}"}
data:
  whole: ${spec.replicas}
  map: ${spec.limits}
  list: ${spec.args}
  item: ${spec.args[1]}
  none: ${spec.none}
  label: ${metadata.labels[app.kubernetes.io/name]}
  bool: ${spec.debug}
  variable: ${vars.checksum}
  typed: ${vars.ports}
  text: ${spec.image}:${spec.replicas}-${spec.ratio}-${spec.debug}${spec.none}
  script: echo $${HOME} $HOME ${spec.image} $$5 $${spec.image}
  big: about ${spec.bytes}
  lines: |
    image=${spec.image}
    # ${spec.image}
`))
	shop := owner()
	got, err := set.Render(shop, tree{"checksum": "abc", "ports": []int{80, 443}})
	if err != nil {
		t.Fatal(err)
	}
	want := []tree{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "shop"}, "data": tree{
		"whole": int64(3), "map": tree{"cpu": "1"}, "list": []any{"-v", "-x"}, "item": "-x", "label": "x", "bool": true, "variable": "abc",
		"typed": []any{int64(80), int64(443)}, "text": "nginx:3-0.5-true", "script": "echo ${HOME} $HOME nginx $$5 ${spec.image}",
		"big": "about 1500000.5", "lines": "image=nginx\n# nginx\n",
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got[0]["data"].(tree)["map"].(tree)["cpu"] = "changed"
	if shop["spec"].(tree)["limits"].(tree)["cpu"] != "1" {
		t.Error("the object shares a map with its owner")
	}
	again, err := set.Render(owner(), tree{"checksum": "abc", "ports": []int{80, 443}})
	if diff := cmp.Diff(want, again); err != nil || diff != "" {
		t.Errorf("rendered again: %v\n%s", err, diff)
	}
}

func TestRender_NamesFileAndLineOfMissingValues(t *testing.T) {
	set := parse(t, files("a.yaml", header+"# ${spec.size}\ndata: {a: '${spec.size}', again: '${spec.size}'}\n---\n"+header+"data:\n  b: x${spec.limits}\n  c: ${vars.c}\n"))
	objects, err := set.Render(owner(), nil)
	if err == nil || objects != nil {
		t.Fatalf("rendered %v", objects)
	}
	want := []string{
		"a.yaml:4: ${spec.size}: the object has no such field; set a default in the definition, or use a variable",
		"a.yaml:9: ${spec.limits}: a map cannot be a part of a text: write the reference alone, without other text",
		"a.yaml:10: ${vars.c}: no such variable is passed to Render",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := set.Render(owner(), tree{"c": make(chan int)}); err == nil || !strings.Contains(err.Error(), "vars.c") {
		t.Errorf("a channel as a variable: %v", err)
	}
}

func TestParse_NamesFileAndLineOfAllErrors(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"syntax":            {header + "data:\n  a: b: c\n", "a.yaml:4: mapping values are not allowed in this context"},
		"second document":   {header + "---\n" + header + "data: [\n", "a.yaml:6: did not find expected node content"},
		"within braces":     {header + "data: {a: ${spec.a}, b: c}\n", "a.yaml:3: did not find expected ',' or '}'; within { } and [ ], write references in quotes"},
		"repeated keys":     {header + "kind: Secret\nkind: Pod\n", "a.yaml:3: key \"kind\" already set in map\na.yaml:4: key \"kind\" already set in map"},
		"no kind":           {"\n# first\napiVersion: v1\n", "a.yaml:3: the manifest has no kind"},
		"after a marker":    {header + "---\t# next\n\nkind: Pod\n", "a.yaml:5: the manifest has no apiVersion"},
		"within a marker":   {header + "--- {kind: Pod}\n", "a.yaml:3: the manifest has no apiVersion"},
		"after an end":      {header + "...\nkind: Pod\n", "a.yaml:4: the manifest has no apiVersion"},
		"kind by reference": {"apiVersion: v1\nkind: ${spec.kind}\n", "a.yaml:2: kind cannot be a reference"},
		"list":              {"- a\n", "a.yaml:1: a manifest is a map with apiVersion and kind, not a list"},
		"shell variable":    {header + "data:\n  script: |\n    set -e\n    echo ${HOME}\n", "a.yaml:6: ${HOME}: a reference is a path such as ${spec.image} or ${vars.image}; write $${HOME} for the text itself"},
		"one name":          {header + "data: {a: '${name}'}\n", "a.yaml:3: ${name}: a reference is a path"},
		"no end":            {header + "data: {a: '${spec.x'}\n", "a.yaml:3: ${spec.x: the reference has no end"},
		"malformed path":    {header + "data: {a: '${spec..x}'}\n", "a.yaml:3: ${spec..x}: "},
		"name of a field":   {header + "data: {'${spec.x}': a}\n", "a.yaml:3: ${spec.x}: a reference cannot be the name of a field"},
	} {
		t.Run(name, func(t *testing.T) {
			set, problems := Parse(files("a.yaml", tt.text, "b.yaml", "kind: X\n"))
			err := errors.Join(problems...)
			if err == nil || set != nil {
				t.Fatalf("parsed %v", set)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "b.yaml:1: the manifest has no apiVersion") {
				t.Errorf("%v\n\tlacks %s, or the error of the other file", err, tt.want)
			}
		})
	}
}

func TestParse_ReadsFilesAndDocumentsInOrder(t *testing.T) {
	all := files(
		"b.yaml", header+"metadata: {name: '3'}\n",
		"a.yaml", "# nothing\n---\n"+header+"metadata: {name: '1'}\n--- # next\r\n"+header+"metadata: {name: '2'}\n...\n---\n",
		"c.txt", header+"metadata: {name: '4'}\n",
		"folder/d.yaml", header+"metadata: {name: '5'}\n",
	)
	for name, tt := range map[string]struct{ patterns, want []string }{
		"all files":          {nil, []string{"1", "2", "3", "4", "5"}},
		"pattern":            {[]string{"*.yaml"}, []string{"1", "2", "3"}},
		"order of patterns":  {[]string{"folder/*", "b.yaml"}, []string{"5", "3"}},
		"overlapping":        {[]string{"b.yaml", "*.yaml"}, []string{"3", "1", "2"}},
		"pattern of folders": {[]string{"*/*.yaml"}, []string{"5"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := parse(t, all, tt.patterns...).Render(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range objects {
				names = append(names, o["metadata"].(tree)["name"].(string))
			}
			if diff := cmp.Diff(tt.want, names); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	_, problems := Parse(all, "none.yaml", "[", "*")
	want := "read manifests none.yaml: file does not exist\nread manifests [: syntax error in pattern\n" +
		"read manifests *: folder is a folder; name its files, as in folder/*.yaml"
	if got := errors.Join(problems...); got == nil || got.Error() != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	if _, problems := Parse(files()); len(problems) != 1 || problems[0].Error() != "read manifests: file does not exist" {
		t.Errorf("without files: %v", problems)
	}
	if _, problems := Parse(nil); len(problems) != 1 {
		t.Errorf("without a file system: %v", problems)
	}
}

func FuzzParse_RendersOrRefuses(f *testing.F) {
	f.Add(header+"data: {a: 'x${spec.image}y$${z}'}", "nginx")
	f.Add(header+"data:\n  a: |\n    ${vars.x}", "a: b\n${spec.image}")
	f.Fuzz(func(t *testing.T, text, value string) {
		set, problems := Parse(files("a.yaml", text))
		if problems != nil {
			return
		}
		shop := owner()
		shop["spec"].(tree)["image"] = value
		objects, err := set.Render(shop, tree{"x": value})
		if (err == nil) != (objects != nil) {
			t.Errorf("%v with %v", objects, err)
		}
		for i, o := range objects {
			if o["kind"] != set.manifests[i].tree["kind"] {
				t.Errorf("a value has changed the kind to %v", o["kind"])
			}
		}
	})
}
