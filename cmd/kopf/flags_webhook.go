package main

import (
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/sdk/webhook"
	"github.com/kopf-dev/kopf/tunnel"
)

// ngrokTokenEnv is the environment variable with the token of an account of ngrok, as its own tools use it.
const ngrokTokenEnv = "NGROK_AUTHTOKEN"

// webhookFlags are the flags of the webhooks and their tunnel.
type webhookFlags struct {
	way          string
	host         string
	port         int
	wait         time.Duration
	url, service string
	certificates tunnel.Certificates

	ngrokToken, ngrokDomain    string
	relayImage, relayNamespace string
}

// add adds the flags.
func (f *webhookFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.way, "webhook", tunnel.Auto, "how the cluster reaches admission handlers: "+anyOf(tunnel.Words))
	set.IntVar(&f.port, "webhook-port", 0, "the port to listen at for admission reviews (default: any free one)")
	set.StringVar(&f.host, "webhook-host", "", "the address to listen at for admission reviews (default: that of the tunnel)")
	set.DurationVar(&f.wait, "webhook-wait", 0, "how long a review waits for the operator during a reload (default: as long as the API server waits, at most 10s)")
	set.StringVar(&f.url, "webhook-url", "", "the https URL at which the cluster reaches --webhook-port, by a tunnel of your own")
	set.StringVar(&f.service, "webhook-service", "", "the service by which the cluster reaches --webhook-port: NAMESPACE/NAME[:PORT][/PATH]")
	set.StringVar(&f.certificates.CertFile, "webhook-cert", "", "a file with the certificate of the webhooks, read again when it changes (default: a generated one)")
	set.StringVar(&f.certificates.KeyFile, "webhook-key", "", "the file with its key")
	set.StringVar(&f.certificates.CAFile, "webhook-ca", "", "a file with the authorities that the cluster must trust, or system for its system's authorities (default: a generated one)")
	set.StringVar(&f.certificates.ClientCAFile, "webhook-client-ca", "", "a file with the authorities of clients; others are rejected")
	set.StringVar(&f.certificates.DumpCA, "webhook-dump-ca", "", "write the authorities that the cluster must trust to a file")
	set.StringVar(&f.ngrokToken, "webhook-ngrok-token", "", "the token of your account of ngrok (default: $"+ngrokTokenEnv+")")
	set.StringVar(&f.ngrokDomain, "webhook-ngrok-domain", "", "the domain of your account of ngrok to use (default: one of ngrok's choice)")
	set.StringVar(&f.relayImage, "webhook-relay-image", "", "the image of the relay inside the cluster, with the program kopf")
	set.StringVar(&f.relayNamespace, "webhook-relay-namespace", "", "the namespace for the relay (default: that of the context)")
	completeWith(cmd, "webhook", tunnel.Words...)
	for _, name := range []string{"webhook-cert", "webhook-key", "webhook-ca", "webhook-client-ca", "webhook-dump-ca"} {
		if err := cmd.MarkFlagFilename(name); err != nil {
			panic(err) // the flag is not defined: a bug in this function
		}
	}
}

