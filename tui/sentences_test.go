package tui

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// unplain are the words of the protocol, and slips of grammar, that people must not read.
var unplain = regexp.MustCompile(`noop|arbitrary|for now|now ago|\b1 (objects|errors|attempts|handlers|changes|failures)\b`)

func TestScreens_SpeakPlainly(t *testing.T) {
	s := demo(noon)
	for i := range s.Snapshot.Objects {
		o := s.Snapshot.Objects[i]
		if o.Cause != nil && o.State == inspect.StateSettled {
			o.Cause.Reason = "noop"
			o.History = []inspect.PastCause{{Reason: "noop", At: noon}}
		}
		for k := range o.Handlers {
			h := &o.Handlers[k]
			h.Started = noon
			if h.Error != nil {
				h.Error = &inspect.HandlerError{Kind: "arbitrary", Message: h.Error.Message}
			}
		}
	}
	tabs := map[string][]string{"handlers": {"h"}, "why": {"w"}}
	for _, w := range []int{80, 160} {
		u := startWith(t, s, w, 50, Options{})
		for range s.Snapshot.Objects {
			u.checkPlain("the list", w)
			for tab, keys := range tabs {
				u.press(keys...).checkPlain(tab, w).press("esc")
			}
			u.press("j")
		}
		u.press("2", "j").checkPlain("the handlers", w).press("enter").checkPlain("the objects of a handler", w)
	}
}

func (u *user) checkPlain(what string, w int) *user {
	u.t.Helper()
	screen := strings.Join(u.lines(), "\n")
	if found := unplain.FindString(screen); found != "" {
		u.t.Fatalf("%s in %d columns says %q:\n%s", what, w, found, screen)
	}
	return u
}
