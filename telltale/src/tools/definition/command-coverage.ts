import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { ApprovedFile, Covered } from '../../lib/approved-files.ts';
import { isInside } from '../../manifest/files.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { innerCommands, programName, shellNamed } from '../access/inner-commands.ts';
import { readShellLine, type ShellCommand, type ShellWord } from '../access/shell-line.ts';
import { contentHash } from './definition-hash.ts';

/** What an approval of a command covers, and what it cannot. */
export interface Coverage extends Required<Covered> {
  /** Real paths of the covered files whose content runs, and which the command itself has no reason to change. */
  readonly runs: readonly string[];
}

export interface CoveragePlace {
  /** The agent's folder: what paths are shown relative to. */
  readonly folder: string;
  /** Where the command runs. */
  readonly cwd: string;
  /** The PATH that it runs with. */
  readonly path: string | undefined;
  /** Folders that the agent may write. */
  readonly roots: readonly string[];
  /** Whether only the names of files are wanted, also of those that a program would look for and are not there yet. */
  readonly namesOnly?: true;
}

const MAX_FILES = 200;
const MAX_SCRIPT = 1024 * 1024;
const MAX_DEPTH = 16;
const MAX_REASONS = 20;
/** Words of all commands together. */
const MAX_WORDS = 100_000;
/** Parts of a word that may be files of their own. */
const MAX_PARTS = 20;
/** Words that are looked up as files. */
const MAX_LOOKUPS = 5_000;
/** Bytes that are read of all files together. */
const MAX_BYTES = 256 * 1024 * 1024;

/** What an approval of a line for sh covers. */
export function coverageOfLine(line: string, place: CoveragePlace): Coverage {
  const reader = new CoverageReader(place);
  reader.line(line);
  return reader.coverage();
}

/** What an approval of a program with arguments covers; no shell reads them. */
export function coverageOfCommand(command: readonly string[], place: CoveragePlace): Coverage {
  const reader = new CoverageReader(place);
  reader.command({ words: command.map(knownWord), variables: [], inputs: [], outputs: [] });
  return reader.coverage();
}

const knownWord = (text: string): ShellWord => ({ text, known: true });

/**
 * Follows a command to the files that it names and runs. Whatever it does not follow becomes a reason why the approval
 * does not cover everything: a program that is not known to run nothing else counts as one that may.
 */
class CoverageReader {
  readonly #place: CoveragePlace;
  readonly #folder: string;
  /** Where the command may stand when it comes to a relative path. */
  readonly #bases: string[];
  readonly #files = new Map<string, ApprovedFile>();
  readonly #runs = new Map<string, string>();
  readonly #writes = new Set<string>();
  readonly #reasons = new Set<string>();
  readonly #scripts = new Set<string>();
  readonly #lookedUp = new Set<string>();
  #bytes = 0;
  #words = 0;
  /** The script that is being read. */
  #within = '';
  #depth = 0;

  constructor(place: CoveragePlace) {
    this.#place = place;
    this.#folder = realOf(place.folder);
    this.#bases = [realOf(place.cwd)];
  }

