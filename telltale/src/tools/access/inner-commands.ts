import { readShellLine, type ShellCommand, type ShellWord } from './shell-line.ts';

/** How a program takes the command that it runs. */
interface Wrapper {
  /** Words between its options and the command: the time of `timeout`. */
  readonly operands?: number;
  /** Options whose value is a word of its own. */
  readonly valued?: readonly string[];
  /** Options whose value is a command line for a shell. */
  readonly lines?: readonly string[];
  /** What follows is one command line, its words joined by blanks. */
  readonly joined?: true;
  /** It adds arguments of its own, which the line does not show. */
  readonly adds?: true;
  /** Its options are many: any word may begin the command. */
  readonly anywhere?: true;
}

const SHELLS = 'sh bash dash ash zsh ksh mksh yash fish rbash csh tcsh';

/** Programs that run another one which their arguments name. */
const WRAPPERS = new Map<string, Wrapper>([
  ...'command builtin exec nohup time noglob nocorrect busybox toybox catchsegv fakeroot eatmydata linux32 linux64 sudoedit'
    .split(' ')
    .map((name) => [name, { valued: ['-a', '-f', '-o'] }] as const),
  ['env', { valued: ['-u', '-C', '--unset', '--chdir'], lines: ['-S', '--split-string'] }],
  ['nice', { valued: ['-n', '--adjustment'] }],
  ['ionice', { valued: ['-c', '-n', '-p', '--class', '--classdata'] }],
  ['chrt', { operands: 1, valued: ['-T', '-P', '-D'] }],
  ['taskset', { operands: 1 }],
  ['timeout', { operands: 1, valued: ['-k', '-s', '--kill-after', '--signal'] }],
  ['stdbuf', { valued: ['-i', '-o', '-e', '--input', '--output', '--error'] }],
  [
    'sudo',
    { valued: ['-u', '-g', '-h', '-p', '-C', '-r', '-t', '-T', '-U', '-D', '-R', '--user', '--group'] },
  ],
  ['doas', { valued: ['-u', '-C', '-a'] }],
  ['su', { lines: ['-c', '--command'], valued: ['-s', '--shell'] }],
  ['runuser', { lines: ['-c', '--command'], valued: ['-u', '-g', '-s'] }],
  ['setpriv', { valued: ['--reuid', '--regid', '--groups'] }],
  ['chroot', { operands: 1, valued: ['--userspec', '--groups'] }],
  ['unshare', { valued: ['-S', '-G', '-R', '-w', '--root', '--wd'] }],
  ['nsenter', { valued: ['-t', '-S', '-G', '--target'] }],
  ['flock', { operands: 1, lines: ['-c', '--command'], valued: ['-w', '-E', '--timeout'] }],
  ['script', { lines: ['-c', '--command'] }],
  ['strace', { valued: ['-e', '-o', '-p', '-s', '-u', '-E', '-P', '-a'] }],
  ['ltrace', { valued: ['-e', '-o', '-p', '-s', '-u'] }],
  ['setsid', {}],
  ...'bwrap choom chpst dumb-init gdb i386 perf pkexec prlimit setarch ssh-agent systemd-run tini unbuffer valgrind x86_64 xvfb-run'
    .split(' ')
    .map((name) => [name, { anywhere: true }] as const),
  [
    'xargs',
    {
      valued: ['-n', '-I', '-L', '-P', '-s', '-d', '-E', '-a', '--max-args', '--replace', '--max-procs'],
      adds: true,
    },
  ],
  ['parallel', { valued: ['-j', '-N', '-a', '--jobs'], adds: true }],
  ['watch', { valued: ['-n', '--interval'], joined: true }],
  ['entr', { adds: true }],
  ['eval', { joined: true }],
]);

const isShell = (name: string): boolean => SHELLS.split(' ').includes(name);
const FIND_RUNS: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir']);
/** The loader runs what it is given: `/lib64/ld-linux-x86-64.so.2 /bin/rm`. */
const LOADER = /^ld(?:-linux.*|-musl.*|-[\d.]+|\.so.*)\.so(?:\.\d+)*$|^ld\.so$/;

/** What a command runs in turn. */
export interface Inner {
  readonly commands: readonly ShellCommand[];
  /** Why these are not all that it runs, or not as they will run. */
  readonly unread: readonly string[];
}

/** The name that a program goes by: the last part of its path, without what Windows leaves out. */
export const programName = (word: string): string =>
  (/[^\\/]*$/.exec(word)?.[0] ?? '').replace(/\.(?:exe|cmd|bat|com)$/i, '');

export const shellNamed = (name: string): boolean => isShell(name);

/**
 * The commands that a command names as its arguments, as `env`, `timeout 5`, `xargs`, `sh -c` and `find -exec` do.
 * Undefined where it is no such program. Where it is not certain at which word the inner command begins, each word that
 * may be it begins one.
 */
export function innerCommands({ words }: ShellCommand): Inner | undefined {
  const [program, ...args] = words;
  if (program === undefined) return undefined;
  const name = programName(program.text).toLowerCase();
  if (isShell(name)) return ofShell(args);
  if (name === 'find') return ofFind(args);
  if (name === 'trap') return ofLines(args.slice(0, 1));
  if (name === 'cmd') return ofLines([joined(args.filter(({ text }) => !/^\/[a-z]/i.test(text)))]);
  const wrapper = LOADER.test(name) ? {} : WRAPPERS.get(name);
  return wrapper === undefined ? undefined : ofWrapper(name, wrapper, args);
}

