package resources

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseSelector(f *testing.F) {
	for _, words := range [][3]string{
		{"pods", "", ""}, {"kexes.v1beta1.kopf.dev", "", ""}, {"kopf.dev/v1", "kexes", ""}, {"", "v1", "pods"}, {"v1", "pods", ""},
		{"*", "", ""}, {".v1.", "", ""}, {"/", "x", ""},
	} {
		f.Add(words[0], words[1], words[2], 3)
	}
	f.Fuzz(func(t *testing.T, first, second, third string, n int) {
		words := []string{first, second, third}[:uint(n)%4]
		s, err := ParseSelector(words...)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%q: %v", words, err)
		}
		s.Select([]Resource{{Group: first, Version: second, Plural: third, Kind: first, Preferred: true}})
		plain := !strings.ContainsAny(strings.Join(words, ""), " \"=/.\t\n\v\f\r\u0085\u00a0") && utf8.ValidString(strings.Join(words, ""))
		if !plain || s.Core || s.Group == "" {
			return // the notation for people does not quote
		}
		again, err := ParseSelector(strings.Split(s.String(), " ")...)
		if err != nil || again != s {
			t.Errorf("%q is %q, which is %+v instead of %+v, %v", words, s, again, s, err)
		}
	})
}

func FuzzNamespacePattern(f *testing.F) {
	for _, s := range [][2]string{
		{"a*,!ab*,abc", "abc"}, {"!x", "y"}, {"[!a-z]?", "1x"}, {"[]]", "]"}, {"[a", "[a"}, {"**a**b**", "xaxbx"}, {"", ""}, {"[z-a]", "b"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		ParseNamespacePattern(pattern).Match(name)
		if !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return
		}
		reference, err := regexp.Compile(regexpOf(pattern))
		if err != nil {
			return // a range that ends before it begins
		}
		if got, want := fnmatch(pattern, name), reference.MatchString(name); got != want {
			t.Errorf("%q matches %q: %v instead of %v", pattern, name, got, want)
		}
	})
}

// regexpOf translates a glob into a regular expression.
func regexpOf(pattern string) string {
	var out strings.Builder
	out.WriteString(`(?s)\A`)
	p := []rune(pattern)
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '*':
			out.WriteString(`.*`)
		case '?':
			out.WriteString(`.`)
		case '[':
			set, width := bracket(p[i:])
			if width == 0 {
				out.WriteString(`\[`)
				continue
			}
			i += width - 1
			out.WriteByte('[')
			if set[0] == '!' {
				out.WriteByte('^')
				set = set[1:]
			}
			for n := 0; n < len(set); n++ {
				out.WriteString(fmt.Sprintf(`\x{%x}`, set[n]))
				if n+2 < len(set) && set[n+1] == '-' {
					out.WriteString(fmt.Sprintf(`-\x{%x}`, set[n+2]))
					n += 2
				}
			}
			out.WriteByte(']')
		default:
			out.WriteString(regexp.QuoteMeta(string(p[i])))
		}
	}
	return out.String() + `\z`
}
