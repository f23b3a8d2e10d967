package crds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/yaml"
)

// MadeFrom is the annotation of generated definitions: the Go type, as IMPORT-PATH.NAME. Definitions without it
// were not generated.
const MadeFrom = "kopf.dev/made-from"

// NoTypesError reports that no handler has a type to make a definition of.
type NoTypesError struct{ Patterns []string }

func (e *NoTypesError) Error() string {
	return fmt.Sprintf("no handler in %s is for a custom resource with a Go type; register one such as kopf.OnCreate(r, kopf.Resource(\"example.com/v1\", \"widgets\"), create) whose objects are structs",
		strings.Join(e.Patterns, " "))
}

// Generate returns the definitions of the resources that handlers of the packages are for, sorted by name. Dir is the
// folder that the patterns are relative to. The error is a [*NoTypesError] if there are none.
func Generate(ctx context.Context, dir string, patterns []string) ([]*apiextensions.CustomResourceDefinition, error) {
	found, err := discover(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &NoTypesError{patterns}
	}
	g, err := newGenerator(ctx, dir, found)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(g.work) }() // it is temporary
	var all []*apiextensions.CustomResourceDefinition
	for _, r := range found {
		d, err := g.definition(r)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// generator makes definitions with the parser of controller-tools.
type generator struct {
	work     string // folder of rewritten files
	packages map[string]*loader.Package
	parser   *crd.Parser
}

func newGenerator(ctx context.Context, dir string, found []resource) (g *generator, err error) {
	work, err := os.MkdirTemp("", "kopf-crd-")
	if err != nil {
		return nil, fmt.Errorf("make the definitions: %w", err)
	}
	g = &generator{work: work, packages: map[string]*loader.Package{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(work))
		}
	}()
	var paths []string
	for _, r := range found {
		if !slices.Contains(paths, r.pkg) {
			paths = append(paths, r.pkg)
		}
	}
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Context: ctx, Dir: dir, Env: os.Environ()}, paths...)
	if err != nil {
		return nil, fmt.Errorf("load the types: %w", err)
	}
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, fmt.Errorf("register the markers: %w", err)
	}
	g.parser = &crd.Parser{
		Collector: &markers.Collector{Registry: registry}, Checker: &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}},
		AllowDangerousTypes: true, IgnoreUnexportedFields: true,
	}
	crd.AddKnownTypes(g.parser)
	for i, root := range roots {
		if err := g.rewrite(root, i); err != nil {
			return nil, err
		}
		g.packages[root.PkgPath] = root
		g.parser.NeedPackage(root)
	}
	return g, nil
}

// rewrite makes a package read files in which all structs have names.
func (g *generator) rewrite(pkg *loader.Package, number int) error {
	for i, path := range pkg.CompiledGoFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the types: %w", err)
		}
		if text, err = hoist(path, text); err != nil {
			return err
		}
		copied := filepath.Join(g.work, fmt.Sprintf("%d-%d-%s", number, i, filepath.Base(path)))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return fmt.Errorf("name the structs: %w", err)
		}
		pkg.CompiledGoFiles[i] = copied
	}
	return nil
}

// definition makes the definition of a resource.
func (g *generator) definition(r resource) (*apiextensions.CustomResourceDefinition, error) {
	pkg := g.packages[r.pkg]
	info := g.parser.LookupType(pkg, r.typ)
	if info == nil {
		return nil, fmt.Errorf("make the definition of %s: package %s has no type %s", r, r.pkg, r.typ)
	}
	kind, err := kindOf(r, info.RawDecl.Doc.Text())
	if err != nil {
		return nil, err
	}
	gv := schema.GroupVersion{Group: r.group, Version: r.version}
	g.parser.GroupVersions = map[*loader.Package]schema.GroupVersion{pkg: gv}
	g.parser.NeedCRDFor(schema.GroupKind{Group: r.group, Kind: r.typ}, nil)
	for _, e := range pkg.Errors {
		if e.Kind != packages.TypeError { // it checks types only, without what functions import
			return nil, fmt.Errorf("make the definition of %s: %w", r, e)
		}
	}
	d, ok := g.parser.CustomResourceDefinitions[schema.GroupKind{Group: r.group, Kind: r.typ}]
	if !ok || len(d.Spec.Versions) == 0 {
		return nil, fmt.Errorf("make the definition of %s: type %s has none", r, r.typ)
	}
	complete(&d, r, kind)
	d.Annotations = map[string]string{MadeFrom: r.pkg + "." + r.typ}
	return &d, nil
}

