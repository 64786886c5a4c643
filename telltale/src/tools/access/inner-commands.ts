import { parseShellLine, type ShellCommand, type ShellWord } from './shell-line.ts';

/** How a program takes the command it runs. */
interface Wrapper {
  /** Words between its options and the command, such as the time of `timeout`. */
  readonly operands?: number;
  /** Options whose value is a separate word. */
  readonly valued?: readonly string[];
  /** Options whose value is a shell command line. */
  readonly lines?: readonly string[];
  /** The remaining words, joined by spaces, form one command line. */
  readonly joined?: true;
  /** It adds arguments that the line does not show. */
  readonly adds?: true;
  /** It has too many options to list, so any word may begin the command. */
  readonly anywhere?: true;
}

const SHELLS = 'sh bash dash ash zsh ksh mksh yash fish rbash csh tcsh';

/** Programs that run another program named in their arguments. */
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

export const isShell = (name: string): boolean => SHELLS.split(' ').includes(name);
const FIND_EXEC_OPTIONS: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir']);
/** The dynamic loader runs the program it is given: `/lib64/ld-linux-x86-64.so.2 /bin/rm`. */
const LOADER = /^ld(?:-linux.*|-musl.*|-[\d.]+|\.so.*)\.so(?:\.\d+)*$|^ld\.so$/;

/** The commands that a command runs in turn. */
export interface InnerCommands {
  readonly commands: readonly ShellCommand[];
  /** Why the list is incomplete, or inexact. */
  readonly unparsed: readonly string[];
}

/** The name of a program: the last part of its path, without the endings that Windows lets people omit. */
export const programName = (word: string): string =>
  (/[^\\/]*$/.exec(word)?.[0] ?? '').replace(/\.(?:exe|cmd|bat|com)$/i, '');

/**
 * The commands that a command names in its arguments, as `env`, `timeout 5`, `xargs`, `sh -c` and `find -exec` do.
 * Undefined for any other program. If it is unclear at which word the inner command begins, each candidate word begins
 * one.
 */
export function innerCommands({ words }: ShellCommand): InnerCommands | undefined {
  const [program, ...args] = words;
  if (program === undefined) return undefined;
  const name = programName(program.text).toLowerCase();
  if (isShell(name)) return shellCommands(args);
  if (name === 'find') return findCommands(args);
  if (name === 'trap') return parseLines(args.slice(0, 1));
  if (name === 'cmd') return parseLines([joined(args.filter(({ text }) => !/^\/[a-z]/i.test(text)))]);
  const wrapper = LOADER.test(name) ? {} : WRAPPERS.get(name);
  return wrapper === undefined ? undefined : wrappedCommands(name, wrapper, args);
}

function wrappedCommands(name: string, wrapper: Wrapper, args: readonly ShellWord[]): InnerCommands {
  const { operands = 0, valued = [], lines = [], adds, anywhere } = wrapper;
  if (anywhere === true)
    return { commands: args.map((_, start) => plainCommand(args.slice(start))), unparsed: [] };
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
    const given = value === undefined || value === '' ? args[at + 1] : { text: value, isLiteral: true };
    if (lines.includes(option)) {
      if (given !== undefined) inner.push(name === 'env' ? joined([given, ...args.slice(at + 2)]) : given);
    }
    const takesNext = (valued.includes(option) || lines.includes(option)) && (value ?? '') === '';
    if (takesNext) at++;
    // An option that this table does not list may take the next word as its value.
    isVague = !takesNext && (value ?? '') === '';
  }
  // Options may also follow an operand: `su root -c LINE`.
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
  const read = parseLines([...inner, ...(wrapper.joined === true ? found.map(joined) : [])]);
  return {
    commands: [...read.commands, ...(wrapper.joined === true ? [] : found.map((rest) => plainCommand(rest)))],
    unparsed: [...read.unparsed, ...(adds === true ? [`the arguments that "${name}" adds`] : [])],
  };
}

/** Splits bundled short options at the first letter that takes a value: `-nuroot` is `-u root`. */
function shortOption(text: string, takers: readonly string[]): readonly [option: string, value: string] {
  const at = [...text].findIndex((letter, index) => index > 0 && takers.includes(`-${letter}`));
  return at === -1 ? [text.slice(0, 2), text.slice(2)] : [`-${text.charAt(at)}`, text.slice(at + 1)];
}

/**
 * The most words after `-c` that are read as command lines. Option values may precede the line, and its arguments
 * follow it.
 */
const MAX_LINES = 5;

/** Each word after `-c` may be the command line, because shells take option values in many ways. */
function shellCommands(args: readonly ShellWord[]): InnerCommands | undefined {
  const at = args.findIndex(({ text }) => /^[-+][A-Za-z]*c[A-Za-z]*$/.test(text) || text === '--command');
  const operand = args.findIndex(({ text }) => !/^[-+]/.test(text));
  // In `sh FILE -c`, the `-c` belongs to the script. An option before the file may have taken the word as its value.
  if (at === -1 || (operand !== -1 && operand < at && !/^[-+]/.test(args[operand - 1]?.text ?? '')))
    return undefined;
  return parseLines(
    args
      .slice(at + 1)
      .filter(({ text }) => !/^[-+]/.test(text))
      .slice(0, MAX_LINES),
  );
}

function findCommands(args: readonly ShellWord[]): InnerCommands | undefined {
  const starts = args.flatMap(({ text }, index) => (FIND_EXEC_OPTIONS.has(text) ? [index + 1] : []));
  if (starts.length === 0) return undefined;
  return {
    commands: starts.map((start) => {
      const end = args.findIndex(({ text }, index) => index >= start && (text === ';' || text === '+'));
      return plainCommand(args.slice(start, end === -1 ? undefined : end));
    }),
    unparsed: ['the arguments that "find" adds'],
  };
}

function parseLines(lines: readonly ShellWord[]): InnerCommands {
  const read = lines.map(({ text }) => parseShellLine(text));
  return {
    commands: read.flatMap(({ commands }) => commands),
    unparsed: [
      ...read.flatMap(({ unparsed: unread }) => unread),
      ...(lines.some(({ isLiteral: known }) => !known)
        ? ['a command line that is only known when it runs']
        : []),
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
  isLiteral: words.every(({ isLiteral: known }) => known),
});

const MAX_DEPTH = 12;
/** The most words of all commands together. */
const MAX_WORDS = 20_000;

/** A command with all the commands it runs in turn, outermost first. */
export function withInnerCommands(command: ShellCommand): InnerCommands {
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
    for (const each of inner) for (const reason of each.unparsed) unread.add(reason);
    layer = inner.flatMap((each) => each.commands);
  }
  return { commands, unparsed: [...unread] };
}
