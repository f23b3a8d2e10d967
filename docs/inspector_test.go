package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var update = flag.Bool("update", false, "write the generated parts of the documentation")

const (
	beginReference = "<!-- begin of the reference -->\n"
	endReference   = "<!-- end of the reference -->\n"
)

// TestInspector_ReferenceIsThatOfPackage holds the reference of the protocol equal to its types.
func TestInspector_ReferenceIsThatOfPackage(t *testing.T) {
	page := read(t, "inspector.md")
	before, rest, found := strings.Cut(page, beginReference)
	_, after, ended := strings.Cut(rest, endReference)
	if !found || !ended {
		t.Fatal("inspector.md has no place for the reference")
	}
	want := before + beginReference + referenceOf(t) + endReference + after
	if page == want {
		return
	}
	if !*update {
		t.Fatal("the reference in inspector.md differs from the types of package inspect: run make golden")
	}
	if err := os.WriteFile("inspector.md", []byte(want), 0o644); err != nil { //nolint:gosec // it is documentation
		t.Fatal(err)
	}
}

// TestInspector_MessageIsExplained holds that the text about the stream names each part of a message.
func TestInspector_MessageIsExplained(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "inspector.md"), "## The stream\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for field := range reflect.TypeFor[inspect.Message]().Fields() {
		if name, _ := jsonName(field); name != "snapshot" && !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the text about the stream does not name %q", name)
		}
	}
}

// source has the parts of package inspect's source that the reference uses.
type source struct {
	types  map[string]string            // comments
	fields map[string]map[string]string // comments, by type and field
	values map[string][][2]string       // constants of the types: value and comment
	names  map[string]string            // values of the constants, by their names
}

// referenceOf returns the tables of all types that requests and responses have.
func referenceOf(t *testing.T) string {
	t.Helper()
	src := readSource(t)
	var out strings.Builder
	var named []string
	done := map[string]bool{}
	next := []reflect.Type{
		reflect.TypeFor[inspect.Snapshot](), reflect.TypeFor[inspect.Message](), reflect.TypeFor[inspect.IndexPage](),
		reflect.TypeFor[inspect.ObjectContent](), reflect.TypeFor[inspect.ObjectEvents](), reflect.TypeFor[inspect.ChildList](), reflect.TypeFor[inspect.Requests](), reflect.TypeFor[inspect.Intent](), reflect.TypeFor[inspect.Reply](),
	}
	for len(next) > 0 {
		typ := next[0]
		next = next[1:]
		if done[typ.Name()] {
			continue
		}
		done[typ.Name()] = true
		comment := src.types[typ.Name()]
		if comment == "" {
			t.Errorf("type %s has no comment", typ.Name())
		}
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n| field | type | always | meaning |\n| --- | --- | --- | --- |\n", typ.Name(), capitalized(src.inWords(comment)))
		for _, f := range flatten(typ) {
			name, always := jsonName(f.StructField)
			word, inner := wordOf(f.Type)
			switch {
			case inner == nil:
			case inner.Kind() == reflect.Struct:
				next = append(next, inner)
			case !slices.Contains(named, inner.Name()):
				named = append(named, inner.Name())
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", name, word, always, src.inWords(src.fields[f.owner][f.Name]))
		}
	}
	for _, name := range named {
		if len(src.values[name]) == 0 {
			t.Errorf("type %s has no values", name)
		}
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n| value | meaning |\n| --- | --- |\n", name, capitalized(src.inWords(src.types[name])))
		for _, v := range src.values[name] {
			fmt.Fprintf(&out, "| `%s` | %s |\n", v[0], src.inWords(v[1]))
		}
	}
	return out.String() + "\n"
}

// ownedField is a field, and the type that declares it.
type ownedField struct {
	reflect.StructField
	owner string
}

// flatten returns the fields of a struct. Fields of an embedded struct take its place.
func flatten(typ reflect.Type) []ownedField {
	var all []ownedField
	for f := range typ.Fields() {
		if f.Anonymous {
			all = append(all, flatten(f.Type)...)
		} else {
			all = append(all, ownedField{f, typ.Name()})
		}
	}
	return all
}

// jsonName returns the name of a field in JSON, and whether it is always there: "yes" or "".
func jsonName(f reflect.StructField) (name, always string) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if strings.HasPrefix(options, "omit") {
		return name, ""
	}
	return name, "yes"
}

