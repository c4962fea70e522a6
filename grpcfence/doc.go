// Package grpcfence lets a fencing token travel with a gRPC call, from the
// process that holds the lease to the one that has the resource.
//
//	conn, err := grpc.NewClient(target,
//		grpc.WithUnaryInterceptor(grpcfence.UnaryClient("etcd-eu")),
//		grpc.WithStreamInterceptor(grpcfence.StreamClient("etcd-eu")))
//	// ... handle err, and call with lease.Context(ctx)
//
//	server := grpc.NewServer(
//		grpc.UnaryInterceptor(grpcfence.UnaryServer(advance, &grpcfence.Options{Source: "etcd-eu"})),
//		grpc.StreamInterceptor(grpcfence.StreamServer(advance, &grpcfence.Options{Source: "etcd-eu"})))
//
// Advance raises the marks of what the handlers touch: see type Advance.
//
// # The metadata
//
// One value under the key distlock-token, written as package httpfence writes its
// header and read as strictly:
//
//	token="1757", key=%"invoice/42", source="etcd-eu"
//
// # The answers
//
// What is refused never reaches the handler.
//
//	INVALID_ARGUMENT     missing    there is no token
//	INVALID_ARGUMENT     malformed  it cannot be read, there are several, or it is for another key
//	ABORTED              stale      the fence has seen a larger one: gRPC's own word for a sequencer
//	                                check that failed. Not this call, but the work may be begun again,
//	                                under a new lease
//	FAILED_PRECONDITION  source     it is of another lock service than the mark; an operator has to reset one
//	UNAVAILABLE          unknown    the fence has not decided: it could not be asked, a mark is
//	                                damaged, or it was made with wrong options; the call may be repeated
//
// The status has a detail google.rpc.ErrorInfo with the domain "distlock" and the
// word in the second column as its reason. Refusal makes an error of it on the
// other side. Messages show no mark.
//
// # What is not promised
//
// That the handler's write is not late: as in httpfence, a call that has passed
// can still be overtaken before it writes, and so can a stream at any of its
// messages, which are not checked one by one. The write itself must check the token
// in one step with it; distlock.TokenFromContext has it in the handler, which answers a
// stale one with ABORTED.
//
// A token is no credential. Who sends a large one bars all others, so put these
// interceptors behind those that authenticate; and give Options.Key, or check the
// key in the handler, since the fence cannot know which key guards what is asked for.
package grpcfence
