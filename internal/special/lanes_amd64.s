#include "textflag.h"

// The numbers of expOneByOne.
DATA perOctave<>+0(SB)/8, $0x40571547652b82fe // 64 log₂ e
GLOBL perOctave<>(SB), RODATA|NOPTR, $8
DATA roundBits<>+0(SB)/8, $0x4338000000000000 // 3·2⁵¹
GLOBL roundBits<>(SB), RODATA|NOPTR, $8
DATA ln2High<>+0(SB)/8, $0x3f862e42fefa0000
GLOBL ln2High<>(SB), RODATA|NOPTR, $8
DATA ln2Low<>+0(SB)/8, $0x3d1cf79abc9e3b3a
GLOBL ln2Low<>(SB), RODATA|NOPTR, $8
DATA over120<>+0(SB)/8, $0x3f81111111111111 // 1/120
GLOBL over120<>(SB), RODATA|NOPTR, $8
DATA over24<>+0(SB)/8, $0x3fa5555555555555 // 1/24
GLOBL over24<>(SB), RODATA|NOPTR, $8
DATA over6<>+0(SB)/8, $0x3fc5555555555555 // 1/6
GLOBL over6<>(SB), RODATA|NOPTR, $8
DATA half<>+0(SB)/8, $0x3fe0000000000000 // 1/2
GLOBL half<>(SB), RODATA|NOPTR, $8
DATA one<>+0(SB)/8, $0x3ff0000000000000
GLOBL one<>(SB), RODATA|NOPTR, $8
DATA least<>+0(SB)/8, $0xc086200000000000 // −708
GLOBL least<>(SB), RODATA|NOPTR, $8
DATA most<>+0(SB)/8, $0x4086280000000000 // 709
GLOBL most<>(SB), RODATA|NOPTR, $8
DATA place<>+0(SB)/8, $63
GLOBL place<>(SB), RODATA|NOPTR, $8
DATA bias<>+0(SB)/8, $1023
GLOBL bias<>(SB), RODATA|NOPTR, $8
DATA sign<>+0(SB)/8, $0x8000000000000000
GLOBL sign<>(SB), RODATA|NOPTR, $8

// LOAD puts what EXP needs in Y5 to Y13 and BX.
#define LOAD \
	VBROADCASTSD perOctave<>(SB), Y13; \
	VBROADCASTSD roundBits<>(SB), Y12; \
	VBROADCASTSD ln2High<>(SB), Y11;   \
	VBROADCASTSD ln2Low<>(SB), Y10;    \
	VBROADCASTSD over120<>(SB), Y9;      \
	VBROADCASTSD over24<>(SB), Y8;     \
	VBROADCASTSD over6<>(SB), Y7;      \
	VBROADCASTSD half<>(SB), Y6;     \
	VBROADCASTSD one<>(SB), Y5;        \
	VPBROADCASTQ place<>(SB), Y14;     \
	VPBROADCASTQ bias<>(SB), Y15;      \
	LEAQ         ·exp2Table(SB), BX

// EXP makes Y0 of itself its exponentials, as expOneByOne does. It uses Y1 to Y4.
#define EXP \
	VMULPD     Y13, Y0, Y1;           \
	VADDPD     Y12, Y1, Y1;           \ // shifted
	VSUBPD     Y12, Y1, Y2;           \ // n
	VMULPD     Y11, Y2, Y3;           \
	VSUBPD     Y3, Y0, Y0;            \
	VMULPD     Y10, Y2, Y3;           \
	VSUBPD     Y3, Y0, Y0;            \ // r
	VPAND      Y14, Y1, Y2;           \
	VPCMPEQQ   Y3, Y3, Y3;            \
	VGATHERQPD Y3, (BX)(Y2*8), Y4;    \ // t
	VPSRLQ     $6, Y1, Y1;            \
	VPADDQ     Y15, Y1, Y1;           \
	VPSLLQ     $52, Y1, Y1;           \ // scale
	VMULPD     Y9, Y0, Y2;            \
	VADDPD     Y8, Y2, Y2;            \
	VMULPD     Y0, Y2, Y2;            \
	VADDPD     Y7, Y2, Y2;            \
	VMULPD     Y0, Y2, Y2;            \
	VADDPD     Y6, Y2, Y2;            \
	VMULPD     Y0, Y2, Y2;            \
	VADDPD     Y5, Y2, Y2;            \
	VMULPD     Y0, Y2, Y2;            \ // p
	VMULPD     Y4, Y2, Y2;            \
	VADDPD     Y2, Y4, Y4;            \
	VMULPD     Y1, Y4, Y0

// func expAVX2(dst, x []float64) int
TEXT ·expAVX2(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	LOAD
	XORQ         DX, DX
	SUBQ         $4, CX
	JLT          done

four:
	VMOVUPD      (SI)(DX*8), Y0
	VBROADCASTSD least<>(SB), Y1
	VBROADCASTSD most<>(SB), Y2
	VCMPPD       $0x0e, Y1, Y0, Y1
	VCMPPD       $0x01, Y2, Y0, Y2
	VANDPD       Y1, Y2, Y2
	VMOVMSKPD    Y2, AX
	CMPL         AX, $15
	JNE          done
	EXP
	VMOVUPD      Y0, (DI)(DX*8)
	ADDQ         $4, DX
	CMPQ         DX, CX
	JLE          four

done:
	MOVQ DX, ret+48(FP)
	VZEROUPPER
	RET

// func invLogitAVX2(prob, x []float64) int
TEXT ·invLogitAVX2(SB), NOSPLIT, $0-56
	MOVQ prob_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	LOAD
	XORQ DX, DX
	SUBQ $4, CX
	JLT  done

four:
	VBROADCASTSD sign<>(SB), Y1
	VBROADCASTSD least<>(SB), Y2
	VORPD        (SI)(DX*8), Y1, Y0     // −|x|
	VCMPPD       $0x0e, Y2, Y0, Y2
	VMOVMSKPD    Y2, AX
	CMPL         AX, $15
	JNE          done
	EXP
	VMOVUPD      (SI)(DX*8), Y1
	VADDPD       Y0, Y5, Y2
	VBLENDVPD    Y1, Y0, Y5, Y1         // that for x < 0, else 1
	VDIVPD       Y2, Y1, Y1
	VMOVUPD      Y1, (DI)(DX*8)
	ADDQ         $4, DX
	CMPQ         DX, CX
	JLE          four

done:
	MOVQ DX, ret+48(FP)
	VZEROUPPER
	RET
