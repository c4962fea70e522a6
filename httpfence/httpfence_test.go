package httpfence_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpfence"
)

// local makes an Advance of a fence in this process.
func local(f *distlock.Fence) httpfence.Advance {
	return func(_ context.Context, key string, t distlock.Token) error { return f.Advance(key, t) }
}

// echo answers with the key and the token of the request's ctx.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	key, token, ok := distlock.TokenFromContext(r.Context())
	if !ok {
		key = "none"
	}
	io.WriteString(w, key+" "+token.String())
})

func TestHandler(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	broken := func(context.Context, string, distlock.Token) error { return errors.New("secret address") }
	foreign := func(context.Context, string, distlock.Token) error { return distlock.ErrSource }
	odd := func(context.Context, string, distlock.Token) error { return distlock.Invalid("mark", "secret", "y") }
	guarded := &httpfence.Options{Key: func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") }}
	for _, test := range []struct {
		name    string
		advance httpfence.Advance
		options *httpfence.Options
		fields  []string
		status  int
		word    string
		err     error
	}{
		{"first", nil, nil, []string{`token="7", key=%"k"`}, 200, "", nil},
		{"equal", nil, nil, []string{`token="7", key=%"k"`}, 200, "", nil},
		{"stale", nil, nil, []string{`token="6", key=%"k"`}, 412, "stale", distlock.ErrStale},
		{"another key", nil, nil, []string{`token="6", key=%"%c3%bc"`}, 200, "", nil},
		{"missing", nil, nil, nil, 428, "missing", distlock.ErrInvalid},
		{"empty", nil, nil, []string{""}, 400, "malformed", distlock.ErrInvalid},
		{"malformed", nil, nil, []string{`token=7, key=%"k"`}, 400, "malformed", distlock.ErrInvalid},
		{"token 0", nil, nil, []string{`token="0", key=%"k"`}, 400, "malformed", distlock.ErrInvalid},
		{"twice", nil, nil, []string{`token="8", key=%"k"`, `token="8", key=%"k"`}, 400, "malformed", distlock.ErrInvalid},
		{"joined", nil, nil, []string{`token="8", key=%"k", token="8", key=%"k"`}, 400, "malformed", distlock.ErrInvalid},
		{"the resource's key", nil, guarded, []string{`token="8", key=%"res"`}, 200, "", nil},
		{"not the resource's key", nil, guarded, []string{`token="9", key=%"k"`}, 400, "malformed", distlock.ErrInvalid},
		{"a source not asked for", nil, nil, []string{`token="7", key=%"k", source="a"`}, 200, "", nil},
		{"the source", nil, &httpfence.Options{Source: "a"}, []string{`token="7", key=%"k", source="a"`}, 200, "", nil},
		{"another source", nil, &httpfence.Options{Source: "a"}, []string{`token="9", key=%"k", source="b"`}, 409, "source", distlock.ErrSource},
		{"no source", nil, &httpfence.Options{Source: "a"}, []string{`token="9", key=%"k"`}, 409, "source", distlock.ErrSource},
		{"the mark's source", foreign, nil, []string{`token="7", key=%"k"`}, 409, "source", distlock.ErrSource},
		{"the fence says invalid", odd, nil, []string{`token="7", key=%"k"`}, 503, "unknown", nil},
		{"the fence fails", broken, nil, []string{`token="7", key=%"k"`}, 503, "unknown", nil},
		{"optional", nil, &httpfence.Options{Optional: true}, nil, 200, "", nil},
		{"optional, but malformed", nil, &httpfence.Options{Optional: true}, []string{"x"}, 400, "malformed", distlock.ErrInvalid},
		{"none of it has raised the mark", nil, nil, []string{`token="7", key=%"k"`}, 200, "", nil},
	} {
		if test.advance == nil {
			test.advance = local(&f)
		}
		r := httptest.NewRequest(http.MethodPost, "/res", nil)
		r.Header[httpfence.Header] = test.fields
		w := httptest.NewRecorder()
		called := false
		next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true })
		httpfence.Handler(next, test.advance, test.options).ServeHTTP(w, r)
		resp := w.Result()
		if resp.StatusCode != test.status || resp.Header.Get(httpfence.RefusedHeader) != test.word || called != (test.status == 200) {
			t.Errorf("%s: got %v %q, called %v; want %v %q", test.name, resp.StatusCode, resp.Header, called, test.status, test.word)
		}
		if err := httpfence.Refusal(resp); test.err != nil && !errors.Is(err, test.err) || (err == nil) != (test.status == 200) ||
			test.err == nil && errors.Is(err, distlock.ErrInvalid) {
			t.Errorf("%s: Refusal is %v, want %v", test.name, err, test.err)
		}
		if body, _ := io.ReadAll(resp.Body); strings.Contains(string(body), "secret") || strings.Contains(string(body), "7") {
			t.Errorf("%s: the body tells too much: %s", test.name, body)
		}
	}
}

