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

// Parse reads the files that match the patterns, in the order of the patterns; without patterns, it reads all files, also in
// folders. It returns a set or all errors, each with its file and line.
func Parse(files fs.FS, patterns ...string) (*Set, []error) {
	if files == nil {
		return nil, []error{errors.New("read manifests: the file system is nil")}
	}
	paths, problems := find(files, patterns)
	var set Set
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			problems = append(problems, fmt.Errorf("read manifests: %w", err))
			continue
		}
		for _, m := range split(path, string(text)) {
			problems = append(problems, m.parse()...)
			if m.tree != nil {
				set.manifests = append(set.manifests, m)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return &set, nil
}

// find returns the paths of files, each once.
func find(files fs.FS, patterns []string) (paths []string, problems []error) {
	if len(patterns) == 0 {
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		if err == nil && len(paths) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, []error{fmt.Errorf("read manifests: %w", err)}
		}
		return paths, nil
	}
	for _, pattern := range patterns {
		found, err := fs.Glob(files, pattern)
		if err == nil && len(found) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("read manifests %s: %w", pattern, err))
		}
		for _, path := range found {
			if info, err := fs.Stat(files, path); err == nil && info.IsDir() {
				problems = append(problems, fmt.Errorf("read manifests %s: %s is a folder; name its files, as in %s/*.yaml", pattern, path, path))
			} else if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths, problems
}

// split returns the documents of a file. A document has the line of its marker, which may have content: "--- # comment".
func split(file, text string) []manifest {
	var all []manifest
	m := manifest{file: file, line: 1}
	at := 0
	for line := range strings.Lines(text) {
		at++
		for _, marker := range []string{"---", "..."} {
			if rest, ok := strings.CutPrefix(line, marker); ok && (strings.TrimSpace(rest) == "" || rest[0] == ' ' || rest[0] == '\t') {
				all = append(all, m)
				m, line = manifest{file: file, line: at}, strings.TrimLeft(rest, " \t")
			}
		}
		m.text += line
	}
	return append(all, m)
}

// errorAt returns an error for a line of the document, from 1.
func (m *manifest) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", m.file, m.line+line-1, fmt.Errorf(format, args...))
}

// lineOf returns the first line of the document with a text, outside of comments; the first line with content if there is none.
func (m *manifest) lineOf(text string) int {
	at, content := 0, 0
	for line := range strings.Lines(m.text) {
		at++
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if strings.Contains(line, text) {
			return at
		}
		if content == 0 {
			content = at
		}
	}
	return max(content, 1)
}

// yamlLine finds the line in an error of the YAML library.
var yamlLine = regexp.MustCompile(`^line (\d+): `)

// parse parses the document, and returns all errors in it. The tree stays nil if the document has only comments.
func (m *manifest) parse() []error {
	data, err := yaml.YAMLToJSONStrict([]byte(m.text))
	if err != nil {
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
		var problems []error
		for problem := range strings.Lines(strings.TrimPrefix(text, "unmarshal errors:\n")) {
			problems = append(problems, m.syntaxError(strings.TrimSpace(problem)))
		}
		return problems
	}
	v, err := object.DecodeJSON(data)
	if err != nil {
		return []error{m.errorAt(1, "%w", err)}
	}
	if v == nil {
		return nil
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return []error{m.errorAt(m.lineOf(""), "a manifest is a map with apiVersion and kind, not a %s", kindOf(v))}
	}
	for _, key := range []string{"apiVersion", "kind"} {
		switch s, _ := tree[key].(string); {
		case s == "":
			return []error{m.errorAt(m.lineOf(key+":"), "the manifest has no %s", key)}
		case strings.Contains(s, "${"):
			return []error{m.errorAt(m.lineOf(key+":"), "%s cannot be a reference: the operator watches the kinds of its manifests", key)}
		}
	}
	m.tree, m.parts = tree, map[string]template{}
	return m.compile(tree)
}

// syntaxError returns an error of the YAML library with the line in the file.
func (m *manifest) syntaxError(problem string) error {
	line := 1
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
