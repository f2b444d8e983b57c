#include "textflag.h"

// COLUMNS computes the column numbers of the two draws in a word. Separate loads are faster than a
// gather instruction.
#define COLUMNS(at, low, high) \
	MOVQ at(BX), high \
	MOVL high, low    \
	SHRL $20, low     \
	SHRQ $52, high

// func slicedAVX2(table *[slicedColumns]uint32, origin int32, dst *int64, words *uint64, missing *uint8, eights int)
//
// slicedAVX2 makes eight samples at a time from draws of 32 bits each: 12 bits choose the column, 7
// bits choose the slice, and 13 bits choose the place. An entry of the table consists of the
// threshold and, in 12 bits, the number of the column's other slice. The column's own slice has the
// same number as the column. eights must be positive.
TEXT ·slicedAVX2(SB), NOSPLIT, $0-48
	MOVQ         table+0(FP), SI
	MOVL         origin+8(FP), AX
	MOVQ         dst+16(FP), DI
	MOVQ         words+24(FP), BX
	MOVQ         missing+32(FP), R8
	MOVQ         eights+40(FP), CX
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15          // the origin
	VPCMPEQD     Y14, Y14, Y14
	VPSRLD       $20, Y14, Y13     // mask of 12 bits, which is also the slice number notInTable
	VPSRLD       $25, Y14, Y12     // 7 bits
	VPSRLD       $19, Y14, Y11     // 13 bits

eight:
	VMOVDQU    (BX), Y0
	VPSRLD     $20, Y0, Y1
	COLUMNS(0, R9, R10)
	COLUMNS(8, R11, R12)
	VMOVD      (SI)(R9*4), X3
	VPINSRD    $1, (SI)(R10*4), X3, X3
	VPINSRD    $2, (SI)(R11*4), X3, X3
	VPINSRD    $3, (SI)(R12*4), X3, X3
	COLUMNS(16, R9, R10)
	COLUMNS(24, R11, R12)
	VMOVD      (SI)(R9*4), X2
	VPINSRD    $1, (SI)(R10*4), X2, X2
	VPINSRD    $2, (SI)(R11*4), X2, X2
	VPINSRD    $3, (SI)(R12*4), X2, X2
	VINSERTI128 $1, X2, Y3, Y3
	VPSRLD     $13, Y0, Y4
	VPAND      Y12, Y4, Y4
	VPSRLD     $12, Y3, Y5
	VPCMPGTD   Y4, Y5, Y5          // if threshold > bits, the draw chooses the column's own slice
	VPAND      Y13, Y3, Y6
	VPBLENDVB  Y5, Y1, Y6, Y6
	VPCMPEQD   Y13, Y6, Y7
	VMOVMSKPS  Y7, AX
	MOVB       AX, (R8)
	VPSUBD     Y15, Y6, Y6
	VPSLLD     $13, Y6, Y6
	VPAND      Y11, Y0, Y0
	VPADDD     Y6, Y0, Y0
	VPMOVSXDQ  X0, Y1
	VEXTRACTI128 $1, Y0, X0
	VPMOVSXDQ  X0, Y2
	VMOVDQU    Y1, (DI)
	VMOVDQU    Y2, 32(DI)
	ADDQ       $32, BX
	ADDQ       $64, DI
	INCQ       R8
	DECQ       CX
	JNZ        eight
	VZEROUPPER
	RET

// This is 2^52 + 2^51 as a float64. If an integer below 2^51 in absolute value is added, the lower
// bits of the sum contain the integer.
DATA magic<>+0(SB)/8, $0x4338000000000000
GLOBL magic<>(SB), RODATA|NOPTR, $8

// func hideAVX2(sums *float32, noise *int64, n int, perStep, step float64)
//
// hideAVX2 requires an n that is a positive multiple of four. Sums in steps, and noise, must be
// below 2^51 in absolute value.
TEXT ·hideAVX2(SB), NOSPLIT, $0-40
	MOVQ         sums+0(FP), DI
	MOVQ         noise+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSD perStep+24(FP), Y15
	VBROADCASTSD step+32(FP), Y14
	VBROADCASTSD magic<>(SB), Y13

four:
	VCVTPS2PD  (DI), Y0
	VMULPD     Y15, Y0, Y0
	VROUNDPD   $0, Y0, Y0
	VPADDQ     (SI), Y13, Y1
	VSUBPD     Y13, Y1, Y1
	VADDPD     Y1, Y0, Y0
	VMULPD     Y14, Y0, Y0
	VCVTPD2PSY Y0, X0
	VMOVUPS    X0, (DI)
	ADDQ       $16, DI
	ADDQ       $32, SI
	SUBQ       $4, CX
	JNZ        four
	VZEROUPPER
	RET
