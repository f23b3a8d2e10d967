package relay

import (
	"strings"
	"testing"
)

func FuzzExpectGreeting(f *testing.F) {
	for _, seed := range []string{greeting, greeting + "rest", "kopf-relay 2\n", "", "HTTP/1.1 200 OK\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := strings.NewReader(text)
		err := expectGreeting(r)
		rest, greeted := strings.CutPrefix(text, greeting)
		if greeted != (err == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		if greeted && r.Len() != len(rest) {
			t.Fatalf("%q: it reads %d bytes too many", text, len(rest)-r.Len())
		}
	})
}