// wordOf returns how a type is called in the reference, and the type of package inspect that it refers to.
func wordOf(typ reflect.Type) (word string, inner reflect.Type) {
	switch {
	case typ.Kind() == reflect.Pointer:
		return wordOf(typ.Elem())
	case typ.Kind() == reflect.Slice:
		word, inner = wordOf(typ.Elem())
		return "list of " + word, inner
	case typ.Name() == "Time":
		return "time", nil
	case typ == reflect.TypeFor[inspect.Duration]():
		return "duration", nil
	case typ.PkgPath() != "":
		return "[" + typ.Name() + "](#" + strings.ToLower(typ.Name()) + ")", typ
	}
	switch typ.Kind() {
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Interface:
		return "any", nil
	case reflect.Map:
		return "object", nil
	}
	return "number", nil
}

// readSource reads the comments and the constants of package inspect.
func readSource(t *testing.T) source {
	t.Helper()
	src := source{map[string]string{}, map[string]map[string]string{}, map[string][][2]string{}, map[string]string{}}
	files, err := filepath.Glob("../sdk/inspect/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if general, ok := decl.(*ast.GenDecl); ok {
				src.add(general)
			}
		}
	}
	return src
}

func (s source) add(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			name := spec.Name.Name
			s.types[name] = plain(name, decl.Doc, spec.Doc)
			if fields, ok := spec.Type.(*ast.StructType); ok {
				s.fields[name] = map[string]string{}
				for _, f := range fields.Fields.List {
					for _, id := range f.Names {
						s.fields[name][id.Name] = strings.TrimSuffix(plain(id.Name, f.Doc, f.Comment), ".")
					}
				}
			}
		case *ast.ValueSpec:
			typ, ok := spec.Type.(*ast.Ident)
			if !ok || len(spec.Values) != 1 {
				continue
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				if err == nil {
					s.names[spec.Names[0].Name] = value
					s.values[typ.Name] = append(s.values[typ.Name], [2]string{value, plain(spec.Names[0].Name, spec.Comment)})
				}
			}
		}
	}
}

// inWords returns a comment in the words of the protocol rather than of Go.
func (s source) inWords(comment string) string {
	return goWord.ReplaceAllStringFunc(comment, func(word string) string {
		if value, ok := s.names[word]; ok {
			return "`" + value + "`"
		}
		switch word {
		case "nil":
			return "absent"
		case "MaxReviews":
			return strconv.Itoa(inspect.MaxReviews)
		case "MaxChildren":
			return strconv.Itoa(inspect.MaxChildren)
		case "MaxIndexPage":
			return strconv.Itoa(inspect.MaxIndexPage)
		case "RetryFormer":
			return "`" + inspect.RetryFormer + "`"
		}
		return word
	})
}

func capitalized(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

var (
	goWord    = regexp.MustCompile(`\b[A-Za-z]+\b`)
	docLink   = regexp.MustCompile(`\[\*?([A-Za-z.]+)\](\.[A-Za-z]+)?`)
	sentences = regexp.MustCompile(`\s+`)
)

// plain returns comments as one line of Markdown, without the name that a comment of Go begins with.
func plain(name string, comments ...*ast.CommentGroup) string {
	var parts []string
	for _, c := range comments {
		if c != nil {
			parts = append(parts, c.Text())
		}
	}
	text := strings.TrimSpace(sentences.ReplaceAllString(strings.Join(parts, " "), " "))
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok {
			text = rest
		}
	}
	text = docLink.ReplaceAllString(text, "$1$2")
	return strings.ReplaceAll(text, "|", `\|`)
}
