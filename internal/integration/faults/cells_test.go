package faults_test

// A fault is what strikes a backend.
type fault string

const (
	holderStopped   fault = "holder stopped beyond its TTL, between its last check and its write"
	holderKilled    fault = "holder killed"
	cutOffBothWays  fault = "holder cut off, both ways"
	cutOffReplies   fault = "holder cut off, replies only"
	renewalLate     fault = "renewal delivered after the next grant"
	releaseLate     fault = "release delivered after the next grant"
	waiterStopped   fault = "waiter stopped beyond its TTL"
	serverPaused    fault = "server paused beyond the TTL"
	serverRestarted fault = "server killed and restarted, data kept"
	dataLost        fault = "server restarted, data lost"
	memberLost      fault = "one of several servers restarted, data lost"
	leaderKilled    fault = "leader killed"
	leaderPaused    fault = "leader paused"
	leaderCutOff    fault = "leader cut off from the others with the holder"
	asyncFailover   fault = "failover to an asynchronous replica without the grant"
	syncFailover    fault = "failover to a synchronous replica"
	clockForward    fault = "server's clock set forward"
	clockBack       fault = "server's clock set back"
	lockDeleted     fault = "lock deleted behind the library's back"
	counterDeleted  fault = "counter or parent deleted"
	sessionEnded    fault = "session ended, backend terminated"
	evicted         fault = "locks and counters evicted"
	memoryFull      fault = "memory full, nothing evicted"
	diskFull        fault = "disk full"
)

// What several cells have to say.
const (
	noProcess  = "no process notices, before it writes, that it was stopped after its last check"
	noSession  = "there is no session: each grant has a lifetime of its own"
	noLeader   = "there is no leader: see failover"
	noFailover = "there is no failover of another kind than a change of leader"
	oneServer  = "there is one server"
	noEviction = "it evicts nothing, and ends where its memory does"
	anew       = "a new service counts from its start: tokens begin anew, and marks have to be Reset"
	ofANode    = "of one node as if it were down: a minority costs nothing"
)

// matrix is what holds of each backend under each fault, and which test shows it.
var matrix = []row{
	{holderStopped, everywhere(fenced, "TestStoppedHolderKnowsAtItsFirstInstruction", noProcess)},
	{holderKilled, everywhere(kept, "TestKilledHolderBlocksForOneLifetime", "")},
	{cutOffBothWays, everywhere(kept, "TestCutOffHolderEndsBeforeTheNextBegins", "")},
	{cutOffReplies, everywhere(kept, "TestCutOffHolderEndsBeforeTheNextBegins", "")},
	{renewalLate, everywhere(kept, "TestRequestsDeliveredLateTouchNoOther", "")},
	{releaseLate, everywhere(kept, "TestRequestsDeliveredLateTouchNoOther", "")},
	{waiterStopped, everywhere(kept, "TestStoppedWaiterIsNotGrantedInVain", "")},
	{serverPaused, everywhere(kept, "TestPausedServer", "")},
	{serverRestarted, everywhere(kept, "TestRestartedServer", "").
		but("postgres", fenced, "TestRestartedServer", "locks end with their connections; a lock-delay of one TTL keeps the next holder out").
		but("consul", fenced, "TestConsulLockDelayCoversACrashOfAllServers", "sessions can end early when all servers have crashed; a lock-delay of one TTL keeps the next holder out")},
	{dataLost, everywhere(fenced, "TestServerThatLostItsData", "locks are forgotten; tokens go on from the server's clock").
		but("etcd zookeeper consul", limited, "TestServerThatLostItsData", anew)},
	{memberLost, everywhere(absent, "", oneServer).
		but("etcd zookeeper consul", absent, "", "not staged: a member that comes back empty has to be taken out and added again by the service's own rules").
		but("redlock", kept, "TestRedlockRestartDelayKeepsTheEmptyOut", "with Options.RestartDelay; without it such a node can make a second majority")},
	{leaderKilled, everywhere(absent, "", noLeader).
		but("etcd", kept, "TestEtcdLeaderIsLostAndComesBack", "").
		but("zookeeper", kept, "TestZooKeeperEnsembleLosesAMember", "").
		but("consul", kept, "TestConsulLeaseOutlivesAnElection", "")},
	{leaderPaused, everywhere(absent, "", noLeader).
		but("etcd", kept, "TestEtcdLeaderIsLostAndComesBack", "").
		but("zookeeper", kept, "TestZooKeeperEnsembleLosesAMember", "").
		but("consul", kept, "TestConsulLeaseOutlivesAnElection", "")},
	{leaderCutOff, everywhere(absent, "", noLeader).
		but("etcd", kept, "TestEtcdMemberIsCutOffWithItsClients", "").
		but("zookeeper", kept, "TestZooKeeperServerCutOffGoesOnAnswering", "").
		but("consul", kept, "TestConsulHolderAtAServerThatIsCutOffEndsBeforeTheNextBegins", "")},
	{asyncFailover, everywhere(absent, "", noFailover).
		but("redis", fenced, "TestUnreplicatedGrantIsFencedOff", "as far as the new server's clock is past the last token").
		but("postgres", fenced, "TestAsynchronousStandbyTakesOver", "as far as the new server's clock is past the last token").
		but("redlock", absent, "", "nothing replicates between its nodes; of one node: as data lost")},
	{syncFailover, everywhere(absent, "", noFailover).
		but("postgres", fenced, "TestSynchronousStandbyTakesOver", "the lock is not replicated, the counter is").
		but("redis redlock", absent, "", "Redis has no replication that a grant waits for")},
	{clockForward, everywhere(kept, "TestSteppedClock", "").
		but("redis", fenced, "TestClockSetForwardIsFencedOff", "Redis expires by wall clock").
		but("redlock", kept, "TestRedlockClockOfOneNodeSteps", "of one node, while the key is on more than a bare majority")},
	{clockBack, everywhere(kept, "TestSteppedClock", "").
		but("postgres", kept, "TestSteppedClock", "what is lost at that moment is thrown out as much later").
		but("redis", kept, "TestClockSetBackKeepsALockForAsLong", "what is not renewed stays for as much longer").
		but("redlock", kept, "TestRedlockClockOfOneNodeSteps", "of one node, while the key is on more than a bare majority")},
	{lockDeleted, everywhere(fenced, "TestDeletedLock", "whoever deletes it frees the key").
		but("postgres", absent, "", "the lock is on the connection: see sessions")},
	{counterDeleted, everywhere(fenced, "TestDeletedCounter", "whoever deletes it frees the key; tokens go on from the service's own count, or its clock").
		but("postgres", kept, "TestDeletedCounter", "").
		but("etcd consul", absent, "", "the token is the store's own revision: there is nothing of that kind")},
	{sessionEnded, everywhere(fenced, "TestEndedSession", "whoever ends it frees the key").
		but("redis redlock", absent, "", noSession)},
	{evicted, everywhere(absent, "", noEviction).
		but("redis", fenced, "TestLostMemoryIsToldAndTokensGrow", "locks are forgotten; tokens go on from the server's clock").
		but("redlock", absent, "", "of one node as data lost")},
	{memoryFull, everywhere(absent, "", noEviction).
		but("redis", kept, "TestServersOwnRefusalIsTold", "").
		but("redlock", absent, "", ofANode)},
	{diskFull, everywhere(kept, "TestFullDisk", "").
		but("redlock", absent, "", ofANode)},
}
