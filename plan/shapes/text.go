package shapes

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/printable"
)

const (
	// maxNames is the maximum number of names of objects that the output lists for a shape.
	maxNames = 3
	// maxChanges is the maximum number of changed fields that the output lists for an object.
	maxChanges = 12
)

// WriteText writes a plan as text of at most max bytes. If a plan is longer, the text ends with the number of omitted shapes.
func (p *Plan) WriteText(w io.Writer, max int) error {
	parts := p.parts()
	for i := range parts {
		parts[i].text = parts[i].body
	}
	_, err := io.WriteString(w, bounded(p.header(max)+"\n", parts, p.footer(max), max))
	return err
}

// WriteMarkdown writes a plan as Markdown, for example for a comment on a pull request. The limit is as for [Plan.WriteText].
func (p *Plan) WriteMarkdown(w io.Writer, max int) error {
	parts := p.parts()
	for i, s := range parts {
		if parts[i].text = fence(s.body); !s.quiet {
			parts[i].text = "<details><summary>" + escape(strings.TrimSpace(s.title)) + "</summary>\n\n" + parts[i].text + "\n</details>\n\n"
		}
	}
	head := "**" + escape(p.sentence()) + "**\n\n" + fence(p.header(max)+"\n") + "\n"
	_, err := io.WriteString(w, bounded(head, parts, fence(p.footer(max)), max))
	return err
}

// fence returns a text as a Markdown code block.
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

// part is the text about a shape, or about a difference.
type part struct {
	title, body string
	quiet       bool // the objects of the shape do not change
	objects     int
	text        string // body in the format of the output
}

// parts returns the shapes or, in a comparison, only the differences.
func (p *Plan) parts() []part {
	var all []part
	if p.Against != nil {
		return p.Against.parts()
	}
	for _, s := range p.Shapes {
		quiet := s.Verdict == VerdictUnchanged || s.Verdict == VerdictRecords || s.Verdict == VerdictPaused
		all = append(all, part{title: s.title(), body: s.text(), quiet: quiet, objects: s.Count})
	}
	return all
}

// bounded joins the parts of the output. If they exceed the limit, it omits the last parts, and appends their number.
func bounded(head string, parts []part, foot string, max int) string {
	length := len(head) + len(foot)
	for _, part := range parts {
		length += len(part.text)
	}
	if length <= max {
		return head + joinTexts(parts) + foot
	}
	const reserve = 200 // bytes for the line about the omitted shapes
	length = len(head) + len(foot) + reserve
	shown := 0
	for shown < len(parts) && length+len(parts[shown].text) <= max {
		length += len(parts[shown].text)
		shown++
	}
	objects := 0
	for _, part := range parts[shown:] {
		objects += part.objects
	}
	more := fmt.Sprintf("… %s more, %s: the report has them (--report=FILE); --max-output=%d cut the text\n",
		plural(len(parts)-shown, "shape"), plural(objects, "object"), max)
	return head + joinTexts(parts[:shown]) + more + foot
}

// clip cuts a text at the beginning or end of the output, so that ten of these texts are at most half of the output.
func clip(text string, max int) string {
	at := max / 20
	if len(text) <= at {
		return text
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	if end := strings.LastIndex(text[:at], ", "); end > 0 {
		at = end + 1
	}
	return fmt.Sprintf("%s … %s more: see --report=FILE", text[:at], plural(len(text)-at, "byte"))
}

func joinTexts(parts []part) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.text)
	}
	return b.String()
}

// header returns the lines about the copy.
func (p *Plan) header(max int) string {
	c := p.Copy
	moment := c.From.Format(time.TimeOnly)
	if to := c.To.Format(time.TimeOnly); to != moment {
		moment += " to " + to
	}
	what := strings.Join(p.Packages, " ")
	if p.Against != nil {
		what += " against " + p.Against.name()
	}
	text := fmt.Sprintf("plan of %s · copy of %s, %s, %s", clip(what, max), clip(c.Context, max), moment, plural(c.Objects, "object"))
	if p.As != "now" {
		text += " · as if they were " + map[string]string{"create": "new", "delete": "deleted"}[p.As]
	}
	if p.Rehandle {
		text += " · changed handlers are called again"
	}
	text += " · box: " + p.Box
	if p.Box == "none" {
		text += " (the operator could reach everything that you can reach)"
	}
	return printable.Line(text)
}

// sentence returns a summary of the plan.
func (p *Plan) sentence() string {
	if p.Against != nil {
		return p.Against.sentence()
	}
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

// words are the words for the verdicts in the output.
var words = map[Verdict]string{
	VerdictFails: "fail", VerdictStops: "stop", VerdictWaits: "wait", VerdictChanges: "change", VerdictRecords: "record only",
	VerdictPaused: "paused", VerdictUnchanged: "unchanged",
}

// title returns the first line about a shape.
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
	return printable.Line(fmt.Sprintf("%7s  %-12s %s  %s  %s", thousands(s.Count), words[s.Verdict], s.Short, about, firstOf(s.Objects)))
}

