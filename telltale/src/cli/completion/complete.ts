import { readdirSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Sessions } from '../../agent/open-sessions.ts';
import { FORMATS } from '../../importers/formats.ts';
import type { CommandContext } from '../command.ts';
import { EVENT_TYPES, RUN_EVENT_TYPES } from '../session/event-types.ts';
import { storeExists, storeLocation } from '../session/store-options.ts';
import { STATUSES } from '../view/status.ts';
import { brief } from '../view/text-width.ts';

export interface Candidate {
  readonly text: string;
  readonly description?: string;
}

const MAX_FILES = 500;
const MAX_SESSIONS = 50;
const MANIFEST = /\.(?:ya?ml|json)$/i;
const KINDS = ['agent', 'tool', 'relic', 'artifact', 'workflow', 'prompt'];
const KINDS_OF: Readonly<Record<string, readonly string[]>> = {
  schema: ['Agent', 'Tool', 'Relic', 'Artifact', 'Workflow'],
};

type Context = Pick<CommandContext, 'io' | 'runtimes'>;

/** The candidates that begin with the word at the cursor. */
export async function complete(
  before: readonly string[],
  current: string,
  commands: readonly KnownCommand[],
  context: Context,
): Promise<readonly Candidate[]> {
  const place = placeOf(before, current, commands);
  switch (place.kind) {
    case 'nothing':
      return [];
    case 'command': {
      const others = current.startsWith('-') ? ['--help', '--version'] : ['help'];
      return beginning(
        [
          ...commands.map(({ name, summary }) => ({ text: name, description: summary })),
          ...others.map((text) => ({ text })),
        ],
        current,
      );
    }
    case 'subcommand':
      return beginning(
        (place.command.commands ?? []).map(({ name, summary }) => ({ text: name, description: summary })),
        current,
      );
    case 'option':
      return beginning([...place.command.options.flatMap(optionCandidates), { text: '--help' }], current);
    case 'value':
      return valuesOf(place.option, current, before, context);
    case 'argument':
      return argumentsOf(place.name, place.command, current, before, commands, context);
  }
}

const optionCandidates = ({ flags, description }: KnownOption): readonly Candidate[] =>
  flags.filter((flag) => flag.startsWith('--')).map((text) => ({ text, description }));

async function valuesOf(
  { flags, choices }: KnownOption,
  current: string,
  before: readonly string[],
  context: Context,
): Promise<readonly Candidate[]> {
  if (choices.length > 0) return beginning(choices.map(plain), current);
  if (['--resume', '--of', '--session'].some((each) => flags.includes(each)))
    return sessions(current, before, context);
  if (flags.includes('--status')) return beginning(STATUSES.map(plain), current);
  if (flags.includes('--type'))
    return beginning([...new Set<string>([...EVENT_TYPES, ...RUN_EVENT_TYPES])].map(plain), current);
  const isFile = ['--store', '--record', '--root', '--out', '--dir', '--in', '--path'].some((each) =>
    flags.includes(each),
  );
  return isFile ? files(current, context.io.cwd) : [];
}

async function argumentsOf(
  name: string,
  command: KnownCommand,
  current: string,
  before: readonly string[],
  commands: readonly KnownCommand[],
  context: Context,
): Promise<readonly Candidate[]> {
  const { cwd } = context.io;
  switch (name) {
    case 'session':
      return sessions(current, before, context);
    case 'session-or-agent':
      return [...(await sessions(current, before, context)), ...files(current, cwd, MANIFEST)];
    case 'run':
      return sessions(current, before, context, 'run');
    case 'manifest':
    case 'paths':
      return files(current, cwd, MANIFEST);
    case 'kind':
      return beginning((KINDS_OF[command.name] ?? KINDS).map(plain), current);
    case 'format':
      return beginning(Object.keys(FORMATS).map(plain), current);
    case 'shell':
      return beginning(SHELLS.map(plain), current);
    case 'command':
      return beginning(
        commands.map(({ name: text, summary }) => ({ text, description: summary })),
        current,
      );
    case 'review':
      return reviews(current, before, context);
    case 'file':
    case 'files':
    case 'dir':
    case 'from':
    case 'to':
      return files(current, cwd);
    default:
      return [];
  }
}

async function sessions(
  current: string,
  before: readonly string[],
  context: Context,
  kind: 'session' | 'run' = 'session',
): Promise<readonly Candidate[]> {
  const found = await stored(before, context, ({ store }) => store.list({ kind, limit: MAX_SESSIONS }));
  if (found === undefined) return [];
  const ids = found.map(({ stream, status, title }) => ({
    text: stream,
    description: `${status}: ${title}`,
  }));
  return beginning([{ text: 'last', description: 'the newest' }, ...ids], current);
}

/** Open reviews only: nobody types the id of an answered one. */
async function reviews(
  current: string,
  before: readonly string[],
  context: Context,
): Promise<readonly Candidate[]> {
  const open = await stored(before, context, (opened) => opened.reviews({ limit: MAX_SESSIONS }));
  const ids = (open ?? []).map(({ review, kind, what }) => ({
    text: review,
    description: `${kind}: ${brief(what, WHAT_COLUMNS)}`,
  }));
  return beginning(ids, current);
}

