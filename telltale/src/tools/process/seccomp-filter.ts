/**
 * A filter of system calls for sandboxed commands, as a classic BPF program that bubblewrap loads (`--seccomp`). It
 * refuses calls that ordinary programs do not need and that attacks on the kernel use. Everything else is left to
 * namespaces and to the command's lack of capabilities. Refused calls fail with EPERM, so that programs can continue
 * without them.
 */

interface Architecture {
  /** `AUDIT_ARCH_*`, by which the kernel distinguishes call tables. */
  readonly audit: number;
  /** Numbers of calls that are always refused. */
  readonly denied: readonly number[];
  readonly clone: number;
  readonly unshare: number;
  readonly ioctl: number;
  readonly personality: number;
  readonly socket: number;
}

/** Since 2019, new calls have the same number on every architecture. */
const DENIED_EVERYWHERE: readonly number[] = [
  425,
  426,
  427, // io_uring_setup, io_uring_enter, io_uring_register
  428,
  429,
  430,
  431,
  432,
  433,
  442,
  467, // open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, open_tree_attr
  438,
  440,
  443, // pidfd_getfd, process_madvise, quotactl_fd
];
/** Its flags are in memory, which a filter cannot read. If it is missing, libc uses clone. */
const CLONE3 = 435;

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    denied: [
      101,
      310,
      311,
      312, // ptrace, process_vm_readv, process_vm_writev, kcmp
      165,
      166,
      155,
      161,
      308, // mount, umount2, pivot_root, chroot, setns
      248,
      249,
      250, // add_key, request_key, keyctl
      321,
      298,
      323,
      300, // bpf, perf_event_open, userfaultfd, fanotify_init
      246,
      320,
      175,
      313,
      176,
      174,
      177,
      178, // kexec_load, kexec_file_load, init_module, finit_module, delete_module, create_module, get_kernel_syms, query_module
      167,
      168,
      169,
      179,
      163,
      164,
      227, // swapon, swapoff, reboot, quotactl, acct, settimeofday, clock_settime
      303,
      304,
      212,
      180,
      153,
      170,
      171,
      103, // name_to_handle_at, open_by_handle_at, lookup_dcookie, nfsservctl, vhangup, sethostname, setdomainname, syslog
      279,
      256,
      134,
      136,
      139,
      156,
      154,
      172,
      173, // move_pages, migrate_pages, uselib, ustat, sysfs, _sysctl, modify_ldt, iopl, ioperm
    ],
    clone: 56,
    unshare: 272,
    ioctl: 16,
    personality: 135,
    socket: 41,
  },
  arm64: {
    audit: 0xc00000b7,
    denied: [
      117,
      270,
      271,
      272, // ptrace, process_vm_readv, process_vm_writev, kcmp
      40,
      39,
      41,
      51,
      268, // mount, umount2, pivot_root, chroot, setns
      217,
      218,
      219, // add_key, request_key, keyctl
      280,
      241,
      282,
      262, // bpf, perf_event_open, userfaultfd, fanotify_init
      104,
      294,
      105,
      273,
      106, // kexec_load, kexec_file_load, init_module, finit_module, delete_module
      224,
      225,
      142,
      60,
      89,
      170,
      112, // swapon, swapoff, reboot, quotactl, acct, settimeofday, clock_settime
      264,
      265,
      18,
      42,
      58,
      161,
      162,
      116, // name_to_handle_at, open_by_handle_at, lookup_dcookie, nfsservctl, vhangup, sethostname, setdomainname, syslog
      239,
      238, // move_pages, migrate_pages
    ],
    clone: 220,
    unshare: 97,
    ioctl: 29,
    personality: 92,
    socket: 198,
  },
};

/** All namespaces: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, and NEWTIME for unshare only. */
const NAMESPACES = 0x7e020000;
const NAMESPACES_AND_TIME = 0x7e020080;
/** Both write into the input of a terminal, where the text looks as if a person had typed it. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** PER_LINUX and PER_LINUX32, each also with UNAME26, and the query for the present value. */
const PERSONALITIES = [0, 0x0008, 0x20000, 0x20008, 0xffffffff];
/** AF_UNIX, AF_INET, AF_INET6, and AF_NETLINK, which libc uses to list interfaces. */
const SOCKET_FAMILIES = [1, 2, 10, 16];
const X32_BIT = 0x40000000;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOWED = 0x7fff0000;
const KILLED = 0x80000000;
const failing = (errno: number): number => 0x00050000 | errno;

/** Offsets in the data of a call: its number, its architecture, and the lower halves of its arguments. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The filter for an architecture, by Node's name for it. Undefined if there is none. */
export function seccompFilter(arch: string): Uint8Array | undefined {
  const known = ARCHITECTURES[arch];
  if (known === undefined) return undefined;
  const { audit, denied, clone, unshare, ioctl, personality, socket } = known;
  const refused = [...denied, ...DENIED_EVERYWHERE];
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    // Calls of another architecture have other numbers, so nothing below would apply to them.
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILLED],
    [LOAD, 0, 0, NUMBER_AT],
    ...(arch === 'x64'
      ? ([
          [JUMP_AT_LEAST, 0, 1, X32_BIT],
          [RETURN, 0, 0, KILLED],
        ] as const)
      : []),
    ...refused.flatMap((number) => whenCalled(number, [[RETURN, 0, 0, failing(EPERM)]])),
    ...whenCalled(CLONE3, [[RETURN, 0, 0, failing(ENOSYS)]]),
    ...whenCalled(clone, refuseBits(NAMESPACES)),
    ...whenCalled(unshare, refuseBits(NAMESPACES_AND_TIME)),
    ...whenCalled(ioctl, [
      [LOAD, 0, 0, argumentAt(1)],
      [JUMP_EQUAL, 1, 0, TIOCSTI],
      [JUMP_EQUAL, 0, 1, TIOCLINUX],
      [RETURN, 0, 0, failing(EPERM)],
      [RETURN, 0, 0, ALLOWED],
    ]),
    ...whenCalled(personality, onlyValues(PERSONALITIES, EPERM)),
    ...whenCalled(socket, onlyValues(SOCKET_FAMILIES, EAFNOSUPPORT)),
    [RETURN, 0, 0, ALLOWED],
  ];
  return assembled(program);
}

/** Runs the block for one call. The block must end in a return. */
const whenCalled = (number: number, block: readonly Instruction[]): readonly Instruction[] => [
  [JUMP_EQUAL, 0, block.length, number],
  ...block,
];

const refuseBits = (bits: number): readonly Instruction[] => [
  [LOAD, 0, 0, argumentAt(0)],
  [JUMP_ANY_BIT, 0, 1, bits],
  [RETURN, 0, 0, failing(EPERM)],
  [RETURN, 0, 0, ALLOWED],
];

const onlyValues = (values: readonly number[], errno: number): readonly Instruction[] => [
  [LOAD, 0, 0, argumentAt(0)],
  ...values.map((value, index): Instruction => [JUMP_EQUAL, values.length - index, 0, value]),
  [RETURN, 0, 0, failing(errno)],
  [RETURN, 0, 0, ALLOWED],
];

/** Encodes the program as an array of `struct sock_filter`. Both architectures are little-endian. */
function assembled(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, ifTrue);
    bytes.setUint8(index * 8 + 3, ifFalse);
    bytes.setUint32(index * 8 + 4, value >>> 0, true);
  }
  return new Uint8Array(bytes.buffer);
}
