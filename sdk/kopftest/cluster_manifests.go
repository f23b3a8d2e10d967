package kopftest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// manifest is one object of a file.
type manifest struct {
	source string // place of the manifest for errors, such as "obj.yaml, document 2"
	tree   map[string]any
}

var separator = regexp.MustCompile(`(?m)^---([ \t].*)?$`)

var errManifest = errors.New("not a manifest")

// parse reads the manifests of a text.
func parse(source, text string) ([]manifest, error) {
	var all []manifest
	for i, document := range separator.Split(text, -1) {
		m := manifest{source: fmt.Sprintf("%s, document %d", source, i+1)}
		if err := yaml.UnmarshalStrict([]byte(document), &m.tree); err != nil {
			return nil, fmt.Errorf("%s: %w", m.source, err)
		}
		if len(m.tree) == 0 {
			continue // the document only has comments
		}
		items, isList := m.tree["items"].([]any)
		if !isList {
			all = append(all, m)
			continue
		}
		for n, item := range items {
			tree, _ := item.(map[string]any)
			all = append(all, manifest{source: fmt.Sprintf("%s, item %d", m.source, n+1), tree: tree})
		}
	}
	for _, m := range all {
		for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
			if m.text(path...) == "" {
				return nil, fmt.Errorf("%s: %w: it has no %s", m.source, errManifest, strings.Join(path, "."))
			}
		}
	}
	return all, nil
}

// text returns the string at a path of the manifest; empty if there is no string.
func (m manifest) text(path ...string) string {
	var value any = m.tree
	for _, key := range path {
		inner, _ := value.(map[string]any)
		value = inner[key]
	}
	s, _ := value.(string)
	return s
}

func (m manifest) isDefinition() bool { return m.text("kind") == definitionKind }

// defines returns the API versions and the kind of a custom resource definition.
func (m manifest) defines() (apiVersions []string, kind string) {
	spec, _ := m.tree["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			name, _ := v["name"].(string)
			apiVersions = append(apiVersions, m.text("spec", "group")+"/"+name)
		}
	}
	return apiVersions, m.text("spec", "names", "kind")
}
