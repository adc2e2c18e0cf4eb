#include "textflag.h"

// Four rows at a time share the loads of the query. Both sides of these products
// are signed, so the bias of a row, its highest bit, is flipped first.

// What the assembler has no names for, as the Arm Architecture Reference Manual
// encodes it. The last operand is what is written.
#define SDOT(m, n, d)    WORD $(0x4E809400 | m<<16 | n<<5 | d) // 16 pairs of bytes, four to each sum of 32 bits
#define SMULL(m, n, d)   WORD $(0x0E20C000 | m<<16 | n<<5 | d) // the low 8 pairs of bytes to 16 bits
#define SMULL2(m, n, d)  WORD $(0x4E20C000 | m<<16 | n<<5 | d) // the high 8
#define SADALP(n, d)     WORD $(0x4E606800 | n<<5 | d)         // adds signed pairs of 16 bits to sums of 32
#define UADALPB(n, d)    WORD $(0x6E206800 | n<<5 | d)         // adds pairs of bytes to sums of 16
#define UADALPH(n, d)    WORD $(0x6E606800 | n<<5 | d)         // adds pairs of 16 bits to sums of 32
#define UADDLPB(n, d)    WORD $(0x6E202800 | n<<5 | d)         // sums of pairs of bytes, of 16 bits
#define FCVTL(n, d)      WORD $(0x0E217800 | n<<5 | d)         // the low 4 halves to floats
#define FCVTL2(n, d)     WORD $(0x4E217800 | n<<5 | d)         // the high 4
#define FADD4(m, n, d)   WORD $(0x4E20D400 | m<<16 | n<<5 | d) // of 4 floats
#define FADDP4(m, n, d)  WORD $(0x6E20D400 | m<<16 | n<<5 | d) // sums of pairs of floats

#define ARGS \
	MOVD a+0(FP), R0    \
	MOVD b+8(FP), R1    \
	MOVD c+16(FP), R2   \
	MOVD d+24(FP), R3   \
	MOVD q+32(FP), R4   \
	MOVD n+40(FP), R5   \
	MOVD out+48(FP), R6

#define CLEAR \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	VEOR V2.B16, V2.B16, V2.B16 \
	VEOR V3.B16, V3.B16, V3.B16

// FLIP loads 64 bytes of a row and takes the bias off.
#define FLIP(R) \
	VLD1.P 64(R), [V20.B16, V21.B16, V22.B16, V23.B16] \
	VEOR   V31.B16, V20.B16, V20.B16                   \
	VEOR   V31.B16, V21.B16, V21.B16                   \
	VEOR   V31.B16, V22.B16, V22.B16                   \
	VEOR   V31.B16, V23.B16, V23.B16

// SUM adds up V0, V1, V2, V3 each and stores the four sums.
#define SUM \
	VADDP V1.S4, V0.S4, V0.S4 \
	VADDP V3.S4, V2.S4, V2.S4 \
	VADDP V2.S4, V0.S4, V0.S4 \
	VST1  [V0.S4], (R6)

// DOTS adds the products of 64 bytes of a row to one register.
#define DOTS(R, d) \
	FLIP(R)         \
	SDOT(16, 20, d) \
	SDOT(17, 21, d) \
	SDOT(18, 22, d) \
	SDOT(19, 23, d)

// func fourSDOT(a, b, c, d *byte, q *int8, n int, out *[4]int32)
TEXT ·fourSDOT(SB), NOSPLIT, $0-56
	ARGS
	CLEAR
	VMOVI $128, V31.B16

sdot:
	VLD1.P 64(R4), [V16.B16, V17.B16, V18.B16, V19.B16]
	DOTS(R0, 0)
	DOTS(R1, 1)
	DOTS(R2, 2)
	DOTS(R3, 3)
	SUBS   $64, R5, R5
	BGT    sdot

	SUM
	RET

// WIDE adds the products of 16 bytes of a row. Two of them may be too much for 16
// bits, so each goes on by itself.
#define WIDE(q, r, d) \
	SMULL(q, r, 24)  \
	SMULL2(q, r, 25) \
	SADALP(24, d)    \
	SADALP(25, d)

#define WIDES(R, d) \
	FLIP(R)         \
	WIDE(16, 20, d) \
	WIDE(17, 21, d) \
	WIDE(18, 22, d) \
	WIDE(19, 23, d)

// func fourNEON(a, b, c, d *byte, q *int8, n int, out *[4]int32)
TEXT ·fourNEON(SB), NOSPLIT, $0-56
	ARGS
	CLEAR
	VMOVI $128, V31.B16