var kindMarker = regexp.MustCompile(`(?m)^\+kopf:kind=(\S+)$`)

// kindOf returns the kind of a resource: that of the marker of its type, or else the name of the type.
func kindOf(r resource, doc string) (string, error) {
	if m := kindMarker.FindStringSubmatch(doc); m != nil {
		return m[1], nil
	}
	plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.typ})
	for _, name := range []string{plural.Resource, singular.Resource} {
		if strings.EqualFold(r.name, name) {
			return r.typ, nil
		}
	}
	return "", fmt.Errorf("make the definition of %s: its kind may not be %s, the name of the type (%s); write the line //+kopf:kind=KIND into the comment of the type", r, r.typ, r.at)
}

// isConditions reports whether a schema describes a list of metav1.Condition.
func isConditions(s *apiextensions.JSONSchemaProps) bool {
	if s.Type != "array" || s.Items == nil || s.Items.Schema == nil {
		return false
	}
	for _, name := range []string{"type", "status", "reason", "message", "lastTransitionTime"} {
		if !slices.Contains(s.Items.Schema.Required, name) {
			return false
		}
	}
	return true
}

// complete adapts a definition to how operators use it.
func complete(d *apiextensions.CustomResourceDefinition, r resource, kind string) {
	names := &d.Spec.Names
	singular := strings.ToLower(kind)
	names.Kind, names.ListKind = kind, kind+"List"
	if guessed, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind}); !strings.EqualFold(r.name, kind) {
		names.Plural = r.name
	} else {
		names.Plural = guessed.Resource
	}
	names.Singular = singular
	d.Name = names.Plural + "." + d.Spec.Group
	for i := range d.Spec.Versions {
		version := &d.Spec.Versions[i]
		root := version.Schema.OpenAPIV3Schema
		// These are not in the schema of an object, but the API server's own.
		for _, own := range []string{"metadata", "apiVersion", "kind"} {
			delete(root.Properties, own)
			root.Required = slices.DeleteFunc(root.Required, func(name string) bool { return name == own })
		}
		status, ok := root.Properties["status"]
		if !ok {
			continue
		}
		// New objects have no status, handlers set parts of it, and their results are stored there.
		root.Required = slices.DeleteFunc(root.Required, func(name string) bool { return name == "status" })
		status.Required = nil
		if list, ok := status.Properties["conditions"]; ok && isConditions(&list) && list.XListType == nil {
			// Each program that writes conditions has its own ones then.
			list.XListType, list.XListMapKeys = new("map"), []string{"type"}
			status.Properties["conditions"] = list
		}
		if status.Type == "object" && status.XPreserveUnknownFields == nil {
			yes := true
			status.XPreserveUnknownFields = &yes
		}
		root.Properties["status"] = status
		if version.Subresources == nil {
			version.Subresources = &apiextensions.CustomResourceSubresources{}
		}
		if version.Subresources.Status == nil {
			version.Subresources.Status = &apiextensions.CustomResourceSubresourceStatus{}
		}
	}
}

// YAML returns a definition as a manifest.
func YAML(d *apiextensions.CustomResourceDefinition) ([]byte, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		return nil, fmt.Errorf("write the definition %s: %w", d.Name, err)
	}
	delete(tree, "status")
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("write the definition %s: %w", d.Name, err)
	}
	return text, nil
}
