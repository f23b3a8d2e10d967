package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	Line   int // the first line of its document
	Object *unstructured.Unstructured
}

// Read parses the manifests of files and directories and returns them in the order in which
// they are applied. The error is a [PathError] if a path cannot be read; otherwise it joins a
// [SyntaxError] for each invalid manifest.
func Read(paths []string) ([]Manifest, error) {
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	var all []Manifest
	var errs []error
	for _, file := range files {
		body, err := readFile(file)
		if err != nil {
			return nil, err
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
	line int // its first line in the file that is not blank
	skip int // the number of lines of the file before body
}

// split splits a file at "---" lines, which may have a comment.
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

// yamlLine matches the line number in errors of the YAML library.
var yamlLine = regexp.MustCompile(`line (\d+): `)

// parserError matches the errors for which the YAML library counts lines from 0, unlike the
// errors of its scanner, some of which begin with the same words.
var parserError = regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or|<)`)

// locate returns the line of an error in the file, and its message without that.
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
		// The library takes more than \n for the end of a line, and counts the end of the file.
		line = min(line, d.skip+bytes.Count(bytes.TrimRight(d.body, "\n"), []byte("\n"))+1)
	}
	for _, noise := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n"} {
		message = strings.ReplaceAll(message, noise, "")
	}
	return line, strings.Join(strings.Fields(message), " ")
}

// objects validates a document and returns its objects: several if it is a list.
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
				return nil, bad(fmt.Sprintf("item %d of the list is not a mapping", n))
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
		return nil, bad(fmt.Sprintf("the metadata.name %v is not a string in YAML; put it in quotes", name))
	case o.GetName() == "" && o.GetGenerateName() != "":
		return nil, bad("the manifest has a metadata.generateName, which cannot be applied; give it a metadata.name")
	case o.GetName() == "":
		return nil, bad("the manifest has no metadata.name")
	}
	return []Manifest{{File: file, Line: line, Object: o}}, nil
}
