package tunnel

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.ngrok.com/ngrok/v2"
)

// Ngrok is a tunnel through the public service of ngrok, which sees the reviews: it ends the TLS of the API server,
// and forwards them over a connection that this machine opens. It is used only if the user chooses it.
type Ngrok struct {
	// Token authenticates the account.
	Token string
	// Domain is the domain of the account to use. The service chooses one if it is empty.
	Domain string
	// Server and Authorities are the address of the service and its certificate authorities. Defaults to the public
	// service.
	Server      string
	Authorities *x509.CertPool

	patience time.Duration // time limit to connect; ngrokPatience if 0
}

// ngrokPatience is how long the service may take to answer at first.
const ngrokPatience = 30 * time.Second

// ngrokSettles is how long the name of a new endpoint may take to become known.
const ngrokSettles = 20 * time.Second

// NgrokError is an error that the service has answered with.
type NgrokError struct {
	Code    string // such as ERR_NGROK_105; may be empty
	Message string
}

func (e *NgrokError) Error() string {
	if e.Code == "" {
		return "ngrok: " + e.Message
	}
	return fmt.Sprintf("ngrok: %s (%s, see https://ngrok.com/docs/errors/%s)", e.Message, e.Code, strings.ToLower(e.Code))
}

// Name implements [Way].
func (Ngrok) Name() string { return "ngrok" }

// Open implements [Way]. The client reconnects by itself when the connection is lost.
func (n Ngrok) Open(ctx context.Context) (*Entrance, error) {
	if n.Token == "" {
		return nil, errors.New("ngrok needs the token of your account: set NGROK_AUTHTOKEN, or --webhook-ngrok-token")
	}
	// The session ends with the context of its connection, not only the attempt to connect.
	ctx, cancel := context.WithCancelCause(ctx)
	connection := &ngrokConnection{link: NewLink(), refuse: cancel}
	options := []ngrok.AgentOption{
		ngrok.WithAuthtoken(n.Token),
		ngrok.WithLogger(slog.New(slog.DiscardHandler)),
		ngrok.WithEventHandler(connection.handle),
	}
	if n.Server != "" {
		options = append(options, ngrok.WithAgentConnectURL(n.Server))
	}
	if n.Authorities != nil {
		options = append(options, ngrok.WithAgentConnectCAs(n.Authorities))
	}
	agent, err := ngrok.NewAgent(options...)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	late := time.AfterFunc(cmp.Or(n.patience, ngrokPatience), connection.giveUp)
	if err := agent.Connect(ctx); err != nil {
		late.Stop()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, fmt.Errorf("connect to ngrok: %w", ngrokError(err))
	}
	connection.established()
	late.Stop()
	var endpoint []ngrok.EndpointOption
	if n.Domain != "" {
		endpoint = append(endpoint, ngrok.WithURL("https://"+strings.TrimPrefix(n.Domain, "https://")))
	}
	listener, err := agent.Listen(ctx, endpoint...)
	if err != nil {
		err = fmt.Errorf("open an endpoint at ngrok: %w", errors.Join(ngrokError(err), agent.Disconnect()))
		cancel(nil)
		return nil, err
	}
	return &Entrance{
		Listener: listener,
		Target:   Target{URL: listener.URL().String()},
		Plain:    true,
		Settles:  ngrokSettles,
		Detail:   "a public address, and ngrok sees the reviews",
		Link:     connection.link,
		Release: func(context.Context) error {
			connection.end()
			interrupted := ctx.Err() != nil // the client has disconnected by itself
			err := agent.Disconnect()
			cancel(nil)
			if interrupted {
				return nil
			}
			return err
		},
	}, nil
}

// ngrokError finds the answer of the service in an error of its client, which repeats it for each attempt and
// adds its own words.
func ngrokError(err error) error {
	var answer interface {
		error
		Msg() string
		ErrorCode() string
	}
	if errors.As(err, &answer) {
		return &NgrokError{Code: answer.ErrorCode(), Message: strings.Join(strings.Fields(answer.Msg()), " ")}
	}
	if answer, ok := errors.AsType[ngrok.Error](err); ok {
		message, _, _ := strings.Cut(answer.Error(), "\n")
		return &NgrokError{Code: answer.Code(), Message: strings.TrimPrefix(message, "failed to start tunnel: ")}
	}
	return err
}

// ngrokConnection follows the connection to the service.
type ngrokConnection struct {
	link   *Link
	refuse context.CancelCauseFunc // ends the first attempts

	mu        sync.Mutex
	connected bool
	last      error // last error of the attempts to connect
	ended     bool
}

// handle is called with the events of the client.
func (c *ngrokConnection) handle(event ngrok.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	switch event := event.(type) {
	case *ngrok.EventAgentDisconnected:
		if event.Error == nil {
			return
		}
		failed := ngrokError(event.Error)
		if !c.connected {
			c.last = failed
			// The client tries for ever, even if the service refuses the token.
			if refused, ok := errors.AsType[*NgrokError](failed); ok {
				c.refuse(refused)
			}
			return
		}
		c.link.Lose(fmt.Errorf("the connection to ngrok: %w", failed))
	case *ngrok.EventAgentConnectSucceeded:
		c.link.Restore()
	}
}

// giveUp ends the attempts to connect.
func (c *ngrokConnection) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.connected:
	case c.last == nil:
		c.refuse(errors.New("the service does not answer"))
	default:
		c.refuse(fmt.Errorf("the service does not answer: %w", c.last))
	}
}

func (c *ngrokConnection) established() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connected = true
}

func (c *ngrokConnection) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}
