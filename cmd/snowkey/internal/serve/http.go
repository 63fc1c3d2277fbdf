package serve

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The forms of keys. Lines are the default.
const (
	asText   = "text/plain"
	asJSON   = "application/json"
	asBinary = "application/octet-stream"
)

// Headers whose values never change, so that no answer allocates them.
var (
	noStore     = []string{"no-store"}
	noSniff     = []string{"nosniff"}
	contentType = map[string][]string{asText: {"text/plain; charset=utf-8"}, asJSON: {asJSON}, asBinary: {asBinary}}
)

// bodies are answers that were sent.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// largestBody is how many bytes a body has at most that is used again.
const largestBody = 256 << 10

// serveHTTP answers connections until the listener is closed.
func (s *Server) serveHTTP(l *limited, secure bool) (err error) {
	if secure {
		err = s.http.ServeTLS(l, "", "")
	} else {
		err = s.http.Serve(l)
	}
	if s.stopping.Load() || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, asText, []byte("live\n")) })
	mux.HandleFunc("GET /ready", s.serveReady)
	mux.Handle("GET /metrics", s.authorized(promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP))
	mux.Handle("/id", s.authorized(s.serveKeys))
	mux.Handle("/id/{id}", s.authorized(s.serveParts))
	return mux
}

// authorized calls the handler for clients that show the token.
func (s *Server) authorized(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		if s.config.Token != "" {
			scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if !strings.EqualFold(scheme, "Bearer") || !s.isToken(strings.TrimSpace(shown)) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				s.refuse(w, r, http.StatusUnauthorized, unauthorized, "want the header Authorization: Bearer TOKEN, with the token of this service")
				return
			}
		}
		next(w, r)
	})
}

// serveReady is for readiness probes, and tells nothing but the state.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	state, isReady := s.State(r.Context())
	status := http.StatusOK
	if !isReady {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	answer(w, status, asText, []byte(state+"\n"))
}

// serveKeys answers /id. HEAD would make keys and send none.
func (s *Server) serveKeys(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, POST")
		s.refuse(w, r, http.StatusMethodNotAllowed, wrong, "want GET or POST")
		return
	}
	accepted, err := acceptedForm(r.Header["Accept"])
	if err != nil {
		s.refuse(w, r, http.StatusNotAcceptable, wrong, err.Error())
		return
	}
	n, several, prefix, err := s.readQuery(r.URL.RawQuery)
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, wrong, err.Error())
		return
	}
	form := appendDecimal
	if prefix != nil {
		if form, err = s.publicForm(*prefix); err == nil && accepted == asBinary {
			err = errors.New("public ids are texts; ask for " + asText + " or " + asJSON)
		}
		if err != nil {
			s.refuse(w, r, http.StatusBadRequest, wrong, err.Error())
			return
		}
	}
	kept := bodies.Get().(*[]byte)
	b, err := s.appendBody(r, (*kept)[:0], n, several, accepted, form)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		s.refuse(w, r, http.StatusServiceUnavailable, unavailable, explain(err))
	} else {
		s.metrics.http[answered].Inc()
		answer(w, http.StatusOK, accepted, b)
	}
	if cap(b) <= largestBody {
		*kept = b
		bodies.Put(kept)
	}
}

// appendBody appends n keys as an answer has them.
func (s *Server) appendBody(r *http.Request, b []byte, n int, several bool, accepted string, form func([]byte, int64) ([]byte, error)) (_ []byte, err error) {
	switch accepted {
	case asBinary:
		return s.appendKeys(r.Context(), b, n, func(b []byte, id int64) ([]byte, error) {
			return binary.BigEndian.AppendUint64(b, uint64(id)), nil // an id is never negative
		})
	case asText:
		return s.appendKeys(r.Context(), b, n, func(b []byte, id int64) ([]byte, error) {
			b, err := form(b, id)
			return append(b, '\n'), err
		})
	}
	if b = append(b, `{"id":`...); several {
		b = append(b[:0], `{"ids":[`...)
	}
	// Digits, and letters and underlines of public ids, need no escapes.
	b, err = s.appendKeys(r.Context(), b, n, func(b []byte, id int64) ([]byte, error) {
		if b[len(b)-1] == '"' {
			b = append(b, ',')
		}
		b, err := form(append(b, '"'), id)
		return append(b, '"'), err
	})
	if several {
		b = append(b, ']')
	}
	return append(b, "}\n"...), err
}

// serveParts answers /id/{id}.
func (s *Server) serveParts(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.refuse(w, r, http.StatusMethodNotAllowed, wrong, "want GET")
		return
	}
	line, err := s.config.Decode(r.PathValue("id"))
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, wrong, err.Error())
		return
	}
	s.metrics.http[answered].Inc()
	answer(w, http.StatusOK, asJSON, []byte(line))
}

// readQuery reads the parameters. One that is misspelt is an error: the client would get another number of keys than it asks for.
func (s *Server) readQuery(raw string) (n int, several bool, prefix *string, err error) {
	if n = 1; raw == "" {
		return n, false, nil, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return 0, false, nil, fmt.Errorf("the parameters after the question mark cannot be read: %w", err)
	}
	for name, values := range query {
		switch {
		case len(values) > 1:
			return 0, false, nil, fmt.Errorf("the parameter %.40q is there %d times; want it once", name, len(values))
		case name == "n":
			if n, err = s.checkCount(values[0]); err != nil {
				return 0, false, nil, err
			}
			several = true
		case name == "prefix":
			prefix = &values[0]
		default:
			return 0, false, nil, fmt.Errorf("unknown parameter %.40q; there are n and prefix", name)
		}
	}
	return n, several, prefix, nil
}

// parseCount reads digits alone, without a sign.
func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// acceptedForm returns the first form that a client accepts, which is lines where it names none. Weights are not looked at.
func acceptedForm(accept []string) (string, error) {
	if len(accept) == 0 {
		return asText, nil
	}
	for _, header := range accept {
		for one := range strings.SplitSeq(header, ",") {
			kind, _, _ := strings.Cut(one, ";")
			switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
			case asText, asJSON, asBinary:
				return kind, nil
			case "", "*/*", "text/*":
				return asText, nil
			case "application/*":
				return asJSON, nil
			}
		}
	}
	return "", fmt.Errorf("no form that the header Accept names; there are %s, %s and %s", asText, asJSON, asBinary)
}

func appendDecimal(b []byte, id int64) ([]byte, error) { return strconv.AppendInt(b, id, 10), nil }

// refuse answers with what is wrong, as JSON for clients that want that.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, result, what string) {
	s.metrics.http[result].Inc()
	if form, err := acceptedForm(r.Header["Accept"]); err == nil && form == asJSON {
		body, _ := json.Marshal(map[string]string{"error": what}) // texts make no errors
		answer(w, status, asJSON, append(body, '\n'))
		return
	}
	answer(w, status, asText, []byte(what+"\n"))
}

// answer sends a body in one piece, which nobody is to keep.
func answer(w http.ResponseWriter, status int, form string, body []byte) {
	header := w.Header()
	header["Cache-Control"], header["X-Content-Type-Options"], header["Content-Type"] = noStore, noSniff, contentType[form]
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone takes no answer
}
