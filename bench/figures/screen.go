package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// screen is the content of an xterm-like terminal: characters without their colors. It supports the sequences that
// the workbench uses, and remembers the first unknown sequence.
type screen struct {
	cells       [][]rune
	x, y        int
	wrap        bool // the last column is written: the next character begins a new line
	last        rune // the last character, which may be repeated
	top, bottom int  // the scrolling region

	updating bool   // a synchronized update has begun: a terminal shows nothing of it before its end
	answer   []byte // answers to the program's questions
	unknown  string // a sequence that the screen does not know; empty if there is none

	parser *ansi.Parser
}

func newScreen(w, h int) *screen {
	s := &screen{cells: make([][]rune, h), bottom: h - 1, parser: ansi.NewParser()}
	for y := range s.cells {
		s.cells[y] = blank(w)
	}
	ignore := func([]byte) {}
	s.parser.SetHandler(ansi.Handler{
		Print: s.print, Execute: s.control, HandleCsi: s.sequence, HandleEsc: s.escape,
		HandleOsc: func(int, []byte) {}, // titles and questions about colors
		HandleDcs: func(ansi.Cmd, ansi.Params, []byte) {},
		HandlePm:  ignore, HandleApc: ignore, HandleSos: ignore,
	})
	return s
}

func blank(w int) []rune { return slices.Repeat([]rune{' '}, w) }

// Write applies a program's output. It never fails.
func (s *screen) Write(text []byte) (int, error) {
	s.parser.Parse(text)
	return len(text), nil
}

// line returns the text of a line.
func (s *screen) line(y int) string { return string(s.cells[y]) }

