package shapes

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/printable"
)

const (
	// maxNames is the number of names that a text shows for a shape.
	maxNames = 3
	// maxChanges is the number of changed fields that a text shows for an object.
	maxChanges = 12
)

// WriteText writes a plan for people, of at most max bytes. If a plan is longer, the text ends with the number of omitted shapes.
func (p *Plan) WriteText(w io.Writer, max int) error {
	var parts []string
	for _, s := range p.Shapes {
		parts = append(parts, s.text())
	}
	_, err := io.WriteString(w, p.bounded(p.header()+"\n", parts, p.footer(), max))
	return err
}

// WriteMarkdown writes a plan for a comment of a pull request, of at most max bytes, like [Plan.WriteText].
func (p *Plan) WriteMarkdown(w io.Writer, max int) error {
	var parts []string
	for _, s := range p.Shapes {
		body := fence(s.text())
		if s.Verdict == VerdictUnchanged || s.Verdict == VerdictRecords || s.Verdict == VerdictPaused {
			parts = append(parts, body)
			continue
		}
		parts = append(parts, "<details><summary>"+escape(strings.TrimSpace(s.title()))+"</summary>\n\n"+body+"\n</details>\n\n")
	}
	head := "**" + escape(p.sentence()) + "**\n\n" + fence(p.header()+"\n") + "\n"
	_, err := io.WriteString(w, p.bounded(head, parts, fence(p.footer()), max))
	return err
}

// fence returns a text as a block of code.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + text + marks + "\n"
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`", "\\`").Replace(text)
}

// bounded joins the parts of a text. If they exceed the limit, the last parts are left out, and counted.
func (p *Plan) bounded(head string, parts []string, foot string, max int) string {
	length := len(head) + len(foot)
	for _, part := range parts {
		length += len(part)
	}
	if length <= max {
		return head + strings.Join(parts, "") + foot
	}
	const reserve = 200 // for the line about the omitted shapes
	length = len(head) + len(foot) + reserve
	shown := 0
	for shown < len(parts) && length+len(parts[shown]) <= max {
		length += len(parts[shown])
		shown++
	}
	objects := 0
	for _, s := range p.Shapes[shown:] {
		objects += s.Count
	}
	more := fmt.Sprintf("… %s more, %s: the report has them (--report=FILE); --max-output=%d cut the text\n",
		plural(len(parts)-shown, "shape"), plural(objects, "object"), max)
	return head + strings.Join(parts[:shown], "") + more + foot
}

// header describes the copy.
func (p *Plan) header() string {
	c := p.Copy
	moment := c.From.Format(time.TimeOnly)
	if to := c.To.Format(time.TimeOnly); to != moment {
		moment += " to " + to
	}
	text := fmt.Sprintf("plan of %s · copy of %s, %s, %s", strings.Join(p.Packages, " "), c.Context, moment, plural(c.Objects, "object"))
	if p.As != "now" {
		text += " · as if they were " + map[string]string{"create": "new", "delete": "deleted"}[p.As]
	}
	text += " · box: " + p.Box
	if p.Box == "none" {
		text += " (the operator could reach everything that you can reach)"
	}
	return printable.Line(text)
}

// sentence sums a plan up.
func (p *Plan) sentence() string {
	counts := make(map[Verdict]int)
	for _, s := range p.Shapes {
		counts[s.Verdict] += s.Count
	}
	var parts []string
	for _, v := range verdicts {
		if counts[v] > 0 {
			parts = append(parts, thousands(counts[v])+" "+words[v])
		}
	}
	if len(parts) == 0 {
		return "the operator handles no object"
	}
	return strings.Join(parts, ", ")
}

// words are the verdicts in texts.
var words = map[Verdict]string{
	VerdictFails: "fail", VerdictStops: "stop", VerdictWaits: "wait", VerdictChanges: "change", VerdictRecords: "record only",
	VerdictPaused: "paused", VerdictUnchanged: "unchanged",
}

