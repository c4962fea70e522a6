package etcd

// Escape is how a lock's key is written in the names of its keys.
var Escape = escape
