package printable_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/printable"
)

func TestWithoutPasswords_MasksThoseOfURLs(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:s3cret@host:6443/path":                        "https://user:xxxxx@host:6443/path",
		`invalid "http://user:s3cret@proxy" (twice: x://:s3cret@y)`: `invalid "http://user:xxxxx@proxy" (twice: x://:xxxxx@y)`,
		"https://user:s3c/r@et?#@host":                              "https://user:xxxxx@host",
		"socks5://user:s3cret%zz@host":                              "socks5://user:xxxxx@host",
		"https://user@host:6443":                                    "https://user@host:6443",
		"https://host:6443, mail me@example.com":                    "https://host:6443, mail me@example.com",
		"no url: a:b@c":                                             "no url: a:b@c",
	} {
		if got := printable.WithoutPasswords(text); got != want {
			t.Errorf("%s is %s instead of %s", text, got, want)
		}
	}
	cause := errors.New("cause")
	err := printable.Error(fmt.Errorf("https://user:s3cret@host: %w", cause))
	if strings.Contains(err.Error(), "s3cret") || !errors.Is(err, cause) {
		t.Error(err)
	}
	if printable.Error(nil) != nil || printable.Error(cause) != cause {
		t.Error("another error is changed")
	}
}
