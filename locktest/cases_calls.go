package locktest

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
		name: "campaign", run: campaign,
		rule: "Of several that campaign one leads at a time: its ctx has ended before the next one leads, and after a loss it goes on.",
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
		name: "session-renew", run: renewContract, only: "Renewer",
		rule: "Renew returns one result a hold, in order: nil for the owner's, ErrLost for what is gone or another's, and brings nothing back.",
	},
	{
		name: "session-keep-alive", run: keepAliveContract, only: "Keeper",
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
		name: "session-close-frees", run: sessionCloseFrees, only: "Keeper",
		rule: "Close of a session frees what it holds, leaves the user's own client open, and attempts on the session find it gone.",
	},
	{
		name: "session-queue", run: queueContract, only: "Queuer",
		rule: "Queuer.Acquire waits in the service's queue, hands the key on at a release, and leaves no place behind when its ctx ends.",
	},
	{
		name: "session-watch", run: watchContract, only: "Waker",
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
