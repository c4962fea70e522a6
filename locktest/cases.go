package locktest

import "slices"

// allCases is the table: every row, by what it is about.
func allCases() []testCase {
	return slices.Concat(exclusionCases, waitingCases, tokenCases, validityCases, lossCases, releaseCases,
		unknownCases, lifeCases, sessionCases, inputCases)
}

var exclusionCases = []testCase{
	{
		name: "excludes-clients", run: twoClients,
		rule: "A key has one holder at a time, whichever client asks, and a release hands it on at once.",
	},
	{
		name: "excludes-one-backend", run: oneBackend,
		rule: "Two clients made from one Backend value exclude each other like strangers.",
	},
	{
		name: "excludes-one-client", run: oneClient,
		rule: "A client excludes itself: a second lease on a key needs the end of the first.",
	},
	{
		name: "excludes-under-contention", run: contention, alone: true,
		rule: "Under contention of goroutines and clients no update made under the lock is lost, no token is stale, and no lease ends early.",
	},
	{
		name: "serves-fifty-waiters", run: fiftyWaiters, alone: true,
		rule: "Every one of fifty waiters gets the key, one at a time.",
	},
	{
		name: "keys-are-distinct", run: distinctKeys,
		rule: "Keys are compared byte by byte: none is cut short, folded, or taken for the prefix or the parent of another.",
	},
}

var waitingCases = []testCase{
	{
		name: "wait-woken-by-release", run: wokenByRelease,
		rule: "A release wakes a waiter of another client: it waits for no poll in most cases.",
	},
	{
		name: "wait-woken-in-client", run: wokenInClient,
		rule: "A release wakes the next waiter of the same client directly.",
	},
	{
		name: "wait-first-come-first-served", run: firstComeFirstServed,
		rule: "Goroutines of one client that want one key are served in the order in which they came.",
	},
	{
		name: "wait-ends-by-context", run: waitEndsByContext,
		rule: "A wait ends promptly with its ctx, matches ErrHeld, ctx.Err() and the cause, and leaves nothing that blocks the next.",
	},
	{
		name: "wait-for-crashed-holder", run: crashedHolder,
		rule: "A crashed holder's key is free one server-side lifetime later, for Acquire and for TryAcquire, with a larger token.",
	},
	{
		name: "wait-over-outage", run: waitOverOutage, needs: []string{"Link"},
		rule: "A wait survives a short outage, in which the key became free, and leaves nothing of its old self behind.",
	},
	{
		name: "ended-context-sends-nothing", run: endedContextSendsNothing,
		rule: "An Acquire whose ctx has ended before it starts sends nothing and returns the ctx's error.",
	},
	{
		name: "refused-leaves-nothing", run: refusedLeavesNothing,
		rule: "A refused TryAcquire answers ErrHeld and leaves nothing: once the holder is gone, the key is free.",
	},
}

var tokenCases = []testCase{
	{
		name: "token-level", run: tokenLevel,
		rule: "Tokens are what Info.Fencing says: 0 with FencingNone, else from 1 to 2^63-1; RequireFencing fails above the level.",
	},
	{
		name: "token-grows-over-releases", run: tokensOverReleases,
		rule: "Each grant of a key has a larger token than the one before, whichever client gets it.",
	},
	{
		name: "token-grows-over-deletion", run: tokensOverDeletion, needs: []string{"Delete"},
		rule: "The grant after the deletion of the lock has a larger token than the one before.",
	},
	{
		name: "token-grows-over-counter-deletion", run: tokensOverCounterDeletion, needs: []string{"DeleteCounter"},
		rule: "The grant after the loss of whatever counts tokens has a larger token than all before.",
	},
	{
		name: "token-not-raised-by-refusals", run: tokensOverRefusals,
		rule: "A refused attempt gets no token and changes the holder's not, so that no other owner can hold a larger one.",
	},
	{
		name: "token-is-frozen", run: tokenFrozen,
		rule: "The token of a lease is that of its grant: renewals, refused attempts, its end and the next grant do not change it.",
	},
	{
		name: "token-in-context", run: tokenInContext,
		rule: "Lease.Context carries key and token, the innermost lease's, and ends with the lease and its cause.",
	},
}

