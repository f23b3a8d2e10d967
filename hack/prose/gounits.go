package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// goUnits returns the comments of a Go file and, unless it is a test, its messages.
func goUnits(file string, text []byte) ([]unit, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(tree) {
		return nil, nil
	}
	r := &goReader{set: set, file: file, owners: map[*ast.CommentGroup]owner{}}
	if tree.Doc != nil {
		r.owners[tree.Doc] = owner{exportedComment, "package " + tree.Name.Name}
	}
	for _, decl := range tree.Decls {
		r.declare(decl)
	}
	for _, group := range tree.Comments {
		r.comment(group)
	}
	if !strings.HasSuffix(file, "_test.go") {
		ast.Inspect(tree, r.message)
	}
	return r.units, nil
}

// owner is the declaration that a comment documents.
type owner struct {
	kind kind
	name string
}

type goReader struct {
	set    *token.FileSet
	file   string
	owners map[*ast.CommentGroup]owner
	seen   map[ast.Node]bool // literals that a message contains already
	units  []unit
}

func (r *goReader) declare(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil && len(d.Recv.List) == 1 {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		r.own(d.Doc, docKind(d.Name.Name), name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				r.own(d.Doc, docKind(s.Name.Name), s.Name.Name)
				r.own(s.Doc, docKind(s.Name.Name), s.Name.Name)
				r.own(s.Comment, fieldComment, s.Name.Name)
			case *ast.ValueSpec:
				name := s.Names[0].Name
				r.own(d.Doc, docKind(name), name)
				r.own(s.Doc, docKind(name), name)
				r.own(s.Comment, fieldComment, name)
			}
		}
	}
	var types []string // the names of the types around a field
	ast.Inspect(decl, func(n ast.Node) bool {
		switch t := n.(type) {
		case *ast.TypeSpec:
			types = []string{t.Name.Name}
		case *ast.StructType:
			r.fields(t.Fields, types)
		case *ast.InterfaceType:
			r.fields(t.Methods, types)
		}
		return true
	})
}

func (r *goReader) fields(list *ast.FieldList, types []string) {
	for _, field := range list.List {
		name := "(embedded)"
		if len(field.Names) > 0 {
			name = field.Names[0].Name
		}
		name = strings.Join(append(types[:len(types):len(types)], name), ".")
		r.own(field.Doc, fieldComment, name)
		r.own(field.Comment, fieldComment, name)
	}
}

// own records the first declaration of a comment group.
func (r *goReader) own(group *ast.CommentGroup, k kind, name string) {
	if _, known := r.owners[group]; group != nil && !known {
		r.owners[group] = owner{k, name}
	}
}

func docKind(name string) kind {
	if ast.IsExported(name) {
		return exportedComment
	}
	return internalComment
}

func receiver(expr ast.Expr) string {
	switch t := expr.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// directive matches comments that tools read.
var directive = regexp.MustCompile(`^(?://(?:[a-z]+:|export |line |extern |nolint)|// ?\+build|// (?:Unordered output|Output):)`)

func (r *goReader) comment(group *ast.CommentGroup) {
	var lines []string
	for _, c := range group.List {
		if directive.MatchString(c.Text) {
			lines = append(lines, "")
			continue
		}
		if text, ok := strings.CutPrefix(c.Text, "//"); ok {
			lines = append(lines, codeLine(text))
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
		lines = append(lines, strings.Split(text, "\n")...)
	}
	o, known := r.owners[group]
	if !known {
		o = owner{kind: bodyComment}
	}
	r.add(o, group.Pos(), strings.Join(lines, "\n"))
}

// codeLine returns the text of a comment's line, or nothing for a line of code.
func codeLine(text string) string {
	if strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "  ") {
		return ""
	}
	return strings.TrimPrefix(text, " ")
}

func (r *goReader) add(o owner, pos token.Pos, text string) {
	trimmed := strings.TrimLeft(text, "\n ")
	if trimmed == "" {
		return
	}
	skipped := strings.Count(text[:len(text)-len(trimmed)], "\n")
	r.units = append(r.units, unit{
		kind: o.kind, file: r.file, line: r.set.Position(pos).Line + skipped, name: o.name, text: trimmed,
	})
}

// message adds a string that a person reads. Strings of less than three words are names rather than sentences.
func (r *goReader) message(n ast.Node) bool {
	switch t := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		return t.Tag == nil
	case *ast.CallExpr:
		k := callKind(t)
		for _, arg := range t.Args {
			if k != otherString {
				r.literal(arg, k)
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := t.Key.(*ast.Ident); ok && (key.Name == "Short" || key.Name == "Long") {
			r.literal(t.Value, helpText)
		}
	case *ast.BinaryExpr:
		r.literal(t, otherString)
	case *ast.BasicLit:
		r.literal(t, otherString)
	}
	return true
}

func (r *goReader) literal(expr ast.Expr, k kind) {
	if r.seen == nil {
		r.seen = map[ast.Node]bool{}
	}
	if r.seen[expr] {
		return
	}
	text, parts := fold(expr)
	if len(parts) == 0 {
		return
	}
	for _, part := range parts {
		r.seen[part] = true
	}
	if k == otherString && strings.Contains(text, "\n") {
		return // a template, a program or a manifest
	}
	if len(strings.Fields(text)) >= 3 {
		r.add(owner{kind: k}, expr.Pos(), text)
	}
}

// fold returns the text of a literal or of a sum of literals, and all nodes of it. There are no nodes if the
// expression is another one.
func fold(expr ast.Expr) (string, []ast.Node) {
	switch t := expr.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(t.Value); t.Kind == token.STRING && err == nil {
			return text, []ast.Node{t}
		}
	case *ast.BinaryExpr:
		left, leftNodes := fold(t.X)
		right, rightNodes := fold(t.Y)
		if t.Op == token.ADD && len(leftNodes) > 0 && len(rightNodes) > 0 {
			return left + right, append(append(leftNodes, rightNodes...), t)
		}
	}
	return "", nil
}

var (
	errorCall = regexp.MustCompile(`^(?:errors\.New|.*(?:Errorf|Permanentf?|Temporaryf?))$`)
	logCall   = regexp.MustCompile(`(?i)log\w*(?:\(.*\))?\.(?:debug|info|warn|error)(?:f|context)?$`)
	flagCall  = regexp.MustCompile(`(?i)flags\w*(?:\(\))?\.\w*(?:var|string|bool|int|duration)\w*$`)
)

// callKind returns the kind of the strings that a call gets.
func callKind(call *ast.CallExpr) kind {
	name := callee(call.Fun)
	switch {
	case errorCall.MatchString(name):
		return errorString
	case logCall.MatchString(name):
		return logMessage
	case flagCall.MatchString(name):
		return helpText
	}
	return otherString
}

// callee returns the source of a called name, such as "c.Logger.Info".
func callee(expr ast.Expr) string {
	switch t := expr.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return callee(t.X) + "." + t.Sel.Name
	case *ast.CallExpr:
		return callee(t.Fun) + "()"
	}
	return ""
}
