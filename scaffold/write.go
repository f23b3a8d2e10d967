package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed all:templates
var templates embed.FS

// ExistsError is returned if files would be overwritten. Nothing has been written then.
type ExistsError struct {
	Dir   string
	Files []string // relative to Dir
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s has %s already; nothing was written: choose another folder, or move the files away", e.Dir, strings.Join(e.Files, ", "))
}

// Result is what [Write] has written.
type Result struct {
	Dir    string   // absolute
	Module string   // the path of the module, which may have existed before
	Kind   string   // the kind of the resource
	Files  []string // relative to Dir, in the order in which they are best read
	Kept   []string // files that existed and were not changed, relative to Dir
}

// file is one of the files of a new operator.
type file struct {
	path     string // relative to the folder of the operator
	template string
	optional bool // is kept if it exists
}

// data has the values of the templates.
type data struct {
	Options
	Name      string // the name of the folder
	Prefix    string // Registry.Prefix
	Singular  string
	Object    string // the name of the sample object
	GoVersion string

	APIVersion string // version of k8s.io/api, never empty
}

// Write writes a new operator. It never overwrites a file: it returns an [*ExistsError] instead,
// and has written nothing. Errors are also [*InvalidError] for options that cannot be used.
func Write(o Options) (*Result, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	handlers := "handlers/handlers"
	if o.WithChildren {
		handlers = "handlers/children"
	}
	files := []file{
		{"handlers/handlers.go", handlers + ".go.tmpl", false},
		{"handlers/handlers_test.go", handlers + "_test.go.tmpl", false},
		{"handlers/crd.yaml", "handlers/crd.yaml.tmpl", false},
		{"handlers/sample.yaml", "handlers/sample.yaml.tmpl", false},
		{"README.md", "README.md.tmpl", false},
		{"AGENTS.md", "AGENTS.md.tmpl", false},
		{"go.mod", "go.mod.tmpl", true},
		{".gitignore", "gitignore.tmpl", true},
	}
	if o.SDK != "" {
		files = append(files, file{"go.work", "go.work.tmpl", true})
	}
	name, err := moduleOf(o.Dir)
	if err != nil {
		return nil, err
	}
	if name != "" {
		o.Module = name
	}
	missing, kept, err := missingFiles(o.Dir, files)
	if err != nil {
		return nil, err
	}
	d := data{
		Options: o, Name: filepath.Base(o.Dir), Prefix: prefixOf(filepath.Base(o.Dir), o.Group), Singular: strings.ToLower(o.Kind), Object: "my-" + strings.ToLower(o.Kind),
		GoVersion: goVersion, APIVersion: apiVersion,
	}
	contents := make(map[string][]byte)
	for _, f := range missing {
		if contents[f.path], err = render(f, d); err != nil {
			return nil, err
		}
	}
	result := &Result{Dir: o.Dir, Module: o.Module, Kind: o.Kind, Kept: kept}
	for _, f := range missing {
		if err := create(filepath.Join(o.Dir, f.path), contents[f.path]); err != nil {
			return nil, errors.Join(err, remove(o.Dir, result.Files))
		}
		result.Files = append(result.Files, f.path)
	}
	return result, nil
}

// missingFiles returns the files that do not exist, and the paths of those that do and may. It
// returns an [*ExistsError] for those that must not.
func missingFiles(dir string, files []file) (missing []file, kept []string, err error) {
	exists := &ExistsError{Dir: dir}
	for _, f := range files {
		_, err := os.Lstat(filepath.Join(dir, f.path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, f)
		case err != nil:
			return nil, nil, fmt.Errorf("look for files of the operator: %w", err)
		case f.optional:
			kept = append(kept, f.path)
		default:
			exists.Files = append(exists.Files, f.path)
		}
	}
	if len(exists.Files) > 0 {
		return nil, nil, exists
	}
	return missing, kept, nil
}

// render fills a template in. Go code is formatted.
func render(f file, d data) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + f.template)
	if err != nil {
		return nil, fmt.Errorf("read the template of %s: %w", f.path, err)
	}
	t, err := template.New(f.path).Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("parse the template of %s: %w", f.path, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("fill in %s: %w", f.path, err)
	}
	if !strings.HasSuffix(f.path, ".go") {
		return b.Bytes(), nil
	}
	code, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", f.path, err)
	}
	return code, nil
}

// create writes a file that must not exist, and its folder.
func create(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("create the folder of the operator: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("write the operator: %w", err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the operator: %w", err), os.Remove(path))
	}
	return nil
}

// remove removes files that were written before a failure.
func remove(dir string, files []string) error {
	var errs []error
	for _, path := range slices.Backward(files) {
		errs = append(errs, os.Remove(filepath.Join(dir, path)))
	}
	return errors.Join(errs...)
}
