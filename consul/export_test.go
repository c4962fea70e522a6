package consul

// EntryName gives tests the names of entries.
var EntryName = entryName
