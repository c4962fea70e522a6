package sqlfence

import (
	"errors"
	"reflect"
)

// ErrRetry: the transaction lost a race with another, or waited too long for a
// lock. Nothing was decided about the token. Roll the transaction back and run
// all of it again, from its first read; it is never a success.
var ErrRetry = errors.New("transaction lost a race and must be run again")

// Retryable reports whether err, of a statement or of Commit, says that the
// transaction was not carried out and may succeed if all of it is run again:
// ErrRetry, or the database's own word for a serialization failure, a deadlock
// or a lock that was waited for too long. An error of the network is none of
// these: after it, a commit may have been carried out.
//
// It reads the codes of these drivers, and of any that show theirs in the same
// way: pgx, lib/pq (SQLState method); go-sql-driver/mysql (Number field);
// modernc.org/sqlite (Code method), mattn/go-sqlite3 (Code field).
func (d Dialect) Retryable(err error) bool {
	if err == nil || !d.known() {
		return false
	}
	return errors.Is(err, ErrRetry) || traits[d].retryable(err)
}

// retryPostgres knows serialization_failure, deadlock_detected and
// lock_not_available, of the list of PostgreSQL's error codes.
func retryPostgres(err error) bool {
	var e interface{ SQLState() string }
	if !errors.As(err, &e) {
		return false
	}
	switch e.SQLState() {
	case "40001", "40P01", "55P03":
		return true
	}
	return false
}

// retryMySQL knows ER_CHECKREAD (MariaDB: the row is newer than the snapshot),
// ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK.
func retryMySQL(err error) bool {
	switch number(err, "Number") {
	case 1020, 1205, 1213:
		return true
	}
	return false
}

// retrySQLite knows SQLITE_BUSY and SQLITE_LOCKED, whose extended codes have
// them in the lowest byte.
func retrySQLite(err error) bool {
	var e interface{ Code() int }
	code := int64(0)
	if errors.As(err, &e) {
		code = int64(e.Code())
	} else {
		code = number(err, "Code")
	}
	return code&0xff == 5 || code&0xff == 6
}

// number returns the integer field of this name of the first error in err's
// tree that has one, or 0. No driver is imported to ask for its type.
func number(err error, field string) int64 {
	var n int64
	walk(err, func(e error) bool {
		v := reflect.Indirect(reflect.ValueOf(e))
		if v.Kind() != reflect.Struct {
			return false
		}
		switch v = v.FieldByName(field); {
		case !v.IsValid():
		case v.CanInt():
			n = v.Int()
		case v.CanUint():
			n = int64(v.Uint())
		}
		return n != 0
	})
	return n
}

// walk visits err and what it wraps, until visit returns true.
func walk(err error, visit func(error) bool) bool {
	if err == nil || visit(err) {
		return err != nil
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if walk(inner, visit) {
				return true
			}
		}
	}
	return false
}
