package render_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/tui/render"
)

func TestOverlay_KeepsWidthOverWideRunes(t *testing.T) {
	for x := range 10 {
		frame := []string{"卷仍被挂载卷仍被挂载"}
		render.Overlay(frame, "[box]", x, 0)
		if got := ansi.StringWidth(frame[0]); got != 20 || !strings.Contains(frame[0], "[box]") {
			t.Errorf("at %d it is %d cells wide: %q", x, got, ansi.Strip(frame[0]))
		}
	}
}
