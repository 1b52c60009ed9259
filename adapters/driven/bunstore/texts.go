package bunstore

// texts are the shared statements of one dialect, compiled once. States are
// literals: a partial index is not used by a parameter. $1 is the test's clock.
type texts struct {
	hasTable Stmt
	holders  holderTexts
	promoteFind,
	promoteSet Stmt
	next     Stmt // how long until time makes a row ready
	settle   Stmt
	settled  Stmt // which of the tickets $2 were settled by their token
	renew    Stmt
	held     Stmt // which of the tickets $2 still hold
	givenUp  Stmt // which of the tickets $2 are of cancelled jobs
	expired  Stmt // claims whose lease ran out, but runner $2's, at most $3
	putBack  Stmt
	fallen   Stmt      // what the failure jobs of the claims $2 are made of
	delete   Stmt      // the rows of $2
	prune    [2][]Stmt // by state; then those of one tenant
	putOff   Stmt      // the rows of $2 for $3
	fair     fairTexts
	edit     editTexts
	runners  runnerTexts
	switches switchTexts
	find     findTexts
	turns    turnTexts
	slots    slotTexts
	admit    admitTexts
	wake     wakeTexts
	bounds   boundTexts
	batches  batchTexts

	schedules scheduleTexts
}

func newTexts(d *Dialect) texts {
	c := func(text string) Stmt { return d.Marks.Compile(text) }
	return texts{
		hasTable:    c(d.Words.HasTable),
		holders:     newHolderTexts(d),
		promoteFind: c(promoteFindText(d)),
		promoteSet:  c(promoteSetText(d)),
		next:        c(NextText(d)),
		settle:      c(SettleText(d)),
		settled:     c(ticketsText(d, "j.settled")),
		renew:       c(RenewText(d)),
		held:        c(ticketsText(d, "j.token")),
		givenUp:     c(CancelledText(d)),
		expired:     c(ExpiredText(d)),
		putBack:     c(PutBackText(d)),
		fallen:      c(FallenText(d)),
		delete:      c(deleteText(d)),
		prune:       pruneTexts(d),
		putOff:      c(putOffText(d)),
		fair:        newFairTexts(d),
		edit:        newEditTexts(d),
		runners:     newRunnerTexts(d),
		switches:    newSwitchTexts(d),
		find:        newFindTexts(d),
		turns:       newTurnTexts(d),
		slots:       newSlotTexts(d),
		admit:       newAdmitTexts(d),
		wake:        newWakeTexts(d),
		bounds:      newBoundTexts(d),
		batches:     newBatchTexts(d),
		schedules:   newScheduleTexts(d),
	}
}

// ticketCols are the row source of tickets.
var ticketCols = []Col{{"id", ColID}, {"token", ColID}}

// ticketsText gives those of the tickets $2 whose token is in that column of their row.
func ticketsText(d *Dialect, column string) string {
	return d.Forms.Select(Select{
		Columns: "j.id, " + column, From: d.Table("jobs"), Join: d.Words.Rows("$2", ticketCols),
		Where: "j.id = o.id AND " + column + " = o.token",
	})
}
