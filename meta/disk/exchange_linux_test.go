package disk_test

// canExchange says whether Replace is one step on this system.
const canExchange = true