function ofWrapper(name: string, wrapper: Wrapper, args: readonly ShellWord[]): Inner {
  const { operands = 0, valued = [], lines = [], adds, anywhere } = wrapper;
  if (anywhere === true)
    return { commands: args.map((_, start) => plainCommand(args.slice(start))), unread: [] };
  const inner: ShellWord[] = [];
  let at = 0;
  let isVague = false;
  for (; at < args.length; at++) {
    const { text } = args[at] as ShellWord;
    const [option = '', value] = text.startsWith('--')
      ? text.split(/=(.*)/s)
      : shortOption(text, [...valued, ...lines]);
    if (text === '--') {
      at++;
      break;
    }
    if (!text.startsWith('-') || text === '-') {
      if (!/^[A-Za-z_]\w*=/.test(text)) break; // `env NAME=VALUE`
      isVague = false;
      continue;
    }
    const given = value === undefined || value === '' ? args[at + 1] : { text: value, known: true };
    if (lines.includes(option)) {
      if (given !== undefined) inner.push(name === 'env' ? joined([given, ...args.slice(at + 2)]) : given);
    }
    const takesNext = (valued.includes(option) || lines.includes(option)) && (value ?? '') === '';
    if (takesNext) at++;
    // An option that this table does not know may take the next word as its value.
    isVague = !takesNext && (value ?? '') === '';
  }
  // Options may also stand behind an operand: `su root -c LINE`.
  args.slice(at).forEach(({ text }, index, later) => {
    const line = later[index + 1];
    if (lines.includes(text) && line !== undefined) inner.push(line);
  });
  const starts = new Set([
    at + operands,
    ...(isVague ? [at + operands + 1] : []),
    ...(lines.length > 0 ? [at] : []),
  ]);
  const found = [...starts].map((start) => args.slice(start)).filter((rest) => rest.length > 0);
  const read = ofLines([...inner, ...(wrapper.joined === true ? found.map(joined) : [])]);
  return {
    commands: [...read.commands, ...(wrapper.joined === true ? [] : found.map((rest) => plainCommand(rest)))],
    unread: [...read.unread, ...(adds === true ? [`the arguments that "${name}" adds`] : [])],
  };
}

/** Of letters behind one dash the first that takes a value, with what follows it: `-nuroot` is `-u root`. */
function shortOption(text: string, takers: readonly string[]): readonly [option: string, value: string] {
  const at = [...text].findIndex((letter, index) => index > 0 && takers.includes(`-${letter}`));
  return at === -1 ? [text.slice(0, 2), text.slice(2)] : [`-${text.charAt(at)}`, text.slice(at + 1)];
}

/** Words behind `-c` that are read as lines: options with values come before the line, arguments of it behind. */
const MAX_LINES = 5;

/** Each word behind `-c` may be the line: options of shells take values in many ways. */
function ofShell(args: readonly ShellWord[]): Inner | undefined {
  const at = args.findIndex(({ text }) => /^[-+][A-Za-z]*c[A-Za-z]*$/.test(text) || text === '--command');
  const operand = args.findIndex(({ text }) => !/^[-+]/.test(text));
  // `sh FILE -c`: that belongs to the script. An option before the file may have taken the word as its value.
  if (at === -1 || (operand !== -1 && operand < at && !/^[-+]/.test(args[operand - 1]?.text ?? '')))
    return undefined;
  return ofLines(
    args
      .slice(at + 1)
      .filter(({ text }) => !/^[-+]/.test(text))
      .slice(0, MAX_LINES),
  );
}

function ofFind(args: readonly ShellWord[]): Inner | undefined {
  const starts = args.flatMap(({ text }, index) => (FIND_RUNS.has(text) ? [index + 1] : []));
  if (starts.length === 0) return undefined;
  return {
    commands: starts.map((start) => {
      const end = args.findIndex(({ text }, index) => index >= start && (text === ';' || text === '+'));
      return plainCommand(args.slice(start, end === -1 ? undefined : end));
    }),
    unread: ['the arguments that "find" adds'],
  };
}

function ofLines(lines: readonly ShellWord[]): Inner {
  const read = lines.map(({ text }) => readShellLine(text));
  return {
    commands: read.flatMap(({ commands }) => commands),
    unread: [
      ...read.flatMap(({ unread }) => unread),
      ...(lines.some(({ known }) => !known) ? ['a command line that is only known when it runs'] : []),
    ],
  };
}

const plainCommand = (words: readonly ShellWord[]): ShellCommand => ({
  words,
  variables: [],
  inputs: [],
  outputs: [],
});

const joined = (words: readonly ShellWord[]): ShellWord => ({
  text: words.map(({ text }) => text).join(' '),
  known: words.every(({ known }) => known),
});

const MAX_DEPTH = 12;
/** Words of all commands together. */
const MAX_WORDS = 20_000;

/** A command with all that it runs in turn, outermost first. */
export function unwrapped(command: ShellCommand): Inner {
  const commands: ShellCommand[] = [];
  const unread = new Set<string>();
  let words = 0;
  let layer: readonly ShellCommand[] = [command];
  for (let depth = 0; layer.length > 0; depth++) {
    commands.push(...layer);
    words += layer.reduce((sum, each) => sum + each.words.length, 0);
    if (depth >= MAX_DEPTH || words > MAX_WORDS) {
      unread.add('commands nested too deep');
      break;
    }
    const inner = layer.flatMap((each) => innerCommands(each) ?? []);
    for (const each of inner) for (const reason of each.unread) unread.add(reason);
    layer = inner.flatMap((each) => each.commands);
  }
  return { commands, unread: [...unread] };
}
