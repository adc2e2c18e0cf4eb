package daemon

func usage() (rss int64, cpu float64) { return residentBytes(), 0 }
