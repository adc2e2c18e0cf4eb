package chunker_test

// limited says that the memory of a worker is capped and known here.
const limited = true
