package kopftest

import (
	"fmt"
	"net/http"
)

// lifeHeader identifies the operator that sends a request.
const lifeHeader = "Kopftest-Life"

// life is one operator that uses a proxy, until it is killed.
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

// kill ends the operator that has sent a request.
func (p *FaultProxy) kill(r *http.Request) {
	p.mu.Lock()
	l := p.lives[r.Header.Get(lifeHeader)]
	p.mu.Unlock()
	if l != nil {
		l.gate.shut(errKilled)
	}
}

// wrap is a transport wrapper, as [rest.Config] takes it.
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

// WrappedRoundTripper gives access to the connections, to close idle ones.
func (t *lifeTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
