#include "textflag.h"

// Four rows at a time share the loads of the query, and their sums are added up
// across a register in one go.

// SUM adds up the dwords of Y0, Y1, Y2, Y3 each and stores the four sums.
#define SUM \
	VPHADDD      Y1, Y0, Y0 \
	VPHADDD      Y3, Y2, Y2 \
	VPHADDD      Y2, Y0, Y0 \
	VEXTRACTI128 $1, Y0, X1 \
	VPADDD       X1, X0, X0 \
	VMOVDQU      X0, (DI)   \
	VZEROUPPER

// func fourVNNI(a, b, c, d *byte, q *int8, n int, out *[4]int32)
TEXT ·fourVNNI(SB), NOSPLIT, $0-56
	MOVQ   a+0(FP), R8
	MOVQ   b+8(FP), R9
	MOVQ   c+16(FP), R10
	MOVQ   d+24(FP), R11
	MOVQ   q+32(FP), SI
	MOVQ   n+40(FP), CX
	MOVQ   out+48(FP), DI
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	XORQ   AX, AX

vnni:
	VMOVDQU32 (SI)(AX*1), Z4
	VMOVDQU32 (R8)(AX*1), Z5
	VMOVDQU32 (R9)(AX*1), Z6
	VMOVDQU32 (R10)(AX*1), Z7
	VMOVDQU32 (R11)(AX*1), Z8
	VPDPBUSD  Z4, Z5, Z0       // unsigned row, signed query
	VPDPBUSD  Z4, Z6, Z1
	VPDPBUSD  Z4, Z7, Z2
	VPDPBUSD  Z4, Z8, Z3
	ADDQ      $64, AX
	CMPQ      AX, CX
	JLT       vnni

	VEXTRACTI64X4 $1, Z0, Y4
	VEXTRACTI64X4 $1, Z1, Y5
	VEXTRACTI64X4 $1, Z2, Y6
	VEXTRACTI64X4 $1, Z3, Y7
	VPADDD        Y4, Y0, Y0
	VPADDD        Y5, Y1, Y1
	VPADDD        Y6, Y2, Y2
	VPADDD        Y7, Y3, Y3
	SUM
	RET

// func fourAVX2(a, b, c, d *byte, q *int8, n int, out *[4]int32)
TEXT ·fourAVX2(SB), NOSPLIT, $0-56
	MOVQ  a+0(FP), R8
	MOVQ  b+8(FP), R9
	MOVQ  c+16(FP), R10
	MOVQ  d+24(FP), R11
	MOVQ  q+32(FP), SI
	MOVQ  n+40(FP), CX
	MOVQ  out+48(FP), DI
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ  AX, AX

avx2:
	VPMOVSXBW (SI)(AX*1), Y4
	VPMOVZXBW (R8)(AX*1), Y5
	VPMOVZXBW (R9)(AX*1), Y6
	VPMOVZXBW (R10)(AX*1), Y7
	VPMOVZXBW (R11)(AX*1), Y8
	VPMADDWD  Y4, Y5, Y5
	VPMADDWD  Y4, Y6, Y6
	VPMADDWD  Y4, Y7, Y7
	VPMADDWD  Y4, Y8, Y8
	VPADDD    Y5, Y0, Y0
	VPADDD    Y6, Y1, Y1
	VPADDD    Y7, Y2, Y2
	VPADDD    Y8, Y3, Y3
	ADDQ      $16, AX
	CMPQ      AX, CX
	JLT       avx2

	SUM
	RET