// firstOf returns the first of some names.
func firstOf(names []string) string {
	text := strings.Join(names[:min(maxNames, len(names))], ", ")
	if len(names) > maxNames {
		text += ", …"
	}
	return text
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
		case OutcomeIgnored:
			line("%s: would fail, and its errors are ignored: %s", h.ID, h.Error)
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
		// An earlier pass can have pruned children that the last pass does not see, so the number of its deletions is no total.
		text := fmt.Sprintf("%d applied, %d pruned, %d refused", p.Applied, p.Pruned, p.Refused)
		if p.Message != "" {
			text += ": " + p.Message
		}
		line("last pass %s: %s", p.Outcome, text)
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

// footer returns the summary, the numbers of requests, and the gaps of the plan: resources that were not tried, and unknown effects.
func (p *Plan) footer(max int) string {
	var b strings.Builder
	line := func(name, text string) {
		fmt.Fprintf(&b, "  %s: %s\n", clip(printable.Line(name), max), clip(printable.Line(text), max))
	}
	if p.Ended != "" {
		line("incomplete", p.Ended)
	}
	if p.Against != nil && p.Against.Ended != "" {
		line("incomplete", p.Against.name()+": "+p.Against.Ended)
	}
	line("in short", p.sentence())
	if counts := objectCounts(p.Shapes); counts != "" && p.Against == nil {
		line("objects", counts)
	}
	if p.Rehandle {
		line("called again", cmp.Or(p.rehandled(), "nothing, because no handler has a version"))
	}
	line("requests", counted(p.Requests))
	if p.Against != nil {
		line("requests of "+p.Against.name(), p.Against.counted())
		if p.Against.Foreign {
			line("compared", "changed objects, their final states, and rejected requests; "+p.Against.unknown(p.Shapes))
		}
		line("noise", p.Against.noise())
		p.Against.versions(line)
	}
	line("not tried", cmp.Or(strings.Join(p.NotTried, ", "), "nothing"))
	if p.Against != nil && len(p.Against.NotTried) > 0 {
		line("not tried by "+p.Against.name(), strings.Join(p.Against.NotTried, ", "))
	}
	line("not known", cmp.Or(strings.Join(p.CannotTell, ", "), "nothing"))
	return b.String()
}

// objectCounts counts the objects that the accepted requests create, change and delete. It leaves out deletions of collections, because
// their objects are not known.
func objectCounts(all []Shape) string {
	var created, changed, deleted int
	for _, s := range all {
		for _, w := range s.Writes {
			create, remove := slices.Contains(w.Verbs, "create"), slices.Contains(w.Verbs, "delete")
			switch {
			case len(w.Refused) > 0 || slices.Contains(w.Verbs, "deletecollection"):
			case create && remove:
				created, deleted = created+s.Count, deleted+s.Count
			case create:
				created += s.Count
			case remove:
				deleted += s.Count
			default:
				changed += s.Count
			}
		}
	}
	var parts []string
	for _, part := range []struct {
		n    int
		verb string
	}{{created, "create"}, {changed, "change"}, {deleted, "delete"}} {
		if part.n > 0 {
			parts = append(parts, thousands(part.n)+" to "+part.verb)
		}
	}
	return strings.Join(parts, ", ")
}

// rehandled describes the handlers with versions.
func (p *Plan) rehandled() string {
	var all []string
	for _, r := range p.Rehandled {
		all = append(all, fmt.Sprintf("%s (version %s) on %s", r.Handler, r.Version, plural(r.Objects, "object")))
	}
	return strings.Join(all, ", ")
}

// counted formats the numbers of requests.
func counted(requests []Request) string {
	own := 0
	var others []Request
	for _, r := range requests {
		if r.Own {
			own += r.Count
		} else {
			others = append(others, r)
		}
	}
	return fmt.Sprintf("%s; %s of the operator itself", cmp.Or(listed(others), "none of handlers"), thousands(own))
}

// listed formats numbers of requests, without a difference between senders.
func listed(requests []Request) string {
	counts := make([]string, len(requests))
	for i, r := range requests {
		counts[i] = thousands(r.Count) + " " + r.Verb + " " + r.Resource
	}
	return strings.Join(counts, ", ")
}

// Texts returns the header, the sentence, the text of each shape, and the footer of a plan, as in [Plan.WriteText].
func (p *Plan) Texts() (header, sentence string, all []string, footer string) {
	for _, s := range p.Shapes {
		all = append(all, s.text())
	}
	return p.header(math.MaxInt), p.sentence(), all, p.footer(math.MaxInt)
}
