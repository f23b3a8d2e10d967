package webhooks

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// maxWebhooks is the maximum number of webhooks listed above the reviews.
const maxWebhooks = 6

// drawWebhooks draws the tunnel, and the webhooks in the cluster.
func (p *Page) drawWebhooks(b *render.Block) {
	p.drawWayIn(b)
	list := p.screen.State.WebhooksByUrgency()
	shown := list[:min(len(list), max(1, min(maxWebhooks, b.H/4)))]
	width := 0
	for i := range shown {
		width = max(width, render.Width(p.screen.State.ShortName(shown[i].Handler)))
	}
	for i := range shown {
		p.drawWebhook(b, &shown[i], min(width, max(8, b.W/4)))
	}
	if n := len(list) - len(shown); n > 0 {
		b.End(b.Line().Skip(1).Put(explain.Dim, "… "+explain.Thousands(n)+" more"))
	}
}

// drawWayIn draws the connection from the cluster to the handlers: the tunnel of this tool, or the operator's address.
func (p *Page) drawWayIn(b *render.Block) {
	s := p.screen.State
	way := s.Webhooks
	l := b.Line().Skip(1).Cell(explain.Dim, "tunnel", 8)
	switch {
	case s.WayInLost() != "":
		b.End(l.Put(explain.Err, "✗ lost").Put(explain.Dim, ", being opened again; nothing is reviewed until then"))
		b.Prose(explain.Err, firstLine(s.WayInLost()), 3)
		return
	case way.Phase == runner.WebhooksFailed:
		b.End(l.Put(explain.Err, "✗ there is none"))
		b.Prose(explain.Err, firstLine(way.Error), 5)
		b.Prose(explain.Dim, "R tries again, after you have removed the obstacle. Other tunnels are flags of this command: see --webhook.", 2)
		return
	case way.Phase == runner.WebhooksOpening:
		b.End(l.Put(explain.Busy, "▸ being opened and checked"))
		return
	case way.Phase == runner.WebhooksOpen:
		l.Put(explain.OK, "✓ ").Put(explain.Text, way.Way).Put(explain.Dim, " at ").Put(explain.Text, way.Address).Also(explain.Dim, way.Why)
	case s.Snapshot != nil && s.Snapshot.Admission != nil && s.Snapshot.Admission.Way != "":
		l.Put(explain.OK, "✓ ").Put(explain.Text, s.Snapshot.Admission.Way).Also(explain.Dim, "the operator's own")
	default:
		l.Put(explain.Warn, "◌ not announced yet")
	}
	b.End(l)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (p *Page) drawWebhook(b *render.Block, w *inspect.Webhook, width int) {
	word := explain.WebhookWord(w.State)
	l := b.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1).Cell(explain.Dim, word.Text, 9).Skip(1)
	l.Cell(explain.Text, p.screen.State.ShortName(w.Handler), width).Skip(2).Cell(explain.Dim, string(w.Kind), 8).Skip(2)
	if w.Error != "" {
		b.End(l.Put(explain.Err, firstLine(w.Error)))
		return
	}
	l.Put(explain.Dim, describeRules(w))
	l.Also(explain.Dim, strings.Join(w.Labels, ", "))
	if w.FailurePolicy == "Ignore" {
		l.Also(explain.Dim, "failures are ignored")
	}
	if w.Persistent {
		l.Also(explain.Dim, "persistent")
	}
	b.End(l)
}

// describeRules describes the reviewed requests.
func describeRules(w *inspect.Webhook) string {
	if len(w.Rules) == 0 {
		return "the cluster has no such resource"
	}
	var texts []string
	for _, r := range w.Rules {
		name, _, _ := strings.Cut(r.Resource, ".")
		if r.Sub != "" {
			name += "/" + r.Sub
		}
		operations := strings.ToLower(strings.Join(r.Operations, ", "))
		if operations == "*" {
			operations = "all operations"
		}
		texts = append(texts, name+": "+operations)
	}
	return strings.Join(texts, "; ")
}