func TestRefusalIsOnlyOurs(t *testing.T) {
	t.Parallel()
	for _, resp := range []*http.Response{
		{StatusCode: 412, Header: http.Header{}},
		{StatusCode: 412, Header: http.Header{httpfence.RefusedHeader: {"other"}}},
		{StatusCode: 200, Header: http.Header{httpfence.RefusedHeader: {"stale"}}},
	} {
		if err := httpfence.Refusal(resp); err != nil {
			t.Errorf("%+v: got %v", resp, err)
		}
	}
}

func TestTransportCarries(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	server := httptest.NewServer(httpfence.Handler(echo, local(&f), &httpfence.Options{Source: "s", Optional: true}))
	defer server.Close()
	client := &http.Client{Transport: &httpfence.Transport{Source: "s"}}
	for _, test := range []struct {
		ctx  context.Context
		want string
	}{
		{distlock.ContextWithToken(t.Context(), "ü \"%\" \\ \u2028", 5), "ü \"%\" \\ \u2028 5"},
		{distlock.ContextWithToken(distlock.ContextWithToken(t.Context(), "outer", 5), "inner", 1<<62), "inner 4611686018427387904"},
		{t.Context(), "none 0"},
	} {
		r, _ := http.NewRequestWithContext(test.ctx, http.MethodPost, server.URL, strings.NewReader("body"))
		r.Header.Set("Other", "x")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != test.want {
			t.Errorf("got %q, want %q", body, test.want)
		}
		if len(r.Header) != 1 {
			t.Errorf("the caller's request was changed: %v", r.Header)
		}
	}
}

// A tripper keeps the request that it was given.
type tripper struct{ got *http.Request }

func (t *tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	t.got = r
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
}

// A body notes that it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

func TestTransportRefusesBeforeSending(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]*httpfence.Transport{
		"token 0": {}, "source": {Source: "ä"}, "long source": {Source: strings.Repeat("s", 129)},
	} {
		token := distlock.Token(1)
		if name == "token 0" {
			token = 0
		}
		base, sent := new(tripper), &body{Reader: strings.NewReader("x")}
		transport.Base = base
		r := httptest.NewRequest(http.MethodPost, "http://a/", sent)
		_, err := transport.RoundTrip(r.WithContext(distlock.ContextWithToken(t.Context(), "k", token)))
		if !errors.Is(err, distlock.ErrInvalid) || base.got != nil || !sent.closed {
			t.Errorf("%s: got %v, sent %v, body closed %v", name, err, base.got != nil, sent.closed)
		}
	}
}

func TestTransportReplacesTheField(t *testing.T) {
	t.Parallel()
	base := new(tripper)
	r := httptest.NewRequest(http.MethodPost, "http://a/", nil)
	r.Header[httpfence.Header] = []string{"a", "b"}
	if _, err := (&httpfence.Transport{Base: base}).RoundTrip(r.WithContext(distlock.ContextWithToken(t.Context(), "k", 7))); err != nil {
		t.Fatal(err)
	}
	if got := base.got.Header.Values(httpfence.Header); len(got) != 1 || got[0] != `token="7", key=%"k"` {
		t.Errorf("got %q", got)
	}
}

// Who is redirected to another host does not tell it the key.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	fenced := httpfence.Handler(echo, local(&f), nil)
	other := httptest.NewServer(fenced)
	defer other.Close()
	mux := http.NewServeMux()
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	mux.Handle("/here", http.RedirectHandler("/", http.StatusTemporaryRedirect))
	mux.Handle("/", fenced)
	server := httptest.NewServer(mux)
	defer server.Close()
	client := &http.Client{Transport: new(httpfence.Transport)}
	for path, want := range map[string]int{"/here": 200, "/away": 428} {
		r, _ := http.NewRequestWithContext(distlock.ContextWithToken(t.Context(), "k", 7), http.MethodPost, server.URL+path, nil)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: got %v, want %v", path, resp.StatusCode, want)
		}
	}
}

func TestHandlerPanics(t *testing.T) {
	t.Parallel()
	var f distlock.Fence
	for name, call := range map[string]func(){
		"no handler": func() { httpfence.Handler(nil, local(&f), nil) },
		"no fence":   func() { httpfence.Handler(echo, nil, nil) },
		"source":     func() { httpfence.Handler(echo, local(&f), &httpfence.Options{Source: "\n"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