  coverage(): Coverage {
    const changed = [...this.#runs].filter(([path, real]) =>
      [...this.#writes].some((written) => isInside(path, written) || isInside(real, written)),
    );
    this.#within = '';
    for (const [path] of changed)
      this.#unknown(`the command itself may change ${this.#named(path)} before it runs`);
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
    const { commands, unread } = readShellLine(line);
    for (const each of unread) this.#unknown(`it holds ${each}`);
    for (const each of commands) this.command(each);
  }

  command(command: ShellCommand): void {
    this.#words += command.words.length;
    if (this.#depth > MAX_DEPTH || this.#words > MAX_WORDS) {
      this.#unknown('commands and scripts are nested too deep, or too long');
      return;
    }
    this.#depth++;
    const { words, variables, inputs, outputs } = command;
    if (variables.length > 0) this.#unknown(`it sets ${variables.join(', ')}`);
    const [program, ...args] = words;
    for (const word of [...args, ...inputs]) this.#name(word);
    for (const word of outputs) this.#write(word);
    if (program?.known === false) this.#name(program);
    if (program?.known === true && program.text !== '') this.#program(program.text, args, command);
    this.#depth--;
  }

  /** A word that names a file, in one of the ways in which arguments do, makes that file part of the approval. */
  #name({ text, known }: ShellWord): void {
    if (!known) this.#unknown(`"${clip(text, 80)}" is only known when it runs`);
    const key = `${this.#bases.length} ${text}`;
    if (this.#lookedUp.has(key)) return;
    if (this.#lookedUp.size >= MAX_LOOKUPS) {
      this.#unknown('it has too many words');
      return;
    }
    this.#lookedUp.add(key);
    for (const part of partsOf(text))
      for (const path of this.#places(part)) if (isFile(path)) this.#cover(path);
  }

  #write({ text, known }: ShellWord): void {
    if (!known) this.#unknown(`"${clip(text, 80)}" is only known when it runs`);
    else
      for (const part of partsOf(text))
        for (const path of this.#places(part)) this.#writes.add(path).add(realOf(path));
  }

  #program(text: string, args: readonly ShellWord[], command: ShellCommand): void {
    const file = this.#find(text);
    if (file !== undefined && !this.#isOfSystem(file)) {
      this.#runFile(file, args);
      return;
    }
    if (file === undefined && /[\\/]/.test(text)) {
      for (const path of this.#places(text)) this.#cover(path, true);
      this.#unknown(`${quoted(text)} is not there yet`);
      return;
    }
    // A path may be a link with a name of its own to a program of the system.
    const isLink = file !== undefined && /[\\/]/.test(text) && lstatSync(file).isSymbolicLink();
    const name = programName(isLink && !this.#isOnPath(dirname(file)) ? realOf(file) : text).toLowerCase();
    this.#byName(name.replace(VERSION, '$1'), args, command);
  }

  #byName(name: string, args: readonly ShellWord[], command: ShellCommand): void {
    const inner = innerCommands(command);
    if (inner !== undefined) {
      for (const each of inner.unread) this.#unknown(`it holds ${each}`);
      const set = args.filter(({ text }) => name === 'env' && /^[A-Za-z_]\w*=/.test(text));
      if (set.length > 0)
        this.#unknown(`it sets ${set.map(({ text }) => text.replace(/=.*/s, '')).join(', ')}`);
      if (name === 'chroot' || name === 'nsenter' || name === 'unshare')
        this.#unknown(`"${name}" shows it other files under these names`);
      for (const each of inner.commands) this.command(each);
      return;
    }
    if (shellNamed(name)) this.#shell(name, args);
    else if (name === '.' || name === 'source') this.#source(args);
    else if (name === 'cd' || name === 'chdir') this.#changeFolder(args);
    else if (name === 'set' && args.every(({ text }) => /^[-+][A-Za-z]+$|^pipefail$/.test(text))) return;
    else if (name === 'node' || name === 'nodejs' || name === 'python') this.#interpreter(name, args);
    else if (PLAIN_PROGRAMS.has(name)) {
      const runs = RUNS_BY_OPTION.get(name);
      for (const { text } of args)
        if (runs !== undefined && text.startsWith(runs))
          this.#unknown(`the option ${quoted(text)} of "${name}" runs another program`);
      if (CHANGES_FILES.has(name)) for (const each of args) this.#write(each);
      if (!LISTS_FOLDERS.has(name)) this.#noteFolders(args);
    } else {
      for (const file of CONFIGURED_BY.get(name) ?? [])
        for (const path of this.#places(file))
          if (this.#place.namesOnly === true || isFile(path)) this.#cover(path);
      this.#noteFolders(args);
      this.#unknown(`${quoted(name)} may run files that the command line does not name`);
    }
  }

  #noteFolders(args: readonly ShellWord[]): void {
    for (const { text } of args)
      if (text !== '' && this.#places(text).some((path) => statOf(path)?.isDirectory() === true))
        this.#unknown(`the folder ${quoted(text)} is named as a whole`);
  }

  /** A program of the agent's own folders: a script for the interpreter that its first line names, or compiled. */
  #runFile(path: string, args: readonly ShellWord[]): void {
    this.#cover(path, true);
    const source = sourceOf(path);
    const first = /^#![ \t]*(\S+)(?:[ \t]+(.*\S))?[ \t]*(?:\r?\n|$)/.exec(source ?? '');
    if (source === undefined || source.includes('\0'))
      this.#unknown(`${this.#named(path)} is a compiled program, or cannot be read`);
    else if (first === null) this.#script(path, source);
    else {
      const [, interpreter = '', option] = first;
      const words = [interpreter, ...(option === undefined ? [] : [option]), path].map(knownWord);
      this.command({ words: [...words, ...args], variables: [], inputs: [], outputs: [] });
    }
  }

  #shell(name: string, args: readonly ShellWord[]): void {
    if (!PLAIN_SHELLS.has(name)) this.#unknown(`"${name}" reads files of its own when it starts`);
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
        this.#unknown(`the option ${quoted(text)} of "${name}" may have it read other files`);
    }
    const file = args[at];
    if (file === undefined || file.text === '-')
      this.#unknown(`"${name}" reads its commands from standard input`);
    else this.#scriptNamed(file);
  }

  #source([file]: readonly ShellWord[]): void {
    if (file === undefined) return;
    // Without a slash some shells look along PATH first.
    const onPath = file.text.includes('/') ? undefined : this.#onPath(file.text);
    if (onPath !== undefined) this.#readScript(onPath);
    this.#scriptNamed(file);
  }