const WHAT_COLUMNS = 100;

/** What `read` finds in the store. Undefined if there is no store. */
async function stored<T>(
  before: readonly string[],
  { io, runtimes }: Context,
  read: (opened: Sessions) => Promise<T>,
): Promise<T | undefined> {
  const named = before.indexOf('--store');
  const location = storeLocation(named === -1 ? undefined : before[named + 1], io);
  if (!storeExists(location, io)) return undefined;
  const { cwd, clock } = io;
  const opened = await runtimes.openSessions({
    store: location,
    cwd,
    clock,
    mustExist: true,
    mayOnlyRead: true,
  });
  try {
    return await read(opened);
  } finally {
    await opened.close();
  }
}

/** Entries of the folder that is being typed. Folders end with a slash. Hidden entries appear only after a dot. */
function files(current: string, cwd: string, wanted?: RegExp): readonly Candidate[] {
  const folder = current.slice(0, current.lastIndexOf('/') + 1);
  const begun = current.endsWith('/') ? '' : basename(current);
  try {
    return readdirSync(resolve(cwd, folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(begun) && (begun.startsWith('.') || !name.startsWith('.')))
      .filter((entry) => entry.isDirectory() || wanted === undefined || wanted.test(entry.name))
      .slice(0, MAX_FILES)
      .map((entry) => plain(`${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`))
      .toSorted((a, b) => (a.text < b.text ? -1 : 1));
  } catch {
    return []; // The folder does not exist.
  }
}

const plain = (text: string): Candidate => ({ text });

const beginning = (candidates: readonly Candidate[], current: string): readonly Candidate[] =>
  candidates.filter(({ text }) => text.startsWith(current));

/** What completion needs to know of a command. */
export interface KnownCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly KnownOption[];
  /** Names of its arguments, in order. A variadic argument is the last one and repeats. */
  readonly arguments: readonly { readonly name: string; readonly isVariadic: boolean }[];
  /** Its subcommands, as in `workflow run`. */
  readonly commands?: readonly KnownCommand[];
}

export interface KnownOption {
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

/** What belongs at the cursor. */
export type CompletePlace =
  | { readonly kind: 'command' }
  | { readonly kind: 'subcommand'; readonly command: KnownCommand }
  | { readonly kind: 'option'; readonly command: KnownCommand }
  | { readonly kind: 'value'; readonly command: KnownCommand; readonly option: KnownOption }
  | { readonly kind: 'argument'; readonly command: KnownCommand; readonly name: string }
  | { readonly kind: 'nothing' };

/** `before` are the words between the program's name and the word at the cursor. */
export function placeOf(
  before: readonly string[],
  current: string,
  commands: readonly KnownCommand[],
): CompletePlace {
  const [name, ...words] = before;
  if (name === undefined || (name === 'help' && words.length === 0)) return { kind: 'command' };
  const command = commands.find((each) => each.name === name);
  if (command === undefined) return { kind: 'nothing' };
  const own = command.commands ?? [];
  // Options of a command group may precede the subcommand.
  const names = new Set(own.map((each) => each.name));
  const called = words.findIndex((word) => names.has(word));
  if (called !== -1) return placeOf(words.slice(called), current, own);
  const optionOf = (word: string) => command.options.find(({ flags }) => flags.includes(word));
  let position = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const option = optionOf(word);
    if (option === undefined) {
      if (!word.startsWith('-') || word === '-') position++;
      continue;
    }
    if (!option.takesValue) continue;
    // bash splits --store=x into three words.
    if (words[at + 1] === '=') at++;
    if (at + 1 >= words.length) return { kind: 'value', command, option };
    at++;
  }
  if (current.startsWith('-')) return { kind: 'option', command };
  if (own.length > 0 && position === 0) return { kind: 'subcommand', command };
  const argument = command.arguments[position] ?? command.arguments.find(({ isVariadic }) => isVariadic);
  return argument === undefined ? { kind: 'nothing' } : { kind: 'argument', command, name: argument.name };
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Each script calls `telltale __complete INDEX WORDS…` and reads lines of `candidate TAB description`. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Completion of telltale for bash: eval "$(telltale completion bash)"
_telltale() {
  local line candidate
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v candidate '%q' "\${line%%$'\\t'*}"
    COMPREPLY+=("$candidate")
  done < <("$1" __complete "$COMP_CWORD" -- "\${COMP_WORDS[@]}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _telltale telltale
`,
  zsh: `#compdef telltale
# Completion of telltale for zsh: eval "$(telltale completion zsh)"
_telltale() {
  local line
  local -a candidates shown
  for line in "\${(@f)$("\${words[1]}" __complete $((CURRENT - 1)) -- "\${words[@]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    candidates+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done
  if [[ \${#candidates} -eq 1 && \${candidates[1]} == */ ]]; then
    compadd -S '' -a candidates
  else
    compadd -l -d shown -a candidates
  fi
}
compdef _telltale telltale
`,
  fish: `# Completion of telltale for fish: telltale completion fish | source
function __telltale_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete (math (count $words) - 1) -- $words 2>/dev/null
end
complete -c telltale -f -a '(__telltale_complete)'
`,
};
