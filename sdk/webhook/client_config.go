package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// ClientConfig describes how the API server reaches a webhook server: by URL or by Service. Exactly one of the two is
// set. The operator appends the ids of its handlers to the path.
type ClientConfig struct {
	// URL has the scheme "https", and no user, query or fragment.
	URL string

	// Service is the Kubernetes Service through which the API server reaches the server.
	Service *Service

	// CABundle has the certificates of the authorities that the API server trusts, in PEM. If it is empty, the API server
	// trusts the authorities of its system.
	CABundle []byte

	// Lost is the reason why the cluster cannot reach the server at the moment; the inspector shows it. It is empty unless
	// a failure is known.
	Lost string
}

// Service is a tunnel through a Service of the cluster.
type Service struct {
	Namespace, Name string
	Port            int    // defaults to 443
	Path            string // begins with a slash; defaults to none
}

// String returns "NAMESPACE/NAME:PORT/PATH". [ParseService] parses it.
func (s Service) String() string {
	return s.Namespace + "/" + s.Name + ":" + strconv.Itoa(cmp.Or(s.Port, 443)) + s.Path
}

// ParseService parses "NAMESPACE/NAME", optionally with a port and a path: "prod/claims:8443/hooks".
func ParseService(text string) (Service, error) {
	fail := func(format string, args ...any) (Service, error) {
		return Service{}, fmt.Errorf("service %q: %s; want NAMESPACE/NAME[:PORT][/PATH]", text, fmt.Sprintf(format, args...))
	}
	namespace, rest, found := strings.Cut(text, "/")
	if !found || namespace == "" {
		return fail("the namespace is missing")
	}
	name, path, hasPath := strings.Cut(rest, "/")
	s := Service{Namespace: namespace}
	name, port, hasPort := strings.Cut(name, ":")
	if hasPort {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return fail("%q is not a port", port)
		}
		s.Port = int(number)
	}
	if name == "" {
		return fail("the name is missing")
	}
	if s.Name = name; hasPath && path != "" {
		s.Path = "/" + path
	}
	if strings.ContainsAny(text, "?# ") {
		return fail("it has a query, a fragment or a space")
	}
	return s, nil
}

// CheckURL returns an error unless Kubernetes accepts the URL of a webhook.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("webhook URL: %w", err)
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("webhook URL %q: Kubernetes wants https://HOST[:PORT][/PATH]", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fmt.Errorf("webhook URL %q: Kubernetes allows no user, query or fragment; remove it", u.Redacted())
	}
	return nil
}

// Check returns an error unless the configuration names a URL or a Service that Kubernetes accepts.
func (c ClientConfig) Check() error {
	switch {
	case c.URL == "" && c.Service == nil:
		return errors.New("the webhook's address is neither a URL nor a service; set one")
	case c.URL != "" && c.Service != nil:
		return errors.New("the webhook's address is both a URL and a service; set one")
	case c.URL != "":
		return CheckURL(c.URL)
	case c.Service.Namespace == "" || c.Service.Name == "":
		return errors.New("the webhook's service lacks its namespace or its name; set both")
	}
	return nil
}
