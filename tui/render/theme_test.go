package render

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/explain"
)

func TestTheme_UsesOnlyColorsOfTheProfile(t *testing.T) {
	for profile, allowed := range map[colorprofile.Profile]string{
		colorprofile.TrueColor: `^(\x1b\[([17]|(1;)?([34]8;2;\d+;\d+;\d+;?)*)*m)?$`,
		colorprofile.ANSI256:   `^(\x1b\[([17]|(1;)?([34]8;5;\d+;?)*)*m)?$`,
		colorprofile.ANSI:      `^(\x1b\[([17]|1;4;4|[39]\d)m)?$`,
		colorprofile.ASCII:     `^(\x1b\[(1|7|1;4;4)m)?$`,
		colorprofile.NoTTY:     `^(\x1b\[(1|7|1;4;4)m)?$`,
	} {
		pattern := regexp.MustCompile(allowed)
		for _, dark := range []bool{true, false} {
			th := NewTheme(profile, dark)
			for tone := range explain.Tones {
				if s := th.plain[tone].begin; !pattern.MatchString(s) {
					t.Errorf("%v: tone %d is %q", profile, tone, s)
				}
			}
		}
	}
}

func TestTheme_TextHasTheTerminalsOwnColors(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256, colorprofile.ANSI, colorprofile.NoTTY} {
		if s := NewTheme(profile, true).plain[explain.Text].begin; s != "" {
			t.Errorf("%v: %q", profile, s)
		}
	}
}

func TestTheme_SelectionIsVisibleInEveryProfile(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256, colorprofile.ANSI, colorprofile.NoTTY} {
		for tone := range explain.Tones {
			s := NewTheme(profile, true).selected[tone].begin
			if !strings.Contains(s, "48;") && !strings.Contains(s, "7") {
				t.Errorf("%v: tone %d is %q when it is selected", profile, tone, s)
			}
		}
	}
}

func TestPlainTheme_WritesNoEscapes(t *testing.T) {
	for tone := range explain.Tones {
		if s := PlainTheme().selected[tone].begin + PlainTheme().plain[tone].end; s != "" {
			t.Errorf("tone %d is %q", tone, s)
		}
	}
}
