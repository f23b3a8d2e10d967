package runner

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"
)

// entry is how a package's handlers can be reached.
type entry struct {
	register bool // it has a proper Register
	main     bool // it has a func main()
	found    []string
}

// findEntry looks into the files of a package. What it cannot decide without types (an
// alias of the registry's type, for example) it leaves to the compiler.
func findEntry(p *listed, display func(path string) string) (entry, error) {
	var e entry
	files := token.NewFileSet()
	for _, name := range append(p.GoFiles[:len(p.GoFiles):len(p.GoFiles)], p.CgoFiles...) {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if file == nil {
			return entry{}, &PackageError{Pattern: p.ImportPath, Reason: err.Error()}
		}
		// A syntax error may hide what comes after it: that is the compiler's to report.
		e.register = e.register || err != nil
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := files.Position(fn.Pos())
			where := fmt.Sprintf("%s:%d", display(at.Filename), at.Line)
			switch {
			case fn.Recv == nil && fn.Name.Name == "main" && p.Name == "main":
				e.main = true
			case fn.Recv == nil && fn.Name.Name == "Register":
				if !mayRegister(file, fn) {
					return entry{}, &SignatureError{File: display(at.Filename), Line: at.Line, Column: at.Column, Got: signature(fn)}
				}
				e.register = true
			case fn.Name.Name == "Register":
				e.found = append(e.found, fmt.Sprintf("a method Register at %s", where))
			case strings.EqualFold(fn.Name.Name, "Register"), takesRegistry(file, fn):
				e.found = append(e.found, fmt.Sprintf("func %s at %s", fn.Name.Name, where))
			}
		}
	}
	return e, nil
}

// mayRegister tells that a function is, as far as syntax tells, a func(*kopf.Registry).
func mayRegister(file *ast.File, fn *ast.FuncDecl) bool {
	t := fn.Type
	if t.TypeParams != nil || t.Results.NumFields() != 0 || t.Params.NumFields() != 1 {
		return false
	}
	pointer, ok := t.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	if !ok {
		return true // *Registry of a dot import, or an alias
	}
	return selector.Sel.Name == "Registry" && imports(file, selector.X) == sdkPackage
}

// takesRegistry tells that the only parameter of a function is a *kopf.Registry.
func takesRegistry(file *ast.File, fn *ast.FuncDecl) bool {
	if fn.Recv != nil || fn.Type.Params.NumFields() != 1 {
		return false
	}
	pointer, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Registry" && imports(file, selector.X) == sdkPackage
}

// imports returns the path of the package that the expression names in the file.
func imports(file *ast.File, x ast.Expr) string {
	name, ok := x.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has complained already
		}
		local := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == name.Name {
			return path
		}
	}
	return ""
}

// signature writes the type of a function without its name.
func signature(fn *ast.FuncDecl) string {
	if fn.Type.TypeParams != nil {
		return "generic " + types.ExprString(fn.Type)
	}
	return types.ExprString(fn.Type)
}
