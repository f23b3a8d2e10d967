package binary

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// maxRedirects is the maximal number of redirects of one request, as in [net/http].
const maxRedirects = 10

// errRefused means that a server redirects to an address that is not as safe as its own, or sends too much. Another
// attempt would end alike.
var errRefused = errors.New("refused")

// newClient returns a client for the releases at a URL that isUsable accepts. It fails if a server does not answer. It
// reads files only of a mirror that is a folder, and then nothing else.
func newClient(base string) *http.Client {
	if u, err := url.Parse(base); err == nil && u.Scheme == "file" {
		return &http.Client{Transport: http.NewFileTransport(http.Dir("/")), CheckRedirect: refuseRedirect}
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
	t.ResponseHeaderTimeout = fetchStall
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}
}

// refuseRedirect is a CheckRedirect of [http.Client] that follows none.
func refuseRedirect(req *http.Request, _ []*http.Request) error {
	return fmt.Errorf("%w: a folder redirects to %s", errRefused, printable.WithoutPasswords(req.URL.String()))
}

// checkRedirect is a CheckRedirect of [http.Client] that follows to https only, and on this machine also to http.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("%w: more than %d redirects", errRefused, maxRedirects)
	}
	last := via[len(via)-1].URL
	if isSecure(req.URL) || isLocal(req.URL) && isLocal(last) {
		return nil
	}
	return fmt.Errorf("%w: %s redirects to %s, which is not https", errRefused, last.Host, printable.WithoutPasswords(req.URL.String()))
}

// isUsable reports whether a mirror at a URL is safe to use: with https, with http on this machine, or a folder.
func isUsable(u *url.URL) bool {
	return isSecure(u) || isLocal(u) || u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/")
}

func isSecure(u *url.URL) bool { return u.Scheme == "https" && u.Hostname() != "" }

// isLocal reports whether a URL is one of http on this machine, where nothing in between can change an answer.
func isLocal(u *url.URL) bool {
	if u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
