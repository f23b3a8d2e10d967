package printable

import (
	"regexp"
	"strings"
)

// password matches the user and the password of a URL in any string. A password may have any
// character unescaped, so the match ends at the last at sign of the word.
var password = regexp.MustCompile(`(://[^\s/?#"'<>@:]*):[^\s"'<>]*@`)

// WithoutPasswords returns a text in which the passwords of URLs are replaced by "xxxxx": those of servers and
// proxies in kubeconfigs get into messages.
func WithoutPasswords(text string) string {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return text
	}
	return password.ReplaceAllString(text, "$1:xxxxx@")
}

// Error returns an error whose text has no passwords of URLs. It wraps the given one, which may be nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if text := WithoutPasswords(err.Error()); text != err.Error() {
		return &withoutPasswords{text: text, err: err}
	}
	return err
}

type withoutPasswords struct {
	text string
	err  error
}

// Error implements the error interface.
func (e *withoutPasswords) Error() string { return e.text }

// Unwrap returns the error with the original text.
func (e *withoutPasswords) Unwrap() error { return e.err }