// String returns the text of the screen.
func (s *screen) String() string {
	var b strings.Builder
	for y := range s.cells {
		b.WriteString(strings.TrimRight(s.line(y), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *screen) width() int { return len(s.cells[0]) }

// moveTo moves the cursor to a place, or to the nearest on the screen.
func (s *screen) moveTo(x, y int) {
	s.x, s.y, s.wrap = max(0, min(x, s.width()-1)), max(0, min(y, len(s.cells)-1)), false
}

// print writes a character. All characters of the workbench are one cell wide.
func (s *screen) print(r rune) {
	if s.wrap {
		s.moveTo(0, s.y)
		s.lineFeed()
	}
	s.cells[s.y][s.x], s.last = r, r
	if s.x == s.width()-1 {
		s.wrap = true
		return
	}
	s.x++
}

func (s *screen) control(b byte) {
	switch b {
	case '\r':
		s.moveTo(0, s.y)
	case '\n':
		s.lineFeed()
	case '\b':
		s.moveTo(s.x-1, s.y)
	case '\t':
		s.moveTo((s.x/8+1)*8, s.y)
	}
}

func (s *screen) lineFeed() {
	if s.y == s.bottom {
		s.scroll(s.top, 1)
		return
	}
	s.moveTo(s.x, s.y+1)
}

// scroll moves the lines from one to the end of the scrolling region up by n, or down if n is negative.
func (s *screen) scroll(from, n int) {
	region := s.cells[from : s.bottom+1]
	for range min(max(n, -n), len(region)) {
		if n > 0 {
			copy(region, region[1:])
			region[len(region)-1] = blank(s.width())
		} else {
			copy(region[1:], region[:len(region)-1])
			region[0] = blank(s.width())
		}
	}
}

// shift moves the rest of the line to the right by n cells, or to the left if n is negative.
func (s *screen) shift(n int) {
	rest := s.cells[s.y][s.x:]
	n = max(-len(rest), min(n, len(rest)))
	if n > 0 {
		copy(rest[n:], rest)
		erase(rest[:n])
	} else {
		copy(rest, rest[-n:])
		erase(rest[len(rest)+n:])
	}
}

func erase(cells []rune) {
	for i := range cells {
		cells[i] = ' '
	}
}

func (s *screen) escape(cmd ansi.Cmd) {
	switch cmd.Final() {
	case 'M': // reverse index
		if s.y == s.top {
			s.scroll(s.top, -1)
			return
		}
		s.moveTo(s.x, s.y-1)
	case '7', '8', '=', '>', '\\': // the workbench restores nothing; keypads; the end of a string
	default:
		s.note(fmt.Sprintf("ESC %c", cmd.Final()))
	}
}

func (s *screen) note(sequence string) {
	if s.unknown == "" {
		s.unknown = sequence
	}
}

func (s *screen) sequence(cmd ansi.Cmd, params ansi.Params) {
	first, _, _ := params.Param(0, 0)
	second, _, _ := params.Param(1, 0)
	n := max(1, first)
	if cmd.Prefix() != 0 || cmd.Intermediate() != 0 {
		s.private(cmd, first)
		return
	}
	switch cmd.Final() {
	case 'A':
		s.moveTo(s.x, s.y-n)
	case 'B', 'e':
		s.moveTo(s.x, s.y+n)
	case 'C', 'a':
		s.moveTo(s.x+n, s.y)
	case 'D':
		s.moveTo(s.x-n, s.y)
	case 'G', '`':
		s.moveTo(n-1, s.y)
	case 'd':
		s.moveTo(s.x, n-1)
	case 'H', 'f':
		s.moveTo(max(1, second)-1, n-1)
	case 'I':
		s.moveTo((s.x/8+n)*8, s.y)
	case 'Z':
		s.moveTo(((s.x+7)/8-n)*8, s.y)
	case 'J':
		s.eraseDisplay(first)
	case 'K':
		s.eraseLine(first)
	case 'X':
		row := s.cells[s.y]
		erase(row[s.x:min(len(row), s.x+n)])
	case '@':
		s.shift(n)
	case 'P':
		s.shift(-n)
	case 'b':
		for range n {
			s.print(s.last)
		}
	case 'L':
		s.insertLines(-n)
	case 'M':
		s.insertLines(n)
	case 'S':
		s.scroll(s.top, n)
	case 'T':
		s.scroll(s.top, -n)
	case 'r':
		bottom := len(s.cells)
		if second > 0 {
			bottom = min(bottom, second)
		}
		s.top, s.bottom = n-1, bottom-1
		s.moveTo(0, 0)
	case 'm', 't': // colors, the window
	default:
		s.note(fmt.Sprintf("CSI %v %c", params, cmd.Final()))
	}
}

// insertLines inserts lines at the cursor, or deletes them, within the scrolling region.
func (s *screen) insertLines(n int) {
	if s.y >= s.top && s.y <= s.bottom {
		s.scroll(s.y, n)
		s.moveTo(0, s.y)
	}
}

func (s *screen) eraseLine(what int) {
	row := s.cells[s.y]
	switch what {
	case 0:
		erase(row[s.x:])
	case 1:
		erase(row[:s.x+1])
	default:
		erase(row)
	}
}

func (s *screen) eraseDisplay(what int) {
	above, below := s.cells[:s.y], s.cells[s.y+1:]
	if what == 0 {
		above = nil
	}
	if what == 1 {
		below = nil
	}
	s.eraseLine(what)
	for _, row := range slices.Concat(above, below) {
		erase(row)
	}
}

// synchronized is the mode of synchronized updates.
const synchronized = 2026

// private handles nonstandard sequences: modes, and the questions that a modern terminal answers.
func (s *screen) private(cmd ansi.Cmd, first int) {
	switch {
	case cmd.Final() == 'p' && first == synchronized:
		s.answer = append(s.answer, ansi.ReportMode(ansi.ModeSynchronizedOutput, ansi.ModeReset)...)
	case cmd.Prefix() == '?' && cmd.Final() == 'u':
		s.answer = append(s.answer, "\x1b[?1u"...) // escape has a sequence of its own: see [escapeKey]
	case cmd.Prefix() == '?' && first == synchronized:
		s.updating = cmd.Final() == 'h'
	case cmd.Prefix() == '?' && first == 1049: // the alternate screen
		s.moveTo(0, 0)
		s.eraseDisplay(2)
	}
}
