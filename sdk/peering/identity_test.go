package peering

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestIdentity_IsThatOfKopf(t *testing.T) {
	t.Setenv("POD_ID", "")
	for _, name := range []string{"LOGNAME", "USER", "LNAME", "USERNAME"} {
		t.Setenv(name, "")
	}
	t.Setenv("LNAME", "Alice")
	personal := PersonalIdentity()
	if !regexp.MustCompile(`^Alice@[^/@]+$`).MatchString(personal) {
		t.Errorf("of a person: %s", personal)
	}
	if got, rest := NewIdentity(), ""; !strings.HasPrefix(got, personal+"/") {
		t.Errorf("of an operator: %s", got)
	} else if rest = strings.TrimPrefix(got, personal); !regexp.MustCompile(`^/20\d{12}/[a-z0-9]{3}$`).MatchString(rest) {
		t.Errorf("of an operator: %s", got)
	}
	t.Setenv("POD_ID", "pod-1")
	if one, other := PersonalIdentity(), NewIdentity(); one != "pod-1" || other != "pod-1" {
		t.Errorf("in a pod: %s, %s", one, other)
	}
	t.Setenv("POD_ID", "")
	t.Setenv("LNAME", "")
	if err := os.Unsetenv("LNAME"); err != nil {
		t.Fatal(err)
	}
	if got := PersonalIdentity(); strings.HasPrefix(got, "@") {
		t.Errorf("without variables: %s", got)
	}
}

func TestIdentity_NamesHostAsKopfDoes(t *testing.T) {
	for _, c := range []struct {
		host  string
		names []string
		want  string
	}{
		{"laptop", nil, "laptop"},
		{"laptop", []string{"laptop.example.com.", "laptop"}, "laptop.example.com"},
		{"laptop", []string{"laptop", "laptop.example.com"}, "laptop.example.com"},
		{"laptop", []string{"localhost", "mylaptop"}, "mylaptop"},
		{"laptop", []string{"localhost"}, "laptop"},
		{"laptop.local", nil, "laptop"},
		{"x", []string{"laptop.localdomain.local."}, "laptop"},
		{"laptop", []string{"1.0.0.127.in-addr.arpa.", "::1", "10.0.0.1"}, "laptop"},
	} {
		if got := descriptiveName(c.host, c.names); got != c.want {
			t.Errorf("%s, %q: got %s, want %s", c.host, c.names, got, c.want)
		}
	}
}
