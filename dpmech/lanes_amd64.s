#include "textflag.h"

// 1.5·2^52: its sum with a whole number n, |n| < 2^51, has the bits of itself plus n.
DATA whole<>+0(SB)/8, $0x4338000000000000
GLOBL whole<>(SB), RODATA|NOPTR, $8

// func sumOfSquaresAVX2(v []float64) float64
//
// Lane i of Y0 is the sum of every fourth square from the i-th on; what is left over
// goes to lane 0.
TEXT ·sumOfSquaresAVX2(SB), NOSPLIT, $0-32
	MOVQ   v_base+0(FP), SI
	MOVQ   v_len+8(FP), CX
	VXORPD Y0, Y0, Y0
	SUBQ   $4, CX
	JLT    rest

four:
	VMOVUPD (SI), Y1
	VMULPD  Y1, Y1, Y1
	VADDPD  Y1, Y0, Y0
	ADDQ    $32, SI
	SUBQ    $4, CX
	JGE     four

rest:
	VEXTRACTF128 $1, Y0, X2
	ADDQ         $4, CX
	JZ           add

one:
	VMOVSD (SI), X1
	VMULSD X1, X1, X1
	VADDSD X1, X0, X0
	ADDQ   $8, SI
	DECQ   CX
	JNZ    one

add:
	VHADDPD X2, X0, X0
	VHADDPD X0, X0, X0
	VMOVSD  X0, ret+24(FP)
	VZEROUPPER
	RET

// func addTruncatedAVX2(sum []int64, v []float64, factor float64)
//
// sum is at least as long as v. |v·factor| < 2^51.
TEXT ·addTruncatedAVX2(SB), NOSPLIT, $0-56
	MOVQ         sum_base+0(FP), DI
	MOVQ         v_base+24(FP), SI
	MOVQ         v_len+32(FP), CX
	VBROADCASTSD factor+48(FP), Y0
	VBROADCASTSD whole<>(SB), Y1
	SUBQ         $4, CX
	JLT          rest

four:
	VMULPD   (SI), Y0, Y2
	VROUNDPD $0x0b, Y2, Y2
	VADDPD   Y1, Y2, Y2
	VPSUBQ   Y1, Y2, Y2
	VPADDQ   (DI), Y2, Y2
	VMOVDQU  Y2, (DI)
	ADDQ     $32, SI
	ADDQ     $32, DI
	SUBQ     $4, CX
	JGE      four

rest:
	ADDQ $4, CX
	JZ   done

one:
	VMULSD      (SI), X0, X2
	VCVTTSD2SIQ X2, AX
	ADDQ        AX, (DI)
	ADDQ        $8, SI
	ADDQ        $8, DI
	DECQ        CX
	JNZ         one

done:
	VZEROUPPER
	RET
