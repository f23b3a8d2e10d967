package tui

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestLog_HoldsWhileScrolledUp(t *testing.T) {
	u := start(t, "normal", 80, 10).press("7").sees("following").sees("detaching")
	more := func(text string) {
		u.publish(func(s *runner.State) {
			s.Log = append(s.Log[1:len(s.Log):len(s.Log)], inspect.LogLine{At: noon, Level: "info", Message: text})
		})
	}
	more("first news")
	u.sees("first news").press("k", "k").sees("held").seesNot("first news")
	more("second news")
	u.sees("held, 1 newer").seesNot("second news").
		press("G").sees("following").sees("second news")
}

func TestLog_FiltersByLevelAndWords(t *testing.T) {
	u := start(t, "normal", 80, 24).press("7").seesNot("watching pods").
		press("v").sees("warn and above").seesNot("detaching").sees("left here by fmt.Println").
		press("v", "v").sees("debug and above").sees("watching pods").
		press("v", "/").write("PVC resiz").sees("temporary (2/5)").seesNot("detaching")
	if len(u.source.intents) != 2 || u.source.intents[0].Value != "debug" || u.source.intents[1].Value != "info" {
		t.Fatalf("the operator was asked for %+v", u.source.intents)
	}
}

func TestLog_FiltersByColumn(t *testing.T) {
	u := start(t, "normal", 120, 40).press("7", "/").write("level:error").press("enter").sees("gave up after 5 attempts").seesNot("resizing from=1Gi")
	u.press("esc", "/").write("handler:resize obj:web").press("enter").sees("resizing from=1Gi").seesNot("gave up after 5 attempts")
}

func TestLog_WrapShowsLongLinesInFull(t *testing.T) {
	start(t, "normal", 80, 24).press("7").seesNot("attached to pod web-0").
		press("z").sees("attached to pod web-0").sees("detaching").
		press("z").seesNot("attached to pod web-0")
	start(t, "normal", 60, 24).press("j", "j", "j", "j", "j", "l", "z").sees("pod web-0")
}

func TestLog_WrapShowsStackOfPanic(t *testing.T) {
	u := start(t, "normal", 80, 24).press("7")
	u.publish(func(s *runner.State) {
		s.Log = append(s.Log[:len(s.Log):len(s.Log)], inspect.LogLine{At: noon, Level: "error", Message: `panic: oh stack="goroutine 1:\nmain()\n\t/a.go:3"`})
	}).sees("panic: oh").seesNot("goroutine 1").seesNot("stack=").
		press("z").sees("    main()").sees("        /a.go:3")
}
