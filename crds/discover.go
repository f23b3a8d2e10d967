package crds

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// sdk is the import path of the package that handlers are registered with.
const sdk = "github.com/kopf-dev/kopf/sdk/kopf"

// requests are the types of package kopf whose type parameter is the type of the objects. (That of a FieldChange is the
// type of the field.)
var requests = []string{"Change", "Event", "DaemonRun", "TimerTick", "IndexRequest", "Admission", "Pass"}

// resource is a resource that handlers are registered for, and the type of their objects.
type resource struct {
	group, version, name string // the name is any that kubectl accepts
	pkg, typ             string // import path and name
	at                   string // file:line of a registration
}

func (r resource) String() string { return r.group + "/" + r.version + " " + r.name }

// isCustom reports whether a definition can be made: the resource is named, and its group is not one of Kubernetes.
func (r resource) isCustom() bool {
	return r.name != everything && strings.Contains(r.group, ".") && !strings.HasSuffix(r.group, ".k8s.io") && !strings.HasSuffix(r.group, ".kubernetes.io")
}

// everything is the name that selects all resources, as [kopf.Everything].
//
// [kopf.Everything]: https://pkg.go.dev/github.com/kopf-dev/kopf/sdk/kopf#Everything
const everything = "*"

// discover finds the custom resources of the packages that match the patterns, with the types of their objects.
func discover(ctx context.Context, dir string, patterns []string) ([]resource, error) {
	config := &packages.Config{
		Context: ctx, Dir: dir, Env: os.Environ(),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedExportFile,
	}
	loaded, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load the packages: %w", err)
	}
	var found []resource
	for _, pkg := range loaded {
		if len(pkg.Errors) > 0 {
			return nil, fmt.Errorf("load package %s: %w", pkg.PkgPath, pkg.Errors[0])
		}
		d := discoverer{pkg: pkg, values: map[types.Object]ast.Expr{}}
		for _, file := range pkg.Syntax {
			ast.Inspect(file, d.noteValue)
		}
		for _, file := range pkg.Syntax {
			ast.Inspect(file, d.noteCall)
		}
		if d.err != nil {
			return nil, d.err
		}
		found = append(found, d.found...)
	}
	return oneTypeEach(found)
}

// oneTypeEach returns each resource once. It returns an error if handlers use several types for one.
func oneTypeEach(found []resource) ([]resource, error) {
	slices.SortStableFunc(found, func(a, b resource) int { return strings.Compare(a.String(), b.String()) })
	var all []resource
	for _, r := range found {
		if len(all) == 0 || all[len(all)-1].String() != r.String() {
			all = append(all, r)
			continue
		}
		if last := all[len(all)-1]; last.pkg != r.pkg || last.typ != r.typ {
			return nil, fmt.Errorf("handlers of %s use several types: %s (%s) and %s (%s); use one, whose definition has all fields", r, last.typ, last.at, r.typ, r.at)
		}
	}
	return all, nil
}

// discoverer finds the registrations of a package.
type discoverer struct {
	pkg    *packages.Package
	values map[types.Object]ast.Expr // values of variables that are set once
	found  []resource
	err    error
}

// noteValue notes what variables are set to.
func (d *discoverer) noteValue(n ast.Node) bool {
	set := func(name ast.Expr, value ast.Expr) {
		id, ok := name.(*ast.Ident)
		if !ok {
			return
		}
		object := cmp.Or(d.pkg.TypesInfo.Defs[id], d.pkg.TypesInfo.Uses[id])
		if _, again := d.values[object]; again {
			value = nil
		}
		if object != nil {
			d.values[object] = value
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			for i := range n.Lhs {
				set(n.Lhs[i], n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		if len(n.Names) == len(n.Values) {
			for i := range n.Names {
				set(n.Names[i], n.Values[i])
			}
		}
	}
	return true
}

// noteCall notes the resource and the type of a registration.
func (d *discoverer) noteCall(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 3 {
		return true
	}
	signature, ok := d.pkg.TypesInfo.TypeOf(call.Fun).(*types.Signature)
	if !ok || signature.Params().Len() < 3 || !isKopf(signature.Params().At(0).Type(), "Registry") {
		return true
	}
	object := objectType(signature)
	if object == nil {
		return true
	}
	at := d.pkg.Fset.Position(call.Pos())
	r, ok := d.selected(call.Args[1])
	switch {
	case !ok:
		d.fail("%s: the resource of a handler is no call of kopf.Resource with constant names; write one, so that its definition can be made", at)
		return true
	case !r.isCustom():
		return true
	}
	r.pkg, r.typ, r.at = object.Pkg().Path(), object.Name(), fmt.Sprintf("%s:%d", at.Filename, at.Line)
	d.found = append(d.found, r)
	return true
}

func (d *discoverer) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// objectType returns the named struct that a handler's objects have, or nil.
func objectType(register *types.Signature) *types.TypeName {
	for i := range register.Params().Len() {
		handler, ok := register.Params().At(i).Type().Underlying().(*types.Signature)
		if !ok || handler.Params().Len() != 2 {
			continue
		}
		pointer, ok := handler.Params().At(1).Type().(*types.Pointer)
		if !ok {
			continue
		}
		request, ok := pointer.Elem().(*types.Named)
		if !ok || request.TypeArgs().Len() != 1 || !isKopf(pointer, requests...) {
			continue
		}
		object, ok := types.Unalias(request.TypeArgs().At(0)).(*types.Named)
		if !ok || object.Obj().Pkg() == nil || object.Obj().Pkg().Path() == sdk {
			continue
		}
		if _, isStruct := object.Underlying().(*types.Struct); isStruct {
			return object.Obj()
		}
	}
	return nil
}

// isKopf reports whether a type is a pointer to one of package kopf with one of the names.
func isKopf(t types.Type, names ...string) bool {
	pointer, ok := t.(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := pointer.Elem().(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == sdk && slices.Contains(names, named.Obj().Name())
}

// selected returns the resource that an expression selects.
func (d *discoverer) selected(e ast.Expr) (resource, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		value := d.values[d.pkg.TypesInfo.Uses[e]]
		if value == nil {
			return resource{}, false
		}
		return d.selected(value)
	case *ast.CallExpr:
		var name *ast.Ident
		switch f := e.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel
		case *ast.Ident:
			name = f
		default:
			return resource{}, false
		}
		f, ok := d.pkg.TypesInfo.Uses[name].(*types.Func)
		if !ok || f.Pkg() == nil || f.Pkg().Path() != sdk || f.Name() != "Resource" {
			return resource{}, false
		}
		var words []string
		for _, arg := range e.Args {
			value := d.pkg.TypesInfo.Types[arg].Value
			if value == nil || value.Kind() != constant.String {
				return resource{}, false
			}
			words = append(words, constant.StringVal(value))
		}
		return parseWords(words)
	}
	return resource{}, false
}

// parseWords returns the resource of the arguments of kopf.Resource. Without a version, it is "v1".
func parseWords(words []string) (resource, bool) {
	switch len(words) {
	case 3:
		return resource{group: words[0], version: words[1], name: words[2]}, true
	case 2:
		group, version, _ := strings.Cut(words[0], "/")
		return resource{group: group, version: cmp.Or(version, "v1"), name: words[1]}, true
	case 1:
		name, group, _ := strings.Cut(words[0], ".")
		return resource{group: group, version: "v1", name: name}, true
	}
	return resource{}, false
}
