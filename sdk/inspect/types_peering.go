package inspect

import "time"

// Peering is an object by which operators discover each other.
type Peering struct {
	Kind      string `json:"kind"`            // "KopfPeering" or "ClusterKopfPeering"
	Group     string `json:"group,omitempty"` // "kopf.dev"; "zalando.org" for operators from before 2021
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Exists    bool   `json:"exists"`
	Peers     []Peer `json:"peers,omitempty"` // sorted by identity
}

// String names the object: "KopfPeering default in app". The group is added if it is not kopf.dev.
func (p *Peering) String() string {
	name := p.Kind
	if p.Group != "" && p.Group != "kopf.dev" {
		name += "." + p.Group
	}
	name += " " + p.Name
	if p.Namespace != "" {
		name += " in " + p.Namespace
	}
	return name
}

// Peer is a participant of a peering object: an operator, or a person or tool that pauses operators.
type Peer struct {
	Identity string    `json:"identity"`
	Self     bool      `json:"self,omitempty"` // the peer is the inspected operator
	Priority int       `json:"priority"`
	State    PeerState `json:"state"`
	Message  string    `json:"message,omitempty"` // reason for the record, for people
	Since    time.Time `json:"since,omitzero"`    // time when the peer joined; zero if unknown
	LastSeen time.Time `json:"lastSeen"`          // time of the last renewal, by the peer's clock
	Until    time.Time `json:"until"`             // time when the record expires unless the peer renews it

	// PausedSince and PausedBy are a paused peer's own statements about its pause.
	PausedSince time.Time `json:"pausedSince,omitzero"`
	PausedBy    []string  `json:"pausedBy,omitempty"`
}

// PeerState is the role of a peer that follows from its priority.
type PeerState string

// The states of peers.
const (
	PeerActive PeerState = "active" // the peer has the highest priority, and the other peers are paused
	PeerPaused PeerState = "paused" // another peer has the same or a higher priority
	PeerGone   PeerState = "gone"   // the record has expired, but was not removed yet
)
