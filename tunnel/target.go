package tunnel

import (
	"encoding/base64"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// Target is the address that the API server calls: a URL, or a service of the cluster.
type Target struct {
	URL     string
	Service *webhook.Service // has precedence
}

// urlOf returns the URL of a host.
func urlOf(host string, port int) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// below returns the target of a path below this one.
func (t Target) below(elem ...string) Target {
	if t.Service != nil {
		s := *t.Service
		s.Path = path.Join(append([]string{"/", s.Path}, elem...)...)
		return Target{Service: &s}
	}
	return Target{URL: strings.TrimSuffix(t.URL, "/") + "/" + path.Join(elem...)}
}

// same reports whether both targets are the same.
func (t Target) same(other Target) bool {
	if t.Service == nil || other.Service == nil {
		return t == other
	}
	return *t.Service == *other.Service
}

// path returns the path of the target.
func (t Target) path() string {
	if t.Service != nil {
		return t.Service.Path
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return "" // the API server rejects it as well
	}
	return u.Path
}

// String names the target for people, without its path, which may be a secret.
func (t Target) String() string {
	if t.Service != nil {
		return "service " + webhook.Service{Namespace: t.Service.Namespace, Name: t.Service.Name, Port: t.Service.Port}.String()
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return t.URL
	}
	return u.Scheme + "://" + u.Host
}

// clientConfig returns the part of a webhook configuration that names the target. The CA is in PEM;
// without one, the API server trusts the authorities of its system.
func (t Target) clientConfig(ca []byte) map[string]any {
	config := map[string]any{}
	if len(ca) > 0 {
		config["caBundle"] = base64.StdEncoding.EncodeToString(ca)
	}
	if t.Service == nil {
		config["url"] = t.URL
		return config
	}
	service := map[string]any{"namespace": t.Service.Namespace, "name": t.Service.Name}
	if t.Service.Port != 0 {
		service["port"] = int64(t.Service.Port)
	}
	if t.Service.Path != "" {
		service["path"] = t.Service.Path
	}
	config["service"] = service
	return config
}
