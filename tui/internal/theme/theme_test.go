package theme_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/tui/internal/theme"
)

var all = []theme.Token{theme.Text, theme.Dim, theme.Faint, theme.Title, theme.Accent, theme.OK, theme.Warn, theme.Err, theme.Run, theme.Add, theme.Del, theme.Invert}

func TestEachTerminalGetsOnlyTheColoursThatItHas(t *testing.T) {
	for profile, allowed := range map[colorprofile.Profile]string{
		colorprofile.TrueColor: `^(\x1b\[([17]|(1;)?([34]8;2;\d+;\d+;\d+;?)*)*m)?$`,
		colorprofile.ANSI256:   `^(\x1b\[([17]|(1;)?([34]8;5;\d+;?)*)*m)?$`,
		colorprofile.ANSI:      `^(\x1b\[([17]|1;4|[39]\d)m)?$`,
		colorprofile.ASCII:     `^(\x1b\[(1|7|1;4)m)?$`,
		colorprofile.NoTTY:     `^(\x1b\[(1|7|1;4)m)?$`,
	} {
		pattern := regexp.MustCompile(allowed)
		for _, dark := range []bool{true, false} {
			th := theme.New(profile, dark)
			for _, token := range all {
				if s := th.Style(token, false); !pattern.MatchString(s) {
					t.Errorf("%v: token %d is %q", profile, token, s)
				}
			}
		}
	}
}

func TestTextHasTheTerminalsOwnColour(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256, colorprofile.ANSI, colorprofile.NoTTY} {
		if s := theme.New(profile, true).Style(theme.Text, false); s != "" {
			t.Errorf("%v: %q", profile, s)
		}
	}
}

func TestTheSelectionIsSeenInEveryProfile(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256, colorprofile.ANSI, colorprofile.NoTTY} {
		for _, token := range all {
			s := theme.New(profile, true).Style(token, true)
			if !strings.Contains(s, "48;") && !strings.Contains(s, "7") {
				t.Errorf("%v: token %d is %q when it is selected", profile, token, s)
			}
		}
	}
}

func TestThePlainThemeWritesNothing(t *testing.T) {
	for _, token := range all {
		if s := theme.Plain().Style(token, true) + theme.Plain().Style(token, false); s != "" {
			t.Errorf("token %d is %q", token, s)
		}
	}
}
