package tui

import (
	"fmt"
	"html"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// The pictures of the documentation are screens of the scenarios: they change with the workbench.
func TestGolden_Pictures(t *testing.T) {
	for _, p := range []struct{ name, scenario, screen string }{
		{"workbench", "normal", "resources"},
		{"why", "normal", "why"},
		{"children", "children", "children"},
		{"handlers", "background", "handlers"},
		{"build-failed", "buildfail", "build"},
	} {
		u := startWith(t, scenarios[p.scenario](noon), 100, 28, Options{Title: "./handlers", ClusterStays: true})
		u.app.dark = true
		u.setProfile(colorprofile.TrueColor)
		u.press(screens[p.screen]...)
		goldenFile(t, filepath.Join("..", "docs", "images", p.name+".svg"), picture(u.screen()))
	}
}

func TestPicture_KeepsTextAndColors(t *testing.T) {
	svg := picture("a<b \x1b[1;38;2;255;0;16mred\x1b[0m\n\x1b[7mback\x1b[27m \x1b[4mline")
	for _, want := range []string{
		`>a&lt;b</text>`, `<text x="43.6" y="21" fill="#ff0010" font-weight="bold" textLength="25.2">red</text>`,
		`<rect x="10" y="26" width="33.6" height="18" fill="#d8dee9"/>`, `fill="#16181d" textLength="33.6">back</text>`, `text-decoration="underline"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is not in %s", want, svg)
		}
	}
}

// The geometry of a picture, in pixels, and the colours of its terminal.
const (
	cellWidth, cellHeight = 8.4, 18.0
	margin, baseline      = 10.0, 13.0
	foreground            = "#d8dee9"
	background            = "#16181d"
)

// style is how a piece of text is drawn.
type style struct {
	fg, bg                                  string // empty for the terminal's default colors
	bold, faint, italic, underline, reverse bool
}

// picture returns a screen with escape sequences as an SVG.
func picture(screen string) string {
	lines := strings.Split(screen, "\n")
	width := 0
	for _, line := range lines {
		width = max(width, ansi.StringWidth(line))
	}
	w, h := 2*margin+float64(width)*cellWidth, 2*margin-2+float64(len(lines))*cellHeight
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%s" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">`+"\n",
		number(w), number(h))
	fmt.Fprintf(&out, `<rect width="%s" height="%s" rx="6" fill="%s"/>`+"\n", number(w), number(h), background)
	var s style
	for i, line := range lines {
		s = drawLine(&out, line, i, s)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// drawLine draws a line, and returns the style at its end.
func drawLine(out *strings.Builder, line string, row int, s style) style {
	column := 0
	var piece strings.Builder
	start := 0
	flush := func() {
		drawPiece(out, piece.String(), start, row, s)
		piece.Reset()
		start = column
	}
	var state byte
	for len(line) > 0 {
		sequence, width, n, next := ansi.DecodeSequence(line, state, nil)
		state, line = next, line[n:]
		if width > 0 {
			piece.WriteString(sequence)
			column += width
			continue
		}
		if parameters, ok := strings.CutPrefix(sequence, "\x1b["); ok && strings.HasSuffix(parameters, "m") {
			flush()
			s = s.with(strings.TrimSuffix(parameters, "m"))
		}
	}
	flush()
	return s
}

// drawPiece draws text of one style, at its column even if a font is wider than expected.
func drawPiece(out *strings.Builder, text string, column, row int, s style) {
	fg, bg := s.fg, s.bg
	if s.reverse {
		fg, bg = bg, fg
		if bg == "" {
			bg = foreground
		}
		if fg == "" {
			fg = background
		}
	}
	if fg == "" {
		fg = foreground
	}
	x, y := margin+float64(column)*cellWidth, margin-2+float64(row)*cellHeight
	width := float64(ansi.StringWidth(text)) * cellWidth
	if bg != "" && width > 0 {
		fmt.Fprintf(out, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", number(x), number(y), number(width), number(cellHeight), bg)
	}
	blank := len(text) - len(strings.TrimLeft(text, " "))
	text = strings.Trim(text, " ")
	if text == "" {
		return
	}
	var more string
	for _, a := range []struct {
		text string
		on   bool
	}{{` font-weight="bold"`, s.bold}, {` opacity="0.6"`, s.faint}, {` font-style="italic"`, s.italic}, {` text-decoration="underline"`, s.underline}} {
		if a.on {
			more += a.text
		}
	}
	fmt.Fprintf(out, `<text x="%s" y="%s" fill="%s"%s textLength="%s">%s</text>`+"\n",
		number(x+float64(blank)*cellWidth), number(y+baseline), fg, more, number(float64(ansi.StringWidth(text))*cellWidth), html.EscapeString(text))
}

func number(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

// with returns the style after the parameters of an SGR sequence.
func (s style) with(parameters string) style {
	codes := strings.Split(parameters, ";")
	for i := 0; i < len(codes); i++ {
		switch codes[i] {
		case "", "0":
			s = style{}
		case "1":
			s.bold = true
		case "2":
			s.faint = true
		case "3":
			s.italic = true
		case "4":
			s.underline = true
		case "7":
			s.reverse = true
		case "22":
			s.bold, s.faint = false, false
		case "23":
			s.italic = false
		case "24":
			s.underline = false
		case "27":
			s.reverse = false
		case "39":
			s.fg = ""
		case "49":
			s.bg = ""
		case "38", "48":
			if i+4 >= len(codes) || codes[i+1] != "2" {
				panic("a colour that is not true colour: " + parameters)
			}
			var rgb [3]int
			for j := range rgb {
				rgb[j], _ = strconv.Atoi(codes[i+2+j])
			}
			colour := fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2])
			if codes[i] == "38" {
				s.fg = colour
			} else {
				s.bg = colour
			}
			i += 4
		default:
			panic("an unknown style: " + parameters)
		}
	}
	return s
}
