module example.com/demo
