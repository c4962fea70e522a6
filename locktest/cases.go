package locktest

import "slices"

// allCases is the table: every row, by what it is about.
func allCases() []testCase {
	return slices.Concat(exclusionCases, waitingCases, tokenCases, inspectCases, breakCases, validityCases, lossCases,
		releaseCases, unknownCases, lifeCases, sessionCases, inputCases)
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
		name: "excludes-at-once", run: atOnce,
		rule: "Of attempts of one client that overlap one at most is granted, and the refusal of the others takes nothing from it.",
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
		name: "wait-starves-nobody", run: starvesNobody,
		rule: "Of clients that take a key by turns, without a pause, each gets it again and again.",
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
		name: "min-hold", run: minHold,
		rule: "After a release WithMinHold nobody gets the key before the time is over, though the client is closed, and then soon; where a grant ends with its session it is ErrInvalid.",
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
		name: "loss-of-session", run: sessionExpelled, needs: []string{"Expel"}, only: "Keeper",
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
