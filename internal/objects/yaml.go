package objects

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// text returns a tree as YAML.
func text(tree map[string]any) (string, error) {
	out, err := yaml.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("write the object as YAML: %w", err)
	}
	return string(out), nil
}

// lines returns a tree as lines of YAML.
func lines(tree map[string]any) ([]string, error) {
	s, err := text(tree)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n"), nil
}

// parse reads the YAML of one object. Keys must be unique. Numbers stay as they are written: large ones would change as
// floating point.
func parse(s string) (map[string]any, error) {
	var tree map[string]any
	asWritten := func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	}
	if err := yaml.UnmarshalStrict([]byte(s), &tree, asWritten); err != nil {
		return nil, fmt.Errorf("this is not the YAML of an object: %s", strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
	}
	if len(tree) == 0 {
		return nil, fmt.Errorf("the text is empty")
	}
	return tree, nil
}
