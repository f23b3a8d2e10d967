package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

// inquiryTimeout limits the time of an inquiry.
const inquiryTimeout = 10 * time.Second

// inquirer is a page that requests more data from the operator than the state.
type inquirer interface {
	// Inquire returns the page's next inquiry, or nil. It is called after each message while the page is shown, but
	// not before the previous inquiry of any page is answered.
	Inquire() parts.Inquiry
}

// answerMsg delivers the response to an inquiry.
type answerMsg struct{ take func() }

// inquire sends the page's inquiry to the operator.
func (a *app) inquire() tea.Cmd {
	p, ok := a.page().(inquirer)
	if !ok || a.inquiring || a.screen.State.Snapshot == nil || !a.screen.State.Live {
		return nil
	}
	inquiry := p.Inquire()
	if inquiry == nil {
		return nil
	}
	a.inquiring = true
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(a.ctx, inquiryTimeout)
		defer cancel()
		return answerMsg{inquiry(ctx, a.source)}
	}
}
