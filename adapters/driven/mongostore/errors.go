package mongostore

import (
	"context"
	"errors"
	"net"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/rowlock/rowlock/domain"
)

// Codes of the server's errors.
const (
	internalError      = 1
	duplicateKey       = 11000
	indexOptionsDiffer = 85 // IndexOptionsConflict
	indexKeysDiffer    = 86 // IndexKeySpecsConflict
	namespaceExists    = 48
	namespaceNotFound  = 26
	indexNotFound      = 27
)

// errClosed is what every call meets after Close.
var errClosed = errors.New("mongostore: the store is closed")

// verdicts are what the server's codes mean.
var verdicts = map[int]struct {
	code domain.Code
	hint string
}{
	112:      {domain.Contended, "another write was faster: try again"}, // WriteConflict
	24:       {domain.Contended, "a lock was not free in time: try again"},
	251:      {domain.Contended, "the transaction is over: run it again"},                                  // NoSuchTransaction
	225:      {domain.Contended, "the transaction is over: run it again"},                                  // TransactionTooOld
	16908292: {domain.Contended, "two writes waited for each other and this one gave way: try again"},      // a deadlock, of a compatible server
	11000:    {domain.Contended, "a unique key was taken meanwhile: try again"},                            // where no one looked for the holder
	10107:    {domain.Unavailable, notPrimary},                                                             // NotWritablePrimary
	10058:    {domain.Unavailable, notPrimary},                                                             // NotPrimaryNoSecondaryOk, of old
	13435:    {domain.Unavailable, notPrimary},                                                             // NotPrimaryNoSecondaryOk
	13436:    {domain.Unavailable, notPrimary},                                                             // NotPrimaryOrSecondary
	11600:    {domain.Unavailable, notPrimary},                                                             // InterruptedAtShutdown
	11602:    {domain.Unavailable, notPrimary},                                                             // InterruptedDueToReplStateChange
	189:      {domain.Unavailable, notPrimary},                                                             // PrimarySteppedDown
	91:       {domain.Unavailable, notPrimary},                                                             // ShutdownInProgress
	6:        {domain.Unavailable, unreachable},                                                            // HostUnreachable
	7:        {domain.Unavailable, unreachable},                                                            // HostNotFound
	89:       {domain.Unavailable, unreachable},                                                            // NetworkTimeout
	9001:     {domain.Unavailable, unreachable},                                                            // SocketException
	50:       {domain.Unavailable, "the server gave up on a call that took too long"},                      // MaxTimeMSExpired
	262:      {domain.Unavailable, "the server gave up on a call that took too long"},                      // ExceededTimeLimit
	64:       {domain.Unavailable, "too few members confirmed the write"},                                  // WriteConcernTimeout
	100:      {domain.Unavailable, "the set has too few members for its write concern"},                    // UnsatisfiableWriteConcern
	13:       {domain.Unavailable, "the user may not do this: give it the role readWrite and dbAdmin"},     // Unauthorized
	18:       {domain.Unavailable, "the server refused the user or password"},                              // AuthenticationFailed
	10334:    {domain.Invalid, "the server refused a value"},                                               // BSONObjectTooLarge
	17280:    {domain.Invalid, "the server refused a value"},                                               // KeyTooLong
	17419:    {domain.Invalid, "the server refused a value"},                                               // a document grown too large
	17420:    {domain.Invalid, "the server refused a value"},                                               // the same, replaced
	2:        {domain.Invalid, "the server refused a value"},                                               // BadValue
	22:       {domain.Invalid, "the server refused a value"},                                               // InvalidBSON
	20:       {domain.Unsupported, "a stand-alone server has no transactions: a replica set is needed"},    // IllegalOperation
	263:      {domain.Unsupported, "the server does not do this in a transaction"},                         // OperationNotSupportedInTransaction
	59:       {domain.Unsupported, "the server does not know the command: MongoDB 5.0 or later is needed"}, // CommandNotFound
}

const (
	notPrimary  = "the server is not, or no longer, the primary"
	unreachable = "the server cannot be reached, or the connection broke"
)

// codeOf judges by types, codes and labels alone, never by a text.
func codeOf(err error) (domain.Code, string) {
	if errors.Is(err, errClosed) || errors.Is(err, mongo.ErrClientDisconnected) {
		return domain.Unavailable, "the store is closed"
	}
	for _, code := range mongo.ErrorCodes(err) {
		if v, known := verdicts[code]; known {
			return v.code, v.hint
		}
	}
	switch {
	case labelled(err, "TransientTransactionError"):
		return domain.Contended, "the transaction was ended by the server: run it again"
	case broken(err):
		return domain.Unavailable, unreachable
	}
	return domain.Internal, ""
}

// broken says that no answer came: whether a write took is unknown. The driver
// gives up by contexts of its own; the caller's is looked at in fault.
func broken(err error) bool {
	var selection topology.ServerSelectionError
	var connection topology.ConnectionError
	var queue topology.WaitQueueTimeoutError
	var network net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, errStreamEnded) || mongo.IsNetworkError(err) || mongo.IsTimeout(err) || labelled(err, "RetryableWriteError") ||
		errors.As(err, &selection) || errors.As(err, &connection) || errors.As(err, &queue) || errors.As(err, &network)
}

func labelled(err error, label string) bool {
	var l mongo.LabeledError
	return errors.As(err, &l) && l.HasErrorLabel(label)
}

func has(err error, codes ...int) bool {
	for _, got := range mongo.ErrorCodes(err) {
		for _, code := range codes {
			if got == code {
				return true
			}
		}
	}
	return false
}

// fault gives an error its code. The driver's text stays inside, unseen: it may hold arguments.
func fault(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	var known *domain.Fault
	if errors.As(err, &known) {
		return err
	}
	if ended := ctx.Err(); ended != nil {
		return &domain.Fault{Code: domain.Canceled, Op: op, Hint: "the context ended", Err: errors.Join(ended, err)}
	}
	code, hint := codeOf(err)
	return &domain.Fault{Code: code, Op: op, Hint: hint, Err: err}
}
