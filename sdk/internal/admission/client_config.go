package admission

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
)

// ClientConfig is the address to which the API server sends reviews: a URL or a service.
type ClientConfig struct {
	URL      string   `json:"url,omitempty"`
	Service  *Service `json:"service,omitempty"`
	CABundle []byte   `json:"caBundle,omitempty"` // PEM; in base64 on the wire

	Lost string `json:"-"` // reason why the API server cannot reach it at present, for people
}

// Service is a service of the cluster.
type Service struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Path      string `json:"path,omitempty"`
	Port      int    `json:"port,omitempty"`
}

// For returns the configuration for one handler: with its id at the end of the path. Kubernetes wants the path of a
// service to consist of DNS names; an id that is none is replaced by the name of its webhook.
func (c ClientConfig) For(id, name string) ClientConfig {
	if c.Service != nil {
		service := *c.Service
		for part := range strings.SplitSeq(id, "/") {
			if !dnsSubdomain.MatchString(part) {
				id = name
				break
			}
		}
		service.Path = strings.TrimRight(service.Path, "/") + "/" + id
		c.Service = &service
		return c
	}
	parts := strings.Split(id, "/")
	for i, part := range parts {
		parts[i] = quote(part)
	}
	c.URL = strings.TrimRight(c.URL, "/") + "/" + strings.Join(parts, "/")
	return c
}

// quote escapes all but the characters that Kopf for Python leaves as they are.
func quote(part string) string {
	return strings.NewReplacer("+", "%20").Replace(url.QueryEscape(part))
}

// Path returns the path before the ids of handlers, without a slash at the end.
func (c ClientConfig) Path() string {
	if c.Service != nil {
		return strings.TrimRight(c.Service.Path, "/")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.Path, "/")
}

// String returns the URL, or "service NAMESPACE/NAME:PORT/PATH".
func (c ClientConfig) String() string {
	if s := c.Service; s != nil {
		return "service " + s.Namespace + "/" + s.Name + ":" + strconv.Itoa(cmp.Or(s.Port, 443)) + s.Path
	}
	return c.URL
}

// Equal reports whether two configurations are the same.
func (c ClientConfig) Equal(other ClientConfig) bool {
	return c.String() == other.String() && string(c.CABundle) == string(other.CABundle)
}
