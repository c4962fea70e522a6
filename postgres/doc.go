// Package postgres takes locks in a PostgreSQL database.
package postgres
