// Package sqlfence has the tests of sqlfence that need a database and its driver:
// PostgreSQL and MariaDB by DISTLOCK_TEST_POSTGRES and DISTLOCK_TEST_MARIADB, and
// SQLite in files of their own.
package sqlfence