  #scriptNamed({ text, known }: ShellWord): void {
    if (!known) return; // the word itself is a reason already
    const there = this.#places(text).filter(isFile);
    for (const path of there) this.#readScript(path);
    if (there.length > 0) return;
    for (const path of this.#places(text)) this.#cover(path, true);
    this.#unknown(`${quoted(text)} is not there yet`);
  }

  #readScript(path: string): void {
    this.#cover(path, true);
    const source = sourceOf(path);
    if (source === undefined) this.#unknown(`${this.#named(path)} cannot be read`);
    else this.#script(path, source);
  }

  #script(path: string, source: string): void {
    const real = realOf(path);
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
      const { text, known } = word;
      if (isPython ? text === '-c' : /^(?:-e|--eval|-p|--print|-pe)$/.test(text)) {
        const code = args[index + 1]?.text ?? '';
        if (loadsOtherCode(code, isPython ? 'python' : 'js'))
          this.#unknown(`the code given to "${name}" may load other files`);
        return;
      }
      if (/^-./.test(text)) {
        if (SAFE_OPTIONS.has(text)) continue;
        this.#unknown(`the option ${quoted(text)} of "${name}" may have it load other files`);
        continue;
      }
      if (text === '-') break;
      if (!known) return;
      const there = this.#places(text).filter(isFile);
      for (const path of there) this.#module(path, isPython ? 'python' : 'js');
      if (there.length > 0) return;
      for (const path of this.#places(text)) this.#cover(path, true);
      this.#unknown(`${quoted(text)} is not a file`);
      return;
    }
    this.#unknown(`"${name}" reads its program from standard input`);
  }

  #module(path: string, language: 'js' | 'python'): void {
    const real = realOf(path);
    this.#cover(path, true);
    if (this.#scripts.has(real)) return;
    this.#scripts.add(real);
    const source = sourceOf(path);
    if (source === undefined) {
      this.#unknown(`${this.#named(path)} cannot be read`);
      return;
    }
    const { paths, rest } = language === 'js' ? importsOf(source) : { paths: [], rest: source };
    for (const imported of paths) {
      const file = resolve(dirname(real), imported);
      if (isFile(file)) this.#module(file, language);
      else this.#unknown(`${this.#named(path)} imports ${quoted(imported)}, which is not there`);
    }
    if (loadsOtherCode(rest, language)) this.#unknown(`${this.#named(path)} may load other files`);
  }

  #changeFolder([to, ...more]: readonly ShellWord[]): void {
    if (to === undefined || more.length > 0 || !to.known || to.text.startsWith('-')) {
      this.#unknown('it goes to a folder that is only known when it runs');
      return;
    }
    for (const base of [...this.#bases]) {
      const next = realOf(resolve(base, to.text));
      if (!this.#bases.includes(next)) this.#bases.push(next);
    }
    if (this.#bases.length > MAX_DEPTH) this.#unknown('it goes to many folders');
  }

  #cover(path: string, runs = false): void {
    const real = realOf(path);
    if (runs) this.#runs.set(path, real);
    if (this.#files.has(path)) return;
    if (this.#files.size >= MAX_FILES) {
      this.#unknown(`it names more than ${MAX_FILES} files`);
      return;
    }
    if (this.#place.namesOnly !== true) this.#bytes += statOf(path)?.size ?? 0;
    const content = this.#contentOf(path);
    if (content === 'too large') this.#unknown(`${this.#named(path)} is too large to be compared`);
    this.#files.set(path, {
      path: this.#shown(path),
      content,
      ...(real === path ? {} : { leads: this.#shown(real) }),
    });
  }

  #contentOf(path: string): string {
    if (this.#place.namesOnly === true) return '';
    return this.#bytes > MAX_BYTES ? 'too large' : contentHash(path);
  }

  #unknown(reason: string): void {
    this.#reasons.add(this.#within === '' ? reason : `${this.#within}: ${reason}`);
  }

  #places(text: string): readonly string[] {
    if (text.includes('\0') || text.length > 4_096) return [];
    return isAbsolute(text)
      ? [resolve(text)]
      : this.#bases.slice(0, MAX_DEPTH).map((base) => resolve(base, text));
  }

  /** The file that a program's name stands for. */
  #find(text: string): string | undefined {
    return /[\\/]/.test(text) ? this.#places(text).find(isFile) : this.#onPath(text);
  }

  #onPath(name: string): string | undefined {
    for (const folder of (this.#place.path ?? '').split(delimiter)) {
      // An empty or relative entry is looked up where the command stands.
      const found = this.#places(folder === '' ? '.' : folder)
        .map((each) => join(each, name))
        .find(isFile);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #isOnPath(folder: string): boolean {
    return (this.#place.path ?? '').split(delimiter).includes(folder);
  }

  /** Whether a program is out of the agent's reach: found along PATH, or below `/usr`, and in no folder that it may write. */
  #isOfSystem(path: string): boolean {
    const real = realOf(path);
    if (
      [this.#folder, ...this.#place.roots].some(
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

  #named(path: string): string {
    return quoted(this.#shown(path));
  }
}

/** `python3.12` is `python`. */
const VERSION = /^(python|node|bash|ksh|perl|ruby|lua|php)-?[\d.]+$/;
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/opt', '/nix', '/System'];

/** What of a word may be the name of a file: `-ofile`, `of=file`. */
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
    return undefined; // a part of the path is a file, or may not be entered
  }
};

const isFile = (path: string): boolean => statOf(path)?.isFile() === true;

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // it is not there: only its name counts
  }
}

