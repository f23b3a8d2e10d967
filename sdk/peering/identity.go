package peering

import (
	"cmp"
	"context"
	"crypto/rand"
	"net"
	"net/netip"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"
)

// NewIdentity returns $POD_ID. If it is not set, NewIdentity returns a new identity of the user, the host and the time in
// UTC, such as "alice@laptop/20260131120000/x7f". Kopf for Python uses the same format.
func NewIdentity() string {
	if pod := os.Getenv("POD_ID"); pod != "" {
		return pod
	}
	return PersonalIdentity() + "/" + time.Now().UTC().Format("20060102150405") + "/" + strings.ToLower(rand.Text()[:3])
}

// PersonalIdentity returns the identity of "kopf freeze" and "kopf resume", in Go and in Python: $POD_ID or, if it is not
// set, the user and the host, such as "alice@laptop". It is the same in all processes of a person.
func PersonalIdentity() string {
	if pod := os.Getenv("POD_ID"); pod != "" {
		return pod
	}
	return userName() + "@" + hostName()
}

// userName returns the name of the user from the environment or, if it has none, from the system.
func userName() string {
	if name := cmp.Or(os.Getenv("LOGNAME"), os.Getenv("USER"), os.Getenv("LNAME"), os.Getenv("USERNAME")); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator" // a container may run as a user without a name
}

// lookupTimeout limits the search for the names of the host.
const lookupTimeout = 2 * time.Second

// hostName returns the name of the host. The process looks it up once.
var hostName = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	var names []string
	addresses, _ := net.DefaultResolver.LookupHost(ctx, host) // if the lookup fails, the system's name of the host is used
	if len(addresses) > 0 {
		names, _ = net.DefaultResolver.LookupAddr(ctx, addresses[0])
	}
	return descriptiveName(host, names)
})

// descriptiveName returns the first name with a domain, or else the first name but "localhost", or else the host.
func descriptiveName(host string, names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := netip.ParseAddr(name)
		return err == nil || strings.HasSuffix(strings.TrimSuffix(name, "."), ".arpa")
	})
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".")
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, ".") }); i >= 0 {
		host = names[i]
	} else if i := slices.IndexFunc(names, func(name string) bool { return name != "localhost" }); i >= 0 {
		host = names[i]
	}
	for {
		short := strings.TrimSuffix(strings.TrimSuffix(host, ".local"), ".localdomain")
		if short == host || short == "" {
			return host
		}
		host = short
	}
}
