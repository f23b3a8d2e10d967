package peering

import (
	"encoding/json"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Defaults of peering, as in Kopf for Python.
const (
	// DefaultName is the name of the peering object that operators use by default.
	DefaultName = "default"

	// DefaultLifetime is how long a record is valid after its renewal.
	DefaultLifetime = 60 * time.Second

	// DevPriority is the priority of operators in development.
	DevPriority = 666

	// FreezePriority is the priority of "kopf freeze".
	FreezePriority = 100
)

// Peer is the record of an operator, or of "kopf freeze", in a peering object.
type Peer struct {
	Identity string
	Priority int
	Lifetime time.Duration // whole seconds in the object
	LastSeen time.Time     // time of the last renewal, by the peer's clock

	// Deadline is the time when the record expires. It is LastSeen plus Lifetime, unless an [Observer] corrects it.
	Deadline time.Time

	// Only operators and tools in Go write the following fields. They are zero in other records.

	Since   time.Time // time when the peer joined
	Message string    // reason for joining, shown to people
	Pause   *Pause    // pause of the peer; nil if it is not paused
}

// Pause is a peer's record that it handles no objects at the moment.
type Pause struct {
	Since time.Time
	By    []string // identities of the peers that cause the pause
}

// IsDead reports whether the record has expired.
func (p *Peer) IsDead(now time.Time) bool { return !now.Before(p.Deadline) }

// ParsePeers returns the records in the status of a peering object, sorted by identity. Missing or malformed fields of a
// record have defaults: a priority of 0, a lifetime of 60s, last seen now. Other members of the status are ignored.
func ParsePeers(status map[string]any, now time.Time) []Peer {
	var all []Peer
	for identity, value := range status {
		if record, ok := value.(map[string]any); ok {
			all = append(all, parsePeer(identity, record, now))
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Identity < all[j].Identity })
	return all
}

func parsePeer(identity string, record map[string]any, now time.Time) Peer {
	p := Peer{
		Identity: identity,
		Priority: int(number(record["priority"], 0)),
		Lifetime: time.Duration(number(record["lifetime"], int64(DefaultLifetime/time.Second))) * time.Second,
		LastSeen: moment(record["lastseen"]),
		Since:    moment(record["since"]),
	}
	p.Message, _ = record["message"].(string)
	if p.LastSeen.IsZero() {
		p.LastSeen = now
	}
	if pause, ok := record["paused"].(map[string]any); ok {
		p.Pause = &Pause{Since: moment(pause["since"])}
		by, _ := pause["by"].([]any)
		for _, identity := range by {
			if text, ok := identity.(string); ok {
				p.Pause.By = append(p.Pause.By, text)
			}
		}
	}
	p.Deadline = p.LastSeen.Add(p.Lifetime)
	return p
}

// maxNumber limits priorities and lifetimes to the number of seconds that fits into a [time.Duration].
const maxNumber = 100 * 365 * 24 * 3600

// number converts a JSON number, or a number in a string, to an integer. As in Python, it truncates fractions.
func number(value any, otherwise int64) int64 {
	var n float64
	switch v := value.(type) {
	case int64:
		n = float64(v)
	case int:
		n = float64(v)
	case float64:
		n = v
	case json.Number:
		return number(v.String(), otherwise)
	case string:
		parsed, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return otherwise
		}
		n = parsed
	default:
		return otherwise
	}
	if math.IsNaN(n) {
		return otherwise
	}
	return int64(min(max(n, -maxNumber), maxNumber))
}

// moment parses a time. It returns the zero time if the value is not a valid time.
func moment(value any) time.Time {
	text, _ := value.(string)
	t, err := object.ParseTime(text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Record returns the merge patch of the peer's record in the status of a peering object. Empty fields are nil in the
// patch. For a peer without a lifetime, the patch is nil, which removes the record.
func (p *Peer) Record() map[string]any {
	if p.Lifetime <= 0 {
		return nil
	}
	record := map[string]any{
		"priority": p.Priority,
		"lifetime": max(1, int64(p.Lifetime/time.Second)),
		"lastseen": object.FormatTime(p.LastSeen),
		"since":    nil, "message": nil, "paused": nil,
	}
	if !p.Since.IsZero() {
		record["since"] = object.FormatTime(p.Since)
	}
	if p.Message != "" {
		record["message"] = p.Message
	}
	if p.Pause != nil {
		record["paused"] = map[string]any{"since": object.FormatTime(p.Pause.Since), "by": p.Pause.By}
	}
	return record
}
