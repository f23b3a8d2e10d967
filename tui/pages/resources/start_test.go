package resources

import (
	"slices"
	"testing"
)

func TestWrapLines_MarksThatThereIsMore(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"a\nb", []string{"a", "b"}},
		{"a\nb\n\n", []string{"a", "b"}},
		{"a\nb\n\nc", []string{"a", "b…"}},
		{"a\nbbbb\nc", []string{"a", "bbb…"}},
		{"a\nbb bb\nc", []string{"a", "bb …"}},
	} {
		if got := wrapLines(test.text, 4, 2); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q", test.text, got)
		}
	}
}
