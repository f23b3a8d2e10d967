package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAnErrorThatIsTooLongTellsThatThereIsMore(t *testing.T) {
	s := clusterFails(noon)
	for n := range 12 {
		s.Cluster.Error += fmt.Sprintf("\nmissing part %d", n)
	}
	screen := strings.Join(sitWith(t, s, 80, 24, Options{}).lines(), "\n")
	if !strings.Contains(screen, "missing part 6…") || strings.Contains(screen, "missing part 7") {
		t.Error(screen)
	}
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
		if got := paragraphs(test.text, 4, 2); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q", test.text, got)
		}
	}
}
