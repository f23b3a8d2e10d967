package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Manifest is one object of a file.
type Manifest struct {
	File   string
	Line   int // where its document starts
	Object *unstructured.Unstructured
}

// Read parses the manifests of files and directories, in the order that they are to be applied in.
// All mistakes are reported together, as [SyntaxError].
func Read(paths []string) ([]Manifest, error) {
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	var all []Manifest
	var errs []error
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		manifests, err := parse(file, body)
		all, errs = append(all, manifests...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return sorted(all), nil
}

// parse reads one file.
func parse(file string, body []byte) ([]Manifest, error) {
	var all []Manifest
	var errs []error
	for _, d := range split(body) {
		tree, mistake := d.decode(filepath.Ext(file) == ".json")
		if mistake != nil {
			mistake.File = file
			errs = append(errs, mistake)
			continue
		}
		if len(tree) == 0 {
			continue // nothing but comments
		}
		manifests, err := objects(tree, file, d.line)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, manifests...)
	}
	return all, errors.Join(errs...)
}

// document is a part of a file.
type document struct {
	body []byte
	line int // of its first line that says something, in the file
	skip int // lines of the file before body
}

// split cuts a file at the lines that are "---", possibly with a comment behind.
func split(body []byte) []document {
	var all []document
	var current document
	end := func() {
		if text := bytes.TrimSpace(current.body); len(text) > 0 {
			blank := bytes.Count(current.body[:bytes.Index(current.body, text[:1])], []byte("\n"))
			current.line = current.skip + blank + 1
			all = append(all, current)
		}
	}
	n := 0
	for line := range bytes.Lines(body) {
		n++
		if separator.Match(line) {
			end()
			current = document{skip: n}
			continue
		}
		current.body = append(current.body, line...)
	}
	end()
	return all
}

var separator = regexp.MustCompile(`^---(\s+#.*)?\s*$`)

func (d document) decode(isJSON bool) (map[string]any, *SyntaxError) {
	var tree any
	var err error
	if isJSON {
		err = json.Unmarshal(d.body, &tree)
	} else {
		err = yaml.UnmarshalStrict(d.body, &tree)
	}
	if err != nil {
		line, message := d.locate(err)
		return nil, &SyntaxError{Line: line, Message: message}
	}
	switch tree := tree.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return tree, nil
	default:
		return nil, &SyntaxError{Line: d.line, Message: "a manifest must be a mapping with apiVersion and kind"}
	}
}

// yamlLine is how the YAML library says where.
var yamlLine = regexp.MustCompile(`line (\d+): `)

// parserError tells the errors for which the YAML library counts lines from 0 (unlike
// those of its scanner, some of which begin with the same words).
var parserError = regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or|<)`)

// locate finds the line in the file, and the words that remain without it.
func (d document) locate(err error) (line int, message string) {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := d.body[:min(int(s.Offset), len(d.body))]
		return d.skip + bytes.Count(before, []byte("\n")) + 1, s.Error()
	}
	message = err.Error()
	line = d.line
	if m := yamlLine.FindStringSubmatchIndex(message); m != nil {
		if n, err := strconv.Atoi(message[m[2]:m[3]]); err == nil {
			line = d.skip + n
		}
		message = message[m[1]:]
		if parserError.MatchString(message) {
			line++
		}
	}
	for _, noise := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n"} {
		message = strings.ReplaceAll(message, noise, "")
	}
	return line, strings.Join(strings.Fields(message), " ")
}

// objects checks a document, and takes lists apart.
func objects(tree map[string]any, file string, line int) ([]Manifest, error) {
	o := &unstructured.Unstructured{Object: tree}
	bad := func(message string) error { return &SyntaxError{File: file, Line: line, Message: message} }
	switch {
	case o.GetAPIVersion() == "":
		return nil, bad("the manifest has no apiVersion")
	case o.GetKind() == "":
		return nil, bad("the manifest has no kind")
	}
	if o.IsList() {
		items, _, err := unstructured.NestedSlice(tree, "items")
		if err != nil {
			return nil, bad(err.Error())
		}
		var all []Manifest
		for n, item := range items {
			m, ok := item.(map[string]any)
			if !ok {
				return nil, bad(fmt.Sprintf("item %d of the list is no mapping", n))
			}
			manifests, err := objects(m, file, line)
			if err != nil {
				return nil, err
			}
			all = append(all, manifests...)
		}
		return all, nil
	}
	name, named, _ := unstructured.NestedFieldNoCopy(tree, "metadata", "name")
	switch _, isText := name.(string); {
	case named && !isText:
		return nil, bad(fmt.Sprintf("the metadata.name is %v, which YAML does not take for a text; put it in quotes", name))
	case o.GetName() == "" && o.GetGenerateName() != "":
		return nil, bad("the manifest has a metadata.generateName, which cannot be applied; give it a metadata.name")
	case o.GetName() == "":
		return nil, bad("the manifest has no metadata.name")
	}
	return []Manifest{{File: file, Line: line, Object: o}}, nil
}