var validityCases = []testCase{
	{
		name: "deadline-within-ttl", run: deadlineBound,
		rule: "A lease is never valid for longer than one TTL ahead: the deadline counts from before the request.",
	},
	{
		name: "deadline-before-next-grant", run: nextGrantAfterDeadline, needs: []string{"Link"},
		rule: "When a holder is cut off, the next grant does not come before the holder's deadline, and the holder knows by then.",
	},
	{
		name: "renewed", run: renewed,
		rule: "A lease is renewed for as long as it is held, far beyond its TTL, and nobody else gets the key.",
	},
	{
		name: "renewed-after-lost-reply", run: renewalReplyLost, needs: []string{"Link"},
		rule: "A renewal whose reply is lost is tried again, and the lease lives on.",
	},
	{
		name: "outlives-context-of-acquire", run: outlivesContext,
		rule: "The ctx of Acquire governs the wait only: the lease lives on when it ends.",
	},
	{
		name: "without-renewal", run: withoutRenewal,
		rule: "A lease WithoutRenewal is lost one TTL after its grant at the latest, and the next grant comes after its deadline and soon.",
	},
	{
		name: "max-hold", run: maxHold,
		rule: "A lease WithMaxHold is renewed until then and lost then, and the key is free soon after.",
	},
	{
		name: "own-terms", run: ownTerms,
		rule: "A call may have a TTL and a holder's text of its own, and keeps to that TTL.",
	},
	{
		name: "lock-delay", run: lockDelay, needs: []string{"LockDelay"},
		rule: "After a lease has run out nobody gets the key for the lock-delay; after a release it is free at once.",
	},
	{
		name: "lock-delay-after-crash", run: lockDelayAfterCrash, needs: []string{"LockDelay", "Link"},
		rule: "After a holder was cut off nobody gets the key until the lock-delay after its deadline has passed.",
	},
}

var lossCases = []testCase{
	{
		name: "loss-noticed", run: lossNoticed, needs: []string{"Delete"},
		rule: "A lock that was deleted on the service is lost within one renewal interval.",
	},
	{
		name: "loss-of-session", run: sessionExpelled, needs: []string{"Expel"}, kept: true,
		rule: "When the service has ended a session, its leases are lost within one renewal interval, and the client gets the next key on another session at once.",
	},
	{
		name: "loss-not-recreated", run: notRecreated, needs: []string{"Delete"},
		rule: "Renewing never brings back a lock that is gone.",
	},
	{
		name: "loss-signals", run: lossSignals,
		rule: "A loss closes Done, ends contexts with ErrLost as their cause, is traced once, and is what Release returns from then on.",
	},
	{
		name: "loss-then-acquire", run: acquireAfterLoss,
		rule: "After a loss the same client can have the key again, and what cleans up after the lost lease spares the new one.",
	},
	{
		name: "loss-then-release", run: releaseAfterLoss,
		rule: "Release after a loss is ErrLost every time and does not touch the next holder's grant.",
	},
	{
		name: "loss-unnoticed-then-release", run: releaseAfterDeletion, needs: []string{"Delete"},
		rule: "Release of a lock that was deleted and granted to another is ErrLost and does not touch that grant.",
	},
}

var releaseCases = []testCase{
	{
		name: "release-frees", run: releaseFrees,
		rule: "A release frees the key at once, for any client.",
	},
	{
		name: "release-with-ended-context", run: releaseWithEndedContext,
		rule: "Release is carried out also when its ctx has ended.",
	},
	{
		name: "release-twice", run: releaseTwice,
		rule: "From the first Release on the lease is over; calls after it are ErrReleased.",
	},
	{
		name: "release-together", run: releaseTogether,
		rule: "Of several Releases at a time one returns nil and the others ErrReleased.",
	},
	{
		name: "release-spares-later-lease", run: oldReleaseSparesLater,
		rule: "Release of an old lease never touches a later one, of the same client and session either.",
	},
	{
		name: "release-stops-renewal", run: releaseStopsRenewal,
		rule: "A released lease is never renewed again.",
	},
	{
		name: "release-reply-lost", run: releaseReplyLost, needs: []string{"Link"},
		rule: "A release without an answer is an error within 5 s that is nobody's ctx error; the key is soon free, and calling again spares the next holder.",
	},
}

var unknownCases = []testCase{
	{
		name: "acquire-reply-lost", run: acquireReplyLost, needs: []string{"Link"},
		rule: "A grant whose reply was lost is cleaned up: within a second of being reachable again it blocks nobody.",
	},
	{
		name: "acquire-cancelled-at-random", run: cancelledAtRandom, alone: true,
		rule: "An Acquire that is cancelled at any moment returns a lease or an error, and blocks nobody for more than a second.",
	},
	{
		name: "cut-off-calls-end", run: cutOffCallsEnd, needs: []string{"Link"},
		rule: "A call over a dead network ends with its ctx, and what never arrived blocks nobody.",
	},
	{
		name: "cut-off-close-ends", run: closeCutOff, needs: []string{"Link"},
		rule: "Close over a dead network ends with its ctx.",
	},
	{
		name: "connections-reset", run: connectionsReset, needs: []string{"Link"},
		rule: "When connections are reset, a lease lives on or is lost and told so, and its client goes on working.",
	},
	{
		name: "service-restarted", run: restart, needs: []string{"Restart"}, alone: true,
		rule: "When the service restarts, a lease lives on or is lost and told so, and durable tokens go on growing.",
	},
}

