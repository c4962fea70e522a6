// Package httpfence lets a fencing token travel with an HTTP request, from the
// process that holds the lease to the one that has the resource.
//
//	client := &http.Client{Transport: &httpfence.Transport{Source: "etcd-eu"}}
//	req, err := http.NewRequestWithContext(lease.Context(ctx), http.MethodPost, url, body)
//
//	http.Handle("POST /invoices/{id}", httpfence.Handler(charge, advance, &httpfence.Options{
//		Source: "etcd-eu",
//		Key:    func(r *http.Request) string { return "invoice/" + r.PathValue("id") },
//	}))
//
// Advance raises the marks of what charge touches: see type Advance.
//
// # The header
//
// One field, Distlock-Token, a Dictionary of RFC 9651 with these members in this
// order, written in this one way:
//
//	Distlock-Token: token="1757", key=%"invoice/42", source="etcd-eu"
//
// Token is a decimal from 1 to 2^63-1 in a String. Key is the lease's key, 1 to
// 512 bytes of UTF-8 without NUL, in a Display String: bytes outside of printable
// ASCII, the quote and the percent sign are written %xx in lower case. Source, up
// to 128 bytes of printable ASCII in a String, names the lock service and may be
// left out. Anything else is malformed: another order or spacing, another way to
// write the same, an unknown member, more than one field, over 2048 bytes.
//
// # The answers
//
// What is refused never reaches the handler:
//
//	428  missing    there is no token. The request has to be made conditional (RFC 6585)
//	400  malformed  it cannot be read, there are several, or it is for another key
//	412  stale      the fence has seen a larger one: the request's precondition is false
//	409  source     it is of another lock service than the mark; an operator has to reset one
//	503  unknown    the fence has not decided: it could not be asked, a mark is damaged,
//	                or it was made with wrong options; the request may be repeated
//
// The field Distlock-Refused has the word in the second column, and Refusal makes
// an error of it on the other side. Bodies are a line of text that shows no mark.
//
// # What is not promised
//
// That the handler's write is not late. Handler advances the fence before the
// handler is called, so an older token is refused from then on; a request that has
// passed can still be overtaken before it writes. The write itself must check the
// token in one step with it: distlock.TokenFromContext has it in the handler, which
// answers a stale one as Handler does.
//
// A token is no credential. Who sends a large one bars all others, so let nobody
// reach Handler who may not hold the lock; and give Options.Key, or check the key
// in the handler, since the fence cannot know which key guards what is asked for.
package httpfence
