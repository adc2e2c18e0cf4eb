// Package source tells from the text of a file, without parsing it, what every
// way of cutting it needs: where its lines begin ([Lines]), what its comments say
// ([CommentDoc], [IsLicence]), which tags a page has ([ReadPage]). [Piece] and
// [Break] are what parsers and text rules hand to package chunker.
//
// It holds no state, does not block and returns no errors. Everything in it is
// safe for concurrent use and takes time linear in the size of its input.
package source
