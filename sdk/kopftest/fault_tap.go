package kopftest

import "net/http"

// tap decides about requests before the rules of a proxy do, and sees the answers of the API server.
type tap interface {
	request(r *http.Request, body []byte) *Fault // nil if the rules decide
	answer(r *http.Request, body []byte)
}

func (p *FaultProxy) faultOf(r *http.Request, body []byte) *Fault {
	if p.tap != nil {
		if fault := p.tap.request(r, body); fault != nil {
			return fault
		}
	}
	return p.decisions.forRequest(r)
}

func (p *FaultProxy) answered(r *http.Request, body []byte) {
	p.history.note(body)
	if p.tap != nil {
		p.tap.answer(r, body)
	}
}

// lastGate returns the gate of the operator that was connected last.
func (p *FaultProxy) lastGate() *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life.gate
}