// check rejects flags that make no sense.
func (f *webhookFlags) check() error {
	if !slices.Contains(tunnel.Words, f.way) {
		return usagef("--webhook=%s: want %s%s", f.way, anyOf(tunnel.Words), didYouMean(f.way, tunnel.Words))
	}
	for _, needed := range []struct{ way, flag, value string }{
		{"url", "webhook-url", f.url}, {"service", "webhook-service", f.service}, {"relay", "webhook-relay-image", f.relayImage},
	} {
		if f.way == needed.way && needed.value == "" {
			return usagef("--webhook=%s needs --%s", needed.way, needed.flag)
		}
	}
	if err := f.checkUnused(); err != nil {
		return err
	}
	switch {
	case f.port < 0 || f.port > 65535:
		return usagef("--webhook-port=%d: want a number from 1 to 65535", f.port)
	case f.host != "" && net.ParseIP(f.host) == nil:
		return usagef("--webhook-host=%s: want an IP address of this machine, such as 0.0.0.0 for all", f.host)
	case f.wait < 0:
		return usagef("--webhook-wait=%s: must not be negative", f.wait)
	case (f.certificates.CertFile == "") != (f.certificates.KeyFile == ""):
		return usagef("--webhook-cert and --webhook-key belong together: give both")
	case f.certificates.CAFile == tunnel.SystemCA && f.certificates.DumpCA != "":
		return usagef("--webhook-ca=%s leaves nothing to write for --webhook-dump-ca: leave out one of them", tunnel.SystemCA)
	case f.url != "" && f.service != "":
		return usagef("--webhook-url excludes --webhook-service: use one or the other")
	case (f.url != "" || f.service != "") && f.port == 0:
		return usagef("--webhook-url and --webhook-service need --webhook-port: name the port that they lead to")
	case f.way == "ngrok" && f.token() == "":
		return usagef("--webhook=ngrok needs the token of your account: set $%s, or --webhook-ngrok-token", ngrokTokenEnv)
	}
	if f.url != "" {
		if err := webhook.CheckURL(f.url); err != nil {
			return usagef("--webhook-url: %w", err)
		}
	}
	if f.service != "" {
		if _, err := webhook.ParseService(f.service); err != nil {
			return usagef("--webhook-service: %w", err)
		}
	}
	return nil
}

// checkUnused rejects flags that the tunnel does not use. Some of them protect the server: ignoring them would
// be unsafe.
func (f *webhookFlags) checkUnused() error {
	plain := f.way == "ngrok" || f.way == tunnel.Off // no TLS of kopf's own
	off := f.way == tunnel.Off
	not := func(ways ...string) bool { return f.way != tunnel.Auto && !slices.Contains(ways, f.way) }
	for _, flag := range []struct {
		name          string
		given, unused bool
	}{
		{"webhook-host", f.host != "", plain || f.way == "relay"},
		{"webhook-port", f.port != 0, plain || f.way == "relay"},
		{"webhook-wait", f.wait != 0, off},
		{"webhook-url", f.url != "", not("url")},
		{"webhook-service", f.service != "", not("service")},
		{"webhook-cert", f.certificates.CertFile != "", plain},
		{"webhook-key", f.certificates.KeyFile != "", plain},
		{"webhook-ca", f.certificates.CAFile != "", plain},
		{"webhook-client-ca", f.certificates.ClientCAFile != "", plain},
		{"webhook-dump-ca", f.certificates.DumpCA != "", plain},
		{"webhook-ngrok-token", f.ngrokToken != "", f.way != "ngrok"},
		{"webhook-ngrok-domain", f.ngrokDomain != "", f.way != "ngrok"},
		{"webhook-relay-image", f.relayImage != "", not("relay")},
		{"webhook-relay-namespace", f.relayNamespace != "", not("relay")},
	} {
		if flag.given && flag.unused {
			return usagef("--%s has no effect with --webhook=%s: leave it out, or choose another way", flag.name, f.way)
		}
	}
	return nil
}

func (f *webhookFlags) token() string {
	if f.ngrokToken != "" {
		return f.ngrokToken
	}
	return strings.TrimSpace(os.Getenv(ngrokTokenEnv))
}

// options returns the options of the tunnel, without the cluster. The flags are valid.
func (f *webhookFlags) options(say func(verbose bool, line string)) tunnel.Options {
	o := tunnel.Options{
		Way:          f.way,
		Local:        tunnel.LocalOptions{Host: f.host, Port: f.port},
		URL:          f.url,
		Ngrok:        tunnel.Ngrok{Token: f.token(), Domain: f.ngrokDomain},
		Relay:        tunnel.Relay{Image: f.relayImage, Namespace: f.relayNamespace},
		Certificates: f.certificates,
		Wait:         f.wait,
		Say:          say,
	}
	if f.service != "" {
		if service, err := webhook.ParseService(f.service); err == nil {
			o.Service = &service
		}
	}
	return o
}
