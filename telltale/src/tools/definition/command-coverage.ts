import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { ApprovedFile, Covered } from '../../lib/approved-files.ts';
import { isInside } from '../../manifest/files.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { innerCommands, isShell, programName } from '../access/inner-commands.ts';
import { parseShellLine, type ShellCommand, type ShellWord } from '../access/shell-line.ts';
import { contentHash } from './definition-hash.ts';

/** The files that an approval of a command covers, and the reasons why it cannot cover all. */
export interface Coverage extends Required<Covered> {
  /** Real paths of the covered files that run, and that the command itself does not change. */
  readonly runs: readonly string[];
}

export interface CoverageContext {
  /** The agent's folder. Shown paths are relative to it. */
  readonly folder: string;
  /** The folder the command runs in. */
  readonly cwd: string;
  /** The PATH the command runs with. */
  readonly path: string | undefined;
  /** Folders the agent may write. */
  readonly roots: readonly string[];
  /** Whether only the names of files are needed, including files a program would look for but that do not exist yet. */
  readonly namesOnly?: true;
}

const MAX_FILES = 200;
const MAX_SCRIPT = 1024 * 1024;
const MAX_DEPTH = 16;
const MAX_REASONS = 20;
/** The most words of all commands together. */
const MAX_WORDS = 100_000;
/** The most parts of a word that are tried as file names. */
const MAX_PARTS = 20;
/** The most words that are looked up as files. */
const MAX_LOOKUPS = 5_000;
/** The most bytes that are read from all files together. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The coverage of an approval of an sh line. */
export function coverageOfLine(line: string, place: CoverageContext): Coverage {
  const reader = new CoverageReader(place);
  reader.line(line);
  return reader.coverage();
}

/** The coverage of an approval of a program with arguments, which no shell expands. */
export function coverageOfCommand(command: readonly string[], place: CoverageContext): Coverage {
  const reader = new CoverageReader(place);
  reader.command({ words: command.map(literalWord), variables: [], inputs: [], outputs: [] });
  return reader.coverage();
}

const literalWord = (text: string): ShellWord => ({ text, isLiteral: true });

/**
 * Follows a command to the files that it names and runs. Whatever cannot be followed becomes a reason why the approval
 * does not cover everything. A program that is not known to run nothing else counts as one that may.
 */
class CoverageReader {
  readonly #context: CoverageContext;
  readonly #folder: string;
  /** The folders the command may be in when it uses a relative path. */
  readonly #bases: string[];
  readonly #files = new Map<string, ApprovedFile>();
  readonly #runs = new Map<string, string>();
  readonly #writes = new Set<string>();
  readonly #reasons = new Set<string>();
  readonly #scripts = new Set<string>();
  readonly #lookedUp = new Set<string>();
  #bytes = 0;
  #words = 0;
  /** The path of the script being read. */
  #within = '';
  #depth = 0;

  constructor(place: CoverageContext) {
    this.#context = place;
    this.#folder = realPathOr(place.folder);
    this.#bases = [realPathOr(place.cwd)];
  }

