package kopf

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Stepper is the request of a change handler or of its sub-handler: a [Change] or a [FieldChange].
type Stepper interface{ stepper() stepper }

// stepper identifies the handling of a request. The call is nil in a request constructed in a test.
type stepper struct {
	call   *handlers.Call
	uid    types.UID
	reason Reason
}

func (c *Change[T]) stepper() stepper { return stepperOf(c.subs, &c.Request, c.Reason) }

func (c *FieldChange[F]) stepper() stepper { return stepperOf(c.subs, &c.Request, c.Reason) }

func stepperOf(subs *subHandlers, r *Request, reason Reason) stepper {
	s := stepper{uid: r.UID, reason: reason}
	if subs != nil {
		s.call = subs.call
	}
	return s
}

// key returns the idempotency key of a part of the handling.
func (s stepper) key(part string) StepKey {
	handler, turn := "", string(s.reason)
	if s.call != nil {
		handler = s.call.Handler.ID
		if keyed := s.keyed(); keyed != nil {
			turn = keyed.Turn(s.call.Started)
		}
	}
	return StepKey(state.StepKey(string(s.uid), handler, turn, part))
}

// StepKey is an idempotency key: 40 lower-case letters and digits.
type StepKey string

// KeyFor returns the idempotency key of a part of this handling. The key is the same in each attempt, in each process, and in each
// operator that takes over the object; the next change of the object has another key. Pass the key to another system, which then
// recognizes a repeated call. The part names the call; add the values that the call depends on, such as "resize-5Gi", since the
// object can change between two attempts.
//
// Call KeyFor in each attempt, before the handler looks whether there is something to do: the operator counts the handlings that
// have used keys. The count is an annotation of the object, written by the patches that record the outcomes anyway. Creations and
// deletions need no count. A handler of [OnResume] with keys costs a patch of each object at each start.
//
// Other systems forget keys, some after an hour. So after a longer downtime, check whether the resource exists before you create
// it. An object that is restored from a backup has a new UID, and so new keys. KeyFor is safe for concurrent use while the handler
// runs. See [Resources outside of the cluster].
//
// [Resources outside of the cluster]: https://github.com/kopf-dev/kopf/blob/main/docs/outside-resources.md
func KeyFor(c Stepper, part string) StepKey { return c.stepper().key(part) }

// UUID returns the key in the form of a UUID, for systems that accept nothing else.
func (k StepKey) UUID() string {
	sum := sha256.Sum256([]byte(k))
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x50 // version 5: the hash of a name
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	text := hex.EncodeToString(id)
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

// Name returns a name with the key, for systems that identify a resource only by its name. The name is a DNS label of at most limit
// characters if the prefix begins with a letter, such as "uploads-5c2vy…". The last 20 characters are from the key. If the name is
// too long, the prefix is cut. A limit below 20 also cuts the key, so names can collide.
func (k StepKey) Name(prefix string, limit int) string {
	const chars = 20 // 100 bits
	key := string(k[:max(0, min(chars, limit, len(k)))])
	label := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, prefix)
	label = strings.Trim(label[:max(0, min(len(label), limit-len(key)-1))], "-")
	if label == "" {
		return key
	}
	return label + "-" + key
}
