// Package objectfence keeps late writers out of objects in a store with
// conditional put: S3 and those like it, by If-Match and If-None-Match. The tokens
// may come from any lock service. It needs no SDK: a Store has two methods.
//
//	fence := objectfence.New(store, objectfence.Options{Source: "etcd-eu"})
//	err := fence.Advance(ctx, "ledger.json", lease.Token()) // before the first read
//	err = fence.Update(ctx, "ledger.json", lease.Token(), func(old []byte) ([]byte, error) { … })
//
// # The mark
//
// The mark is the first line of the object itself, since it must change in the one
// atomic step there is, a put, and since the entity tag of S3 is made of the body
// alone: a mark among the metadata could be raised without a change of the tag, and
// a late put would still match it.
//
//	distlock-mark 1 1757 5f0c…,93ab… etcd-eu
//
// That is: the format, the token, the ids of the last 16 writes with the newest
// first, and the source. The ids make each body another one, so that a tag never
// comes back, and tell a write whose reply was lost that it was carried out. Readers
// take the line off with Content, or read by Fence.Read.
//
// # What is promised
//
// A write is carried out only if no larger token has been seen by the object, in
// one step with raising the mark. 409 (a write at the same moment) and 412 (the tag is
// another one) are looked into, the first after a pause: with a larger token in the mark
// it is distlock.ErrStale; where the other write was our own, which a client library had
// sent before, it is success; else the work is done again on the newer object. Where
// more than 16 writes came in between the mark cannot tell, and neither does Update:
// the error says that the outcome is unknown. So does 409 or 412 to the last of 20
// attempts, unless the client library sends no put twice.
//
// # What is not promised
//
//   - A put that does not go by this package is not held up.
//   - Who deletes an object deletes its mark, and any token passes again. Write an
//     empty content instead.
//   - The store must read after write consistently and check the condition in one
//     step with the put, as S3 does. A copy in another region has no mark that is of
//     any use.
//   - The object goes through memory, twice for an update. For large ones fence a
//     small object that names the present version of the large one.
//
// # What it costs
//
// A get and a put for Update, and for the first Advance of a lease; a get for an
// Advance with an equal token.
package objectfence