// func halves(q *float32, h *byte, n int) float32
TEXT ·halves(SB), NOSPLIT, $0-28
	MOVQ   q+0(FP), SI
	MOVQ   h+8(FP), DI
	MOVQ   n+16(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	XORQ   AX, AX

half:
	VCVTPH2PS   (DI)(AX*2), Y4
	VCVTPH2PS   16(DI)(AX*2), Y5
	VCVTPH2PS   32(DI)(AX*2), Y6
	VCVTPH2PS   48(DI)(AX*2), Y7
	VFMADD231PS (SI)(AX*4), Y4, Y0
	VFMADD231PS 32(SI)(AX*4), Y5, Y1
	VFMADD231PS 64(SI)(AX*4), Y6, Y2
	VFMADD231PS 96(SI)(AX*4), Y7, Y3
	ADDQ        $32, AX
	CMPQ        AX, CX
	JLT         half

	VADDPS       Y1, Y0, Y0
	VADDPS       Y3, Y2, Y2
	VADDPS       Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VHADDPS      X0, X0, X0
	VHADDPS      X0, X0, X0
	VZEROUPPER
	MOVSS        X0, ret+24(FP)
	RET

// func differ(out *uint16, row, q *uint64, words, rows int)
TEXT ·differ(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ row+8(FP), R8
	MOVQ q+16(FP), SI
	MOVQ words+24(FP), CX
	MOVQ rows+32(FP), DX
	SHLQ $3, CX             // bytes of a row

rows:
	LEAQ  (R8)(CX*1), R9
	LEAQ  (R9)(CX*1), R10
	LEAQ  (R10)(CX*1), R11
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ  AX, AX

words:
	VMOVDQU  (SI)(AX*1), Y4
	VPXOR    (R8)(AX*1), Y4, Y5
	VPXOR    (R9)(AX*1), Y4, Y6
	VPXOR    (R10)(AX*1), Y4, Y7
	VPXOR    (R11)(AX*1), Y4, Y8
	VPOPCNTQ Y5, Y5
	VPOPCNTQ Y6, Y6
	VPOPCNTQ Y7, Y7
	VPOPCNTQ Y8, Y8
	VPADDQ   Y5, Y0, Y0
	VPADDQ   Y6, Y1, Y1
	VPADDQ   Y7, Y2, Y2
	VPADDQ   Y8, Y3, Y3
	ADDQ     $32, AX
	CMPQ     AX, CX
	JLT      words

	// Two sums share a quadword from here on, one in each half of it.
	VPSLLQ       $32, Y1, Y1
	VPSLLQ       $32, Y3, Y3
	VPADDQ       Y1, Y0, Y0
	VPADDQ       Y3, Y2, Y2
	VEXTRACTI128 $1, Y0, X1
	VEXTRACTI128 $1, Y2, X3
	VPADDQ       X1, X0, X0
	VPADDQ       X3, X2, X2
	VPUNPCKLQDQ  X2, X0, X1
	VPUNPCKHQDQ  X2, X0, X3
	VPADDQ       X3, X1, X1
	VPACKUSDW    X1, X1, X1
	VMOVQ        X1, (DI)
	ADDQ         $8, DI
	LEAQ         (R11)(CX*1), R8
	SUBQ         $4, DX
	JNZ          rows

	VZEROUPPER
	RET

// func flip(q *int8, row *byte, n int) int32
TEXT ·flip(SB), NOSPLIT, $0-28
	MOVQ     q+0(FP), DI
	MOVQ     row+8(FP), SI
	MOVQ     n+16(FP), CX
	VPXOR    Y0, Y0, Y0     // the sum
	VPXOR    Y1, Y1, Y1     // zero
	VPCMPEQB Y2, Y2, Y2
	VPSLLW   $15, Y2, Y2
	VPACKSSWB Y2, Y2, Y2    // 0x80 in each byte
	XORQ     AX, AX

flip:
	VMOVDQU (SI)(AX*1), Y3
	VMOVDQU 32(SI)(AX*1), Y4
	VPSADBW Y1, Y3, Y5
	VPSADBW Y1, Y4, Y6
	VPXOR   Y2, Y3, Y3
	VPXOR   Y2, Y4, Y4
	VMOVDQU Y3, (DI)(AX*1)
	VMOVDQU Y4, 32(DI)(AX*1)
	VPADDQ  Y5, Y0, Y0
	VPADDQ  Y6, Y0, Y0
	ADDQ    $64, AX
	CMPQ    AX, CX
	JLT     flip

	VEXTRACTI128 $1, Y0, X1
	VPADDQ       X1, X0, X0
	VPSRLDQ      $8, X0, X1
	VPADDQ       X1, X0, X0
	VZEROUPPER
	MOVQ         X0, AX
	MOVL         AX, ret+24(FP)
	RET
