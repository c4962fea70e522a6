package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpfence"
	"github.com/distlock-go/distlock/memory"
)

// A service that has resources takes requests from lock holders. The holder's
// token comes with the request; a holder that was replaced is told so, before the
// handler reads and when it writes.
func Example() {
	var fence distlock.Fence // the service's own; in SQL it is sqlfence
	// The lock on a shelf guards its stock and its price, and each has a mark.
	advance := func(_ context.Context, key string, t distlock.Token) error {
		id := strings.TrimPrefix(key, "shelf/") // which it has: see Key below
		for _, resource := range []string{"stock/" + id, "price/" + id} {
			if err := fence.Advance(resource, t); err != nil {
				return err
			}
		}
		return nil
	}
	write := func(w http.ResponseWriter, r *http.Request) {
		_, token, _ := distlock.TokenFromContext(r.Context())
		err := fence.Do("stock/"+r.PathValue("id"), token, func() error {
			fmt.Println("written with token", token)
			return nil
		})
		switch {
		case errors.Is(err, distlock.ErrStale): // overtaken after advance
			w.Header().Set(httpfence.RefusedHeader, "stale")
			http.Error(w, "a later holder of the lock has come", http.StatusPreconditionFailed)
		case err != nil:
			http.Error(w, "not written", http.StatusInternalServerError)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("PUT /shelf/{id}", httpfence.Handler(http.HandlerFunc(write), advance, &httpfence.Options{
		Key: func(r *http.Request) string { return "shelf/" + r.PathValue("id") },
	}))
	server := httptest.NewServer(mux)
	defer server.Close()

	ctx := context.Background()
	service := memory.New()
	client, _ := distlock.New(service)
	defer client.Close(ctx)
	web := &http.Client{Transport: new(httpfence.Transport)}
	put := func(lease context.Context) error {
		r, _ := http.NewRequestWithContext(lease, http.MethodPut, server.URL+"/shelf/9", nil)
		resp, err := web.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if err := httpfence.Refusal(resp); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	}

	slow, _ := client.Acquire(ctx, "shelf/9")
	late := slow.Context(ctx)
	fmt.Println("slow:", put(late))
	service.Expire("shelf/9") // and slow does not know yet

	other, _ := distlock.New(service)
	defer other.Close(ctx)
	next, _ := other.Acquire(ctx, "shelf/9")
	fmt.Println("next:", put(next.Context(ctx)))
	err := put(late)
	fmt.Println("slow:", err)
	fmt.Println(errors.Is(err, distlock.ErrStale))
	// Output:
	// written with token 1
	// slow: <nil>
	// written with token 2
	// next: <nil>
	// slow: httpfence: refused (412, stale): stale token
	// true
}
