package conformance

func boundCases() []testCase {
	return []testCase{
		{"fields", boundFields},
		{"open", boundOpen},
		{"all", boundAll},
		{"first", boundFirst},
		{"parked", boundParked},
		{"lost", boundLost},
		{"limit", boundLimit},
		{"race", boundRace},
		{"own", boundOwn},
		{"group", boundGroup},
		{"again", boundAgain},
		{"rate", boundRate},
		{"window", boundWindow},
		{"many", boundMany},
		{"wake", boundWake},
		{"order", boundOrder},
		{"apart", boundApart},
		{"keys", boundKeys},
		{"newest", boundNewest},
		{"declared", boundDeclared},
		{"lowered", boundLowered},
		{"raised", boundRaised},
		{"removed", boundRemoved},
		{"edited", boundEdited},
		{"pages", boundPages},
		{"waits", boundWaits},
		{"stats", boundStats},
		{"names", boundNames},
		{"nothing", boundNothing},
		{"interleave", boundInterleave},
		{"model", boundModel},
	}
}

func slotCases() []testCase {
	return []testCase{
		{"settle", slotSettle},
		{"dropped", slotDropped},
		{"fence", slotFence},
		{"repeat", slotRepeat},
		{"end", slotEnd},
		{"prolong", slotProlong},
		{"expire", slotExpire},
		{"orphan", slotOrphan},
		{"return", slotReturn},
		{"live", slotLive},
		{"pages", slotPages},
		{"idle", slotIdle},
		{"stalled", slotStalled},
		{"started", slotStarted},
		{"held", slotHeld},
	}
}

func turnCases() []testCase {
	return []testCase{
		{"mutex", turnMutex},
		{"head", turnHead},
		{"aside", turnAside},
		{"delayed", turnDelayed},
		{"released", turnReleased},
		{"chain", turnChain},
		{"due", turnDue},
		{"dies", turnDies},
		{"block", turnBlock},
		{"chains", turnChains},
		{"unchain", turnUnchain},
		{"cancel", turnCancel},
		{"delete", turnDelete},
		{"reschedule", turnReschedule},
		{"retry", turnRetry},
		{"both", turnBoth},
		{"crossed", turnCrossed},
		{"race", turnRace},
		{"many", turnMany},
		{"tenants", turnTenants},
		{"names", turnNames},
		{"prune", turnPrune},
	}
}
