package node

import (
	"net/netip"
	"sync"
)

const hostIP = "127.0.0.1"

// addresses gives each pod an address of its own. Nobody listens there, but operators
// tell pods apart by them.
type addresses struct {
	mu   sync.Mutex
	last netip.Addr
	used map[netip.Addr]string // by the pod's UID
}

// podNet has room for 65,533 pods.
var podNet = netip.MustParsePrefix("10.244.0.0/16")

func newAddresses() *addresses {
	return &addresses{last: podNet.Addr(), used: map[netip.Addr]string{}}
}

// keep notes the address that a pod has from before a restart.
func (a *addresses) keep(ip, uid string) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return // none yet
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[addr] = uid
}

// take returns a free address. When all are in use, one is shared.
func (a *addresses) take(uid string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 1 << (32 - podNet.Bits()) {
		a.last = a.last.Next()
		if !podNet.Contains(a.last) {
			a.last = podNet.Addr().Next()
		}
		if _, taken := a.used[a.last]; !taken {
			break
		}
	}
	a.used[a.last] = uid
	return a.last.String()
}

// release frees the address of a pod that is gone.
func (a *addresses) release(ip, uid string) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return // it never had one
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[addr] == uid {
		delete(a.used, addr)
	}
}
