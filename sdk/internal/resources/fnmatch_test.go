package resources

import "testing"

func TestFnmatch_AsPython(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"a*b*c", "aXbXbc", true},
		{"a*b*c", "acb", false},
		{"**", "", true},
		{"", "", true},
		{"", "x", false},
		{"?", "é", true},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[!a-c]x", "ax", false},
		{"[]x]", "]", true},
		{"[!]x]", "]", false},
		{"[!]x]", "y", true},
		{"[a-]", "-", true},
		{"[-a]", "-", true},
		{"[z-a]", "m", false},
		{"[abc", "[abc", true},
		{"[abc", "a", false},
		{"[]", "[]", true},
		{"[!]", "[!]", true},
		{"a/*", "a/b/c", true},
		{`\*`, `\x`, true},
		{"A", "a", false},
	}
	for _, tt := range tests {
		if got := fnmatch(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q, %q: got %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}
