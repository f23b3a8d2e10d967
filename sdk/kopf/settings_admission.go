package kopf

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// admissionFlags are the webhook flags of an operator. They override the settings after the startup handlers.
type admissionFlags struct {
	server  *webhook.Server // nil if the settings decide
	managed string
	session string // id of the development session; empty outside of one

	underTest string // managed name in a test, for settings that name no server; empty outside of tests
}

// developmentManaged is the default of the managed name in development.
const developmentManaged = "dev.kopf.dev"

// listenerOf converts a server. Only registries with admission handlers have this function, and no other code of the package
// converts a server, so that the linker leaves the server out of all other operators. There, listener is nil.
func listenerOf(s *webhook.Server) webhook.Listener { return s }

// override applies the flags to the settings.
func (f *admissionFlags) override(s AdmissionSettings, listener func(*webhook.Server) webhook.Listener) AdmissionSettings {
	if f.server != nil && listener != nil {
		s.Server = listener(f.server)
	}
	if f.managed != "" {
		s.Managed = f.managed
	}
	if f.session != "" && s.Managed == "" {
		s.Managed = developmentManaged
	}
	if f.underTest != "" && s.Server == nil && listener != nil {
		s.Server = listener(&webhook.Server{})
		if s.Managed == "" {
			s.Managed = f.underTest
		}
	}
	return s
}

// engine converts the settings for the engine.
func (s AdmissionSettings) engine(session string, listener func(*webhook.Server) webhook.Listener) core.Admission {
	a := core.Admission{Managed: s.Managed, Session: session, ReviewOwn: s.ReviewOwn}
	if server := s.Server; server != nil {
		a.Serve = func(ctx context.Context, logger *slog.Logger, reviews http.Handler, announce func(admission.ClientConfig)) error {
			return loggingTo(logger, server, listener).Serve(ctx, reviews, func(c webhook.ClientConfig) { announce(clientConfigOf(c)) })
		}
	}
	return a
}

// loggingTo returns the server with the operator's logger. A server that has a logger or is not a [webhook.Server] is
// returned unchanged.
func loggingTo(logger *slog.Logger, server webhook.Listener, listener func(*webhook.Server) webhook.Listener) webhook.Listener {
	own, ok := server.(*webhook.Server)
	if !ok || own.Logger != nil || listener == nil {
		return server
	}
	logging := *own
	logging.Logger = logger
	return listener(&logging)
}

func clientConfigOf(c webhook.ClientConfig) admission.ClientConfig {
	out := admission.ClientConfig{URL: c.URL, CABundle: c.CABundle, Lost: c.Lost}
	if s := c.Service; s != nil {
		out.Service = &admission.Service{Name: s.Name, Namespace: s.Namespace, Path: s.Path, Port: s.Port}
	}
	return out
}
