package node

import (
	"net/netip"
	"sync"
)

const hostIP = "127.0.0.1"

// addresses assigns a unique address to each pod. Nothing listens on the addresses, but
// operators may identify pods by them. It may be used concurrently.
type addresses struct {
	mu   sync.Mutex
	last netip.Addr
	used map[netip.Addr]string // address to the pod's UID
}

// podNet is the network of the pods, with more than 65,000 addresses.
var podNet = netip.MustParsePrefix("10.244.0.0/16")

func newAddresses() *addresses {
	return &addresses{last: podNet.Addr(), used: map[netip.Addr]string{}}
}

// keep reserves the address that a pod has already.
func (a *addresses) keep(ip, uid string) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return // no address yet
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[addr] = uid
}

// take returns a free address. If all are in use, pods share one.
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

// release frees the address of a deleted pod.
func (a *addresses) release(ip, uid string) {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return // it had no address
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[addr] == uid {
		delete(a.used, addr)
	}
}
