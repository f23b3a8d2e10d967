package webhooks

import (
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// maxWebhooks is how many webhooks are listed above the reviews.
const maxWebhooks = 6

// drawWebhooks draws the way in, and the webhooks in the cluster.
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
		b.End(b.Line().Skip(1).Put(model.Dim, "… "+model.Thousands(n)+" more"))
	}
}

// drawWayIn draws how the cluster reaches the handlers: as the tool has chosen, or as the operator says.
func (p *Page) drawWayIn(b *render.Block) {
	s := p.screen.State
	way := s.Webhooks
	l := b.Line().Skip(1).Cell(model.Dim, "way in", 8)
	switch {
	case s.WayInLost() != "":
		b.End(l.Put(model.Err, "✗ lost").Put(model.Dim, ", being opened again; nothing is reviewed until then"))
		b.Prose(model.Err, firstLine(s.WayInLost()), 3)
		return
	case way.Phase == runner.WebhooksFailed:
		b.End(l.Put(model.Err, "✗ there is none"))
		b.Prose(model.Err, firstLine(way.Error), 5)
		b.Prose(model.Dim, "R tries again, after you have changed what is in the way. Other ways are flags of this command: see --webhook.", 2)
		return
	case way.Phase == runner.WebhooksOpening:
		b.End(l.Put(model.Busy, "▸ being opened and checked"))
		return
	case way.Phase == runner.WebhooksOpen:
		l.Put(model.OK, "✓ ").Put(model.Text, way.Way).Put(model.Dim, " at ").Put(model.Text, way.Address).Also(model.Dim, way.Why)
	case s.Snapshot != nil && s.Snapshot.Admission != nil && s.Snapshot.Admission.Way != "":
		l.Put(model.OK, "✓ ").Put(model.Text, s.Snapshot.Admission.Way).Also(model.Dim, "the operator's own")
	default:
		l.Put(model.Warn, "◌ not announced yet")
	}
	b.End(l)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (p *Page) drawWebhook(b *render.Block, w *inspect.Webhook, width int) {
	word := model.WebhookWord(w.State)
	l := b.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1).Cell(model.Dim, word.Text, 9).Skip(1)
	l.Cell(model.Text, p.screen.State.ShortName(w.Handler), width).Skip(2).Cell(model.Dim, string(w.Kind), 8).Skip(2)
	if w.Error != "" {
		b.End(l.Put(model.Err, firstLine(w.Error)))
		return
	}
	l.Put(model.Dim, describeRules(w))
	l.Also(model.Dim, strings.Join(w.Labels, ", "))
	if w.FailurePolicy == "Ignore" {
		l.Also(model.Dim, "failures are ignored")
	}
	if w.Persistent {
		l.Also(model.Dim, "persistent")
	}
	b.End(l)
}

// describeRules says which requests are reviewed.
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
