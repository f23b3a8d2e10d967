package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWebhookFlags_MistakesAreExplained(t *testing.T) {
	t.Setenv(ngrokTokenEnv, "")
	for flags, want := range map[string]string{
		"--webhook=k3s":                                                    "--webhook=k3s: want auto, direct, k3d, minikube, docker, service, url, ngrok, relay or off; did you mean k3d?",
		"--webhook=ngrok":                                                  "--webhook=ngrok needs the token of your account: set $NGROK_AUTHTOKEN, or --webhook-ngrok-token",
		"--webhook=relay":                                                  "--webhook=relay needs --webhook-relay-image",
		"--webhook=url":                                                    "--webhook=url needs --webhook-url",
		"--webhook=service":                                                "--webhook=service needs --webhook-service",
		"--webhook-port=70000":                                             "--webhook-port=70000: want a number from 1 to 65535",
		"--webhook-host=here":                                              "--webhook-host=here: want an IP address of this machine",
		"--webhook-wait=-1s":                                               "--webhook-wait=-1s: must not be negative",
		"--webhook-cert=c.pem":                                             "--webhook-cert and --webhook-key belong together",
		"--webhook-ca=system --webhook-dump-ca=ca.pem":                     "--webhook-ca=system leaves nothing to write",
		"--webhook-url=https://x --webhook-service=a/b":                    "--webhook-url excludes --webhook-service",
		"--webhook-url=https://x":                                          "--webhook-url and --webhook-service need --webhook-port",
		"--webhook-url=http://x --webhook-port=9443":                       "--webhook-url: webhook URL \"http://x\"",
		"--webhook-service=nowhere --webhook-port=9443":                    "--webhook-service: service \"nowhere\": the namespace is missing",
		"--webhook=ngrok --webhook-client-ca=ca.pem":                       "--webhook-client-ca has no effect with --webhook=ngrok: leave it out, or choose another way",
		"--webhook=k3d --webhook-url=https://x":                            "--webhook-url has no effect with --webhook=k3d",
		"--webhook=off --webhook-port=9443":                                "--webhook-port has no effect with --webhook=off",
		"--webhook=relay --webhook-relay-image=x --webhook-host=127.0.0.1": "--webhook-host has no effect with --webhook=relay",
		"--webhook-ngrok-domain=x.ngrok.app":                               "--webhook-ngrok-domain has no effect with --webhook=auto",
		"--webhook-service=a/b:x/y --webhook-port=9443":                    "\"x\" is not a port",
	} {
		var out, errs bytes.Buffer
		got := execute(t.Context(), append([]string{"run", "."}, strings.Fields(flags)...), &out, &errs)
		if got != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d, %s", flags, got, &errs)
		}
	}
}

func TestWebhookFlags_TokenIsThatOfFlagOrEnvironment(t *testing.T) {
	t.Setenv(ngrokTokenEnv, " from-environment\n")
	f := webhookFlags{way: "ngrok"}
	if err := f.check(); err != nil || f.options(nil).Ngrok.Token != "from-environment" {
		t.Errorf("%v, %q", err, f.options(nil).Ngrok.Token)
	}
	f.ngrokToken = "from-flag"
	if got := f.options(nil).Ngrok.Token; got != "from-flag" {
		t.Errorf("%q", got)
	}
}
