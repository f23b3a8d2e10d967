package kopf

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// webhookFlags are the flags of the webhook server.
type webhookFlags struct {
	listen, url, service string
	ca, cert, key        string
	clientCA, dumpCA     string
	prefix, config       string
	managed, dev         string
}

func (f *webhookFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.listen, "webhook-listen", "", "receive admission reviews at HOST:PORT, or at unix:PATH behind a proxy, instead of Settings.Admission.Server")
	set.StringVar(&f.url, "webhook-url", "", "the https URL at which the cluster reaches the webhooks")
	set.StringVar(&f.service, "webhook-service", "", "the service by which the cluster reaches the webhooks: NAMESPACE/NAME[:PORT][/PATH]")
	set.StringVar(&f.ca, "webhook-ca", "", "a file with the CA certificates that the API server must trust (default: the operator's own CA)")
	set.StringVar(&f.cert, "webhook-cert", "", "a file with the certificate of the webhooks, read again when it changes (default: a generated one)")
	set.StringVar(&f.key, "webhook-key", "", "the file with its key")
	set.StringVar(&f.clientCA, "webhook-client-ca", "", "a file with the authorities of clients; others are rejected")
	set.StringVar(&f.dumpCA, "webhook-dump-ca", "", "write the authorities that the cluster must trust to a file")
	set.StringVar(&f.prefix, "webhook-prefix", "", "the beginning of the paths of the webhooks, such as /hooks")
	set.StringVar(&f.config, "webhook-config", "", "announce the address in a file that kopf dev keeps up to date, instead of --webhook-url, --webhook-service and --webhook-ca")
	set.StringVar(&f.managed, "webhook-managed", "", "create and update the webhook configurations of this name, such as claims.example.com")
	set.StringVar(&f.dev, "webhook-dev", "", "mark the webhook configurations with the id of a development session; their failures block no requests")
}

// session matches an id of a development session, which is used as a label and as a part of a name.
var session = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// parse checks the flags.
func (f *webhookFlags) parse() (admissionFlags, error) {
	flags := admissionFlags{managed: f.managed, session: f.dev}
	if err := f.check(); err != nil {
		return flags, err
	}
	server := &webhook.Server{
		Address: f.listen, URL: f.url, CertFile: f.cert, KeyFile: f.key, CAFile: f.ca, CADump: f.dumpCA,
		ClientCAFile: f.clientCA, Path: f.prefix, ConfigFile: f.config,
	}
	if f.service != "" {
		service, err := webhook.ParseService(f.service)
		if err != nil {
			return flags, fmt.Errorf("--webhook-service: %w", err)
		}
		server.Service = &service
	}
	if f.listen != "" {
		flags.server = server
	}
	return flags, nil
}

func (f *webhookFlags) check() error {
	if f.listen == "" {
		for _, flag := range []struct{ name, value string }{
			{"url", f.url}, {"service", f.service}, {"ca", f.ca}, {"cert", f.cert}, {"key", f.key},
			{"client-ca", f.clientCA}, {"dump-ca", f.dumpCA}, {"prefix", f.prefix}, {"config", f.config},
		} {
			if flag.value != "" {
				return fmt.Errorf("--webhook-%s requires --webhook-listen: say where to receive the reviews", flag.name)
			}
		}
	}
	switch {
	case f.url != "" && f.service != "":
		return errors.New("--webhook-url excludes --webhook-service: use one or the other")
	case f.config != "" && (f.url != "" || f.service != "" || f.ca != ""):
		return errors.New("--webhook-config excludes --webhook-url, --webhook-service and --webhook-ca: use one or the other")
	case (f.cert == "") != (f.key == ""):
		return errors.New("--webhook-cert and --webhook-key belong together: give both")
	case f.prefix != "" && !strings.HasPrefix(f.prefix, "/"):
		return fmt.Errorf("--webhook-prefix=%s: want a path that begins with a slash", f.prefix)
	case f.dev != "" && !session.MatchString(f.dev):
		return fmt.Errorf("--webhook-dev=%s: want at most 40 lower-case letters, digits and hyphens", f.dev)
	}
	if f.url != "" {
		if err := webhook.CheckURL(f.url); err != nil {
			return fmt.Errorf("--webhook-url: %w", err)
		}
	}
	if f.managed != "" {
		if err := admission.CheckManaged(f.managed); err != nil {
			return fmt.Errorf("--webhook-managed: %w", err)
		}
	}
	if f.listen == "" {
		return nil
	}
	return f.checkListen()
}

func (f *webhookFlags) checkListen() error {
	if path, unix := strings.CutPrefix(f.listen, "unix:"); unix {
		switch {
		case path == "":
			return errors.New("--webhook-listen=unix: lacks the path of the socket")
		case f.cert != "" || f.clientCA != "" || f.dumpCA != "":
			return errors.New("--webhook-listen=unix:PATH is plain HTTP: certificates belong to the listener in front of it")
		case f.url == "" && f.service == "" && f.config == "":
			return errors.New("--webhook-listen=unix:PATH: the cluster cannot reach a socket; add --webhook-url or --webhook-service")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return fmt.Errorf("--webhook-listen=%s: want HOST:PORT or unix:PATH", f.listen)
	}
	if ip := net.ParseIP(host); (host == "" || ip != nil && ip.IsUnspecified()) && f.url == "" && f.service == "" && f.config == "" {
		return fmt.Errorf("--webhook-listen=%s listens on all addresses, and none of them is for the cluster: add --webhook-url or --webhook-service", f.listen)
	}
	return nil
}
