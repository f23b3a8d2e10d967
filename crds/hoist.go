package crds

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// hoist gives the structs inside of structs names, because controller-tools reads named ones only: "Spec struct {…}" in the
// type Claim becomes "Spec Claim_Spec", and the type Claim_Spec is added. Comments stay where they are, since they
// contain the markers. Positions in the result are those in the file.
func hoist(path string, text []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the types: %w", err)
	}
	h := hoister{path: path, text: text, files: files}
	var out bytes.Buffer
	fmt.Fprintf(&out, "//line %s:1\n", path)
	last := 0
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			out.Write(text[last:h.offset(spec.Type.Pos())])
			out.WriteString(h.named(spec.Type, spec.Name.Name))
			last = h.offset(spec.Type.End())
		}
	}
	out.Write(text[last:])
	for _, t := range h.types {
		out.WriteString(t)
	}
	return out.Bytes(), nil
}

// hoister rewrites the types of a file.
type hoister struct {
	path  string
	text  []byte
	files *token.FileSet
	types []string // declarations of hoisted structs
}

// named returns the type of a declaration with its inner structs replaced by their names.
func (h *hoister) named(t ast.Expr, name string) string {
	if s, ok := t.(*ast.StructType); ok {
		return h.fields(s, name)
	}
	return h.inner(t, name)
}

// inner returns a type with its structs replaced by their names, which begin with the given one. It has as many lines.
func (h *hoister) inner(t ast.Expr, name string) string {
	switch t := t.(type) {
	case *ast.StructType:
		line := h.files.Position(t.Pos()).Line
		declaration := "type " + name + " " + h.fields(t, name)
		h.types = append(h.types, fmt.Sprintf("\n\n//line %s:%d\n\n%s\n", h.path, line-1, declaration))
		return name + strings.Repeat("\n", h.files.Position(t.End()).Line-line)
	case *ast.StarExpr:
		return "*" + h.inner(t.X, name)
	case *ast.ArrayType:
		return h.source(t.Pos(), t.Elt.Pos()) + h.inner(t.Elt, name)
	case *ast.MapType:
		return h.source(t.Pos(), t.Value.Pos()) + h.inner(t.Value, name)
	}
	return h.source(t.Pos(), t.End())
}

// fields returns a struct with the inner structs of its fields replaced.
func (h *hoister) fields(t *ast.StructType, name string) string {
	var out strings.Builder
	last := t.Pos()
	for _, f := range t.Fields.List {
		if len(f.Names) == 0 { // embedded
			continue
		}
		out.WriteString(h.source(last, f.Type.Pos()))
		last = f.Type.End()
		if f.Tag != nil {
			last = f.Tag.End()
		}
		inner := h.inner(f.Type, name+"_"+f.Names[0].Name)
		bare := strings.TrimRight(inner, "\n")
		out.WriteString(bare)
		if f.Tag != nil { // it follows on the same line
			out.WriteString(" " + f.Tag.Value)
		}
		out.WriteString(inner[len(bare):])
	}
	out.WriteString(h.source(last, t.End()))
	return out.String()
}

func (h *hoister) offset(p token.Pos) int { return h.files.PositionFor(p, false).Offset }

func (h *hoister) source(from, to token.Pos) string {
	return string(h.text[h.offset(from):h.offset(to)])
}
