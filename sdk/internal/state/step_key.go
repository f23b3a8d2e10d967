package state

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// StepTurn returns the part of idempotency keys that differs between the handlings of an object. An object is created
// once and deleted once, so these handlings need no number.
func StepTurn(reason handlers.Reason, epoch int) string {
	switch reason {
	case handlers.ReasonCreate, handlers.ReasonDelete:
		return string(reason)
	default:
		return string(reason) + " " + strconv.Itoa(epoch)
	}
}

// StepKey returns the idempotency key of a part of a handling.
func StepKey(uid, handler, turn, part string) string {
	hash := sha256.New()
	for _, text := range []string{"kopf-step", uid, handler, turn, part} {
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	return stepKeyEncoding.EncodeToString(hash.Sum(nil))[:stepKeyLength]
}

const stepKeyLength = 40 // characters: 200 bits

var stepKeyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
