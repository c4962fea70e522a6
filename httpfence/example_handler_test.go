package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpfence"
	"github.com/distlock-go/distlock/memory"
)

// A service that has a resource takes requests from lock holders. The holder's
// token comes with the request; a holder that was replaced is told so.
func Example() {
	var fence distlock.Fence // the service's own; in SQL it is sqlfence
	write := func(w http.ResponseWriter, r *http.Request) {
		key, token, _ := distlock.TokenFromContext(r.Context())
		_ = fence.Do(key, token, func() error { fmt.Println("written with token", token); return nil })
	}
	advance := func(_ context.Context, key string, t distlock.Token) error { return fence.Advance(key, t) }
	shelf := func(r *http.Request) string { return "shelf" + r.URL.Path }
	server := httptest.NewServer(httpfence.Handler(http.HandlerFunc(write), advance, &httpfence.Options{Key: shelf}))
	defer server.Close()

	ctx := context.Background()
	service := memory.New()
	client, _ := distlock.New(service)
	defer client.Close(ctx)
	web := &http.Client{Transport: new(httpfence.Transport)}
	put := func(lease context.Context) error {
		r, _ := http.NewRequestWithContext(lease, http.MethodPut, server.URL+"/9", nil)
		resp, err := web.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return httpfence.Refusal(resp)
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