// title is the first line of a shape.
func (s Shape) title() string {
	var handlers []string
	for _, h := range s.Handlers {
		text := h.ID
		if h.Reason != "" && h.Reason != h.ID {
			text += " (" + h.Reason + ")"
		}
		handlers = append(handlers, text)
	}
	about := strings.Join(slices.Compact(handlers), ", ")
	switch {
	case s.Resource == "":
		about = "requests that belong to no handled object"
	case about == "":
		about = "no handler is called"
	}
	names := strings.Join(s.Objects[:min(maxNames, len(s.Objects))], ", ")
	if len(s.Objects) > maxNames {
		names += ", …"
	}
	return printable.Line(fmt.Sprintf("%7s  %-12s %s  %s  %s", thousands(s.Count), words[s.Verdict], s.Short, about, names))
}

// text describes a shape.
func (s Shape) text() string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(printable.Line("         "+fmt.Sprintf(format, args...)) + "\n")
	}
	b.WriteString(s.title() + "\n")
	for _, h := range s.Handlers {
		switch h.Outcome {
		case OutcomeSucceeds:
		case OutcomeStops:
			line("%s: stops at step %s; the rest is not known", h.ID, h.Step)
		case OutcomeFails:
			line("%s: would fail: %s", h.ID, cmp.Or(h.Error, "the error is in the report of an earlier cause"))
		case OutcomeFailed:
			line("%s: has failed before, and would not be called: %s", h.ID, cmp.Or(h.Error, "its error is not known"))
		case OutcomeWaits:
			again := ""
			if h.Delay != "" {
				again = " (again in " + h.Delay + ")"
			}
			line("%s: would wait: %s%s", h.ID, cmp.Or(h.Error, "for a retry that was planned before"), again)
		case OutcomeRuns:
			line("%s: was not done when the run ended", h.ID)
		}
	}
	if p := s.Pass; p != nil {
		text := fmt.Sprintf("%d applied, %d pruned, %d refused", p.Applied, p.Pruned, p.Refused)
		if p.Message != "" {
			text += ": " + p.Message
		}
		line("pass %s: %s", p.Outcome, text)
	}
	for _, w := range s.Writes {
		by := " by " + strings.Join(w.By, ", ")
		if len(w.By) == 0 {
			by = " by an unknown client"
		}
		line("%s %s %s%s", strings.Join(w.Verbs, ", "), shortResource(w.Resource), w.Name, by)
		for _, c := range w.Changes[:min(maxChanges, len(w.Changes))] {
			line("    %s", c)
		}
		if more := len(w.Changes) - maxChanges; more > 0 {
			line("    … %s more: see --report=FILE", plural(more, "field"))
		}
		for _, refused := range w.Refused {
			line("    refused: %s", refused)
		}
	}
	if len(s.Own) > 0 {
		line("own changes: %s", strings.Join(s.Own, ", "))
	}
	return b.String()
}

// String returns "~ PATH: OLD → NEW", or "+ PATH: NEW", or "- PATH: OLD".
func (c Change) String() string {
	switch {
	case c.Old == "":
		return "+ " + c.Path + ": " + c.New
	case c.New == "":
		return "- " + c.Path + ": " + c.Old
	}
	return "~ " + c.Path + ": " + c.Old + " → " + c.New
}

func shortResource(key string) string {
	plural, _, _ := strings.Cut(key, ".")
	return plural
}

// footer sums up the requests, and names everything that the plan does not say.
func (p *Plan) footer() string {
	var b strings.Builder
	if p.Ended != "" {
		fmt.Fprintf(&b, "  incomplete: %s\n", printable.Line(p.Ended))
	}
	fmt.Fprintf(&b, "  in short: %s\n", p.sentence())
	own := 0
	var counts []string
	for _, r := range p.Requests {
		if r.Own {
			own += r.Count
			continue
		}
		counts = append(counts, thousands(r.Count)+" "+r.Verb+" "+r.Resource)
	}
	if len(counts) == 0 {
		counts = []string{"none of handlers"}
	}
	fmt.Fprintf(&b, "  requests: %s; %s of the operator itself\n", printable.Line(strings.Join(counts, ", ")), thousands(own))
	for _, part := range []struct {
		name string
		list []string
	}{{"not tried", p.NotTried}, {"not known", p.CannotTell}} {
		text := strings.Join(part.list, ", ")
		fmt.Fprintf(&b, "  %s: %s\n", part.name, printable.Line(cmp.Or(text, "nothing")))
	}
	return b.String()
}