function sourceOf(path: string): string | undefined {
  try {
    return statSync(path).size > MAX_SCRIPT ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Modules of Node that run no other code. */
const HARMLESS =
  /^node:(?:assert|buffer|crypto|dns|events|fs|http|https|net|os|path|perf_hooks|querystring|readline|stream|string_decoder|timers|tty|url|util|zlib)(?:\/[a-z]+)?$/;

/** `import … from 'x'`, `export … from 'x'` and `import 'x'` at the beginning of a line. */
const STATIC_IMPORT = /^[ \t]*(?:import|export)\b(?:[\w\s{},*$]*?\bfrom)?\s*(['"])([^'"\\\n]+)\1[ \t]*;?/gm;

/** What a module imports by a path, and its source without those imports and those of Node's harmless modules. */
function importsOf(source: string): { readonly paths: readonly string[]; readonly rest: string } {
  const paths: string[] = [];
  const rest = source.replace(STATIC_IMPORT, (whole: string, _quote: string, from: string) => {
    if (/^\.{1,2}\//.test(from)) paths.push(from);
    else if (!HARMLESS.test(from)) return whole;
    return '';
  });
  return { paths, rest };
}

/** Words by which a program gets at other code. A name can be written with escapes, too. */
const LOADERS = {
  js: /\b(?:import|require|eval|Function|constructor|child_process|spawn\w*|exec\w*|fork|dlopen|Worker|Reflect|globalThis|global|getBuiltinModule|binding|mainModule|WebAssembly|module|Deno|Bun)\b|\bprocess\s*(?:\?\.)?\[|\\[ux]/,
  python:
    /\b(?:import|from|exec\w*|eval|compile|open|getattr|globals|locals|vars|setattr|breakpoint|input)\b|__\w+__|\\[uxN]/,
} as const;

/** Whether a source may load or run other code. It is a search for words: what it does not find was in the reviewer's view. */
const loadsOtherCode = (source: string, language: keyof typeof LOADERS): boolean =>
  LOADERS[language].test(source);

const names = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs and builtins of the shell that run nothing but themselves. All others count as programs that may. */
const PLAIN_PROGRAMS = names(`
  : true false test [ echo printf pwd read exit return break continue shift wait umask type which sleep
  cat ls head tail wc grep egrep fgrep cut tr uniq sort comm cmp diff nl od hexdump strings file stat du df date cal
  basename dirname realpath readlink id whoami groups uname nproc seq expr factor md5sum sha1sum sha224sum sha256sum
  sha384sum sha512sum b2sum cksum base32 base64 yes rev tac fold fmt paste join column expand unexpand printenv
  cp mv rm rmdir mkdir touch ln chmod chown chgrp tee truncate dd install mktemp unlink find split csplit sync tty jq
`);

/** Those of them that give files other content. */
const CHANGES_FILES = names('cp mv ln tee truncate dd install find split csplit sort uniq');

/** The beginnings of options by which they run another program after all. */
const RUNS_BY_OPTION: ReadonlyMap<string, string> = new Map([
  ['sort', '--co'], // --compress-program
  ['split', '--f'], // --filter
  ['install', '--strip-'], // --strip-program
]);

/** Those of them for which a folder is a name, and not what it holds. */
const LISTS_FOLDERS = names(`
  : true false test [ echo printf ls stat du df basename dirname realpath readlink mkdir rmdir rm touch chmod chown chgrp
  ln find mktemp which type date seq expr
`);

/** Shells that read nothing but the script when they start. */
const PLAIN_SHELLS = names('sh bash dash ash ksh mksh');

/** Options of interpreters that load nothing. */
const SAFE_OPTIONS = names('-u -B -O -OO -E -I -s -S --no-warnings --enable-source-maps --');

/** The files that these programs look for where they run, without being told their names. */
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