var lifeCases = []testCase{
	{
		name: "close-releases", run: closeReleases,
		rule: "Close frees every key; leases are ErrReleased, new calls ErrClosed, a second Close nil.",
	},
	{
		name: "close-ends-waits", run: closeEndsWaits,
		rule: "Close ends waits with ErrClosed and leaves nothing of them.",
	},
	{
		name: "close-awaits-do", run: closeAwaitsDo,
		rule: "Close ends the contexts of functions that run in Do, waits for them, and meanwhile keeps their keys.",
	},
	{
		name: "do-releases", run: doReleases,
		rule: "Do releases the key after fn, also when fn panics or calls runtime.Goexit, and returns fn's error.",
	},
	{
		name: "do-reports-loss", run: doReportsLoss,
		rule: "Do ends fn's ctx at a loss and returns ErrLost joined to fn's own error.",
	},
	{
		name: "leaves-no-goroutine", run: noGoroutineLeft, alone: true,
		rule: "Clients that come and go leave no goroutine behind.",
	},
	{
		name: "leaves-no-key", run: noKeyLeft, needs: []string{"Residue"},
		rule: "Clients that come and go leave nothing on the service that holds or waits for a key.",
	},
	{
		name: "leaves-no-session", run: noSessionLeft, needs: []string{"Sessions"}, alone: true,
		rule: "Clients that come and go leave no session, subscription or lock connection on the service.",
	},
	{
		name: "trace-is-coherent", run: coherentTrace,
		rule: "A Trace is told once of each call, attempt, renewal, release and loss, with what the caller got.",
	},
}

var sessionCases = []testCase{
	{
		name: "session-kinds", run: sessionKinds,
		rule: "Info never changes and says which kind of session the backend has; Ping finds the service.",
	},
	{
		name: "session-acquire-is-idempotent", run: idempotentByOwner,
		rule: "A request that arrives again finds its own grant and answers with its token; one release ends it.",
	},
	{
		name: "session-release-of-unknown", run: releaseOfUnknown,
		rule: "Release gives up what an attempt of unknown outcome left, without token and state, and is ErrLost where it left nothing.",
	},
	{
		name: "session-release-compares-owner", run: releaseComparesOwner,
		rule: "Release of a hold that is not the owner's any more is ErrLost and frees nobody's grant.",
	},
	{
		name: "session-renew", run: renewContract,
		rule: "Renew returns one result a hold, in order: nil for the owner's, ErrLost for what is gone or another's, and brings nothing back.",
	},
	{
		name: "session-keep-alive", run: keepAliveContract,
		rule: "KeepAlive confirms a lifetime that began no later than the call, and Lifetime is no shorter than the TTL.",
	},
	{
		name: "session-ended-contexts", run: endedContexts,
		rule: "Methods of a session fail at once when their ctx has ended.",
	},
	{
		name: "session-cut-off", run: cutOffSession, needs: []string{"Link"},
		rule: "Methods of a session return promptly when their ctx ends while the network is dead.",
	},
	{
		name: "session-close-frees", kept: true, run: sessionCloseFrees,
		rule: "Close of a session frees what it holds and leaves the user's own client open.",
	},
	{
		name: "session-queue", run: queueContract,
		rule: "Queuer.Acquire waits in the service's queue, hands the key on at a release, and leaves no place behind when its ctx ends.",
	},
	{
		name: "session-watch", run: watchContract,
		rule: "Waker.Watch calls wake when it begins to listen and whenever the key is released.",
	},
}

var inputCases = []testCase{
	{
		name: "input-keys", run: invalidKeys,
		rule: "A key that is empty, over 512 bytes, with NUL or not UTF-8 is ErrInvalid, and nothing is sent.",
	},
	{
		name: "input-options", run: invalidOptions,
		rule: "An option out of its bounds is ErrInvalid in New and in a call, and nothing is sent.",
	},
	{
		name: "input-terms", run: checkContract,
		rule: "Check refuses lifetimes out of bounds, rounds up, never down, and stands by what it returned.",
	},
	{
		name: "errors-are-wrapped", run: wrappedErrors,
		rule: "Errors match their sentinels and are an *Error, wrapped once, with op, backend and key.",
	},
}