neon:
	VLD1.P 64(R4), [V16.B16, V17.B16, V18.B16, V19.B16]
	WIDES(R0, 0)
	WIDES(R1, 1)
	WIDES(R2, 2)
	WIDES(R3, 3)
	SUBS   $64, R5, R5
	BGT    neon

	SUM
	RET

// func halves(q *float32, h *byte, n int) float32
TEXT ·halves(SB), NOSPLIT, $0-28
	MOVD q+0(FP), R0
	MOVD h+8(FP), R1
	MOVD n+16(FP), R2
	CLEAR

half:
	VLD1.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	FCVTL(16, 20)
	FCVTL2(16, 21)
	FCVTL(17, 22)
	FCVTL2(17, 23)
	VFMLA  V20.S4, V4.S4, V0.S4
	VFMLA  V21.S4, V5.S4, V1.S4
	VFMLA  V22.S4, V6.S4, V2.S4
	VFMLA  V23.S4, V7.S4, V3.S4
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	FCVTL(18, 20)
	FCVTL2(18, 21)
	FCVTL(19, 22)
	FCVTL2(19, 23)
	VFMLA  V20.S4, V4.S4, V0.S4
	VFMLA  V21.S4, V5.S4, V1.S4
	VFMLA  V22.S4, V6.S4, V2.S4
	VFMLA  V23.S4, V7.S4, V3.S4
	SUBS   $32, R2, R2
	BGT    half

	FADD4(1, 0, 0)
	FADD4(3, 2, 2)
	FADD4(2, 0, 0)
	FADDP4(0, 0, 0)
	FADDP4(0, 0, 0)
	FMOVS F0, ret+24(FP)
	RET

// APART adds how many bits of 32 bytes of a row differ from the query.
#define APART(R, d) \
	VLD1.P 32(R), [V20.B16, V21.B16]   \
	VEOR   V16.B16, V20.B16, V20.B16   \
	VEOR   V17.B16, V21.B16, V21.B16   \
	VCNT   V20.B16, V20.B16            \
	VCNT   V21.B16, V21.B16            \
	VADD   V20.B16, V21.B16, V20.B16   \
	UADALPB(20, d)

// func differ(out *uint16, row, q *uint64, words, rows int)
TEXT ·differ(SB), NOSPLIT, $0-40
	MOVD out+0(FP), R6
	MOVD row+8(FP), R3
	MOVD q+16(FP), R7
	MOVD words+24(FP), R8
	MOVD rows+32(FP), R9
	LSL  $3, R8, R8       // bytes of a row

rows:
	MOVD R3, R0
	ADD  R8, R0, R1
	ADD  R8, R1, R2
	ADD  R8, R2, R3
	MOVD R7, R4
	MOVD R8, R5
	CLEAR

words:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	APART(R0, 0)
	APART(R1, 1)
	APART(R2, 2)
	APART(R3, 3)                      // which ends where the next row begins
	SUBS   $32, R5, R5
	BGT    words

	VADDP V1.H8, V0.H8, V0.H8
	VADDP V3.H8, V2.H8, V2.H8
	VADDP V2.H8, V0.H8, V0.H8
	VADDP V0.H8, V0.H8, V0.H8
	VST1.P [V0.H4], 8(R6)
	SUBS  $4, R9, R9
	BGT   rows
	RET

// ADDUP adds 16 bytes to sums of 32 bits.
#define ADDUP(n, d) \
	UADDLPB(n, 24) \
	UADALPH(24, d)

// func flip(q *int8, row *byte, n int) int32
TEXT ·flip(SB), NOSPLIT, $0-28
	MOVD  q+0(FP), R0
	MOVD  row+8(FP), R1
	MOVD  n+16(FP), R2
	VEOR  V0.B16, V0.B16, V0.B16
	VMOVI $128, V31.B16

flip:
	VLD1.P 64(R1), [V20.B16, V21.B16, V22.B16, V23.B16]
	ADDUP(20, 0)
	ADDUP(21, 0)
	ADDUP(22, 0)
	ADDUP(23, 0)
	VEOR   V31.B16, V20.B16, V20.B16
	VEOR   V31.B16, V21.B16, V21.B16
	VEOR   V31.B16, V22.B16, V22.B16
	VEOR   V31.B16, V23.B16, V23.B16
	VST1.P [V20.B16, V21.B16, V22.B16, V23.B16], 64(R0)
	SUBS   $64, R2, R2
	BGT    flip

	VADDP V0.S4, V0.S4, V0.S4
	VADDP V0.S4, V0.S4, V0.S4
	VMOV  V0.S[0], R3
	MOVW  R3, ret+24(FP)
	RET
