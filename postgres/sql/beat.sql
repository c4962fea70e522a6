-- Restarts the server's idle time-out, and tells which process answers.
SELECT pg_backend_pid()::bigint
