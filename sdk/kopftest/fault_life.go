package kopftest

import (
	"fmt"
	"net/http"
)

// lifeHeader identifies the operator that sends a request.
const lifeHeader = "Kopftest-Life"

// life is a run of an operator that uses a proxy. It ends when the operator is killed.
type life struct {
	id   string
	gate *gate
}

func (p *FaultProxy) newLife() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &life{id: fmt.Sprint(len(p.lives) + 1), gate: newGate()}
	if p.lives == nil {
		p.lives = map[string]*life{}
	}
	p.lives[l.id], p.life = l, l
	return l
}

// kill ends the operator that sent a request.
func (p *FaultProxy) kill(r *http.Request) {
	p.mu.Lock()
	l := p.lives[r.Header.Get(lifeHeader)]
	p.mu.Unlock()
	if l != nil {
		l.gate.shut(errKilled)
	}
}

// wrap wraps the transport of a [rest.Config].
func (l *life) wrap(next http.RoundTripper) http.RoundTripper {
	return l.gate.wrap(&lifeTransport{l.id, next})
}

type lifeTransport struct {
	id   string
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *lifeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(lifeHeader, t.id)
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper returns the inner transport, so that client-go can close its idle connections.
func (t *lifeTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
