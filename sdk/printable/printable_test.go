package printable_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/printable"
)

func TestLine_EscapesWhatIsNotVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext ünïcode 日本 😀 👩\u200d🚀":    "plain\ttext ünïcode 日本 😀 👩\u200d🚀",
		"\x1b[2J\x1b]52;c;x\x07\x1b]0;t\x1b\\": `\x1b[2J\x1b]52;c;x\x07\x1b]0;t\x1b\`,
		"a\r\nb\x00\x7f\x08":                   `a\r\nb\x00\x7f\x08`,
		"\u009b31m\u0085":                      `\u009b31m\u0085`,
		"\x9b31m\xff":                          `\x9b31m\xff`,
		"\u202egnp.exe\u2066\u200e\u2028":      `\u202egnp.exe\u2066\u200e\u2028`,
		"\ufeff\U000e0041":                     `\ufeff\U000e0041`,
		"":                                     "",
	} {
		if got := printable.Line(text); got != want {
			t.Errorf("%q is %q instead of %q", text, got, want)
		}
	}
}

func TestParagraph_IndentsAllLinesButTheFirst(t *testing.T) {
	for text, want := range map[string]string{
		"one":                             "one",
		"one\nkopf: two\r\n\n\tthree\n\n": "one\n  kopf: two\n\n\tthree",
		"one\rtwo\n\x1b[A":                "one\\rtwo\n  \\x1b[A",
	} {
		if got := printable.Paragraph(text); got != want {
			t.Errorf("%q is %q instead of %q", text, got, want)
		}
	}
}

func TestJSON_KeepsTheValue(t *testing.T) {
	value := "\x1b\u009b\u202e\x7f\U000e0041é\u200d😀\n"
	text, err := json.Marshal(map[string]string{value: value})
	if err != nil {
		t.Fatal(err)
	}
	safe := printable.JSON(text)
	check(t, string(safe))
	var got map[string]string
	if err := json.Unmarshal(safe, &got); err != nil || got[value] != value {
		t.Errorf("%s became %s, %v", text, safe, err)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("\x1b]0;x\x07\u009b\x9b\u202e\r\n\U000e0041é")
	f.Fuzz(func(t *testing.T, text string) {
		line := printable.Line(text)
		check(t, line)
		if strings.Contains(line, "\n") || printable.Line(line) != line {
			t.Errorf("%q is %q", text, line)
		}
		for line := range strings.Lines(printable.Paragraph(text)) {
			check(t, strings.TrimSuffix(line, "\n"))
		}
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		safe := printable.JSON(encoded)
		check(t, string(safe))
		var before, after string
		if json.Unmarshal(encoded, &before) != nil || json.Unmarshal(safe, &after) != nil || before != after {
			t.Errorf("%s became %s", encoded, safe)
		}
	})
}

func check(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			t.Errorf("%q has %U", text, r)
		}
	}
}
