package tui

import (
	"testing"
	"time"
)

func TestTick_MovesCountdowns(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j").sees("Retrying in 12s.")
	u.wait(4 * time.Second).sees("Retrying in 8s.")
	u.wait(20 * time.Second).sees("Retrying now.")
}

func TestApp_OffersNoPagesThatDoNotExist(t *testing.T) {
	u := start(t, "normal", 200, 50)
	for _, word := range []string{"Indices", "Webhooks", "Peers"} {
		u.seesNot(word)
	}
}
