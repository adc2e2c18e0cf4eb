package api

// What is made from the routes: the document, the client, the table of answers.
//
//go:generate go test . -run ^(TestDocumentIsCheckedIn|TestClientIsGenerated|TestContract)$ -update
