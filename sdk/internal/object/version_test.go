package object

import "testing"

func TestOlder_ComparesNumbers(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true},
		{"10", "9", false},
		{"10", "10", false},
		{"18446744073709551614", "18446744073709551615", true},
		// Versions that are not numbers cannot be compared, except with themselves.
		{"abc", "abc", false},
		{"abc", "abd", true},
		{"abd", "abc", true},
		{"", "1", true},
	} {
		if got := Older(test.a, test.b); got != test.want {
			t.Errorf("Older(%q, %q) = %t", test.a, test.b, got)
		}
	}
}
