def row(job): return str(job)
