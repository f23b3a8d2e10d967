package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
)

// The renderer of the workbench draws random screens, which differ as lists do: lines scroll, texts change and get
// shorter. The screen must show them exactly.
func TestScreen_ShowsWhatTheRendererDraws(t *testing.T) {
	const w, h = 40, 12
	frames := 500
	if testing.Short() {
		frames = 50
	}
	for _, term := range []string{"xterm-256color", "xterm-kitty", "linux"} {
		random := rand.New(rand.NewPCG(1, 2))
		s := newScreen(w, h)
		var out bytes.Buffer
		renderer := uv.NewTerminalRenderer(&out, []string{"TERM=" + term})
		renderer.SetFullscreen(true)
		renderer.SetScrollOptim(true)
		renderer.Erase()
		lines := slices.Repeat([]string{""}, h)
		for frame := range frames {
			lines = changedLines(random, lines, w)
			buffer := uv.NewScreenBuffer(w, h)
			uv.NewStyledString(strings.Join(lines, "\n")).Draw(buffer, buffer.Bounds())
			renderer.Render(buffer.RenderBuffer)
			if err := renderer.Flush(); err != nil {
				t.Fatal(err)
			}
			output := out.String()
			if _, err := out.WriteTo(s); err != nil {
				t.Fatal(err)
			}
			for y, want := range lines {
				if got := strings.TrimRight(s.line(y), " "); got != strings.TrimRight(want, " ") {
					t.Fatalf("%s, frame %d, line %d: %q, want %q; after %q", term, frame, y, got, want, output)
				}
			}
		}
		if s.unknown != "" {
			t.Errorf("%s: the screen does not know %s", term, s.unknown)
		}
	}
}

// changedLines returns lines that differ in a random way.
func changedLines(random *rand.Rand, lines []string, w int) []string {
	lines = slices.Clone(lines)
	from, n := random.IntN(len(lines)), 1+random.IntN(4)
	switch random.IntN(4) {
	case 0: // scrolls up
		copy(lines[from:], lines[min(len(lines), from+n):])
	case 1: // scrolls down
		copy(lines[min(len(lines), from+n):], slices.Clone(lines[from:]))
	case 2: // a gap in the middle
		lines[from] = strings.Repeat("█", random.IntN(w/2)) + strings.Repeat(" ", random.IntN(w/2)) + "end"
	}
	for range n {
		text := fmt.Sprintf("%d%s", random.IntN(1000), strings.Repeat(" ─x"[random.IntN(2):], random.IntN(w/4)))
		lines[random.IntN(len(lines))] = text
	}
	return lines
}