  coverage(): Coverage {
    const changed = [...this.#runs].filter(([path, real]) =>
      [...this.#writes].some((written) => isInside(path, written) || isInside(real, written)),
    );
    this.#within = '';
    for (const [path] of changed)
      this.#addReason(`the command itself may change ${this.#quotedPath(path)} before it runs`);
    const kept = new Set(changed.map(([path]) => path));
    const reasons = [...this.#reasons];
    return {
      files: [...this.#files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
      uncovered:
        reasons.length <= MAX_REASONS
          ? reasons
          : [...reasons.slice(0, MAX_REASONS), `and ${reasons.length - MAX_REASONS} more reasons`],
      runs: [...new Set([...this.#runs].flatMap(([path, real]) => (kept.has(path) ? [] : [real])))],
    };
  }

  line(line: string): void {
    const { commands, unparsed: unread } = parseShellLine(line);
    for (const each of unread) this.#addReason(`it holds ${each}`);
    for (const each of commands) this.command(each);
  }

  command(command: ShellCommand): void {
    this.#words += command.words.length;
    if (this.#depth > MAX_DEPTH || this.#words > MAX_WORDS) {
      this.#addReason('commands and scripts are nested too deep, or too long');
      return;
    }
    this.#depth++;
    const { words, variables, inputs, outputs } = command;
    if (variables.length > 0) this.#addReason(`it sets ${variables.join(', ')}`);
    const [program, ...args] = words;
    for (const word of [...args, ...inputs]) this.#coverWord(word);
    for (const word of outputs) this.#recordWrite(word);
    if (program?.isLiteral === false) this.#coverWord(program);
    if (program?.isLiteral === true && program.text !== '') this.#program(program.text, args, command);
    this.#depth--;
  }

  /** Adds a file named by an argument, in any of the usual forms, to the approval. */
  #coverWord({ text, isLiteral: known }: ShellWord): void {
    if (!known) this.#addReason(`"${clip(text, 80)}" is only known when it runs`);
    const key = `${this.#bases.length} ${text}`;
    if (this.#lookedUp.has(key)) return;
    if (this.#lookedUp.size >= MAX_LOOKUPS) {
      this.#addReason('it has too many words');
      return;
    }
    this.#lookedUp.add(key);
    for (const part of partsOf(text))
      for (const path of this.#possiblePaths(part)) if (isFile(path)) this.#cover(path);
  }

  #recordWrite({ text, isLiteral: known }: ShellWord): void {
    if (!known) this.#addReason(`"${clip(text, 80)}" is only known when it runs`);
    else
      for (const part of partsOf(text))
        for (const path of this.#possiblePaths(part)) this.#writes.add(path).add(realPathOr(path));
  }

  #program(text: string, args: readonly ShellWord[], command: ShellCommand): void {
    const file = this.#find(text);
    if (file !== undefined && !this.#isSystemProgram(file)) {
      this.#runFile(file, args);
      return;
    }
    if (file === undefined && /[\\/]/.test(text)) {
      for (const path of this.#possiblePaths(text)) this.#cover(path, true);
      this.#addReason(`${quoted(text)} is not there yet`);
      return;
    }
    // A path may be a link with another name to a system program.
    const isLink = file !== undefined && /[\\/]/.test(text) && lstatSync(file).isSymbolicLink();
    const name = programName(
      isLink && !this.#isOnPath(dirname(file)) ? realPathOr(file) : text,
    ).toLowerCase();
    this.#knownProgram(name.replace(VERSION, '$1'), args, command);
  }

  #knownProgram(name: string, args: readonly ShellWord[], command: ShellCommand): void {
    const inner = innerCommands(command);
    if (inner !== undefined) {
      for (const each of inner.unparsed) this.#addReason(`it holds ${each}`);
      const set = args.filter(({ text }) => name === 'env' && /^[A-Za-z_]\w*=/.test(text));
      if (set.length > 0)
        this.#addReason(`it sets ${set.map(({ text }) => text.replace(/=.*/s, '')).join(', ')}`);
      if (name === 'chroot' || name === 'nsenter' || name === 'unshare')
        this.#addReason(`"${name}" shows it other files under these names`);
      for (const each of inner.commands) this.command(each);
      return;
    }
    if (isShell(name)) this.#shell(name, args);
    else if (name === '.' || name === 'source') this.#source(args);
    else if (name === 'cd' || name === 'chdir') this.#changeFolder(args);
    else if (name === 'set' && args.every(({ text }) => /^[-+][A-Za-z]+$|^pipefail$/.test(text))) return;
    else if (name === 'node' || name === 'nodejs' || name === 'python') this.#interpreter(name, args);
    else if (PLAIN_PROGRAMS.has(name)) {
      const runs = RUNS_BY_OPTION.get(name);
      for (const { text } of args)
        if (runs !== undefined && text.startsWith(runs))
          this.#addReason(`the option ${quoted(text)} of "${name}" runs another program`);
      if (CHANGES_FILES.has(name)) for (const each of args) this.#recordWrite(each);
      if (!LISTS_FOLDERS.has(name)) this.#noteFolders(args);
    } else {
      for (const file of CONFIGURED_BY.get(name) ?? [])
        for (const path of this.#possiblePaths(file))
          if (this.#context.namesOnly === true || isFile(path)) this.#cover(path);
      this.#noteFolders(args);
      this.#addReason(`${quoted(name)} may run files that the command line does not name`);
    }
  }

  #noteFolders(args: readonly ShellWord[]): void {
    for (const { text } of args)
      if (text !== '' && this.#possiblePaths(text).some((path) => statOf(path)?.isDirectory() === true))
        this.#addReason(`the folder ${quoted(text)} is named as a whole`);
  }

  /**
   * Runs a program in the agent's own folders: a script for the interpreter in its first line, or a compiled program.
   */
  #runFile(path: string, args: readonly ShellWord[]): void {
    this.#cover(path, true);
    const source = sourceOf(path);
    const first = /^#![ \t]*(\S+)(?:[ \t]+(.*\S))?[ \t]*(?:\r?\n|$)/.exec(source ?? '');
    if (source === undefined || source.includes('\0'))
      this.#addReason(`${this.#quotedPath(path)} is a compiled program, or cannot be read`);
    else if (first === null) this.#script(path, source);
    else {
      const [, interpreter = '', option] = first;
      const words = [interpreter, ...(option === undefined ? [] : [option]), path].map(literalWord);
      this.command({ words: [...words, ...args], variables: [], inputs: [], outputs: [] });
    }
  }

  #shell(name: string, args: readonly ShellWord[]): void {
    if (!PLAIN_SHELLS.has(name)) this.#addReason(`"${name}" reads files of its own when it starts`);
    let at = 0;
    for (; at < args.length; at++) {
      const { text } = args[at] as ShellWord;
      if (!/^[-+]./.test(text)) break;
      if (text === '--') {
        at++;
        break;
      }
      if (/^[-+][oO]$/.test(text)) at++;
      else if (text.startsWith('--') || /[lis]/.test(text))
        this.#addReason(`the option ${quoted(text)} of "${name}" may have it read other files`);
    }
    const file = args[at];
    if (file === undefined || file.text === '-')
      this.#addReason(`"${name}" reads its commands from standard input`);
    else this.#scriptNamed(file);
  }

  #source([file]: readonly ShellWord[]): void {
    if (file === undefined) return;
    // If the name has no slash, some shells search PATH first.
    const onPath = file.text.includes('/') ? undefined : this.#onPath(file.text);
    if (onPath !== undefined) this.#readScript(onPath);
    this.#scriptNamed(file);
  }

  #scriptNamed({ text, isLiteral: known }: ShellWord): void {
    if (!known) return; // the unknown word is already recorded as a reason
    const there = this.#possiblePaths(text).filter(isFile);
    for (const path of there) this.#readScript(path);
    if (there.length > 0) return;
    for (const path of this.#possiblePaths(text)) this.#cover(path, true);
    this.#addReason(`${quoted(text)} is not there yet`);
  }

  #readScript(path: string): void {
    this.#cover(path, true);
    const source = sourceOf(path);
    if (source === undefined) this.#addReason(`${this.#quotedPath(path)} cannot be read`);
    else this.#script(path, source);
  }

  #script(path: string, source: string): void {
    const real = realPathOr(path);
    if (this.#scripts.has(real)) return;
    this.#scripts.add(real);
    const within = this.#within;
    this.#within = this.#shown(path);
    this.line(source);
    this.#within = within;
  }

  #interpreter(name: string, args: readonly ShellWord[]): void {
    const isPython = name === 'python';
    for (const [index, word] of args.entries()) {
      const { text, isLiteral: known } = word;
      if (isPython ? text === '-c' : /^(?:-e|--eval|-p|--print|-pe)$/.test(text)) {
        const code = args[index + 1]?.text ?? '';
        if (loadsOtherCode(code, isPython ? 'python' : 'js'))
          this.#addReason(`the code given to "${name}" may load other files`);
        return;
      }
      if (/^-./.test(text)) {
        if (SAFE_OPTIONS.has(text)) continue;
        this.#addReason(`the option ${quoted(text)} of "${name}" may have it load other files`);
        continue;
      }
      if (text === '-') break;
      if (!known) return;
      const there = this.#possiblePaths(text).filter(isFile);
      for (const path of there) this.#module(path, isPython ? 'python' : 'js');
      if (there.length > 0) return;
      for (const path of this.#possiblePaths(text)) this.#cover(path, true);
      this.#addReason(`${quoted(text)} is not a file`);
      return;
    }
    this.#addReason(`"${name}" reads its program from standard input`);
  }

  #module(path: string, language: 'js' | 'python'): void {
    const real = realPathOr(path);
    this.#cover(path, true);
    if (this.#scripts.has(real)) return;
    this.#scripts.add(real);
    const source = sourceOf(path);
    if (source === undefined) {
      this.#addReason(`${this.#quotedPath(path)} cannot be read`);
      return;
    }
    const { paths, rest } = language === 'js' ? importsOf(source) : { paths: [], rest: source };
    for (const imported of paths) {
      const file = resolve(dirname(real), imported);
      if (isFile(file)) this.#module(file, language);
      else this.#addReason(`${this.#quotedPath(path)} imports ${quoted(imported)}, which is not there`);
    }
    if (loadsOtherCode(rest, language)) this.#addReason(`${this.#quotedPath(path)} may load other files`);
  }

  #changeFolder([to, ...more]: readonly ShellWord[]): void {
    if (to === undefined || more.length > 0 || !to.isLiteral || to.text.startsWith('-')) {
      this.#addReason('it goes to a folder that is only known when it runs');
      return;
    }
    for (const base of [...this.#bases]) {
      const next = realPathOr(resolve(base, to.text));
      if (!this.#bases.includes(next)) this.#bases.push(next);
    }
    if (this.#bases.length > MAX_DEPTH) this.#addReason('it goes to many folders');
  }

  #cover(path: string, runs = false): void {
    const real = realPathOr(path);
    if (runs) this.#runs.set(path, real);
    if (this.#files.has(path)) return;
    if (this.#files.size >= MAX_FILES) {
      this.#addReason(`it names more than ${MAX_FILES} files`);
      return;
    }
    if (this.#context.namesOnly !== true) this.#bytes += statOf(path)?.size ?? 0;
    const content = this.#contentOf(path);
    if (content === 'too large') this.#addReason(`${this.#quotedPath(path)} is too large to be compared`);
    this.#files.set(path, {
      path: this.#shown(path),
      content,
      ...(real === path ? {} : { leads: this.#shown(real) }),
    });
  }

  #contentOf(path: string): string {
    if (this.#context.namesOnly === true) return '';
    return this.#bytes > MAX_BYTES ? 'too large' : contentHash(path);
  }

  #addReason(reason: string): void {
    this.#reasons.add(this.#within === '' ? reason : `${this.#within}: ${reason}`);
  }

  #possiblePaths(text: string): readonly string[] {
    if (text.includes('\0') || text.length > 4_096) return [];
    return isAbsolute(text)
      ? [resolve(text)]
      : this.#bases.slice(0, MAX_DEPTH).map((base) => resolve(base, text));
  }

  /** The file that a program name stands for. */
  #find(text: string): string | undefined {
    return /[\\/]/.test(text) ? this.#possiblePaths(text).find(isFile) : this.#onPath(text);
  }

  #onPath(name: string): string | undefined {
    for (const folder of (this.#context.path ?? '').split(delimiter)) {
      // An empty or relative entry is resolved in the command's folder.
      const found = this.#possiblePaths(folder === '' ? '.' : folder)
        .map((each) => join(each, name))
        .find(isFile);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #isOnPath(folder: string): boolean {
    return (this.#context.path ?? '').split(delimiter).includes(folder);
  }

  /**
   * Whether the agent cannot change a program: it is on PATH or below `/usr`, and not in a folder the agent may write.
   */
  #isSystemProgram(path: string): boolean {
    const real = realPathOr(path);
    if (
      [this.#folder, ...this.#context.roots].some(
        (root) => root !== sep && (isInside(real, root) || isInside(path, root)),
      )
    )
      return isInside(real, '/usr') && !isInside(this.#folder, '/usr');
    return (
      this.#isOnPath(dirname(path)) ||
      this.#isOnPath(dirname(real)) ||
      SYSTEM.some((each) => isInside(real, each))
    );
  }

  #shown(path: string): string {
    return isInside(path, this.#folder) ? relative(this.#folder, path) : path;
  }

  #quotedPath(path: string): string {
    return quoted(this.#shown(path));
  }
}

/** Treats `python3.12` as `python`. */
const VERSION = /^(python|node|bash|ksh|perl|ruby|lua|php)-?[\d.]+$/;
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/opt', '/nix', '/System'];

/** The parts of a word that may be file names: `-ofile`, `of=file`. */
const partsOf = (text: string): ReadonlySet<string> =>
  new Set(
    [text, ...(text.startsWith('-') ? [text.slice(2)] : []), ...text.split(/[=:,@]/, MAX_PARTS)].filter(
      (part) => part !== '',
    ),
  );

const quoted = (text: string): string => `"${clip(text, 120)}"`;

const statOf = (path: string) => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a part of the path is a file, or is not accessible
  }
};

const isFile = (path: string): boolean => statOf(path)?.isFile() === true;

function realPathOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // it does not exist, so only its name counts
  }
}

function sourceOf(path: string): string | undefined {
  try {
    return statSync(path).size > MAX_SCRIPT ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Node modules that cannot run other code. */
const HARMLESS =
  /^node:(?:assert|buffer|crypto|dns|events|fs|http|https|net|os|path|perf_hooks|querystring|readline|stream|string_decoder|timers|tty|url|util|zlib)(?:\/[a-z]+)?$/;

/** Matches `import … from 'x'`, `export … from 'x'` and `import 'x'` at the beginning of a line. */
const STATIC_IMPORT = /^[ \t]*(?:import|export)\b(?:[\w\s{},*$]*?\bfrom)?\s*(['"])([^'"\\\n]+)\1[ \t]*;?/gm;

/** The relative imports of a module, and its source without those and without imports of harmless Node modules. */
function importsOf(source: string): { readonly paths: readonly string[]; readonly rest: string } {
  const paths: string[] = [];
  const rest = source.replace(STATIC_IMPORT, (whole: string, _quote: string, from: string) => {
    if (/^\.{1,2}\//.test(from)) paths.push(from);
    else if (!HARMLESS.test(from)) return whole;
    return '';
  });
  return { paths, rest };
}

/** Words with which code can load other code. Names can also be written with escapes. */
const LOADERS = {
  js: /\b(?:import|require|eval|Function|constructor|child_process|spawn\w*|exec\w*|fork|dlopen|Worker|Reflect|globalThis|global|getBuiltinModule|binding|mainModule|WebAssembly|module|Deno|Bun)\b|\bprocess\s*(?:\?\.)?\[|\\[ux]/,
  python:
    /\b(?:import|from|exec\w*|eval|compile|open|getattr|globals|locals|vars|setattr|breakpoint|input)\b|__\w+__|\\[uxN]/,
} as const;

/**
 * Whether a source may load or run other code. This only searches for words. Whatever it misses, the reviewer could
 * see.
 */
const loadsOtherCode = (source: string, language: keyof typeof LOADERS): boolean =>
  LOADERS[language].test(source);

const wordSet = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs and shell builtins that run nothing but themselves. All others count as programs that may. */
const PLAIN_PROGRAMS = wordSet(`
  : true false test [ echo printf pwd read exit return break continue shift wait umask type which sleep
  cat ls head tail wc grep egrep fgrep cut tr uniq sort comm cmp diff nl od hexdump strings file stat du df date cal
  basename dirname realpath readlink id whoami groups uname nproc seq expr factor md5sum sha1sum sha224sum sha256sum
  sha384sum sha512sum b2sum cksum base32 base64 yes rev tac fold fmt paste join column expand unexpand printenv
  cp mv rm rmdir mkdir touch ln chmod chown chgrp tee truncate dd install mktemp unlink find split csplit sync tty jq
`);

/** The ones that change the content of files. */
const CHANGES_FILES = wordSet('cp mv ln tee truncate dd install find split csplit sort uniq');

/** Prefixes of options that make them run another program after all. */
const RUNS_BY_OPTION: ReadonlyMap<string, string> = new Map([
  ['sort', '--co'], // --compress-program
  ['split', '--f'], // --filter
  ['install', '--strip-'], // --strip-program
]);

/** The ones that use only the name of a folder, not its content. */
const LISTS_FOLDERS = wordSet(`
  : true false test [ echo printf ls stat du df basename dirname realpath readlink mkdir rmdir rm touch chmod chown chgrp
  ln find mktemp which type date seq expr
`);

/** Shells that read only the script when they start. */
const PLAIN_SHELLS = wordSet('sh bash dash ash ksh mksh');

/** Interpreter options that load nothing. */
const SAFE_OPTIONS = wordSet('-u -B -O -OO -E -I -s -S --no-warnings --enable-source-maps --');

/** Files that these programs look for in their folder without being told. */
const CONFIGURED_BY: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    'make gmake': 'GNUmakefile makefile Makefile',
    'npm npx yarn pnpm pnpx bun bunx': 'package.json .npmrc package-lock.json yarn.lock pnpm-lock.yaml',
    cargo: 'Cargo.toml Cargo.lock build.rs .cargo/config.toml',
    go: 'go.mod go.sum',
    just: 'justfile Justfile .justfile',
    rake: 'Rakefile rakefile',
    bundle: 'Gemfile Gemfile.lock',
    mvn: 'pom.xml',
    gradle: 'build.gradle build.gradle.kts settings.gradle settings.gradle.kts',
    ninja: 'build.ninja',
    cmake: 'CMakeLists.txt',
    docker: 'Dockerfile compose.yaml docker-compose.yml',
    'pytest tox': 'conftest.py pytest.ini pyproject.toml setup.cfg tox.ini',
    tsc: 'tsconfig.json',
  }).flatMap(([programs, files]) =>
    programs.split(' ').map((program) => [program, files.split(' ')] as const),
  ),
);
