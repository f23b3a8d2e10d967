// Package manifests reads YAML files with references to fields of an object, such as ${spec.image}, and replaces the references
// by the values of the fields.
package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Set has the manifests of some files, in the order of the files and of their documents. It is safe for concurrent use.
type Set struct{ manifests []manifest }

// manifest is a document of a file.
type manifest struct {
	file  string
	line  int // first line of the document in its file, from 1
	text  string
	tree  map[string]any
	parts map[string]template // keys are the texts of the tree that have references
}

// Parse reads the files that match the patterns; without patterns, all files. The error has all that is wrong, each with
// its file and line.
func Parse(files fs.FS, patterns ...string) (*Set, error) {
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	var paths []string
	for _, pattern := range patterns {
		found, err := fs.Glob(files, pattern)
		if err == nil && len(found) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, fmt.Errorf("read manifests %s: %w", pattern, err)
		}
		paths = append(paths, found...)
	}
	var set Set
	var problems []error
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			problems = append(problems, fmt.Errorf("read manifest: %w", err))
			continue
		}
		for _, m := range split(path, string(text)) {
			if err := m.parse(); err != nil {
				problems = append(problems, err)
				continue
			}
			if m.tree != nil {
				set.manifests = append(set.manifests, m)
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return &set, nil
}

// split returns the documents of a file.
func split(file, text string) []manifest {
	var all []manifest
	m := manifest{file: file, line: 1}
	at := 0
	for line := range strings.Lines(text) {
		at++
		if bare := strings.TrimRight(line, " \t\r\n"); bare == "---" || strings.HasPrefix(line, "--- #") {
			all = append(all, m)
			m = manifest{file: file, line: at + 1}
			continue
		}
		m.text += line
	}
	return append(all, m)
}

// errorAt returns an error for a line of the document, from 1.
func (m *manifest) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", m.file, m.line+line-1, fmt.Errorf(format, args...))
}

// lineOf returns the first line of the document with a text, outside of comments; 1 if there is none.
func (m *manifest) lineOf(text string) int {
	at := 0
	for line := range strings.Lines(m.text) {
		at++
		if !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.Contains(line, text) {
			return at
		}
	}
	return 1
}

// yamlLine finds the line in an error of the YAML library.
var yamlLine = regexp.MustCompile(`^(?:unmarshal errors:\s+)?line (\d+): `)

func (m *manifest) parse() error {
	data, err := yaml.YAMLToJSONStrict([]byte(m.text))
	if err != nil {
		return m.syntaxError(err)
	}
	v, err := object.DecodeJSON(data)
	if err != nil {
		return m.errorAt(1, "%w", err)
	}
	if v == nil {
		return nil // nothing but comments
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return m.errorAt(1, "a manifest is a map with apiVersion and kind, not %T", v)
	}
	for _, key := range []string{"apiVersion", "kind"} {
		switch s, _ := tree[key].(string); {
		case s == "":
			return m.errorAt(m.lineOf(key+":"), "the manifest has no %s", key)
		case strings.Contains(s, "${"):
			return m.errorAt(m.lineOf(key+":"), "%s cannot be a reference: the operator watches the kinds of its manifests", key)
		}
	}
	m.tree, m.parts = tree, map[string]template{}
	return errors.Join(m.compile(tree)...)
}

func (m *manifest) syntaxError(err error) error {
	line, problem := 1, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	if found := yamlLine.FindStringSubmatch(problem); found != nil {
		line, _ = strconv.Atoi(found[1]) // digits
		problem = problem[len(found[0]):]
	}
	lines := slices.Collect(strings.Lines(m.text))
	for at := line; at <= min(line+1, len(lines)); at++ { // the library is one line too early for some errors
		if strings.Contains(lines[at-1], "${") {
			return m.errorAt(at, "%s; within { } and [ ], write references in quotes", problem)
		}
	}
	return m.errorAt(line, "%s", problem)
}

// compile parses all references within a value.
func (m *manifest) compile(v any) []error {
	var problems []error
	switch v := v.(type) {
	case map[string]any:
		for _, key := range object.SortedKeys(v) {
			if strings.Contains(key, "${") {
				problems = append(problems, m.errorAt(m.lineOf(key), "%s: a reference cannot be the name of a field", key))
			}
			problems = append(problems, m.compile(v[key])...)
		}
	case []any:
		for _, item := range v {
			problems = append(problems, m.compile(item)...)
		}
	case string:
		if !strings.Contains(v, "${") {
			return nil
		}
		parts, reference, err := parseTemplate(v)
		if err != nil {
			return []error{m.errorAt(m.lineOf(reference), "%w", err)}
		}
		m.parts[v] = parts
	}
	return problems
}
