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

// entryPoint is the start of a package: a Register, a main, or neither.
type entryPoint struct {
	register   bool     // the package has a func Register(*kopf.Registry)
	main       bool     // the package has a func main()
	nearMisses []string // functions that look like an attempt at Register
}

// findEntryPoint parses the files of a package. Declarations that need type information, such as an alias of the
// registry's type, are accepted here and left to the compiler.
func findEntryPoint(p *goPackage, display func(path string) string) (entryPoint, error) {
	var e entryPoint
	files := token.NewFileSet()
	for _, name := range append(p.GoFiles[:len(p.GoFiles):len(p.GoFiles)], p.CgoFiles...) {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if file == nil {
			return entryPoint{}, &PackageError{Pattern: p.ImportPath, Reason: err.Error()}
		}
		// A syntax error may hide a Register after it; the compiler reports the error.
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
					return entryPoint{}, &SignatureError{File: display(at.Filename), Line: at.Line, Column: at.Column, Got: signature(fn)}
				}
				e.register = true
			case fn.Name.Name == "Register":
				e.nearMisses = append(e.nearMisses, fmt.Sprintf("a method Register at %s", where))
			case strings.EqualFold(fn.Name.Name, "Register"), takesRegistry(file, fn):
				e.nearMisses = append(e.nearMisses, fmt.Sprintf("func %s at %s", fn.Name.Name, where))
			}
		}
	}
	return e, nil
}

// mayRegister reports whether a function is, judged by its syntax, a func(*kopf.Registry).
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

// takesRegistry reports whether the only parameter of a function is a *kopf.Registry.
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

// imports returns the import path of the package that x names in the file, or "".
func imports(file *ast.File, x ast.Expr) string {
	name, ok := x.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has reported it
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

// signature returns the type of a function as source text, without its name.
func signature(fn *ast.FuncDecl) string {
	if fn.Type.TypeParams != nil {
		return "generic " + types.ExprString(fn.Type)
	}
	return types.ExprString(fn.Type)
}
