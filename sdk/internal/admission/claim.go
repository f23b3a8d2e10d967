package admission

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

const (
	// ClaimPrefix begins the annotations of a configuration that hold the claims, one for each operator.
	ClaimPrefix = "kopf.dev/webhooks-"

	// ClaimExpires is how long a claim lasts that is not renewed, since its operator was killed.
	ClaimExpires = 2 * time.Minute
)

// Claim is the mark of a running operator on a configuration that several operators may share, such as an old and a new
// version. The operator with the newest claim decides about the webhooks. The last operator to leave removes the webhooks.
type Claim struct {
	Operator string    `json:"operator"` // identity
	Order    int       `json:"order"`    // newer claims have a higher one, which depends on no clock
	Content  string    `json:"content"`  // digest of the webhooks that the operator wants
	Expires  time.Time `json:"expires"`
}

// After reports whether a claim is newer than another one.
func (c *Claim) After(other *Claim) bool {
	return cmp.Or(cmp.Compare(c.Order, other.Order), cmp.Compare(c.Operator, other.Operator)) > 0
}

// ClaimKey returns the annotation of an operator's claim.
func ClaimKey(operator string) string {
	digest := sha256.Sum256([]byte(operator))
	return ClaimPrefix + hex.EncodeToString(digest[:8])
}

// Digest returns the digest of webhooks for [Claim].
func Digest(webhooks json.RawMessage) string {
	digest := sha256.Sum256(webhooks)
	return hex.EncodeToString(digest[:8])
}

// Found is a configuration as it is in the cluster.
type Found struct {
	Version  string
	Webhooks json.RawMessage

	claims map[string]Claim // key: annotation; an invalid claim has expired
}

// ReadFound reads the claims of a configuration.
func ReadFound(o *object.Object) (*Found, error) {
	var meta struct {
		Annotations map[string]string `json:"annotations"`
	}
	if text := o.Member("metadata"); text != nil {
		if err := json.Unmarshal(text, &meta); err != nil {
			return nil, fmt.Errorf("decode the metadata of %s: %w", o, err)
		}
	}
	f := &Found{Version: o.ResourceVersion, Webhooks: o.Member("webhooks"), claims: map[string]Claim{}}
	for key, value := range meta.Annotations {
		if !strings.HasPrefix(key, ClaimPrefix) {
			continue
		}
		var claim Claim
		if err := json.Unmarshal([]byte(value), &claim); err != nil || claim.Operator == "" {
			claim = Claim{} // no operator renews it
		}
		f.claims[key] = claim
	}
	return f, nil
}

// Claim returns the claim of an operator, unless it has none, or an expired one.
func (f *Found) Claim(operator string, now time.Time) (Claim, bool) {
	claim, found := f.claims[ClaimKey(operator)]
	return claim, found && now.Before(claim.Expires)
}

// Others returns the claims of the other running operators, the newest one first.
func (f *Found) Others(operator string, now time.Time) []Claim {
	own, others := ClaimKey(operator), []Claim{}
	for key, claim := range f.claims {
		if key != own && now.Before(claim.Expires) {
			others = append(others, claim)
		}
	}
	sort.Slice(others, func(i, j int) bool { return others[i].After(&others[j]) })
	return others
}

// Claiming returns the patch of a configuration that renews a claim, and removes the expired ones. The claim may be nil, and
// so may the webhooks, to keep those that there are.
func (f *Found) Claiming(claim *Claim, marks *Metadata, webhooks json.RawMessage, now time.Time) (Configuration, error) {
	c := f.change(marks, webhooks, now)
	if claim == nil {
		return c, nil
	}
	text, err := json.Marshal(claim)
	c.Metadata.Annotations[ClaimKey(claim.Operator)] = new(string(text))
	return c, err
}

// Leaving returns the patch of a configuration that removes an operator's claim, and the expired ones. The webhooks may be
// nil, to keep those that there are.
func (f *Found) Leaving(operator string, webhooks json.RawMessage, now time.Time) Configuration {
	c := f.change(nil, webhooks, now)
	c.Metadata.Annotations[ClaimKey(operator)] = nil
	return c
}

// change returns a patch that the API server only accepts for the version that was found.
func (f *Found) change(marks *Metadata, webhooks json.RawMessage, now time.Time) Configuration {
	c := Change(marks, webhooks)
	c.Metadata.ResourceVersion = f.Version
	for key, claim := range f.claims {
		if !now.Before(claim.Expires) {
			c.Metadata.Annotations[key] = nil
		}
	}
	return c
}
